// Protects what is unread: each list, count and undo agrees with a plain record of what each person did.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { searchIndex } from '../../../src/features/posts/search-index-store.ts';
import { followSource, unfollowSource } from '../../../src/features/reading/follow-source.ts';
import {
  markRead, setRead, setStar, undoMark, type MarkLimits, type MarkTarget,
} from '../../../src/features/reading/mark-read.ts';
import { readingCounts } from '../../../src/features/reading/reading-counts.ts';
import { listView, neighbours, type View } from '../../../src/features/reading/reading-list.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { DAY, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { DEFAULT_PREFERENCES } from '../../../src/features/hub/preferences.ts';
import type { Viewer } from '../../../src/platform/http/router.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { addPosts } from '../../support/stored-posts.ts';
import { randomBelow } from '../../support/random.ts';

type KnownPost = { id: number; sourceId: number; publishedAt: number };

/** When a post was marked, by which marking, and whether by its name; a post without a state is unread. */
type State = { isRead: boolean; at: number; by: number | null; isNamed: boolean };

/** What one person did, without any of the hub's ways to remember it. */
type Record = {
  viewer: Viewer;
  follows: Map<number, string | null>;
  hidden: Set<number>; // followed sources whose posts are in no list of all sources
  states: Map<number, State>;
  stars: Set<number>;
  undos: Map<number, { at: number; posts: number[] }>;
};

const FOLDERS = ['Harbour', 'Software', null];
const SOURCES = 6;

async function world(t: TestContext, seed: number) {
  const hub = await startHub(t);
  const below = randomBelow(seed);
  const records: Record[] = [];
  for (const name of ['ada', 'bob', 'cleo']) {
    await hub.person(name);
    const account = accounts(hub.handle).findByName(name);
    assert.ok(account);
    const viewer: Viewer = { ...account, via: 'session', credentialId: 1, preferences: DEFAULT_PREFERENCES };
    records.push({ viewer, follows: new Map(), hidden: new Set(), states: new Map(), stars: new Set(), undos: new Map() });
  }
  for (let id = 1; id <= SOURCES; id++) {
    sources(hub.handle).create(
      { ownerId: 1 + (id % 3), kind: 'native', title: `Source ${id}`, titleIsOwn: true, visibility: 'public' }, null);
  }
  return { hub, below, records, posts: new Map<number, KnownPost>() };
}

type World = Awaited<ReturnType<typeof world>>;

/** A new post of a source; one in three is published long before it arrives. */
function arrive({ hub, below, posts }: World): void {
  const sourceId = 1 + below(SOURCES);
  const at = hub.now() - (below(3) === 0 ? below(20 * DAY) : below(MINUTE));
  const publishedAt = Math.floor(at / SECOND) * SECOND; // searches know seconds
  const [id = NaN] = addPosts(hub, sourceId, 1, () => ({ publishedAt, createdAt: hub.now() }));
  posts.set(id, { id, sourceId, publishedAt });
  index(hub, { id, sourceId, publishedAt });
}

/** Two of three posts are found by a search for WORD. */
function index(hub: Hub, post: KnownPost): void {
  const searchText = isFound(post) ? `an ${WORD}` : 'a newt';
  searchIndex(hub.handle).put({ ...post, searchKey: null, isPublic: 1, ownerId: 1, searchTitle: '', searchText });
}

const WORD = 'owl';
const isFound = ({ id }: { id: number }): boolean => id % 3 !== 0;

const isNewer = (a: KnownPost, b: KnownPost): number => b.publishedAt - a.publishedAt || b.id - a.id;

function isUnread({ states }: Record, { id }: KnownPost): boolean {
  return states.get(id)?.isRead !== true;
}

/** The list as it should be, from the top. */
function expected({ posts }: World, record: Record, { kind, folder, sourceId, since, q, order, each }: View): KnownPost[] {
  const all = [...posts.values()].filter((post) => {
    if (q !== undefined && !isFound(post)) return false;
    if (sourceId !== undefined && post.sourceId !== sourceId) return false;
    if (kind === 'starred') return record.stars.has(post.id);
    const isFollowed = record.follows.has(post.sourceId);
    if (sourceId === undefined && !isFollowed) return false;
    if (folder !== undefined && record.follows.get(post.sourceId) !== folder) return false;
    if (sourceId === undefined && folder === undefined && record.hidden.has(post.sourceId)) return false;
    const state = record.states.get(post.id);
    const wasReadSince = since !== undefined && state?.isRead === true && state.at >= since;
    return kind === 'all' || isUnread(record, post) || wasReadSince;
  }).sort(isNewer);
  const shown = !each || q !== undefined ? all : all.filter((post) => all.find((one) => one.sourceId === post.sourceId) === post);
  return order === 'oldest' && q === undefined ? shown.reverse() : shown;
}

