// Protects readers from posts that come again, unread, after a change of their publisher, as public reports tell of it.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { formerHosts } from '../../../src/features/posts/moved-posts.ts';
import { DAY, MINUTE } from '../../../src/platform/clock.ts';
import { addFeed, itemsAt } from '../../support/accounts.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import { hubWith } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { reported, skipReports } from '../../support/public-reports.ts';
import { doublePosts } from '../../support/stored-posts.ts';

/** What was changed, the number of posts then, and the titles of those that are unread then. */
type Case = [change: string, posts: number, unread: string[]];

const CASES: Record<string, Case> = {
  U01: ['FreshRSS#5151: one of two ids changes http to https, its link too', 2, []],
  U02: ['FreshRSS#5151: all ids change http to https', 2, []],
  U03: ['NetNewsWire#3835: id and link of one post get another host', 2, []],
  U05: ['NetNewsWire#3286: a slug is corrected, in id and link', 2, []],
  U06: ['feedbin#198: the title counts the comments', 1, []],
  U07: ['feedbin#416: the description changes, without an id', 1, []],
  U08: ['feedbin#416: the link gets tracking parameters, without an id', 1, []],
  U09: ['the text is corrected, without id and link', 1, []],
  U10: ['commafeed#225: another redirecting link, without an id', 1, []],
  U11: ['brief#428: another post comes with the same id', 2, ['Second']],
  U12: ['the id has a session in it', 1, []],
  U14: ['FreshRSS#5909: the id becomes the link', 2, []],
  U15: ['the date moves with each fetch', 1, []],
  U16: ['another domain, ids with ?p=', 2, []],
  U17: ['all ids new, dates gone', 2, []],
  U18: ['liferea#1195: the feed is empty once', 2, []],
  U19: ['Atom in the place of RSS', 1, []],
  U20: ['an id in CDATA', 1, []],
  U21: ['FreshRSS#5151: all ids and links get www.', 2, []],
  U22: ['all ids and links get a slash at their end', 2, []],
  U23: ['all ids change their scheme, links stay', 2, []],
  U26: ['ids of Atom change http to https', 1, []],
  U27: ['another domain with the same paths', 2, []],
  U29: ['ids change, and one title', 2, []],
};

const item = (guid: string, title: string, link: string, date?: string, content = 'x'): Item =>
  ({ guid, title, link, content, ...(date && { date }) });
const [NOON, MIDNIGHT] = ['Sat, 14 Mar 2026 12:00:00 GMT', 'Sat, 14 Mar 2026 00:00:00 GMT'];

/** The same kinds in other forms: the items before and after. */
const OTHERS: Record<string, [before: Item[], after: Item[], posts: number]> = {
  'http, www. and no slash at once, without titles and dates': [
    [item('http://www.b.example/a', '', 'http://www.b.example/a')],
    [item('https://b.example/a/', '', 'https://b.example/a/')], 1],
  'a move to https, and the title was edited': [
    [item('http://b.example/a', 'One', 'http://b.example/a', NOON)],
    [item('https://b.example/a', 'One!', 'https://b.example/a', NOON)], 1],
  'a move to another domain with dates alone, the paths stay': [
    [item('https://old.example/a', 'One', 'https://old.example/a', MIDNIGHT)],
    [item('https://new.example/a', 'One', 'https://new.example/a', MIDNIGHT)], 1],
  'new ids, and times that lost their seconds': [
    [item('1', 'One', 'https://b.example/a', 'Sat, 14 Mar 2026 12:00:45 GMT')],
    [item('2', 'One', 'https://b.example/a', NOON)], 1],
  'a new post has an old one’s title and time, which is in the feed still': [
    [item('1', 'Photo', 'https://b.example/1', NOON)],
    [item('2', 'Photo', 'https://b.example/2', NOON), item('1', 'Photo', 'https://b.example/1', NOON)], 2],
  'two posts come in the place of one with their title and time': [
    [item('1', 'Photo', 'https://b.example/1', NOON)],
    [item('2', 'Photo', 'https://b.example/2', NOON), item('3', 'Photo', 'https://b.example/3', NOON)], 3],
  'a moved post comes with another that has its title and time': [
    [item('1', 'Photo', 'https://b.example/1', NOON)],
    [item('2', 'Photo', 'https://b.example/2', NOON), item('3', 'Photo', 'http://b.example/1/', NOON)], 2],
  // These stay two posts on purpose: nothing tells that they are one.
  'a move to another domain, without dates': [
    [item('https://old.example/a', 'One', 'https://old.example/a')],
    [item('https://new.example/a', 'One', 'https://new.example/a')], 2],
  'a post of the same day has the same title': [
    [item('1', 'Links', 'https://b.example/1', MIDNIGHT)], [item('2', 'Links', 'https://b.example/2', MIDNIGHT)], 2],
  'a post of the same day has the same title, and dates are midnights of a zone': [
    ['1', '3', '4', '5'].map((id, n) => item(id, n === 0 ? 'Waiter' : id, `https://c.example/${id}`, `${10 + n} Aug 2026 00:00:00 +0200`)),
    [item('2', 'Waiter', 'https://c.example/2', '10 Aug 2026 00:00:00 +0200')], 5],
  'two posts before were alike': [
    [item('1', 'Photo', 'https://b.example/', NOON), item('2', 'Photo', 'https://b.example/', NOON)],
    [item('3', 'Photo', 'https://b.example/', NOON)], 3],
  'a post of the same day has the same link': [
    [item('1', 'Version 1', 'https://b.example/log', MIDNIGHT)],
    [item('2', 'Version 2', 'https://b.example/log', MIDNIGHT)], 2],
  'a later post has the same link and title': [
    [item('1', 'Open thread', 'https://b.example/thread', 'Sat, 07 Mar 2026 12:00:00 GMT')],
    [item('2', 'Open thread', 'https://b.example/thread', 'Mon, 01 Feb 2032 12:00:00 GMT')], 2],
  'the next post has the same link and title, none has a date': [
    [item('1', 'Deal of the day', 'https://b.example/deal')],
    [item('2', 'Deal of the day', 'https://b.example/deal', undefined, 'y')], 2],
  'links differ after the #': [
    [item('1', 'Version 1', 'https://b.example/log#1', NOON)],
    [item('2', 'Version 2', 'https://b.example/log#2', NOON)], 2],
};

