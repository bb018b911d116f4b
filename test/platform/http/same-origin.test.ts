// Protects people who are signed in from requests that other sites make in their name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSameOrigin } from '../../../src/platform/http/call-handler.ts';
import { cookieOf } from '../../support/client.ts';
import { hubWith, startHub, type Hub } from '../../support/hub.ts';

const OWN = ['http://hub.example'];

async function bare(
  hub: Hub, method: string, path: string, headers: Record<string, string>, body = '{"title":"t","kind":"native"}',
) {
  const answer = await fetch(hub.address + path, {
    method, headers: { 'content-type': 'application/json', ...headers }, body, redirect: 'manual',
  });
  await answer.text();
  return answer.status;
}

test('an unsafe request may use its cookie only when the browser says that it comes from the hub itself', () => {
  const cases: [headers: Record<string, string>, withCookie: boolean, without: boolean][] = [
    [{ 'sec-fetch-site': 'same-origin' }, true, true],
    [{ 'sec-fetch-site': 'same-origin', origin: 'http://evil.example' }, true, true],
    [{ 'sec-fetch-site': 'cross-site' }, false, false],
    [{ 'sec-fetch-site': 'cross-site', origin: 'http://hub.example' }, false, false],
    [{ 'sec-fetch-site': 'same-site' }, false, false],
    [{ 'sec-fetch-site': 'none' }, false, false],
    [{ 'sec-fetch-site': '' }, false, false],
    [{ origin: 'http://hub.example' }, true, true],
    [{ origin: 'https://hub.example' }, false, false],
    [{ origin: 'http://hub.example:8080' }, false, false],
    [{ origin: 'http://hub.example.evil.example' }, false, false],
    [{ origin: 'null' }, false, false],
    [{ origin: '' }, false, false],
    [{}, false, true],
  ];
  for (const [headers, withCookie, without] of cases) {
    assert.equal(isSameOrigin('POST', headers, OWN, true), withCookie, `with a cookie ${JSON.stringify(headers)}`);
    assert.equal(isSameOrigin('POST', headers, OWN, false), without, `without ${JSON.stringify(headers)}`);
  }
});

test('every method but the safe ones is checked', () => {
  const foreign = { 'sec-fetch-site': 'cross-site' };
  for (const method of ['GET', 'HEAD', 'OPTIONS']) assert.equal(isSameOrigin(method, foreign, OWN, true), true, method);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'MADEUP']) {
    assert.equal(isSameOrigin(method, foreign, OWN, true), false, method);
  }
});

test('a form on another site cannot act with the cookie of whoever visits it', async (t) => {
  const hub = await startHub(t);
  const cookie = cookieOf(await hub.person('ada'));
  const evil = 'http://evil.example';

  const attempts = [
    { 'sec-fetch-site': 'cross-site', origin: evil }, { 'sec-fetch-site': 'same-site' }, { origin: evil },
    { origin: 'null' }, {},
  ];
  for (const headers of attempts) {
    assert.equal(await bare(hub, 'POST', '/api/sources', { cookie, ...headers }), 403, JSON.stringify(headers));
  }
  assert.deepEqual((await hub.anybody.get('/api/sources')).json()['items'], []);
  assert.equal(await bare(hub, 'DELETE', '/api/session', { cookie, origin: evil }), 403);
  assert.equal(await bare(hub, 'POST', '/api/sources', { cookie, origin: hub.address }), 201);
  assert.equal(await bare(hub, 'POST', '/api/sources', { cookie, 'sec-fetch-site': 'same-origin' }), 201);
});

test('links from other sites lead to pages as usual', async (t) => {
  const { ada } = await hubWith(t, ['ada']);

  const answer = await ada.send(
    'GET', '/sources', { headers: { 'sec-fetch-site': 'cross-site', accept: 'text/html' } },
  );
  assert.equal(answer.status, 200);
  assert.match(answer.text, /Sign out/);
});

test('a program with an API token need not say where it comes from, and may come from anywhere', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const { token } = (await ada.post('/api/tokens', { name: 'script', currentPassword: hub.password })).json<{ token: string }>();
  const authorization = `Bearer ${token}`;

  assert.equal(await bare(hub, 'POST', '/api/sources', { authorization }), 201);
  assert.equal(await bare(hub, 'POST', '/api/sources', { authorization, origin: 'http://evil.example' }), 201);
  assert.equal(
    await bare(hub, 'POST', '/api/sources', { authorization, cookie: cookieOf(ada), 'sec-fetch-site': 'cross-site' }),
    201,
  );
});

test('an unknown bearer beside a cookie does not switch the check off', async (t) => {
  const hub = await startHub(t);
  const cookie = cookieOf(await hub.person('ada'));

  assert.equal(
    await bare(hub, 'POST', '/api/sources', { cookie, authorization: 'Bearer other', origin: 'http://evil.example' }),
    403,
  );
  assert.equal(await bare(hub, 'POST', '/api/sources', { cookie, authorization: 'Bearer other' }), 403);
  assert.equal(await bare(hub, 'POST', '/api/sources', { cookie, authorization: 'Basic YTpi' }), 403);
});

test('another site can neither sign its visitors in nor make them join', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const fields = new URLSearchParams({ username: 'ada', password: hub.password }).toString();
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const right = JSON.stringify({ username: 'ada', password: hub.password });

  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'http://evil.example' }, { origin: 'null' }]) {
    assert.equal(await bare(hub, 'POST', '/sign-in', { ...form, ...headers }, fields), 403);
    assert.equal(await bare(hub, 'POST', '/join/token', { ...form, ...headers }, fields), 403);
    assert.equal(await bare(hub, 'POST', '/api/session', headers, right), 403);
    assert.equal(await bare(hub, 'POST', '/api/accounts', headers, right), 403);
  }
  assert.equal(await bare(hub, 'POST', '/sign-in', { ...form, origin: hub.address }, fields), 303);
  assert.equal(await bare(hub, 'POST', '/api/session', {}, right), 200, 'a program without a cookie');
});

test('a hub on https is its own origin there only', async (t) => {
  const hub = await startHub(t, { BASE_URL: 'https://hub.example', TRUSTED_PROXIES: '127.0.0.1' });
  const cookie = cookieOf(await hub.person('ada'));

  assert.equal(await bare(hub, 'POST', '/api/sources', { cookie, origin: 'https://hub.example' }), 201);
  assert.equal(await bare(hub, 'POST', '/api/sources', { cookie, origin: 'http://hub.example' }), 403);
  assert.equal(await bare(hub, 'POST', '/api/sources', { cookie, origin: hub.address }), 403);
});
