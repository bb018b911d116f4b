import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { madeUpWords } from './made-up-words.ts';

/** node feeds-peer.ts <seed> <items>: answers each path with a feed of its own of new posts, the same at each request. */
const [seed = '', items = ''] = process.argv.slice(2);
const { words, title } = madeUpWords(Number(seed));
const feeds = new Map<string, string>();

const server = createServer((req, res) => {
  const name = req.url ?? '';
  const feed = feeds.get(name) ?? feedOf(name);
  feeds.set(name, feed);
  res.writeHead(200, { 'content-type': 'application/rss+xml' }).end(feed);
});
server.listen(0, '0.0.0.0', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('SIGTERM', () => process.exit(0));

function feedOf(name: string): string {
  const posts = Array.from({ length: Number(items) }, (_, index) => `<item><guid isPermaLink="false">${name}/${index}</guid>
    <title>${title(8)}</title><link>https://example.org${name}/${index}</link>
    <description>&lt;p&gt;${words(60)}. &lt;a href="/x"&gt;${words(3)}&lt;/a&gt; ${words(60)}&lt;/p&gt;</description></item>`);
  return `<rss version="2.0"><channel><title>Feed</title><link>https://example.org/</link>${posts.join('')}</channel></rss>`;
}
