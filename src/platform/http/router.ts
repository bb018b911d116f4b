import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { HttpError, Reply } from './reply.ts';

/** How a person wants pages to be. An interface, so that features can declare preferences of their own. */
export interface Preferences {
  /** An IANA name; null for the zone of this machine. */
  timeZone: string | null;
}

/** The account that sends a request. */
export type Viewer = {
  id: number;
  username: string;
  displayName: string;
  role: 'admin' | 'member';
  via: 'session' | 'token';
  /** Of a token: one for reading may not ask for anything else. */
  scope?: 'read' | 'write' | 'admin';
  /** Of the session or token, so that signing out ends just this one. */
  credentialId: number;
  preferences: Preferences;
};

/** Who may call a route. Required, so that none is open by accident. */
export type Access = 'public' | 'member' | 'admin';

/** What the body of one request takes of the memory for all bodies: `take` throws 503 where nothing is left. */
export type BodyShare = { take(bytes: number): void; free(): void; tooLong(limit: number): HttpError };

export type HubRequest = {
  id: string;
  method: string;
  path: string;
  query: URLSearchParams;
  params: Record<string, string>;
  headers: IncomingHttpHeaders;
  viewer: Viewer | null;
  /** Of the client, behind trusted proxies too. */
  address: string;
  stream: IncomingMessage;
  /** For what is kept of the body in memory; freed when the answer has been sent. */
  memory: BodyShare;
  /** Throws 401 or 403 where what the caller was let in with is gone by now: for use after something was waited for. */
  recheck(): void;
};

export type MemberRequest = HubRequest & { viewer: Viewer };

type Handler<Request> = (request: Request) => Reply | Promise<Reply>;

type RouteOptions = {
  /** The answer to an anonymous GET depends on its URL and the published content alone: kept until that changes. */
  cached?: boolean;
  /** The handler checks a bearer token that is none of the hub's API tokens. Its viewer is always nobody. */
  checksBearer?: boolean;
  /** What answers in the place of 401 where nobody is signed in: a form whose words are not to be lost. */
  signedOut?: Handler<HubRequest>;
  /** Answered under any host name: for those who look after the hub, and know it by names of their own. */
  anyHost?: boolean;
  /**
   * Takes requests while the disk is down to its reserve. Unless said, routes that delete or are for administrators do;
   * forms that sign in or delete say so.
   */
  usesReserve?: boolean;
};

export type Route = {
  method: string;
  path: string;
  access: Access;
  summary: string;
  handler: Handler<MemberRequest>;
  cached: boolean;
  signedOut?: Handler<HubRequest>;
  checksBearer: boolean;
  anyHost: boolean;
  usesReserve: boolean;
};

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Pattern = `${Method} /${string}`;
type RequestFor<A extends Access> = A extends 'public' ? HubRequest : MemberRequest;

/**
 * `route('GET /posts/:id', 'public', 'One post', showPost)`: searching for the URL finds the handler. `:name` stands
 * for one segment, `:name.atom` for one with that ending. Anonymous callers reach 'public' routes only.
 */
export function route<A extends Access>(
  pattern: Pattern,
  access: A,
  summary: string,
  handler: Handler<RequestFor<A>>,
  { cached = false, checksBearer = false, anyHost = false, usesReserve, signedOut }: RouteOptions = {},
): Route {
  const [method = '', path = ''] = pattern.split(' ');
  // A handler for anybody takes any request; one for members is called only after the viewer has been checked.
  const own = { handler: handler as Handler<MemberRequest>, ...(signedOut && { signedOut }) };
  const repairs = usesReserve ?? (method === 'DELETE' || access === 'admin');
  return { method, path, access, summary, ...own, cached, checksBearer, anyHost, usesReserve: repairs };
}

export type Match = { route: Route; params: Record<string, string> } | { allow: string[] } | undefined;

type Compiled = { route: Route; regex: RegExp; names: string[] };

/** Finds the route of a method and path; `allow` lists the methods of a path that exists for others only. */
export function createRouter(routes: Route[]): (method: string, path: string) => Match {
  const fixed = new Map(routes.filter(isFixed).map((route) => [addressOf(route), { route, params: {} }]));
  const byStart = [...Map.groupBy(routes.map(compile), ({ route }) => fixedStart(route.path))];

  return (method, path) => {
    const wanted = method === 'HEAD' ? 'GET' : method;
    return fixed.get(`${wanted} ${path}`) ?? matchPattern(candidatesFor(byStart, path), wanted, path);
  };
}

/** Few beginnings are shared by many patterns: most of those need not be tried. */
function candidatesFor(byStart: [string, Compiled[]][], path: string): Compiled[] {
  const candidates: Compiled[] = [];
  for (const [start, patterns] of byStart) {
    if (!path.startsWith(start)) continue;
    for (const pattern of patterns) if (pattern.regex.test(path)) candidates.push(pattern);
  }
  return candidates;
}

function matchPattern(candidates: Compiled[], method: string, path: string): Match {
  if (candidates.length === 0) return undefined;
  const found = candidates.find(({ route }) => route.method === method);
  if (!found) return { allow: allowedMethods(candidates) };
  return { route: found.route, params: paramsOf(found, path) };
}

function allowedMethods(candidates: Compiled[]): string[] {
  const methods = new Set(candidates.map(({ route }) => route.method));
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}

function paramsOf({ regex, names }: Compiled, path: string): Record<string, string> {
  const values = regex.exec(path) ?? [];
  const params: Record<string, string> = {};
  names.forEach((name, index) => (params[name] = decodeSegment(values[index + 1] ?? '')));
  return params;
}

/** A segment with a broken percent sign matches nothing that exists. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}

function addressOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

function isFixed(route: Route): boolean {
  return !route.path.includes(':');
}

/** The path itself, or of one with parameters what stands before the segment of the first. */
function fixedStart(path: string): string {
  const colon = path.indexOf(':');
  return colon < 0 ? path : path.slice(0, path.lastIndexOf('/', colon) + 1);
}

function compile(route: Route): Compiled {
  const source = route.path.replace(/[.]/g, '\\.').replace(/:\w+/g, '([^/]+?)');
  const names = Array.from(route.path.matchAll(/:(\w+)/g), ([, name = '']) => name);
  return { route, regex: new RegExp(`^${source}$`), names };
}
