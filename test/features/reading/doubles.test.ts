// Protects rows of posts with the same link: which posts are one row, for whom, in which lists, and in which state.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { follows, type ListedFollow } from '../../../src/features/follows/follow-store.ts';
import { DEFAULT_PREFERENCES } from '../../../src/features/hub/preferences.ts';
import { linkKey, links } from '../../../src/features/posts/link-store.ts';
import { entries, mutedPosts } from '../../../src/features/reading/entry-store.ts';
import { followSource, unfollowSource } from '../../../src/features/reading/follow-source.ts';
import { markRead, setRead, setStar, undoMark, withDoubles, type MarkTarget } from '../../../src/features/reading/mark-read.ts';
import { readingCounts } from '../../../src/features/reading/reading-counts.ts';
import { listView } from '../../../src/features/reading/reading-list.ts';
import { rules } from '../../../src/features/rules/rule-store.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { DAY, MINUTE } from '../../../src/platform/clock.ts';
import type { Viewer } from '../../../src/platform/http/router.ts';
import { addFollow, addNotes, itemsAt, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { randomBelow } from '../../support/random.ts';
import { appOf, edit, itemIds, STATE } from '../../support/reader-app.ts';
import { addPosts } from '../../support/stored-posts.ts';
import { assertUnreadCounted } from '../../support/unread-counts.ts';

const LINK = 'https://news.example/2026/ferry';

type Shown = { id: number; read: boolean; starred: boolean; also: { id: number; source: { id: number; title: string } }[] };
type Counts = { unread: number; starred: number; folders: { name: string | null; unread: number; sources: { unread: number }[] }[] };

/** Ada owns two public sources, Alpha and Beta, which bob follows, Beta in the folder “Later”. */
async function hubWithTwo(t: TestContext) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const [alpha, beta] = [await addNotes(ada, 'Alpha'), await addNotes(ada, 'Beta')];
  await addFollow(bob, alpha);
  await addFollow(bob, beta, { folder: 'Later' });
  return { hub, ada, bob, alpha, beta };
}

/** The id of a new post with a link. */
async function post(hub: Hub, client: Client, sourceId: number, url: string | null = LINK, title = 'The ferry'): Promise<number> {
  hub.passTime(MINUTE);
  const written = await client.post('/api/posts', { sourceId, title, url, content: title, contentType: 'text/plain' });
  assert.equal(written.status, 201, written.text);
  return written.json<{ id: number }>().id;
}

const listed = (client: Client, query: string): Promise<Shown[]> => itemsAt<Shown>(client, `/api/posts?${query}`);

async function ids(client: Client, query: string): Promise<number[]> {
  return (await listed(client, query)).map(({ id }) => id);
}

async function counts(client: Client) {
  const { unread, starred, folders } = (await client.get('/api/reading')).json<Counts>();
  return { unread, starred, folders: folders.map((folder) => folder.unread), sources: folders.flatMap(({ sources }) => sources.map((source) => source.unread)) };
}

test('links differ by host, path and query, and front pages are no links', () => {
  const same = [LINK, 'http://www.news.example/2026/ferry/', `${LINK}#part`, `${LINK}//`];
  assert.equal(new Set(same.map((link) => linkKey(link)?.toString('hex'))).size, 1);
  const others = [`${LINK}?page=2`, 'https://news.example/2026', 'https://other.example/2026/ferry', `${LINK}/x`];
  assert.equal(new Set([LINK, ...others].map((link) => linkKey(link)?.toString('hex'))).size, 5);
  for (const none of [null, 'https://news.example', 'https://news.example/?p=1', 'https://news.example//', 'mailto:a@b.example',
    'https://news.example/index.html']) assert.equal(linkKey(none), null, String(none));
});

