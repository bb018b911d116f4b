import type { TestContext } from 'node:test';
import { reply, startOrigin, type Origin, type OriginHandler } from './origin.ts';
import { png } from './sample-files.ts';

/** A publisher of a hundred feeds, and the list of another reader that names them. */
export type HundredFeeds = {
  origin: Origin;
  opml: string;
  titles: string[];
  /** Lets the feed in the middle answer, on which an import waits until then. */
  release: () => void;
};

const FEEDS = 100;
export const POSTS_OF_EACH = 3;
const HOUR = 3_600_000;

const FOLDERS = ['', 'News', 'News / Local', 'Science', 'Türkçe & more', '日本語'];
const NAMES = [
  'Kernel Notes', 'Tidvattnet', 'التيار اليومي', '雨の日記', 'Moss &amp; Lichen', 'Café de l’Étang', 'Новости порта',
];

type Post = { title: string; html: string; link: string; at: Date; id: string };

/**
 * One hundred feeds of four formats and seven scripts on one server, with pictures, code and tables in their posts, and
 * beside them what every old list has: a feed twice, one that is gone, a page without a feed, an address that is none.
 * The newest posts were published before `now`, one minute after the other.
 */
export async function startHundredFeeds(t: TestContext, now: number): Promise<HundredFeeds> {
  const routes: Record<string, OriginHandler> = {
    '/picture.png': reply(200, { 'content-type': 'image/png' }, png({ width: 640, height: 360 })),
    '/favicon.ico': reply(404, {}, 'no icon'),
    '/no-feed': reply(200, { 'content-type': 'text/html' }, '<title>Closed</title><p>We have moved on.'),
  };
  const story = reply(200, { 'content-type': 'text/html' }, '<title>A story</title><link rel="icon" href="data:,">');
  const missing = reply(404, {}, 'not found');
  const origin = await startOrigin(t, (request, response) => {
    const page = request.path.startsWith('/stories/') ? story : missing;
    (routes[request.path] ?? page)(request, response);
  });
  const titles = Array.from({ length: FEEDS }, (_, n) => `${NAMES[n % NAMES.length]} ${n}`);
  titles.forEach((title, n) => {
    const posts = Array.from({ length: POSTS_OF_EACH }, (_, index) => postOf(origin.url, title, n, index, now));
    const [type, write] = FORMATS[n % FORMATS.length] ?? ['', rss2];
    routes[`/${n}.xml`] = reply(200, { 'content-type': type }, write(title, posts));
  });
  const released = Promise.withResolvers<void>();
  const middle = routes['/50.xml'] ?? missing;
  routes['/50.xml'] = (request, response) => void released.promise.then(() => middle(request, response));
  return { origin, titles, opml: opmlOf(origin.url, titles), release: released.resolve };
}

function postOf(url: string, feed: string, n: number, index: number, now: number): Post {
  const id = `${n}-${index}`;
  const html = `<p>Post ${index} of ${feed}: the tide turned at word${n}x${index}.</p>
<p><img src="${url}/picture.png" alt="A picture" width="640" height="360"><script>document.title = 'ran'</script></p>
<pre><code>${'wide code '.repeat(40)}</code></pre><table><tr>${'<td>cell of a table</td>'.repeat(12)}</tr></table>
${'<p>One more paragraph, so that there is something to page through.</p>'.repeat(30)}`;
  const at = new Date(now - index * 30 * HOUR - n * 60_000);
  return { id, title: `Story ${id}`, html, link: `${url}/stories/${id}`, at };
}

const FORMATS: [type: string, write: (title: string, posts: Post[]) => string][] = [
  ['application/rss+xml', rss2], ['application/atom+xml', atom],
  ['application/feed+json', jsonFeed], ['text/xml', rss1],
];

function rss2(title: string, posts: Post[]): string {
  const items = posts.map(({ id, title, html, link, at }) => `<item><guid isPermaLink="false">${id}</guid>
<title>${title}</title><link>${link}</link><pubDate>${at.toUTCString()}</pubDate>
<description><![CDATA[${html}]]></description></item>`);
  return `<rss version="2.0"><channel><title>${title}</title><link>https://site.test/</link>
${items.join('')}</channel></rss>`;
}

function atom(title: string, posts: Post[]): string {
  const entries = posts.map(({ id, title, html, link, at }) => `<entry><id>tag:site.test,2030:${id}</id>
<title>${title}</title><link href="${link}"/><updated>${at.toISOString()}</updated>
<content type="html"><![CDATA[${html}]]></content></entry>`);
  return `<feed xmlns="http://www.w3.org/2005/Atom"><id>tag:site.test</id><title>${title}</title>
${entries.join('')}</feed>`;
}

function jsonFeed(title: string, posts: Post[]): string {
  return JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1', title: title.replace('&amp;', '&'),
    items: posts.map(({ id, title, html, link, at }) =>
      ({ id, title, url: link, content_html: html, date_published: at.toISOString() })),
  });
}

function rss1(title: string, posts: Post[]): string {
  const items = posts.map(({ title, html, link, at }) => `<item rdf:about="${link}"><title>${title}</title>
<link>${link}</link><dc:date>${at.toISOString()}</dc:date><description><![CDATA[${html}]]></description></item>`);
  return `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="https://site.test/"><title>${title}</title>
<link>https://site.test/</link><description>About</description></channel>${items.join('')}</rdf:RDF>`;
}

function opmlOf(url: string, titles: string[]): string {
  const line = (title: string, address: string): string => `<outline type="rss" text="${title}" xmlUrl="${address}"/>`;
  const feeds = Map.groupBy(titles.keys(), (n) => FOLDERS[n % FOLDERS.length] ?? '');
  const linesOf = (folder: string): string =>
    (feeds.get(folder) ?? []).map((n) => line(titles[n] ?? '', `${url}/${n}.xml`)).join('\n');
  const [, news = '', local = '', ...others] = FOLDERS;
  const rest = others.map((name) => `<outline text="${name.replace('&', '&amp;')}">${linesOf(name)}</outline>`);
  return `<?xml version="1.0"?><opml version="2.0"><head><title>From another reader</title></head><body>
${linesOf('')}<outline text="${news}">${linesOf(news)}<outline text="Local">${linesOf(local)}</outline></outline>
${rest.join('')}
${line('The same again', `${url}/0.xml`)}${line('Gone', `${url}/gone`)}${line('A page', `${url}/no-feed`)}
${line('A bookmarklet', 'javascript:alert(1)')}</body></opml>`;
}
