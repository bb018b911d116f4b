// Protects sources: who sees, changes, pauses, hides and deletes them, and what goes along.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { auditRecords } from '../../../src/features/audit/audit-store.ts';
import { counts, jobs } from '../../../src/features/hub/hub.ts';
import { addFeed, addNotes, itemsAt, pointersOf } from '../../support/accounts.ts';
import type { Answer, Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith, startHub, type Hub } from '../../support/hub.ts';
import { storedJobs } from '../../support/stored-jobs.ts';
import { countRows } from '../../support/stored-rows.ts';
import { reply, startOrigin } from '../../support/origin.ts';

type Source = {
  id: number;
  kind: string;
  title: string;
  visibility: string;
  owner: { id: number; displayName: string };
  paused: boolean;
  url?: string;
};
type SourceList = { items: Source[]; next: string | null };

/** A hub with an administrator, an owner with one feed of one post, and somebody else. */
async function hubWithPeople(t: TestContext, visibility = 'public') {
  const hub = await startHub(t);
  const origin = await startOrigin(
    t, { '/feed?key=s3cret': serving(() => rss('Owls', [{ guid: 'a', title: 'Hidden words' }])) },
  );
  const [admin, owner, other] = [await hub.person('admin'), await hub.person('owner'), await hub.person('other')];
  const source = { id: await addFeed(owner, `${origin.url}/feed?key=s3cret`, { visibility }) };
  return { hub, origin, admin, owner, other, source };
}

function publicPosts({ handle }: Hub): number {
  return counts(handle).value('public_posts');
}

test('a source shows everybody what it is, and its owner also its address and how its synchronisation goes', async (t) => {
  const { hub, admin, owner, other, origin, source } = await hubWithPeople(t);
  const shown = {
    id: source.id, kind: 'feed', title: 'Owls', visibility: 'public', owner: { id: 2, displayName: 'owner' },
    siteUrl: 'https://blog.test/', description: 'About',
    state: 'active', paused: false, iconUrl: null, lastSyncAt: '2030-01-15T12:00:00.000Z', lastSuccessAt: '2030-01-15T12:00:00.000Z',
    createdAt: '2030-01-15T12:00:00.000Z', updatedAt: '2030-01-15T12:00:00.000Z',
  };

  for (const [client, seen] of [[hub.anybody, shown], [other, { ...shown, followed: false }]] as const) {
    const answer = await client.get(`/api/sources/${source.id}`);
    assert.deepEqual(answer.json(), seen);
    assert.doesNotMatch((await client.get('/api/sources')).text, /s3cret/);
    assert.doesNotMatch((await client.page(`/sources/${source.id}`)).text, /s3cret/);
    assert.doesNotMatch((await client.page('/sources')).text, /s3cret/);
  }
  for (const client of [owner, admin]) {
    const seen = (await client.get(`/api/sources/${source.id}`)).json();
    assert.equal(seen['url'], `${origin.url}/feed?key=s3cret`);
    assert.equal(typeof seen['nextSyncAt'], 'string');
    assert.equal(seen['stateReason'], null);
  }
});

test('adding a source answers 201 with its place', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);

  const added = await ada.post('/api/sources', { kind: 'native', title: '  My notes ', visibility: 'private' });
  assert.equal(added.status, 201);
  const source = added.json<Source>();
  assert.deepEqual([source.kind, source.title, source.visibility], ['native', 'My notes', 'private']);
  assert.equal(added.headers.get('location'), `${hub.config.baseUrl}/api/sources/${source.id}`);
  assert.deepEqual((await ada.get(`/api/sources/${source.id}`)).json(), added.json());
});

test('a feed that cannot be read is refused with the reason, and nothing of it is kept', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, { '/text': reply(200, { 'content-type': 'text/plain' }, 'hello') });

  for (const path of ['/text', '/missing']) {
    const answer = await ada.post('/api/sources', { kind: 'feed', url: origin.url + path });
    assert.equal(answer.status, 422, path);
    assert.deepEqual(pointersOf(answer), ['/url']);
    assert.doesNotMatch(answer.text, /\bat \S+:\d+:\d+|\.ts\b/); // no line of a stack
  }
  const url = 'http://10.0.0.1/feed';
  assert.equal((await ada.post('/api/sources', { kind: 'feed', url })).status, 422, 'a private address');
  assert.equal(countRows(hub, 'sources'), 0);
});