test('posts of two followed sources with the same link are one row that names both, and each list has one of them', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const first = await post(hub, ada, alpha);
  const second = await post(hub, ada, beta, 'http://www.news.example/2026/ferry/?utm_source=x#top');
  const other = await post(hub, ada, beta, 'https://news.example/2026/bridge');

  for (const view of ['view=unread', 'view=list']) assert.deepEqual(await ids(bob, view), [other, first], view);
  const [, row] = await listed(bob, 'view=list');
  assert.deepEqual(row?.also, [{ id: second, source: { id: beta, title: 'Beta', kind: 'native' } }]);
  assert.deepEqual(await ids(bob, 'view=unread&folder=Later'), [other, second]);
  assert.deepEqual(await ids(bob, `view=list&source=${beta}`), [other, second]);
  assert.deepEqual(await counts(bob), { unread: 2, starred: 0, folders: [2, 1], sources: [2, 1] });
  const page = (await bob.get('/')).text;
  assert.match(page, /<b dir="auto">Alpha, <bdi>Beta<\/bdi><\/b>/);
  assert.doesNotMatch(page, new RegExp(`id="post-${second}"`));
  assert.match((await bob.get(`/posts/${first}`)).text, new RegExp(`Also in.*\\s*<a href="/posts/${second}"`));
});

test('reading and starring a row does so for all its posts, by one post, by a list and back by undoing', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const pair = [await post(hub, ada, alpha), await post(hub, ada, beta)];
  const states = async (name: 'read' | 'starred') =>
    (await Promise.all([alpha, beta].map((id) => listed(bob, `view=list&source=${id}`)))).flat().map((shown) => shown[name]);

  await sendJson(bob, 'PUT', `/api/posts/${pair[0]}/star`, {});
  assert.deepEqual(await states('starred'), [true, true]);
  assert.deepEqual(await ids(bob, 'view=starred'), [pair[0]]);
  assert.equal((await counts(bob)).starred, 1);
  await bob.send('DELETE', `/api/posts/${pair[1]}/star`);
  assert.deepEqual(await states('starred'), [false, false]);

  await sendJson(bob, 'PUT', `/api/posts/${pair[1]}/read`, {});
  assert.deepEqual(await states('read'), [true, true]);
  assert.equal((await counts(bob)).unread, 0);
  await bob.send('DELETE', `/api/posts/${pair[0]}/read`);
  assert.deepEqual(await states('read'), [false, false]);

  for (const target of [{ source: alpha }, { folder: 'Later' }, { all: true }, { posts: [pair[1]] }]) {
    const marked = (await bob.post('/api/reading/mark-read', target)).json<{ marked: number; undo: number }>();
    assert.deepEqual(await states('read'), [true, true], JSON.stringify(target));
    await bob.post('/api/reading/undo', { undo: marked.undo });
    assert.deepEqual(await states('read'), [false, false], JSON.stringify(target));
  }
});

test('two sources with the same 1,200 unread posts have 1,000 or more, not what is left of twice 1,000', async (t) => {
  const { hub, bob, alpha, beta } = await hubWithTwo(t);
  const [ofAlpha, ofBeta] = [addPosts(hub, alpha, 1_200), addPosts(hub, beta, 1_200)];
  hub.db.write('link', () => ofAlpha.forEach((first, n) => {
    for (const [id, sourceId] of [[first, alpha], [ofBeta[n] ?? NaN, beta]] as const) {
      links(hub.handle).put({ id, sourceId, isNew: true }, Buffer.from(`link ${n}`));
    }
  }));
  await sendJson(bob, 'PUT', `/api/sources/${alpha}/follow`, { folder: 'Later' });
  assert.deepEqual(await counts(bob), { unread: 1_000, starred: 0, folders: [1_000], sources: [1_000, 1_000] });
});

test('a post that gets another link leaves its row, and its new row has no post of the old row', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const other = 'https://news.example/2026/bridge';
  const [moved, stays] = [await post(hub, ada, alpha), await post(hub, ada, beta)];
  assert.equal((await ada.patch(`/api/posts/${moved}`, { url: other })).status, 200);
  const joins = await post(hub, ada, beta, other);
  const alsoOf = async (id: number) => (await listed(bob, 'view=list')).find((shown) => shown.id === id)?.also.map((one) => one.id);
  assert.deepEqual([await alsoOf(moved), await alsoOf(stays)], [[joins], []]);
});

