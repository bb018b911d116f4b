import { SECOND } from '../../platform/clock.ts';
import { codeOf } from '../../platform/error-code.ts';
import { RetryLaterError } from '../../platform/jobs/run-job.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { Hub } from '../hub/hub.ts';
import { NotAFeedError } from './feed-values.ts';
import { fetchFeed, NO_VALIDATORS, NothingThereError, type FetchedFeed, type FetchOptions } from './fetch-feed.ts';
import { findFeedAnchors, findFeedLinks, isHtmlPage, refreshAddress, type FeedLink } from './page-links.ts';
import { PAGE_BYTES } from './parse-beginning.ts';

const FETCHES = 12; // maximum documents fetched to find the feed of a typed address, without redirects
const ADVERTISED_FIRST = 5; // advertised feeds of a page that are tried before the other links of the page
const USUAL_FIRST = 3; // usual addresses that are tried before a page's advertised feeds beyond ADVERTISED_FIRST
/** No further address is tried after this time, in ms, because a person may wait. */
const SEARCH_MS = 40 * SECOND;
const CANDIDATE_MS = 10 * SECOND;

const USUAL_PATHS = ['/feed', '/rss.xml', '/atom.xml', '/rss', '/index.xml', '/feed.json'];

/**
 * `guess`, only if a person waits: also try usual paths such as `/feed`, though most of these requests fail, and read
 * only the beginning of a large feed.
 */
type DiscoverOptions = Omit<FetchOptions, 'recognise'> & { guess?: boolean };

/** Fetches the feed at an address, or one of the web page there. Throws as `fetchFeed` does, or says what it tried. */
export async function discoverFeed(hub: Hub, typed: string, options: DiscoverOptions): Promise<FetchedFeed> {
  const { guess = false, ...rest } = options;
  const until = performance.now() + SEARCH_MS;
  const within = { ...rest, recognise: guess };
  try {
    return await fetchFeed(hub, typed, NO_VALIDATORS, within);
  } catch (error) {
    const page = pageOf(error);
    if (page !== null) return await fetchFeedOf(hub, page, { typed, guess, within, until });
    const isWrongAddress = error instanceof NotAFeedError || error instanceof NothingThereError;
    throw guess && isWrongAddress ? refusal([{ url: typed, answer: answerOf(error, within.signal) }]) : error;
  }
}

/** A document that is no feed: its text, the value of its `Link` header, and the hub’s words for it. */
type WebPage = { url: string; html: string; header: string; answer: string };

/** `typed`: the address at which the search began. `until`: by `performance.now()`, when it ends. */
type Search = { typed: string; guess: boolean; within: FetchOptions; until: number };

async function fetchFeedOf(hub: Hub, page: WebPage, { typed, guess, within, until }: Search): Promise<FetchedFeed> {
  const totalMs = Math.min(CANDIDATE_MS, within.totalMs ?? CANDIDATE_MS);
  const tried: Tried[] = [page];
  const seen = new Set([typed, page.url]);
  const busy = new Map<string, RetryLaterError>(); // hosts that ask the hub to wait: they get no further request
  const links = await linksOf(page, typed);
  let hasFollowedPage = false;
  const usual = guess ? usualAddresses(page.url) : [];
  let addresses = [
    ...links.addresses, ...usual.slice(0, USUAL_FIRST), ...links.further, ...usual.slice(USUAL_FIRST),
  ];
  for (let url = addresses.shift(); url !== undefined; url = addresses.shift()) {
    const { host } = new URL(url);
    if (tried.length === FETCHES || performance.now() > until) break;
    if (seen.has(url) || busy.has(host)) continue;
    seen.add(url);
    try {
      requireSameOrigin(typed, url, within.authorization);
      return { ...await fetchFeed(hub, url, NO_VALIDATORS, { ...within, totalMs }), advertised: links.offered };
    } catch (error) {
      const next = pageOf(error);
      tried.push(next ?? { url, answer: answerOf(error, within.signal) });
      if (error instanceof RetryLaterError) busy.set(host, error);
      if (next === null || hasFollowedPage) continue;
      hasFollowedPage = true;
      seen.add(next.url);
      const more = await linksOf(next, typed);
      links.offered.push(...more.offered.filter((link) => !links.offered.some(({ url }) => url === link.url)));
      addresses = [...more.addresses, ...addresses, ...more.further];
    }
  }
  const [wait] = busy.values();
  throw wait ? new RetryLaterError(refusal(tried).message, wait.at) : refusal(tried);
}

function pageOf(error: unknown): WebPage | null {
  if (!(error instanceof NotAFeedError) || !error.document) return null;
  const { url, headers, body } = error.document;
  const type = headers['content-type'] ?? null;
  const html = decodeText(body.subarray(0, PAGE_BYTES), type);
  const header = [headers.link ?? ''].flat().join();
  const isPage = isHtmlPage(html) || /^\s*(?:text\/html|application\/xhtml)/i.test(type ?? '') || header !== '';
  return isPage ? { url, html, header, answer: error.message } : null;
}

/** `offered`: the feeds that the page advertises, else those that it links to. `addresses`: tried before `further`. */
async function linksOf({ url, html, header }: WebPage, typed: string) {
  const advertised = [...playlistFeed(typed), ...findFeedLinks(html, url, header)];
  await nextTurn(); // reading a page of 2 MiB takes 15 ms, and reading its `a` elements 40 ms
  const linked = findFeedAnchors(html, url);
  const addresses = [
    ...advertised.slice(0, ADVERTISED_FIRST).map((link) => link.url), ...refreshAddress(html, url),
    ...linked.map((link) => link.url),
  ];
  const further = advertised.slice(ADVERTISED_FIRST).map((link) => link.url);
  return { offered: advertised.length > 0 ? advertised : linked, addresses, further };
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

/** What failed when the hub fetched an address, in words; rethrows an abort, and a fault of the hub (a TypeError). */
function answerOf(error: unknown, signal: AbortSignal | undefined): string {
  const isOurs = error instanceof TypeError || error instanceof RangeError || codeOf(error) !== undefined;
  if (!(error instanceof Error) || isOurs || signal?.aborted) throw error;
  return error.message.replace(/\.$/, '');
}

/** Throws rather than send a feed's password to another origin than it was given for. */
function requireSameOrigin(typed: string, url: string, authorization: string | undefined): void {
  const [asked, other] = [new URL(typed), new URL(url)];
  if (authorization === undefined || asked.origin === other.origin) return;
  throw new Error(`The page at ${asked.host} links to a feed at ${other.host}, where the hub does not send your `
    + 'password. Enter the feed’s own address.');
}

type Tried = { url: string; answer: string };

function refusal([page, ...others]: Tried[]): Error {
  const first = new URL(page?.url ?? '');
  const byAnswer = [...Map.groupBy(others, ({ answer }) => answer)]
    .map(([answer, all]) => `${all.map(({ url }) => shortened(url, first.host)).join(', ')} (${answer})`);
  const also = byAnswer.length > 0 ? ` The hub also tried ${byAnswer.join('; ')}.` : '';
  const advice = 'Look for a link named “RSS” or “Feed” on the site, and enter its address.';
  return new Error(`No feed was found at ${shortened(first.href)}: ${page?.answer}.${also} ${advice}`);
}

/** The address without its query, which may hold a secret, and without its host if the host is `knownHost`. */
function shortened(url: string, knownHost = ''): string {
  const { host, pathname } = new URL(url);
  return excerpt(host === knownHost ? pathname : host + pathname, 80);
}
