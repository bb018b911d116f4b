import { randomBytes } from 'node:crypto';
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { HOUR, MINUTE, SECOND } from '../clock.ts';
import { limitLines } from '../limit-lines.ts';
import { errorFields, withLogContext, type Log } from '../log.ts';
import { createTurns, withTicket, type ClientGroups, type ClientKind } from '../turns.ts';
import { createAnswerRequest, type AnswerOptions } from './answer-request.ts';
import { createBodyMemory, type MetLimit, requestsInLargePieces } from './body.ts';
import {
  CLIENT_GONE, clientAddress, clientName, groupsOf, hasOwnHost, isAnonymous, isAnonymousRead, isGone, isRead,
  openExchange, type Exchange,
} from './call-handler.ts';
import { limitConnections } from './connections.ts';
import { discardRest } from './discard-rest.ts';
import { statusTitle, type Page, type ReplyHeaders } from './reply.ts';
import { acceptsAnything } from './headers.ts';
import { createRouter, knownSearch, type Route } from './router.ts';
import { sendCached } from './send-reply.ts';
import { createUntakenAnswers } from './untaken-answers.ts';

/** Limits in ms for receiving a request and for the pause before it; an hour lets 100 MB arrive at 0.3 Mbit/s. */
const LIMITS = { headersTimeout: 15 * SECOND, requestTimeout: HOUR, keepAliveTimeout: 65 * SECOND };
const IDLE_MS = 2 * MINUTE;

/** The high-water mark of Node's buffers for a socket, in bytes; a buffer may exceed it by one read. */
const READ_AHEAD = 16 * 1024;

const STATUS_LINES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

const CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; media-src 'self'; "
  + "manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

type OwnParts = 'match' | 'security' | 'memberPolicy' | 'noteFault' | 'bodyMemory' | 'untaken';

export type ServerOptions = Omit<AnswerOptions, OwnParts> & {
  routes: Route[];
  /** Clients spell some paths in several ways; maps a request's path to the path of a route. */
  canonicalPath?(path: string): string;
  /** `sha256-…` of the script of all members' pages, which has this hash as its `integrity`. */
  scriptHash: string;
  /** `sha256-…` of the scripts of single pages, by the names that these pages state as `Page.script`. */
  pageScripts?: Record<string, string>;
  log: Log;
  metLimit: MetLimit;
  /** The account of a request's session or token; undefined without a valid one. Must be cheap. */
  accountOf(req: IncomingMessage): number | undefined;
  /** Whether a health check or scrape is answered before waiting requests. Throws HttpError for too many probes. */
  admitUrgent(req: IncomingMessage): boolean;
  observeWait(kind: ClientKind, seconds: number): void;
  observe(method: string, route: Route | undefined, status: number, seconds: number): void;
  onError(error: unknown): void;
  idleMs?: number;
  /** A monotonic clock in ms, which measures how long each request uses the main thread. */
  now?: () => number;
};

