// Protects old posts: what their feed no longer has goes, but nothing that anybody keeps, reads late or wrote here.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { previewRetention } from '../../../src/features/retention/remove-old-rows.ts';
import { DAY, HOUR } from '../../../src/platform/clock.ts';
import { addNotes, addPost, itemsAt, numberIn, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import type { Hub } from '../../support/hub.ts';

const ITEMS: Item[] = ['a', 'b', 'c', 'd', 'e'].map((guid) => ({ guid, date: 'Tue, 01 Jan 2030 10:00:00 GMT' }));

/** Ada's feed of five posts, all read, of which only the last is still in it after a day; and its posts by their ids. */
async function fadingFeed(t: TestContext, env: Record<string, string> = { POST_RETENTION_DAYS: '7' }) {
  const items = [...ITEMS];
  const made = await followedFeed(t, items, env);
  const { hub, ada, feed } = made;
  const show = (...guids: string[]): void => void (feed.handler = serving(() =>
    rss('Owls', ITEMS.filter(({ guid }) => guids.includes(guid ?? '')))));
  const id = Object.fromEntries(ITEMS.map(({ guid = '' }) => [guid,
    numberIn(hub, `SELECT id FROM posts WHERE guid = '${guid}'`)])) as Record<string, number>;
  await ada.post('/api/reading/mark-read', { all: true });
  const sync = async (): Promise<void> => {
    hub.passTime(DAY);
    await hub.work();
  };
  show('e');
  await sync();
  return { ...made, show, sync, id };
}

function guids(hub: Hub): string {
  const rows = hub.db.prepare<[], { guid: string }>('guids', 'SELECT guid FROM posts ORDER BY guid').all();
  return rows.map(({ guid }) => guid).join('');
}

function put(client: Client, path: string, value = {}) {
  return sendJson(client, 'PUT', path, value);
}

test('an old post that its feed no longer has goes after so many days, and the feed cannot bring it back', async (t) => {
  const { hub, ada, show, sync } = await fadingFeed(t);

  hub.passTime(5 * DAY);
  await hub.work();
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
  await put(bob, `/api/posts/${id['a']}/star`);
  await put(carol, `/api/posts/${id['b']}/read`);
  await carol.delete(`/api/posts/${id['b']}/read`);
  show('c', 'e');
  await sync();

  await sync();
  hub.passTime(8 * DAY);
  await hub.work();
  assert.equal(guids(hub), 'abce', 'd is read by all and kept by nobody');
  await bob.delete(`/api/posts/${id['a']}/star`);
  await put(carol, `/api/posts/${id['b']}/read`);
  await put(carol, '/api/sources/1/follow');
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
  assert.equal(numberIn(hub, 'SELECT COUNT(*) FROM posts'), 6);
  assert.equal(numberIn(hub, 'SELECT COUNT(*) FROM posts WHERE left_at IS NOT NULL'), 4);
});

test('a document that was cut off, or is as before, or fails, says nothing of what is not in it', async (t) => {
  const { hub, show, sync, feed } = await fadingFeed(t);
  const gone = (): number => numberIn(hub, 'SELECT COUNT(*) FROM posts WHERE left_at IS NOT NULL');
  show('a', 'b', 'c', 'd', 'e');
  await sync();
  assert.equal(gone(), 0, 'they are back');

  feed.handler = serving(() => rss('Owls', ITEMS.slice(0, 2)).replace(/<\/channel>[^]*/, ''));
  await sync();
  assert.equal(gone(), 0);
  feed.handler = serving(() => 'no feed at all');
  await sync();
  hub.passTime(HOUR);
  await hub.work();
  assert.equal(gone(), 0);
});

test('very many old posts go in small steps, past those that are kept', async (t) => {
  const { hub } = await fadingFeed(t);
  hub.db.exec(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
      INSERT INTO posts (source_id, owner_id, guid, is_public, title, content_html, summary, content_hash, published_at,
                         updated_at, created_at, left_at)
      SELECT 1, 1, 'old' || i, 1, 'x', 'x', 'x', 'x', i, i, i, 1 FROM n;
    INSERT INTO stars (account_id, post_id, source_id, published_at, starred_at)
      SELECT 1, id, 1, 1, 1 FROM posts WHERE guid LIKE 'old%' AND id % 3 = 0;
    UPDATE follows SET read_up_to = (SELECT MAX(id) FROM posts)`);

  hub.passTime(DAY);
  await hub.work();

  assert.equal(numberIn(hub, `SELECT COUNT(*) FROM posts WHERE guid LIKE 'old%'`), 200);
  assert.equal(numberIn(hub, `SELECT COUNT(*) FROM posts WHERE guid LIKE 'old%' AND id % 3 > 0`), 0);
});
