import { DAY } from '../../platform/clock.ts';
import { OutboundError, type OutboundResponse } from '../../platform/net/outbound-fetch.ts';
import { once, type Hub } from '../hub/hub.ts';
import { refusingOwn } from '../hub/own-address.ts';
import type { Failure, Refusal } from './explain-full-text.ts';
import { allowsPage, parseRobots, ROBOTS_BYTES, type RobotsRules } from './robots-rules.ts';

const PAGE_BYTES = 5 * 1024 * 1024;

/**
 * The rules of a site are kept in memory for a day, and the rules of all sites together from at most RULES_BYTES of
 * text, because rules take up to eight times as much memory as their text. Above RULES_BYTES, the hub forgets the rules
 * that were fetched longest ago.
 */
const RULES_KEPT = DAY;
const RULES_BYTES = 4 * 1024 * 1024;

/** Added to the bytes of each site's rules, because its address needs memory too. */
const SITE_BYTES = 1_000;

const HTML_TYPE = /^(?:text\/html|application\/xhtml\+xml)\b/i;

/** The hub must not or cannot use the page, and makes no second attempt by itself. */
export class PageRefused extends Error {
  readonly reason: Refusal;

  constructor(reason: Refusal) {
    super(reason);
    this.reason = reason;
  }
}

/** The page could not be fetched. Readers see the message, which names hosts but no addresses. */
export class PageFailed extends Error {
  readonly reason: Failure;

  constructor(reason: Failure, message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * `isAsked`: whether a member wants the page, so that robots.txt does not apply: its rules are for programs without a
 * person. The hub calls `isAsked` again after it has fetched robots.txt, because a member may ask during the fetch.
 */
type PageOptions = { isAsked: () => boolean; signal: AbortSignal };

type SiteRules = { rules: RobotsRules; bytes: number };
type KnownSites = { sites: Map<string, SiteRules & { until: number }>; bytes: number };

const knownRules = once((_: Hub): KnownSites => ({ sites: new Map(), bytes: 0 }));

/** Fetches a web page, guarded as feeds are. Throws PageRefused, PageFailed or the signal's reason. */
export async function fetchPage(hub: Hub, url: string, options: PageOptions): Promise<OutboundResponse> {
  const headers = { accept: 'text/html, application/xhtml+xml;q=0.9' };
  const approve = (to: URL): Promise<void> => obeyRobots(hub, to, options);
  const response = await request(hub, { url, headers, maxBytes: PAGE_BYTES, approve, signal: options.signal })
    .catch((error: unknown) => {
      if (!(error instanceof OutboundError)) throw error;
      if (error.reason === 'too-large') throw new PageRefused('too-large');
      throw new PageFailed('unreachable', `The hub could not fetch the page: ${error.message}.`);
    });
  const { status, url: finalUrl, headers: { 'content-type': type } } = response;
  if (status !== 200) throw new PageFailed('bad-answer', `${new URL(finalUrl).host} answered with status ${status}.`);
  if (type !== undefined && !HTML_TYPE.test(type)) throw new PageRefused('not-html');
  return response;
}

async function obeyRobots(hub: Hub, url: URL, { isAsked, signal }: PageOptions): Promise<void> {
  if (isAsked()) return;
  const rules = await rulesOf(hub, url.origin, signal).catch((error: unknown) => {
    if (!(error instanceof PageFailed && isAsked())) throw error;
  });
  if (rules && !allowsPage(rules, url) && !isAsked()) throw new PageRefused('robots');
}

async function rulesOf(hub: Hub, origin: string, signal: AbortSignal): Promise<RobotsRules> {
  const known = knownRules(hub);
  const found = known.sites.get(origin);
  if (found && found.until > hub.clock()) return found.rules;
  const fetched = await fetchRules(hub, origin, signal);
  forgetRules(known, origin);
  known.sites.set(origin, { ...fetched, until: hub.clock() + RULES_KEPT });
  known.bytes += fetched.bytes;
  for (const oldest of known.sites.keys()) {
    if (known.bytes <= RULES_BYTES) break;
    forgetRules(known, oldest);
  }
  return fetched.rules;
}

function forgetRules(known: KnownSites, origin: string): void {
  known.bytes -= known.sites.get(origin)?.bytes ?? 0;
  known.sites.delete(origin);
}

/** Fetches a site's robots.txt. A status 4xx allows all pages, another failure none: throws PageFailed (RFC 9309). */
async function fetchRules(hub: Hub, origin: string, signal: AbortSignal): Promise<SiteRules> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const take = (piece: Buffer): boolean => (pieces.push(piece), (bytes += piece.length) < ROBOTS_BYTES);
  const { status, url } = await request(hub, { url: `${origin}/robots.txt`, maxBytes: Infinity, take, signal })
    .catch((error: unknown) => {
      if (!(error instanceof OutboundError)) throw error;
      throw new PageFailed('robots', `The hub could not fetch the site’s robots.txt: ${error.message}.`);
    });
  if (status >= 200 && status < 300) {
    return { rules: parseRobots(Buffer.concat(pieces).toString('utf8', 0, ROBOTS_BYTES)), bytes: bytes + SITE_BYTES };
  }
  if (status >= 400 && status < 500) return { rules: [], bytes: SITE_BYTES };
  throw new PageFailed('robots', `${new URL(url).host} answered with status ${status} for its robots.txt.`);
}

type Wanted = Parameters<Hub['outbound']>[0] & { signal: AbortSignal };

/** Refuses an address that leads to this hub. Throws OutboundError, or the signal's reason. */
async function request({ outbound, config }: Hub, wanted: Wanted): Promise<OutboundResponse> {
  try {
    return await outbound({ ...wanted, refuse: refusingOwn(config) });
  } catch (error) {
    wanted.signal.throwIfAborted();
    throw error;
  }
}
