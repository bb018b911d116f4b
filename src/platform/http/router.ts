import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Viewer } from '../viewer.ts';
import type { Reply } from './reply.ts';

/** Who may call a route. Required, so that none is open by accident. */
export type Access = 'public' | 'member' | 'admin';

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
};

export type MemberRequest = HubRequest & { viewer: Viewer };

type Handler<Request> = (request: Request) => Reply | Promise<Reply>;

type RouteOptions = {
  /** The answer to an anonymous GET depends on its URL and the published content alone: kept until that changes. */
  cached?: boolean;
  /** The handler checks a bearer token that is none of the hub's API tokens. Its viewer is always nobody. */
  checksBearer?: boolean;
};

export type Route = {
  method: string;
  path: string;
  access: Access;
  summary: string;
  handler: Handler<MemberRequest>;
  cached: boolean;
  checksBearer: boolean;
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
  { cached = false, checksBearer = false }: RouteOptions = {},
): Route {
  const [method = '', path = ''] = pattern.split(' ');
  // A handler for anybody takes any request; one for members is called only after the viewer has been checked.
  return { method, path, access, summary, handler: handler as Handler<MemberRequest>, cached, checksBearer };
}

export type Match = { route: Route; params: Record<string, string> } | { allow: string[] } | undefined;

type Compiled = { route: Route; regex: RegExp };

/** Finds the route of a method and path; `allow` lists the methods of a path that exists for others only. */
export function createRouter(routes: Route[]): (method: string, path: string) => Match {
  const fixed = new Map(routes.filter(isFixed).map((route) => [addressOf(route), { route, params: {} }]));
  const compiled = routes.map((route) => ({ route, regex: toRegExp(route.path) }));

  return (method, path) => {
    const wanted = method === 'HEAD' ? 'GET' : method;
    return fixed.get(`${wanted} ${path}`) ?? matchPattern(compiled, wanted, path);
  };
}

function matchPattern(compiled: Compiled[], method: string, path: string): Match {
  const candidates = compiled.filter(({ regex }) => regex.test(path));
  if (candidates.length === 0) return undefined;
  const found = candidates.find(({ route }) => route.method === method);
  if (!found) return { allow: allowedMethods(candidates) };
  return { route: found.route, params: decodeParams(found.regex.exec(path)?.groups ?? {}) };
}

function allowedMethods(candidates: Compiled[]): string[] {
  const methods = new Set(candidates.map(({ route }) => route.method));
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}

function decodeParams(groups: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeSegment(value)]));
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

function toRegExp(path: string): RegExp {
  const source = path.replace(/[.]/g, '\\.').replace(/:(\w+)/g, '(?<$1>[^/]+?)');
  return new RegExp(`^${source}$`);
}
