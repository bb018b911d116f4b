import { SECOND } from '../../platform/clock.ts';
import { RANKS } from '../../platform/jobs/job-queue.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import { OutboundError, type OutboundResponse } from '../../platform/net/outbound-fetch.ts';
import { sourceIcons, type Icon } from '../attachments/icon-store.ts';
import { recogniseIcon } from '../attachments/recognise-icon.ts';
import { RefusedFile } from '../attachments/arriving-file.ts';
import { enqueue, jobs, type Hub, type JobKind } from '../hub/hub.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { sources, type Source } from '../sources/source-store.ts';
import { findIconLinks } from './find-icons.ts';
import { leadsHere } from './own-address.ts';

const ICON_BYTES = 100 * 1024;

/** A larger page is not read; of others the beginning, where icons are named. */
const ICON_PAGE_BYTES = 2 * 1024 * 1024;
const HEAD_BYTES = 256 * 1024;

/** For each request. */
const TIME = 5 * SECOND;

/** Of one source, redirects not counted. */
const MAX_REQUESTS = 8;

/** More wait in their table, where they are no jobs that are late. */
const PLANNED_AT_ONCE = 20;

/** A host that fails in one of these ways is not asked for anything else. */
const HOPELESS = new Set(['blocked', 'dns', 'connect', 'tls', 'timeout', 'idle', 'aborted']);

/**
 * Looks for the icon of a feed: the one that the feed names, else one that its site's page or the first page there
 * names, else /favicon.ico. One that was found before stays where none is found now: the site may be ill.
 */
export const fetchIcon: JobKind<{ sourceId: number }> = {
  name: 'fetch-icon',
  key: ({ sourceId }) => String(sourceId),
  attempts: 2, // that no icon is found is no failure
  concurrency: 2,
  afterRestore: 'run',
  stores: true,

  async run(hub, { sourceId }, signal) {
    const source = sources(hub).find(sourceId);
    if (!source || sourceIcons(hub).isCleared(sourceId)) return; // meanwhile
    const icon = await findIcon(hub, source, signal);
    if (icon) return () => sourceIcons(hub).keep(sourceId, icon);
  },
};

/** Enqueues a job for some of the icons that are due, once those of before are under way. */
export function planDueIcons(hub: Hub): void {
  if (jobs(hub).oldestDueSeconds(fetchIcon.name) > 0 || !mayRecord(hub)) return;
  hub.db.write('plan due icons', () => {
    for (const { sourceId, ownerId, isWell } of sourceIcons(hub).takeDue(PLANNED_AT_ONCE)) {
      const source = isWell === 1 ? sources(hub).find(sourceId) : undefined; // others need no icon now
      if (!source) continue;
      const lane = `icon of ${siteOf(source).host}`; // a host that hangs takes one place at the most
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

/** Addresses of icons, the likeliest first; pages are asked for only when none of those before was one. */
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

/** A feed that names no site is at home where it comes from; its own path may hold a secret, and is no page. */
function siteOf({ siteUrl, feedUrl }: Source): URL {
  return siteUrl === null ? new URL('/', feedUrl ?? '') : new URL(siteUrl);
}

/** The answer, or nothing where there is none that helps. */
type Ask = (url: string, maxBytes: number) => Promise<OutboundResponse | undefined>;

/** Asks for each address once, without any password, and a host that does not answer for nothing more. */
function createAsking({ outbound, config }: Hub, signal: AbortSignal): Ask {
  const asked = new Set<string>();
  const hopeless = new Set<string>();
  const refuse = (to: URL, addresses: readonly string[]): string | null =>
    leadsHere(config, to, addresses) ? `${to.host} is this hub itself` : null;

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
