import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { madeUpWords } from './made-up-words.ts';

/**
 * node feeds-peer.ts <seed> <items>: answers each path with a feed of its own of new posts, the same at each request.
 * After a request to `/published/N`, each feed has only the first N of its posts. An unchanged feed is answered with 304.
 */
const [seed = '', items = ''] = process.argv.slice(2);
const { words, title } = madeUpWords(Number(seed));
const feeds = new Map<string, string[]>();
let published = Infinity;

const server = createServer((req, res) => {
  const name = req.url ?? '';
  const [, count] = /^\/published\/(\d+)$/.exec(name) ?? [];
  if (count !== undefined) published = Number(count);
  const posts = feeds.get(name) ?? postsOf(name);
  feeds.set(name, posts);
  const etag = `"${name} ${published}"`;
  if (req.headers['if-none-match'] === etag) return void res.writeHead(304, { etag }).end();
  res.writeHead(200, { 'content-type': 'application/rss+xml', etag }).end(feedOf(posts.slice(0, published)));
});
server.listen(0, '0.0.0.0', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('SIGTERM', () => process.exit(0));

function postsOf(name: string): string[] {
  return Array.from({ length: Number(items) }, (_, index) => `<item><guid isPermaLink="false">${name}/${index}</guid>
    <title>${title(8)}</title><link>https://example.org${name}/${index}</link>
    <description>&lt;p&gt;${words(60)}. &lt;a href="/x"&gt;${words(3)}&lt;/a&gt; ${words(60)}&lt;/p&gt;</description></item>`);
}

function feedOf(posts: string[]): string {
  return `<rss version="2.0"><channel><title>Feed</title><link>https://example.org/</link>${posts.join('')}</channel></rss>`;
}
