import { SECOND } from '../../platform/clock.ts';
import { codeOf } from '../../platform/error-code.ts';
import { RetryLaterError } from '../../platform/jobs/run-job.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { OutboundError } from '../../platform/net/outbound-fetch.ts';
import type { Hub } from '../hub/hub.ts';
import { fetchFeed, NO_VALIDATORS, NoFeedHereError, type FetchedFeed, type FetchOptions } from './fetch-feed.ts';
import { findFeedAnchors, findFeedLinks, findRefresh, isHtmlPage, type FeedLink } from './page-links.ts';
import { PAGE_BYTES } from './parse-beginning.ts';

/** Maximum number of documents that are fetched for one address. A redirect belongs to its document. */
const FETCHES = 12;
/** Maximum number of a page's advertised feeds that are tried, because the later places are for other addresses. */
const ADVERTISED_TRIED = 5;
/** No further address is tried after this time, in ms, because a person waits. */
const SEARCH_MS = 40 * SECOND;
const CANDIDATE_MS = 10 * SECOND;

/** Where programs for web sites usually put a feed, relative to the site. */
const USUAL_PATHS = ['/feed', '/rss.xml', '/atom.xml', '/index.xml', '/feed.json'];
const USUAL_PATHS_BELOW = ['/feed', '/index.xml'];

/**
 * `isGuess`: the address was typed without a scheme, so that http is tried if https does not answer. `guess`: also try
 * the usual paths of feeds, which costs a server several requests in vain.
 */
type DiscoverOptions = Omit<FetchOptions, 'recognise'> & { isGuess?: boolean; guess?: boolean };

/** Addresses at which a feed may be, and the answers of the addresses that were tried. */
type Search = {
  addresses: string[];
  offered: FeedLink[];
  tried: { url: string; answer: string }[];
  wait: RetryLaterError | undefined;
};

/**
 * Fetches the feed at an address. If a web page is at the address, fetches a feed of the page: a feed that the page
 * advertises, else a feed to which the page links, else (`guess`) a feed at one of the usual paths of its site. The
 * message of an error names each address that was tried. Throws what `fetchFeed` throws.
 */
export async function discoverFeed(hub: Hub, typed: string, options: DiscoverOptions): Promise<FetchedFeed> {
  const { isGuess = false, guess = false, ...rest } = options;
  const within = { ...rest, recognise: guess };
  const began = performance.now();
  try {
    return await fetchTyped(hub, typed, isGuess, within);
  } catch (error) {
    const page = pageOf(error);
    if (page === null) throw error;
    const search: Search = { addresses: [], offered: [], tried: [], wait: undefined };
    addLinks(search, page, typed);
    if (guess) search.addresses.push(...usualAddresses(page.url));
    const found = await tryAddresses(hub, search, [typed, page.url], { ...within, until: began + SEARCH_MS });
    if (found) return found;
    throw search.wait ?? refusal(page.url, error, search);
  }
}

async function fetchTyped(hub: Hub, typed: string, isGuess: boolean, within: FetchOptions): Promise<FetchedFeed> {
  try {
    return await fetchFeed(hub, typed, NO_VALIDATORS, within);
  } catch (error) {
    const mayBeHttp = error instanceof OutboundError && ['connect', 'tls', 'bad-response'].includes(error.reason);
    if (!isGuess || !mayBeHttp || within.authorization !== undefined) throw error;
    return await fetchFeed(hub, typed.replace(/^https:/, 'http:'), NO_VALIDATORS, within)
      .catch((second: unknown) => { throw second instanceof OutboundError ? error : second; });
  }
}

type WebPage = { url: string; html: string; header: string };

/** The web page that was found instead of a feed; null if the error says something else. */
function pageOf(error: unknown): WebPage | null {
  if (!(error instanceof NoFeedHereError)) return null;
  const { url, headers, body } = error.document;
  const type = headers['content-type'] ?? null;
  const html = decodeText(body.subarray(0, PAGE_BYTES), type);
  const { link = '' } = headers;
  const isPage = isHtmlPage(html) || /^\s*(?:text\/html|application\/xhtml)/i.test(type ?? '') || link !== '';
  return isPage ? { url, html, header: Array.isArray(link) ? link.join() : link } : null;
}

/** Adds the feeds of a page to a search, before the addresses that are there. */
function addLinks(search: Search, { url, html, header }: WebPage, typed: string): void {
  const advertised = [...knownFeeds(typed), ...findFeedLinks(html, url, header)];
  const linked = findFeedAnchors(html, url);
  const refresh = findRefresh(html, url);
  search.offered.push(...(advertised.length > 0 ? advertised : linked));
  const links = [...advertised.slice(0, ADVERTISED_TRIED), ...linked].map((link) => link.url);
  search.addresses.unshift(...links, ...(refresh ? [refresh] : []));
}

