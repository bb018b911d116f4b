import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { isStorageTrouble, namesNothing } from '../db/open-database.ts';
import { isDiskFull } from '../error-code.ts';
import { charged, nextTurn, ownTurn } from '../turns.ts';
import {
  CLIENT_GONE, createCallHandler, isAnonymousRead, isGone, isRead, type CallHandlerOptions, type Exchange,
} from './call-handler.ts';
import { DISCARD_BYTES, discardRest } from './discard-rest.ts';
import { accepts } from './headers.ts';
import { Html } from './html.ts';
import { HttpError } from './http-error.ts';
import { type Page, problemReply, type RenderedReply, type Reply } from './reply.ts';
import { isCacheable, type ResponseCache } from './response-cache.ts';
import type { Route, Viewer } from './router.ts';
import { closeBody } from './send-file.ts';
import { sendCached, sendReply, toCached, withCompressed } from './send-reply.ts';
import { STREAM_BYTES } from './untaken-answers.ts';

export type RefusedPage = { method: string; target: string; headers: IncomingHttpHeaders };

export type AnswerOptions = CallHandlerOptions & {
  cache: ResponseCache;
  /** Headers of the responses made here, names in lower case; a reply's own headers take precedence. */
  security: Record<string, string>;
  memberPolicy: (page: Page) => string;
  /** Renders a page as a whole HTML document; `target` is the requested path with its query. */
  renderPage(page: Page, viewer: Viewer | null, target: string): Promise<Html> | Html;
  errorPage(error: HttpError, request: RefusedPage): Promise<Reply> | Reply;
  /** Bytes of an unread body that a member may still send; other clients may send DISCARD_BYTES. */
  discardBytes?: number;
  noteFault(exchange: Exchange, error: unknown): void;
};

/** The most bytes of an HTML page. Lists and texts on pages are bounded, so a larger page is a bug of the hub. */
export const MAX_PAGE_BYTES = 2.5 * 1024 * 1024;

/** Paths that only programs request: they get no error as an HTML page. */
const FOR_PROGRAMS = /^\/+(?:api|reader|accounts)\//;

const NOT_KEPT = -1; // stands for the content version if the response must not be cached

/** Returns functions that answer or refuse a request. Both resolve to a status for log and metrics. */
export function createAnswerRequest(options: AnswerOptions) {
  const { cache, security, errorPage, noteFault, untaken, discardBytes = DISCARD_BYTES } = options;
  const callHandler = createCallHandler(options);

  return { answer, refuse };

  /** Resolves, also after an error in a handler, page or header, to the status sent, or CLIENT_GONE, or 500 if cut. */
  async function answer(exchange: Exchange): Promise<number> {
    const asOf = isAnonymousRead(exchange.req) ? cache.version() : NOT_KEPT;
    try {
      const reply = await rendered(exchange);
      if (!reply) return CLIENT_GONE;
      return await (mayKeep(exchange, reply) ? sendKeeping(exchange, reply, asOf) : send(exchange, reply));
    } catch (error) {
      return lastResort(exchange, error);
    }
  }

  async function refuse(exchange: Exchange, error: unknown): Promise<number> {
    const reply = await renderReply(problemReply(toHttpError(error)), exchange, options);
    return send(exchange, { ...reply, headers: { ...reply.headers, connection: 'close' } });
  }

  /** Returns undefined if the client has disconnected meanwhile. */
  async function rendered(exchange: Exchange): Promise<RenderedReply | undefined> {
    try {
      const made = await callHandler(exchange);
      if (isGone(exchange.req)) return void await closeBody(made.body);
      if (isLong(made)) await nextTurn();
      else if (hasPage(made)) await ownTurn(); // anything else is sent at once, and `charged`
      const reply = await renderReply(made, exchange, options);
      requireAcceptable(exchange.req, reply);
      if (isLong(reply)) await nextTurn();
      return reply;
    } catch (error) {
      return await renderReply(await errorReply(exchange, error), exchange, options);
    }
  }

  /** Caches the response at once, so that no other request renders the page again, and once more when compressed. */
  async function sendKeeping(
    { req, res, id, path, search, route }: KeptExchange, reply: RenderedReply, asOf: number,
  ): Promise<number> {
    const [key, headers] = [path + search, { ...security, ...reply.headers }];
    const plain = toCached(reply.status, headers, reply.body as Buffer);
    cache.put(key, { response: plain, route }, asOf);
    const response = await withCompressed(plain);
    if (response !== plain) cache.put(key, { response, route }, asOf);
    discardRest(req);
    return sendCached(req, res, response, ['X-Request-Id', id]);
  }

  function send(exchange: Exchange, reply: RenderedReply): Promise<number> {
    const { req, res, id, viewer } = exchange;
    if (reply.body instanceof Readable) untaken.note(exchange, STREAM_BYTES);
    const headers = { ...security, 'x-request-id': id, ...reply.headers };
    return charged(sendReply)(req, res, { ...reply, headers }, viewer ? discardBytes : DISCARD_BYTES);
  }

  async function errorReply(exchange: Exchange, error: unknown): Promise<Reply> {
    const problem = toHttpError(error);
    if (!(error instanceof HttpError)) noteFault(exchange, error);
    const { path, search, req, req: { headers }, route } = exchange;
    if (route?.refusal) return route.refusal(problem);
    const wantsPage = !isGone(req) && !FOR_PROGRAMS.test(path) && String(headers.accept ?? '').includes('text/html');
    const method = isRead(req) ? 'GET' : req.method ?? '';
    return wantsPage ? errorPage(problem, { method, target: path + search, headers }) : problemReply(problem);
  }

  /** Sends a plain error if an error page or a header fails, so that no client is left waiting. */
  async function lastResort(exchange: Exchange, error: unknown): Promise<number> {
    const { res } = exchange;
    noteFault(exchange, error);
    if (res.headersSent) res.destroy();
    if (res.destroyed) return 500;
    for (const name of res.getHeaderNames()) res.removeHeader(name);
    res.statusMessage = ''; // the failed reply's reason phrase (as in "200 OK") does not fit the error
    return send(exchange, await renderReply(problemReply(toHttpError(error)), { ...exchange, viewer: null }, options));
  }
}

