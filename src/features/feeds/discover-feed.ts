import { SECOND } from '../../platform/clock.ts';
import { codeOf } from '../../platform/error-code.ts';
import { RetryLaterError } from '../../platform/jobs/run-job.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { Hub } from '../hub/hub.ts';
import { NotAFeedError } from './feed-values.ts';
import { fetchFeed, NO_VALIDATORS, type FetchedFeed, type FetchOptions } from './fetch-feed.ts';
import { findFeedAnchors, findFeedLinks, isHtmlPage, type FeedLink } from './page-links.ts';
import { PAGE_BYTES } from './parse-beginning.ts';

/** Maximum number of documents that are fetched for one address. A redirect belongs to its document. */
const FETCHES = 12;
/** Maximum number of a page's advertised feeds that are tried; the remaining fetches are for other addresses. */
const ADVERTISED_TRIED = 5;
/** Only the links of the page at the address, and of one page to which this page links, are followed. */
const PAGES = 2;
/** No further address is tried after this time, in ms, because a person waits. */
const SEARCH_MS = 40 * SECOND;
const CANDIDATE_MS = 10 * SECOND;

/** Where programs for web sites usually put a feed. */
const USUAL_PATHS = ['/feed', '/rss.xml', '/atom.xml', '/index.xml', '/feed.json'];

/** `guess`: also try the usual paths of feeds. Servers get most of these requests in vain, so a person must wait. */
type DiscoverOptions = Omit<FetchOptions, 'recognise'> & { guess?: boolean };

/**
 * Fetches the feed at an address. If a web page is at the address, fetches a feed of the page: a feed that the page
 * advertises, else a feed to which the page links, else (`guess`) a feed at one of the usual paths of its site. The
 * message of an error names each address that was tried. Throws what `fetchFeed` throws.
 */
export async function discoverFeed(hub: Hub, typed: string, options: DiscoverOptions): Promise<FetchedFeed> {
  const { guess = false, ...rest } = options;
  const until = performance.now() + SEARCH_MS;
  const within = { ...rest, recognise: guess };
  const tried: { url: string; answer: string }[] = [];
  const offered = new Map<string, FeedLink>();
  const seen = new Set<string>();
  let pages = 0;
  let addresses = [typed];
  for (let url = addresses.shift(); url !== undefined; url = addresses.shift()) {
    if (tried.length === FETCHES || performance.now() > until) break;
    if (seen.has(url)) continue;
    seen.add(url);
    try {
      requireSameOrigin(typed, url, within.authorization);
      if (tried.length === 0) return await fetchFeed(hub, typed, NO_VALIDATORS, within);
      const totalMs = Math.min(CANDIDATE_MS, within.totalMs ?? CANDIDATE_MS);
      return { ...await fetchFeed(hub, url, NO_VALIDATORS, { ...within, totalMs }), advertised: [...offered.values()] };
    } catch (error) {
      const page = pageOf(error);
      if (tried.length === 0 && page === null) throw error;
      tried.push({ url: page?.url ?? url, answer: answerOf(error, within.signal) });
      if (page === null || pages === PAGES) continue;
      pages += 1;
      seen.add(page.url);
      const { advertised, linked } = await linksOf(page, typed);
      for (const link of advertised.length > 0 ? advertised : linked) offered.set(link.url, link);
      const found = [...advertised.slice(0, ADVERTISED_TRIED), ...linked].map((link) => link.url);
      addresses = [...found, ...addresses, ...(guess && pages === 1 ? usualAddresses(page.url) : [])];
    }
  }
  throw refusal(tried);
}

type WebPage = { url: string; html: string; header: string };

/** The web page that was found instead of a feed; null if the error says something else. */
function pageOf(error: unknown): WebPage | null {
  if (!(error instanceof NotAFeedError) || !error.document) return null;
  const { url, headers, body } = error.document;
  const type = headers['content-type'] ?? null;
  const html = decodeText(body.subarray(0, PAGE_BYTES), type);
  const header = [headers.link ?? ''].flat().join();
  const isPage = isHtmlPage(html) || /^\s*(?:text\/html|application\/xhtml)/i.test(type ?? '') || header !== '';
  return isPage ? { url, html, header } : null;
}

async function linksOf({ url, html, header }: WebPage, typed: string) {
  const advertised = [...playlistFeed(typed), ...findFeedLinks(html, url, header)];
  await nextTurn(); // reading a page of 2 MiB takes 15 ms, and reading its `a` elements 40 ms
  return { advertised, linked: findFeedAnchors(html, url) };
}

/** The feed of a YouTube playlist, which its page does not advertise. */
function playlistFeed(typed: string): FeedLink[] {
  const list = /^https:\/\/(?:www\.|m\.)?youtube\.com\/.*[?&]list=([\w-]+)/.exec(typed)?.[1];
  const url = `https://www.youtube.com/feeds/videos.xml?playlist_id=${list}`;
  return list === undefined ? [] : [{ url, title: 'Playlist', format: 'Atom' }];
}

/** The usual addresses of feeds of a site; a page such as `/blog/` may be the start page of a site of its own. */
function usualAddresses(pageUrl: string): string[] {
  const { origin, pathname } = new URL(pageUrl);
  const folder = /^\/[^/.]*[^/.\d][^/.]*(?=\/?$)/.exec(pathname)?.[0];
  const below = folder === undefined ? [] : [`${folder}/feed`, `${folder}/index.xml`];
  return [...below, ...USUAL_PATHS].map((path) => origin + path);
}

/**
 * The answer of an address in words. Throws an error of the hub itself unchanged, and the error of a host that asks the
 * hub to wait: this host gets no further request.
 */
function answerOf(error: unknown, signal: AbortSignal | undefined): string {
  const isOurs = error instanceof TypeError || error instanceof RangeError || codeOf(error) !== undefined;
  if (!(error instanceof Error) || isOurs || signal?.aborted || error instanceof RetryLaterError) throw error;
  return error.message.replace(/\.$/, '');
}

/** Throws an error rather than send a feed's password to another origin than its owner gave the password for. */
function requireSameOrigin(typed: string, url: string, authorization: string | undefined): void {
  const [asked, other] = [new URL(typed), new URL(url)];
  if (authorization === undefined || asked.origin === other.origin) return;
  throw new Error(`The page at ${asked.host} links to a feed at another address, ${other.host}. The hub does not send `
    + 'the password to that address. To follow the feed with a password, enter the feed’s own address.');
}

/** The error that says which address gave which answer, and what a person can try. The first address is the page. */
function refusal([page, ...others]: { url: string; answer: string }[]): Error {
  const first = new URL(page?.url ?? '');
  const byAnswer = [...Map.groupBy(others, ({ answer }) => answer)]
    .map(([answer, all]) => `${all.map(({ url }) => shortened(url, first.host)).join(', ')} (${answer})`);
  const also = byAnswer.length > 0 ? ` The hub also tried ${byAnswer.join('; ')}.` : '';
  const advice = 'Look for a link named “RSS” or “Feed” on the site, and enter the address of that link.';
  return new Error(`No feed was found at ${shortened(first.href)}: ${page?.answer}.${also} ${advice}`);
}

/** The address without its query, which may hold a secret, and without a host that the reader knows. */
function shortened(url: string, knownHost = ''): string {
  const { host, pathname } = new URL(url);
  return excerpt(host === knownHost ? pathname : host + pathname, 80);
}
