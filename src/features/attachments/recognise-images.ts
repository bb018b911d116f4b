import { crc32 } from 'node:zlib';
import { type ArrivingFile, cutShort, type Parsing, RefusedFile, requireEnd } from './arriving-file.ts';

/*
 * One parser for each image format. It checks structure, dimensions and end; recognise-file.ts has matched the
 * signature. It decodes no pixels: malformed ones harm nobody, because the hub serves files with `nosniff`, in a
 * sandbox and under their own type.
 */

/** The width and height of an image in pixels, as stored in the file: a rotation in the metadata is not applied. */
export type ImageSize = { width: number; height: number };

/** 8192 × 8192, enough for phones (8192 × 6144). A browser needs 4 bytes for each pixel: at most 256 MiB of memory. */
export const MAX_PIXELS = 2 ** 26;

function imageSize(width: number, height: number): ImageSize {
  if (width === 0 || height === 0) {
    throw new RefusedFile('damaged', 'The image is damaged: its width or height is zero.');
  }
  if (width * height > MAX_PIXELS) {
    const detail = `The image has ${width} × ${height} pixels; at most ${MAX_PIXELS / 1e6 | 0} million are allowed.`;
    throw new RefusedFile('dimensions', detail);
  }
  return { width, height };
}

function damaged(format: string, problem: string): RefusedFile {
  return new RefusedFile('damaged', `The ${format} image is damaged: ${problem}.`);
}

export const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

// The name of a critical PNG chunk begins with a capital letter (PNG 3rd edition, 5.4).
// PNG decoders stop at a critical chunk that they do not know.
const PNG_CHUNK = /^(?:PLTE|IDAT|IEND|[a-z][A-Za-z]{3})$/;
const MAX_CHUNK_LENGTH = 2 ** 31 - 1;

/** Parses the chunks of a PNG. IEND must be the end, because some programs leave cropped screenshots after IEND. */
export function* parsePng(file: ArrivingFile): Parsing<ImageSize> {
  file.skip(PNG_SIGNATURE.length);
  const header = yield* file.take(25); // the PNG header: length, type, 13 bytes of data, checksum
  if (header.toString('latin1', 0, 8) !== '\0\0\0\x0dIHDR') throw damaged('PNG', 'the PNG header is missing');
  if (crc32(header.subarray(4, 21)) !== header.readUInt32BE(21)) {
    throw damaged('PNG', 'the checksum of the PNG header is wrong');
  }
  const size = imageSize(header.readUInt32BE(8), header.readUInt32BE(12));
  let hasData = false;
  for (let type = ''; type !== 'IEND';) {
    const head = yield* file.take(8);
    const length = head.readUInt32BE(0);
    type = head.toString('latin1', 4);
    if (!PNG_CHUNK.test(type) || length > MAX_CHUNK_LENGTH) throw damaged('PNG', 'a chunk has a bad type or length');
    if (type === 'IEND' && length > 0) throw damaged('PNG', 'the last chunk of the PNG is not empty');
    hasData ||= type === 'IDAT';
    file.skip(length + 4);
  }
  if (!hasData) throw damaged('PNG', 'the file has no image data');
  yield* requireEnd(file);
  return size;
}

// JPEG marker codes, which follow 0xFF (ITU-T T.81, table B.1). Of the codes 0xC0 to 0xCF, three begin no JPEG frame.
const NO_FRAMES = [0xc4, 0xc8, 0xcc];
const LAST_FRAME = 0xcf;
const FIRST_RESTART = 0xd0;
const END_OF_IMAGE = 0xd9;
const START_OF_SCAN = 0xda;
// The types of JPEG frames that browsers draw: baseline, extended sequential and progressive.
const DRAWN_FRAMES = [0xc0, 0xc1, 0xc2];

