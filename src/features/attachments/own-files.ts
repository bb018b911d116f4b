import { escapeHtml } from '../../platform/markup/entities.ts';
import { showImages } from '../../platform/markup/remote-media.ts';
import { attachmentPath, type LinkHub } from './attachment-links.ts';
import type { Attachment } from './attachment-store.ts';
import type { ImageSize } from './recognise-images.ts';

/**
 * Stands before the names of a post's own files in stored markup: an author writes `![An owl](owl.png)`. The name does
 * not change when a draft becomes a post or BASE_URL changes. Hosts in `.invalid` never exist (RFC 6761).
 */
export const OWN_FILES = 'https://file-of-this-post.invalid/';

const OWN_LINK = new RegExp(`<a href="(${OWN_FILES}[^"<>]*)"([^<>]*)>`, 'g');

/** The address that stands for a file in stored markup: the publisher's address, or the name of an uploaded file. */
export function storedAddress({ remoteUrl, filename }: Pick<Attachment, 'remoteUrl' | 'filename'>): string {
  return remoteUrl ?? new URL(encodeURIComponent(filename), OWN_FILES).href;
}

/** Links to a post's own files lead to the files; links with another relative address become text. */
function withOwnLinks(markup: string, pathOf: (address: string) => string | undefined): string {
  if (!markup.includes(OWN_FILES)) return markup;
  return markup.replace(OWN_LINK, (_link, address: string) => {
    const path = pathOf(address);
    return path === undefined ? '<a>' : `<a href="${escapeHtml(path)}">`;
  });
}

/** A post's sanitised content, its files, and its address at its publisher. */
export type PostContent = { contentHtml: string; attachments: Attachment[]; url: string | null };

/** A post's content in which images have addresses on the hub: `origin`, then the image's path as `sign` returns it. */
export function contentWithImages(
  hub: LinkHub, { contentHtml, attachments }: Omit<PostContent, 'url'>, origin: string,
  sizeOf: (attachment: Attachment) => ImageSize | null | undefined = () => undefined,
  sign = (path: string): string => path,
): string {
  if (attachments.length === 0 && !contentHtml.includes(OWN_FILES)) return contentHtml;
  const byUrl = new Map(attachments.map((attachment) => [storedAddress(attachment), attachment]));
  const pathTo = (attachment: Attachment | undefined): string | null =>
    attachment === undefined || attachment.scan === 'infected' ? null : attachmentPath(hub, attachment);
  const shown = showImages(contentHtml, (url) => {
    const attachment = byUrl.get(url);
    const isOther = attachment?.kind === 'native' && !attachment.mediaType?.startsWith('image/');
    const path = isOther ? null : pathTo(attachment);
    return path === null ? undefined : { address: origin + sign(path), size: attachment && sizeOf(attachment) };
  });
  return withOwnLinks(shown, (address) => {
    const path = pathTo(byUrl.get(address));
    return path === null ? undefined : origin + sign(path);
  });
}