test('a later post joins its row: it is read and starred if the row is', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const first = await post(hub, ada, alpha);
  await sendJson(bob, 'PUT', `/api/posts/${first}/read`, {});
  await sendJson(bob, 'PUT', `/api/posts/${first}/star`, {});
  const second = await post(hub, ada, beta);

  assert.deepEqual(await ids(bob, 'view=unread'), []);
  assert.deepEqual((await listed(bob, 'view=list&folder=Later')).map(({ id, read, starred }) => ({ id, read, starred })),
    [{ id: second, read: true, starred: true }]);
  assert.deepEqual(await counts(bob), { unread: 0, starred: 1, folders: [0, 0], sources: [0, 0] });

  await bob.send('DELETE', `/api/sources/${alpha}/follow`);
  assert.deepEqual(await ids(bob, 'view=list'), [second], 'the row goes on with the other source');
  assert.deepEqual(await ids(bob, 'view=unread'), []);
});

test('a private source never shows in the row of somebody who cannot see it', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const [hidden, second] = [await post(hub, ada, alpha), await post(hub, ada, beta)];
  await ada.patch(`/api/sources/${alpha}`, { visibility: 'private' });

  const [row, ...more] = await listed(bob, 'view=unread');
  assert.deepEqual([row?.id, row?.also, more], [second, [], []]);
  assert.doesNotMatch((await bob.get('/')).text, /Alpha/);
  assert.equal((await counts(bob)).unread, 1);
  const marked = await bob.post('/api/reading/mark-read', { posts: [second] });
  assert.equal(marked.json<{ marked: number }>().marked, 1);
  await ada.patch(`/api/sources/${alpha}`, { visibility: 'public' });
  assert.deepEqual((await listed(bob, 'view=list')).map(({ id, read }) => ({ id, read })), [{ id: hidden, read: true }],
    'it comes back as its row is by now');
});

test('a post takes no state from a post that its reader may no longer see', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const hidden = await post(hub, ada, alpha);
  await sendJson(bob, 'PUT', `/api/posts/${hidden}/read`, {});
  await sendJson(bob, 'PUT', `/api/posts/${hidden}/star`, {});
  await ada.patch(`/api/sources/${alpha}`, { visibility: 'private' });
  await post(hub, ada, beta);
  assert.deepEqual((await listed(bob, 'view=list')).map(({ read, starred }) => [read, starred]), [[false, false]]);
});

test('the switch of a member shows all posts at once, and reads them one by one', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const pair = [await post(hub, ada, alpha), await post(hub, ada, beta)];
  const settings = { density: 'comfortable', textSize: 'normal', marksOpened: '1' };
  await bob.form('/settings/preferences', settings); // every unticked box is off

  assert.deepEqual(await ids(bob, 'view=unread'), pair.toReversed());
  assert.deepEqual((await listed(bob, 'view=unread')).flatMap(({ also }) => also), []);
  assert.equal((await counts(bob)).unread, 2);
  await sendJson(bob, 'PUT', `/api/posts/${pair[0]}/read`, {});
  assert.deepEqual(await ids(bob, 'view=unread'), [pair[1]]);
  await post(hub, ada, beta, `${LINK}/2`);
  await sendJson(bob, 'PUT', `/api/posts/${(await ids(bob, 'view=unread'))[0]}/read`, {});
  const arrived = await post(hub, ada, alpha, `${LINK}/2`);
  assert.deepEqual(await ids(bob, 'view=unread'), [arrived, pair[1]]);
  await bob.form('/settings/preferences', { ...settings, joinsDoubles: '1' });
  assert.deepEqual(await ids(bob, 'view=unread'), []);
  assert.equal((await counts(bob)).unread, 0);
});

