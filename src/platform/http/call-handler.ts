import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { cidrContains, networksOf, parseIpAddress, type Cidr } from '../net/address-guard.ts';
import { ownTurn, type ClientGroups } from '../turns.ts';
import { HttpError } from './http-error.ts';
import type { Reply } from './reply.ts';
import {
  type BodyShare, type Caller, type createRouter, type HubRequest, type MemberRequest, type Route, type Viewer,
} from './router.ts';
import type { UntakenAnswers } from './untaken-answers.ts';

/** `route` and `viewer` are set once they are known. */
export type Exchange = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly id: string;
  readonly path: string;
  /** The request's query with its question mark, or an empty text. */
  search: string; // an anonymous read of a cached route keeps only the query parameters that the route knows
  route: Route | undefined;
  viewer: Viewer | null;
  /** Called once the response counts towards the limits of unread ones; begins the client's next waiting request. */
  answered: () => void;
};

/** Splits a new request's URL into path and query; the URL may name the host, as proxies get it (RFC 9112 §3.2.2). */
export function openExchange(req: IncomingMessage, res: ServerResponse, id: string): Exchange {
  const url = req.url ?? '/';
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '').replace(/^(?=\?|$)/, '/');
  const question = target.indexOf('?');
  const path = question < 0 ? target : target.slice(0, question);
  const search = question < 0 ? '' : target.slice(question);
  return { req, res, id, path, search, route: undefined, viewer: null, answered: () => {} };
}

/** Status 499 in log and metrics, as in nginx: the client closed the connection before the response. */
export const CLIENT_GONE = 499;

/** Whether the client has closed its connection, or half of it: node:http then closes the other half. */
export function isGone({ socket }: IncomingMessage): boolean {
  return socket.destroyed || !socket.writable;
}

export function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether a request only reads and has no credentials, so that every client gets the same response. */
export function isAnonymousRead(req: IncomingMessage): boolean {
  return isRead(req) && isAnonymous(req);
}

/** Whether a request has neither cookies nor an Authorization header, whatever they hold. */
export function isAnonymous({ headers }: IncomingMessage): boolean {
  return headers.cookie === undefined && headers.authorization === undefined;
}

export type CallHandlerOptions = {
  match: ReturnType<typeof createRouter>;
  baseUrl: string;
  trustedProxies: readonly Cidr[];
  /** Host names that the hub answers to besides `localhost` and IP addresses; null allows any host. */
  hostNames: readonly string[] | null;
  /** Finds the sender of a request, unless its route has an `authenticate` function of its own or `checksBearer`. */
  authenticate(req: IncomingMessage): Caller;
  /** Throws HttpError if the hub takes no writes. Runs before an unsafe request's handler, and again in `recheck`. */
  admitWrite(route: Route, viewer: Viewer | null): void;
  /** `who`: the client's account, or its networks, narrowest first. */
  bodyMemory(who: readonly string[]): BodyShare;
  untaken: UntakenAnswers<Exchange>;
};

const NOBODY: Caller = { viewer: null, hasCookie: false };

/**
 * Returns a function that checks a request's path, host, sender, origin and permissions, lets it wait while its client
 * leaves too many responses unread, then calls the route's handler.
 */
