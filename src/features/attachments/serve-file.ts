import { close, fstat, open } from 'node:fs';
import { promisify } from 'node:util';
import { codeOf } from '../../platform/error-code.ts';
import { contentDisposition, ifRangeAllows, matchesEntityTag, parseRange } from '../../platform/http/headers.ts';
import { contentText, html, trusted, type Html } from '../../platform/http/html.ts';
import { HttpError, type Reply, type ReplyHeaders } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { dressMarkup } from '../../platform/markup/dress-markup.ts';
import { inSteps } from '../../platform/markup/in-steps.ts';
import { readingText } from '../../platform/markup/plain-text.ts';
import { showImages } from '../../platform/markup/remote-media.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { StoreHub } from '../hub/hub.ts';
import { attachmentPath, type LinkHub } from './attachment-links.ts';
import type { Attachment } from './attachment-store.ts';
import { missingAmong, sizesOf } from './post-pictures.ts';
import type { ImageSize } from './recognise-images.ts';

/** A file on disk with a verified type. `bytes`: its size. `sha256`: of its content; becomes its entity tag. */
export type ServedFile = {
  path: string;
  bytes: number;
  mediaType: string;
  filename: string;
  sha256: string;
  isPublic: boolean;
};

/** A browser shows a file in a sandbox, in which it can do nothing. */
const POLICY = "default-src 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

const [openFd, statFd, closeFd] = [promisify(open), promisify(fstat), promisify(close)];

/**
 * A reply that streams the file: whole (200), one range (206), or nothing if the client has it (304). 416 for a range
 * outside the file, 404 if the file is missing or has another size. Browsers show images and save other files. Ranges
 * apply only to GET (RFC 9110 §14.2).
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

function headersOf({ mediaType, filename, isPublic }: ServedFile, etag: string): ReplyHeaders {
  const isImage = mediaType.startsWith('image/');
  return {
    'content-type': mediaType.startsWith('text/') ? 'text/plain; charset=utf-8' : mediaType,
    'content-disposition': contentDisposition(isImage ? 'inline' : 'attachment', filename),
    'content-security-policy': POLICY,
    // Web-based feed readers show images of the hub's public feeds on their own pages.
    'cross-origin-resource-policy': isImage && isPublic ? 'cross-origin' : 'same-origin',
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
  return new HttpError(404, 'The file is missing.');
}

type PostContent = { contentHtml: string; attachments: Attachment[]; url: string | null };

/** Bytes of a post's content on its page. The rest of the page is for up to a hundred files. */
const CONTENT_BYTES = 1.5 * 1024 * 1024;

/**
 * The post's sanitised content for a page, with its images in boxes of their sizes. Images that could not be fetched
 * lately stay links to their publisher. Content over `maxBytes` becomes plain text: each tag gets more attributes, so a
 * post of many small tags grows several times longer.
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

/** Bytes of `&amp;`, the longest character in HTML text. */
const MAX_CHARACTER_BYTES = 5;

/** The post's text, cut to at most `maxBytes`. Each step reads all of it; other requests have turns in between. */
async function asPlainText(contentHtml: string, maxBytes: number): Promise<Html> {
  const text = await inSteps(readingText(contentHtml));
  const whole = contentText(text);
  await nextTurn();
  const isWhole = whole.bytes.length <= maxBytes;
  const shown = isWhole ? whole : contentText(excerpt(text, Math.floor(maxBytes / MAX_CHARACTER_BYTES)));
  await nextTurn();
  return html`<p class="hint">This post is too long to show with its formatting. ${
    isWhole ? 'Its plain text' : 'The beginning of its plain text'} follows.</p>
<pre tabindex="0">${shown}</pre>`;
}

/** The post's content with its images at the hub's addresses; `origin` goes before their paths. */
export function contentWithImages(
  hub: LinkHub, { contentHtml, attachments }: Omit<PostContent, 'url'>, origin: string,
  sizeOf: (attachment: Attachment) => ImageSize | null | undefined = () => undefined,
): string {
  const byUrl = new Map(attachments.map((attachment) => [attachment.remoteUrl, attachment]));
  return showImages(contentHtml, (url) => {
    const attachment = byUrl.get(url);
    const path = attachment && attachmentPath(hub, attachment);
    return path ? { address: origin + path, size: sizeOf(attachment) } : undefined;
  });
}
