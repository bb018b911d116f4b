import { SESSION_COOKIE } from '../features/accounts/authenticate.ts';
import type { Config } from '../features/hub/read-config.ts';
import { array, id, integer, namedIn, noted, object, optional, text } from '../platform/http/fields.ts';
import { cookieName } from '../platform/http/headers.ts';
import { statusTitle } from '../platform/http/reply.ts';
import type { Operation, Route } from '../platform/http/router.ts';

export type Info = Pick<Config, 'version' | 'baseUrl' | 'metricsToken'>;

type Requirement = Record<string, string[]>;

/** An OpenAPI 3.1 document of the routes under /api. */
export function openApi(routes: Route[], info: Info) {
  const { version, baseUrl } = info;
  const byPath = Map.groupBy(routes.filter(({ path }) => path.startsWith('/api/')), ({ path }) => template(path));
  const described = (one: Route) => describeOperation(one, info);
  return {
    openapi: '3.1.1',
    info: { title: 'Content Hub', version },
    servers: [{ url: baseUrl }],
    paths: Object.fromEntries([...byPath].map(([path, group]) => [path, Object.fromEntries(group.map(described))])),
    components: {
      responses: { Problem: problem('A refusal that any request may get (406, 421, 429), or an error of the hub ' +
        'itself (500, 503, 507). 429 and 503 have a Retry-After header.') },
      schemas: { Problem: PROBLEM_SHAPE.schema, ...namedIn(routes.map(({ operation }) => operation)) },
      securitySchemes: securitySchemes(baseUrl.startsWith('https:')),
    },
  };
}

function template(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

function describeOperation(of: Route, info: Info) {
  const { method, path, access, summary, operation } = of;
  if (!operation) throw new Error(`${method} ${path} has no operation`);
  const { query = {}, body } = operation;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) =>
    ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  const inQuery = Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema }));
  return [method.toLowerCase(), {
    operationId: operationId(method, path),
    summary: access === 'admin' ? `${summary} (administrators)` : summary,
    parameters: [...inPath, ...inQuery],
    ...(body && { requestBody: { required: true, content: contentOf(body) } }),
    security: securityOf(of, operation, info),
    responses: { ...answersOf(of, operation, info), default: PROBLEM },
  }];
}

/** Makes the operationId of a route: getPostsById for GET /api/posts/:id. */
function operationId(method: string, path: string): string {
  const words = path.slice('/api/'.length).replace(/:/g, 'by ').split(/[^A-Za-z0-9]+/);
  return [method.toLowerCase(), ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join('');
}

function securityOf({ method, access }: Route, { proof }: Operation, { metricsToken }: Info): Requirement[] {
  if (proof === 'none') return [{}];
  if (proof === 'metrics') return metricsToken === null ? [{}] : [{ metrics: [] }];
  if (proof === 'signature') return [{ signature: [] }, { githubSignature: [] }];
  const session = { session: access === 'admin' ? ['admin'] : [] };
  const scope = access === 'admin' ? 'admin' : method === 'GET' ? 'read' : 'write';
  const proofs = proof === 'session' ? [session] : [session, { token: [scope] }];
  return access === 'public' ? [{}, ...proofs] : proofs;
}

function securitySchemes(secure: boolean) {
  const header = (name: string, description: string) => ({ type: 'apiKey', in: 'header', name, description });
  return {
    session: { type: 'apiKey', in: 'cookie', name: cookieName(SESSION_COOKIE, secure) },
    token: { type: 'http', scheme: 'bearer', description: 'An API token (hub_…) whose scope allows the operation' },
    metrics: { type: 'http', scheme: 'bearer', description: 'METRICS_TOKEN' },
    signature: header('webhook-signature', 'Standard Webhooks 1.0; sent with webhook-id and webhook-timestamp'),
    githubSignature: header('X-Hub-Signature-256', 'A GitHub signature; sent with X-GitHub-Delivery'),
  };
}

function answersOf(of: Route, operation: Operation, info: Info): Record<string, object> {
  const done = Object.entries(operation.answers).map(([status, body]) =>
    [status, { description: statusTitle(Number(status)), ...(body && { content: contentOf(body) }) }]);
  const refused = refusalsOf(of, operation, info).map((status) =>
    [status, { ...PROBLEM, description: statusTitle(status) }]);
  return Object.fromEntries([...done, ...refused]);
}

function refusalsOf(
  { method, path, access, checksBearer }: Route, operation: Operation, { metricsToken }: Info,
): number[] {
  const { query, body, answers, refusals = [], proof } = operation;
  const isRead = method === 'GET';
  const isForMetrics = proof === 'metrics' && metricsToken !== null;
  const hasMembers = body !== undefined && ('application/json' in body || 'multipart/form-data' in body);
  const isJson = answers[200] && 'application/json' in answers[200];
  return [
    ...(query || hasMembers ? [400] : []),
    ...(!checksBearer || isForMetrics ? [401] : []), // 401: an unknown API token, on public routes too
    ...(!isRead || access === 'admin' ? [403] : []), // 403: a request from another site, or without permission
    ...(path.includes(':') ? [404] : []),
    ...(isRead && isJson ? [406] : []),
    ...(body ? [413, 415] : []),
    ...(body && proof !== 'signature' ? [422] : []),
    ...refusals,
  ];
}

function contentOf(body: Readonly<Record<string, object>>): Record<string, object> {
  return Object.fromEntries(Object.entries(body).map(([mediaType, schema]) => [mediaType, { schema }]));
}

const PROBLEM_SHAPE = object({
  type: text, title: text, status: integer, detail: text,
  errors: optional(array(object({
    pointer: text, detail: text,
    at: optional(noted(integer, 'The place of the fault in a text, counted in characters from 0')),
  }))),
  sources: optional(noted(array(object({ id, title: text })),
    'Sources to transfer or delete before you can delete your account')),
  sourceId: optional(noted(id, 'Your existing source of this feed')),
  bytesLeft: optional(noted(integer, 'Bytes left in the account’s quota for uploaded files')),
  bytesMissing: optional(noted(integer, 'Bytes by which your quota is too small for an offered source')),
});

const PROBLEM = { $ref: '#/components/responses/Problem' };

function problem(description: string) {
  return { description, content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } };
}
