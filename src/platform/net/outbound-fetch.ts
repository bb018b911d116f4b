import dns from 'node:dns';
import type { IncomingHttpHeaders } from 'node:http';
import { SECOND } from '../clock.ts';
import type { Cidr } from './address-guard.ts';
import { ACCEPT_ENCODING, type Answer, exchange, type LargeBody, type TakeBody } from './outbound-exchange.ts';
import { createLanes } from '../limit-concurrency.ts';
import { type Lookup, OutboundError, parseTarget, resolveTarget } from './outbound-target.ts';
import { createCookies } from './redirect-cookies.ts';

export { OutboundError };

/**
 * Of `headers`, only Accept, Accept-Language, If-None-Match and If-Modified-Since are sent, also after a redirect
 * (validators belong to the final response); so are cookies that redirects of this fetch have set. `authorization` is
 * sent only to the origin of `url`. `maxBytes` limits the body both as received and unpacked: a longer one is refused
 * or, with `cuts`, ends there. `refuse` may return the reason why a URL must not be fetched; it is called before the
 * DNS lookup (without addresses) and after the lookup, also for redirects. `approve` is awaited before each request,
 * also before a redirect is followed; its error ends the fetch. `totalMs` can only shorten the default time limit of
 * the fetch, which leaves out the wait until other large responses have been received. `gunzip`: decompress also a
 * response body that is a gzip file.
 */
type OutboundRequest = {
  url: string;
  headers?: Record<string, string>;
  authorization?: string | undefined;
  maxBytes: number;
  cuts?: boolean;
  totalMs?: number;
  large?: LargeBody;
  take?: TakeBody;
  gunzip?: boolean;
  signal?: AbortSignal;
  refuse?: (url: URL, addresses: readonly string[]) => string | null;
  approve?: (url: URL) => Promise<void>;
};

type Hop = OutboundRequest & { cookie: string | undefined };

/** `url`: the address after all redirects. `movedPermanentlyTo`: the same if there were any, all 301 or 308. */
export type OutboundResponse = {
  status: number;
  url: string;
  movedPermanentlyTo: string | null;
  headers: IncomingHttpHeaders;
  body: Buffer;
};

/** Rejects with OutboundError if no response came or it was refused, or with the error of a callback. */
export type OutboundFetch = (request: OutboundRequest) => Promise<OutboundResponse>;

/** Limits in ms; `totalMs` is for all redirects together, `headerMs` from connecting to the end of the headers. */
export type OutboundOptions = {
  userAgent: string;
  allow: readonly Cidr[];
  lookup?: Lookup;
  totalMs?: number;
  dnsMs?: number;
  headerMs?: number;
  idleMs?: number;
};

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([300, 301, 302, 303, 307, 308]);
const PERMANENT_REDIRECTS = new Set([301, 308]);
const HEADERS_SENT_ON = new Set(['accept', 'accept-language', 'if-none-match', 'if-modified-since']);

/**
 * Fetches URLs that users and feeds name, with GET. Connects only to public addresses (checked after every redirect and
 * pinned for the connection) or to those in `allow`. Each host with port gets one request at a time from each process,
 * redirects included; waiting for the turn counts as fetch time.
 */
