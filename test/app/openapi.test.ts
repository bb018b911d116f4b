// Protects the OpenAPI description: valid, complete, and true of what the routes answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApi } from '../../src/app/openapi.ts';
import { noContent } from '../../src/platform/http/reply.ts';
import { route } from '../../src/platform/http/router.ts';
import { HEALTH_ROUTES } from '../../src/features/health/health-routes.ts';
import type { ApiDocument, Schema } from '../support/api-document.ts';
import { startHub } from '../support/hub.ts';
import { SOURCES } from '../support/source-tree.ts';

const INFO = { version: '1.2.3', baseUrl: 'http://hub.example', metricsToken: null };
const nothing = () => noContent();
const DESCRIBED = { operation: { answers: { 204: null } } };

test('routes under /api are described with their parameters, access and summary, and no others', () => {
  const { paths } = openApi([
    route('GET /api/things/:id', 'public', 'One thing', nothing, DESCRIBED),
    route('DELETE /api/things/:id', 'member', 'Remove a thing', nothing, DESCRIBED),
    route('POST /api/things/:id/parts/:part', 'admin', 'Add a part', nothing, DESCRIBED),
    route('GET /things/:id', 'public', 'Page: one thing', nothing),
  ], INFO) as ApiDocument;

  assert.deepEqual(Object.keys(paths), ['/api/things/{id}', '/api/things/{id}/parts/{part}']);
  assert.deepEqual(Object.keys(paths['/api/things/{id}'] ?? {}), ['get', 'delete']);
  const add = paths['/api/things/{id}/parts/{part}']?.['post'];
  assert.deepEqual(
    add?.parameters?.map((parameter) => [parameter.name, parameter.in, parameter.required]),
    [['id', 'path', true], ['part', 'path', true]],
  );
  assert.match(add?.summary ?? '', /^Add a part/);
  assert.deepEqual(paths['/api/things/{id}']?.['get']?.security, [{}, { session: [] }, { token: ['read'] }]);
  assert.deepEqual(paths['/api/things/{id}']?.['delete']?.security, [{ session: [] }, { token: ['write'] }]);
});

test('a route under /api without a description does not go unnoticed', () => {
  assert.throws(() => openApi([route('GET /api/things', 'public', 'Things', nothing)], INFO), /GET \/api\/things has no operation/);
});

test('the hub describes its API: every operation answers, and what needs somebody signed in says so', async (t) => {
  const { anybody, config } = await startHub(t);
  const answer = await anybody.get('/api/openapi.json');
  const document = answer.json<ApiDocument>();

  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.match(document.openapi, /^3\.1\.\d+$/);
  assert.deepEqual(document.info, { title: 'Content Hub', version: config.version });
  assert.equal(document.servers[0]?.url, config.baseUrl);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })));
  assert.ok(operations.length > 15);
  for (const { path, method, operation } of operations) {
    const context = `${method} ${path}`;
    const { status } = await anybody.send(method.toUpperCase(), path.replace(/\{\w+\}/g, '999999'));
    const isForMembers = operation.security.every((way) => 'session' in way || 'token' in way);
    assert.notEqual(status, 405, context);
    assert.equal(status === 401, isForMembers, `${context} answered ${status} to nobody`);
  }
});

test('the description keeps the rules of OpenAPI: unique ids, declared parameters, references that lead somewhere', async (t) => {
  const { anybody } = await startHub(t);
  const document = (await anybody.get('/api/openapi.json')).json<ApiDocument>();
  const operations = Object.entries(document.paths).flatMap(
    ([path, methods]) => Object.values(methods).map((operation) => ({ path, operation })),
  );

  const ids = operations.map(({ operation }) => operation.operationId);
  assert.equal(new Set(ids).size, ids.length);
  for (const { path, operation } of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const declared = operation.parameters.filter((parameter) => parameter.in === 'path');
    assert.deepEqual(declared.map(({ name }) => name), inPath, path);
    assert.match(operation.operationId, /^[a-z][A-Za-z0-9]+$/);
    assert.ok(operation.summary, path);
    assert.ok(Object.keys(operation.responses).some((status) => status.startsWith('2')), path);
    for (const way of operation.security.flatMap((one) => Object.keys(one))) {
      assert.ok(document.components['securitySchemes']?.[way], way);
    }
  }
  const text = JSON.stringify(document);
  for (const [, reference = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = reference.split('/').reduce<unknown>((value, key) => Object(value)[key], document);
    assert.ok(target, reference);
  }
});

test('on https the description names the cookie of https', () => {
  const { components } = openApi([], { ...INFO, baseUrl: 'https://hub.example' }) as ApiDocument;

  assert.deepEqual(
    components['securitySchemes']?.['session'],
    { type: 'apiKey', in: 'cookie', name: '__Host-hub_session' },
  );
});

test('metrics are for everybody, or for who has the token of their own', () => {
  const { operation = assert.fail() } = HEALTH_ROUTES.find(({ pattern }) => pattern === 'GET /api/metrics') ?? {};
  const scrape = route('GET /api/metrics', 'public', 'Metrics', nothing, { checksBearer: true, operation });
  const described = (metricsToken: string | null) =>
    (openApi([scrape], { ...INFO, metricsToken }) as ApiDocument)
      .paths['/api/metrics']?.['get'];

  assert.deepEqual(described(null)?.security, [{}]);
  assert.equal(described(null)?.responses['401'], undefined);
  assert.deepEqual(described('secret')?.security, [{ metrics: [] }]);
  assert.ok(described('secret')?.responses['401']);
});

/** What only forms and pages read. */
const OF_PAGES = [
  'by', 'count', 'days', 'density', 'document', 'draft', 'kept', 'keys', 'marksOpened', 'newest', 'next', 'order', 'place', 'post',
  'preview', 'range', 'said', 'session', 'show', 'since', 'textSize', 'timeZone', 'undo', 'version',
];

/** Of an item of JSON Feed, whose own specification describes it. */
const OF_ITEMS = 'src/features/webhooks/read-event.ts';

test('each member of a body and each parameter of a query that a handler reads by its name is described', async (t) => {
  const read = /\b(?:input\.\w+\(|values\[|query\.get\(|\w+\(query, )'(\w+)'/g;
  const names = SOURCES.filter(({ name }) => name.startsWith('src/features/') && name !== OF_ITEMS)
    .flatMap(({ code }) => [...code.matchAll(read)].map(([, name = '']) => name));
  const { anybody } = await startHub(t);
  const { paths } = (await anybody.get('/api/openapi.json')).json<ApiDocument>();
  const described = new Set(Object.values(paths).flatMap((methods) => Object.values(methods))
    .flatMap(({ parameters, requestBody }) => [...parameters.map(({ name }) => name),
      ...Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => membersOf(schema))]));

  assert.ok(names.length > 50);
  assert.deepEqual([...new Set(names)].filter((name) => !described.has(name) && !OF_PAGES.includes(name)), []);
});

function membersOf({ properties = {}, anyOf = [] }: Schema): string[] {
  return [...Object.keys(properties as object), ...(anyOf as Schema[]).flatMap(membersOf)];
}
