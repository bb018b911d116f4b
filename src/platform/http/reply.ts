import type { Readable } from 'node:stream';
import type { Html } from './html.ts';

export type ReplyHeaders = Record<string, string | string[]>;

/** A page without its frame; the server puts the site's head and navigation around it. */
export type Page = {
  title: string;
  main: Html;
  /** The section of the navigation that is marked as current. */
  section?: string;
  /** Output feeds of what the page shows. */
  alternates?: { type: string; href: string; title: string }[];
  /** The page asks to be loaded again after so many seconds, while something it shows is under way. */
  refreshSeconds?: number;
};

/** Part of an open file (a descriptor; bytes), which is closed when it was sent. */
export type FileSlice = { fd: number; start: number; length: number };

/** What a handler returns. Only the server writes to the socket. */
export type Reply = {
  status: number;
  headers: ReplyHeaders;
  body: string | Buffer | Readable | FileSlice | Page | null;
};

/** A page, to be framed by the server. */
export function page(content: Page, status = 200, headers: ReplyHeaders = {}): Reply {
  return { status, headers, body: content };
}

/** A value as JSON. */
export function json(value: unknown, status = 200, headers: ReplyHeaders = {}): Reply {
  const contentType = 'application/json; charset=utf-8';
  return { status, headers: { 'content-type': contentType, ...headers }, body: JSON.stringify(value) };
}

/** 200 with text of the given media type. */
export function text(body: string, contentType: string, headers: ReplyHeaders = {}): Reply {
  return { status: 200, headers: { 'content-type': contentType, ...headers }, body };
}

/** 204: done, and there is nothing to say about it. */
export function noContent(headers: ReplyHeaders = {}): Reply {
  return { status: 204, headers, body: null };
}

/** 303: after a form, so that loading the next page again sends nothing twice. */
export function seeOther(location: string, headers: ReplyHeaders = {}): Reply {
  return { status: 303, headers: { location, ...headers }, body: null };
}
