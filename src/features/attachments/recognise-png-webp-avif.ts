import { crc32 } from 'node:zlib';
import {
  type ArrivingFile, damaged, hasMore, imageSize, type ImageSize, nothingMore, RefusedFile, take, type Walk,
} from './recognise-images.ts';

export const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

const PNG_HEADER_BYTES = 13;
// The critical chunks that may follow IHDR; a reader that knows no other must give up at any other.
const PNG_BODY_CHUNKS = ['PLTE', 'IDAT', 'IEND'];
const MAX_CHUNK_LENGTH = 2 ** 31 - 1;

// Colour type to the bit depths it admits (PNG 3rd edition, section 11.2.1).
const PNG_DEPTHS: Record<number, number[]> = {
  0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16],
};
const PALETTE_COLOUR = 3;

/**
 * Walks the chunks of a PNG from IHDR to IEND, which must end the file: what programs have left behind it is, for one,
 * the rest of a screenshot that its owner believed cut off.
 */
export function* walkPng(file: ArrivingFile): Walk<ImageSize> {
  file.skip(PNG_SIGNATURE.length);
  const { size, needsPalette } = yield* readPngHeader(file);
  const seen = new Set<string>();
  while (!seen.has('IEND')) {
    const { type, length } = yield* readChunkHead(file);
    if (isCritical(type) && !PNG_BODY_CHUNKS.includes(type)) {
      throw damaged('PNG', `a chunk ${type} stands where none may`);
    }
    if (type === 'IDAT' && needsPalette && !seen.has('PLTE')) throw damaged('PNG', 'it has no palette');
    if (type === 'IEND' && length > 0) throw damaged('PNG', 'its last chunk is not empty');
    if (isCritical(type)) seen.add(type);
    file.skip(length + 4);
  }
  if (!seen.has('IDAT')) throw damaged('PNG', 'it has no image data');
  yield* nothingMore(file);
  return size;
}

function* readPngHeader(file: ArrivingFile): Walk<{ size: ImageSize; needsPalette: boolean }> {
  const { type, length } = yield* readChunkHead(file);
  if (type !== 'IHDR' || length !== PNG_HEADER_BYTES) throw damaged('PNG', 'it does not begin with its header');
  const header = yield* take(file, PNG_HEADER_BYTES + 4);
  const [depth = 0, colour = 0, compression, filter, interlace = 0] = header.subarray(8);
  const isLegal = PNG_DEPTHS[colour]?.includes(depth) === true && compression === 0 && filter === 0 && interlace <= 1;
  if (!isLegal) throw damaged('PNG', 'its header names a form that PNG does not have');
  if (crc32(header.subarray(0, PNG_HEADER_BYTES), crc32('IHDR')) !== header.readUInt32BE(PNG_HEADER_BYTES)) {
    throw damaged('PNG', 'the checksum of its header is wrong');
  }
  return { size: imageSize(header.readUInt32BE(0), header.readUInt32BE(4)), needsPalette: colour === PALETTE_COLOUR };
}

function* readChunkHead(file: ArrivingFile): Walk<{ type: string; length: number }> {
  const head = yield* take(file, 8);
  const length = head.readUInt32BE(0);
  const type = head.toString('latin1', 4, 8);
  if (length > MAX_CHUNK_LENGTH || !/^[A-Za-z]{4}$/.test(type)) throw damaged('PNG', 'one of its chunks is not one');
  return { type, length };
}

/** A capital first letter: nobody can draw the image without this chunk. */
function isCritical(type: string): boolean {
  return type < 'a';
}

/** A chunk of a WebP or a box of an AVIF, whose head has been read; `end` is a position in the file. */
type Part = { type: string; end: number };

const shortChunk = (): RefusedFile => damaged('WebP', 'a chunk is too short');
const shortBox = (): RefusedFile => damaged('AVIF', 'a box is too short');
const KEY_FRAME_START = Buffer.from('9d012a', 'hex');
const LOSSLESS_SIGNATURE = 0x2f;