export function createOutboundFetch(options: OutboundOptions): OutboundFetch {
  const { userAgent, allow, lookup = dns.lookup, totalMs = 30 * SECOND } = options;
  const { dnsMs = 5 * SECOND, headerMs = 15 * SECOND, idleMs = 10 * SECOND } = options;
  const guard = { allow, lookup, dnsMs };
  const inLane = createLanes();

  return async (request) => {
    const url = parseTarget(request.url);
    const deadline = startDeadline(url, Math.min(request.totalMs ?? totalMs, totalMs), request.signal);
    try {
      const { large } = request;
      const waiting = large && { large: { ...large, turn: () => deadline.without(large.turn) } };
      return await follow(url, { ...request, ...waiting }, deadline.signal);
    } finally {
      deadline.stop();
    }
  };

  async function follow(first: URL, request: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse> {
    const cookies = createCookies();
    const seen = new Set<string>();
    let url = first;
    let permanent = true;
    for (;;) {
      const cookie = cookies.headerFor(url);
      const asked = JSON.stringify([url.href, cookie]);
      if (seen.has(asked)) throw new OutboundError('redirects', `${first.host} redirects in a loop`);
      seen.add(asked);
      await request.approve?.(url);
      const answer = await ask(url, describeHost(url, first), { ...request, cookie }, signal);
      const next = redirectTarget(answer, url);
      if (!next) return { ...answer, url: url.href, movedPermanentlyTo: seen.size > 1 && permanent ? url.href : null };
      if (seen.size > MAX_REDIRECTS) {
        throw new OutboundError('redirects', `${first.host} redirects more than ${MAX_REDIRECTS} times`);
      }
      permanent &&= PERMANENT_REDIRECTS.has(answer.status);
      cookies.take(url, answer.headers);
      url = next;
    }
  }

  function ask(url: URL, who: string, request: Hop, signal: AbortSignal): Promise<Answer> {
    return inLane(url.host, signal, async () => {
      assertWanted(url, [], request);
      const addresses = await resolveTarget(url, who, guard, signal);
      assertWanted(url, addresses.map(({ address }) => address), request);
      const headers = headersFor(url, request, userAgent);
      return exchange({ ...request, url, who, addresses, headers, headerMs, idleMs, signal });
    });
  }
}

function assertWanted(url: URL, addresses: readonly string[], { refuse }: OutboundRequest): void {
  const reason = refuse?.(url, addresses) ?? null;
  if (reason !== null) throw new OutboundError('blocked', reason);
}

function startDeadline(url: URL, totalMs: number, outer: AbortSignal | undefined) {
  const controller = new AbortController();
  const onAbort = () => controller.abort(new OutboundError('aborted', `fetching from ${url.host} was cancelled`));
  const onTimeout = () =>
    controller.abort(new OutboundError('timeout', `${url.host} did not finish answering within ${totalMs / 1000} s`));
  let timer = setTimeout(onTimeout, totalMs);
  let endsAt = performance.now() + totalMs;
  outer?.addEventListener('abort', onAbort, { once: true });
  if (outer?.aborted) onAbort();
  return {
    signal: controller.signal,
    /** Awaits `wait`, the queue for large bodies, outside the time limit. */
    async without(wait: () => Promise<void>): Promise<void> {
      const since = performance.now();
      clearTimeout(timer);
      await wait();
      endsAt += performance.now() - since;
      timer = setTimeout(onTimeout, Math.max(0, endsAt - performance.now()));
    },
    stop() {
      clearTimeout(timer);
      outer?.removeEventListener('abort', onAbort);
    },
  };
}

function headersFor(url: URL, request: Hop, userAgent: string): Record<string, string> {
  const given = Object.entries(request.headers ?? {}).filter(([name]) => HEADERS_SENT_ON.has(name.toLowerCase()));
  const told = url.origin === new URL(request.url).origin ? request.authorization : undefined;
  return {
    'User-Agent': userAgent, 'Accept-Encoding': ACCEPT_ENCODING, ...Object.fromEntries(given),
    ...(request.cookie === undefined ? {} : { Cookie: request.cookie }),
    ...(told === undefined ? {} : { Authorization: told }),
  };
}

/** The target of a redirect; undefined for any other answer, such as a 300 response that only lists its choices. */
function redirectTarget({ status, headers }: Answer, from: URL): URL | undefined {
  if (!REDIRECTS.has(status) || (status === 300 && !headers.location)) return undefined;
  if (!headers.location) throw new OutboundError('redirects', `${from.host} redirects (${status}) without a Location`);
  // Node decodes header bytes as Latin-1, but servers that do not escape a Location mean UTF-8.
  return parseTarget(Buffer.from(headers.location, 'latin1').toString('utf8'), from);
}

function describeHost(url: URL, first: URL): string {
  return url.host === first.host ? url.host : `${url.host} (redirected from ${first.host})`;
}
