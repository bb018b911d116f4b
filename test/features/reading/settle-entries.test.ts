// Protects that a reader's list agrees with follows, sources and roles, in steps where there is much to change.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { links } from '../../../src/features/posts/link-store.ts';
import { entries, mutedPosts } from '../../../src/features/reading/entry-store.ts';
import { followSource, unfollowSource } from '../../../src/features/reading/follow-source.ts';
import { markRead, setRead, setStar, undoMark } from '../../../src/features/reading/mark-read.ts';
import { listView, type View } from '../../../src/features/reading/reading-list.ts';
import { addLateEntries, dropEntriesOf, settleEntries } from '../../../src/features/reading/settle-entries.ts';
import { forgetReadTimes, recountUnread, trimEntries } from '../../../src/features/reading/trim-entries.ts';
import { rules } from '../../../src/features/rules/rule-store.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { DAY } from '../../../src/platform/clock.ts';
import type { Viewer } from '../../../src/platform/http/router.ts';
import { sendJson } from '../../support/accounts.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { addAccount, setAccount } from '../../support/stored-accounts.ts';
import { addPosts, publishAt } from '../../support/stored-posts.ts';
import { countRows, removeRows, rowsOf } from '../../support/stored-rows.ts';
import { assertUnreadCounted } from '../../support/unread-counts.ts';

const changeOwnerOf = (hub: Hub, sourceId: number, ownerId: number): void => sources(hub.handle).setOwner(sourceId, ownerId);
const viewerOf = (id: number, role: Viewer['role'] = 'member') => ({ id, role }) as Viewer;
const [ADA, BOB] = [viewerOf(1, 'admin'), viewerOf(2)];

/** Ada's notes, and accounts with the ids 2 to `accounts`. */
async function hubWithAccounts(t: TestContext, accounts: number, env: Record<string, string> = {}) {
  const hub = await startHub(t, env);
  const ada = await hub.person('ada');
  for (let id = 2; id <= accounts; id++) addAccount(hub, `member${id}`);
  const sourceId = sources(hub.handle).create(
    { ownerId: 1, kind: 'native', title: 'Notes', titleIsOwn: true, visibility: 'public' }, null);
  return { hub, ada, sourceId };
}

function idsOf(hub: Hub, viewer: Viewer, view: View = { kind: 'unread' }): number[] {
  return listView(hub.handle, viewer, view, { limit: 5_000 }).items.map(({ id }) => id);
}

test('a new post reaches 32 followers with the transaction that stores it, and in steps all others', async (t) => {
  const { hub, sourceId } = await hubWithAccounts(t, 100);
  for (let id = 2; id <= 100; id++) followSource(hub.handle, viewerOf(id), sourceId);
  const posts = addPosts(hub, sourceId, 3);

  const reached = () => Array.from({ length: 99 }, (_, n) => idsOf(hub, viewerOf(n + 2)).length);
  assert.deepEqual(reached(), [...Array(32).fill(3), ...Array(67).fill(0)]);
  entries(hub.handle).setRead(90, posts.slice(0, 1), true);
  const step = () => hub.handle.db.write('late entries', () => addLateEntries(hub.handle, 50));
  assert.equal(step(), 50);
  assert.ok(reached().some((seen) => seen === 0), 'not all at once');
  while (step() === 50);
  assert.deepEqual(reached(), Array.from({ length: 99 }, (_, n) => (n + 2 === 90 ? 2 : 3)), 'what was read meanwhile stays so');
  assert.equal(step(), 0);
  assert.deepEqual([countRows(hub, 'entries_late'), countRows(hub, 'entries')], [0, 297]);
});

test('of a large source a new follower has a thousand posts at once, and soon all, of which the newest 30 are unread', async (t) => {
  const { hub, sourceId } = await hubWithAccounts(t, 2);
  const posts = addPosts(hub, sourceId, 2_600);
  followSource(hub.handle, BOB, sourceId);
  const all = () => idsOf(hub, BOB, { kind: 'all' }).length;
  assert.deepEqual([all(), idsOf(hub, BOB)], [1_000, posts.slice(-30).reverse()]);

  const [late] = addPosts(hub, sourceId, 1, () => ({ publishedAt: 10_000 }));
  hub.handle.db.write('settle', () => settleEntries(hub.handle, 900));
  assert.equal(all(), 1_901);
  await hub.work(DAY / 1000);
  assert.deepEqual([all(), idsOf(hub, BOB)], [2_601, [late, ...posts.slice(-30).reverse()]]);
  unfollowSource(hub.handle, BOB, sourceId);
  assert.deepEqual([all(), countRows(hub, 'entries')], [0, 1_601]);
  await hub.work(DAY / 1000);
  assert.deepEqual([countRows(hub, 'entries'), countRows(hub, 'entries_due')], [0, 0]);
});