/** Within the image data, FF D9 can only be the end. Phones append second pictures, brightness maps and short films. */
export function* parseJpeg(file: ArrivingFile): Parsing<ImageSize> {
  file.skip(2);
  let size: ImageSize | undefined;
  for (let marker = 0; marker !== START_OF_SCAN;) {
    marker = yield* readMarker(file);
    const length = ((yield* file.takeByte()) << 8 | (yield* file.takeByte())) - 2;
    if (length < 0) throw damaged('JPEG', 'the length of a JPEG segment is invalid');
    if (marker > LAST_FRAME || NO_FRAMES.includes(marker)) {
      file.skip(length);
    } else if (size) {
      throw damaged('JPEG', 'the JPEG file has two frames');
    } else {
      size = jpegFrameSize(marker, yield* file.take(length));
    }
  }
  if (!size) throw damaged('JPEG', 'the image data comes before the dimensions');
  yield* requireEndMarker(file);
  return size;
}

/** Reads the code of the next JPEG marker. Any number of FF bytes may precede the marker code. */
function* readMarker(file: ArrivingFile): Parsing<number> {
  let code = yield* file.takeByte();
  if (code !== 0xff) throw damaged('JPEG', 'there are stray bytes between the JPEG segments');
  while (code === 0xff) code = yield* file.takeByte();
  if (code < 0xc0 || code >= FIRST_RESTART && code <= END_OF_IMAGE) {
    throw damaged('JPEG', 'an unexpected JPEG marker precedes the image data');
  }
  return code;
}

function jpegFrameSize(marker: number, frame: Buffer): ImageSize {
  const [precision, , , , , components = 0] = frame;
  if (frame.length !== 6 + 3 * components) throw damaged('JPEG', 'the JPEG frame header has the wrong length');
  if (!DRAWN_FRAMES.includes(marker) || precision !== 8 || ![1, 3, 4].includes(components)) {
    throw new RefusedFile('type', 'Browsers do not show this kind of JPEG image. Save the image as a baseline JPEG.');
  }
  return imageSize(frame.readUInt16BE(3), frame.readUInt16BE(1));
}

function* requireEndMarker(file: ArrivingFile): Parsing<void> {
  let hasEnd = false;
  let before: number | undefined;
  while (!(yield* file.isAtEnd())) {
    const bytes = yield* file.takeArrived();
    hasEnd ||= before === 0xff && bytes[0] === END_OF_IMAGE || bytes.includes('ffd9', 0, 'hex');
    before = bytes.at(-1);
  }
  if (!hasEnd) throw cutShort();
}

const GIF_IMAGE = 0x2c;
const GIF_EXTENSION = 0x21;
const GIF_TRAILER = 0x3b;

/** As in browsers, a first frame that is larger than the screen of the GIF enlarges the image; later frames do not. */
export function* parseGif(file: ArrivingFile): Parsing<ImageSize> {
  file.skip(6);
  const screen = yield* file.take(7);
  const [width, height] = [screen.readUInt16LE(0), screen.readUInt16LE(2)];
  let size: ImageSize | undefined;
  file.skip(colourTableBytes(screen[4]));
  for (;;) {
    const block = yield* file.takeByte();
    if (block === GIF_TRAILER) break;
    if (block !== GIF_IMAGE && block !== GIF_EXTENSION) throw damaged('GIF', 'there are stray bytes between blocks');
    if (block === GIF_IMAGE) {
      const frame = yield* parseGifFrame(file);
      size ??= imageSize(Math.max(width, frame.width), Math.max(height, frame.height));
    }
    file.skip(1); // skips the label of a GIF extension, or the code size of a frame
    for (let length = -1; length !== 0; file.skip(length)) length = yield* file.takeByte();
  }
  if (!size) throw damaged('GIF', 'the file has no image data');
  yield* requireEnd(file);
  return size;
}

/** Returns how far the frame reaches to the right and down, in pixels. */
function* parseGifFrame(file: ArrivingFile): Parsing<ImageSize> {
  const frame = yield* file.take(9);
  file.skip(colourTableBytes(frame[8]));
  const [left, top, width, height] = [0, 2, 4, 6].map((at) => frame.readUInt16LE(at));
  return { width: (left ?? 0) + (width ?? 0), height: (top ?? 0) + (height ?? 0) };
}

/** Bytes of a GIF's colour table: three for each of 2^(low three bits + 1) colours, if the high bit is set. */
function colourTableBytes(flags = 0): number {
  return flags >= 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0;
}

