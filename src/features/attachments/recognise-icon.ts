import { hash } from 'node:crypto';
import type { Icon } from './icon-store.ts';
import { RefusedFile, type ImageSize } from './recognise-images.ts';
import { recogniseContent } from './recognise-file.ts';
import { PNG_SIGNATURE } from './recognise-png-webp-avif.ts';

/** Pixels of either side: icons of 512 are common, and nobody needs to draw one that is larger than this. */
const MAX_SIDE = 1024;

/** The longer side is at most so many times the shorter: banners make no icons. */
const MAX_RATIO = 1.5;

const ICO_SIGNATURE = Buffer.from('00000100', 'hex');
const ICO_HEAD = 6;
const ICO_ENTRY = 16;
const BITMAP_HEAD = 40;

/**
 * An image that may stand for a source, of the type that its content says, whatever its server called it. Throws
 * RefusedFile for anything else: SVG, too, which is a program as much as an image.
 */
export function recogniseIcon(content: Buffer): Icon {
  const isIco = content.subarray(0, ICO_SIGNATURE.length).equals(ICO_SIGNATURE);
  const { mediaType, width = 0, height = 0 } = isIco ? readIco(content) : recogniseContent(content);
  if (!mediaType.startsWith('image/')) throw new RefusedFile('type', 'it is not an image');
  requireIconSize({ width, height });
  if (Math.max(width, height) > MAX_RATIO * Math.min(width, height)) {
    throw new RefusedFile('dimensions', 'it is not nearly square');
  }
  return { sha256: hash('sha256', content), mediaType, content };
}

/** Of an ICO, which holds an icon in several sizes, the largest. */
function readIco(content: Buffer): ImageSize & { mediaType: string } {
  const count = content.length < ICO_HEAD ? 0 : content.readUInt16LE(4);
  if (count === 0 || content.length < ICO_HEAD + ICO_ENTRY * count) throw damagedIco();
  let largest: ImageSize = { width: 0, height: 0 };
  for (let index = 0; index < count; index += 1) {
    const entry = ICO_HEAD + ICO_ENTRY * index;
    const start = content.readUInt32LE(entry + 12);
    const end = start + content.readUInt32LE(entry + 8);
    if (start < ICO_HEAD + ICO_ENTRY * count || end > content.length) throw damagedIco();
    const size = sizeOfPicture(content.subarray(start, end));
    requireIconSize(size);
    if (size.width > largest.width) largest = size;
  }
  return { mediaType: 'image/x-icon', ...largest };
}

/** What a picture in an ICO, a PNG or a bitmap, says of itself; its entry in the list may say something else. */
function sizeOfPicture(picture: Buffer): ImageSize {
  if (picture.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) {
    const { width = 0, height = 0 } = recogniseContent(picture);
    return { width, height };
  }
  if (picture.length < BITMAP_HEAD || picture.readUInt32LE(0) !== BITMAP_HEAD) throw damagedIco();
  const width = picture.readInt32LE(4);
  const height = picture.readInt32LE(8) / 2; // twice: its mask is below it
  const rowBytes = Math.ceil(width * picture.readUInt16LE(14) / 32) * 4;
  if (BITMAP_HEAD + rowBytes * height > picture.length) throw damagedIco();
  return { width, height };
}

function requireIconSize({ width, height }: ImageSize): void {
  if (width < 1 || height < 1) throw damagedIco();
  if (width > MAX_SIDE || height > MAX_SIDE) throw new RefusedFile('dimensions', 'it is too large for an icon');
}

function damagedIco(): RefusedFile {
  return new RefusedFile('damaged', 'The icon is damaged.');
}
