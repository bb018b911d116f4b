import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../viewer.ts';
import type { Route } from './router.ts';

/** One request and the answer to it. `route` and `viewer` are filled in once they are known. */
export type Exchange = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly id: string;
  readonly path: string;
  /** Empty, or from the question mark on. */
  readonly search: string;
  route: Route | undefined;
  viewer: Viewer | null;
};

/** A request that just came. Its target may name the host too, as proxies are asked (RFC 9112 §3.2.2). */
export function openExchange(req: IncomingMessage, res: ServerResponse, id: string): Exchange {
  const url = req.url ?? '/';
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '').replace(/^(?=\?|$)/, '/');
  const question = target.indexOf('?');
  const path = question < 0 ? target : target.slice(0, question);
  const search = question < 0 ? '' : target.slice(question);
  return { req, res, id, path, search, route: undefined, viewer: null };
}

/** Whether the request only asks for something. */
export function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether nothing in the request can make its answer differ from anybody else's. */
export function isAnonymousRead(req: IncomingMessage): boolean {
  return isRead(req) && req.headers.cookie === undefined && req.headers.authorization === undefined;
}