test('a source that is hidden, lost or let go leaves the lists at once, and comes back as it was', async (t) => {
  const { hub, ada, sourceId } = await hubWithAccounts(t, 2);
  const [first, second, third] = addPosts(hub, sourceId, 3) as [number, number, number];
  followSource(hub.handle, BOB, sourceId);
  entries(hub.handle).setRead(2, [first], true);
  entries(hub.handle).star(2, [second]);
  const lists = () => [idsOf(hub, BOB), idsOf(hub, BOB, { kind: 'all' }), idsOf(hub, BOB, { kind: 'starred' })];
  const whole = [[third, second], [third, second, first], [second]];

  followSource(hub.handle, BOB, sourceId, { hideGlobally: true });
  assert.deepEqual(lists(), [[], [], [second]]);
  assert.deepEqual(idsOf(hub, BOB, { kind: 'unread', sourceId }), [third, second]);
  followSource(hub.handle, BOB, sourceId, { hideGlobally: false });
  assert.deepEqual(lists(), whole);

  await sendJson(ada, 'PATCH', `/api/sources/${sourceId}`, { visibility: 'private' });
  assert.deepEqual(lists(), [[], [], []]);
  const [fourth] = addPosts(hub, sourceId, 1, () => ({ publishedAt: 9 }));
  await sendJson(ada, 'PATCH', `/api/sources/${sourceId}`, { visibility: 'public' });
  assert.deepEqual(lists(), [[fourth, third, second], [fourth, third, second, first], [second]]);

  unfollowSource(hub.handle, BOB, sourceId);
  assert.deepEqual(lists(), [[], [], [second]]);
  followSource(hub.handle, BOB, sourceId);
  assert.deepEqual(lists()[0], [fourth, third, second]);
});

test('who is no longer an administrator loses the private sources of others from all lists', async (t) => {
  const { hub, ada, sourceId } = await hubWithAccounts(t, 2);
  await sendJson(ada, 'PATCH', `/api/sources/${sourceId}`, { visibility: 'private' });
  setAccount(hub, 'member2', { role: 'admin' });
  followSource(hub.handle, viewerOf(2, 'admin'), sourceId);
  const [post] = addPosts(hub, sourceId, 1);
  assert.deepEqual(idsOf(hub, viewerOf(2, 'admin')), [post]);
  setAccount(hub, 'member2', { role: 'member' });
  assert.deepEqual(idsOf(hub, BOB), [], 'before anything is settled');
  hub.handle.db.write('settle', () => settleEntries(hub.handle, 100));
  assert.deepEqual(rowsOf(hub, 'entries')[0]?.map((row) => 'place' in row && row.place), [0]);
});

test('a source with many followers changes hands or goes private in steps, in which nobody sees it', async (t) => {
  const { hub, ada, sourceId } = await hubWithAccounts(t, 60);
  const posts = addPosts(hub, sourceId, 40);
  for (let id = 2; id <= 60; id++) followSource(hub.handle, viewerOf(id), sourceId);
  setAccount(hub, 'member2', { role: 'admin' });
  const due = () => countRows(hub, 'entries_due');

  changeOwnerOf(hub, sourceId, 2);
  assert.equal(due(), 0, 'whose a public source is changes nobody’s lists');
  changeOwnerOf(hub, sourceId, 1);
  await sendJson(ada, 'PATCH', `/api/sources/${sourceId}`, { visibility: 'private' });
  assert.ok(due() > 30, `${due()} follows wait`);
  for (const id of [3, 60]) assert.deepEqual(idsOf(hub, viewerOf(id), { kind: 'all' }), []);
  while (hub.handle.db.write('settle', () => settleEntries(hub.handle, 100)) === 100);
  assert.equal(due(), 0);
  assert.equal(idsOf(hub, viewerOf(2, 'admin'), { kind: 'all' }).length, posts.length);
});

