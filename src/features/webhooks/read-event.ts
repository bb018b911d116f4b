import { isJsonObject, type JsonObject } from '../../platform/http/body.ts';
import { createInput, type Input } from '../../platform/http/input.ts';
import { parseJson } from '../../platform/http/parse-json.ts';
import { HttpError, invalid } from '../../platform/http/http-error.ts';
import { singleLine } from '../../platform/markup/tidy-text.ts';
import { mediaTypeOf } from '../feeds/collect-attachments.ts';
import { languageTag } from '../feeds/feed-values.ts';
import { postOfItem } from '../feeds/parse-json-feed.ts';
import type { IncomingFile, IncomingPost } from '../posts/post-store.ts';

/** A parsed event. `at`: the time in the event, in unix ms. Events of unknown types only show that the sender works. */
export type WebhookEvent =
  | { kind: 'publish'; type: string; at: number; item: IncomingPost }
  | { kind: 'delete'; type: string; at: number; guid: string }
  | { kind: 'other'; type: string };

type Content = { kind: 'publish'; item: IncomingPost } | { kind: 'delete'; guid: string };

const PUBLISHING = new Set(['post.published', 'post.updated']);
export const DELETING = 'post.deleted';

const TYPE_MAX = 128;
const TYPE = /^[a-zA-Z0-9_.]{1,128}$/; // Standard Webhooks 1.0
const MAX_ERRORS = 20;

/** Maximum UTF-16 units of an event's texts, or items of its lists; an event with a longer value is refused. */
const LIMITS = { guid: 1_024, title: 500, content: 400_000, summary: 10_000, name: 200, authors: 20, attachments: 100 };

/**
 * Parses `{ "type", "timestamp", "data": <JSON Feed 1.1 item> }`, after its signature was checked. `baseUrl`: the base
 * of relative links in an item without its own address. `headerType`: GitHub's header with the type of the event, for a
 * body without a type. Throws HttpError 400; for mistakes in fields, with their JSON pointers, at most MAX_ERRORS.
 */
export function readEvent(body: Buffer, baseUrl: string, headerType: string | null = null): WebhookEvent {
  const event = parseObject(body);
  if (event['type'] === undefined && headerType !== null) return { kind: 'other', type: headerType.slice(0, TYPE_MAX) };
  const type = readType(event);
  if (!PUBLISHING.has(type) && type !== DELETING) return { kind: 'other', type };

  const input = createInput(event, { label: (name) => `“${name}”` });
  const at = input.required('timestamp', input.time('timestamp'));
  const data = input.required('data', input.object('data'));
  const content = data && readContent(type, data, baseUrl);
  const { errors } = input;
  if (errors.length > 0 || at === undefined || !content) throw invalid(errors.slice(0, MAX_ERRORS), 400);
  return { ...content, type, at };
}

function readContent(type: string, data: Input, baseUrl: string): Content | undefined {
  const guid = readGuid(data);
  if (type === DELETING) return guid === undefined ? undefined : { kind: 'delete', guid };
  return { kind: 'publish', item: readItem(data, guid ?? '', baseUrl) };
}

function parseObject(body: Buffer): JsonObject {
  const value = parseJson(body);
  if (!isJsonObject(value)) throw new HttpError(400, 'The body must be a JSON object.');
  return value;
}

function readType({ type }: JsonObject): string {
  if (typeof type === 'string' && TYPE.test(type)) return type;
  const detail = '“type” must be a name of letters, digits, underscores and full stops, such as post.published.';
  throw invalid([{ pointer: '/type', detail }], 400);
}

function readItem(data: Input, guid: string, baseUrl: string): IncomingPost {
  const members = {
    url: data.address('url') ?? data.address('external_url') ?? null,
    title: lineIn(data, 'title', LIMITS.title) ?? '',
    summary: data.prose('summary', LIMITS.summary) ?? '',
    html: data.prose('content_html', LIMITS.content) ?? '',
    text: data.prose('content_text', LIMITS.content) ?? '',
    attachments: data.list('attachments', LIMITS.attachments).map(readFile),
    updatedAt: data.time('date_modified') ?? null,
    publishedAt: data.time('date_published') ?? null,
    author: authorsOf(data),
    language: languageTag(data.prose('language', 100)),
  };
  const post = postOfItem(members, baseUrl);
  if (!post.title && !post.contentHtml && post.attachments.length === 0 && data.errors.length === 0) {
    data.refuse('content_html', 'or “content_text” is required where there is no title, summary or attachment.');
  }
  return { guid, ...post };
}

function readGuid(data: Input): string | undefined {
  const value = data.required('id', data.value('id'));
  if (value === undefined) return undefined;
  const guid = typeof value === 'number' ? String(value) : value;
  if (typeof guid !== 'string') return data.refuse('id', 'must be text or a number.');
  const isFine = guid.trim() !== '' && guid.length <= LIMITS.guid && guid.isWellFormed() && !/\p{Cc}/u.test(guid);
  if (isFine) return singleLine(guid);
  return data.refuse('id', `must have 1 to ${LIMITS.guid} characters and no control characters.`);
}

/** Returns the joined names, or else URLs, of an item's `authors` (JSON Feed 1.1) or `author` (1.0). */
function authorsOf(data: Input): string | null {
  const single = data.object('author');
  const listed = data.list('authors', LIMITS.authors);
  const authors = listed.length > 0 || single === undefined ? listed : [single];
  const names = authors.map((author) => lineIn(author, 'name', LIMITS.name) ?? lineIn(author, 'url', LIMITS.name));
  return [...new Set(names.filter((name) => name !== null))].join(', ') || null;
}

function readFile(file: Input): IncomingFile {
  return {
    url: file.required('url', file.address('url')) ?? '',
    mediaType: mediaTypeOf(lineIn(file, 'mime_type', LIMITS.name)),
    bytes: file.amount('size_in_bytes') || null,
    title: lineIn(file, 'title', LIMITS.title),
    durationSeconds: file.amount('duration_in_seconds') ?? null,
  };
}

function lineIn(input: Input, name: string, max: number): string | null {
  return singleLine(input.prose(name, max) ?? '') || null;
}
