import { withInnerLinks } from '../../platform/markup/dress-markup.ts';
import { escapeHtml } from '../../platform/markup/entities.ts';
import { LINK_TAIL, showImages } from '../../platform/markup/remote-media.ts';
import { attachmentPath, type LinkHub } from './attachment-links.ts';
import type { Attachment } from './attachment-store.ts';
import type { ImageSize } from './recognise-images.ts';

/**
 * Stands before the names of a post's own files in stored markup: an author writes `![An owl](owl.png)`. Such links
 * stay valid when a draft becomes a post or BASE_URL changes. Hosts in `.invalid` never exist (RFC 6761).
 */
export const OWN_FILES = 'https://file-of-this-post.invalid/';

const OWN_LINK = new RegExp(`<a href="(${OWN_FILES}[^"<>]*)"([^<>]*)>`, 'g');

/** The address that stands for a file in stored markup: the publisher's address, or the name of an uploaded file. */
export function storedAddress({ remoteUrl, filename }: Pick<Attachment, 'remoteUrl' | 'filename'>): string {
  return remoteUrl ?? new URL(encodeURIComponent(filename), OWN_FILES).href;
}

export type PostContent = { id?: number; contentHtml: string; attachments: Attachment[]; url: string | null };

/**
 * A post's content in which images that the hub serves have addresses there: `origin`, then the image's path as `sign`
 * returns it. Links to the post's own files and places lead there; `linkToPage` makes other relative links.
 */
export function contentWithImages(
  hub: LinkHub, { id, contentHtml, attachments }: Omit<PostContent, 'url'>, origin: string,
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
  const page = origin === '' || id === undefined ? '' : `${origin}/posts/${id}`;
  const isJumping = contentHtml.includes(`${OWN_FILES}#`);
  const shown = showImages(isJumping ? withInnerLinks(contentHtml, OWN_FILES, page) : contentHtml, (url) => {
    const { file, address } = files.get(url) ?? {};
    const isOther = file?.kind === 'native' && !file.mediaType?.startsWith('image/');
    return file === undefined || address === undefined || isOther ? undefined : { address, size: sizeOf(file) };
  });
  return shown.replace(OWN_LINK, (_link, url: string) => {
    const { address } = files.get(url) ?? {};
    if (address !== undefined) return `<a href="${escapeHtml(address)}">`;
    return linkToPage(url.slice(OWN_FILES.length), origin);
  });
}

/**
 * Takes from a publisher's markup the links that in own posts lead to files and pages of the hub, except links to the
 * post's `files` (stored addresses).
 */
export function withoutOwnLinks(contentHtml: string, files: ReadonlySet<string>): string {
  if (!contentHtml.includes(OWN_FILES)) return contentHtml;
  return contentHtml.replace(OWN_LINK, (link, url: string) => (files.has(url) ? link : '<a>'));
}

/** A link with an address that is relative and no file's: to another host, to a page of the hub, or to nothing. */
function linkToPage(written: string, origin: string): string {
  const path = written.replace(/^[/\\]+/, ''); // two slashes would lead to another host
  if (/^(?:www\.[\w.-]+\.[a-z]|[\w-][\w.-]*\.[a-z]{2,}\/)/i.test(path)) return `<a href="https://${path}"${LINK_TAIL}>`;
  const isFileOrPlace = /^(?:[^/?#]*\.[^/]*)?(?:#|$)/.test(path);
  return isFileOrPlace ? '<a>' : `<a href="${origin}/${path}">`;
}
