import { SESSION_COOKIE } from '../features/accounts/sign-in.ts';
import { cookieName } from '../platform/http/headers.ts';
import { json, type Reply } from '../platform/http/reply.ts';
import { route, type Access, type Route } from '../platform/http/router.ts';

const PROBLEM = { $ref: '#/components/responses/Problem' };

/** The answer of a method that did what it should, as far as the method tells. */
const SUCCESS: Record<string, string> = { GET: '200', POST: '2XX', PUT: '2XX', PATCH: '200', DELETE: '204' };

/** The routes and one more, which describes those under /api as OpenAPI 3.1. */
export function withOpenApi(routes: Route[], { version, baseUrl }: { version: string; baseUrl: string }): Route[] {
  const own = route('GET /api/openapi.json', 'public', 'This description, as OpenAPI 3.1', describe, { cached: true });
  const all = [...routes, own];
  let reply: Reply | undefined;
  return all;

  function describe(): Reply {
    return (reply ??= json(openApi(all, { version, baseUrl })));
  }
}

/** An OpenAPI 3.1 document of the routes under /api. */
export function openApi(routes: Route[], { version, baseUrl }: { version: string; baseUrl: string }) {
  const byPath = Map.groupBy(routes.filter(({ path }) => path.startsWith('/api/')), ({ path }) => template(path));
  const paths = [...byPath].map(([path, group]) => [path, Object.fromEntries(group.map(operation))]);
  return {
    openapi: '3.1.1',
    info: { title: 'Content Hub', version },
    servers: [{ url: baseUrl }],
    paths: Object.fromEntries(paths),
    components: {
      responses: { Problem: problemResponse },
      schemas: { Problem: problemSchema },
      securitySchemes: securitySchemes(baseUrl.startsWith('https:')),
    },
  };
}

/** /posts/:id → /posts/{id} */
function template(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

function operation({ method, path, access, summary }: Route) {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name);
  const parameters = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  return [method.toLowerCase(), {
    operationId: operationId(method, path),
    summary: access === 'admin' ? `${summary} (administrators)` : summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    security: securityOf(access),
    responses: { [SUCCESS[method] ?? '2XX']: { description: 'Done.' }, default: PROBLEM },
  }];
}

/** GET /api/posts/:id → getPostsById */
function operationId(method: string, path: string): string {
  const words = path.slice('/api/'.length).replace(/:/g, 'by ').split(/[^A-Za-z0-9]+/);
  return [method.toLowerCase(), ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join('');
}

/** Any one of the ways to prove who one is; the empty one where anybody may call. */
function securityOf(access: Access): Record<string, string[]>[] {
  const proofs = [{ session: [] }, { token: [] }];
  return access === 'public' ? [{}, ...proofs] : proofs;
}

function securitySchemes(secure: boolean) {
  return {
    session: { type: 'apiKey', in: 'cookie', name: cookieName(SESSION_COOKIE, secure) },
    token: { type: 'http', scheme: 'bearer', description: 'An API token, hub_…' },
  };
}

const problemSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['pointer', 'detail'],
        properties: { pointer: { type: 'string' }, detail: { type: 'string' } },
      },
    },
  },
};

const problemResponse = {
  description: 'The request was refused (RFC 9457).',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};