/** Something that this person does, by the hub and on record. */
async function act(world: World, record: Record): Promise<void> {
  const { hub, below, posts } = world;
  const { viewer } = record;
  const pick = <Item>(items: Item[]): Item | undefined => items[below(items.length)];
  const post = pick([...posts.values()]);
  const sourceId = 1 + below(SOURCES);
  switch (below(9)) {
    case 0: return follow(world, record, sourceId);
    case 1:
      if (below(3) > 0) return;
      unfollowSource(hub.handle, viewer, sourceId);
      forgetFollow(record, world, sourceId);
      return;
    case 2: case 3: case 4: {
      if (!post) return;
      const read = below(3) > 0;
      setRead(hub.handle, viewer, post.id, read);
      if (isUnread(record, post) === read) record.states.set(post.id, { isRead: read, at: hub.now(), by: null, isNamed: true });
      return;
    }
    case 5: {
      if (!post) return;
      const starred = below(3) > 0;
      setStar(hub.handle, viewer, post.id, starred);
      if (starred) record.stars.add(post.id);
      else record.stars.delete(post.id);
      return;
    }
    case 6: case 7: return mark(world, record);
    default: return undo(world, record);
  }
}

function follow({ hub, below, posts }: World, record: Record, sourceId: number): void {
  const folder = FOLDERS[below(FOLDERS.length)] ?? null;
  const hideGlobally = below(3) === 0;
  followSource(hub.handle, record.viewer, sourceId, { folder, hideGlobally });
  record.hidden[hideGlobally ? 'add' : 'delete'](sourceId);
  if (!record.follows.has(sourceId)) {
    const older = [...posts.values()].filter((post) => post.sourceId === sourceId).sort((a, b) => b.id - a.id).slice(30);
    for (const { id } of older) if (!record.states.has(id) && !record.stars.has(id)) record.states.set(id, { isRead: true, at: 0, by: null, isNamed: false });
  }
  record.follows.set(sourceId, folder);
}

/** What the person has starred or marked by its name stays as it is, not what was read with a whole list or was old. */
function forgetFollow(record: Record, { posts }: World, sourceId: number): void {
  record.follows.delete(sourceId);
  record.hidden.delete(sourceId);
  for (const { id, sourceId: of } of posts.values()) {
    if (of === sourceId && !record.states.get(id)?.isNamed && !record.stars.has(id)) record.states.delete(id);
  }
}

async function mark(world: World, record: Record): Promise<void> {
  const { hub, below, posts } = world;
  const all = [...posts.values()];
  const [one, another] = [all[below(all.length)], all[below(all.length)]];
  const folder = FOLDERS[below(2)] ?? '';
  const followed = [...record.follows.keys()];
  const choices: (MarkTarget | undefined)[] = [
    { all: true },
    [...record.follows.values()].includes(folder) ? { folder } : undefined,
    followed.length > 0 ? { sourceId: followed[below(followed.length)] ?? 0 } : undefined,
    { posts: all.filter(() => below(8) === 0).map(({ id }) => id) },
  ];
  const what = choices[below(choices.length)];
  if (!what) return;
  const limits: MarkLimits = {
    ...(below(2) === 0 && one ? { upTo: one.id + below(3) } : {}),
    ...(below(3) === 0 ? { before: hub.now() - below(20 * DAY) } : {}),
    ...(below(4) === 0 && one ? { below: one } : {}),
    ...(below(4) === 0 && another ? { above: another } : {}),
  };
  const changed = all.filter((post) => isUnread(record, post) && isMeant(record, post, what, limits));
  const result = await markRead(hub.handle, record.viewer, what, limits);
  assert.equal(result.marked, changed.length, JSON.stringify([what, limits]));
  for (const { id } of changed) record.states.set(id, { isRead: true, at: hub.now(), by: result.undo, isNamed: 'posts' in what });
  record.undos.set(result.undo, { at: hub.now(), posts: changed.map(({ id }) => id) });
}

function isMeant(record: Record, post: KnownPost, what: MarkTarget, limits: MarkLimits): boolean {
  if ('posts' in what) return what.posts.includes(post.id);
  if (!record.follows.has(post.sourceId)) return false;
  if ('all' in what && record.hidden.has(post.sourceId)) return false;
  if ('folder' in what && record.follows.get(post.sourceId) !== what.folder) return false;
  if ('sourceId' in what && post.sourceId !== what.sourceId) return false;
  const { upTo = Infinity, before = Infinity, below, above } = limits;
  if (post.id > upTo || post.publishedAt >= before) return false;
  return (!below || isNewer(below as KnownPost, post) < 0) && (!above || isNewer(post, above as KnownPost) < 0);
}

