import { crc32 } from 'node:zlib';
import { ignoreRest, nothingMore, RefusedFile, take, type ArrivingFile, type Walk } from './byte-walk.ts';

/** In pixels, as the file stores them: a rotation asked for by its metadata is not applied. */
export type ImageSize = { width: number; height: number };

/**
 * 8192 × 8192. Cameras of phones write up to 8192 × 6144, and whoever opens an image needs about four bytes for each
 * of its pixels: at most 256 MiB, whatever the few bytes of the file claim.
 */
export const MAX_PIXELS = 2 ** 26;

/** The size an image claims; refused when it is empty or larger than anybody should have to draw. */
export function imageSize(width: number, height: number): ImageSize {
  if (width === 0 || height === 0) {
    throw new RefusedFile('damaged', 'The image is damaged: its width or height is zero.');
  }
  if (width * height > MAX_PIXELS) {
    const detail = `The image has ${width} × ${height} pixels; at most ${MAX_PIXELS / 1e6 | 0} million are allowed.`;
    throw new RefusedFile('dimensions', detail);
  }
  return { width, height };
}

/** The refusal of an image that is not whole; `what` is wrong with it. */
export function damaged(format: string, what: string): RefusedFile {
  return new RefusedFile('damaged', `The ${format} image is damaged: ${what}.`);
}

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

// Codes that follow 0xFF (ITU-T T.81, table B.1).
const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;
const FIRST_RESTART = 0xd0;
const LAST_RESTART = 0xd7;
const START_OF_IMAGE = 0xd8;
// Not start of frame, although their codes lie among those.
const HUFFMAN_TABLES = 0xc4;
const JPEG_EXTENSION = 0xc8;
const ARITHMETIC_CONDITIONS = 0xcc;
const LAST_FRAME = 0xcf;
// Baseline, extended sequential and progressive: the kinds that browsers draw.
const DRAWN_FRAMES = [0xc0, 0xc1, 0xc2];

/**
 * Walks the segments of a JPEG, through the data of its scans, to the end of the image. Whatever follows is admitted:
 * telephones put second pictures, brightness maps and short films there.
 */
export function* walkJpeg(file: ArrivingFile): Walk<ImageSize> {
  file.skip(2);
  let size: ImageSize | undefined;
  let scans = 0;
  for (;;) {
    const marker = yield* readMarker(file);
    if (marker === END_OF_IMAGE) break;
    if (isJpegFrame(marker)) {
      if (size) throw damaged('JPEG', 'it holds two frames');
      size = yield* readJpegFrame(file, marker);
    } else {
      file.skip(yield* readSegmentLength(file));
    }
    if (marker !== START_OF_SCAN) continue;
    if (!size) throw damaged('JPEG', 'its data comes before its dimensions');
    scans += 1;
    yield* skipScan(file);
  }
  if (!size || scans === 0) throw damaged('JPEG', 'it has no image data');
  yield* ignoreRest(file);
  return size;
}

/** The code of the next marker; any number of 0xFF may fill the space before it. */
function* readMarker(file: ArrivingFile): Walk<number> {
  while (!file.ready(1)) yield;
  let code = file.byte();
  if (code !== 0xff) throw damaged('JPEG', 'something lies between its segments');
  while (code === 0xff) {
    while (!file.ready(1)) yield;
    code = file.byte();
  }
  if (code < 0xc0 || code >= FIRST_RESTART && code <= START_OF_IMAGE) {
    throw damaged('JPEG', 'a marker stands where none may');
  }
  return code;
}

/** How many bytes of the segment follow its length. */
function* readSegmentLength(file: ArrivingFile): Walk<number> {
  while (!file.ready(2)) yield;
  const length = file.byte() << 8 | file.byte();
  if (length < 2) throw damaged('JPEG', 'a segment is shorter than its own length');
  return length - 2;
}

