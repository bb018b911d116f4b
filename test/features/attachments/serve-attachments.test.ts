// Protects files as they are given out: byte for byte, as what they were verified to be, under safe headers.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { uploads } from '../../../src/features/attachments/attachment-store.ts';
import { attachOne, getFile, hubWithOwnPosts, type Served } from '../../support/own-posts.ts';
import { avif, gif, jpeg, pdf, png, webp } from '../../support/sample-files.ts';

const SIZE = { width: 3, height: 2 };
const TEXT = '<!doctype html><script>alert(1)</script>\n';
const OF_THE_MOMENT = new Set(['date', 'x-request-id', 'connection', 'keep-alive']);
const SANDBOX = "default-src 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

function assertHarmless({ headers }: Served, embedded: 'same-origin' | 'cross-origin'): void {
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('content-security-policy'), SANDBOX);
  assert.equal(headers.get('cross-origin-resource-policy'), embedded);
  assert.equal(headers.get('referrer-policy'), 'same-origin');
}

test('every file comes back byte for byte as what it was verified to be; only images are shown, others saved', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const plain = 'text/plain; charset=utf-8';
  const cases: [name: string, content: Buffer | string, mediaType: string, kind: string][] = [
    ['a.png', png(SIZE), 'image/png', 'inline'],
    ['a.jpeg', jpeg(SIZE), 'image/jpeg', 'inline'],
    ['a.gif', gif(SIZE), 'image/gif', 'inline'],
    ['a.webp', webp(SIZE), 'image/webp', 'inline'],
    ['a.avif', avif(), 'image/avif', 'inline'],
    ['a.pdf', pdf(), 'application/pdf', 'attachment'],
    ['a.txt', TEXT, plain, 'attachment'],
    ['a.md', `# ${TEXT}`, plain, 'attachment'],
  ];
  for (const [name, content, mediaType, kind] of cases) {
    const { path, attachment } = await attachOne(hub, ada, sourceId, name, content);
    const served = await getFile(hub, path);
    const sha256 = createHash('sha256').update(content).digest('hex');

    assert.equal(served.status, 200, name);
    assert.deepEqual(served.body, Buffer.from(content), name);
    assert.equal(served.headers.get('content-type'), mediaType);
    assert.equal(served.headers.get('content-disposition'), `${kind}; filename="${name}"`);
    assert.equal(served.headers.get('content-length'), String(Buffer.byteLength(content)));
    assert.equal(served.headers.get('etag'), `"${sha256}"`);
    assert.equal(served.headers.get('accept-ranges'), 'bytes');
    assert.equal(served.headers.get('cache-control'), 'public, max-age=0, must-revalidate');
    assert.deepEqual([attachment.sha256, attachment.bytes], [sha256, Buffer.byteLength(content)]);
    assertHarmless(served, kind === 'inline' ? 'cross-origin' : 'same-origin');
  }
});

test('HEAD tells all that GET does for the whole, whatever part is asked for, and sends nothing', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const { path } = await attachOne(hub, ada, sourceId, 'a.txt', 'a text of some length');

  for (const headers of [{}, { range: 'bytes=2-5' }, { range: 'bytes=99-' }]) {
    const [head, get] = [await getFile(hub, path, { method: 'HEAD', headers }), await getFile(hub, path)];
    const told = (served: Served) =>
      Object.fromEntries([...served.headers].filter(([name]) => !OF_THE_MOMENT.has(name)));
    assert.equal(head.status, get.status);
    assert.deepEqual(told(head), told(get));
    assert.equal(head.body.length, 0);
  }
});

