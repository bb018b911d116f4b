import { close, fstat, open } from 'node:fs';
import { promisify } from 'node:util';
import { codeOf } from '../../platform/error-code.ts';
import { contentDisposition, ifRangeAllows, matchesEntityTag, parseRange } from '../../platform/http/headers.ts';
import { contentText, html, trusted, type Html } from '../../platform/http/html.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import type { Reply, ReplyHeaders } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { dressMarkup } from '../../platform/markup/dress-markup.ts';
import { inSteps } from '../../platform/markup/in-steps.ts';
import { extractingText } from '../../platform/markup/plain-text.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { StoreHub } from '../hub/hub.ts';
import type { LinkHub } from './attachment-links.ts';
import { contentWithImages, type PostContent } from './own-files.ts';
import { missingAmong, sizesOf } from './post-pictures.ts';

export type ServedFile = {
  path: string;
  bytes: number;
  mediaType: string;
  filename: string;
  sha256: string; // the hash of the file's content, which is also the file's entity tag
  isPublic: boolean;
  isSigned?: boolean; // the address is signed for an app, which may show an image on pages of another origin
};

/** Makes a browser show a file in a sandbox, where the file can use no scripts, forms, frames or requests. */
const POLICY = "default-src 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

const [openFd, statFd, closeFd] = [promisify(open), promisify(fstat), promisify(close)];

/**
 * Throws 416 for a range outside the file, and 404 if the file is missing or has a wrong size. Browsers show images on
 * the page; they save other files. A Range header counts only in a GET request (RFC 9110 §14.2).
 */
export async function serveFile(file: ServedFile, request: Pick<HubRequest, 'headers' | 'method'>): Promise<Reply> {
  const { headers: asked, method } = request;
  const etag = `"${file.sha256}"`;
  const headers = headersOf(file, etag);
  if (matchesEntityTag(asked['if-none-match'], etag)) return { status: 304, headers, body: null };
  const fd = await openFile(file.path);
  try {
    const { size } = await statFd(fd);
    if (size !== file.bytes) throw missing();
    const ifRange = asked['if-range'];
    const mayBePart = method === 'GET' && ifRangeAllows(typeof ifRange === 'string' ? ifRange : undefined, etag);
    const range = mayBePart ? parseRange(asked.range, size) : undefined;
    if (range === 'unsatisfiable') {
      throw new HttpError(416, 'The file has no such byte range.', { headers: { 'content-range': `bytes */${size}` } });
    }
    const { start, end } = range ?? { start: 0, end: size - 1 };
    const length = end - start + 1;
    const about: ReplyHeaders = { ...headers, 'content-length': String(length) };
    if (range) about['content-range'] = `bytes ${start}-${end}/${size}`;
    return { status: range ? 206 : 200, headers: about, body: { fd, start, length } };
  } catch (error) {
    await closeFd(fd);
    throw error;
  }
}

function headersOf({ mediaType, filename, isPublic, isSigned = false }: ServedFile, etag: string): ReplyHeaders {
  const isImage = mediaType.startsWith('image/');
  return {
    'content-type': mediaType.startsWith('text/') ? 'text/plain; charset=utf-8' : mediaType,
    'content-disposition': contentDisposition(isImage ? 'inline' : 'attachment', filename),
    'content-security-policy': POLICY,
    // Web-based feed readers show images from the hub's public feeds on their own pages.
    'cross-origin-resource-policy': isImage && (isPublic || isSigned) ? 'cross-origin' : 'same-origin',
    'accept-ranges': 'bytes',
    etag,
    'cache-control': isPublic ? 'public, max-age=0, must-revalidate' : 'private, no-cache',
  };
}

async function openFile(path: string): Promise<number> {
  try {
    return await openFd(path, 'r');
  } catch (error) {
    throw codeOf(error) === 'ENOENT' ? missing() : error;
  }
}

function missing(): HttpError {
  return new HttpError(404, 'The file is missing on the hub.');
}

/** The maximum bytes of a post's content on the post's page, which also lists the post's files. */
const CONTENT_BYTES = 1.5 * 1024 * 1024;

/**
 * An image that the hub could not fetch lately stays a link to its publisher. Content over `maxBytes` becomes plain
 * text, because added attributes can make a post of many small tags several times longer.
 */
export async function contentOnPage(
  hub: LinkHub & StoreHub, post: PostContent, maxBytes = CONTENT_BYTES,
): Promise<Html> {
  const sizes = sizesOf(hub, post.attachments);
  const missing = missingAmong(hub, post.attachments);
  const attachments = post.attachments.filter(({ id }) => !missing.has(id));
  const content = contentWithImages(hub, { ...post, attachments }, '', ({ id }) => sizes.get(id) ?? null);
  const dressed = dressMarkup(content, post.url);
  return Buffer.byteLength(dressed) <= maxBytes ? trusted(dressed) : asPlainText(post.contentHtml, maxBytes);
}

/** The longest escaped character in HTML text is `&amp;`, with five characters. */
const MAX_CHARACTER_BYTES = 5;

async function asPlainText(contentHtml: string, maxBytes: number): Promise<Html> {
  const text = await inSteps(extractingText(contentHtml));
  const whole = contentText(text);
  await nextTurn();
  const isWhole = whole.bytes.length <= maxBytes;
  const shown = isWhole ? whole : contentText(excerpt(text, Math.floor(maxBytes / MAX_CHARACTER_BYTES)));
  await nextTurn();
  return html`<p class="hint">This post is too long to show with its formatting. ${
    isWhole ? 'Its plain text' : 'The beginning of its plain text'} follows.</p>
<pre tabindex="0">${shown}</pre>`;
}