test('when posts were read is forgotten after READING_HISTORY_RETENTION_DAYS, but not that they were', async (t) => {
  const { hub, sourceId } = await hubWithAccounts(t, 2, { READING_HISTORY_RETENTION_DAYS: '7' });
  followSource(hub.handle, BOB, sourceId);
  const [read, unread, late] = addPosts(hub, sourceId, 3) as [number, number, number];
  entries(hub.handle).setRead(2, [read], true);
  entries(hub.handle).setRead(2, [unread], false);
  hub.passTime(7 * DAY);
  entries(hub.handle).setRead(2, [late], true);
  hub.passTime(1);

  assert.deepEqual([forgetReadTimes(hub.handle, 10), forgetReadTimes(hub.handle, 10)], [1, 0]);
  assert.deepEqual(entries(hub.handle).marksOf(2, 0, 10).map(({ postId, markedAt }) => [postId, markedAt > 0]),
    [[read, false], [unread, true], [late, true]]);
  assert.deepEqual(idsOf(hub, BOB), [unread]);
  unfollowSource(hub.handle, BOB, sourceId);
  followSource(hub.handle, BOB, sourceId);
  assert.deepEqual(idsOf(hub, BOB), [unread], 'also after unfollowing');
});

test('lists keep so many posts of each source and account, the newest, and whatever is starred or muted', async (t) => {
  const { hub, sourceId } = await hubWithAccounts(t, 3);
  const other = sources(hub.handle).create(
    { ownerId: 1, kind: 'native', title: 'More', titleIsOwn: true, visibility: 'public' }, null);
  for (const id of [sourceId, other]) for (const viewer of [BOB, viewerOf(3)]) followSource(hub.handle, viewer, id);
  const [ofFirst, ofOther] = [addPosts(hub, sourceId, 12), addPosts(hub, other, 9)];
  entries(hub.handle).star(2, ofFirst.slice(0, 1));
  const trim = (most: { ofSource: number; ofAccount: number }) => {
    while (hub.handle.db.write('trim', () => trimEntries(hub.handle, 2, most)) === 2);
    return [BOB, viewerOf(3)].map((viewer) => idsOf(hub, viewer, { kind: 'all' }).toSorted((a, b) => a - b));
  };

  const newest = [...ofFirst.slice(-10), ...ofOther];
  assert.deepEqual(trim({ ofSource: 10, ofAccount: 100 }), [[ofFirst[0], ...newest], newest]);
  assert.deepEqual(trim({ ofSource: 10, ofAccount: 15 }), [[ofFirst[0], ...newest.slice(-14)], newest.slice(-15)]);
  const states = entries(hub.handle).statesOf(BOB, [...ofFirst, ...ofOther]).filter(({ isRead }) => isRead === 1);
  assert.deepEqual(states.map(({ id }) => id), [...ofFirst.slice(1), ...ofOther].slice(0, -14), 'the others count as read');
});

test('a post that lists have left is in them again once it is starred or marked, and whole lists mark it', async (t) => {
  const { hub, sourceId } = await hubWithAccounts(t, 2);
  followSource(hub.handle, BOB, sourceId);
  const posts = addPosts(hub, sourceId, 9);
  const [first, second] = posts as [number, number];
  hub.handle.db.write('trim', () => trimEntries(hub.handle, 100, { ofSource: 5, ofAccount: 100 }));
  setStar(hub.handle, BOB, first, true);
  setRead(hub.handle, BOB, second, false);

  assert.deepEqual(idsOf(hub, BOB, { kind: 'all' }), [...posts.slice(-5).reverse(), second, first]);
  assert.deepEqual(idsOf(hub, BOB), [...posts.slice(-5).reverse(), second]);
  assert.equal((await markRead(hub.handle, BOB, { all: true })).marked, 6);
  assert.deepEqual(idsOf(hub, BOB), []);
  setStar(hub.handle, BOB, first, false);
  assert.deepEqual(idsOf(hub, BOB, { kind: 'all' }), [...posts.slice(-5).reverse(), second, first]);
});

test('a post of an unfollowed source leaves no entry when its star goes', async (t) => {
  const { hub, sourceId } = await hubWithAccounts(t, 2);
  const [post = NaN] = addPosts(hub, sourceId, 1);
  setStar(hub.handle, BOB, post, true);
  assert.deepEqual([countRows(hub, 'entries'), idsOf(hub, BOB, { kind: 'starred' })], [1, [post]]);
  setStar(hub.handle, BOB, post, false);
  assert.equal(countRows(hub, 'entries'), 0);
});