test('a search lists one post of each row among those that fit, also over pages and by relevance, and its counts agree', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const first = await post(hub, ada, alpha, LINK, 'The ferry sails');
  hub.passTime(DAY);
  const [second, alone] = [await post(hub, ada, beta, LINK, 'The ferry sails again'), await post(hub, ada, beta, null, 'No ferry')];
  const day = new Date(hub.now()).toISOString().slice(0, 10);
  await sendJson(bob, 'PUT', `/api/posts/${second}/star`, {});
  await bob.post('/api/searches', { q: 'ferry' });
  const savedCount = async () => (await itemsAt<{ count: number }>(bob, '/api/searches'))[0]?.count;
  const inPages = async (q = 'ferry'): Promise<number[]> => {
    const pages: number[] = [];
    for (let next: string | null = ''; next !== null;) {
      const page: { items: Shown[]; next: string | null } = (await bob.get(`/api/posts?view=list&q=${q}&limit=1${next && `&cursor=${next}`}`)).json();
      pages.push(...page.items.map(({ id }) => id));
      next = page.next;
    }
    return pages;
  };

  const searches = async () => {
    assert.deepEqual(await ids(bob, 'view=list&q=ferry'), [alone, first]);
    assert.deepEqual(await inPages(), [alone, first]);
    const [row] = await listed(bob, 'view=list&q=again');
    assert.deepEqual([row?.id, row?.also.map(({ id }) => id)], [second, [first]], 'the earlier post does not fit');
    for (const q of ['ferry -source:alpha', 'ferry in:later', `ferry after:${day}`, `ferry&source=${beta}`, 'ferry&folder=Later']) {
      assert.deepEqual(await ids(bob, `view=list&q=${q}`), [alone, second], q);
    }
    assert.deepEqual(await ids(bob, 'view=starred&q=ferry'), [first]);
    const best = (await bob.get('/all?q=ferry&by=relevance')).text;
    assert.match(best, /<span role="status">2 posts</);
    assert.equal(best.match(/<article|<li [^>]*id="post-/g)?.length, 2);
    assert.equal(await savedCount(), 2);
  };
  /** Of two doubles, the second was published earlier, so that other posts stand between the two. */
  const earlierDouble = async (title: string): Promise<void> => {
    const url = `${LINK}/${title}`;
    const shown = await post(hub, ada, alpha, url, title);
    const add = async (values: object): Promise<number> =>
      (await ada.post('/api/posts', { sourceId: beta, title, content: 'x', ...values })).json<{ id: number }>().id;
    const between = await add({ publishedAt: '2029-07-01T00:00:00Z' });
    const double = await add({ url, publishedAt: '2029-01-01T00:00:00Z' });
    assert.deepEqual(await inPages(title), [shown, between], 'the double would be on a later page');
    assert.deepEqual(await ids(bob, `view=list&q=${title} before:2029-06-01`), [double]);
    assert.deepEqual(await ids(bob, `view=list&q=${title} -source:alpha`), [between, double]);
    assert.ok((await inPages('before:2029-06-01')).includes(double), 'days alone');
    const days = (await inPages('after:2029-01-01 before:2029-12-01')).filter((id) => id >= shown);
    assert.deepEqual(days, [between, double]);
    assert.deepEqual((await inPages('after:2029-01-01')).filter((id) => id >= shown), [shown, between]);
  };
  await searches();
  await earlierDouble('bridge');
  addPosts(hub, alpha, 1_000);
  await searches();
  await earlierDouble('lock');
  await bob.form('/settings/preferences', { density: 'comfortable', textSize: 'normal' });
  assert.deepEqual(await ids(bob, 'view=list&q=ferry'), [alone, second, first]);
  assert.equal(await savedCount(), 3);
});

test('an app gets one post of a row and its counts, and marks all posts of the row', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const app = appOf(hub, 'bob');
  const [first, second] = [await post(hub, ada, alpha), await post(hub, ada, beta)];
  const unread = `xt=${STATE}read&s=${STATE}reading-list`;
  assert.deepEqual(await itemIds(app, unread), [first]);
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list`), [first]);
  assert.deepEqual(await itemIds(app, `s=feed/${beta}`), [second]);
  const { unreadcounts } = (await app.get('unread-count')).json<{ unreadcounts: { id: string; count: number }[] }>();
  assert.deepEqual(Object.fromEntries(unreadcounts.map(({ id, count }) => [id, count])), {
    [`feed/${alpha}`]: 1, [`feed/${beta}`]: 1, 'user/-/label/Later': 1, 'user/-/label/Uncategorized': 1, [`${STATE}reading-list`]: 1,
  });

  await edit(app, [first], `a=${STATE}starred`);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred`), [first]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&it=feed/${beta}`), [second]);
  await edit(app, [first], `a=${STATE}read`);
  assert.deepEqual(await ids(bob, `view=unread&source=${beta}`), []);
  await edit(app, [second], `r=${STATE}read`);
  assert.deepEqual(await itemIds(app, unread), [first]);
  await app.post('mark-all-as-read', `s=feed/${alpha}`);
  assert.deepEqual(await ids(bob, `view=unread&source=${beta}`), []);
});

test('the id of a post that a member may not see tells nothing of its doubles, whatever is marked or starred by the id', async (t) => {
  const { hub, ada, bob, alpha } = await hubWithTwo(t);
  const shown = await post(hub, ada, alpha);
  const hidden = await post(hub, ada, await addNotes(ada, 'Diary', 'private'));
  const app = appOf(hub, 'bob');
  await edit(app, [hidden], `a=${STATE}starred`);
  await edit(app, [hidden], `a=${STATE}read`);
  assert.equal((await bob.post('/api/reading/mark-read', { posts: [hidden] })).json<{ marked: number }>().marked, 0);
  for (const state of ['star', 'read']) assert.equal((await sendJson(bob, 'PUT', `/api/posts/${hidden}/${state}`, {})).status, 404);
  assert.deepEqual(await counts(bob), { unread: 1, starred: 0, folders: [0, 1], sources: [0, 1] });
  assert.deepEqual((await listed(bob, 'view=list')).map(({ id, read, starred, also }) => [id, read, starred, also]), [[shown, false, false, []]]);
});

test('a muted double is read with the list that has its row, and does not come back unread', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const [first, second] = [await post(hub, ada, alpha), await post(hub, ada, beta)];
  const ruleId = rules(hub.handle).add(2, { match: 'x', act: 'mute', sourceId: null, folder: null });
  mutedPosts(hub.handle).mute([[2, first, ruleId]]);
  const { undo } = (await bob.post('/api/reading/mark-read', { all: true })).json<{ undo: number }>();
  mutedPosts(hub.handle).unmute({ accountId: 2, ruleId, limit: 9 });
  assert.deepEqual([await ids(bob, 'view=unread'), (await counts(bob)).sources], [[], [0, 0]]);
  assert.equal((await bob.post('/api/reading/undo', { undo })).status, 204);
  assert.deepEqual((await ids(bob, `view=unread&source=${alpha}`)).concat(await ids(bob, `view=unread&source=${beta}`)), [first, second]);
});

test('a post stays in lists and counts while its earlier double alone is muted', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const [first, second] = [await post(hub, ada, alpha), await post(hub, ada, beta)];
  const rule = rules(hub.handle).add(2, { match: 'x', act: 'mute', sourceId: null, folder: null });
  mutedPosts(hub.handle).mute([[2, first, rule]]);

  for (const view of ['view=unread', 'view=list']) assert.deepEqual(await ids(bob, view), [second], view);
  assert.equal((await counts(bob)).unread, 1);
});

test('the posts of one source are no doubles, and deleting or changing the first post ends a row', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const [first, again, second] = [await post(hub, ada, alpha), await post(hub, ada, alpha), await post(hub, ada, beta)];
  assert.deepEqual(await ids(bob, 'view=list'), [again, first]);

  await ada.patch(`/api/posts/${first}`, { url: `${LINK}/elsewhere` });
  assert.deepEqual(await ids(bob, 'view=list'), [second, again, first]);
  await ada.patch(`/api/posts/${first}`, { url: LINK });
  assert.deepEqual(await ids(bob, 'view=list'), [again, first]);
  await ada.send('DELETE', `/api/posts/${first}`);
  assert.deepEqual(await ids(bob, 'view=list'), [second, again]);
});

test('posts that the hub stored without their links join their rows, in steps that go on where the last step ended', async (t) => {
  const { hub, bob, alpha, beta } = await hubWithTwo(t);
  const [first = 0] = addPosts(hub, alpha, 1, () => ({ url: LINK }));
  const others = addPosts(hub, alpha, 3);
  const [second = 0] = addPosts(hub, beta, 1, () => ({ url: `${LINK}#top` }));
  const step = (limit: number) => hub.handle.db.write('store links', () => links(hub.handle).putOld(limit));
  assert.equal((await ids(bob, 'view=list')).length, 5);
  assert.deepEqual([step(3), step(3), step(3)], [3, 2, 0]);
  assert.deepEqual(new Set(await ids(bob, 'view=list')), new Set([first, ...others]));
  assert.deepEqual(entries(hub.handle).doublesOf({ viewerId: 2, isAdmin: 0 }, [first]).map(({ id }) => id), [second]);
});

