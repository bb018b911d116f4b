// Protects long lists: searches in them, what an unread list shows once it is open, and the newest post of each source.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { searchIndex } from '../../../src/features/posts/search-index-store.ts';
import { followSource } from '../../../src/features/reading/follow-source.ts';
import { markRead, setRead, setStar } from '../../../src/features/reading/mark-read.ts';
import { listView, neighbours, type View } from '../../../src/features/reading/reading-list.ts';
import { DAY, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { DEFAULT_PREFERENCES } from '../../../src/features/hub/preferences.ts';
import type { Viewer } from '../../../src/platform/http/router.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { addPosts } from '../../support/stored-posts.ts';

const WORD = 'owl';
const isFound = (id: number): boolean => id % 3 !== 0;

/** Bob, who follows a source with so many posts, all of them unread and a minute old. */
async function reader(t: TestContext, count: number) {
  const { hub, sourceId } = await hubWithOwnPosts(t);
  await hub.person('bob');
  const account = accounts(hub.handle).findByName('bob') ?? assert.fail();
  const viewer: Viewer = { ...account, via: 'session', credentialId: 1, preferences: DEFAULT_PREFERENCES };
  followSource(hub.handle, viewer, sourceId);
  addPosts(hub, sourceId, count, (n) => ({ publishedAt: hub.now() - MINUTE + n }));
  const ids = (view: View): number[] => listView(hub.handle, viewer, view, { limit: 100 }).items.map(({ id }) => id);
  return { hub, viewer, ids };
}

test('a search of many posts finds what is unread, starred or in the list, also where only old ones are unread', async (t) => {
  const [count, newest] = [1_500, 200];
  const { hub, viewer, ids } = await reader(t, count);
  const all = Array.from({ length: count }, (_, below) => count - below);
  for (const id of all) {
    const post = { id, sourceId: 1, publishedAt: hub.now() - MINUTE + id, searchKey: null, isPublic: 1, ownerId: 1 };
    searchIndex(hub.handle).put({ ...post, searchTitle: '', searchText: isFound(id) ? `an ${WORD}` : 'a newt' });
  }
  await markRead(hub.handle, viewer, { posts: all.slice(0, newest) });
  for (const id of all) setStar(hub.handle, viewer, id, true);
  const found = all.filter(isFound);

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
