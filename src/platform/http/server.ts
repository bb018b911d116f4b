import { randomBytes } from 'node:crypto';
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { HOUR, MINUTE, SECOND } from '../clock.ts';
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

/** Limits in ms for receiving a request: headers 15 s, a request with files an hour (100 MB at 0.3 Mbit/s). */
const LIMITS = { headersTimeout: 15 * SECOND, requestTimeout: HOUR, keepAliveTimeout: 65 * SECOND };
const IDLE_MS = 2 * MINUTE;

/** High-water mark in bytes for reading a body; one further read of the socket may exceed this high-water mark. */
const READ_AHEAD = 16 * 1024;

const STATUS_LINES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

const CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; media-src 'self'; "
  + "manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** The fields of `AnswerOptions` that the server makes itself, so that callers do not pass these fields. */
type OwnParts = 'match' | 'security' | 'memberPolicy' | 'noteFault' | 'bodyMemory' | 'untaken';

export type ServerOptions = Omit<AnswerOptions, OwnParts> & {
  routes: Route[];
  /** Maps a request's path to the path of a route, because clients spell some paths in several ways. */
  canonicalPath?(path: string): string;
  /** `sha256-…` of the script of all members' pages, which has this hash as its `integrity`. */
  scriptHash: string;
  /** `sha256-…` of the scripts of single pages, by the names that these pages state as `Page.script`. */
  pageScripts?: Record<string, string>;
  log: Log;
  metLimit: MetLimit;
  /** The account of a request's session or token; undefined without a valid session or token. Must be cheap. */
  accountOf(req: IncomingMessage): number | undefined;
  /** Whether a health check or scrape is answered before waiting requests. Throws HttpError for too many probes. */
  admitUrgent(req: IncomingMessage): boolean;
  /** Receives the time that each request has waited for its first turn. */
  observeWait(kind: ClientKind, seconds: number): void;
  /** Receives the method, route template, status and seconds of every response. */
  observe(method: string, route: Route | undefined, status: number, seconds: number): void;
  /** Receives errors that are bugs of the hub. */
  onError(error: unknown): void;
  idleMs?: number;
  /** A monotonic clock in ms, which measures how long each request uses the main thread. */
  now?: () => number;
};

type AnswerExchange = (exchange: Exchange) => Promise<number>;

/** Creates the hub's HTTP server, not yet listening. The server caches responses, and logs and counts requests. */
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
  const loggedPath = hidingSecrets(routes);

  function onRequest(req: IncomingMessage, res: ServerResponse): void {
    if (ending.has(req.socket) || req.socket.destroyed) return; // the hub closes this connection
    const started = now();
    const exchange = openExchange(req, res, nextId());
    const { path, search } = exchange;
    if (search && isAnonymousRead(req)) exchange.search = knownSearch(match('GET', path), search);
    const client = groups(req);
    const kept = turns.mayGoAhead() && !isForMonitoring(req.socket) ? sendKept(exchange) : undefined;
    if (kept !== undefined) finish(exchange, kept, started);
    else void withLogContext({ requestId: exchange.id }, () => begin(exchange, client))
      .then((status) => finish(exchange, status, started));
    turns.charge(client, now() - started);
  }

  function begin(exchange: Exchange, client: ClientGroups): Promise<number> {
    const { req, res, path } = exchange;
    clientErrors.expect(res);
    if (urgent.has(path) && isRead(req)) return answerUrgent(exchange, client);
    if (!isForMonitoring(req.socket)) return inTurn(exchange, client, answer);
    return end(exchange, options.metLimit('connections', 10, 'Too many connections are open.'));
  }

  /** Requests for health and metrics skip the queues, unless the client sends too many such requests. */
  function answerUrgent(exchange: Exchange, client: ClientGroups): Promise<number> {
    try {
      if (options.admitUrgent(exchange.req)) return answer(exchange);
    } catch (error) {
      return inTurn(exchange, client, () => end(exchange, error));
    }
    return inTurn(exchange, client, answer);
  }

  /**
   * Answers a request when fair queuing lets the request run. Drops the request if its client has disconnected, even a
   * complete write: after a disconnect a client has to check anyway whether its write happened.
   */
  async function inTurn(exchange: Exchange, client: ClientGroups, answer: AnswerExchange): Promise<number> {
    const ticket = turns.ticket(client);
    const asked = now();
    try {
      await ticket.enter();
    } catch (error) {
      return end(exchange, error);
    }
    options.observeWait(client[0], (now() - asked) / SECOND);
    if (isGone(exchange.req)) return CLIENT_GONE;
    // While this request waited, another request may have put the response into the cache.
    return sendKept(exchange) ?? withTicket(ticket, () => answer(exchange));
  }

  /** Refuses a request and ends its connection; later requests on this connection get no response. */
  function end(exchange: Exchange, error: unknown): Promise<number> {
    ending.add(exchange.req.socket);
    return refuse(exchange, error);
  }

  function sendKept(exchange: Exchange): number | undefined {
    const { req, res, id, path, search } = exchange;
    const found = mayHaveKept(req) && !untaken.isFull(exchange) ? cache.get(path + search) : undefined;
    if (!found) return undefined;
    exchange.route = found.route;
    discardRest(req);
    return sendCached(req, res, found.response, ['X-Request-Id', id]);
  }

  function mayHaveKept(req: IncomingMessage): boolean {
    return isAnonymousRead(req) && acceptsAnything(req.headers.accept) && hasOwnHost(req, options.hostNames);
  }

  function noteFault({ req, path }: Exchange, error: unknown): void {
    log.error('request failed', { method: req.method, path: loggedPath(path), ...errorFields(error) });
    options.onError(error);
  }

  function clientOf({ req, viewer }: Exchange): string {
    return clientName(viewer, clientAddress(req.socket.remoteAddress, req.headers, options.trustedProxies));
  }

  /** Logs and counts a finished request, without its query. */
  function finish(exchange: Exchange, status: number, started: number): void {
    const { req, id, path, route } = exchange;
    untaken.note(exchange);
    exchange.answered();
    const elapsed = performance.now() - started;
    const method = req.method ?? 'GET';
    options.observe(method, route, status, elapsed / SECOND);
    const milliseconds = Math.round(elapsed * 10) / 10;
    log.info('request', { requestId: id, method, path: loggedPath(path), status, milliseconds });
  }

  const metPieces = (): void => void options.metLimit('body-pieces', 0, 'The body came in too many tiny pieces.');
  const streams = { highWaterMark: READ_AHEAD, IncomingMessage: requestsInLargePieces(metPieces) };
  const server = http.createServer({ ...LIMITS, ...streams }, onRequest);
  server.on('checkExpectation', onRequest); // node:http would refuse an unknown Expect header and read the body
  server.on('clientError', clientErrors.refuse);
  server.on('connection', turns.accepted);
  const isForMonitoring = limitConnections(server, options.trustedProxies, options.metLimit, (socket, error) =>
    endSoon(socket, bareAnswer(`${error.status} ${statusTitle(error.status)}`, error.headers)));
  server.timeout = idleMs; // also ends the connections of clients that do not read their responses
  return server;
}

