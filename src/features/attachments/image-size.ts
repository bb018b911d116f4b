import { RefusedFile } from './refused-file.ts';

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
    const detail = `The image has ${width} × ${height} pixels; at most ${MAX_PIXELS / 1e6 | 0} million are possible.`;
    throw new RefusedFile('dimensions', detail);
  }
  return { width, height };
}
