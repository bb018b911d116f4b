import { SECOND } from '../../platform/clock.ts';
import { RANKS } from '../../platform/jobs/job-queue.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import { OutboundError, type OutboundResponse } from '../../platform/net/outbound-fetch.ts';
import { sourceIcons, type Icon } from '../attachments/icon-store.ts';
import { recogniseIcon } from '../attachments/recognise-icon.ts';
import { RefusedFile } from '../attachments/arriving-file.ts';
import { enqueue, jobs, type Hub, type JobKind } from '../hub/hub.ts';
import { refusingOwn } from '../hub/own-address.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { sources, type Source } from '../sources/source-store.ts';
import { absoluteUrl } from './feed-values.ts';
import { baseOf, headTags } from './page-links.ts';

const ICON_BYTES = 100 * 1024;

/** The maximum bytes of a web page that is fetched. Only the first HEAD_BYTES of a page are searched for icon links. */
const ICON_PAGE_BYTES = 2 * 1024 * 1024;
const HEAD_BYTES = 256 * 1024;

const TIME = 5 * SECOND; // of each request
const MAX_REQUESTS = 8; // the most requests in search of one source's icon, not counting redirects

/** The hub enqueues only so many searches for icons at a time, so that waiting searches do not count as late jobs. */
const PLANNED_AT_ONCE = 20;

/** Reasons of an OutboundError after which a search for an icon or pictures sends no more requests to the host. */
export const HOPELESS = new Set(['blocked', 'dns', 'connect', 'tls', 'timeout', 'idle', 'aborted']);

/** If none is found, an earlier icon stays, because the site may only be down. */
export const fetchIcon: JobKind<{ sourceId: number }> = {
  name: 'fetch-icon',
  key: ({ sourceId }) => String(sourceId),
  attempts: 2, // a site without an icon is no failure of the job
  concurrency: 2,
  afterRestore: 'run',
  stores: true,

  async run(hub, { sourceId }, signal) {
    const source = sources(hub).find(sourceId);
    if (!source || sourceIcons(hub).isCleared(sourceId)) return; // source deleted or its icon removed meanwhile
    const icon = await findIcon(hub, source, signal);
    if (icon) return () => sourceIcons(hub).keep(sourceId, icon);
  },
};

/** Enqueues jobs for some icons that are due, unless earlier icon jobs still wait or the hub may not store them. */
export function planDueIcons(hub: Hub): void {
  if (jobs(hub).oldestDueSeconds(fetchIcon.name) > 0 || !mayRecord(hub)) return;
  hub.db.write('plan due icons', () => {
    for (const { sourceId, ownerId, isWell } of sourceIcons(hub).takeDue(PLANNED_AT_ONCE)) {
      const source = isWell === 1 ? sources(hub).find(sourceId) : undefined; // a failing feed needs no icon now
      if (!source) continue;
      const lane = `icon of ${siteOf(source).host}`; // a host that hangs occupies at most one slot for icons
      enqueue(hub, fetchIcon, { sourceId }, { lane, owner: ownerId, rank: RANKS.usual });
    }
  });
}

async function findIcon(hub: Hub, source: Source, signal: AbortSignal): Promise<Icon | undefined> {
  const ask = createAsking(hub, signal);
  for await (const url of candidates(hub, source, ask)) {
    const content = url.startsWith('data:') ? contentOfData(url) : (await ask(url, ICON_BYTES))?.body;
    const icon = content && recognised(content);
    if (icon) return icon;
  }
  return undefined;
}

/** Addresses of a feed's possible icons, likeliest first. Fetches web pages only if the feed names no usable one. */
async function* candidates(hub: Hub, source: Source, ask: Ask): AsyncGenerator<string> {
  const named = sourceIcons(hub).namedBy(source.id);
  if (named !== null) yield named;
  const site = siteOf(source);
  const first = new URL('/', site);
  for (const page of new Set([site.href, first.href])) yield* namedByPage(await ask(page, ICON_PAGE_BYTES));
  yield new URL('/favicon.ico', first).href;
}