test('owner and administrators change and delete a source, nobody else does', async (t) => {
  const { hub, admin, owner, other, source } = await hubWithPeople(t);
  const path = `/api/sources/${source.id}`;

  for (const [client, status] of [[hub.anybody, 401], [other, 403]] as const) {
    assert.equal((await client.patch(path, { title: 'Mine' })).status, status);
    assert.equal((await client.delete(path)).status, status);
    assert.equal((await client.post(`${path}/sync`)).status, status);
    assert.equal((await client.form(`/sources/${source.id}`, { title: 'Mine' })).status, status);
  }
  assert.equal((await other.page(`/sources/${source.id}/delete`)).status, 403);
  assert.equal((await owner.get(path)).json<Source>().title, 'Owls');
  assert.equal((await owner.patch(path, { title: 'By its owner' })).json<Source>().title, 'By its owner');
  const changed = await admin.patch(path, { title: 'By the administrator', paused: true });
  assert.deepEqual(
    [changed.json<Source>().title, changed.json<Source>().paused, changed.json<Source>().owner.id],
    ['By the administrator', true, 2],
  );
  assert.equal((await admin.delete(path)).status, 204);
  assert.equal((await owner.get(path)).status, 404);
});

test('changes are recorded with what became of the source, once and only when there is one', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const id = await addNotes(ada, 'Notes');
  const change = (values: object) => ada.patch(`/api/sources/${id}`, values);
  await change({ title: 'Diary', visibility: 'private' });
  await change({ title: 'Diary', visibility: 'private', paused: false });
  await change({ paused: true });
  await change({ paused: false });
  await ada.delete(`/api/sources/${id}`);

  const acts = auditRecords(hub.handle).list({ targetKind: 'source' }, undefined, 10).reverse();
  assert.deepEqual(acts.map(({ act, targetName }) => `${act} ${targetName}`), [
    'source.created Notes', 'source.renamed Notes', 'source.visibility-changed Notes', 'source.paused Diary',
    'source.resumed Diary', 'source.deleted Diary',
  ]);
  assert.ok(acts.every((record) => record.actorName === 'ada'));
});

test('a private source and its posts exist for nobody but its owner and administrators, wherever one looks', async (t) => {
  const { hub, admin, owner, other, source } = await hubWithPeople(t, 'private');
  const hidden = [
    `/api/sources/${source.id}`, `/api/posts?source=${source.id}`, '/api/posts/1', `/sources/${source.id}.atom`,
    `/sources/${source.id}.json`, `/sources/${source.id}`, '/posts/1',
  ];
  const lists = [
    '/api/sources', '/api/posts', '/api/posts?q=hidden', '/posts.atom', '/posts.json', '/', '/?q=hidden', '/sources',
  ];

  /** As it reads: a search marks what it has found. */
  const read = async (client: Client, path: string) => (await client.get(path)).text.replace(/<\/?mark>/g, '');

  for (const client of [hub.anybody, other]) {
    for (const path of hidden) assert.equal((await client.get(path)).status, 404, path);
    for (const path of lists) assert.doesNotMatch(await read(client, path), /Hidden words|Owls/, path);
  }
  for (const path of lists.filter((list) => !list.startsWith('/posts.'))) {
    assert.match(await read(owner, path), /Hidden words|Owls/, path);
  }
  for (const path of hidden) assert.equal((await owner.get(path)).status, 200, path);
  for (const path of hidden) assert.equal((await admin.get(path)).status, 200, path);
  for (const path of ['/posts.atom', '/posts.json']) {
    assert.doesNotMatch((await owner.get(path)).text, /Hidden words/, 'output feeds of the hub hold what is public');
  }
});

