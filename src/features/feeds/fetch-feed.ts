import { createHash } from 'node:crypto';
import { DAY, SECOND } from '../../platform/clock.ts';
import { RetryLaterError } from '../../platform/jobs/run-job.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import type { LargeBody, TakeBody } from '../../platform/net/outbound-exchange.ts';
import type { OutboundResponse } from '../../platform/net/outbound-fetch.ts';
import { freshnessMs, parseRetryAfter } from '../../platform/net/response-freshness.ts';
import type { Hub } from '../hub/hub.ts';
import type { Validators } from '../sources/sync-state-store.ts';
import { leadsHere } from './own-address.ts';
import { BEGINNING_BYTES, parseBeginning, takeBeginning } from './parse-beginning.ts';
import { findFeedLinks, isHtmlPage, parseFeed, type FeedLink } from './parse-feed.ts';
import { NotAFeedError, type ParsedFeed } from './feed-values.ts';

const MAX_BYTES = 10 * 1024 * 1024;
const VALIDATOR_MAX = 1_000; // characters
const DEFAULT_RETRY_AFTER = 60 * SECOND;
const ACCEPT = 'application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, ' +
  'application/json;q=0.8, text/xml;q=0.8, text/html;q=0.4, */*;q=0.1';

export const NO_VALIDATORS: Validators = { etag: null, lastModified: null, bodyHash: null };

export type FetchedFeed = {
  /** Null when nothing changed since the validators were given. */
  feed: ParsedFeed | null;
  /** Where the feed is from now on: differs from what was asked for after permanent redirects and autodiscovery. */
  url: string;
  validators: Validators;
  /** Milliseconds that the headers ask to wait before the next request; 0 for nothing said. */
  askedFor: number;
  /** How large the document is, or what was read of it; null where the server sent none (304). */
  bytes: number | null;
  /** Where only the beginning of a large document was read: `feed` has its title, but not all its posts. */
  isPartial?: boolean;
  /** Where the address was a web page's: all feeds that it names. The first one was read. */
  advertised?: FeedLink[];
};

/** The publisher says that the feed is gone for good (410). */
export class FeedGoneError extends Error {}

/**
 * `discover`: a web page is answered with the feed that it advertises. `recognise`: of a large one only its title.
 * `totalMs`: less time than usual. `authorization`: for the origin of the address, and no other one.
 * `toRead` is waited for before a body of so many bytes is parsed.
 */
type FetchOptions = Within & { discover: boolean; recognise?: boolean };
type Within = {
  authorization?: string | undefined;
  totalMs?: number;
  signal?: AbortSignal;
  large?: LargeBody;
  toRead?: (bytes: number) => Promise<void>;
};

/**
 * Fetches and reads one feed. Every error's message is for the owner of the source; it is a FeedGoneError after 410, a
 * RetryLaterError where the publisher asks to be left alone (429, or 503 with Retry-After).
 */
export async function fetchFeed(
  hub: Hub, url: string, validators: Validators, { discover, recognise = false, ...within }: FetchOptions,
): Promise<FetchedFeed> {
  const beginning = recognise ? takeBeginning() : null;
  const response = await request(hub, url, validators, within, beginning?.take);
  const { headers } = response;
  const body = beginning?.bytes() ?? response.body;
  const askedFor = freshnessMs(headers, hub.clock()) ?? 0;
  // Without validators nobody asked whether anything changed, and 304 answers nothing.
  const isConditional = validators.etag !== null || validators.lastModified !== null;
  const stays = permanentAddress(url, response, within);
  const unread = { feed: null, url: stays, askedFor };
  if (response.status === 304 && isConditional) return { ...unread, validators, bytes: null };
  requireSuccess(response, hub.clock(), within);
  const isPartial = beginning?.isLarge() ?? false;
  const bodyHash = isPartial ? null : createHash('sha256').update(body).digest('hex');
  const isKnown = bodyHash !== null && bodyHash === validators.bodyHash;
  const fresh = { etag: usable(headers.etag), lastModified: usable(headers['last-modified']), bodyHash };
  if (isKnown) return { ...unread, validators: fresh, bytes: body.length };
  await within.toRead?.(body.length);
  try {
    const source = { url: response.url, contentType: contentTypeOf(response) };
    const feed = beginning?.isLarge() ? parseBeginning(beginning, source) : parseFeed(body, source);
    return { feed, url: stays, validators: fresh, askedFor, bytes: body.length, isPartial };
  } catch (error) {
    const advertised = discover && error instanceof NotAFeedError ? advertisedFeeds(body, response) : [];
    const [first] = advertised;
    if (!first) throw error;
    requireSameOrigin(url, first.url, within);
    const fetched = await fetchFeed(hub, first.url, NO_VALIDATORS, { discover: false, recognise, ...within });
    return { ...fetched, advertised };
  }
}

