import type { Viewer } from '../viewer.ts';
import { isRead, type Exchange } from './exchange.ts';
import { Html } from './html.ts';
import type { Page, Reply } from './reply.ts';
import type { RenderedReply } from './send-reply.ts';

/** The whole document of a page; given by app. */
export type RenderPage = (page: Page, viewer: Viewer | null) => string;

/** A reply ready to be sent: its page as a document, and with a Cache-Control where the handler gave none. */
export function renderReply(reply: Reply, exchange: Exchange, renderPage: RenderPage): RenderedReply {
  const { status, headers, body } = reply;
  if (body === null || !isPage(body)) return withCaching({ ...reply, body }, exchange);
  const asHtml = { 'content-type': 'text/html; charset=utf-8', ...headers };
  return withCaching({ status, headers: asHtml, body: renderPage(body, exchange.viewer) }, exchange);
}

/** Answers that may be shared carry a validator; what a signed-in person sees is kept by nobody. */
function withCaching(reply: RenderedReply, { req, route, viewer }: Exchange): RenderedReply {
  if (reply.headers['cache-control']) return reply;
  const isShared = viewer === null && route?.access === 'public' && reply.status === 200 && isRead(req);
  const caching = isShared
    ? { 'cache-control': 'public, max-age=0, must-revalidate', vary: 'Cookie, Authorization' }
    : { 'cache-control': 'no-store' };
  return { ...reply, headers: { ...reply.headers, ...caching } };
}

function isPage(body: NonNullable<Reply['body']>): body is Page {
  return typeof body === 'object' && 'main' in body && body.main instanceof Html;
}
