// Protects the reserve of the disk: below it only administrators, signing in and deleting write, and reading goes on.
import assert from 'node:assert/strict';
import { statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hubRoutes } from '../../../src/app/routes.ts';
import { createDisk, reserveOf } from '../../../src/features/hub/disk-space.ts';
import { isDiskLow } from '../../../src/features/hub/disk-reserve.ts';
import { emptyLog } from '../../../src/platform/db/open-database.ts';
import { MINUTE } from '../../../src/platform/clock.ts';
import { addNotes, addPost, sendJson, tokenOf } from '../../support/accounts.ts';
import type { Answer, Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import { hubWith, startHub, type Hub } from '../../support/hub.ts';
import { storedJobs } from '../../support/stored-jobs.ts';
import { addBallast, countRows, rowsOf } from '../../support/stored-rows.ts';
import { standardEvent } from '../../support/signed-events.ts';
import { empty, fill, setRoom } from '../../support/small-room.ts';
import { formOf, sendForm } from '../../support/uploads.ts';
import { makeWebhook, sendEvent } from '../../support/webhooks.ts';

const MiB = 1024 * 1024;

/** Who is no administrator may use these on a full disk; deletions by the API are there without being named. */
const REPAIRS = [
  'POST /api/session', 'POST /sign-in', 'POST /new-password/:token', 'POST /sign-out',
  'POST /settings/sessions', 'POST /settings/tokens/:id/revoke', 'POST /settings/apps/:id/end', 'POST /settings/delete',
  'POST /sources/:id/delete', 'POST /sources/:id/unfollow', 'POST /sources/:id/icon/clear',
  'POST /accounts/ClientLogin', // and what apps read by POST
  ...[
    'preference/list', 'preference/stream/list', 'stream/contents', 'stream/contents/:stream*', 'stream/items/contents',
    'stream/items/count', 'stream/items/ids', 'subscription/export', 'subscription/list', 'tag/list', 'token',
    'unread-count', 'user-info',
  ].map((call) => `POST /reader/api/0/${call}`), 'POST /reader/atom/:stream*',
  'POST /sources/several', // which looks at what is asked for
  'POST /posts/:id/delete', 'POST /attachments/:id/delete', 'POST /drafts/:id/discard',
  'POST /searches/:id/remove', 'POST /settings/rules/:id/delete',
  'POST /history/clear', 'POST /history/:id/forget', 'POST /offers/:id/decline', 'POST /offers/:id/withdraw',
];

/** A hub with an administrator and a member, who has notes with one post. */
async function hubWithMember(t: Parameters<typeof startHub>[0], env: Record<string, string> = {}) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob'], env);
  const sourceId = await addNotes(bob);
  const postId = await addPost(bob, sourceId);
  return { hub, ada, bob, sourceId, postId };
}

function write(client: Client, sourceId: number): Promise<Answer> {
  return client.post('/api/posts', { sourceId, title: 'A post', content: 'Text', contentType: 'text/plain' });
}

function assertNoRoom({ status, text, headers }: Answer): void {
  assert.equal(status, 507, text);
  assert.match(text, /The hub’s disk is full: nothing was stored\. You can still read and delete\./);
  assert.equal(headers.get('retry-after'), null);
}

/** All that is in the database, but for counters. */
function storedIn(hub: Hub): string {
  const tables = ['posts', 'sources', 'follows', 'entries', 'reading_history', 'sessions', 'api_tokens', 'error_events'];
  return JSON.stringify(rowsOf(hub, ...tables));
}

test('64 MiB are kept, 5 % of a small disk, what removing the largest source needs, or what the setting says', () => {
  const kept = (total: number, index = 0, diskReserveBytes: number | null = null): number =>
    reserveOf({ diskReserveBytes }, { total: total * MiB, searchIndex: index * MiB }) / MiB;
  assert.deepEqual([100_000, 1_000, 320, 100, 64, 8].map((total) => kept(total)), [64, 50, 16, 16, 16, 2]);
  assert.deepEqual([[100_000, 10], [100_000, 100], [100_000, 5_000], [64, 10], [64, 40]].map(([total = 0, index]) => kept(total, index)),
    [64, 200, 768, 20, 32]);
  assert.deepEqual([kept(100_000, 100, 0), kept(64, 40, 8 * MiB)], [0, 8]);
});

test('what the disk can take is counted as if the log were empty, and empty pages of the database apart', async (t) => {
  const { db, config, dataDir } = await startHub(t);
  const dropBallast = addBallast({ db }, 4_000_000);
  const free = (): number => createDisk(db, config, () => 0).space().free;
  const [before, { bavail, bsize }] = [free(), statfsSync(dataDir)];
  const [log, file] = [`${config.databasePath}-wal`, config.databasePath].map((path) => statSync(path).size);
  const pages = Number(db.pragma('page_count')) * 4096;
  assert.ok(log !== undefined && log > 0 && file !== undefined && file < pages, 'some pages are in the log alone');
  assert.ok(Math.abs(before - (bavail * bsize + log - (pages - file))) < MiB);
  emptyLog(db);
  assert.ok(Math.abs(free() - before) < 64 * MiB, 'others write to this disk too');

  assert.equal(createDisk(db, config, () => 0).space().emptyPages, 0);
  dropBallast();
  assert.ok(createDisk(db, config, () => 0).space().emptyPages > 3_900_000);
});

