import { escapeHtml } from '../../platform/markup/entities.ts';
import type { Attachment } from './attachment-store.ts';

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
export function withOwnLinks(markup: string, pathOf: (address: string) => string | undefined): string {
  if (!markup.includes(OWN_FILES)) return markup;
  return markup.replace(OWN_LINK, (_link, address: string) => {
    const path = pathOf(address);
    return path === undefined ? '<a>' : `<a href="${escapeHtml(path)}">`;
  });
}