type Shown = { id: number; title: string };

type Feed = { name: string; posts: number; unread: string[]; documents: [first: string, second: string, third: string] };

/** Follows the feeds, marks all as read, and reads their second and third documents. */
async function followAll(t: TestContext, feeds: Feed[]): Promise<void> {
  const { hub, ada } = await hubWith(t, ['ada']);
  const stage = { now: 0 };
  const origin = await startOrigin(t, Object.fromEntries(feeds.map(({ documents }, index) =>
    [`/${index}`, serving(() => documents[stage.now] ?? '')])));
  const ids: number[] = [];
  for (const index of feeds.keys()) {
    ids.push(await addFeed(ada, `${origin.url}/${index}`, { visibility: 'private' }));
    hub.passTime(MINUTE); // feeds are added at a limited rate
  }
  await ada.post('/api/reading/mark-read', { all: true });
  assert.deepEqual(await itemsAt(ada, '/api/posts?view=unread'), []);
  for (stage.now of [1, 2]) await hub.work(DAY);
  const fetches = Map.groupBy(origin.requests, ({ path }) => path);
  assert.ok(feeds.every((_, index) => fetches.get(`/${index}`)?.length === 3));

  for (const [index, { name, posts, unread }] of feeds.entries()) {
    await t.test(name, async () => {
      assert.equal((await itemsAt<Shown>(ada, `/api/posts?source=${ids[index]}`)).length, posts);
      const isUnread = await itemsAt<Shown>(ada, `/api/posts?view=unread&source=${ids[index]}`);
      assert.deepEqual(isUnread.map(({ title }) => title), unread);
    });
  }
}

test('posts that their publisher moves or changes are the same posts, neither doubled nor unread again', {
  skip: skipReports,
}, (t) => followAll(t, Object.entries(CASES).map(([id, [change, posts, unread]]) => {
  const document = (n: number): string => reported(`${id}-${n}.xml`).toString();
  const documents: Feed['documents'] = [document(1), document(2), document(id === 'U18' ? 1 : 2)];
  return { name: `${id} (${change})`, posts, unread, documents };
})));

test('posts that move in other ways are the same, and posts that are only alike are not', (t) =>
  followAll(t, Object.entries(OTHERS).map(([name, [before, after, posts]]) => {
    const unread = after.slice(0, posts - before.length).map(({ title = '' }) => title);
    return { name, posts, unread, documents: [rss('Feed', before), rss('Feed', after), rss('Feed', after)] };
  })));

test('a post that an earlier version had doubled at a move is not doubled once more', async (t) => {
  const items = [item('https://b.example/a', 'One', 'https://b.example/a', NOON)];
  const { hub, ada } = await followedFeed(t, items);
  doublePosts(hub, 'http://b.example/a');
  items[0] = item('https://www.b.example/a', 'One', 'https://www.b.example/a', NOON);
  await hub.work(DAY);
  assert.equal((await itemsAt<Shown>(ada, '/api/posts')).length, 2);
});