function* readJpegFrame(file: ArrivingFile, marker: number): Walk<ImageSize> {
  const frame = yield* take(file, yield* readSegmentLength(file));
  const [precision, , , , , components = 0] = frame;
  if (frame.length !== 6 + 3 * components) throw damaged('JPEG', 'its frame header has the wrong length');
  if (!DRAWN_FRAMES.includes(marker) || precision !== 8 || ![1, 3, 4].includes(components)) {
    throw new RefusedFile('type', 'Browsers do not show JPEG images of this kind. Save it as an ordinary one.');
  }
  return imageSize(frame.readUInt16BE(3), frame.readUInt16BE(1));
}

/** Moves to the marker that ends the data of a scan. */
function* skipScan(file: ArrivingFile): Walk<void> {
  for (;;) {
    while (!file.ready(2)) yield;
    const bytes = file.atHand();
    const found = markerIn(bytes);
    file.skip(found ?? bytes.length - 1);
    if (found !== undefined) return;
  }
}

/** Where a marker begins that ends a scan: not a stuffed zero, a restart or fill. The last byte alone shows nothing. */
function markerIn(bytes: Buffer): number | undefined {
  for (let index = 0; index < bytes.length - 1; index += 1) {
    if (bytes[index] !== 0xff) continue;
    const code = bytes[index + 1] ?? 0;
    if (code !== 0 && code !== 0xff && (code < FIRST_RESTART || code > LAST_RESTART)) return index;
  }
  return undefined;
}

function isJpegFrame(marker: number): boolean {
  return marker <= LAST_FRAME && ![HUFFMAN_TABLES, JPEG_EXTENSION, ARITHMETIC_CONDITIONS].includes(marker);
}

const GIF_IMAGE = 0x2c;
const GIF_EXTENSION = 0x21;
const GIF_TRAILER = 0x3b;

/**
 * Walks the blocks of a GIF (87a and 89a) to its trailer, which ends the file. Frames that leave the logical screen are
 * refused, because some readers enlarge the image for them and others do not.
 */
export function* walkGif(file: ArrivingFile): Walk<ImageSize> {
  file.skip(6);
  const screen = yield* take(file, 7);
  const size = imageSize(screen.readUInt16LE(0), screen.readUInt16LE(2));
  file.skip(colourTableBytes(screen[4]));
  let frames = 0;
  for (;;) {
    const [block] = yield* take(file, 1);
    if (block === GIF_TRAILER) break;
    if (block !== GIF_IMAGE && block !== GIF_EXTENSION) throw damaged('GIF', 'something lies between its blocks');
    if (block === GIF_IMAGE) {
      yield* readGifFrame(file, size);
      frames += 1;
    } else {
      file.skip(1);
    }
    yield* skipSubBlocks(file);
  }
  if (frames === 0) throw damaged('GIF', 'it has no image data');
  yield* nothingMore(file);
  return size;
}

function* readGifFrame(file: ArrivingFile, size: ImageSize): Walk<void> {
  const frame = yield* take(file, 9);
  const right = frame.readUInt16LE(0) + frame.readUInt16LE(4);
  const bottom = frame.readUInt16LE(2) + frame.readUInt16LE(6);
  if (right > size.width || bottom > size.height) throw damaged('GIF', 'a frame is larger than the image');
  file.skip(colourTableBytes(frame[8]));
  const [codeBits = 0] = yield* take(file, 1);
  if (codeBits < 1 || codeBits > 8) throw damaged('GIF', 'a frame has no valid code size');
}

/** Blocks of up to 255 bytes, each after its length, to an empty one. */
function* skipSubBlocks(file: ArrivingFile): Walk<void> {
  for (;;) {
    while (!file.ready(1)) yield;
    const length = file.byte();
    if (length === 0) return;
    file.skip(length);
  }
}

/** Three bytes for each colour: 2 to the power of (the low three bits + 1) colours, where the high bit is set. */
function colourTableBytes(flags = 0): number {
  return flags >= 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0;
}