test('a post from before the hub stored links gives its states to its row, and gets those of a post that arrived since', async (t) => {
  const { hub, ada, bob, alpha, beta } = await hubWithTwo(t);
  const gamma = await addNotes(ada, 'Gamma');
  await addFollow(bob, gamma);
  const old = [alpha, beta].flatMap((id) => addPosts(hub, id, 2, (n) => ({ url: `${LINK}/${n}` })));
  const [, read = 0, starred = 0] = old;
  assert.equal((await bob.send('PUT', `/api/posts/${read}/read`)).status, 204);
  assert.equal((await bob.send('PUT', `/api/posts/${starred}/star`)).status, 204);
  const since = [await post(hub, ada, gamma, `${LINK}/1`), await post(hub, ada, gamma, `${LINK}/2`)];
  await bob.send('PUT', `/api/posts/${since[0]}/read`);
  hub.handle.db.write('store links', () => links(hub.handle).putOld(10));
  for (const id of [...old, ...since]) {
    const source = [alpha, alpha, beta, beta, gamma, gamma][id - 1];
    const shown = (await listed(bob, `view=list&source=${source}`)).find((one) => one.id === id);
    const isStarred = (id - 1) % 2 === 0;
    assert.deepEqual([shown?.read, shown?.starred, shown?.also.length], [true, isStarred, 2], String(id));
  }
  assert.deepEqual(await counts(bob), { unread: 0, starred: 1, folders: [0, 0], sources: [0, 0, 0] });
});