test('who has a file is told so by 304, with all that a cache must keep, public or private', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const { path, attachment } = await attachOne(hub, ada, sourceId, 'a.txt', 'text');
  const etag = `"${attachment.sha256}"`;
  const cases: [header: string, status: number][] = [
    [etag, 304], [`W/${etag}`, 304], ['*', 304], [`"x", ${etag}`, 304], [etag.slice(1, -1), 200], ['"x"', 200],
    ['', 200], ['garbage,,', 200],
  ];
  for (const [header, status] of cases) {
    const served = await getFile(hub, path, { headers: { 'if-none-match': header } });
    assert.equal(served.status, status, header);
    assert.equal(served.headers.get('etag'), etag);
    assert.equal(served.headers.get('cache-control'), 'public, max-age=0, must-revalidate');
    assert.equal(served.body.length, status === 304 ? 0 : 4);
  }
  const both = await getFile(hub, path, { headers: { 'if-none-match': etag, range: 'bytes=0-1' } });
  assert.equal(both.status, 304, 'before the range is looked at (RFC 9110 section 13.2.2)');
});

test('an address of no file is 404, whatever is written for its number', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const { path } = await attachOne(hub, ada, sourceId, 'a.txt', 'text');
  const [, key = ''] = /^\/attachments\/1-([0-9a-f]{16})\/a\.txt$/.exec(path) ?? [];
  assert.equal((await getFile(hub, `/attachments/1-${key}/a.txt`)).status, 200);

  for (const id of ['0', '2', '-1', '01', '1.0', '9'.repeat(30), '%00', 'x']) {
    const served = await getFile(hub, `/attachments/${id}-${key}/a.txt`);
    assert.equal(served.status, 404, id);
    assert.equal(served.headers.get('cache-control'), 'no-store');
  }
  for (const end of ['', '/1', '/1/', '/1/a/b', '/1/%2e']) {
    const path = `/attachments${end}`;
    assert.equal((await getFile(hub, path)).status, 404, path);
  }
  assert.equal((await getFile(hub, '/attachments/1/a.txt', { method: 'POST' })).status, 405);
});

test('a file’s address without its random part, or with a wrong random part, is 404: nobody can make up an address', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const { path, attachment } = await attachOne(hub, ada, sourceId, 'a.txt', 'text');
  const other = await attachOne(hub, ada, sourceId, 'b.txt', 'other');
  const keyOf = (address: string): string => /-([0-9a-f]{16})\//.exec(address)?.[1] ?? '';
  const key = keyOf(path);
  assert.notEqual(key, keyOf(other.path));

  const wrong = ['', '-', `-${keyOf(other.path)}`, `-${key}0`, `-${key.slice(1)}`, `-${key.toUpperCase()}x`, `-${key}-${key}`, key];
  for (const end of wrong) {
    const served = await getFile(hub, `/attachments/${attachment.id}${end}/a.txt`, { as: ada });
    assert.deepEqual([served.status, served.headers.get('cache-control')], [404, 'no-store'], end);
  }
  assert.equal((await getFile(hub, path)).status, 200);
});

test('a file that is missing or cut off on the disk is 404 and not kept by caches; infected ones are 410', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const lost = await attachOne(hub, ada, sourceId, 'lost.txt', 'lost');
  const bad = await attachOne(hub, ada, sourceId, 'bad.txt', 'bad');
  const cut = await attachOne(hub, ada, sourceId, 'cut.txt', 'cut');
  const place = ({ attachment: { sha256 } }: typeof cut): string =>
    join(hub.dataDir, 'uploads', sha256?.slice(0, 2) ?? '', sha256 ?? '');
  rmSync(place(lost));
  truncateSync(place(cut), 2);
  uploads(hub.handle).setScan(bad.attachment.sha256 ?? '', 'infected');

  for (const [path, status] of [[lost.path, 404], [cut.path, 404], [bad.path, 410]] as const) {
    const served = await getFile(hub, path);
    assert.equal(served.status, status);
    assert.equal(served.headers.get('cache-control'), 'no-store');
    assert.equal(served.headers.get('content-type'), 'application/problem+json');
  }
  assert.equal((await getFile(hub, bad.path, { as: ada })).status, 410, 'for its owner too');
  const known = { 'if-none-match': `"${bad.attachment.sha256}"` };
  assert.equal((await getFile(hub, bad.path, { headers: known })).status, 410, 'also for who has it');
});