export function createCallHandler(options: CallHandlerOptions) {
  const { match, baseUrl, trustedProxies, hostNames, bodyMemory, authenticate, admitWrite, untaken } = options;
  const callerOf = (req: IncomingMessage, route: Route | undefined): Caller =>
    route?.checksBearer ? NOBODY : (route?.authenticate ?? authenticate)(req);

  return async (exchange: Exchange): Promise<Reply> => {
    const { req, path } = exchange;
    const method = req.method ?? 'GET';
    const found = match(method, path);
    const route = found && 'route' in found ? found.route : undefined;
    exchange.route = route;
    requireHost(req, route?.anyHost ? null : hostNames);
    const caller = callerOf(req, route);
    exchange.viewer = caller.viewer;
    if (!found) throw new HttpError(404, 'There is nothing at this address.');
    if ('allow' in found) {
      throw new HttpError(405, `${method} is not allowed here.`, { headers: { allow: found.allow.join(', ') } });
    }
    if (!found.route.authenticate) requireSameOrigin(req, method, caller);
    const { signedOut } = found.route;
    if (!signedOut || caller.viewer) requireAccess(found.route, caller, req);
    if (!found.route.anyHost && untaken.isFull(exchange)) await waitForRoom(exchange, found.route);
    if (!isRead(req)) admitWrite(found.route, exchange.viewer);
    if (signedOut && !exchange.viewer) return signedOut(requestFor(exchange, found.route, found.params));
    const request = requestFor(exchange, found.route, found.params);
    request.guard();
    return found.route.handler(request as MemberRequest);
  };

  /** A client that has waited is authenticated again, because its session may have ended meanwhile. */
  async function waitForRoom(exchange: Exchange, route: Route): Promise<void> {
    const { req } = exchange;
    exchange.answered = await untaken.room(exchange);
    await ownTurn();
    if (isGone(req)) throw new HttpError(CLIENT_GONE, 'The client has closed the connection.');
    const caller = callerOf(req, route);
    exchange.viewer = caller.viewer;
    if (!route.signedOut || caller.viewer) requireAccess(route, caller, req);
  }

  function requireSameOrigin(req: IncomingMessage, method: string, { viewer, hasCookie }: Caller): void {
    const byCookie = viewer === null || viewer.via === 'session';
    if (byCookie && !isSameOrigin(method, req.headers, ownOrigins(req), hasCookie)) {
      throw new HttpError(403, 'This request was sent from another site.');
    }
  }

  function ownOrigins(req: IncomingMessage): string[] {
    const told = clientScheme(req.socket.remoteAddress, req.headers, trustedProxies);
    return [baseUrl, `${baseUrl.startsWith('https:') ? 'https' : told}://${req.headers.host}`];
  }

  function requestFor(exchange: Exchange, route: Route, params: Record<string, string>): HubRequest {
    const { req, res, id, path, search, viewer } = exchange;
    const method = req.method ?? 'GET';
    const address = clientAddress(req.socket.remoteAddress, req.headers, trustedProxies);
    const query = new URLSearchParams(search);
    const recheck = (): void => requireUnchanged(exchange, route, viewer);
    const memory = bodyMemory(viewer ? [clientName(viewer, address)] : groupsOf(address).slice(1).reverse());
    if (!isRead(req)) res.once('close', memory.free);
    const request: HubRequest = {
      id, method, path, query, params, headers: req.headers, viewer, address, stream: req, memory, recheck,
      guard: () => void route.guard?.(request),
    };
    return request;
  }

  /** While a slow body arrives, sessions end, roles change and the disk fills. */
  function requireUnchanged(exchange: Exchange, route: Route, before: Viewer | null): void {
    if (!isRead(exchange.req)) admitWrite(route, before);
    if (route.access === 'public') return;
    const caller = callerOf(exchange.req, route);
    const { viewer } = caller;
    exchange.viewer = viewer;
    requireAccess(route, caller, exchange.req);
    if (viewer?.id !== before?.id || viewer?.role !== before?.role) {
      throw new HttpError(403, 'Your permissions have changed in the meantime. Nothing was done.');
    }
  }
}

function requireAccess(route: Route, { viewer, hasCookie }: Caller, req: IncomingMessage): void {
  if (viewer?.scope === 'read' && !isRead(req)) throw new HttpError(403, 'This API token may only read.');
  if (route.access === 'public') return;
  if (!viewer) {
    const detail = hasCookie ? 'Your session has ended. Sign in again.' : 'Sign in first.';
    throw new HttpError(401, detail, { headers: { 'www-authenticate': 'Bearer realm="Content Hub"' } });
  }
  if (route.access === 'admin' && viewer.role !== 'admin') {
    throw new HttpError(403, 'Only an administrator may do this.');
  }
}

