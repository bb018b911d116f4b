// Protects old posts: what their feed no longer has goes, but nothing that anybody keeps, reads late or wrote here.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { entries } from '../../../src/features/reading/entry-store.ts';
import { previewRetention } from '../../../src/features/retention/remove-old-rows.ts';
import { DAY, HOUR } from '../../../src/platform/clock.ts';
import { addNotes, addPost, itemsAt, sendJson } from '../../support/accounts.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import type { Hub } from '../../support/hub.ts';
import { addPosts, storedPosts } from '../../support/stored-posts.ts';

const ITEMS: Item[] = ['a', 'b', 'c', 'd', 'e'].map((guid) => ({ guid, date: 'Tue, 01 Jan 2030 10:00:00 GMT' }));

/** Ada's feed of five posts, all read, of which only the last is still in it after a day; and its posts by their ids. */
async function fadingFeed(t: TestContext, env: Record<string, string> = { POST_RETENTION_DAYS: '7' }) {
  const items = [...ITEMS];
  const made = await followedFeed(t, items, env);
  const { hub, ada, feed } = made;
  const show = (...guids: string[]): void => void (feed.handler = serving(() =>
    rss('Owls', ITEMS.filter(({ guid }) => guids.includes(guid ?? '')))));
  const id = Object.fromEntries(storedPosts(hub).map((post) => [post.guid, post.id])) as Record<string, number>;
  await ada.post('/api/reading/mark-read', { all: true });
  const sync = async (): Promise<void> => {
    await hub.work(DAY);
  };
  show('e');
  await sync();
  return { ...made, show, sync, id };
}

function guids(hub: Hub): string {
  return storedPosts(hub).map(({ guid }) => guid).sort().join('');
}

function gone(hub: Hub): number {
  return storedPosts(hub).filter(({ leftAt }) => leftAt !== null).length;
}

test('an old post that its feed no longer has goes after so many days, and the feed cannot bring it back', async (t) => {
  const { hub, ada, show, sync } = await fadingFeed(t);

  await hub.work(5 * DAY);
  assert.equal(guids(hub), 'abcde');
  assert.equal(previewRetention(hub.handle).find(({ kind }) => kind === 'posts')?.rows, 0);
  hub.passTime(2 * DAY);
  assert.equal(previewRetention(hub.handle).find(({ kind }) => kind === 'posts')?.rows, 4);
  await hub.work();
  assert.equal(guids(hub), 'e', 'what the feed has stays, however old it is');
  const [record] = await itemsAt(ada, '/api/admin/audit?act=retention.applied');
  assert.deepEqual(record?.['detail'], { posts: 4 });
  show('a', 'b', 'e');
  await sync();
  assert.equal(guids(hub), 'e');
});

test('nothing goes that anybody has starred, has yet to read, or has marked as unread, nor what comes back in time', async (t) => {
  const { hub, show, sync, id } = await fadingFeed(t);
  const [bob, carol] = [await hub.person('bob'), await hub.person('carol')];
  await sendJson(bob, 'PUT', `/api/posts/${id['a']}/star`, {});
  await sendJson(carol, 'PUT', `/api/posts/${id['b']}/read`, {});
  await carol.delete(`/api/posts/${id['b']}/read`);
  show('c', 'e');
  await sync();

  await sync();
  await hub.work(8 * DAY);
  assert.equal(guids(hub), 'abce', 'd is read by all and kept by nobody');
  await bob.delete(`/api/posts/${id['a']}/star`);
  await sendJson(carol, 'PUT', `/api/posts/${id['b']}/read`, {});
  await sendJson(carol, 'PUT', '/api/sources/1/follow', {});
  show('e');
  await sync();
  assert.equal(guids(hub), 'ace', 'carol follows it now, and what she has not read is unread for her');
  await carol.post('/api/reading/mark-read', { all: true });
  await sync();
  assert.equal(guids(hub), 'e');
});

test('posts that were written here, and all where nothing is set, stay for ever', async (t) => {
  const { hub, ada, sync } = await fadingFeed(t, {});
  await addPost(ada, await addNotes(ada));
  hub.passTime(5000 * DAY);
  await sync();
  assert.deepEqual([storedPosts(hub).length, gone(hub)], [6, 4]);
});

test('a document that was cut off, or is as before, or fails, says nothing of what is not in it', async (t) => {
  const { hub, show, sync, feed } = await fadingFeed(t);
  show('a', 'b', 'c', 'd', 'e');
  await sync();
  assert.equal(gone(hub), 0, 'they are back');

  feed.handler = serving(() => rss('Owls', ITEMS.slice(0, 2)).replace(/<\/channel>[^]*/, ''));
  await sync();
  assert.equal(gone(hub), 0);
  feed.handler = serving(() => 'no feed at all');
  await sync();
  await hub.work(HOUR);
  assert.equal(gone(hub), 0);
});

test('very many old posts go in small steps, past those that are kept', async (t) => {
  const { hub } = await fadingFeed(t);
  const old = addPosts(hub, 1, 600, () => ({ leftAt: 1 }));
  const starred = old.filter((id) => id % 3 === 0);
  entries(hub.handle).setRead(1, old, true);
  entries(hub.handle).star(1, starred);

  await hub.work(DAY);

  assert.deepEqual(storedPosts(hub).map(({ id }) => id).filter((id) => old.includes(id)), starred);
});