test('making a source private takes its posts away at once, and back; the number of public posts follows', async (t) => {
  const { hub, owner, source } = await hubWithPeople(t);
  const visible = async () => (await hub.anybody.get('/api/posts')).json<{ items: unknown[] }>().items.length;
  assert.deepEqual([await visible(), publicPosts(hub)], [1, 1]);

  for (const visibility of ['private', 'public', 'private'] as const) {
    await owner.patch(`/api/sources/${source.id}`, { visibility });
    const expected = visibility === 'public' ? 1 : 0;
    assert.deepEqual([await visible(), publicPosts(hub)], [expected, expected], visibility);
    assert.equal((await owner.get('/api/posts/1')).json()['visibility'], visibility);
    assert.equal((await hub.anybody.get('/api/posts/1')).status, expected === 1 ? 200 : 404);
  }
  await owner.delete(`/api/sources/${source.id}`);
  assert.equal(publicPosts(hub), 0);
});

test('deleting a source takes its posts, attachments and words along', async (t) => {
  const hub = await startHub(t);
  const extra = '<enclosure url="https://cdn.test/a.mp3" type="audio/mpeg"/>';
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls', [{ guid: 'a', extra }, { guid: 'b' }])) });
  const ada = await hub.person('ada');
  const id = await addFeed(ada, `${origin.url}/feed`);
  assert.equal((await ada.delete('/api/posts/1')).status, 204);
  const tables = ['posts', 'attachments', 'posts_words', 'post_tombstones', 'feeds'];
  assert.deepEqual(tables.map((table) => countRows(hub, table)), [1, 1, 1, 1, 1]);

  assert.equal((await ada.delete(`/api/sources/${id}`)).status, 204);
  assert.deepEqual(tables.map((table) => countRows(hub, table)), [0, 0, 0, 0, 0]);
});

test('a removal that is done once more, as after a crash, finds nothing to do', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const gone = await addNotes(ada, 'Gone');
  await ada.delete(`/api/sources/${gone}`);
  const next = await addNotes(ada, 'Next');
  assert.ok(next > gone, 'an id is never given again');

  jobs(hub.handle).enqueue({ kind: 'remove-source', payload: { sourceId: gone } });
  await hub.work();
  assert.equal((await ada.get(`/api/sources/${next}`)).status, 200);
  assert.deepEqual(storedJobs(hub, 'remove-source').map(({ state }) => state), ['done']);
});

test('sources are listed page by page, each once, while others come and go', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  for (let n = 0; n < 23; n++) await addNotes(n % 3 === 0 ? bob : ada, `S${n}`, n % 5 === 0 ? 'private' : 'public');
  const seen: Source[] = [];
  let path: string | undefined = '/api/sources?limit=4';
  while (path !== undefined) {
    const answer: Answer = await hub.anybody.get(path);
    const { items, next } = answer.json<SourceList>();
    seen.push(...items);
    path = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
    assert.equal(path === undefined, next === null);
    if (seen.length === 8) await ada.delete(`/api/sources/${seen[0]?.id}`);
    if (seen.length === 12) await addNotes(ada, 'late');
    assert.ok(seen.length < 40);
  }

  const expected = Array.from({ length: 23 }, (_, n) => n).filter((n) => n % 5 !== 0).map((n) => `S${n}`);
  assert.deepEqual(seen.map(({ title }) => title), [...expected, 'late']);
  const ofBob = await itemsAt<Source>(bob, '/api/sources?limit=100');
  const own = ofBob.filter(({ visibility }) => visibility === 'private');
  assert.deepEqual(own.map(({ title }) => title), ['S0', 'S15'], 'bob sees his own private ones and no others');
});

test('only feeds are synchronised, and only while they are not paused', async (t) => {
  const { hub, owner, source } = await hubWithPeople(t);
  const notes = await addNotes(owner, 'Notes');

  assert.equal((await owner.post(`/api/sources/${notes}/sync`)).status, 409);
  await owner.patch(`/api/sources/${source.id}`, { paused: true });
  assert.equal((await owner.post(`/api/sources/${source.id}/sync`)).status, 409);
  await owner.patch(`/api/sources/${source.id}`, { paused: false });
  const first = await owner.post(`/api/sources/${source.id}/sync`);
  assert.equal(first.status, 202);
  assert.equal(first.json<Source>().id, source.id);
  await owner.post(`/api/sources/${source.id}/sync`);
  assert.equal(await hub.countJobs('sync-source'), 1, 'one job however often it was asked for');
});
