import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { HttpError } from './http-error.ts';
import type { Reply } from './reply.ts';

/** A person's preferences for pages; an interface, so that features can declare their own. */
export interface Preferences {
  /** An IANA time zone; null for the time zone of this machine. */
  timeZone: string | null;
}

export type Viewer = {
  id: number;
  username: string;
  displayName: string;
  role: 'admin' | 'member';
  via: 'session' | 'token';
  /** The scope of an API token: a token with scope `read` may only read. */
  scope?: 'read' | 'write' | 'admin' | 'reader';
  /** The id of the request's session or token, so that signing out ends only this session. */
  credentialId: number;
  preferences: Preferences;
};

/** The sender of a request. `hasCookie`: a session cookie counted, valid or not. */
export type Caller = { viewer: Viewer | null; hasCookie: boolean };

/** The clients that may call a route. Every route states its access, so that no route is open by accident. */
export type Access = 'public' | 'member' | 'admin';

/** One request's share of the memory for bodies; `take` throws 503 if no memory is left. */
export type BodyShare = { take(bytes: number): void; free(): void; tooLong(limit: number): HttpError };

export type HubRequest = {
  id: string;
  method: string;
  path: string;
  query: URLSearchParams;
  params: Record<string, string>;
  headers: IncomingHttpHeaders;
  viewer: Viewer | null;
  address: string;
  stream: IncomingMessage;
  memory: BodyShare;
  /** Throws if, while a handler waited, the viewer's session, token or role has ended, or writes are refused now. */
  recheck(): void;
  /** Throws 404 if something that the path names is missing, or hidden from the viewer. */
  guard(): void;
};

export type MemberRequest = HubRequest & { viewer: Viewer };

type Handler<Request> = (request: Request) => Reply | Promise<Reply>;

export type Schema = { readonly [keyword: string]: unknown };

type Content = Readonly<Record<string, Schema>>;

/** What OpenAPI says of a route. `refusals`: error statuses that neither the route nor another property implies. */
export type Operation = {
  query?: Record<string, Schema>;
  body?: Content;
  /** The bodies of all responses but refusals, by status code; null: no body. */
  answers: Record<number, Content | null>;
  refusals?: number[];
  /** What the operation requires if not a session or an API token. `session`: a token is not enough. */
  proof?: 'none' | 'session' | 'metrics' | 'signature';
};

type RouteOptions = {
  /** Query parameters on which a cached route's reply depends; other parameters would fill the cache with copies. */
  cached?: readonly string[];
  /** Finds, without cookies, the sender of a request to the route; replaces the check of sessions and API tokens. */
  authenticate?: (req: IncomingMessage) => Caller;
  /** Makes the reply to a refused or failed request, in place of the HTML page or `application/problem+json`. */
  refusal?: (error: HttpError) => Reply;
  /** The handler itself checks the sender, by a signature or a token of another kind; the `viewer` is null. */
  checksBearer?: boolean;
  /** Replies to a request without a viewer, in place of a 401: keeps a form's text, or finds an app's token in it. */
  signedOut?: Handler<HubRequest>;
  /** Throws 404 for the ids of a path; runs before the handler, and again when a body has arrived. */
  guard?: (request: HubRequest) => unknown;
  /** The route works under any host name, because monitoring may use another host name. */
  anyHost?: boolean;
  /** May write while only the disk's reserve is free; by default, admin routes and DELETE may. */
  usesReserve?: boolean;
  operation?: Operation;
};

/** The options that need no hub. */
export type RouteSettings = Omit<RouteOptions, 'signedOut' | 'guard' | 'operation'>;

export type Route = RouteOptions & {
  method: string;
  path: string;
  access: Access;
  summary: string;
  handler: Handler<MemberRequest>;
  usesReserve: boolean;
};

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Pattern = `${Method} /${string}`;
export type RequestFor<A extends Access> = A extends 'public' ? HubRequest : MemberRequest;

