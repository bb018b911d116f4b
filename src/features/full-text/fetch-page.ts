import { DAY } from '../../platform/clock.ts';
import { OutboundError, type OutboundResponse } from '../../platform/net/outbound-fetch.ts';
import { once, type Hub } from '../hub/hub.ts';
import { leadsHere } from '../hub/own-address.ts';
import type { Failure, Refusal } from './explain-full-text.ts';
import { allowsPage, parseRobots, ROBOTS_BYTES, type RobotsRules } from './robots-rules.ts';

const PAGE_BYTES = 5 * 1024 * 1024;

/** The hub keeps the rules of at most SITES_KEPT sites in memory, each for this time. */
const RULES_KEPT = DAY;
const SITES_KEPT = 500;

const HTML_TYPE = /^(?:text\/html|application\/xhtml\+xml)\b/i;

/** Thrown if the hub must not use a page, also not a day later. */
export class PageRefused extends Error {
  readonly reason: Refusal;

  constructor(reason: Refusal) {
    super(reason);
    this.reason = reason;
  }
}

/** Thrown if the hub could not fetch a page. The message is for readers and names hosts only. */
export class PageFailed extends Error {
  readonly reason: Failure;

  constructor(reason: Failure, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** `isAsked`: a member has asked for the page, so robots.txt, which is for programs, does not apply. */
type PageOptions = { isAsked: boolean; signal: AbortSignal };

const knownRules = once((_: Hub) => new Map<string, { rules: RobotsRules; until: number }>());

/** Fetches a web page, guarded and limited as feeds are. Throws PageRefused or PageFailed. */
export async function fetchPage(hub: Hub, url: string, { isAsked, signal }: PageOptions): Promise<OutboundResponse> {
  if (!isAsked) await obeyRobots(hub, url, signal);
  const headers = { accept: 'text/html, application/xhtml+xml;q=0.9' };
  const response = await request(hub, { url, headers, maxBytes: PAGE_BYTES, signal });
  const { status, url: finalUrl, headers: { 'content-type': type } } = response;
  if (status !== 200) throw new PageFailed('bad-answer', `${new URL(finalUrl).host} answered with status ${status}.`);
  if (type !== undefined && !HTML_TYPE.test(type)) throw new PageRefused('not-html');
  if (!isAsked && finalUrl !== url) await obeyRobots(hub, finalUrl, signal);
  return response;
}

async function obeyRobots(hub: Hub, address: string, signal: AbortSignal): Promise<void> {
  const url = URL.parse(address);
  if (url && !allowsPage(await rulesOf(hub, url.origin, signal), url)) throw new PageRefused('robots');
}

async function rulesOf(hub: Hub, origin: string, signal: AbortSignal): Promise<RobotsRules> {
  const known = knownRules(hub);
  const found = known.get(origin);
  if (found && found.until > hub.clock()) return found.rules;
  const rules = await fetchRules(hub, origin, signal);
  known.delete(origin);
  known.set(origin, { rules, until: hub.clock() + RULES_KEPT });
  const [oldest] = known.keys();
  if (known.size > SITES_KEPT && oldest !== undefined) known.delete(oldest);
  return rules;
}

/** Fetches a site's robots.txt. A missing file allows all pages; an error of the server fails (RFC 9309, 2.3.1). */
async function fetchRules(hub: Hub, origin: string, signal: AbortSignal): Promise<RobotsRules> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const take = (piece: Buffer): boolean => (pieces.push(piece), (bytes += piece.length) < ROBOTS_BYTES);
  const { status, url } = await request(hub, { url: `${origin}/robots.txt`, maxBytes: 2 * ROBOTS_BYTES, take, signal });
  if (status >= 200 && status < 300) return parseRobots(Buffer.concat(pieces).toString('utf8', 0, ROBOTS_BYTES));
  if (status >= 400 && status < 500) return [];
  throw new PageFailed('bad-answer', `${new URL(url).host} answered with status ${status} for its robots.txt.`);
}

type Wanted = Parameters<Hub['outbound']>[0] & { signal: AbortSignal };

async function request({ outbound, config }: Hub, wanted: Wanted): Promise<OutboundResponse> {
  const refuse = (to: URL, addresses: readonly string[]): string | null =>
    leadsHere(config, to, addresses) ? `${to.host} is this hub itself` : null;
  try {
    return await outbound({ ...wanted, refuse });
  } catch (error) {
    wanted.signal.throwIfAborted();
    if (!(error instanceof OutboundError)) throw error;
    if (error.reason === 'too-large') throw new PageRefused('too-large');
    throw new PageFailed('unreachable', `The hub could not fetch the page: ${error.message}.`);
  }
}
