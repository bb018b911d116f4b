// Protects lists of long posts: they are read without their contents, and one answer holds 512 KiB of contents at most.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { posts } from '../../src/features/posts/post-store.ts';
import { hubWithOwnPosts } from '../support/own-posts.ts';
import type { Hub } from '../support/hub.ts';

type Page = { items: { id: number; title: string; contentHtml: string }[]; next: string | null };

/** A hub with these posts of a public source, the newest last, each with so many bytes of content. */
async function hubWithLongPosts(t: Parameters<typeof hubWithOwnPosts>[0], bytes: number[]) {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const put = hub.db.prepare<[number, string, number, string]>('put', `
    INSERT INTO posts (source_id, guid, is_public, owner_id, title, summary, content_hash, published_at, updated_at,
                       created_at, content_html) VALUES (?, ?, 1, 1, 'T', 'S', '', ?, 0, 0, ?)`);
  bytes.forEach((length, index) => put.run(sourceId, `g${index}`, index, 'x'.repeat(length)));
  return { hub, ada, sourceId };
}

async function pagesOf(hub: Hub, query: string): Promise<number[][]> {
  const pages: number[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer = await hub.anybody.get(`/api/posts?${query}&cursor=${cursor}`);
    const { items, next }: Page = answer.json<Page>();
    pages.push(items.map(({ contentHtml }) => contentHtml.length));
    cursor = next;
  }
  return pages;
}

test('no list reads contents: each row of it is small, and contents stand behind all that it reads', async (t) => {
  const { hub, sourceId } = await hubWithLongPosts(t, [0, 1_000_000, 2_000_000]);
  const { newest } = posts(hub.handle);
  const lists = [
    newest({ viewerId: 1, limit: 9 }),
    newest({ viewerId: null, limit: 9 }),
    newest({ viewerId: 1, sourceId, limit: 9 }),
    posts(hub.handle).listed([3, 2, 1]),
  ];
  for (const rows of lists) {
    assert.deepEqual(rows.map(({ contentBytes }) => contentBytes), [2_000_000, 1_000_000, 0]);
    for (const row of rows) assert.ok(JSON.stringify(row).length < 1_000, Object.keys(row).join(' '));
  }
  const columns = hub.db.prepare<[], { name: string }>('columns', `SELECT name FROM pragma_table_info('posts')`).all();
  const names = columns.map(({ name }) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()));
  const behind = names.slice(names.indexOf('contentHtml'));
  const read = lists.flatMap((rows) => Object.keys(rows[0] ?? {})).filter((name) => behind.includes(name));
  assert.deepEqual(read, [], 'these stand behind content_html: put them into post_details (migrations/README.md)');
});

test('an answer of the API ends before 512 KiB of contents, after one post at least, and the next goes on', async (t) => {
  const KIB = 1024;
  const { hub } = await hubWithLongPosts(t, [10, 700 * KIB, 1, 200 * KIB, 200 * KIB, 112 * KIB, 20 * KIB]);

  const expected = [[20 * KIB, 112 * KIB, 200 * KIB], [200 * KIB, 1], [700 * KIB], [10]];
  assert.deepEqual(await pagesOf(hub, 'limit=100'), expected);
  assert.deepEqual(await pagesOf(hub, 'limit=1'), expected.flat().map((length) => [length]));
  assert.equal((await hub.anybody.page('/')).text.match(/<article/g)?.length, 7, 'pages show titles and summaries');
});

test('files count as contents do: an answer of the API ends before two thousand of them, and a feed leaves out the rest', async (t) => {
  const { hub } = await hubWithLongPosts(t, [10, 10, 10, 10]);
  const file = hub.db.prepare<[{ n: number; published: number }]>('file', `
    INSERT INTO attachments (post_id, kind, filename, position, remote_url, created_at)
    SELECT id, 'remote', 'f', @n, 'https://a.example/' || @n, 0 FROM posts WHERE published_at = @published`);
  for (let published = 0; published < 4; published++) {
    for (let n = 0; n < 900; n++) hub.db.write('file', () => file.run({ n, published }));
  }

  assert.deepEqual(await pagesOf(hub, 'limit=100'), [[10], [10], [10], [10]]);
  const { items } = (await hub.anybody.get('/posts.json')).json<{ items: { attachments: [] }[] }>();
  assert.deepEqual(items.map(({ attachments }) => attachments.length), [900, 900, 0, 0]);
});

test('a feed of very long posts gives those without their contents that have no room beside newer ones', async (t) => {
  const { hub } = await hubWithLongPosts(t, [300_000, 0, 400_000, 400_000, 400_000]);

  type Item = { content_html?: string; content_text?: string };
  const { items } = (await hub.anybody.get('/posts.json')).json<{ items: Item[] }>();
  const contents = items.map(({ content_html: html, content_text: text }) => html?.length ?? text);
  assert.deepEqual(contents, [400_000, 400_000, 'S', 0, 'S']);
  const atom = (await hub.anybody.get('/posts.atom')).text;
  const counts = ['<entry>', '<content', '<summary>'].map((tag) => atom.split(tag).length - 1);
  assert.deepEqual(counts, [5, 3, 5]);
});
