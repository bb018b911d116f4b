import { isoTime, SECOND } from '../../platform/clock.ts';
import { inChunks, type Reply } from '../../platform/http/reply.ts';
import { escapeXml } from '../../platform/markup/entities.ts';
import { SIGNATURES } from '../accounts/signed-address-store.ts';
import type { Hub } from '../hub/hub.ts';
import { decimalId } from './item-ids.ts';
import { ITEMS_CHUNK, pageOfItems } from './item-lists.ts';
import { itemBatches, type AppItem } from './items-json.ts';
import type { AppRequest } from './reader-request.ts';
import { stateStream } from './streams.ts';

/** GET /reader/atom/…: the items of a stream as Atom, which is all that newsboat's FeedHQ accounts read. */
export async function showItemFeed(hub: Hub, request: AppRequest): Promise<Reply> {
  const { stream, ids, next } = await pageOfItems(hub, request);
  const body = inChunks(atom(hub, request, { stream, ids, next }), ITEMS_CHUNK);
  const headers = { 'content-type': 'application/atom+xml; charset=utf-8', 'cache-control': 'no-store' };
  return { status: 200, headers, body, secret: SIGNATURES };
}

function* atom(
  hub: Hub, request: AppRequest, { stream, ids, next }: { stream: string; ids: number[]; next: number | null },
): Generator<string> {
  yield `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:gr="http://www.google.com/schemas/reader/atom/">
<id>tag:google.com,2005:reader/${escapeXml(stream)}</id>
<title>${escapeXml(stream)}</title>
<updated>${isoTime(hub.clock())}</updated>
${next === null ? '' : `<gr:continuation>${decimalId(next)}</gr:continuation>\n`}`;
  for (const items of itemBatches(hub, request, ids)) yield items.map(entryOf).join('');
  yield '</feed>\n';
}

function entryOf(item: AppItem): string {
  const { id, title, author, origin, published, updated, canonical, enclosure = [] } = item;
  const links = [
    ...canonical.map(({ href }) => `<link rel="alternate" type="text/html" href="${escapeXml(href)}"/>`),
    ...enclosure.map(({ href, type, length }) =>
      `<link rel="enclosure" type="${escapeXml(type)}" length="${length}" href="${escapeXml(href)}"/>`),
  ];
  return `<entry gr:crawl-timestamp-msec="${item.crawlTimeMsec}">
<id>${id}</id>
<title>${escapeXml(title)}</title>
<published>${isoTime(published * SECOND)}</published>
<updated>${isoTime(updated * SECOND)}</updated>
<author><name>${escapeXml(author || origin?.title || '')}</name></author>
${links.join('')}${categoriesOf(item).map(categoryOf).join('')}
<content type="html">${escapeXml(item.summary.content)}</content>
<source gr:stream-id="${origin?.streamId ?? ''}"><title>${escapeXml(origin?.title ?? '')}</title></source>
</entry>
`;
}

/** Of an unread post too: newsboat keeps its own state of a post whose state it is not told. */
function categoriesOf({ categories }: AppItem): string[] {
  return categories.includes(stateStream('read')) ? categories : [...categories, stateStream('fresh')];
}

function categoryOf(stream: string): string {
  const label = stream.replace(/^user\/-\/(?:label|state\/com\.google)\//, '');
  return `<category scheme="http://www.google.com/reader/" term="${escapeXml(stream)}" label="${escapeXml(label)}"/>`;
}
