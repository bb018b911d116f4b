import { nothingMore, take, type ArrivingFile, type Walk } from './byte-walk.ts';
import { imageSize, type ImageSize } from './image-size.ts';
import { RefusedFile } from './refused-file.ts';

type Chunk = { type: string; end: number };

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
    if (!size) throw damaged('it does not begin with a picture');
    skipTo(file, first.end);
    while (file.position() < end) skipTo(file, (yield* readChunk(file, end)).end);
    yield* nothingMore(file);
    return size;
  }
  const canvas = sizeAt(yield* takeFrom(file, first, 10), 4);
  skipTo(file, first.end);
  const pictures = yield* checkPictures(file, end, canvas, true);
  if (pictures === 0) throw damaged('it has no image data');
  yield* nothingMore(file);
  return canvas;
}

/** How many pictures the chunks up to `end` hold; each must have this size, frames of an animation lie within it. */
function* checkPictures(file: ArrivingFile, end: number, size: ImageSize, mayAnimate: boolean): Walk<number> {
  let pictures = 0;
  while (file.position() < end) {
    const chunk = yield* readChunk(file, end);
    const picture = yield* readPicture(file, chunk);
    if (picture && !isSame(picture, size)) throw damaged('a picture has another size than the image');
    if (picture) pictures += 1;
    if (mayAnimate && chunk.type === 'ANMF') pictures += yield* checkFrame(file, chunk, size);
    skipTo(file, chunk.end);
  }
  return pictures;
}

function* checkFrame(file: ArrivingFile, chunk: Chunk, canvas: ImageSize): Walk<number> {
  const frame = yield* takeFrom(file, chunk, 16);
  const size = sizeAt(frame, 6);
  const right = 2 * frame.readUIntLE(0, 3) + size.width;
  const bottom = 2 * frame.readUIntLE(3, 3) + size.height;
  if (right > canvas.width || bottom > canvas.height) throw damaged('a frame is larger than the image');
  return yield* checkPictures(file, chunk.end, size, false);
}

/** The size in the head of a lossy or lossless bit stream; undefined for a chunk of another kind. */
function* readPicture(file: ArrivingFile, chunk: Chunk): Walk<ImageSize | undefined> {
  if (chunk.type === 'VP8 ') {
    const head = yield* takeFrom(file, chunk, 10);
    const isKeyFrame = ((head[0] ?? 1) & 1) === 0 && head.subarray(3, 6).equals(KEY_FRAME_START);
    if (!isKeyFrame) throw damaged('its picture has no valid beginning');
    return imageSize(head.readUInt16LE(6) & 0x3fff, head.readUInt16LE(8) & 0x3fff);
  }
  if (chunk.type === 'VP8L') {
    const head = yield* takeFrom(file, chunk, 5);
    const bits = head.readUInt32LE(1);
    if (head[0] !== LOSSLESS_SIGNATURE || bits >>> 29 !== 0) throw damaged('its picture has no valid beginning');
    return imageSize((bits & 0x3fff) + 1, (bits >>> 14 & 0x3fff) + 1);
  }
  return undefined;
}

/** The head of the next chunk. Chunks of odd length are followed by one byte of padding. */
function* readChunk(file: ArrivingFile, limit: number): Walk<Chunk> {
  const head = yield* take(file, 8);
  const length = head.readUInt32LE(4);
  const end = file.position() + length + length % 2;
  if (end > limit) throw damaged('a chunk is longer than what holds it');
  return { type: head.toString('latin1', 0, 4), end };
}

function* takeFrom(file: ArrivingFile, chunk: Chunk, count: number): Walk<Buffer> {
  if (file.position() + count > chunk.end) throw damaged('a chunk is too short');
  return yield* take(file, count);
}

function skipTo(file: ArrivingFile, position: number): void {
  file.skip(position - file.position());
}

/** Width and height, each less one, in three bytes. */
function sizeAt(bytes: Buffer, offset: number): ImageSize {
  return imageSize(bytes.readUIntLE(offset, 3) + 1, bytes.readUIntLE(offset + 3, 3) + 1);
}

function isSame(one: ImageSize, other: ImageSize): boolean {
  return one.width === other.width && one.height === other.height;
}

function damaged(what: string): RefusedFile {
  return new RefusedFile('damaged', `The WebP image is damaged: ${what}.`);
}