/** What a marking has changed is unread again, but for what was marked since. */
async function undo({ hub, below }: World, record: Record): Promise<void> {
  const [id, made] = [...record.undos][below(record.undos.size)] ?? [];
  if (id === undefined || !made) return;
  record.undos.delete(id);
  if (hub.now() - made.at >= 2 * MINUTE) {
    await assert.rejects(undoMark(hub.handle, record.viewer, id), { status: 410 });
    return;
  }
  await undoMark(hub.handle, record.viewer, id);
  for (const post of made.posts) if (record.states.get(post)?.by === id) record.states.delete(post);
  await assert.rejects(undoMark(hub.handle, record.viewer, id), { status: 410 }, 'not twice');
}

/** Every list from its top to its end, what stands around a post in it, and every count. */
function compare(world: World, record: Record, said: string): void {
  const { hub, below } = world;
  const { viewer } = record;
  const folders = [...new Set(record.follows.values())].filter((name) => name !== null);
  const scopes: Partial<View>[] = [
    {}, { q: WORD }, { sourceId: 1 + below(SOURCES) }, ...folders.map((folder) => ({ folder })),
    ...folders.map((folder) => ({ folder, q: WORD })), { sourceId: 1 + below(SOURCES), q: WORD },
  ];
  for (const kind of ['unread', 'all', 'starred'] as const) {
    for (const scope of kind === 'starred' ? [{}, { q: WORD }] : scopes) {
      const isEach = kind === 'unread' && scope.sourceId === undefined && below(3) === 0;
      const view: View = { kind, ...scope, ...(below(2) === 0 && { order: 'oldest' }), ...(isEach && { each: true }) };
      const wanted = expected(world, record, view);
      const seen: { id: number; read: boolean; starred: boolean }[] = [];
      const limit = 1 + below(12);
      for (let after: { at: number; id: number } | null | undefined; after !== null; ) {
        const page = listView(hub.handle, viewer, view, { limit, ...(after && { after }) });
        seen.push(...page.items.map(({ id, read, starred }) => ({ id, read, starred })));
        after = page.next;
      }
      const shown = wanted.map((post) => ({ id: post.id, read: !isUnread(record, post), starred: record.stars.has(post.id) }));
      assert.deepEqual(seen, shown, `${said}: ${JSON.stringify(view)}`);
      compareAround(world, record, view, wanted, said);
    }
  }
  compareCounts(world, record, said);
}

function compareAround(world: World, record: Record, view: View, wanted: KnownPost[], said: string): void {
  const { hub, below } = world;
  const at = below(wanted.length || 1);
  const post = wanted[at];
  if (!post) return;
  const { previous, next, nextUnread, following } = neighbours(hub.handle, record.viewer, view, post);
  const unread = expected(world, record, { ...view, kind: 'unread' });
  const unreadBelow = unread.find((one) => isNewer(one, post) * (view.order === 'oldest' && view.q === undefined ? -1 : 1) > 0) ?? unread.find(({ id }) => id !== post.id);
  assert.deepEqual(
    [previous?.id, next?.id, nextUnread?.id, following.map(({ id }) => id)],
    [wanted[at - 1]?.id, wanted[at + 1]?.id, unreadBelow?.id, wanted.slice(at + 1, at + 6).map(({ id }) => id)],
    `${said}: around ${post.id} in ${JSON.stringify(view)}`);
}

function compareCounts(world: World, record: Record, said: string): void {
  const counts = readingCounts(world.hub.handle, record.viewer);
  const unread = expected(world, record, { kind: 'unread' });
  assert.equal(counts.unread, unread.length, said);
  assert.equal(counts.starred, record.stars.size, said);
  const bySource = counts.folders.flatMap(({ name, sources }) => sources.map((one) => [one.id, name, one.unread]));
  const wanted = [...record.follows].map(([id, name]) =>
    [id, name, expected(world, record, { kind: 'unread', sourceId: id }).length]);
  const byId = (a: unknown[], b: unknown[]): number => Number(a[0]) - Number(b[0]);
  assert.deepEqual(bySource.sort(byId), wanted.sort(byId), said);
}

