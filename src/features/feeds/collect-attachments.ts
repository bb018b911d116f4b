import { essenceOf } from '../../platform/http/headers.ts';
import { attributeOf, childOf, type XmlElement } from '../../platform/markup/xml-tree.ts';
import { THUMBNAIL_TYPE } from '../attachments/post-pictures.ts';
import type { IncomingFile } from '../posts/post-store.ts';
import { absoluteUrl, lineOf } from './feed-values.ts';

/** The names of the elements, besides links with `rel="enclosure"`, that name a file of an item (`addFile`). */
const FILES = new Set([
  'enclosure', 'enc:enclosure', 'media:content', 'media:thumbnail', 'media:peerlink', 'podcast:alternateenclosure',
]);
const TYPES_BY_EXTENSION = new Map([
  ['jpg', 'image/jpeg'], ['jpeg', 'image/jpeg'], ['jfif', 'image/jpeg'], ['png', 'image/png'], ['gif', 'image/gif'],
  ['webp', 'image/webp'], ['avif', 'image/avif'], ['mp3', 'audio/mpeg'], ['m4a', 'audio/mp4'], ['m4b', 'audio/mp4'],
  ['aac', 'audio/aac'], ['oga', 'audio/ogg'], ['ogg', 'audio/ogg'], ['opus', 'audio/ogg'], ['flac', 'audio/flac'],
  ['wav', 'audio/wav'], ['weba', 'audio/webm'], ['mp4', 'video/mp4'], ['m4v', 'video/mp4'], ['mov', 'video/quicktime'],
  ['ogv', 'video/ogg'], ['webm', 'video/webm'], ['mkv', 'video/x-matroska'], ['m3u8', 'application/vnd.apple.mpegurl'],
  ['pdf', 'application/pdf'],
]);
/** Media types that say nothing about a file, as servers and programs name any file. */
const UNSAID = /^(?:application|binary)\/(?:octet-stream|x-octet-stream|force-download|download|unknown|x-download)$/;
export const MAX_ITEM_FILES = 100;

/** A feed item's files in document order, at most MAX_ITEM_FILES; a repeated address fills in missing details. */
export function collectAttachments(item: XmlElement, base: string): IncomingFile[] {
  const found = new Map<string, IncomingFile>();
  collectFrom(item, base, found);
  const attachments = [...found.values()];
  const played = attachments.find((file) => /^(?:audio|video)\//.test(file.mediaType ?? '')) ?? attachments[0];
  const duration = childOf(item, 'itunes:duration');
  if (played !== undefined && duration !== undefined) played.durationSeconds ??= parseDuration(lineOf(duration));
  return attachments;
}

/** The address in the `<itunes:image>` of an item or channel, for lists of posts; no file that pages list. */
export function pictureOf(item: XmlElement, base: string): string | null {
  const image = childOf(item, 'itunes:image');
  return image === undefined ? null : absoluteUrl(attributeOf(image, 'href') || lineOf(image), base);
}

/** Adds a file to an item that has room for files; for a known URL, fills in missing details of the file. */
export function addAttachment(found: Map<string, IncomingFile>, file: IncomingFile): void {
  const known = found.get(file.url);
  if (known === undefined) {
    if (found.size < MAX_ITEM_FILES) found.set(file.url, file);
    return;
  }
  known.mediaType ??= file.mediaType;
  known.bytes ??= file.bytes;
  known.title ??= file.title;
  known.durationSeconds ??= file.durationSeconds;
}

/** A media type as `type/subtype` in lower case without parameters, or null if the text is no media type. */
export function mediaTypeOf(text: string | null | undefined): string | null {
  const type = essenceOf(text);
  return /^[a-z0-9][\w.+-]*\/[\w.+*-]+$/.test(type) ? type : null;
}

/** Converts `H:MM:SS`, `M:SS` or a number of seconds to seconds; returns null for any other text. */
export function parseDuration(text: string | null | undefined): number | null {
  const parts = text?.trim().split(':') ?? [];
  if (parts.length === 0 || parts.length > 3) return null;
  const [last = '', ...before] = parts.map((part) => part.trim()).reverse(); // seconds may have a fraction
  if (!/^\d{1,9}(?:\.\d+)?$/.test(last) || !before.every((part) => /^\d{1,9}$/.test(part))) return null;
  const seconds = parts.reduce((total, part) => total * 60 + Number(part), 0);
  return Math.round(seconds);
}

/** A file's length as feeds write it, in bytes; null if it is missing, zero or invalid. */
export function parseByteCount(text: string | number | null | undefined): number | null {
  const digits = String(text ?? '').trim().replaceAll(',', '');
  const bytes = /^\d{1,15}(?:\.0+)?$/.test(digits) ? Number(digits) : 0;
  return bytes > 0 ? bytes : null;
}

function collectFrom(parent: XmlElement, base: string, found: Map<string, IncomingFile>): void {
  // FeedBurner replaces the address of an enclosure, and keeps the original address in this element.
  const original = lineOf(childOf(parent, 'feedburner:origenclosurelink'));
  for (const child of parent.children) {
    if (found.size >= MAX_ITEM_FILES) return;
    const isFile = FILES.has(child.name) || isLink(child) && attributeOf(child, 'rel')?.toLowerCase() === 'enclosure';
    if (isFile) addFile(child, child.name === 'enclosure' ? original : null, base, found);
    else if (child.name === 'media:group') collectFrom(child, base, found);
    if (child.name === 'media:content') collectFrom(child, base, found);
  }
}

function isLink({ name }: XmlElement): boolean {
  return name === 'link' || name === 'atom:link';
}

function addFile(file: XmlElement, original: string | null, base: string, found: Map<string, IncomingFile>): void {
  const link = original ?? firstAttribute(file, ['url', 'href', 'resource', 'rdf:resource', 'enc:url', 'enc:resource']);
  const url = absoluteUrl(link, base);
  if (url === null) return;
  addAttachment(found, {
    url,
    mediaType: mediaTypeIn(file, url),
    bytes: parseByteCount(firstAttribute(file, ['length', 'filesize', 'enc:length'])),
    title: isLink(file) ? attributeOf(file, 'title') || null : lineOf(childOf(file, 'media:title')),
    durationSeconds: parseDuration(attributeOf(file, 'duration')),
  });
}

/** The media type of a file as declared or, if that says nothing, by the extension of its address, if known. */
export function fileType(declared: string | null, url: string): string | null {
  const type = mediaTypeOf(declared);
  if (type !== null && !UNSAID.test(type)) return type;
  const extension = /\.([a-z0-9]{3,4})$/i.exec(new URL(url).pathname)?.[1]?.toLowerCase() ?? '';
  return TYPES_BY_EXTENSION.get(extension) ?? type;
}

/** The media type of an item's file. What Media RSS says of a file's medium counts more than the file's extension. */
function mediaTypeIn(file: XmlElement, url: string): string | null {
  const declared = firstAttribute(file, ['type', 'enc:type']);
  if (file.name === 'media:thumbnail') return mediaTypeOf(declared) ?? THUMBNAIL_TYPE;
  const type = fileType(declared, url);
  const medium = file.name === 'media:content' ? attributeOf(file, 'medium')?.toLowerCase() || null : null;
  if (declared !== null || medium === null || type?.startsWith(`${medium}/`)) return type;
  return medium === 'image' ? THUMBNAIL_TYPE : null;
}

function firstAttribute(element: XmlElement, names: readonly string[]): string | null {
  for (const name of names) {
    const value = attributeOf(element, name);
    if (value !== undefined && value !== '') return value;
  }
  return null;
}
