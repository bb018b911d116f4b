// Protects the list of unread posts: complete, and bounded in what one page looks through.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addNotes, addPost, numberIn } from './support/accounts.ts';
import type { Client } from './support/client.ts';
import { startHub, type Hub } from './support/hub.ts';

type Listed = { items: { id: number }[]; next: string | null };

/** More than is looked through for one page. */
const MANY = 50_000;

/** A hub with so many public posts of ada, one a second back from now, all of which bob has read. */
async function hubWithReadPosts(t: TestContext, count: number) {
  const hub = await startHub(t);
  const ada = await hub.person('ada');
  const bob = await hub.person('bob');
  const sourceId = await addNotes(ada);
  hub.db.exec(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      INSERT INTO posts (id, source_id, owner_id, guid, is_public, title, content_html, summary, content_hash,
                         published_at, updated_at, created_at)
      SELECT i, ${sourceId}, 1, i, 1, 'x', 'x', 'x', i, ${hub.now()} - i * 1000, 0, 0 FROM n;
    INSERT INTO reading_history (account_id, post_id, read_at) SELECT 2, id, 0 FROM posts`);
  return { hub, bob, sourceId };
}

function unread({ db }: Hub, id: number): void {
  db.exec(`DELETE FROM reading_history WHERE account_id = 2 AND post_id = ${id}`);
}

/** All pages of a list, each as the ids on it. */
async function pagesOf(client: Client, path: string): Promise<number[][]> {
  const pages: number[][] = [];
  for (let next: string | null = ''; next !== null;) {
    const answer = await client.get(`${path}&cursor=${next}`);
    assert.equal(answer.status, 200, answer.text);
    const listed: Listed = answer.json<Listed>();
    pages.push(listed.items.map(({ id }) => id));
    next = listed.next;
  }
  return pages;
}

test('what is unread below very many read posts is found page by page, each once', async (t) => {
  const { hub, bob, sourceId } = await hubWithReadPosts(t, MANY);
  const wanted = [3, 499, 500, 501, 502, 19_999, 20_499, 20_500, 20_501, 20_502, 40_000, MANY - 1, MANY];
  for (const id of wanted) unread(hub, id);

  for (const path of ['/api/posts?unread=1', `/api/posts?unread=1&source=${sourceId}`]) {
    for (const limit of [1, 2, 30]) {
      const pages = await pagesOf(bob, `${path}&limit=${limit}`);
      assert.deepEqual(pages.flat(), wanted, `${path} ${limit}`);
      assert.ok(pages.every((ids) => ids.length <= limit));
    }
  }
});

test('one’s own private posts come at their places in between, however many are read of either kind', async (t) => {
  const { hub, bob } = await hubWithReadPosts(t, MANY);
  const own = await addNotes(bob, 'Diary', 'private');
  const places = [0, 20_400, 20_600, 40_500, MANY + 1];
  const mine = [];
  for (const place of places) {
    const id = await addPost(bob, own);
    hub.db.exec(`UPDATE posts SET published_at = ${hub.now()} - ${place} * 1000 - 500 WHERE id = ${id}`);
    mine.push(id);
  }
  for (const id of [20_450, 20_550]) unread(hub, id);

  const [newest, before, after, later, oldest] = mine;
  for (const limit of [1, 3, 30]) {
    const pages = await pagesOf(bob, `/api/posts?unread=1&limit=${limit}`);
    assert.deepEqual(pages.flat(), [newest, before, 20_450, 20_550, after, later, oldest], `${limit}`);
  }
});

test('one page looks through a part of very many read posts only, and the page says how to go on', async (t) => {
  const { hub, bob } = await hubWithReadPosts(t, MANY);

  const first = (await bob.get('/api/posts?unread=1')).json<Listed>();
  assert.deepEqual(first.items, []);
  assert.ok(first.next !== null);
  const page = await bob.page('/?unread=1');
  assert.match(page.text, /The newest posts are all read/);
  assert.match(page.text, /rel="next" href="\/\?unread=1&amp;cursor=/);
  assert.deepEqual(await pagesOf(bob, '/api/posts?unread=1'), [[], [], []]);
  hub.db.exec('DELETE FROM posts WHERE id > 20000');
  assert.match((await bob.page('/?unread=1')).text, /You have read everything/);
  assert.equal(numberIn(hub, 'SELECT COUNT(*) FROM posts'), 20_000);
});