async function live(t: TestContext, seed: number, steps: number): Promise<void> {
  const all = await world(t, seed);
  const { hub, below, records } = all;
  for (const record of records) for (const id of [1, 2, 3]) follow(all, record, id + below(3));
  for (let step = 0; step < steps; step++) {
    hub.passTime(1 + below(10) * SECOND);
    if (below(25) === 0) hub.passTime(2 * DAY);
    for (let n = below(6); n > 0; n--) arrive(all);
    const record = records[below(records.length)];
    assert.ok(record);
    await act(all, record);
    if (step % 6 === 0) compare(all, record, `seed ${seed}, step ${step}`);
  }
  for (const record of records) compare(all, record, `seed ${seed}, end`);
}

test('whatever people read, mark, undo, follow and let go, their lists and counts are what they did', async (t) => {
  for (const seed of [2, 5]) await live(t, seed, 130);
});

/** Bob, who follows a source with so many posts, all of them unread and a minute old. */
async function reader(t: TestContext, count: number) {
  const all = await world(t, 1);
  const { hub, records: [, bob] } = all;
  assert.ok(bob);
  followSource(hub.handle, bob.viewer, 1);
  addPosts(hub, 1, count, (n) => ({ publishedAt: hub.now() - MINUTE + n }));
  const ids = (view: View): number[] =>
    listView(hub.handle, bob.viewer, view, { limit: 100 }).items.map(({ id }) => id);
  return { hub, viewer: bob.viewer, ids };
}

test('a search of many posts finds what is unread, starred or in the list, also where only old ones are unread', async (t) => {
  const [count, newest] = [1_500, 200];
  const { hub, viewer, ids } = await reader(t, count);
  const all = Array.from({ length: count }, (_, below) => count - below);
  for (const id of all) index(hub, { id, sourceId: 1, publishedAt: hub.now() - MINUTE + id });
  await markRead(hub.handle, viewer, { posts: all.slice(0, newest) });
  for (const id of all) setStar(hub.handle, viewer, id, true);
  const found = all.filter((id) => isFound({ id }));

  const unread = found.filter((id) => id <= count - newest);
  assert.deepEqual(ids({ kind: 'unread', q: WORD }), unread.slice(0, 100));
  assert.deepEqual(ids({ kind: 'unread', q: WORD, since: hub.now() }), found.slice(0, 100), 'with what was read since');
  assert.deepEqual(ids({ kind: 'all', q: WORD }), found.slice(0, 100));
  assert.deepEqual(ids({ kind: 'starred', q: WORD }), found.slice(0, 100));
  const at = { id: 1_000, publishedAt: hub.now() - MINUTE + 1_000 };
  const { previous, next, nextUnread } = neighbours(hub.handle, viewer, { kind: 'unread', q: WORD }, at);
  assert.deepEqual([previous?.id, next?.id, nextUnread?.id], [1_001, 998, 998]);
});

test('an unread list stays what it was when it was opened, with what was read since', async (t) => {
  const { hub, viewer, ids } = await reader(t, 6);
  setRead(hub.handle, viewer, 6, true);
  hub.passTime(SECOND);
  const since = hub.now();
  setRead(hub.handle, viewer, 4, true);
  await markRead(hub.handle, viewer, { posts: [2] });
  hub.passTime(DAY - SECOND);

  assert.deepEqual([ids({ kind: 'unread' }), ids({ kind: 'unread', since })], [[5, 3, 1], [5, 4, 3, 2, 1]]);
  const around = (view: View, id: number) => {
    const [post] = listView(hub.handle, viewer, { kind: 'all' }, { limit: 9 }).items.filter((one) => one.id === id);
    assert.ok(post);
    const { previous, next, nextUnread } = neighbours(hub.handle, viewer, view, post);
    return [previous?.id, next?.id, nextUnread?.id];
  };
  assert.deepEqual(around({ kind: 'unread', since }, 3), [4, 2, 1]);
  assert.deepEqual(around({ kind: 'unread' }, 3), [5, 1, 1]);
  assert.deepEqual(around({ kind: 'unread', since, sourceId: 1 }, 1), [2, undefined, 5], 'on from the top');
});

test('the newest unread post of a source is found among few and among many unread posts', async (t) => {
  for (const count of [4, 100]) {
    const { hub, viewer, ids } = await reader(t, count);
    await markRead(hub.handle, viewer, { posts: [count, count - 2] });
    const since = hub.now();
    assert.deepEqual([ids({ kind: 'unread', each: true }), ids({ kind: 'unread', each: true, since })], [[count - 1], [count]]);
    await markRead(hub.handle, viewer, { all: true });
    setRead(hub.handle, viewer, 2, false);
    assert.deepEqual(ids({ kind: 'unread', each: true }), [2]);
  }
});