function namedByPage(page: OutboundResponse | undefined): string[] {
  if (!page) return [];
  const text = decodeText(page.body.subarray(0, HEAD_BYTES), page.headers['content-type'] ?? null);
  return findIconLinks(text, page.url);
}

/** The address of a feed's site or, if unknown, the root of the feed's host: the feed's path may be secret. */
function siteOf({ siteUrl, feedUrl }: Source): URL {
  return siteUrl === null ? new URL('/', feedUrl ?? '') : new URL(siteUrl);
}

type Ask = (url: string, maxBytes: number) => Promise<OutboundResponse | undefined>;

function createAsking({ outbound, config }: Hub, signal: AbortSignal): Ask {
  const asked = new Set<string>();
  const hopeless = new Set<string>();
  const refuse = refusingOwn(config);

  return async (url, maxBytes) => {
    const { host } = new URL(url);
    if (asked.has(url) || asked.size >= MAX_REQUESTS || hopeless.has(host)) return undefined;
    asked.add(url);
    try {
      const headers = { accept: 'image/png, image/x-icon, image/*;q=0.8, text/html;q=0.7, */*;q=0.1' };
      const response = await outbound({ url, maxBytes, headers, totalMs: TIME, refuse, signal });
      return response.status === 200 ? response : undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof OutboundError)) throw error;
      if (HOPELESS.has(error.reason)) hopeless.add(host);
      return undefined;
    }
  };
}

function contentOfData(url: string): Buffer {
  const [, base64 = ''] = /^data:[^,]{0,100};base64,(.*)$/is.exec(url) ?? [];
  return Buffer.from(base64, 'base64').subarray(0, ICON_BYTES);
}

function recognised(content: Buffer): Icon | undefined {
  try {
    return recogniseIcon(content);
  } catch (error) {
    if (error instanceof RefusedFile) return undefined;
    throw error;
  }
}

/** The width in pixels at which an icon is sharp on a high-density screen. A wider icon only takes longer to load. */
const WANTED_SIDE = 36;

/** The width in pixels that is assumed for an icon without `sizes`; most such icons have 16 or 32 pixels. */
const USUAL_SIDE = 24;

const MAX_LINKS = 4; // icon links of one page

const DATA = /^data:image\//i;
const SVG = /\.svg(?:[?#]|$)|^data:image\/svg/i;

type IconLink = { url: string; cost: number };

/** The links to icons of a page, best first; also `data:` URLs, but no SVG icons, which the hub does not show. */
export function findIconLinks(html: string, pageUrl: string): string[] {
  const tags = headTags(html);
  const base = baseOf(tags, pageUrl);
  const links = tags.flatMap(({ name, attributes }) => name === 'link' ? iconLink(attributes, base) : []);
  const urls = new Set(links.toSorted((a, b) => a.cost - b.cost).map(({ url }) => url));
  return [...urls].slice(0, MAX_LINKS);
}

function iconLink(attributes: ReadonlyMap<string, string>, base: string): IconLink[] {
  const rel = (attributes.get('rel') ?? '').toLowerCase().split(/\s+/);
  const isPlain = rel.includes('icon');
  if (!isPlain && !rel.some((name) => name.startsWith('apple-touch-icon'))) return [];
  const href = attributes.get('href')?.trim() ?? '';
  const url = DATA.test(href) ? href : absoluteUrl(href, base);
  if (url === null || /svg/i.test(attributes.get('type') ?? '') || SVG.test(url)) return [];
  const isDark = /dark/i.test(attributes.get('media') ?? '');
  return [{ url, cost: sizeCost(attributes.get('sizes')) + (isPlain ? 0 : 1_000) + (isDark ? 10_000 : 0) }];
}

/** How many pixels the best of an icon's sizes (`16x16 32x32`) is off WANTED_SIDE; each pixel too few counts double. */
function sizeCost(sizes: string | undefined): number {
  const sides = (sizes ?? '').split(/\s+/).map((size) => parseInt(size, 10)).filter((side) => side > 0);
  const costs = (sides.length > 0 ? sides : [USUAL_SIDE])
    .map((side) => side >= WANTED_SIDE ? side - WANTED_SIDE : 2 * (WANTED_SIDE - side));
  return Math.min(...costs, 900);
}
