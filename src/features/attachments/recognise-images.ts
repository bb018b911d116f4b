
/**
 * `type`: not one of the admitted types, or not what the name's extension says (415).
 * `damaged`: of an admitted type, but not whole (422). `dimensions`: more pixels than are admitted (422).
 */
type RefusalKind = 'type' | 'damaged' | 'dimensions';

/** Thrown for a file that is not kept because of what it holds; the message is for the person who sent it. */
export class RefusedFile extends Error {
  readonly kind: RefusalKind;

  constructor(kind: RefusalKind, reason: string) {
    super(reason);
    this.kind = kind;
  }
}

/** Throws the error; a refusal says which of several files it is about. */
export function refusalOf(filename: string): (error: unknown) => never {
  const named = ({ kind, message }: RefusedFile): RefusedFile => new RefusedFile(kind, `${filename}: ${message}`);
  return (error) => { throw error instanceof RefusedFile ? named(error) : error; };
}

/** A reading of a file in one pass, which yields whenever the bytes it needs next have not come yet. */
export type Walk<T> = Generator<undefined, T, undefined>;

/** A file while it arrives. Its position only grows, so that no loop in a file can be followed twice. */
export type ArrivingFile = {
  /** Where the next byte lies in the file; after a long skip, beyond what has come. */
  position: () => number;
  /** Whether so many bytes are at hand. Refuses the file when it has ended before them. */
  ready: (count: number) => boolean;
  /** All bytes at hand, without moving on. */
  atHand: () => Buffer;
  /** The next byte; only where `ready(1)`. */
  byte: () => number;
  skip: (count: number) => void;
  ended: () => boolean;
};

/** Takes a file in pieces of any size, of which it keeps none; either call throws what the walk throws. */
export type FedWalk<T> = { push: (chunk: Buffer) => void; finish: () => T };

const NOTHING: Buffer = Buffer.alloc(0);

/** Sets out on a walk, which must not end before the file does. */
export function startWalk<T>(walk: (file: ArrivingFile) => Walk<T>): FedWalk<T> {
  let held = NOTHING;
  let start = 0; // position of the first byte in held
  let next = 0;
  let ended = false;
  const steps = walk({
    position: () => next,
    ready: (count) => {
      if (next + count <= start + held.length) return true;
      if (ended) throw cutShort();
      return false;
    },
    atHand: () => held.subarray(next - start),
    byte: () => held[next++ - start] ?? 0,
    skip: (count) => void (next += count),
    ended: () => ended,
  });
  const dropUsed = () => {
    const used = Math.min(next - start, held.length);
    start += used;
    held = held.subarray(used);
  };
  return {
    push: (chunk) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      dropUsed();
      steps.next();
      dropUsed();
      held = held.length === 0 ? NOTHING : Buffer.from(held);
    },
    finish: () => {
      ended = true;
      const last = steps.next();
      // A generator that has thrown is done, without a value.
      if (last.done !== true || last.value === undefined) throw cutShort();
      return last.value;
    },
  };
}

/** Takes the next bytes. */
export function* take(file: ArrivingFile, count: number): Walk<Buffer> {
  while (!file.ready(count)) yield;
  const bytes = file.atHand().subarray(0, count);
  file.skip(count);
  return bytes;
}

/** The first bytes without taking them; fewer where the file is shorter. */
export function* peek(file: ArrivingFile, count: number): Walk<Buffer> {
  while (file.atHand().length < count && !file.ended()) yield;
  return file.atHand().subarray(0, count);
}

/** Waits for further bytes; false at the end of the file. Refuses a file that ended before the position. */
export function* hasMore(file: ArrivingFile): Walk<boolean> {
  while (file.atHand().length === 0 && !file.ended()) yield;
  return file.atHand().length > 0 || !file.ready(0);
}

/** The file must end here. What follows the end of an image is shown by nobody and may be anything. */
export function* nothingMore(file: ArrivingFile): Walk<void> {
  if (yield* hasMore(file)) throw new RefusedFile('damaged', 'The file continues after the end of its content.');
}

/** The rest of the file may be anything. */
function* ignoreRest(file: ArrivingFile): Walk<void> {
  while (yield* hasMore(file)) file.skip(file.atHand().length);
}

function cutShort(): RefusedFile {
  return new RefusedFile('damaged', 'The file ends too early; it was cut short or is damaged.');
}

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