/**
 * Declares a route, as in `route('GET /posts/:id', 'public', 'One post', showPost)`: a search for its URL finds its
 * handler. `:name` stands for a path segment, `:name.atom` for one that ends in `.atom`, `:name*` for the rest of the
 * path. Handlers of 'public' routes alone get anonymous callers.
 */
export function route<A extends Access>(
  pattern: Pattern,
  access: A,
  summary: string,
  handler: Handler<RequestFor<A>>,
  options: RouteOptions = {},
): Route {
  const [method = '', path = ''] = pattern.split(' ');
  const usesReserve = options.usesReserve ?? (method === 'DELETE' || access === 'admin');
  // A public handler takes any request; a handler for members is called only after the viewer has been checked.
  return { ...options, method, path, access, summary, handler: handler as Handler<MemberRequest>, usesReserve };
}

/** Reduces the query of a cached route to the parameters that the route knows, in their declared order. */
export function knownSearch(found: Match, search: string): string {
  const known = found && 'route' in found ? found.route.cached : undefined;
  if (!known || search === '') return search;
  const query = new URLSearchParams(search);
  const kept = known.flatMap((name): [string, string][] => (query.has(name) ? [[name, query.get(name) ?? '']] : []));
  return kept.length > 0 ? `?${new URLSearchParams(kept).toString()}` : '';
}

export type Match = { route: Route; params: Record<string, string> } | { allow: string[] } | undefined;

type Compiled = { route: Route; start: string; regex: RegExp; names: string[] };

/** Finds the route of a method and path; if the path has routes of other methods only, `allow` lists these methods. */
export function createRouter(
  routes: Route[], canonicalPath = (path: string): string => path,
): (method: string, path: string) => Match {
  const withoutParams = routes.filter(({ path }) => !path.includes(':'));
  const fixed = new Map(withoutParams.map((route) => [`${route.method} ${route.path}`, { route, params: {} }]));
  const compiled = routes.map(compile);
  const starts = new Set(compiled.map(({ start }) => start));
  const beginning = (start: string): Compiled[] => compiled.filter((one) => start.startsWith(one.start));
  const byStart = new Map(Array.from(starts, (start) => [start, beginning(start)]));
  const deepest = Math.max(...Array.from(starts, (start) => foldersOf(start).length));

  /** The routes that begin as the path does, in their order: few of hundreds, whose patterns need not be tried. */
  const candidatesFor = (path: string): Compiled[] =>
    byStart.get(foldersOf(path, deepest).findLast((start) => byStart.has(start)) ?? '') ?? [];

  return (method, typed) => {
    const path = canonicalPath(typed);
    const wanted = method === 'HEAD' ? 'GET' : method;
    return fixed.get(`${wanted} ${path}`) ?? matchPattern(candidatesFor(path), wanted, path);
  };
}

/** `/api/posts/` of `/api/posts/:id/read`; of a path without parameters, what goes before its last segment. */
function startOf(path: string): string {
  const [fixed = ''] = path.split(':');
  return fixed.slice(0, fixed.lastIndexOf('/') + 1);
}

/** `/`, `/api/` and `/api/posts/` of `/api/posts/7`, but `most` at most. */
function foldersOf(path: string, most = Infinity): string[] {
  const folders: string[] = [];
  for (let at = path.indexOf('/'); at !== -1 && folders.length < most; at = path.indexOf('/', at + 1)) {
    folders.push(path.slice(0, at + 1));
  }
  return folders;
}

function matchPattern(patterns: Compiled[], method: string, path: string): Match {
  const found = patterns.find(({ route, regex }) => route.method === method && regex.test(path));
  if (found) return { route: found.route, params: paramsOf(found, path) };
  const others = patterns.filter(({ regex }) => regex.test(path));
  return others.length > 0 ? { allow: allowedMethods(others) } : undefined;
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

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}

function compile(route: Route): Compiled {
  const source = route.path.replace(/[.]/g, '\\.').replace(/:\w+\*/g, '(.+)').replace(/:\w+/g, '([^/]+?)');
  const names = Array.from(route.path.matchAll(/:(\w+)/g), ([, name = '']) => name);
  return { route, start: startOf(route.path), regex: new RegExp(`^${source}$`), names };
}
