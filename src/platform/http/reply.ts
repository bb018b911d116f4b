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

/** What a handler returns. Only the server writes to the socket. */
export type Reply = { status: number; headers: ReplyHeaders; body: string | Buffer | Readable | Page | null };

export function page(content: Page, status = 200, headers: ReplyHeaders = {}): Reply {
  return { status, headers, body: content };
}

export function json(value: unknown, status = 200, headers: ReplyHeaders = {}): Reply {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body: JSON.stringify(value) };
}

export function text(body: string, contentType: string, headers: ReplyHeaders = {}): Reply {
  return { status: 200, headers: { 'content-type': contentType, ...headers }, body };
}

export function noContent(headers: ReplyHeaders = {}): Reply {
  return { status: 204, headers, body: null };
}

/** 303: after a form, so that loading the next page again sends nothing twice. */
export function seeOther(location: string, headers: ReplyHeaders = {}): Reply {
  return { status: 303, headers: { location, ...headers }, body: null };
}