/** Creates the hub's HTTP server, not yet listening. It caches responses, and logs and counts requests. */
export function createHubServer(options: ServerOptions): Server {
  const { routes, log, cache, idleMs = IDLE_MS, now = () => performance.now() } = options;
  const security = securityHeaders(options.baseUrl.startsWith('https:'));
  const clientErrors = createClientErrorHandler(security);
  const bodyMemory = createBodyMemory(options.metLimit);
  const untaken = createUntakenAnswers(options.metLimit, clientOf);
  const memberPolicy = ({ script = '' }: Page): string => {
    const ofPage = options.pageScripts?.[script];
    const allowed = `script-src '${options.scriptHash}'${ofPage === undefined ? '' : ` '${ofPage}'`}`;
    return `${CONTENT_SECURITY_POLICY}; connect-src 'self'; ${allowed}`;
  };
  const match = createRouter(routes, options.canonicalPath);
  const own = { match, security, memberPolicy, noteFault, bodyMemory, untaken };
  const { answer, refuse } = createAnswerRequest({ ...options, ...own });
  const nextId = requestIds();
  const full = () => options.metLimit('turns', 5, 'Too many of your requests are waiting.');
  const turns = createTurns({ now, full });
  const groups = createGroupsOf(options);
  const ending = new WeakSet<Duplex>();
  const urgent = new Set(routes.filter(({ anyHost }) => anyHost).map(({ path }) => path));
  const loggedPath = createLoggedPath(routes);
  const refusals = limitLines(log, 'requests refused');

  function onRequest(req: IncomingMessage, res: ServerResponse): void {
    if (ending.has(req.socket) || req.socket.destroyed) return; // the hub closes this connection
    const started = now();
    const exchange = openExchange(req, res, nextId());
    const { path, search } = exchange;
    if (search && isAnonymousRead(req)) exchange.search = knownSearch(match('GET', path), search);
    const client = groups(req);
    const kept = turns.mayGoAhead() && !isForMonitoring(req.socket) ? sendKept(exchange) : undefined;
    if (kept !== undefined) finish(exchange, client, kept, started);
    else void withLogContext({ requestId: exchange.id }, () => begin(exchange, client))
      .then((status) => finish(exchange, client, status, started));
    turns.charge(client, now() - started);
  }

  function begin(exchange: Exchange, client: ClientGroups): Promise<number> {
    const { req, res, path } = exchange;
    clientErrors.expect(res);
    if (urgent.has(path) && isRead(req)) return answerUrgent(exchange, client);
    if (!isForMonitoring(req.socket)) return inTurn(exchange, client, answer);
    return end(exchange, options.metLimit('connections', 10, 'Too many connections are open.'));
  }

  function answerUrgent(exchange: Exchange, client: ClientGroups): Promise<number> {
    try {
      if (options.admitUrgent(exchange.req)) return answer(exchange);
    } catch (error) {
      return inTurn(exchange, client, () => end(exchange, error));
    }
    return inTurn(exchange, client, answer);
  }

  /** After a disconnect a client has to check whether its write happened, so even a complete write is dropped. */
  async function inTurn(exchange: Exchange, client: ClientGroups, act: typeof answer): Promise<number> {
    const ticket = turns.ticket(client);
    const asked = now();
    try {
      await ticket.enter();
    } catch (error) {
      return end(exchange, error);
    }
    options.observeWait(client[0], (now() - asked) / SECOND);
    if (isGone(exchange.req)) return CLIENT_GONE;
    // While it waited, another request may have put the response into the cache.
    return sendKept(exchange) ?? withTicket(ticket, () => act(exchange));
  }

  /** Refuses a request, closes its connection, and ignores later requests on it. */
  function end(exchange: Exchange, error: unknown): Promise<number> {
    ending.add(exchange.req.socket);
    return refuse(exchange, error);
  }

  function sendKept(exchange: Exchange): number | undefined {
    const { req, res, id, path, search } = exchange;
    if (!isAnonymousRead(req) || !acceptsAnything(req.headers.accept)) return undefined;
    if (!hasOwnHost(req, options.hostNames) || untaken.isFull(exchange)) return undefined;
    const found = cache.get(path + search);
    if (!found) return undefined;
    exchange.route = found.route;
    discardRest(req);
    return sendCached(req, res, found.response, ['X-Request-Id', id]);
  }

  function noteFault(exchange: Exchange, error: unknown): void {
    log.error('request failed', { method: exchange.req.method, path: loggedPath(exchange), ...errorFields(error) });
    options.onError(error);
  }

  function clientOf({ req, viewer }: Exchange): string {
    return clientName(viewer, clientAddress(req.socket.remoteAddress, req.headers, options.trustedProxies));
  }

  function finish(exchange: Exchange, client: ClientGroups, status: number, started: number): void {
    const { req, id, route } = exchange;
    untaken.note(exchange);
    exchange.answered();
    const elapsed = performance.now() - started;
    const method = req.method ?? 'GET';
    options.observe(method, route, status, elapsed / SECOND);
    const milliseconds = Math.round(elapsed * 10) / 10;
    const path = loggedPath(exchange);
    const write = (): void => log.info('request', { requestId: id, method, path, status, milliseconds });
    if (status < 400) write();
    else refusals.note(`${client[0]} ${client[1]}`, write);
  }

  const metPieces = (): void => void options.metLimit('body-pieces', 0, 'The body came in too many tiny pieces.');
  const streams = { highWaterMark: READ_AHEAD, IncomingMessage: requestsInLargePieces(metPieces) };
  const server = http.createServer({ ...LIMITS, ...streams }, onRequest);
  server.on('checkExpectation', onRequest); // node:http would refuse an unknown Expect header and read the body
  server.on('clientError', clientErrors.refuse);
  server.on('close', refusals.tell);
  server.on('connection', turns.accepted);
  const isForMonitoring = limitConnections(server, options.trustedProxies, options.metLimit, (socket, error) =>
    endSoon(socket, bareAnswer(`${error.status} ${statusTitle(error.status)}`, error.headers)));
  server.timeout = idleMs; // also ends the connections of clients that do not read their responses
  return server;
}

