// Protects a hub behind the proxies of scripts/proxy: what they pass on, what they may not, and who is believed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { addPost } from '../../support/accounts.ts';
import { cookieOf } from '../../support/client.ts';
import { listen } from '../../support/ports.ts';
import { askHttp2, hubBehind, PROXIES, startProxy } from '../../support/proxy.ts';
import { githubEvent } from '../../support/signed-events.ts';
import { testWith } from '../../support/tools.ts';
import { filesIn, FORM_TYPE, formWith, openFilesIn, writePost, writer } from '../../support/uploads.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { eventBody, eventOf, makeWebhook } from '../../support/webhooks.ts';

const test = testWith('root', 'nginx', 'caddy');
const MEBIBYTE = 1024 * 1024;

const JSON_BODY = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };

for (const kind of PROXIES) {
  test(`${kind} tells the hub the client's address and nothing that the client says of it`, async (t) => {
    const echo = createServer((req, res) => res.end(JSON.stringify(req.headers)));
    const proxy = await startProxy(t, kind, await listen(t, echo));
    for (const forged of ['203.0.113.9', '127.0.0.1', '10.0.0.1, 127.0.0.1', '']) {
      const headers = { 'x-forwarded-for': forged, 'x-forwarded-proto': 'http' };
      const { body } = await proxy.ask('/', { from: '127.0.0.2', headers });
      const seen = JSON.parse(body.toString()) as Record<string, string>;
      const [address, scheme, host] = [seen['x-forwarded-for'], seen['x-forwarded-proto'], seen['host']];
      assert.deepEqual([address, scheme, host], ['127.0.0.2', 'https', 'hub.test']);
    }
  });

  test(`behind ${kind} limits and sessions go by that address`, async (t) => {
    const { hub, proxy } = await hubBehind(t, kind);
    await hub.person('ada');
    const send = (path: string, from: string, forged: string, body: object) => proxy.ask(path, {
      method: 'POST', from, body: JSON.stringify(body), headers: { ...JSON_BODY, 'x-forwarded-for': forged },
    });
    const join = async (from: string, forged: string): Promise<number> =>
      (await send('/api/accounts', from, forged, { invitation: 'x', username: 'eve', password: hub.password })).status;

    const first = [];
    for (let n = 0; n < 20; n++) first.push(await join('127.0.0.2', `198.51.100.${n}`));
    assert.deepEqual(new Set(first), new Set([410]));
    assert.equal(await join('127.0.0.2', '198.51.100.77'), 429);
    assert.equal(await join('127.0.0.3', '198.51.100.77'), 410);

    const ada = { username: 'ada', password: hub.password };
    const { status, headers } = await send('/api/session', '127.0.0.3', '198.51.100.78', ada);
    assert.equal(status, 200);
    const [cookie = ''] = headers['set-cookie'] ?? [];
    assert.match(cookie, /^__Host-hub_session=.*; Secure/);
    const sessions = await proxy.ask('/api/sessions', { headers: { cookie: cookie.split(';')[0] ?? '' } });
    assert.match(sessions.body.toString(), /"127\.0\.0\.3"/);
    assert.doesNotMatch(sessions.body.toString(), /198\.51\.100/);
  });

  test(`the largest upload comes through ${kind}, and a larger one is refused in the hub's own words`, async (t) => {
    const { hub, proxy } = await hubBehind(t, kind);
    const ada = await writer(hub, 'ada');
    const headers = { cookie: cookieOf(ada.client), 'content-type': FORM_TYPE, 'sec-fetch-site': 'same-origin' };
    const fields = { sourceId: String(ada.sourceId), title: 'Large', content: 'Text' };
    const files = [1, 2, 3, 4].map((n) => ({ filename: `${n}.txt`, data: Buffer.alloc(25 * MEBIBYTE, `${n}`) }));

    const taken = await askHttp2(proxy.http2(), 'POST', '/api/posts', headers, formWith(fields, files));
    assert.equal(taken.status, 201, taken.body.toString());
    assert.equal(filesIn(hub.dataDir).uploads.length, 4);

    for (const bytes of [26 * MEBIBYTE, 110 * MEBIBYTE]) {
      const form = formWith(fields, [{ filename: 'x.txt', data: Buffer.alloc(bytes, 'x') }]);
      const refused = await askHttp2(proxy.http2(), 'POST', '/api/posts', headers, form);
      assert.equal(refused.status, 413);
      assert.match(String(refused.headers['content-type']), /^application\/problem\+json/);
    }
  });

  test(`${kind} tells every one of thirty clients that the upload is too large, though they send it whole first`, async (t) => {
    const behind = await hubBehind(t, kind, undefined, { UPLOAD_MAX_BYTES: String(MEBIBYTE) });
    const ada = await writer(behind.hub, 'ada');
    const fields = { sourceId: String(ada.sourceId), title: 'Large', content: 'Text' };
    const form = formWith(fields, [{ filename: 'x.txt', data: Buffer.alloc(7 * MEBIBYTE, 'x') }]);
    const head = `POST /api/posts HTTP/1.1\r\nHost: hub.test\r\nCookie: ${cookieOf(ada.client)}\r\nSec-Fetch-Site: same-origin\r\n` +
      `Content-Type: ${FORM_TYPE}\r\nContent-Length: ${form.length}\r\n\r\n`;
    const answers: string[] = [];
    while (answers.length < 30) {
      answers.push(...await Promise.all(Array.from({ length: 5 }, async () => sendWhole(await behind.proxy.raw(), head, form))));
    }
    assert.deepEqual(new Set(answers), new Set(['HTTP/1.1 413']));
    assert.deepEqual(filesIn(behind.hub.dataDir).tmp, []);
  });

  test(`an upload comes through ${kind} while it is sent, and one that is broken off leaves nothing`, async (t) => {
    const { hub, proxy } = await hubBehind(t, kind);
    const ada = await writer(hub, 'ada');
    const form = formWith({ sourceId: String(ada.sourceId), title: 'Left', content: 'Text' },
      [{ filename: 'x.txt', data: Buffer.alloc(8 * MEBIBYTE, 'x') }]);
    const stream = proxy.http2().request({
      ':method': 'POST', ':path': '/api/posts', ':authority': 'hub.test', 'content-type': FORM_TYPE,
      'content-length': form.length, cookie: cookieOf(ada.client), 'sec-fetch-site': 'same-origin',
    });
    stream.on('error', () => {});
    stream.write(form.subarray(0, 4 * MEBIBYTE));
    await waitUntil('the hub has a part of it', () => filesIn(hub.dataDir).tmp.length === 1);

    stream.session?.destroy();

    await waitUntil('it is gone', () => filesIn(hub.dataDir).tmp.length === 0 && openFilesIn(hub.dataDir).length === 0);
    assert.deepEqual(filesIn(hub.dataDir).uploads, []);
  });

  test(`a reader who leaves ${kind} in the middle of a file makes the hub close it`, async (t) => {
    const { hub, proxy } = await hubBehind(t, kind);
    const ada = await writer(hub, 'ada');
    const data = Buffer.alloc(24 * MEBIBYTE, 'x');
    const post = await writePost(hub, ada, [{ filename: 'x.txt', data }]);
    const path = new URL(post.attachments[0]?.url ?? '').pathname;
    const part = await proxy.ask(path, { headers: { range: 'bytes=10-19' } });
    assert.deepEqual([part.status, part.body.length], [206, 10]);

    const reader = await proxy.raw();
    reader.pause();
    reader.write(`GET ${path} HTTP/1.1\r\nHost: hub.test\r\n\r\n`);
    await waitUntil('it is being read', () => openFilesIn(hub.dataDir).length === 1);
    reader.destroy();

    await waitUntil('it is closed', () => openFilesIn(hub.dataDir).length === 0);
  });

  test(`${kind} compresses nothing that the hub has compressed or left as it is`, async (t) => {
    const { hub, proxy } = await hubBehind(t, kind);
    const { client, sourceId } = await writer(hub, 'ada');
    for (let n = 0; n < 20; n++) await addPost(client, sourceId, `Post ${n}`, 'A text of some length. '.repeat(20));
    const gzip = { 'accept-encoding': 'gzip' };

    for (const path of ['/', '/posts.json', '/posts.atom']) {
      const [plain, packed] = [await proxy.ask(path), await proxy.ask(path, { headers: gzip })];
      const codings = [plain, packed].map(({ headers }) => headers['content-encoding']);
      assert.deepEqual(codings, [undefined, 'gzip'], path);
      assert.ok(gunzipSync(packed.body).equals(plain.body), path);
      assert.equal(packed.headers['vary']?.match(/accept-encoding/gi)?.length, 1);
      const own = await hub.anybody.get(path, gzip);
      assert.equal(packed.headers['etag'], own.headers.get('etag'), 'strong, and that of this form');
      assert.notEqual(plain.headers['etag'], packed.headers['etag']);
      for (const { headers } of [plain, packed]) {
        const known = await proxy.ask(path, { headers: { ...gzip, 'if-none-match': String(headers['etag']) } });
        assert.deepEqual([known.status, known.body.length], [304, 0], path);
      }
    }
    const post = await writePost(hub, { client, sourceId }, [{ filename: 'x.txt', data: 'A file. '.repeat(1_000) }]);
    for (const path of ['/sign-in', new URL(post.attachments[0]?.url ?? '').pathname]) {
      const { status, headers } = await proxy.ask(path, { headers: { ...gzip, accept: 'text/html,*/*' } });
      assert.deepEqual([status, headers['content-encoding']], [200, undefined], path);
    }
  });

  test(`events are signed over raw bytes, and ${kind} passes them as they are`, async (t) => {
    const { hub, proxy } = await hubBehind(t, kind);
    const hook = await makeWebhook(await hub.person('ada'));
    const body = ` ${eventBody('post.published', { id: 'ü', title: 'Z\\u00fcge\u2028\u{1f989}' }, hub.now())}\r\n\t `;
    const sends: [id: string, headers: Record<string, string>][] = [
      ['with-its-length', { 'content-length': String(Buffer.byteLength(body)) }],
      ['in-chunks', { 'transfer-encoding': 'chunked' }],
      ['taking-gzip', { 'accept-encoding': 'gzip' }],
    ];
    const path = `/api/webhooks/${hook.id}`;
    for (const [id, headers] of sends) {
      const { rawHeaders } = githubEvent(hook.secret, body, id);
      const sent = await proxy.ask(path, {
        method: 'POST', body, headers: { 'content-type': 'application/json', ...asObject(rawHeaders), ...headers },
      });
      assert.equal(sent.status, 202, id);
    }
    const event = eventOf(hub, hook.secret, 'post.published', { id: 'h2', title: 'Over HTTP/2' });
    const headers = { 'content-type': 'application/json', ...asObject(event.rawHeaders) };
    assert.equal((await askHttp2(proxy.http2(), 'POST', path, headers, event.body)).status, 202);
    const changed = Buffer.concat([event.body, Buffer.from(' ')]);
    assert.equal((await askHttp2(proxy.http2(), 'POST', path, headers, changed)).status, 401);
  });
}