/** Returns a function that finds the account or the networks of a request's client, for fair queuing. */
function createGroupsOf({ trustedProxies, accountOf }: ServerOptions) {
  return (req: IncomingMessage): ClientGroups => {
    const account = isAnonymous(req) ? undefined : accountIfReadable(req);
    if (account !== undefined) return ['member', String(account)];
    return groupsOf(clientAddress(req.socket.remoteAddress, req.headers, trustedProxies));
  };

  /** Ignores the error of an unreadable database here, because the answer to the request reports this error. */
  function accountIfReadable(req: IncomingMessage): number | undefined {
    try {
      return accountOf(req);
    } catch {
      return undefined;
    }
  }
}

/** The text of an answer that has no body and ends the connection. */
function bareAnswer(statusLine: string, headers: ReplyHeaders): string {
  const fields = Object.entries({ ...headers, connection: 'close', 'content-length': '0' });
  return [`HTTP/1.1 ${statusLine}`, ...fields.map(([name, value]) => `${name}: ${String(value)}`), '', ''].join('\r\n');
}

/** A path that may hold a secret (a parameter named `token`) is logged as its template, also if mistyped. */
function hidingSecrets(routes: Route[]): (path: string) => string {
  const secret = routes.filter(({ path }) => path.includes(':token'))
    .map(({ path }) => ({ path, start: path.slice(0, path.indexOf(':')) }));
  return (path) => secret.find(({ start }) => path.startsWith(start))?.path ?? path;
}

/** Returns a function that makes request ids, unique across restarts: a random prefix and a count. */
function requestIds(): () => string {
  const prefix = randomBytes(6).toString('base64url');
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}

/**
 * Handles a server's `clientError`: refuses input that is not HTTP or too slow, with the `headers` of every response,
 * and ends the connection. If the response to an earlier request of the connection is still being made (`expect`), the
 * connection ends after this response, without a refusal, because clients match responses to requests by order.
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

/** Ends the connection, and destroys it a second later if the client has not closed its side. */
function endSoon(socket: Duplex, farewell?: string): void {
  socket.end(farewell);
  setTimeout(() => socket.destroy(), SECOND).unref();
}

/** Whether `answer` is the connection's next response and has not begun, so that a refusal can replace `answer`. */
function isItsTurn(answer: ServerResponse, socket: Duplex): boolean {
  return answer.socket === socket && !answer.headersSent;
}

/**
 * Headers of every response, names in lower case. With the referrer policy `no-referrer`, browsers would send
 * `Origin: null` with the site's own forms. `secure` adds HSTS (RFC 6797), for a hub that is reached over https.
 */
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