/** Throws 421 for a foreign host name, because of DNS rebinding attacks, and 400 for two Host headers. */
function requireHost(req: IncomingMessage, names: readonly string[] | null): void {
  if (hasOwnHost(req, names)) return;
  if (namesHostTwice(req)) throw new HttpError(400, 'A request may have only one Host header.');
  throw new HttpError(421, 'This hub does not answer under that host name. BASE_URL sets the address of the hub.');
}

/** Whether there is at most one Host header, and it and the URL name `names` (null: any), `localhost` or an address. */
export function hasOwnHost(req: IncomingMessage, names: readonly string[] | null): boolean {
  if (namesHostTwice(req)) return false;
  if (names === null) return true;
  const inTarget = req.url?.startsWith('/') ? undefined : /^https?:\/\/([^/?#]*)/i.exec(req.url ?? '')?.[1];
  return [req.headers.host, inTarget].every((host) => host === undefined || isOwn(host, names));
}

function isOwn(host: string, names: readonly string[]): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  return name === 'localhost' || names.includes(name) || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
}

function namesHostTwice({ rawHeaders }: IncomingMessage): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count > 1;
}

type Headers = IncomingHttpHeaders;

/**
 * The client's address: the socket's own or, if that is a trusted proxy's, one from X-Forwarded-For, which is read from
 * the right up to the first address of no trusted proxy: what is further left may be forged.
 */
export function clientAddress(peer: string | undefined, headers: Headers, trusted: readonly Cidr[]): string {
  let address = plain(peer ?? '');
  if (trusted.length === 0) return address;
  const hops = String(headers['x-forwarded-for'] ?? '').split(',').map((hop) => hop.trim());
  while (cidrContains(trusted, address)) {
    const previous = hops.pop();
    if (previous === undefined || isIP(previous) === 0) break;
    address = plain(previous);
  }
  return address;
}

/** `https` if a trusted proxy reports https, otherwise `http`. */
export function clientScheme(peer: string | undefined, headers: Headers, trusted: readonly Cidr[]): 'http' | 'https' {
  const told = headers['x-forwarded-proto'];
  return told === 'https' && peer !== undefined && cidrContains(trusted, plain(peer)) ? 'https' : 'http';
}

/** The key for per-client budgets: the account, otherwise the network. */
export function clientName(viewer: Viewer | null, address: string): string {
  return viewer ? `account ${viewer.id}` : addressGroup(address);
}

/** The network that counts as one client: an IPv4 address or an IPv6 /56, as providers give to one customer. */
export function addressGroup(address: string): string {
  const [host, customer = host] = networksOf(address);
  return customer;
}

/** The fair-queuing groups of a client that is not signed in: its IPv4 address, or its IPv6 /48 and in that its /56. */
export function groupsOf(address: string): ClientGroups {
  const [host, ...larger] = networksOf(address);
  return ['network', ...(larger.length > 0 ? larger.reverse() : [host])];
}

/** `::ffff:192.0.2.1`, in any spelling, becomes `192.0.2.1`. */
function plain(address: string): string {
  const parsed = address.includes(':') ? parseIpAddress(address) : undefined;
  if (parsed?.bits !== 32) return address;
  return [24n, 16n, 8n, 0n].map((shift) => (parsed.value >> shift) & 0xffn).join('.');
}

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Whether a request is safe, or comes from one of the hub's origins (`own`), so that its cookie may be used. Browsers
 * send Sec-Fetch-Site, or only Origin on http to a LAN address. Without both, only a request with a cookie is refused.
 */
export function isSameOrigin(method: string, headers: IncomingHttpHeaders, own: string[], hasCookie: boolean): boolean {
  if (SAFE.has(method)) return true;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const origin = headers.origin;
  if (origin !== undefined) return own.includes(origin);
  return !hasCookie;
}
