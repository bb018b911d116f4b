import { hasMore, take, type ArrivingFile, type Walk } from './byte-walk.ts';
import { imageSize, type ImageSize } from './image-size.ts';
import { RefusedFile } from './refused-file.ts';

type Box = { type: string; end: number };

const STILL = 'avif';
const SEQUENCE = 'avis';
// Of HEIF, for files of any coding; an AVIF says so among the compatible brands then.
const STILL_OF_ANY_CODING = 'mif1';
const SEQUENCE_OF_ANY_CODING = 'msf1';

const MAX_BRANDS_BYTES = 1024;

/** Walks the boxes of an AVIF (ISO/IEC 14496-12, 23008-12) to the end; its largest picture gives the size. */
export function* walkAvif(file: ArrivingFile): Walk<ImageSize> {
  const isSequence = yield* readBrands(file);
  const seen = new Set<string>();
  let size: ImageSize | undefined;
  while (yield* hasMore(file)) {
    const box = yield* readBox(file, Infinity);
    if (box.type === 'meta') {
      if (size) throw damaged('it is described twice');
      size = yield* readMeta(file, box);
    }
    if (box.type === 'mdat' || box.type === 'moov') seen.add(box.type);
    skipTo(file, box.end);
  }
  if (!size || !seen.has('mdat') || isSequence && !seen.has('moov')) throw damaged('it has no image data');
  return size;
}

/** Whether the file type box is that of a sequence; refused when it is not that of an AVIF at all. */
function* readBrands(file: ArrivingFile): Walk<boolean> {
  const box = yield* readBox(file, MAX_BRANDS_BYTES);
  const bytes = yield* takeFrom(file, box, box.end - file.position());
  if (bytes.length < 8) throw damaged('it does not say of what type it is');
  const [major = '', , ...compatible] = bytes.toString('latin1').match(/.{4}/gs) ?? [];
  const isGeneral = major === STILL_OF_ANY_CODING || major === SEQUENCE_OF_ANY_CODING;
  const isAvif = major === STILL || major === SEQUENCE || isGeneral && compatible.some(isAvifBrand);
  if (!isAvif) throw new RefusedFile('type', 'The content of the file is not an AVIF image.');
  return major === SEQUENCE || major === SEQUENCE_OF_ANY_CODING;
}

/** The largest size among the properties of the pictures: meta, iprp, ipco, ispe. */
function* readMeta(file: ArrivingFile, meta: Box): Walk<ImageSize> {
  let handler = '';
  let largest: ImageSize | undefined;
  yield* takeFrom(file, meta, 4);
  yield* eachBox(file, meta, function* (box) {
    if (box.type === 'hdlr') handler = (yield* takeFrom(file, box, 12)).toString('latin1', 8);
    if (box.type === 'iprp') yield* eachBox(file, box, readProperties);
  });
  if (handler !== 'pict' || !largest) throw damaged('it does not say how large it is');
  return largest;

  function* readProperties(box: Box): Walk<void> {
    if (box.type !== 'ipco') return;
    yield* eachBox(file, box, function* (property) {
      if (property.type === 'ispe') largest = larger(largest, yield* readSize(file, property));
    });
  }
}

function* readSize(file: ArrivingFile, box: Box): Walk<ImageSize> {
  const bytes = yield* takeFrom(file, box, 12);
  return imageSize(bytes.readUInt32BE(4), bytes.readUInt32BE(8));
}

function* eachBox(file: ArrivingFile, parent: Box, visit: (box: Box) => Walk<void>): Walk<void> {
  while (file.position() < parent.end) {
    const box = yield* readBox(file, parent.end);
    yield* visit(box);
    skipTo(file, box.end);
  }
}

/**
 * The head of the next box. Size 1 means that eight bytes with the size follow the type. Size 0, "to the end of the
 * file", is refused: such a file could not be told from one that was cut short, and no known program writes it.
 */
function* readBox(file: ArrivingFile, limit: number): Walk<Box> {
  const start = file.position();
  const head = yield* take(file, 8);
  const short = head.readUInt32BE(0);
  const size = short === 1 ? Number((yield* take(file, 8)).readBigUInt64BE()) : short;
  const end = start + size;
  if (end < file.position()) throw damaged('a box is shorter than its own head');
  if (end > limit) throw damaged('a box is longer than what holds it');
  return { type: head.toString('latin1', 4), end };
}

function* takeFrom(file: ArrivingFile, box: Box, count: number): Walk<Buffer> {
  if (file.position() + count > box.end) throw damaged('a box is too short');
  return yield* take(file, count);
}

function skipTo(file: ArrivingFile, position: number): void {
  file.skip(position - file.position());
}

function isAvifBrand(brand: string): boolean {
  return brand === STILL || brand === SEQUENCE;
}

function larger(one: ImageSize | undefined, other: ImageSize): ImageSize {
  return one && one.width * one.height >= other.width * other.height ? one : other;
}

function damaged(what: string): RefusedFile {
  return new RefusedFile('damaged', `The AVIF image is damaged: ${what}.`);
}
