// Protects synchronisation of feeds that are long, cut off, moved, renumbered or that take entries back.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { syncState } from '../../../src/features/sources/sync-state-store.ts';
import { DAY } from '../../../src/platform/clock.ts';
import { addFeed, publicTitles } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { reply, startOrigin, type OriginHandler } from '../../support/origin.ts';
import { makeSelfSigned } from '../../support/self-signed.ts';

type Shown = { id: number; title: string };
type SourceShown = { state: string; stateReason: string | null };

/** A followed feed whose answer the test changes, and what the hub shows of it. */
async function followed(t: TestContext, document: string, headers: Record<string, string> = {}) {
  const hub = await startHub(t);
  const handler = serving(() => feed.document, headers);
  const feed: { document: string; handler: OriginHandler } = { document, handler };
  const origin = await startOrigin(t, (request, response) => feed.handler(request, response));
  const ada = await hub.person('ada');
  const id = await addFeed(ada, `${origin.url}/feed`);
  await hub.work(); // what adding has left to the worker
  const source = async (): Promise<SourceShown> => (await ada.get(`/api/sources/${id}`)).json();
  return { hub, feed, origin, ada, id, source };
}

/** What was published since is read by the worker a day later. */
async function sync(hub: Hub): Promise<void> {
  hub.passTime(DAY);
  assert.ok(await hub.countJobs('sync-source') > 0);
}

async function shown({ anybody }: { anybody: Client }): Promise<Shown[]> {
  return (await anybody.get('/api/posts?limit=100')).json<{ items: Shown[] }>().items;
}

async function titles(hub: Hub): Promise<string[]> {
  return (await publicTitles(hub)).toSorted();
}

async function feedIds(hub: Hub): Promise<string[]> {
  const { items } = (await hub.anybody.get('/posts.json')).json<{ items: { id: string }[] }>();
  return items.map(({ id }) => id);
}

const at = (day: number): string => new Date(Date.UTC(2029, 11, day)).toUTCString();

test('a feed that was cut off gives what is there, its owner is told, and it is read whole as soon as it can be', async (t) => {
  const whole = rss('Owls', [{ guid: 'a' }, { guid: 'b' }, { guid: 'c' }, { guid: 'd' }]);
  const untilC = whole.slice(0, whole.indexOf('<guid isPermaLink="false">c') + 27);
  const { hub, feed, origin, source } = await followed(t, untilC, { etag: '"1"' });
  assert.deepEqual(await titles(hub), ['Post a', 'Post b'], 'the id of c was cut');
  const { state, stateReason } = await source();
  assert.equal(state, 'active');
  assert.match(stateReason ?? '', /cut off.* 2 posts/);

  feed.document = whole.slice(0, whole.indexOf('Text of d'));
  await sync(hub);
  assert.equal(origin.requests.at(-1)?.headers['if-none-match'], undefined, 'nobody says 304 to a part');
  assert.deepEqual(await titles(hub), ['Post a', 'Post b', 'Post c', 'Post d'], 'd has its id and what came of it');
  feed.document = whole;
  await sync(hub);
  assert.equal((await source()).stateReason, null);
  assert.equal((await shown(hub)).length, 4);
});

test('a permanent move to an address that answers 304 is stored', async (t) => {
  const { hub, feed, origin, id } = await followed(t, rss('Owls', [{ guid: 'a' }]), { etag: '"1"' });
  await sync(hub);
  feed.handler = (request, response) =>
    (request.path === '/feed' ? reply(301, { location: '/new' }) : reply(304, {}))(request, response);
  await sync(hub);

  assert.equal(syncState(hub.handle).find(id)?.url, `${origin.url}/new`);
  assert.equal(syncState(hub.handle).find(id)?.etag, '"1"');
});

test('a permanent move from https to http is followed each time and never stored', async (t) => {
  const tls = makeSelfSigned('127.0.0.1');
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, tls.cert]);
  t.after(() => setDefaultCACertificates(before));
  const hub = await startHub(t);
  const plain = await startOrigin(t, serving(() => rss('Owls', [{ guid: 'a', title: 'Owl' }])));
  let answer: OriginHandler = serving(() => rss('Owls', []));
  const secure = await startOrigin(t, (request, response) => answer(request, response), { tls });
  const id = await addFeed(await hub.person('ada'), `${secure.url}/feed`);
  answer = reply(301, { location: `${plain.url}/feed` });

  for (const syncs of [1, 2]) {
    await sync(hub);
    assert.equal(syncState(hub.handle).find(id)?.url, `${secure.url}/feed`);
    assert.equal(plain.requests.length, syncs);
  }
  assert.deepEqual(await publicTitles(hub), ['Owl']);
});

test('a publisher that changes all ids does not double its posts, and readers elsewhere do not see them again', async (t) => {
  const item = (guid: string, name: string, day: number, content = 'x'): Item =>
    ({ guid, title: name, link: `https://blog.test/${name}`, date: at(day), content });
  const { hub, feed } = await followed(t, rss('Owls', [item('2', 'two', 2), item('1', 'one', 1)]));
  const [before, ids] = [await shown(hub), await feedIds(hub)];
  feed.document = rss('Owls', [item('n3', 'three', 3), item('n2', 'two', 2, 'corrected'), item('n1', 'one', 1)]);
  await sync(hub);

  assert.deepEqual((await shown(hub)).slice(1).map(({ id }) => id), before.map(({ id }) => id));
  assert.deepEqual(await titles(hub), ['one', 'three', 'two']);
  assert.equal((await feedIds(hub)).filter((id) => ids.includes(id)).length, 2);
  feed.document = rss('Owls', [item('n3', 'three', 3), item('n2', 'two again', 2), item('n1', 'one', 1)]);
  await sync(hub);
  assert.deepEqual(await titles(hub), ['one', 'three', 'two again'], 'the new id is the post’s from then on');
});

test('an entry that its feed declares deleted goes, and only from the feed that brought it', async (t) => {
  const entry = (id: string, updated: string): string => `<entry><id>${id}</id><title>${id}</title>
    <updated>${updated}</updated></entry>`;
  const atom = (inner: string): string => `<feed xmlns="http://www.w3.org/2005/Atom"
    xmlns:at="http://purl.org/atompub/tombstones/1.0"><title>T</title>${inner}</feed>`;
  const deleted = (id: string, when: string): string => `<at:deleted-entry ref="${id}" when="${when}"/>`;
  const old = '2029-01-01T00:00:00Z';
  const { hub, feed, origin, ada } = await followed(t, atom(entry('a', old) + entry('b', old) + entry('c', old)));
  await ada.post('/api/sources', { kind: 'feed', url: `${origin.url}/other` });
  await hub.work();
  const takenBack = deleted('a', '2029-02-01T00:00:00Z') + entry('b', old) + deleted('b', '2028-02-01T00:00:00Z')
    + entry('c', old) + deleted('c', old) + deleted('d', old);
  feed.handler = (request, response) =>
    serving(() => atom(request.path === '/other' ? entry('a', old) : takenBack))(request, response);
  await sync(hub);

  assert.deepEqual(await titles(hub), ['a', 'b', 'b', 'c'], 'those of the other feed, and b, which was changed later');
  feed.handler = serving(() => atom(entry('a', '2029-03-01T00:00:00Z') + deleted('a', '2029-02-01T00:00:00Z')));
  await sync(hub);
  assert.equal((await titles(hub)).filter((title) => title === 'a').length, 2, 'it was published again');
});