/** Reads a WebP image (RFC 9649) and returns the first size in its file. MAX_PIXELS limits each frame. */
export function* parseWebp(file: ArrivingFile): Parsing<ImageSize> {
  file.skip(4);
  const end = 8 + (yield* file.take(4)).readUInt32LE();
  file.skip(4);
  let size: ImageSize | undefined;
  while (file.position() < end) {
    const head = yield* file.take(8);
    const type = head.toString('latin1', 0, 4);
    const length = head.readUInt32LE(4);
    const sizeBytes = WEBP_SIZE_BYTES[type] ?? 0;
    if (length < sizeBytes) throw damaged('WebP', 'a WebP chunk is too short');
    const found = webpSize(type, yield* file.take(sizeBytes));
    size ??= found;
    if (!size) throw damaged('WebP', 'the file does not begin with a picture');
    if (type === 'ANMF') file.skip(16); // skips the head of an animation frame, before the frame's image
    else file.skip(length + length % 2 - sizeBytes);
    if (file.position() > end) throw damaged('WebP', 'a WebP chunk is longer than its container');
  }
  if (!size) throw damaged('WebP', 'the file does not begin with a picture');
  yield* requireEnd(file);
  return size;
}

const WEBP_SIZE_BYTES: Record<string, number> = { 'VP8X': 10, 'VP8L': 5, 'VP8 ': 10 };

/** Reads the canvas size of an extended WebP, or the size in the head of a lossy or lossless picture. */
function webpSize(type: string, head: Buffer): ImageSize | undefined {
  if (head.length === 0) return undefined;
  if (type === 'VP8X') return imageSize(head.readUIntLE(4, 3) + 1, head.readUIntLE(7, 3) + 1);
  if (type === 'VP8L' && head[0] === 0x2f) {
    const bits = head.readUInt32LE(1);
    return imageSize((bits & 0x3fff) + 1, (bits >>> 14 & 0x3fff) + 1);
  }
  if (type === 'VP8 ' && head.toString('hex', 3, 6) === '9d012a') {
    return imageSize(head.readUInt16LE(6) & 0x3fff, head.readUInt16LE(8) & 0x3fff);
  }
  throw damaged('WebP', 'the WebP picture has no valid header');
}

const MAX_BRANDS_BYTES = 1024;
const AVIF_BRANDS = ['avif', 'avis']; // brands of an AVIF still image and an AVIF image sequence
const HEIF_BRANDS = ['mif1', 'msf1']; // brands of any HEIF image; the compatible brands tell whether it is an AVIF

/** AVIF is ISO/IEC 14496-12 and 23008-12. The size is that of the main picture; a gain map beside it may be larger. */
export function* parseAvif(file: ArrivingFile): Parsing<ImageSize> {
  const missing = new Set((yield* isAvifSequence(file)) ? ['data', 'moov'] : ['data']);
  const sizes = new Map<number, ImageSize>(); // by the place among the properties, from 1
  let [main, property, propertiesEnd] = [-1, 0, 0];
  let [ofMain, largest, hasMeta]: [ImageSize?, ImageSize?, boolean?] = [];
  while (!(yield* file.isAtEnd())) {
    if (file.position() < propertiesEnd) property += 1;
    const { type, length } = yield* readBox(file);
    missing.delete(type === 'mdat' || type === 'idat' ? 'data' : type);
    if (type === 'meta' && hasMeta) throw damaged('AVIF', 'the AVIF file has two meta boxes');
    hasMeta ||= type === 'meta';
    if (type === 'meta') file.skip(4);
    if (type === 'ipco') [property, propertiesEnd] = [0, file.position() + length];
    if (['meta', 'iprp', 'ipco'].includes(type)) continue; // reads the boxes inside a meta, iprp or ipco box next
    if (type === 'pitm') main = yield* readMain(file, length);
    else if (type === 'ipma') {
      ofMain ??= (yield* propertiesOf(main, file, length)).map((place) => sizes.get(place)).find(Boolean);
    } else if (type !== 'ispe') yield* skipBox(file, length);
    else {
      const found = yield* readSize(file, length);
      if (property <= MAX_PROPERTY) sizes.set(property, found);
      if (!largest || found.width * found.height > largest.width * largest.height) largest = found;
    }
  }
  if (missing.size > 0) throw damaged('AVIF', 'the file has no image data');
  const size = ofMain ?? largest; // a sequence may name no main picture
  if (!size) throw damaged('AVIF', 'the size of the image is missing');
  return size;
}

