// Protects readers from tracking parameters in links, and hubs from posts that arrive twice when the list grows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFeed } from '../../../src/features/feeds/parse-feed.ts';
import { feedPosts } from '../../../src/features/posts/feed-posts-store.ts';
import { preparePosts, storePosts, type PreparedPosts } from '../../../src/features/posts/ingest-posts.ts';
import { addFeed, itemsAt } from '../../support/accounts.ts';
import { hubWith } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { serving } from '../../support/feeds.ts';

const GIVEN = 'https://blog.test/1?id=3&ysclid=2&utm_source=x&ref=www.blog.test';
/** The id that version 1.0.0 gave a post without an id of its publisher. */
const KNOWN_AS = 'https://blog.test/1?id=3&ysclid=2&ref=www.blog.test';
const CLEAN = 'https://blog.test/1?id=3';

const document = (about = ''): string => `<rss version="2.0"><channel><title>Owls</title><item><title>One</title>
  <link>${GIVEN.replaceAll('&', '&amp;')}</link>${about}<pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate>
  <description><![CDATA[<a href="/2?ysclid=4&amp;q=5">Two</a>]]></description></item></channel></rss>`;

const itemsOf = (about?: string) =>
  parseFeed(Buffer.from(document(about)), { url: 'https://blog.test/feed', contentType: null }).items;

test('links of a post and in a post lose tracking parameters; the post keeps its id', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, { '/feed': serving(() => document()) });
  await addFeed(ada, `${origin.url}/feed`);
  const [post] = await itemsAt<{ url: string; contentHtml: string }>(ada, '/api/posts');

  assert.equal(post?.url, CLEAN);
  assert.match(post.contentHtml, /href="https:\/\/blog\.test\/2\?q=5"/);
  assert.deepEqual(itemsOf().map(({ guid }) => guid), [KNOWN_AS]);
});

test('a post that an earlier version stored with parameters stays one post when its id changes', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, { '/feed': serving(() => document().replace(/<item>.*<\/item>/s, '')) });
  const sourceId = await addFeed(ada, `${origin.url}/feed`);
  const before = await preparePosts(hub.handle, null, itemsOf());
  const asStoredBefore: PreparedPosts = before.map((post) =>
    ({ ...post, prepared: { ...post.prepared, url: KNOWN_AS } }));
  const storing = { kind: 'feed', arrived: () => {}, mutedFor: () => 0 };
  hub.db.transaction('posts', () => storePosts(hub.handle, sourceId, storing, asStoredBefore))();
  const renamed = await preparePosts(hub.handle, sourceId, itemsOf('<guid isPermaLink="false">new</guid>'));
  const moved = feedPosts(hub.handle).findMoved(sourceId, renamed, ['new'], false);
  hub.db.transaction('posts', () => {
    feedPosts(hub.handle).followMoved(sourceId, moved);
    storePosts(hub.handle, sourceId, storing, renamed);
  })();

  const posts = await itemsAt<{ url: string }>(ada, '/api/posts');
  assert.deepEqual(posts.map(({ url }) => url), [CLEAN]);
});