/** Walks the chunks of a WebP (RFC 9649): the container is as long as the file, every picture as large as it says. */
export function* walkWebp(file: ArrivingFile): Walk<ImageSize> {
  file.skip(4);
  const end = 8 + (yield* take(file, 4)).readUInt32LE();
  file.skip(4);
  const first = yield* readChunk(file, end);
  if (first.type !== 'VP8X') {
    const size = yield* readPicture(file, first);
    if (!size) throw damaged('WebP', 'it does not begin with a picture');
    skipTo(file, first.end);
    while (file.position() < end) skipTo(file, (yield* readChunk(file, end)).end);
    yield* nothingMore(file);
    return size;
  }
  const canvas = sizeAt(yield* takeFrom(file, first, 10, shortChunk), 4);
  skipTo(file, first.end);
  const pictures = yield* checkPictures(file, end, canvas, true);
  if (pictures === 0) throw damaged('WebP', 'it has no image data');
  yield* nothingMore(file);
  return canvas;
}

/** How many pictures the chunks up to `end` hold; each must have this size, frames of an animation lie within it. */
function* checkPictures(file: ArrivingFile, end: number, size: ImageSize, mayAnimate: boolean): Walk<number> {
  let pictures = 0;
  while (file.position() < end) {
    const chunk = yield* readChunk(file, end);
    const picture = yield* readPicture(file, chunk);
    if (picture && (picture.width !== size.width || picture.height !== size.height)) {
      throw damaged('WebP', 'a picture has another size than the image');
    }
    if (picture) pictures += 1;
    if (mayAnimate && chunk.type === 'ANMF') pictures += yield* checkFrame(file, chunk, size);
    skipTo(file, chunk.end);
  }
  return pictures;
}

function* checkFrame(file: ArrivingFile, chunk: Part, canvas: ImageSize): Walk<number> {
  const frame = yield* takeFrom(file, chunk, 16, shortChunk);
  const size = sizeAt(frame, 6);
  const right = 2 * frame.readUIntLE(0, 3) + size.width;
  const bottom = 2 * frame.readUIntLE(3, 3) + size.height;
  if (right > canvas.width || bottom > canvas.height) throw damaged('WebP', 'a frame is larger than the image');
  return yield* checkPictures(file, chunk.end, size, false);
}

/** The size in the head of a lossy or lossless bit stream; undefined for a chunk of another kind. */
function* readPicture(file: ArrivingFile, chunk: Part): Walk<ImageSize | undefined> {
  if (chunk.type === 'VP8 ') {
    const head = yield* takeFrom(file, chunk, 10, shortChunk);
    const isKeyFrame = ((head[0] ?? 1) & 1) === 0 && head.subarray(3, 6).equals(KEY_FRAME_START);
    if (!isKeyFrame) throw damaged('WebP', 'its picture has no valid beginning');
    return imageSize(head.readUInt16LE(6) & 0x3fff, head.readUInt16LE(8) & 0x3fff);
  }
  if (chunk.type === 'VP8L') {
    const head = yield* takeFrom(file, chunk, 5, shortChunk);
    const bits = head.readUInt32LE(1);
    const isValid = head[0] === LOSSLESS_SIGNATURE && bits >>> 29 === 0;
    if (!isValid) throw damaged('WebP', 'its picture has no valid beginning');
    return imageSize((bits & 0x3fff) + 1, (bits >>> 14 & 0x3fff) + 1);
  }
  return undefined;
}

/** The head of the next chunk. Chunks of odd length are followed by one byte of padding. */
function* readChunk(file: ArrivingFile, limit: number): Walk<Part> {
  const head = yield* take(file, 8);
  const length = head.readUInt32LE(4);
  const end = file.position() + length + length % 2;
  if (end > limit) throw damaged('WebP', 'a chunk is longer than what holds it');
  return { type: head.toString('latin1', 0, 4), end };
}