function* readSize(file: ArrivingFile, length: number): Parsing<ImageSize> {
  if (length !== 12) throw damaged('AVIF', 'the size of the image is missing');
  const bytes = yield* file.take(12);
  return imageSize(bytes.readUInt32BE(4), bytes.readUInt32BE(8));
}

/** The number of the main picture: two bytes in version 0 of the box, else four. */
function* readMain(file: ArrivingFile, length: number): Parsing<number> {
  if (length !== 6 && length !== 8) throw damaged('AVIF', 'the main picture is missing');
  return (yield* file.take(length)).readUIntBE(4, length - 4);
}

const MAX_PROPERTY = 2 ** 15 - 1;

/** Reads an ipma box, which lists the properties of each picture of the file; returns those of the picture `main`. */
function* propertiesOf(main: number, file: ArrivingFile, length: number): Parsing<number[]> {
  const end = file.position() + length;
  const head = yield* file.take(8);
  const [idBytes, bytesOfEach] = [head[0] === 0 ? 2 : 4, (head[3] ?? 0) & 1 ? 2 : 1];
  let found: number[] = [];
  for (let left = head.readUInt32BE(4); left > 0 && file.position() < end; left -= 1) {
    const picture = yield* file.take(idBytes + 1);
    const listed = yield* file.take((picture[idBytes] ?? 0) * bytesOfEach);
    if (picture.readUIntBE(0, idBytes) !== main) continue;
    const essential = 1 << 8 * bytesOfEach - 1; // the highest bit of each place
    found = Array.from({ length: listed.length / bytesOfEach }, (_, index) =>
      listed.readUIntBE(index * bytesOfEach, bytesOfEach) & ~essential);
  }
  if (file.position() > end) throw damaged('AVIF', 'the properties of the pictures are longer than their box');
  file.skip(end - file.position());
  return found;
}

function* skipBox(file: ArrivingFile, length: number): Parsing<void> {
  if (length !== Infinity) return file.skip(length);
  while (!(yield* file.isAtEnd())) yield* file.takeArrived();
}

/** Reads the file type box of an AVIF; returns true for an image sequence. Refuses a file that is no AVIF. */
function* isAvifSequence(file: ArrivingFile): Parsing<boolean> {
  const { length } = yield* readBox(file);
  if (length < 8 || length > MAX_BRANDS_BYTES) throw damaged('AVIF', 'the AVIF file type box is invalid');
  const [major = '', , ...compatible] = (yield* file.take(length)).toString('latin1').match(/.{4}/gs) ?? [];
  const brands = [major, ...(HEIF_BRANDS.includes(major) ? compatible : [])];
  if (!brands.some((brand) => AVIF_BRANDS.includes(brand))) {
    throw new RefusedFile('type', 'The content of the file is not an AVIF image.');
  }
  return major === 'avis' || major === 'msf1';
}

/** The boxes that may have the length 0, which means to the end of the file. */
const LAST_BOXES = ['mdat', 'meta'];

/** Reads the head of an AVIF box. If the box's 32-bit length field is 1, a 64-bit length follows. */
function* readBox(file: ArrivingFile): Parsing<{ type: string; length: number }> {
  const head = yield* file.take(8);
  const type = head.toString('latin1', 4);
  const short = head.readUInt32BE(0);
  if (short === 0 && LAST_BOXES.includes(type)) return { type, length: Infinity };
  const length = short === 1 ? Number((yield* file.take(8)).readBigUInt64BE()) - 16 : short - 8;
  if (length < 0) throw damaged('AVIF', 'the length of an AVIF box is invalid');
  return { type, length };
}
