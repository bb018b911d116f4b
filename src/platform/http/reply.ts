import { AsyncLocalStorage } from 'node:async_hooks';
import http from 'node:http';
import { Readable } from 'node:stream';
import { nextTurn } from '../turns.ts';
import type { Html } from './html.ts';
import { HttpError } from './http-error.ts';

export type ReplyHeaders = Record<string, string | string[]>;

/** A page's content; the server puts the site's head and navigation around it. */
export type Page = {
  title: string;
  main: Html;
  /** The title bar: the only `h1`, and actions for the page. Without a bar, the `h1` is in `main`. */
  bar?: Html;
  /**
   * The page's layout: `work` (default) is a column with margins, `list` goes from edge to edge, `article` has no
   * navigation beside the text, `landing` is the public front page, `door` is for signing in, joining and leaving.
   */
  shape?: 'work' | 'list' | 'article' | 'landing' | 'door';
  section?: string;
  alternates?: { type: string; href: string; title: string }[];
  script?: string;
  refreshSeconds?: number;
};

/** Part of an open file: its descriptor, and start and length in bytes. The server closes the file after sending. */
export type FileSlice = { fd: number; start: number; length: number };

/** A reply to a request, as handlers return it. Only the server, never a handler, writes to the socket. */
export type Reply = {
  status: number;
  headers: ReplyHeaders;
  body: string | Buffer | Readable | FileSlice | Page | null;
  /** What is secret in a body made while it is sent: a global pattern, or null. The rest is packed; undefined: none. */
  secret?: RegExp | null;
};

/** A reply whose page has been rendered, and whose text has been encoded. */
export type RenderedReply = Omit<Reply, 'body'> & { body: Buffer | Readable | FileSlice | null; isText: boolean };

export function page(content: Page, status = 200, headers: ReplyHeaders = {}): Reply {
  return { status, headers, body: content };
}

export function json(value: unknown, status = 200, headers: ReplyHeaders = {}): Reply {
  const contentType = 'application/json; charset=utf-8';
  return { status, headers: { 'content-type': contentType, ...headers }, body: JSON.stringify(value) };
}

export function text(body: string, contentType: string, headers: ReplyHeaders = {}): Reply {
  return { status: 200, headers: { 'content-type': contentType, ...headers }, body };
}

export function noContent(headers: ReplyHeaders = {}): Reply {
  return { status: 204, headers, body: null };
}

/** A 303 redirect after a form, so that reloading the next page does not send the form twice. */
export function seeOther(location: string, headers: ReplyHeaders = {}): Reply {
  return { status: 303, headers: { location, ...headers }, body: null };
}

/** A reply with an error as `application/problem+json` (RFC 9457). */
export function problemReply(error: HttpError): Reply {
  const body = {
    type: 'about:blank',
    title: statusTitle(error.status),
    status: error.status,
    detail: error.message,
    ...(error.errors.length > 0 ? { errors: error.errors } : {}),
    ...error.members,
  };
  return {
    status: error.status,
    headers: { 'content-type': 'application/problem+json', ...error.headers },
    body: JSON.stringify(body),
  };
}

const CHUNK = 16_384; // characters

type Pieces = Iterable<string> | AsyncIterable<string>;

/** A body made while it is sent, in chunks of `characters` or more, but for the last; others run in between. */
export function inChunks(pieces: Pieces, characters = CHUNK): Readable {
  return Readable.from(chunksOf(pieces, characters, AsyncLocalStorage.bind(nextTurn)));
}

/** `pause` is bound to the request, because Readable calls `chunksOf` outside the request's AsyncLocalStorage. */
async function* chunksOf(
  pieces: Pieces, characters: number, pause: () => Promise<void>,
): AsyncGenerator<string> {
  let chunk = '';
  for await (const piece of pieces) {
    chunk += piece;
    if (chunk.length < characters) continue;
    yield chunk;
    chunk = '';
    await pause();
  }
  if (chunk) yield chunk;
}

/** The reason phrase of an HTTP status, such as "Not Found". */
export function statusTitle(status: number): string {
  return http.STATUS_CODES[status] ?? 'Error';
}
