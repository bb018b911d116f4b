// Protects the hub's name, front-page text and accent: set by administrators alone, seen by everybody at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubLook } from '../../../src/features/hub/hub-row-store.ts';
import { readSaid, saying } from '../../../src/features/hub/said.ts';
import { itemsAt } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { SOURCES } from '../../support/source-tree.ts';

const LOOK = { name: 'Quayside', text: 'Boats & ice', hue: 25 };

/** The address of the stylesheet on the page that visitors see. */
async function stylesheetOf(client: Client): Promise<string> {
  return /<link rel="stylesheet" href="([^"]+)"/.exec((await client.page('/')).text)?.[1] ?? '';
}

test('what an administrator chooses is on every page, in the manifest, the feeds and the audit', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const before = await hub.anybody.page('/');
  assert.match(before.text, /<title>Newest posts · Content Hub<\/title>/);
  const old = await stylesheetOf(hub.anybody);

  const changed = await ada.patch('/api/admin/hub', LOOK);

  assert.deepEqual([changed.status, changed.json()], [200, LOOK]);
  const page = await hub.anybody.page('/');
  assert.match(page.text, /<h1 dir="auto">Quayside<\/h1>[^]*Boats &amp; ice/, 'although the page before was kept');
  const now = await stylesheetOf(hub.anybody);
  assert.notEqual(now, old);
  const css = await hub.anybody.get(now);
  assert.match(css.text, /:root \{ --hue: 25; \}\n$/);
  assert.match(css.headers.get('cache-control') ?? '', /immutable/);
  const late = await hub.anybody.get(old);
  assert.equal(late.text, css.text, 'a page from before gets the stylesheet of now');
  assert.doesNotMatch(late.headers.get('cache-control') ?? '', /immutable/);
  const manifest = (await hub.anybody.get('/manifest.webmanifest')).json<{ name: string; icons: { src: string }[] }>();
  assert.equal(manifest.name, 'Quayside');
  for (const { src } of manifest.icons) {
    assert.equal((await hub.anybody.get(src)).headers.get('content-type'), 'image/png', src);
  }
  assert.equal((await hub.anybody.get('/posts.json')).json()['title'], 'Quayside');
  const [record] = await itemsAt<{ act: string; detail: object }>(ada, '/api/admin/audit?act=hub.changed');
  assert.deepEqual(record?.detail, { name: 'Quayside', hue: 25 });
});

test('a text as long as its form allows is taken, though browsers send two characters for each line end', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const text = `${'x\n'.repeat(249)}xy`;
  const look = { name: 'Quayside', text: text.replaceAll('\n', '\r\n'), hue: '25' };
  assert.match((await ada.form('/admin/hub', look)).headers.get('location') ?? '', /said=look-saved/);
  assert.equal(hubLook(hub.handle).read().text, text);
});

test('what another process has changed is seen with the next page', async (t) => {
  const hub = await startHub(t);
  const old = await stylesheetOf(hub.anybody);

  hubLook(hub.handle).change({ ...LOOK, hue: 140 });
  await new Promise(setImmediate);

  assert.notEqual(await stylesheetOf(hub.anybody), old);
  assert.match((await hub.anybody.page('/')).text, /Quayside/);
});

test('a page says only what the list of such words has, with a number and what takes it back', () => {
  assert.equal(saying('/unread?show=all#list', 'posts-marked', { count: 3, undo: 7 }),
    '/unread?show=all&said=posts-marked&count=3&undo=7#list');
  assert.deepEqual(readSaid('/unread?show=all&said=posts-marked&count=3&undo=7'),
    { text: '3 posts marked as read.', undo: 7, page: '/unread?show=all' });
  assert.equal(saying('/settings?said=name-saved', 'undone'), '/settings?said=undone');
  for (const target of ['/', '/?said=', '/?said=Send+money+to+me', '/?said=constructor']) {
    assert.equal(readSaid(target), undefined, target);
  }
  assert.equal(readSaid('/?said=undone&undo=x%22')?.undo, null);
});

test('no address with a message is written by hand: saying takes known words only', () => {
  assert.ok(SOURCES.some(({ code }) => code.includes('saying(')));
  assert.deepEqual(SOURCES.filter(({ code }) => /[?&]said=/.test(code)).map(({ name }) => name), []);
});