test('of a feed that was cut, what stands beyond the cut is no post of before', async (t) => {
  const { hub, ada, feed } = await followedFeed(t, [item('1', 'Photo', 'https://b.example/1', NOON)]);
  const cut = rss('Feed', [item('2', 'Photo', 'https://b.example/2', NOON), item('1', 'Photo', 'https://b.example/1', NOON)]);
  for (const text of [cut.slice(0, cut.indexOf('https://b.example/1')), cut]) {
    feed.handler = serving(() => text);
    await hub.work(DAY);
  }
  assert.equal((await itemsAt<Shown>(ada, '/api/posts')).length, 2);
});

/** What a feed has, and what it has after its first post was deleted here: the titles that are shown then. */
const LOOKALIKES: Record<string, [before: Item[], after: Item[], titles: string[]]> = {
  'a post of the same day, both without a page of their own': [
    [item('1', 'Photo', 'https://b.example/', MIDNIGHT)], [item('2', 'Photo', 'https://b.example/', MIDNIGHT)], ['Photo']],
  'a post beside the deleted one, which its feed still has': [
    [item('1', 'Photo', 'https://b.example/1', NOON)],
    [item('2', 'Photo', 'https://b.example/1', NOON), item('1', 'Photo', 'https://b.example/1', NOON)], ['Photo']],
  'a post of another day': [
    [item('1', 'Photo', 'https://b.example/1', NOON)],
    [item('2', 'Photo', 'https://b.example/1', 'Sun, 15 Mar 2026 12:00:00 GMT')], ['Photo']],
  'the deleted post itself under a new id': [
    [item('1', 'Photo', 'https://b.example/1', NOON)], [item('2', 'Photo', 'https://b.example/1', NOON)], []],
};

for (const [name, [before, after, titles]] of Object.entries(LOOKALIKES)) {
  test(`what is like a deleted post is told from it. ${name}`, async (t) => {
    const { hub, ada, feed } = await followedFeed(t, before);
    const [deleted] = await itemsAt<Shown>(ada, '/api/posts');
    assert.equal((await ada.delete(`/api/posts/${deleted?.id}`)).status, 204);
    feed.handler = serving(() => rss('Feed', after));
    await hub.work(DAY);
    assert.deepEqual((await itemsAt<Shown>(ada, '/api/posts')).map(({ title }) => title), titles);
  });
}

test('however many hosts a feed’s posts had before, tombstones are looked for under two of them', () => {
  const moved = Array.from({ length: 60 }, (_, n) => {
    const [from, to] = [`https://${n % 3 ? n % 3 : `h${n}`}.example/${n}`, `https://new.example/${n}`];
    const one = { guid: to, url: to, givenUrl: to, link: Buffer.from('x'), title: 'x', publishedAt: 1 };
    return { one, old: { guid: from, url: from, title: 'x', publishedAt: 1, createdAt: 1, hasLeft: 0 }, grade: 1 };
  });
  assert.deepEqual(formerHosts(moved).toSorted(), ['1.example', '2.example']);
});

const site = (address: string, end = '', ids = ['a', 'b'].map((path) => address + path + end)): Item[] =>
  [item(ids[0] ?? '', 'One', `${address}a${end}`, NOON), item(ids[1] ?? '', 'Two', `${address}b${end}`, NOON)];

/** How a site moves: its items before and after. */
const MOVES: Record<string, [before: Item[], after: Item[]]> = {
  'U32 (FreshRSS#5151): ids and links change http to https': [site('http://b.example/'), site('https://b.example/')],
  'links get www. and a slash, ids are other words': [
    site('http://b.example/', '', ['1', '2']), site('https://www.b.example/', '/', ['x', 'y']),
  ],
  'one link gets a slash, and a new id': [
    site('http://b.example/', '', ['1', '2']), site('http://b.example/', '/', ['x', '2']),
  ],
  'the site moves to another domain': [site('http://b.example/'), site('https://www.c.example/')],
};

for (const [name, [before, after]] of Object.entries(MOVES)) {
  test(`a post that was deleted here does not come back. ${name}`, async (t) => {
    const { hub, ada, feed, origin } = await followedFeed(t, before);
    const one = (await itemsAt<Shown>(ada, '/api/posts')).find(({ title }) => title === 'One');
    assert.equal((await ada.delete(`/api/posts/${one?.id}`)).status, 204);
    for (const items of [after, after, before]) {
      feed.handler = serving(() => rss('Feed', items));
      await hub.work(DAY);
      assert.deepEqual((await itemsAt<Shown>(ada, '/api/posts')).map(({ title }) => title), ['Two']);
    }
    assert.equal(origin.requests.length, 4);
  });
}
