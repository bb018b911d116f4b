import { createHash } from 'node:crypto';
import { DAY, SECOND } from '../../platform/clock.ts';
import { RetryLaterError } from '../../platform/jobs/run-job.ts';
import { createLanes } from '../../platform/limit-concurrency.ts';
import type { LargeBody, TakeBody } from '../../platform/net/outbound-exchange.ts';
import type { OutboundResponse } from '../../platform/net/outbound-fetch.ts';
import { freshnessMs, parseRetryAfter } from '../../platform/net/response-freshness.ts';
import { once, type Hub } from '../hub/hub.ts';
import { refusingOwn } from '../hub/own-address.ts';
import type { Validators } from '../sources/sync-state-store.ts';
import type { FeedLink } from './page-links.ts';
import { parseBeginning, parseCut, takeBeginning } from './parse-beginning.ts';
import { parseFeed } from './parse-feed.ts';
import { NotAFeedError, type ParsedFeed } from './feed-values.ts';

const MAX_BYTES = 10 * 1024 * 1024;
const VALIDATOR_MAX = 1_000; // characters
const DEFAULT_RETRY_AFTER = 60 * SECOND;
const ACCEPT = 'application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, ' +
  'application/json;q=0.8, text/xml;q=0.8, text/html;q=0.4, */*;q=0.1';

export const NO_VALIDATORS: Validators = { etag: null, lastModified: null, bodyHash: null };

export type FetchedFeed = {
  feed: ParsedFeed | null; // null if the feed has not changed since the validators were stored
  url: string; // the feed's address for the next fetch; changed by permanent redirects and autodiscovery
  validators: Validators;
  askedFor: number; // the wait in ms before the next request that the response headers ask for; 0 by default
  bytes: number | null; // the size of the document, or of the part that was read; null after a 304 response
  isPartial?: boolean; // only the beginning of a large document was read: `feed` may have few posts, or none
  advertised?: FeedLink[]; // of web pages on the way: the feeds they advertise, else at most three that each links to
};

export class FeedGoneError extends Error {}
export class NothingThereError extends Error {}

/**
 * `recognise`: read only the beginning of a large feed. `totalMs`: a time limit shorter than the usual one of a fetch.
 * `authorization`: a header for the origin of the address alone. `toRead`: gets the size of the body; parsing waits for
 * the returned promise.
 */
export type FetchOptions = Within & { recognise?: boolean };
type Within = {
  authorization?: string | undefined;
  totalMs?: number;
  signal?: AbortSignal;
  large?: LargeBody;
  toRead?: (bytes: number) => Promise<void>;
};

/**
 * Fetches and parses one feed. The messages of errors are written for the owner of the source. Throws FeedGoneError
 * after 410, NothingThereError after 404, RetryLaterError after 429, or 503 with Retry-After, NotAFeedError with the
 * document if it is no feed.
 */
