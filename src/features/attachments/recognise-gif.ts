import { nothingMore, take, type ArrivingFile, type Walk } from './byte-walk.ts';
import { imageSize, type ImageSize } from './image-size.ts';
import { RefusedFile } from './refused-file.ts';

const IMAGE = 0x2c;
const EXTENSION = 0x21;
const TRAILER = 0x3b;

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
    if (block === TRAILER) break;
    if (block !== IMAGE && block !== EXTENSION) throw damaged('something lies between its blocks');
    if (block === IMAGE) {
      yield* readFrame(file, size);
      frames += 1;
    } else {
      file.skip(1);
    }
    yield* skipSubBlocks(file);
  }
  if (frames === 0) throw damaged('it has no image data');
  yield* nothingMore(file);
  return size;
}

function* readFrame(file: ArrivingFile, size: ImageSize): Walk<void> {
  const frame = yield* take(file, 9);
  const right = frame.readUInt16LE(0) + frame.readUInt16LE(4);
  const bottom = frame.readUInt16LE(2) + frame.readUInt16LE(6);
  if (right > size.width || bottom > size.height) throw damaged('a frame is larger than the image');
  file.skip(colourTableBytes(frame[8]));
  const [codeBits = 0] = yield* take(file, 1);
  if (codeBits < 1 || codeBits > 8) throw damaged('a frame has no valid code size');
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

function damaged(what: string): RefusedFile {
  return new RefusedFile('damaged', `The GIF image is damaged: ${what}.`);
}
