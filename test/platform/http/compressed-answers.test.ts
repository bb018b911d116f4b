// Protects what goes over the wire: compressed for those who accept it, whole for others, and never what is secret.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { acceptsGzip, toCached, withCompressed } from '../../../src/platform/http/send-reply.ts';
import { cookieOf, type Client } from '../../support/client.ts';
import { attachOne, hubWithOwnPosts } from '../../support/own-posts.ts';
import { appOf, itemId } from '../../support/reader-app.ts';
import { png } from '../../support/sample-files.ts';
import { addPosts } from '../../support/stored-posts.ts';
import { writePost } from '../../support/uploads.ts';

type Raw = { status: number; headers: Record<string, string | string[] | undefined>; body: Buffer };

function ask(address: string, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const sent = request(address + path, { method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve({
        status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks),
      }));
    });
    sent.on('error', reject).end();
  });
}

const GZIP = { 'accept-encoding': 'gzip, deflate, br, zstd' };

async function hubWithPost(t: TestContext) {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  await writePost(hub, { client: ada, sourceId }, [], { title: 'Barn owls', content: 'Owls fly at night. '.repeat(400) });
  return { hub, ada, as: (client: Client) => ({ cookie: cookieOf(client) }) };
}

const TEXTS = ['/', '/posts/1', '/api/posts/1', '/posts.atom', '/posts.json', '/api/openapi.json'];

test('every kind of text comes compressed, also from the cache, and is what others get whole; HEAD tells of it', async (t) => {
  const { hub, ada, as } = await hubWithPost(t);
  const stylesheet = /href="(\/assets\/\w+\/hub\.css)"/.exec((await hub.anybody.page('/')).text)?.[1] ?? '';

  for (const path of [...TEXTS, stylesheet]) {
    for (const who of [{}, {}, as(ada)]) {
      const whole = await ask(hub.address, path, who);
      const packed = await ask(hub.address, path, { ...who, ...GZIP });
      assert.equal(whole.headers['content-encoding'], undefined, path);
      assert.equal(packed.headers['content-encoding'], 'gzip', path);
      assert.deepEqual(gunzipSync(packed.body), whole.body, path);
      assert.ok(packed.body.length < whole.body.length / 2, path);
      for (const { headers, body } of [whole, packed]) {
        assert.match(String(headers['vary']), /(?:^|, )Accept-Encoding$/, path);
        assert.equal(headers['content-length'], String(body.length));
      }
      assert.notEqual(whole.headers['etag'], packed.headers['etag'], 'each form has a tag of its own');
      const head = await ask(hub.address, path, { ...who, ...GZIP }, 'HEAD');
      assert.equal(head.body.length, 0);
      for (const name of ['content-type', 'content-length', 'content-encoding', 'etag', 'vary', 'cache-control']) {
        assert.equal(head.headers[name], packed.headers[name], `${name} of ${path} with HEAD`);
      }
    }
  }
});

test('who has either form is told that it has not changed, by the tag of that form', async (t) => {
  const { hub, ada, as } = await hubWithPost(t);

  for (const path of TEXTS) {
    for (const who of [{}, as(ada)]) {
      const [whole, packed] = [await ask(hub.address, path, who), await ask(hub.address, path, { ...who, ...GZIP })];
      for (const { headers: { etag } } of [whole, packed]) {
        const again = await ask(hub.address, path, { ...who, ...GZIP, 'if-none-match': String(etag) });
        assert.equal(again.status, 304, path);
        assert.equal(again.headers['etag'], etag, path);
        assert.equal(again.headers['content-encoding'], undefined);
        assert.match(String(again.headers['vary']), /Accept-Encoding/);
        assert.equal((await ask(hub.address, path, { ...who, ...GZIP, 'if-none-match': `W/${etag}` })).status, 304);
      }
      assert.equal((await ask(hub.address, path, { ...who, ...GZIP, 'if-none-match': '"other-gzip"' })).status, 200);
    }
  }
});

test('what shows a secret is never compressed, nor is what was sent, refused or too short', async (t) => {
  const { hub, ada, as } = await hubWithPost(t);
  const who = { ...as(ada), ...GZIP, 'sec-fetch-site': 'same-origin', accept: 'text/html' };

  const form = new URLSearchParams({ name: 'reader', currentPassword: hub.password });
  const shown = await fetch(`${hub.address}/settings/tokens`, { method: 'POST', headers: who, body: form });
  assert.match(await shown.text(), /hub_[\w-]{20,}/, 'the page shows a token');
  assert.deepEqual([shown.headers.get('cache-control'), shown.headers.get('content-encoding')], ['no-store', null]);
  for (const path of ['/join/x', '/new-password/x', '/sign-in', '/nowhere', '/api/health', '/api/sources.opml']) {
    const { headers } = await ask(hub.address, path, { ...GZIP, ...(path.endsWith('opml') && as(ada)), accept: '*/*' });
    assert.deepEqual([headers['cache-control'], headers['content-encoding']], ['no-store', undefined], path);
  }
  const short = await ask(hub.address, '/api/sources?limit=1', GZIP);
  assert.deepEqual([short.status, short.headers['content-encoding']], [200, undefined]);
});