function* takeFrom(file: ArrivingFile, part: Part, count: number, refuse: () => RefusedFile): Walk<Buffer> {
  if (file.position() + count > part.end) throw refuse();
  return yield* take(file, count);
}

function skipTo(file: ArrivingFile, position: number): void {
  file.skip(position - file.position());
}

/** Width and height, each less one, in three bytes. */
function sizeAt(bytes: Buffer, offset: number): ImageSize {
  return imageSize(bytes.readUIntLE(offset, 3) + 1, bytes.readUIntLE(offset + 3, 3) + 1);
}

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
      if (size) throw damaged('AVIF', 'it is described twice');
      size = yield* readMeta(file, box);
    }
    if (box.type === 'mdat' || box.type === 'moov') seen.add(box.type);
    skipTo(file, box.end);
  }
  if (!size || !seen.has('mdat') || isSequence && !seen.has('moov')) throw damaged('AVIF', 'it has no image data');
  return size;
}

/** Whether the file type box is that of a sequence; refused when it is not that of an AVIF at all. */
function* readBrands(file: ArrivingFile): Walk<boolean> {
  const box = yield* readBox(file, MAX_BRANDS_BYTES);
  const bytes = yield* takeFrom(file, box, box.end - file.position(), shortBox);
  if (bytes.length < 8) throw damaged('AVIF', 'it does not say of what type it is');
  const [major = '', , ...compatible] = bytes.toString('latin1').match(/.{4}/gs) ?? [];
  const isGeneral = major === STILL_OF_ANY_CODING || major === SEQUENCE_OF_ANY_CODING;
  const isAvif = [major, ...(isGeneral ? compatible : [])].some((brand) => brand === STILL || brand === SEQUENCE);
  if (!isAvif) throw new RefusedFile('type', 'The content of the file is not an AVIF image.');
  return major === SEQUENCE || major === SEQUENCE_OF_ANY_CODING;
}

/** The largest size among the properties of the pictures: meta, iprp, ipco, ispe. */
function* readMeta(file: ArrivingFile, meta: Part): Walk<ImageSize> {
  let handler = '';
  let largest: ImageSize | undefined;
  yield* takeFrom(file, meta, 4, shortBox);
  yield* eachBox(file, meta, function* (box) {
    if (box.type === 'hdlr') handler = (yield* takeFrom(file, box, 12, shortBox)).toString('latin1', 8);
    if (box.type === 'iprp') yield* eachBox(file, box, readProperties);
  });
  if (handler !== 'pict' || !largest) throw damaged('AVIF', 'it does not say how large it is');
  return largest;

  function* readProperties(box: Part): Walk<void> {
    if (box.type !== 'ipco') return;
    yield* eachBox(file, box, function* (property) {
      if (property.type === 'ispe') largest = larger(largest, yield* readSize(file, property));
    });
  }
}

function* readSize(file: ArrivingFile, box: Part): Walk<ImageSize> {
  const bytes = yield* takeFrom(file, box, 12, shortBox);
  return imageSize(bytes.readUInt32BE(4), bytes.readUInt32BE(8));
}

function* eachBox(file: ArrivingFile, parent: Part, visit: (box: Part) => Walk<void>): Walk<void> {
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
function* readBox(file: ArrivingFile, limit: number): Walk<Part> {
  const start = file.position();
  const head = yield* take(file, 8);
  const short = head.readUInt32BE(0);
  const size = short === 1 ? Number((yield* take(file, 8)).readBigUInt64BE()) : short;
  const end = start + size;
  if (end < file.position()) throw damaged('AVIF', 'a box is shorter than its own head');
  if (end > limit) throw damaged('AVIF', 'a box is longer than what holds it');
  return { type: head.toString('latin1', 4), end };
}

function larger(one: ImageSize | undefined, other: ImageSize): ImageSize {
  return one && one.width * one.height >= other.width * other.height ? one : other;
}