/** Files and feeds ignore the Accept header. */
function requireAcceptable(req: IncomingMessage, { status, headers }: RenderedReply): void {
  const type = headers['content-type'];
  const isPageOrJson = typeof type === 'string' && /^(?:text\/html|application\/json)\b/.test(type);
  if (status !== 200 || !isRead(req) || !isPageOrJson || accepts(req.headers.accept, type)) return;
  throw new HttpError(406, `This address only offers ${type.split(';', 1)[0]}.`);
}

type KeptExchange = Exchange & { route: Route };

function mayKeep(exchange: Exchange, reply: RenderedReply): exchange is KeptExchange {
  return !!exchange.route?.cached && isAnonymousRead(exchange.req) && isCacheable(reply);
}

async function renderReply(
  reply: Reply, exchange: Exchange, { renderPage, memberPolicy }: AnswerOptions,
): Promise<RenderedReply> {
  const { status, headers, body } = reply;
  const { viewer } = exchange;
  if (body === null || !isPage(body)) {
    const isText = typeof body === 'string';
    // Text becomes a Buffer: during compression, V8 would move a long-lived string to its old generation.
    return withCaching({ ...reply, body: isText ? Buffer.from(body) : body, isText }, exchange);
  }
  const policy = viewer && { 'content-security-policy': memberPolicy(body) };
  const asHtml = { 'content-type': 'text/html; charset=utf-8', ...policy, ...headers };
  const { bytes } = await renderPage(body, viewer, exchange.path + exchange.search);
  if (bytes.length > MAX_PAGE_BYTES) throw new Error(`the page has ${bytes.length} bytes, more than any page may have`);
  return withCaching({ status, headers: asHtml, body: bytes, isText: true }, exchange);
}

/**
 * Clients may store a text if they ask the hub before each use whether it has changed: any cache may store public
 * texts, and only the browser texts for a signed-in person. Other replies are `no-store`. Handlers may set another
 * `cache-control`, and set `no-store` for replies that show a secret.
 */
function withCaching(reply: RenderedReply, { req, route, viewer }: Exchange): RenderedReply {
  if (reply.headers['cache-control']) return reply;
  const isText = reply.status === 200 && isRead(req) && reply.isText;
  const isShared = viewer === null && route?.access === 'public' && isText;
  const caching = isShared ? 'public, max-age=0, must-revalidate' : viewer && isText ? 'private, no-cache' : 'no-store';
  const vary = caching === 'no-store' ? {} : { vary: 'Cookie, Authorization' };
  return { ...reply, headers: { ...reply.headers, 'cache-control': caching, ...vary } };
}

/** Before and after rendering a reply longer than this, in characters or bytes, the hub lets other requests proceed. */
const LONG = 256 * 1024;

function isLong({ body }: Reply | RenderedReply): boolean {
  if (body === null || typeof body === 'string' || Buffer.isBuffer(body)) return (body?.length ?? 0) > LONG;
  return isPage(body) && body.main.markup.length > LONG;
}

const hasPage = ({ body }: Reply): boolean => body !== null && isPage(body);

function isPage(body: NonNullable<Reply['body']>): body is Page {
  return typeof body === 'object' && 'main' in body && body.main instanceof Html;
}

/**
 * The HTTP error for any error: 503 or 507 if the storage is full, locked or failing, 404 if a row was removed between
 * a check and a write that names it, 500 for all else, such as a bug of the hub.
 */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (isStorageTrouble(error)) {
    return new HttpError(503, 'The hub cannot store or read its data right now.', { headers: { 'retry-after': '30' } });
  }
  if (isDiskFull(error)) return new HttpError(507, 'There is no space left on the hub’s disk.');
  if (namesNothing(error)) return new HttpError(404, 'This is gone in the meantime. Nothing was changed.');
  return new HttpError(500, 'An internal error occurred, which the hub has logged.');
}