test('one row has at most 32 posts, so that no link makes lists slow; private posts of other owners change no row', async (t) => {
  const { hub, ada, bob } = await hubWithTwo(t);
  await post(hub, bob, await addNotes(bob, 'Diary', 'private'));
  const sourceIds: number[] = [];
  for (let n = 0; n < 33; n++) sourceIds.push(await addNotes(ada, `Source ${n}`, 'private'));
  const posts: number[] = [];
  for (const id of sourceIds) posts.push(await post(hub, ada, id));

  const ofFirst = () => entries(hub.handle).doublesOf({ viewerId: 1, isAdmin: 0 }, [posts[0] ?? 0]).map(({ id }) => id);
  assert.deepEqual(ofFirst(), posts.slice(1, 32));
  await post(hub, bob, await addNotes(bob, 'Second diary', 'private'));
  assert.deepEqual(ofFirst(), posts.slice(1, 32));
});

/** Links of the posts of the random acts; some posts have no link. */
const LINKS = ['a', 'b', 'c', 'd', 'e', 'f', null, null];

test('after any acts, also of muting rules, each list has one post of each link, and counts and states agree with the lists', async (t) => {
  const { hub: { handle, now, passTime }, hub, ada } = await hubWithTwo(t);
  const below = randomBelow(Number(process.env['RANDOM_SEED'] ?? 1));
  const account = accounts(handle).findByName('bob') ?? assert.fail();
  const viewer: Viewer = { ...account, via: 'session', credentialId: 1, preferences: DEFAULT_PREFERENCES };
  const sourceIds = [...sources(handle).listOwned(1, 0, 10).map(({ id }) => id), await addNotes(ada, 'C'), await addNotes(ada, 'D')];
  const known = new Map<number, { sourceId: number; link: string | null }>();
  const undos: number[] = [];
  const ruleIds = ['x', 'y'].map((match) => rules(handle).add(account.id, { match, act: 'mute', sourceId: null, folder: null }));
  const pick = <Item>(items: Item[]): Item => items[below(items.length)] as Item;
  const acts = [arrive, arrive, arrive,
    () => setRead(handle, viewer, pick([...known.keys()]), below(3) > 0),
    () => setStar(handle, viewer, pick([...known.keys()]), below(2) > 0),
    async () => void undos.push((await markRead(handle, viewer, target(), below(2) > 0 ? {} : { before: now() - below(3) * MINUTE })).undo),
    async () => void await undoMark(handle, viewer, undos.pop() ?? 0).catch(() => undefined),
    () => followSource(handle, viewer, pick(sourceIds), { folder: pick([null, 'F', 'G']), hideGlobally: below(4) === 0 }),
    () => unfollowSource(handle, viewer, pick(sourceIds)), mute, mute, () => void mutedPosts(handle).unmute({ accountId: account.id, ruleId: pick(ruleIds), limit: 3 })];

  function arrive(): void {
    const [sourceId, link] = [pick(sourceIds), pick(LINKS)];
    const [id = NaN] = addPosts(hub, sourceId, 1, () => ({ publishedAt: now() - below(5) * MINUTE, createdAt: now() }));
    const isFirst = ![...known.values()].some((post) => post.sourceId === sourceId && post.link === link);
    known.set(id, { sourceId, link: isFirst ? link : null });
    handle.db.write('link', () => links(handle).put({ id, sourceId, isNew: true }, link === null ? null : Buffer.from(link)));
  }

  function mute(): void {
    const [ruleId, [id = 0] = []] = [pick(ruleIds), pick([...known].filter(([, { link }]) => link !== null))];
    if (id === 0) return;
    const ids = below(2) === 0 ? [id] : withDoubles(handle, viewer, [id]); // a post that gets another link joins a row with another state
    mutedPosts(handle).mute(ids.map((id) => [account.id, id, ruleId]));
  }

  function target(): MarkTarget {
    const { folder, sourceId } = pick(follows(handle).listed(viewer).concat([{ folder: null, sourceId: 0 } as ListedFollow]));
    if (sourceId === 0) return { all: true };
    return folder === null || below(2) === 0 ? { sourceId } : { folder };
  }

  function check(step: number): void {
    const followed = follows(handle).listed(viewer);
    const muted = new Set(mutedPosts(handle).listOf(account.id, 0, 1_000).map(({ postId }) => postId));
    const { folders, unread, starred } = readingCounts(handle, viewer);
    const folderNames = folders.flatMap(({ name }) => name ?? []);
    for (const folder of [undefined, ...folderNames]) {
      const list = (kind: 'all' | 'unread') => listView(handle, viewer, { kind, ...(folder !== undefined && { folder }) }, { limit: 1_000 }).items;
      const among = followed.filter((one) => (folder === undefined ? one.hideGlobally === 0 : one.folder === folder)).map(({ sourceId }) => sourceId);
      const rows = new Set([...known].filter(([id, { sourceId }]) => !muted.has(id) && among.includes(sourceId)).map(([id, { link }]) => link ?? id));
      assert.deepEqual(list('all').map(({ id }) => known.get(id)?.link ?? id).toSorted(), [...rows].toSorted(), `${step}: ${folder}`);
      const count = folder === undefined ? unread : folders.find(({ name }) => name === folder)?.unread;
      assert.equal(list('unread').length, count, `${step}: unread of ${folder}`);
      assert.deepEqual(list('unread').map(({ id }) => id), list('all').filter(({ read }) => !read).map(({ id }) => id), `${step}: ${folder}`);
    }
    assert.equal(listView(handle, viewer, { kind: 'starred' }, { limit: 1_000 }).items.length, starred, `${step}: starred`);
    const states = entries(handle).statesOf(viewer, [...known.keys()]).filter(({ isFollowed }) => isFollowed === 1);
    const byLink = Map.groupBy(states, ({ id }) => known.get(id)?.link ?? id);
    for (const [link, same] of byLink) assert.equal(new Set(same.map(({ isRead }) => isRead)).size, 1, `${step}: ${link}`);
  }

  for (let step = 0; step < Number(process.env['RANDOM_STEPS'] ?? 150); step++) {
    passTime(below(MINUTE));
    await (known.size === 0 ? arrive : pick(acts))();
    check(step);
    assertUnreadCounted(hub);
  }
  assert.ok(known.size > 25);
});
