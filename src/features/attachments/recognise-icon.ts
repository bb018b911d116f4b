import { hash } from 'node:crypto';
import type { Icon } from './icon-store.ts';
import { RefusedFile } from './arriving-file.ts';
import { recogniseContent } from './recognise-file.ts';
import { type ImageSize, PNG_SIGNATURE } from './recognise-images.ts';

const MAX_SIDE = 1024; // pixels

/** The longer side of an icon may be at most this many times the shorter side. Refuses banners. */
const MAX_RATIO = 1.5;

const ICO_SIGNATURE = Buffer.from('00000100', 'hex');
const ICO_HEAD = 6;
const ICO_ENTRY = 16;
const BITMAP_HEAD = 40;

/** Refuses SVG, because SVG can contain scripts. Ignores the server's Content-Type. Throws RefusedFile. */
export function recogniseIcon(content: Buffer): Icon {
  const isIco = content.subarray(0, ICO_SIGNATURE.length).equals(ICO_SIGNATURE);
  const { mediaType, width = 0, height = 0 } = isIco ? readIco(content) : recogniseContent(content);
  if (!mediaType.startsWith('image/')) throw new RefusedFile('type', 'the file is not an image');
  requireIconSize({ width, height });
  if (Math.max(width, height) > MAX_RATIO * Math.min(width, height)) {
    throw new RefusedFile('dimensions', 'the image is not nearly square');
  }
  return { sha256: hash('sha256', content), mediaType, content };
}

/** The largest picture size in an ICO file, which contains an icon in several sizes. */
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

/** The size in the head of a PNG or bitmap in an ICO file, whose list of pictures may claim another size. */
function sizeOfPicture(picture: Buffer): ImageSize {
  if (picture.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) {
    const { width = 0, height = 0 } = recogniseContent(picture);
    return { width, height };
  }
  if (picture.length < BITMAP_HEAD || picture.readUInt32LE(0) !== BITMAP_HEAD) throw damagedIco();
  const width = picture.readInt32LE(4);
  const height = picture.readInt32LE(8) / 2; // the stored height of a bitmap in an ICO includes a mask of equal height
  const rowBytes = Math.ceil(width * picture.readUInt16LE(14) / 32) * 4;
  if (BITMAP_HEAD + rowBytes * height > picture.length) throw damagedIco();
  return { width, height };
}

function requireIconSize({ width, height }: ImageSize): void {
  if (width < 1 || height < 1) throw damagedIco();
  if (width > MAX_SIDE || height > MAX_SIDE) throw new RefusedFile('dimensions', 'the image is too large for an icon');
}

function damagedIco(): RefusedFile {
  return new RefusedFile('damaged', 'The icon is damaged.');
}