export async function fetchFeed(
  hub: Hub, url: string, validators: Validators, { recognise = false, ...within }: FetchOptions,
): Promise<FetchedFeed> {
  const beginning = recognise ? takeBeginning() : null;
  const response = await request(hub, url, validators, within, beginning?.take);
  const { headers } = response;
  const body = beginning?.bytes() ?? response.body;
  const askedFor = freshnessMs(headers, hub.clock()) ?? 0;
  // A 304 is valid only if the request had an entity tag or a date.
  const isConditional = validators.etag !== null || validators.lastModified !== null;
  const stays = permanentAddress(url, response, within);
  const unread = { feed: null, url: stays, askedFor };
  if (response.status === 304 && isConditional) return { ...unread, validators, bytes: null };
  requireSuccess(response, hub.clock(), within);
  const isPartial = beginning?.isLarge() ?? body.length > MAX_BYTES;
  const bodyHash = beginning?.isLarge() ? null : createHash('sha256').update(body).digest('hex');
  const isKnown = bodyHash !== null && bodyHash === validators.bodyHash;
  const fresh = { etag: usable(headers.etag), lastModified: usable(headers['last-modified']), bodyHash };
  if (isKnown) return { ...unread, validators: fresh, bytes: body.length };
  await within.toRead?.(body.length);
  try {
    const source = { url: response.url, contentType: headers['content-type'] ?? null };
    const feed = beginning?.isLarge() ? parseBeginning(beginning, source)
      : isPartial ? parseCut(body, source) : parseFeed(body, source);
    return { feed, url: stays, validators: fresh, askedFor, bytes: body.length, isPartial };
  } catch (error) {
    if (error instanceof NotAFeedError) error.document = { url: response.url, headers, body };
    throw error;
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
  const refuse = refusingOwn(config, ', which cannot be its own source');
  const body = { maxBytes: MAX_BYTES + 1, cuts: true, gunzip: true, ...(take && { take }) };
  return outbound({ url, headers, refuse, ...body, ...within });
}

function requireSuccess({ status, url, headers }: OutboundResponse, now: number, { authorization }: Within): void {
  if (status >= 200 && status <= 300) return;
  const host = new URL(url).host;
  if (status === 410) throw new FeedGoneError(`${host} reports that this feed is permanently gone (410).`);
  const retryAt = parseRetryAfter(headers['retry-after'], now);
  if (status === 429 || (status === 503 && retryAt !== null)) {
    const at = Math.min(retryAt ?? now + DEFAULT_RETRY_AFTER, now + DAY); // waits a day at most
    throw new RetryLaterError(`${host} asks the hub to wait (${status}).`, at);
  }
  const known = authorization !== undefined && status === 401;
  const message = `${host} answered ${status}${known ? WRONG_PASSWORD : MEANINGS[status] ?? ''}.`;
  throw status === 404 ? new NothingThereError(message) : new Error(message);
}

const WRONG_PASSWORD = ': the server does not accept the user name and password';

const MEANINGS: Record<number, string> = {
  401: ': the server requires a user name and password',
  403: ': the server refuses access',
  404: ': the server has nothing at this address',
  500: ': the server has an internal error',
  502: ': the server behind the proxy does not answer',
  503: ': the server is temporarily unavailable',
  504: ': the server behind the proxy is too slow',
};

/** The hub stores no redirect from https to http and, for a feed with a password, no redirect to another origin. */
function permanentAddress(url: string, { movedPermanentlyTo }: OutboundResponse, { authorization }: Within): string {
  if (movedPermanentlyTo === null) return url;
  if (authorization !== undefined && new URL(url).origin !== new URL(movedPermanentlyTo).origin) return url;
  return url.startsWith('https:') && !movedPermanentlyTo.startsWith('https:') ? url : movedPermanentlyTo;
}

/** Drops a validator (entity tag or date) that is too long to send back: the publisher might answer 431. */
function usable(validator: string | undefined): string | null {
  return validator !== undefined && validator.length <= VALIDATOR_MAX ? validator : null;
}

/** Feeds with more bytes than this wait for each other, so that few large feeds are in memory at once. */
const LARGE_BODY = 1024 * 1024;

/** The most large bodies (up to MAX_BYTES each) that synchronisations hold at once; one at a time is parsed. */
const RECEIVED_AT_ONCE = 3;

const lanes = once((_: Hub) => ({ receive: createLanes(RECEIVED_AT_ONCE), read: createLanes() }));

/** A synchronisation's places in the two queues for large feeds: to receive a body, and to read the feed. */
export type LargeFeedTurns = {
  body: LargeBody;
  /** Resolves when the body may be parsed: a small body at once, a large one when the large one before has ended. */
  read(bytes: number): Promise<void>;
  /** Lets the next large feed begin; called when this one's body and most of its posts are no longer needed. */
  end(): void;
};

/** Places in the queues for large feeds, taken once a body is large, and kept until `end`, also after an error. */
export function largeFeedTurns(hub: Hub, signal: AbortSignal): LargeFeedTurns {
  const { receive, read } = lanes(hub);
  const over = Promise.withResolvers<void>();
  // Each synchronisation joins a queue for large feeds only once, for all large documents that the synchronisation
  // fetches: as it leaves the queue only at its end, a synchronisation that joined twice would wait for ever.
  const beginning = (lane: typeof read): () => Promise<void> => {
    let begun: Promise<void> | undefined;
    return () => begun ??= new Promise((resolve, reject) => {
      lane('large', signal, () => (resolve(), over.promise)).catch(reject);
    });
  };
  const toRead = beginning(read);
  return {
    body: { bytes: LARGE_BODY, turn: beginning(receive) },
    read: async (bytes) => bytes > LARGE_BODY ? toRead() : undefined,
    end: over.resolve,
  };
}
