import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { randomBytes } from 'node:crypto';
import { isStorageTrouble } from '../db/open-database.ts';
import { errorFields, withLogContext, type Log } from '../log.ts';
import { SECOND } from '../clock.ts';
import type { Cidr } from '../net/address-guard.ts';
import { clientAddress, clientScheme } from './client-address.ts';
import { HttpError, problemReply } from './problem.ts';
import { Html } from './html.ts';
import type { Page, Reply } from './reply.ts';
import { isCacheable, type ResponseCache } from './response-cache.ts';
import { createRouter, type HubRequest, type MemberRequest, type Route, type Viewer } from './router.ts';
import { isSameOrigin } from './same-origin.ts';
import { securityHeaders } from './security-headers.ts';
import { flatten, sendCached, sendReply, toCached, type RenderedReply } from './send-reply.ts';

export type ServerOptions = {
  routes: Route[];
  log: Log;
  cache: ResponseCache;
  baseUrl: string;
  trustedProxies: readonly Cidr[];
  /** Who sent the request; null for nobody known. `hasCookie`: a session cookie was sent, valid or not. */
  authenticate(req: IncomingMessage): { viewer: Viewer | null; hasCookie: boolean };
  renderPage(page: Page, request: { viewer: Viewer | null; path: string }): string;
  /** The answer to a refused request that asked for a page. */
  errorPage(error: HttpError, request: { method: string; target: string }): Reply;
  /** Told of every answer: method, route template, status, seconds. */
  observe(method: string, route: Route | undefined, status: number, seconds: number): void;
  /** Told of errors that are the hub's own fault. */
  onError(error: unknown): void;
};

type Exchange = { req: IncomingMessage; res: ServerResponse; id: string; path: string; search: string; route: Route | undefined };

/** The one place that writes to sockets: matches, checks access, calls the handler, sends its reply, logs and counts it. */
export function createHubServer(options: ServerOptions): Server {
  const { routes, log, cache } = options;
  const match = createRouter(routes);
  const security = securityHeaders(options.baseUrl.startsWith('https:'));
  const fixedHeaders = security.flat();
  const nextId = requestIds();
  const secretPaths = routes.filter(({ path }) => path.includes(':token')).map(({ path }) => path);

  function onRequest(req: IncomingMessage, res: ServerResponse): void {
    const started = performance.now();
    const { path, search } = splitTarget(req.url ?? '/');
    const exchange: Exchange = { req, res, id: nextId(), path, search, route: undefined };
    const done = (status: number) => finish(exchange, status, started);
    const kept = fromCache(exchange);
    if (kept !== undefined) return done(kept);
    void withLogContext({ requestId: exchange.id }, () => answer(exchange).then(done));
  }

  function fromCache(exchange: Exchange): number | undefined {
    const { req, res, id } = exchange;
    const found = isAnonymousRead(req) ? cache.get(cacheKey(req)) : undefined;
    if (!found) return undefined;
    exchange.route = found.route;
    return sendCached(req, res, found.response, ['X-Request-Id', id]);
  }

  async function answer(exchange: Exchange): Promise<number> {
    const asOf = cache.version();
    try {
      const reply = await rendered(exchange);
      const { req, route } = exchange;
      if (route?.cached && isAnonymousRead(req) && isCacheable(reply)) keep(req, route, reply, asOf);
      return await send(exchange, reply);
    } catch (error) {
      return lastResort(exchange, error);
    }
  }

  async function rendered(exchange: Exchange): Promise<RenderedReply> {
    let viewer: Viewer | null = null;
    try {
      const caller = options.authenticate(exchange.req);
      viewer = caller.viewer;
      return render(await handle(exchange, caller), exchange, viewer);
    } catch (error) {
      return render(errorReply(exchange, error), exchange, viewer);
    }
  }

  function send({ req, res, id }: Exchange, reply: RenderedReply): Promise<number> {
    for (const [name, value] of security) res.setHeader(name, value);
    res.setHeader('X-Request-Id', id);
    return sendReply(req, res, reply);
  }

  /** For an error page that fails itself, or a header that cannot be written: nobody is left waiting. */
  async function lastResort(exchange: Exchange, error: unknown): Promise<number> {
    const { res } = exchange;
    noteFault(exchange, error);
    if (res.headersSent) res.destroy();
    if (res.destroyed) return 500;
    for (const name of res.getHeaderNames()) res.removeHeader(name);
    return send(exchange, render(problemReply(toHttpError(error)), exchange, null));
  }

  async function handle(exchange: Exchange, { viewer, hasCookie }: ReturnType<typeof options.authenticate>): Promise<Reply> {
    const { req, id, path, search } = exchange;
    const method = req.method ?? 'GET';
    const found = match(method, path);
    if (!found) throw new HttpError(404, 'There is nothing at this address.');
    if ('allow' in found) throw new HttpError(405, `${method} is not possible here.`, { headers: { allow: found.allow.join(', ') } });
    exchange.route = found.route;
    const byCookie = viewer === null || viewer.via === 'session';
    if (byCookie && !isSameOrigin(method, req.headers, ownOrigins(req), hasCookie)) {
      throw new HttpError(403, 'This request was sent from another site.');
    }
    requireAccess(found.route, viewer);
    const address = clientAddress(req.socket.remoteAddress, req.headers, options.trustedProxies);
    const query = new URLSearchParams(search);
    const request: HubRequest = { id, method, path, query, params: found.params, headers: req.headers, viewer, address, stream: req };
    return found.route.handler(request as MemberRequest);
  }

  function keep(req: IncomingMessage, route: Route, { status, headers, body }: RenderedReply, asOf: number): void {
    const response = toCached(status, [...fixedHeaders, ...flatten(headers)], Buffer.from(body as string));
    cache.put(cacheKey(req), { response, route }, asOf);
  }

  function errorReply(exchange: Exchange, error: unknown): Reply {
    const problem = toHttpError(error);
    if (!(error instanceof HttpError)) noteFault(exchange, error);
    const { path, search, req } = exchange;
    const wantsPage = !path.startsWith('/api/') && String(req.headers.accept ?? '').includes('text/html');
    const method = isRead(req) ? 'GET' : req.method ?? '';
    return wantsPage ? options.errorPage(problem, { method, target: path + search }) : problemReply(problem);
  }

  function noteFault(exchange: Exchange, error: unknown): void {
    log.error('request failed', { method: exchange.req.method, path: loggedPath(exchange), ...errorFields(error) });
    options.onError(error);
  }

  function render(reply: Reply, { req, path, route }: Exchange, viewer: Viewer | null): RenderedReply {
    const { status, body } = reply;
    if (body === null || !isPage(body)) return withDefaults(req, route, { ...reply, body }, viewer);
    const headers = { 'content-type': 'text/html; charset=utf-8', ...reply.headers };
    return withDefaults(req, route, { status, headers, body: options.renderPage(body, { viewer, path }) }, viewer);
  }

  function finish(exchange: Exchange, status: number, started: number): void {
    const { req, id, route } = exchange;
    const milliseconds = performance.now() - started;
    const method = req.method ?? 'GET';
    options.observe(method, route, status, milliseconds / SECOND);
    log.info('request', { requestId: id, method, path: loggedPath(exchange), status, milliseconds: Math.round(milliseconds * 10) / 10 });
  }

  /** A path that may hold a secret (a parameter named `token`) is logged as its template, also a mistyped one. */
  function loggedPath({ path }: Exchange): string {
    return secretPaths.find((template) => path.startsWith(template.slice(0, template.indexOf(':')))) ?? path;
  }

  function ownOrigins(req: IncomingMessage): string[] {
    const { baseUrl, trustedProxies } = options;
    const told = clientScheme(req.socket.remoteAddress, req.headers, trustedProxies);
    return [baseUrl, `${baseUrl.startsWith('https:') ? 'https' : told}://${req.headers.host}`];
  }

  const server = createServer({ headersTimeout: 15 * SECOND, requestTimeout: 60 * SECOND, keepAliveTimeout: 65 * SECOND }, onRequest);
  server.on('clientError', refuseGarbage);
  return server;
}