/**
 * The status line for a client that reads nothing before it has sent everything, and rests after a part that is too
 * large already: for longer than Caddy keeps a connection after its answer, half a second.
 */
async function sendWhole(socket: TLSSocket, head: string, form: Buffer): Promise<string> {
  socket.pause();
  const failed = once(socket, 'error').then(([error]) => String(error));
  socket.write(head);
  socket.write(form.subarray(0, 2 * MEBIBYTE));
  await wait(1_000);
  const sent = new Promise<void>((resolve) => socket.write(form.subarray(2 * MEBIBYTE), () => resolve()));
  const answer = sent.then(async () => {
    const [piece] = await once(socket.resume(), 'data') as [Buffer];
    return piece.toString('latin1', 0, 12);
  });
  return Promise.race([answer, failed]).finally(() => socket.destroy());
}

function asObject(rawHeaders: string[]): Record<string, string> {
  const names = rawHeaders.filter((_, at) => at % 2 === 0);
  return Object.fromEntries(names.map((name, at) => [name.toLowerCase(), rawHeaders[at * 2 + 1] ?? '']));
}

test('the cache in nginx.conf keeps what visitors get for a second or two, and nothing of anybody else', async (t) => {
  const withCache = (config: string): string => config.replace('proxy_cache off;', 'proxy_cache content_hub;');
  const { hub, proxy, reached } = await hubBehind(t, 'nginx', withCache);
  const ada = await writer(hub, 'ada');
  const post = await writePost(hub, ada, [{ filename: 'x.txt', data: 'A file' }]);
  const text = 'A text of some length. '.repeat(20);
  for (let n = 0; n < 20; n++) await addPost(ada.client, ada.sourceId, `Post ${n}`, text);
  const member = { cookie: cookieOf(ada.client) };
  const asked = async (count: number, path: string, headers: Record<string, string> = {}): Promise<number> => {
    const before = reached.length;
    for (let n = 0; n < count; n++) await proxy.ask(path, { headers });
    return reached.length - before;
  };

  for (const path of ['/', '/posts.json', `/posts/${post.id}`]) {
    const count = await asked(30, path);
    assert.ok(count >= 1 && count < 30, `${path}: ${count} of 30`);
  }
  const [plain, packed] = [await proxy.ask('/'), await proxy.ask('/', { headers: { 'accept-encoding': 'gzip' } })];
  assert.ok(gunzipSync(packed.body).equals(plain.body), 'each form is kept by itself');
  const known = await proxy.ask('/', { headers: { 'if-none-match': String(plain.headers['etag']) } });
  assert.deepEqual([known.status, known.body.length], [304, 0]);

  assert.equal(await asked(3, '/', member), 3);
  assert.equal(await asked(3, '/posts.json', { authorization: 'Bearer hub_x' }), 3);
  assert.match((await proxy.ask('/', { headers: member })).body.toString(), /Sign out/);
  assert.doesNotMatch((await proxy.ask('/')).body.toString(), /Sign out/);
  const file = new URL(post.attachments[0]?.url ?? '').pathname;
  for (const path of ['/api/health', '/sign-in', '/join/secret', file]) assert.equal(await asked(3, path), 3, path);

  assert.equal((await proxy.ask(`/posts/${post.id}`)).status, 200);
  await ada.client.delete(`/api/posts/${post.id}`);
  assert.equal((await proxy.ask(file)).status, 404);
  await waitUntil('it is gone', async () => (await proxy.ask(`/posts/${post.id}`)).status === 404);
});

test('nginx.conf as it is keeps nothing: what is deleted is gone at once', async (t) => {
  const { hub, proxy } = await hubBehind(t, 'nginx');
  const ada = await writer(hub, 'ada');
  const { id } = await writePost(hub, ada);
  assert.equal((await proxy.ask(`/posts/${id}`)).status, 200);

  await ada.client.delete(`/api/posts/${id}`);

  assert.equal((await proxy.ask(`/posts/${id}`)).status, 404);
});