test('lists of items, ids and audit records are packed while they are sent; exports, which show secrets, are not', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const { post } = await attachOne(hub, ada, sourceId, 'a.png', png({ width: 3, height: 2 }));
  addPosts(hub, sourceId, 10_400, (n) => ({ title: `Owl ${n}`, content: 'Owls fly at night. '.repeat(n > 10_300 ? 150 : 1) }));
  const app = { ...appOf(hub, 'ada').headers, ...GZIP };
  const admin = { cookie: cookieOf(ada), ...GZIP };
  const withPicture = `/reader/api/0/stream/items/contents?i=${itemId(post.id)}`;
  assert.match(gunzipSync((await ask(hub.address, withPicture, app)).body).toString(), /a\.png\?app=/);
  const open: [path: string, headers: Record<string, string>, share: number][] = [
    ['/reader/api/0/stream/contents?n=100', app, 0.1], [`/reader/api/0/stream/items/ids?n=10200&s=feed/${sourceId}`, app, 0.2],
    ['/api/admin/audit?format=jsonl', admin, 1],
  ];
  for (const [path, headers, share] of open) {
    const [packed, whole] = [await ask(hub.address, path, headers), await ask(hub.address, path, { ...headers, 'accept-encoding': 'identity' })];
    assert.deepEqual([packed.status, packed.headers['content-encoding'], whole.headers['content-encoding']], [200, 'gzip', undefined], path);
    for (const one of [packed, whole]) assert.deepEqual([one.headers['content-length'], one.headers['vary']], [undefined, 'Accept-Encoding'], path);
    assert.deepEqual(gunzipSync(packed.body), whole.body, path);
    assert.ok(packed.body.length < whole.body.length * share, `${path}: ${packed.body.length} of ${whole.body.length} bytes`);
    assert.equal((await ask(hub.address, path, headers, 'HEAD')).headers['content-encoding'], 'gzip', path);
  }
  for (const [path, headers] of [['/reader/api/0/subscription/export', app], ['/api/account/export', admin]] as const) {
    assert.equal((await ask(hub.address, path, headers)).headers['content-encoding'], undefined, path);
  }
});

test('an attachment is given out as its bytes are, whole or in part', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const { path } = await attachOne(hub, ada, sourceId, 'owls.txt', 'owl '.repeat(2000));

  const whole = await ask(hub.address, path, GZIP);
  assert.deepEqual([whole.status, whole.headers['content-encoding'], whole.body.length], [200, undefined, 8000]);
  const part = await ask(hub.address, path, { ...GZIP, range: 'bytes=4-7' });
  assert.deepEqual([part.status, part.headers['content-range'], part.body.toString()], [206, 'bytes 4-7/8000', 'owl ']);
});

test('gzip is accepted by its name or by a star, as much as it is wanted', () => {
  const accepted = [
    'gzip', 'GZIP', 'deflate, gzip;q=0.1', '*', 'br;q=1.0, *;q=0.5', 'x-gzip', 'gzip ; q=1.000', 'identity;q=0, *',
    'gzip;q=0.5, identity;q=0.5',
  ];
  for (const header of accepted) assert.equal(acceptsGzip(header), true, header);
  const refused = [
    undefined, '', 'br', 'identity', 'gzip;q=0', 'gzip;q=0.000, *', '*;q=0', 'gzipped', 'gzip;q=2', 'gzip;q=x',
    'identity, gzip;q=0.5', 'gzip;q=0, gzip;q=0',
  ];
  for (const header of refused) assert.equal(acceptsGzip(header), false, header);
});

test('only so many answers are compressed at once: one more goes out whole, and later ones are compressed again', async () => {
  const answers = Array.from({ length: 36 }, (_, n) =>
    toCached(200, { 'content-type': 'text/html; charset=utf-8' }, Buffer.from(`${n} `.repeat(5000))));

  const packed = await Promise.all(answers.map(withCompressed));
  assert.deepEqual(packed.map(({ compressed }) => compressed !== undefined), answers.map((_, n) => n < 32));
  assert.equal(packed[35], answers[35]);
  assert.notEqual((await withCompressed(answers[35]!)).compressed, undefined);
});

test('what is no text, very long, encoded already or made no shorter stays as it is', async () => {
  const long = Buffer.alloc(2 * 1024 * 1024, 'x');
  const noise = Buffer.from(Array.from({ length: 2000 }, (_, n) => (n * n * 7919) % 251));
  const cases: [headers: Record<string, string>, body: Buffer][] = [
    [{ 'content-type': 'image/png' }, Buffer.alloc(5000)], [{ 'content-type': 'text/html' }, long],
    [{ 'content-type': 'text/html' }, Buffer.alloc(1000, 'x')],
    [{ 'content-type': 'text/html', 'content-encoding': 'br' }, noise], [{}, noise],
  ];
  for (const [headers, body] of cases) {
    const answer = toCached(200, headers, body);
    assert.equal((await withCompressed(answer)).compressed, undefined, JSON.stringify(headers));
    assert.ok(!answer.headers.includes('vary'));
  }
});