function createGroupsOf({ trustedProxies, accountOf }: ServerOptions) {
  return (req: IncomingMessage): ClientGroups => {
    const account = isAnonymous(req) ? undefined : accountIfReadable(req);
    if (account !== undefined) return ['member', String(account)];
    return groupsOf(clientAddress(req.socket.remoteAddress, req.headers, trustedProxies));
  };

  /** If the database is unreadable, the answer to the request reports it. */
  function accountIfReadable(req: IncomingMessage): number | undefined {
    try {
      return accountOf(req);
    } catch {
      return undefined;
    }
  }
}

function bareAnswer(statusLine: string, headers: ReplyHeaders): string {
  const fields = Object.entries({ ...headers, connection: 'close', 'content-length': '0' });
  return [`HTTP/1.1 ${statusLine}`, ...fields.map(([name, value]) => `${name}: ${String(value)}`), '', ''].join('\r\n');
}

/**
 * A path with a parameter that may tell something (a token, a folder, a feed's address, a file's name) is logged as its
 * template, also if mistyped.
 */
function createLoggedPath(routes: Route[]): (exchange: Exchange) => string {
  const isTelling = ({ path }: Route): boolean => /:(?!(?:id|key|source|draft)\b)/.test(path);
  const plain = new Set(routes.map(({ path }) => path));
  const telling = routes.filter(isTelling).map(({ path }) => ({ path, start: path.slice(0, path.indexOf(':')) }));
  const typed = (path: string): string => path.replaceAll(/%([2-7][0-9a-f])/gi, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16))).replaceAll(/\/+/g, '/').toLowerCase();
  return ({ path, route }) => {
    if (route) return isTelling(route) ? route.path : path;
    return plain.has(path) ? path : telling.find(({ start }) => typed(path).startsWith(start))?.path ?? path;
  };
}

/** Request ids are unique across restarts: a random prefix and a count. */
function requestIds(): () => string {
  const prefix = randomBytes(6).toString('base64url');
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}

/**
 * Refuses input that is not HTTP or too slow, and ends the connection. If the response to an earlier request on it is
 * still being made (`expect`), it ends after that, without a refusal, because clients match responses to requests by
 * order.
 */
function createClientErrorHandler(headers: Record<string, string>) {
  const lastExpected = new WeakMap<Duplex, ServerResponse>();
  const refused = new WeakSet<Duplex>();

  function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
    const isFirst = !refused.has(socket);
    refused.add(socket);
    if (!isFirst || error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const last = lastExpected.get(socket);
    if (last && !last.req.complete && !isItsTurn(last, socket)) return void socket.destroy();
    if (last?.req.complete && !last.writableFinished) return void last.once('close', () => endSoon(socket));
    endSoon(socket, bareAnswer(STATUS_LINES[error.code ?? ''] ?? '400 Bad Request', headers));
  }

  return { refuse, expect: (answer: ServerResponse): void => void lastExpected.set(answer.req.socket, answer) };
}

/** Waits a second for the client to close its side of the connection. */
function endSoon(socket: Duplex, farewell?: string): void {
  socket.end(farewell);
  setTimeout(() => socket.destroy(), SECOND).unref();
}

function isItsTurn(answer: ServerResponse, socket: Duplex): boolean {
  return answer.socket === socket && !answer.headersSent;
}

/** With `no-referrer`, browsers would send `Origin: null` with the site's own forms. `secure` adds HSTS (RFC 6797). */
function securityHeaders(secure: boolean): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    ...(secure && { 'strict-transport-security': 'max-age=31536000' }),
  };
}
