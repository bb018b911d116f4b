// Protects the finding of routes: one handler for each address, and honest answers where there is none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noContent } from '../../../src/platform/http/reply.ts';
import { createRouter, route, type Match, type Route } from '../../../src/platform/http/router.ts';

const nothing = () => noContent();

function paths(...patterns: Parameters<typeof route>[0][]): Route[] {
  return patterns.map((pattern) => route(pattern, 'public', pattern, nothing));
}

function found(match: Match): string | string[] | undefined {
  if (!match) return undefined;
  return 'allow' in match ? match.allow : match.route.summary;
}

function paramsOf(match: Match): Record<string, string> | undefined {
  return match && 'params' in match ? match.params : undefined;
}

test('a route is found by method and path, and its parameters are the decoded segments', () => {
  const match = createRouter(paths('GET /posts', 'GET /posts/:id', 'POST /posts/:id', 'GET /a/:x/b/:y'));

  assert.equal(found(match('GET', '/posts')), 'GET /posts');
  assert.equal(found(match('POST', '/posts/7')), 'POST /posts/:id');
  assert.deepEqual(paramsOf(match('GET', '/posts/7')), { id: '7' });
  assert.deepEqual(paramsOf(match('GET', '/a/x%20y/b/%C3%A9%2F')), { x: 'x y', y: 'é/' });
});

test('a parameter is one segment: never empty, never with a slash, and a broken percent sign makes it empty', () => {
  const match = createRouter(paths('GET /posts/:id'));

  for (const path of ['/posts/', '/posts/1/2', '/posts//1', '/Posts/1', '//posts/1', '/posts/1/', 'posts/1', '']) {
    assert.equal(match('GET', path), undefined, path);
  }
  assert.deepEqual(paramsOf(match('GET', '/posts/%E0%A4')), { id: '' });
});

test('dots of a path are dots, and an ending after a parameter is no part of it', () => {
  const match = createRouter(paths('GET /sources/:id.atom', 'GET /sources/:id.json', 'GET /sources/:id', 'GET /a.b'));

  assert.deepEqual(paramsOf(match('GET', '/sources/12.atom')), { id: '12' });
  assert.equal(found(match('GET', '/sources/12.json')), 'GET /sources/:id.json');
  assert.equal(found(match('GET', '/sources/12')), 'GET /sources/:id');
  assert.equal(found(match('GET', '/sources/12xatom')), 'GET /sources/:id');
  assert.equal(match('GET', '/aXb'), undefined);
});

test('HEAD finds the GET route, and nothing where there is none', () => {
  const match = createRouter(paths('GET /posts', 'POST /only', 'GET /posts/:id'));

  assert.equal(found(match('HEAD', '/posts')), 'GET /posts');
  assert.equal(found(match('HEAD', '/posts/3')), 'GET /posts/:id');
  assert.deepEqual(found(match('HEAD', '/only')), ['POST']);
});

test('a path that exists for other methods names them all, HEAD with GET', () => {
  const match = createRouter(paths('GET /posts/:id', 'DELETE /posts/:id', 'PATCH /posts/:id', 'POST /posts'));

  assert.deepEqual(found(match('PUT', '/posts/1')), ['DELETE', 'GET', 'HEAD', 'PATCH']);
  assert.deepEqual(found(match('OPTIONS', '/posts')), ['POST']);
  assert.deepEqual(found(match('get', '/posts')), ['POST'], 'methods are case-sensitive (RFC 9110 §9.1)');
  assert.equal(match('PUT', '/nowhere'), undefined);
});

test('a fixed path wins over a pattern that fits it too', () => {
  const match = createRouter(paths('GET /sources/:id', 'GET /sources/new'));

  assert.equal(found(match('GET', '/sources/new')), 'GET /sources/new');
  assert.equal(found(match('GET', '/sources/newer')), 'GET /sources/:id');
});

test('the first fitting pattern wins, however the patterns begin', () => {
  const rows = paths('GET /:name/x', 'GET /a/:id', 'GET /:rest*', 'GET /a/b/:id');
  const match = createRouter(rows);
  assert.equal(found(match('GET', '/a/x')), 'GET /:name/x');
  assert.equal(found(match('GET', '/a/y')), 'GET /a/:id');
  assert.equal(found(match('GET', '/a/b/c')), 'GET /:rest*');
  assert.equal(found(createRouter(rows.toReversed())('GET', '/a/b/c')), 'GET /a/b/:id');
});

test('a path of a thousand times as many slashes is not looked at a thousand times as long', () => {
  const match = createRouter(paths('GET /a/b/:id', 'GET /a/:id'));
  const timed = (path: string): number => {
    const began = performance.now();
    for (let n = 0; n < 200; n++) assert.equal(match('GET', path), undefined);
    return performance.now() - began;
  };
  timed('/'.repeat(8));
  assert.ok(timed('/'.repeat(8_000)) < 50 * Math.max(1, timed('/'.repeat(8))));
});
