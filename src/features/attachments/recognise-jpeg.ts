import { ignoreRest, take, type ArrivingFile, type Walk } from './byte-walk.ts';
import { imageSize, type ImageSize } from './image-size.ts';
import { RefusedFile } from './refused-file.ts';

// Codes that follow 0xFF (ITU-T T.81, table B.1).
const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;
const FIRST_RESTART = 0xd0;
const LAST_RESTART = 0xd7;
const START_OF_IMAGE = 0xd8;
// Not start of frame, although their codes lie among those.
const HUFFMAN_TABLES = 0xc4;
const EXTENSION = 0xc8;
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
    if (isFrame(marker)) {
      if (size) throw damaged('it holds two frames');
      size = yield* readFrame(file, marker);
    } else {
      file.skip(yield* readLength(file));
    }
    if (marker !== START_OF_SCAN) continue;
    if (!size) throw damaged('its data comes before its dimensions');
    scans += 1;
    yield* skipScan(file);
  }
  if (!size || scans === 0) throw damaged('it has no image data');
  yield* ignoreRest(file);
  return size;
}

/** The code of the next marker; any number of 0xFF may fill the space before it. */
function* readMarker(file: ArrivingFile): Walk<number> {
  while (!file.ready(1)) yield;
  let code = file.byte();
  if (code !== 0xff) throw damaged('something lies between its segments');
  while (code === 0xff) {
    while (!file.ready(1)) yield;
    code = file.byte();
  }
  if (code < 0xc0 || code >= FIRST_RESTART && code <= START_OF_IMAGE) throw damaged('a marker stands where none may');
  return code;
}

/** How many bytes of the segment follow its length. */
function* readLength(file: ArrivingFile): Walk<number> {
  while (!file.ready(2)) yield;
  const length = file.byte() << 8 | file.byte();
  if (length < 2) throw damaged('a segment is shorter than its own length');
  return length - 2;
}

function* readFrame(file: ArrivingFile, marker: number): Walk<ImageSize> {
  const frame = yield* take(file, yield* readLength(file));
  const [precision, , , , , components = 0] = frame;
  if (frame.length !== 6 + 3 * components) throw damaged('its frame header has the wrong length');
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

function isFrame(marker: number): boolean {
  return marker <= LAST_FRAME && ![HUFFMAN_TABLES, EXTENSION, ARITHMETIC_CONDITIONS].includes(marker);
}

function damaged(what: string): RefusedFile {
  return new RefusedFile('damaged', `The JPEG image is damaged: ${what}.`);
}
