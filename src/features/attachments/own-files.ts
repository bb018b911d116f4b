import { escapeHtml } from '../../platform/markup/entities.ts';
import { showImages } from '../../platform/markup/remote-media.ts';
import { attachmentPath, type LinkHub } from './attachment-links.ts';
import type { Attachment } from './attachment-store.ts';
import type { ImageSize } from './recognise-images.ts';

/**
 * Stands before the names of a post's own files in stored markup: an author writes `![An owl](owl.png)`. Links with
 * the prefix OWN_FILES stay valid when a draft becomes a post or BASE_URL changes. Hosts in `.invalid` never exist
 * (RFC 6761).
 */
export const OWN_FILES = 'https://file-of-this-post.invalid/';

const OWN_LINK = new RegExp(`<a href="(${OWN_FILES}[^"<>]*)"([^<>]*)>`, 'g');

/** The address that stands for a file in stored markup: the publisher's address, or the name of an uploaded file. */
export function storedAddress({ remoteUrl, filename }: Pick<Attachment, 'remoteUrl' | 'filename'>): string {
  return remoteUrl ?? new URL(encodeURIComponent(filename), OWN_FILES).href;
}

export type PostContent = { contentHtml: string; attachments: Attachment[]; url: string | null };

/**
 * A post's content in which images have addresses on the hub: `origin`, then the image's path as `sign` returns it.
 * Links to the post's own files lead to the files; links with another relative address become text.
 */
export function contentWithImages(
  hub: LinkHub, { contentHtml, attachments }: Omit<PostContent, 'url'>, origin: string,
  sizeOf: (attachment: Attachment) => ImageSize | null | undefined = () => undefined,
  sign = (path: string): string => path,
): string {
  if (attachments.length === 0 && !contentHtml.includes(OWN_FILES)) return contentHtml;
  const addressOf = (file: Attachment): string | undefined => {
    const path = file.scan === 'infected' ? null : attachmentPath(hub, file);
    return path === null ? undefined : origin + sign(path);
  };
  // Each file gets its address once: a text may show one picture thousands of times, and signing takes microseconds.
  const files = new Map(attachments.map((file) => [storedAddress(file), { file, address: addressOf(file) }]));
  const shown = showImages(contentHtml, (url) => {
    const { file, address } = files.get(url) ?? {};
    const isOther = file?.kind === 'native' && !file.mediaType?.startsWith('image/');
    return file === undefined || address === undefined || isOther ? undefined : { address, size: sizeOf(file) };
  });
  return shown.replace(OWN_LINK, (_link, url: string) => {
    const { address } = files.get(url) ?? {};
    return address === undefined ? '<a>' : `<a href="${escapeHtml(address)}">`;
  });
}