test('routes that delete, administer, sign in or out use the reserve, and no others', async (t) => {
  const { handle } = await startHub(t);
  const routes = hubRoutes(handle).filter(({ method }) => method !== 'GET');
  const address = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`;
  for (const route of routes.filter(({ access, method }) => access === 'admin' || method === 'DELETE')) {
    assert.equal(route.usesReserve, address(route) !== 'DELETE /api/posts/:id/read', address(route)); // it adds a mark
  }
  const others = routes.filter(({ access, method }) => access !== 'admin' && method !== 'DELETE');
  assert.deepEqual(others.filter(({ usesReserve }) => usesReserve).map(address).sort(), REPAIRS.toSorted());
});

test('below the reserve every other request of a member is refused with 507, in JSON and on a page', async (t) => {
  const { hub, bob, sourceId, postId } = await hubWithMember(t);
  fill(hub);
  const before = storedIn(hub);
  const refused = hubRoutes(hub.handle).filter(({ method, access, usesReserve, path }) =>
    method !== 'GET' && access === 'member' && !usesReserve && path.startsWith('/api/'));
  assert.ok(refused.length > 12, `${refused.length} routes`);
  for (const { method, path } of refused) {
    const id = path.includes('posts') ? postId : sourceId;
    assertNoRoom(await sendJson(bob, method, path.replace(/:\w+/, String(id)), {}));
  }
  const page = await bob.form('/write', { title: 'A post', content: 'Text', source: String(sourceId) });
  assertNoRoom(page);
  assert.match(page.text, /<h1>Insufficient Storage<\/h1>/);
  assertNoRoom(await hub.anybody.post('/api/accounts', {}));
  assertNoRoom(await bob.form('/sources/several', { act: 'pause', source: String(sourceId) }));
  assert.equal(storedIn(hub), before);
  assert.deepEqual(hub.logged().filter(({ event }) => event === 'request failed'), [], 'that is no fault of the hub');

  empty(hub);
  assert.equal((await write(bob, sourceId)).status, 201);
});

test('below the reserve an upload is refused, an administrator’s too, before a byte of it is written', async (t) => {
  const { hub, ada, bob, sourceId, postId } = await hubWithMember(t);
  fill(hub);
  const form = () => formOf({}, [{ filename: 'a.txt', data: 'a' }]);
  assert.equal((await sendForm(hub, bob, `/api/posts/${postId}/attachments`, form())).status, 507);
  const own = await addPost(ada, await addNotes(ada));
  const refused = await sendForm(hub, ada, `/api/posts/${own}/attachments`, form());
  assert.deepEqual([refused.status, /no space left on the hub’s disk for this file/.test(refused.text)], [507, true]);
  assert.equal(countRows(hub, 'uploads'), 0);
  assert.equal((await bob.delete(`/api/sources/${sourceId}`)).status, 204);
});

test('a webhook gets 507 below the reserve, and its event is taken afterwards', async (t) => {
  const { hub, bob } = await hubWithMember(t);
  const { id, secret } = await makeWebhook(bob);
  const send = () => sendEvent(hub.address, id, standardEvent(secret, { timestamp: Math.floor(hub.now() / 1_000) }));
  fill(hub);
  assert.equal((await send()).status, 507);
  assert.equal(countRows(hub, 'webhook_events'), 0);
  empty(hub);
  assert.equal((await send()).status, 400, 'it is no event, but is looked at again');
});

test('below the reserve members sign in, read and delete; what they read stays unread, and no use is noted', async (t) => {
  const { hub, ada, bob, sourceId, postId } = await hubWithMember(t);
  await ada.send('PUT', `/api/sources/${sourceId}/follow`);
  const later = await addPost(bob, sourceId, 'Later');
  const { token } = await tokenOf(hub, ada);
  fill(hub);
  hub.passTime(60 * MINUTE);
  const before = storedIn(hub);
  const unread = async () => (await ada.get('/api/reading')).json()['unread'];
  assert.deepEqual([await unread(), (await ada.page(`/posts/${later}`)).status, await unread()], [2, 200, 2]);
  assert.equal((await hub.anybody.get('/api/account', { authorization: `Bearer ${token}` })).status, 200);
  assert.equal(storedIn(hub), before);

  const again = await hub.anybody.post('/api/session', { username: 'bob', password: hub.password });
  assert.equal(again.status, 200, again.text);
  assert.equal((await bob.delete(`/api/posts/${postId}`)).status, 204);
  assert.equal((await bob.form('/sources/several', { act: 'delete', sure: '1', source: String(sourceId) })).status, 303);

  empty(hub);
  assert.equal((await ada.page('/')).status, 200);
  assert.notEqual(storedIn(hub), before);
});

test('administrators may use a third of the reserve for anything, and the rest to administer and to delete', async (t) => {
  const { hub, ada, bob } = await hubWithMember(t);
  const own = await addNotes(ada);
  setRoom(hub, 43);
  assert.equal((await write(ada, own)).status, 201);
  setRoom(hub, 42);
  assertNoRoom(await write(ada, own));
  assert.equal((await sendJson(ada, 'PATCH', '/api/admin/accounts/2', { disabled: true, currentPassword: hub.password })).status, 200);
  assert.equal((await bob.get('/api/account')).status, 401);
  assert.equal((await ada.delete(`/api/sources/${own}`)).status, 204);
});

test('empty pages of the database are room for rows, for no files, and for nothing where the log has none', async (t) => {
  const { hub, bob, sourceId, postId } = await hubWithMember(t);
  setRoom(hub, 60, 30);
  assert.equal((await write(bob, sourceId)).status, 201);
  const form = formOf({}, [{ filename: 'a.txt', data: 'a' }]);
  assert.equal((await sendForm(hub, bob, `/api/posts/${postId}/attachments`, form)).status, 507);
  setRoom(hub, 21, 200);
  assertNoRoom(await write(bob, sourceId));
});

test('the disk counts as full until a tenth more than the reserve is there, in each process of the hub', async (t) => {
  const { hub, bob, sourceId } = await hubWithMember(t);
  const worker = { ...hub.handle, program: 'worker' as const };
  const seen: unknown[] = [];
  for (const free of [65, 63, 65, 70, 71, 65]) {
    setRoom(hub, free);
    const { status } = await write(bob, sourceId);
    const health = (await hub.anybody.get('/api/health')).json();
    seen.push([free, status, isDiskLow({ ...worker, disk: hub.handle.disk }), health['degraded'], health['ok']]);
  }
  const [no, yes] = [[201, false, [], true], [507, true, ['disk'], true]];
  assert.deepEqual(seen, [[65, ...no], [63, ...yes], [65, ...yes], [70, ...yes], [71, ...no], [65, ...no]]);
});

test('hubctl sees that the disk is full, and changes nothing by looking', async (t) => {
  const { hub } = await hubWithMember(t);
  const hubctl = { ...hub.handle, program: 'hubctl' as const };
  const note = join(hub.dataDir, 'run/disk-low');
  fill(hub);
  assert.equal(isDiskLow({ ...hubctl, disk: hub.handle.disk }), true);
  assert.equal(statSync(note, { throwIfNoEntry: false }), undefined);
  writeFileSync(note, '');
  empty(hub);
  assert.equal(isDiskLow({ ...hubctl, disk: hub.handle.disk }), false);
  assert.ok(statSync(note));
});

test('syncs wait below the reserve without using up attempts, removing goes on, and then they are made', async (t) => {
  const { hub, ada, id, origin } = await followedFeed(t);
  const gone = await addNotes(ada, 'Gone');
  fill(hub);
  hub.passTime(24 * 60 * MINUTE);
  const asked = origin.requests.length;
  assert.equal((await ada.post(`/api/sources/${id}/sync`)).status, 202);
  assert.equal((await ada.delete(`/api/sources/${gone}`)).status, 204);
  for (let n = 0; n < 5; n++) await hub.work();
  assert.equal(origin.requests.length, asked, 'nothing is fetched');
  const waiting = storedJobs(hub, 'sync-source').filter(({ state }) => state === 'queued');
  assert.deepEqual(waiting.map(({ attempts }) => attempts), [0]);
  assert.equal(countRows(hub, 'sources'), 1, 'the other one is removed');

  empty(hub);
  await hub.work();
  assert.equal(origin.requests.length, asked + 1);
  assert.ok(storedJobs(hub, 'sync-source').every(({ state }) => state === 'done'));
});

test('a sync that finds the disk full when it has fetched stores nothing, and comes back later as if it had not run', async (t) => {
  const { hub, feed, ada, id } = await followedFeed(t);
  const serve = serving(() => rss('Owls', [{ guid: 'a' }, { guid: 'b' }]));
  feed.handler = (request, response) => {
    fill(hub);
    serve(request, response);
  };
  assert.equal((await ada.post(`/api/sources/${id}/sync`)).status, 202);
  await hub.work();
  const job = storedJobs(hub, 'sync-source').at(-1);
  assert.deepEqual([job?.state, job?.attempts, job?.runAt], ['queued', 0, hub.now() + 5 * MINUTE]);
  assert.equal(countRows(hub, 'posts'), 1);

  feed.handler = serve;
  empty(hub);
  await hub.work(5 * MINUTE);
  assert.equal(countRows(hub, 'posts'), 2);
});