/** Tries the addresses of a search one after another; a page that is found adds its feeds to the search, once. */
async function tryAddresses(
  hub: Hub, search: Search, seen: string[], { until, ...within }: FetchOptions & { until: number },
): Promise<FetchedFeed | undefined> {
  const known = new Set(seen);
  let mayAddPage = true;
  for (let url = search.addresses.shift(); url !== undefined; url = search.addresses.shift()) {
    const left = until - performance.now();
    if (left <= 0 || search.tried.length + 1 >= FETCHES) return undefined;
    if (known.has(url)) continue;
    known.add(url);
    try {
      requireSameOrigin(seen[0] ?? url, url, within.authorization);
      const totalMs = Math.min(CANDIDATE_MS, left, within.totalMs ?? CANDIDATE_MS);
      const fetched = await fetchFeed(hub, url, NO_VALIDATORS, { ...within, totalMs });
      return { ...fetched, advertised: search.offered };
    } catch (error) {
      noteAnswer(search, url, error, within.signal);
      const page = mayAddPage ? pageOf(error) : null;
      if (page === null) continue;
      mayAddPage = false;
      addLinks(search, page, url);
    }
  }
  return undefined;
}

/** Adds the answer of an address to a search. Throws an error of the hub itself unchanged. */
function noteAnswer(search: Search, url: string, error: unknown, signal: AbortSignal | undefined): void {
  const isOurs = error instanceof TypeError || error instanceof RangeError || codeOf(error) !== undefined;
  if (!(error instanceof Error) || isOurs || signal?.aborted) throw error;
  search.tried.push({ url, answer: error.message.replace(/\.$/, '') });
  if (!(error instanceof RetryLaterError)) return;
  search.wait ??= error;
  const { host } = new URL(url); // a host that asks the hub to wait gets no further request
  search.addresses = search.addresses.filter((other) => new URL(other).host !== host);
}

/** Throws an error rather than send a feed's password to another origin than its owner gave the password for. */
function requireSameOrigin(typed: string, url: string, authorization: string | undefined): void {
  const [asked, other] = [new URL(typed), new URL(url)];
  if (authorization === undefined || asked.origin === other.origin) return;
  throw new Error(`The page at ${asked.host} links to a feed at another address, ${other.host}. The hub does not send `
    + 'the password to that address. Enter the address of that feed instead.');
}

/** The usual addresses of feeds of a site; a page such as `/blog/` may be the start page of a site of its own. */
function usualAddresses(pageUrl: string): string[] {
  const { origin, pathname } = new URL(pageUrl);
  const folder = /^(\/[^/.]*[^/.\d][^/.]*)(?:\/(?:index\.\w+)?)?$/.exec(pathname)?.[1];
  const below = folder === undefined ? [] : USUAL_PATHS_BELOW.map((path) => folder + path);
  return [...below, ...USUAL_PATHS].map((path) => origin + path);
}

/** Feeds that sites have for their addresses, but do not advertise on their pages. */
function knownFeeds(typed: string): FeedLink[] {
  const { hostname, pathname, searchParams } = new URL(typed);
  const list = searchParams.get('list');
  const channel = /^\/channel\/(UC[\w-]+)/.exec(pathname)?.[1];
  const isYouTube = /^(?:www\.|m\.)?youtube\.com$/.test(hostname);
  const id = list ? `playlist_id=${encodeURIComponent(list)}` : channel ? `channel_id=${channel}` : null;
  if (isYouTube && id) return [atomLink(`https://www.youtube.com/feeds/videos.xml?${id}`, 'Videos')];
  const repository = /^\/[\w.-]+\/[\w.-]+(?=\/?$)/.exec(pathname)?.[0];
  if (!/^(?:www\.)?github\.com$/.test(hostname) || repository === undefined) return [];
  return ['releases', 'tags', 'commits'].map((name) => atomLink(`https://github.com${repository}/${name}.atom`, name));
}

function atomLink(url: string, title: string): FeedLink {
  return { url, title, format: 'Atom' };
}

/** The error that says which address gave which answer, and what a person can try. */
function refusal(pageUrl: string, error: unknown, { tried }: Search): Error {
  const what = error instanceof Error ? error.message : 'no feed';
  const byAnswer = [...Map.groupBy(tried, ({ answer }) => answer)]
    .map(([answer, all]) => `${all.map(({ url }) => shortened(url, pageUrl)).join(', ')} (${answer})`);
  const also = byAnswer.length > 0 ? ` The hub also tried ${byAnswer.join('; ')}.` : '';
  const advice = 'Look for a link named “RSS” or “Feed” on the site, and enter the address of that link.';
  return new Error(`No feed was found at ${shortened(pageUrl)}: ${what}.${also} ${advice}`, { cause: error });
}

/** The address without its query, which may hold a secret; without the host of the page, if the hosts are the same. */
function shortened(url: string, pageUrl?: string): string {
  const { host, pathname } = new URL(url);
  return excerpt(pageUrl && new URL(pageUrl).host === host ? pathname : host + pathname, 80);
}