test('posts of a source with many followers get a new time, and a row, in steps as well', async (t) => {
  const { hub, sourceId } = await hubWithAccounts(t, 60);
  const other = sources(hub.handle).create(
    { ownerId: 1, kind: 'native', title: 'More', titleIsOwn: true, visibility: 'public' }, null);
  for (let id = 2; id <= 60; id++) for (const source of [sourceId, other]) followSource(hub.handle, viewerOf(id), source);
  const [first = NaN, second = NaN] = addPosts(hub, sourceId, 2);
  const [double = NaN] = addPosts(hub, other, 1, () => ({ publishedAt: 5 }));
  const settled = () => {
    while (hub.handle.db.write('late entries', () => addLateEntries(hub.handle, 50)) === 50);
    return idsOf(hub, viewerOf(60));
  };
  assert.deepEqual(settled(), [double, second, first]);
  publishAt(hub, first, 9);
  for (const [id, source] of [[second, sourceId], [double, other]] as const) {
    links(hub.handle).put({ id, sourceId: source, isNew: true }, Buffer.from('one link'));
  }
  assert.deepEqual(settled(), [first, second]);
});

test('a removed source takes its entries along, some in each step', async (t) => {
  const { hub, sourceId } = await hubWithAccounts(t, 10);
  for (let id = 2; id <= 10; id++) followSource(hub.handle, viewerOf(id), sourceId);
  followSource(hub.handle, ADA, sourceId);
  addPosts(hub, sourceId, 20);
  assert.equal(countRows(hub, 'entries'), 200);
  assert.deepEqual([dropEntriesOf(hub.handle, sourceId, 150), dropEntriesOf(hub.handle, sourceId, 150)], [150, 50]);
  assert.equal(countRows(hub, 'entries'), 0);
});

test('a source with a mute rule and muted posts goes in one statement, and nothing counts it anew', async (t) => {
  const { hub, sourceId } = await hubWithAccounts(t, 2);
  followSource(hub.handle, BOB, sourceId);
  const posts = addPosts(hub, sourceId, 3);
  const ruleId = rules(hub.handle).add(2, { match: 'x', act: 'mute', sourceId, folder: null });
  mutedPosts(hub.handle).mute(posts.map((id) => [2, id, ruleId]));
  removeRows(hub, 'unread_counts', 'sources');
  assert.deepEqual([countRows(hub, 'entries'), countRows(hub, 'unread_counts')], [0, 0]);
});

test('the numbers of unread posts are right after whatever adds, changes or removes entries', async (t) => {
  const { hub, ada, sourceId } = await hubWithAccounts(t, 40);
  for (let id = 2; id <= 40; id++) followSource(hub.handle, viewerOf(id), sourceId);
  const posts = addPosts(hub, sourceId, 12);
  const [first = NaN, second = NaN, third = NaN] = posts;
  const ruleId = rules(hub.handle).add(2, { match: 'x', act: 'mute', sourceId: null, folder: null });
  const acts: (() => unknown)[] = [
    () => addLateEntries(hub.handle, 1_000),
    () => setRead(hub.handle, BOB, first, true),
    () => setRead(hub.handle, BOB, first, true),
    () => mutedPosts(hub.handle).mute([[2, first, ruleId], [2, second, ruleId]]),
    () => setRead(hub.handle, BOB, second, true),
    () => mutedPosts(hub.handle).unmute({ accountId: 2, ruleId, limit: 9 }),
    () => setRead(hub.handle, BOB, second, false),
    async () => await undoMark(hub.handle, BOB, (await markRead(hub.handle, BOB, { all: true })).undo),
    () => unfollowSource(hub.handle, viewerOf(3), sourceId),
    () => followSource(hub.handle, viewerOf(3), sourceId),
    () => ada.delete(`/api/posts/${third}`),
    () => trimEntries(hub.handle, 100, { ofSource: 5, ofAccount: 100 }),
    () => removeRows(hub, 'rules'),
    () => hub.work(),
  ];
  for (const act of acts) {
    await act();
    assertUnreadCounted(hub);
  }
  assert.equal(rowsOf(hub, 'unread_counts')[0]?.length, 39, 'one for each follower');
  removeRows(hub, 'unread_counts'); // as a rescue of a damaged database may lose them
  assert.equal(recountUnread(hub.handle, 1_000), 390);
  assertUnreadCounted(hub);
  dropEntriesOf(hub.handle, sourceId, 1_000);
  assertUnreadCounted(hub);
});
