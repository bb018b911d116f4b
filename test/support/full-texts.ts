import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { addFeed } from './accounts.ts';
import type { Client } from './client.ts';
import { rss, serving, type Item } from './feeds.ts';
import { startHub } from './hub.ts';
import type { Stored } from './stored-rows.ts';
import { reply, startOrigin, type OriginHandler } from './origin.ts';

/** A full text as the API shows it. */
export type ShownFullText = { state: string; reason?: string; explanation?: string; contentHtml?: string };

const SENTENCE = 'The barn owl hunts voles at night over the meadows, and listens, because it sees little in the dark. ';

/** A teaser of the article that `articlePage` shows. */
const TEASER = '<p>The barn owl hunts voles at night over the meadows…</p>';

/** The page of an article about barn owls, whose text has these words too. */
export function articlePage(words: string, extra = ''): string {
  const paragraphs = Array.from({ length: 8 }, () => `<p>${SENTENCE.repeat(3)}</p>`).join('\n');
  return `<!doctype html><html><head><title>Barn owls</title></head><body><nav><a href="/">Home</a></nav>
<main><article><h1>Barn owls</h1>${paragraphs}<p>${SENTENCE} ${words}</p>${extra}</article></main>
<footer>Imprint</footer></body></html>`;
}

export function htmlPage(html: string): OriginHandler {
  return reply(200, { 'content-type': 'text/html; charset=utf-8' }, html);
}

/** A teaser about barn owls, whose page is /<guid> on the publisher's server. */
export function teaser(url: string, guid: string, values: Partial<Item> = {}): Item {
  return { guid, title: 'Barn owls', content: TEASER, link: `${url}/${guid}`, ...values };
}

/**
 * A hub whose ada, its administrator, has a feed of teasers: one for each of the pages, which are served at /<name>.
 * Bob is a member. `asked`: the paths of pages that were asked for. The pages and the items may be changed meanwhile.
 */
export async function hubWithTeasers(
  t: TestContext, pages: Record<string, OriginHandler>, { env = {}, visibility = 'public', items }: {
    env?: Record<string, string>; visibility?: string; items?: (url: string) => Item[];
  } = {},
) {
  const hub = await startHub(t, { LIST_PICTURES: '0', ...env });
  const routes: Record<string, OriginHandler> = Object.fromEntries(
    Object.entries(pages).map(([name, handler]) => [`/${name}`, handler]));
  const publisher = await startOrigin(t, routes);
  const { url } = publisher;
  const feed = { items: items?.(url) ?? Object.keys(pages).map((name) => teaser(url, name)) };
  routes['/feed'] = serving(() => rss('Owls', feed.items));
  const [ada, bob] = [await hub.person('ada'), await hub.person('bob')];
  const sourceId = await addFeed(ada, `${url}/feed`, { visibility });
  const asked = (): string[] => publisher.requests.map(({ path }) => path).filter((path) => path !== '/feed');
  const postIds = async (): Promise<number[]> => (await ada.get(`/api/posts?source=${sourceId}&limit=100`))
    .json<{ items: { id: number }[] }>().items.map(({ id }) => id);
  return { hub, ada, bob, publisher, routes, feed, sourceId, asked, postIds, posts: await postIds() };
}

/** Asks for the full text of a post as the button does; returns the status and the full text. */
export async function askFor(client: Client, postId: number): Promise<ShownFullText & { status: number }> {
  const answer = await client.post(`/api/posts/${postId}/full-text`);
  return { status: answer.status, ...answer.json<ShownFullText>() };
}

export async function fullTextOf(client: Client, postId: number): Promise<ShownFullText> {
  return (await client.get(`/api/posts/${postId}`)).json<{ fullText: ShownFullText }>().fullText;
}

type KeptFullTexts = { texts: number; words: number; lastUse: number | null };

/** How many full texts are stored, how many posts have words in the index of full texts, and when a text was read last. */
export function keptFullTexts({ db }: Stored): KeptFullTexts | undefined {
  return db.prepare<[], KeptFullTexts>('kept full texts', `
    SELECT (SELECT COUNT(*) FROM full_texts WHERE content_html IS NOT NULL) AS texts,
           (SELECT COUNT(*) FROM full_texts_words_docsize) AS words,
           (SELECT MAX(used_at) FROM full_texts WHERE content_html IS NOT NULL) AS lastUse`).get();
}

/** The bytes of all full texts, and the bytes of the database's pages that hold the words of full texts. */
export function sizeOfFullTexts({ db }: Stored): { text: number; index: number } {
  return db.prepare<[], { text: number; index: number }>('size of full texts', `
    SELECT (SELECT SUM(octet_length(content_html)) FROM full_texts) AS text,
           (SELECT SUM(pgsize) FROM dbstat WHERE name LIKE 'full\\_texts\\_words%' ESCAPE '\\') AS "index"`).get() ?? assert.fail();
}