/** Stops taking connections and waits for the requests in hand; what is not done after `graceMs` is cut. */
export async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const sweep = setInterval(() => server.closeIdleConnections(), 50); // kept alive by clients that have their answer now
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}

/** Answers that may be shared carry a validator; what a signed-in person sees is kept by nobody. */
function withDefaults(
  req: IncomingMessage, route: Route | undefined, reply: RenderedReply, viewer: Viewer | null,
): RenderedReply {
  if (reply.headers['cache-control']) return reply;
  const isShared = viewer === null && route?.access === 'public' && reply.status === 200 && isRead(req);
  const caching = isShared
    ? { 'cache-control': 'public, max-age=0, must-revalidate', vary: 'Cookie, Authorization' }
    : { 'cache-control': 'no-store' };
  return { ...reply, headers: { ...reply.headers, ...caching } };
}

function requireAccess(route: Route, viewer: Viewer | null): void {
  if (route.access === 'public') return;
  if (!viewer) throw new HttpError(401, 'Sign in first.', { headers: { 'www-authenticate': 'Bearer realm="Content Hub"' } });
  if (route.access === 'admin' && viewer.role !== 'admin') throw new HttpError(403, 'Only an administrator may do this.');
}

function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (isStorageTrouble(error)) {
    return new HttpError(503, 'The hub cannot store or read its data right now.', { headers: { 'retry-after': '30' } });
  }
  return new HttpError(500, 'Something went wrong in the hub. It has been noted.');
}

function isPage(body: NonNullable<Reply['body']>): body is Page {
  return typeof body === 'object' && 'main' in body && body.main instanceof Html;
}

function isRead(req: IncomingMessage): boolean {
  return req.method === 'GET' || req.method === 'HEAD';
}

function isAnonymousRead(req: IncomingMessage): boolean {
  return isRead(req) && req.headers.cookie === undefined && req.headers.authorization === undefined;
}

function cacheKey(req: IncomingMessage): string {
  return req.url ?? '/';
}

/** The query is never logged. A target may name the host too, as proxies are asked (RFC 9112 §3.2.2). */
function splitTarget(url: string): { path: string; search: string } {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '').replace(/^(?=\?|$)/, '/');
  const question = target.indexOf('?');
  return question < 0 ? { path: target, search: '' } : { path: target.slice(0, question), search: target.slice(question) };
}

/** Unique across restarts, and cheap: a random prefix and a count. */
function requestIds(): () => string {
  const prefix = randomBytes(6).toString('base64url');
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}

function refuseGarbage(error: NodeJS.ErrnoException, socket: import('node:stream').Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large'
    : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? '408 Request Timeout' : '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
