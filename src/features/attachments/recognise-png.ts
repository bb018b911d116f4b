import { crc32 } from 'node:zlib';
import { nothingMore, take, type ArrivingFile, type Walk } from './byte-walk.ts';
import { imageSize, type ImageSize } from './image-size.ts';
import { RefusedFile } from './refused-file.ts';

export const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

const HEADER_BYTES = 13;
// The critical chunks that may follow IHDR; a reader that knows no other must give up at any other.
const BODY_CHUNKS = ['PLTE', 'IDAT', 'IEND'];
const MAX_LENGTH = 2 ** 31 - 1;

// Colour type to the bit depths it admits (PNG 3rd edition, section 11.2.1).
const DEPTHS: Record<number, number[]> = { 0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16] };
const PALETTE = 3;

/**
 * Walks the chunks of a PNG from IHDR to IEND, which must end the file: what programs have left behind it is, for one,
 * the rest of a screenshot that its owner believed cut off.
 */
export function* walkPng(file: ArrivingFile): Walk<ImageSize> {
  file.skip(PNG_SIGNATURE.length);
  const { size, needsPalette } = yield* readHeader(file);
  const seen = new Set<string>();
  while (!seen.has('IEND')) {
    const { type, length } = yield* readChunkHead(file);
    if (isCritical(type) && !BODY_CHUNKS.includes(type)) throw damaged(`a chunk ${type} stands where none may`);
    if (type === 'IDAT' && needsPalette && !seen.has('PLTE')) throw damaged('it has no palette');
    if (type === 'IEND' && length > 0) throw damaged('its last chunk is not empty');
    if (isCritical(type)) seen.add(type);
    file.skip(length + 4);
  }
  if (!seen.has('IDAT')) throw damaged('it has no image data');
  yield* nothingMore(file);
  return size;
}

function* readHeader(file: ArrivingFile): Walk<{ size: ImageSize; needsPalette: boolean }> {
  const { type, length } = yield* readChunkHead(file);
  if (type !== 'IHDR' || length !== HEADER_BYTES) throw damaged('it does not begin with its header');
  const header = yield* take(file, HEADER_BYTES + 4);
  const [depth = 0, colour = 0, compression, filter, interlace = 0] = header.subarray(8);
  const isLegal = DEPTHS[colour]?.includes(depth) === true && compression === 0 && filter === 0 && interlace <= 1;
  if (!isLegal) throw damaged('its header names a form that PNG does not have');
  if (crc32(header.subarray(0, HEADER_BYTES), crc32('IHDR')) !== header.readUInt32BE(HEADER_BYTES)) {
    throw damaged('the checksum of its header is wrong');
  }
  return { size: imageSize(header.readUInt32BE(0), header.readUInt32BE(4)), needsPalette: colour === PALETTE };
}

function* readChunkHead(file: ArrivingFile): Walk<{ type: string; length: number }> {
  const head = yield* take(file, 8);
  const length = head.readUInt32BE(0);
  const type = head.toString('latin1', 4, 8);
  if (length > MAX_LENGTH || !/^[A-Za-z]{4}$/.test(type)) throw damaged('one of its chunks is not one');
  return { type, length };
}

/** A capital first letter: nobody can draw the image without this chunk. */
function isCritical(type: string): boolean {
  return type < 'a';
}

function damaged(what: string): RefusedFile {
  return new RefusedFile('damaged', `The PNG image is damaged: ${what}.`);
}
