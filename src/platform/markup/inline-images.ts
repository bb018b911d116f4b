import { decodeAttributeEntities, escapeHtml } from './entities.ts';

/** The links that sanitizeHtml writes in place of images: the web address and, escaped, the words. */
const IMAGE_LINK = /<a href="(https?:[^"<>]*)" class="remote-image"[^<>]*>([^<>"]*)<\/a>/g;

/** Addresses of the images of sanitised markup, each once, in order. */
export function imageAddresses(sanitized: string): string[] {
  return [...new Set(Array.from(sanitized.matchAll(IMAGE_LINK), ([, href = '']) => decodeAttributeEntities(href)))];
}

/** The sanitised markup with images where `addressOf` knows a place to load them from; the other links stay. */
export function showImages(sanitized: string, addressOf: (url: string) => string | undefined): string {
  return sanitized.replace(IMAGE_LINK, (link: string, href: string, label: string) => {
    const address = addressOf(decodeAttributeEntities(href));
    return address === undefined ? link : `<img src="${escapeHtml(address)}" alt="${label}" loading="lazy">`;
  });
}