function request(
  { outbound, config }: Hub, url: string, { etag, lastModified }: Validators, { toRead: _, ...within }: Within,
  take: TakeBody | undefined,
): Promise<OutboundResponse> {
  const headers = {
    accept: ACCEPT,
    ...(etag ? { 'if-none-match': etag } : {}),
    ...(lastModified ? { 'if-modified-since': lastModified } : {}),
  };
  const refuse = (to: URL, addresses: readonly string[]): string | null =>
    leadsHere(config, to, addresses) ? `${to.host} is this hub itself, which cannot be its own source` : null;
  return outbound({ url, headers, maxBytes: MAX_BYTES, refuse, ...within, ...(take && { take }) });
}

function requireSuccess({ status, url, headers }: OutboundResponse, now: number, { authorization }: Within): void {
  if (status >= 200 && status < 300) return;
  const host = new URL(url).host;
  if (status === 410) throw new FeedGoneError(`${host} reports that this feed is permanently gone (410).`);
  const retryAt = parseRetryAfter(headers['retry-after'], now);
  if (status === 429 || (status === 503 && retryAt !== null)) {
    const at = Math.min(retryAt ?? now + DEFAULT_RETRY_AFTER, now + DAY); // no source is put off for longer
    throw new RetryLaterError(`${host} asks the hub to wait (${status}).`, at);
  }
  const known = authorization !== undefined && status === 401;
  throw new Error(`${host} answered ${status}${known ? WRONG_PASSWORD : MEANINGS[status] ?? ''}.`);
}

/** A password is for the server that its owner has named. */
function requireSameOrigin(url: string, advertised: string, { authorization }: Within): void {
  const [asked, other] = [new URL(url), new URL(advertised)];
  if (authorization === undefined || asked.origin === other.origin) return;
  throw new Error(`The page at ${asked.host} names a feed at another address, ${other.host}, which is not told the `
    + 'password. Give the address of that feed itself.');
}

const WRONG_PASSWORD = ': it does not accept the user name and password';

const MEANINGS: Record<number, string> = {
  401: ': it requires a user name and password',
  403: ': it refuses access',
  404: ': there is nothing at this address',
  500: ': it has an internal error',
  502: ': the server behind it does not answer',
  503: ': it is temporarily unavailable',
  504: ': the server behind it is too slow',
};

/**
 * Where to ask from now on. A move from https to http is followed, but not remembered; nor is one to where the password
 * of a feed does not belong.
 */
function permanentAddress(url: string, { movedPermanentlyTo }: OutboundResponse, { authorization }: Within): string {
  if (movedPermanentlyTo === null) return url;
  if (authorization !== undefined && new URL(url).origin !== new URL(movedPermanentlyTo).origin) return url;
  return url.startsWith('https:') && !movedPermanentlyTo.startsWith('https:') ? url : movedPermanentlyTo;
}

/** A validator that is longer than a header may well be would only bring refusals (431). */
function usable(validator: string | undefined): string | null {
  return validator !== undefined && validator.length <= VALIDATOR_MAX ? validator : null;
}

function advertisedFeeds(body: Buffer, response: OutboundResponse): FeedLink[] {
  const page = decodeText(body.subarray(0, BEGINNING_BYTES), contentTypeOf(response));
  return isHtmlPage(page) ? findFeedLinks(page, response.url) : [];
}

function contentTypeOf({ headers }: OutboundResponse): string | null {
  return headers['content-type'] ?? null;
}
