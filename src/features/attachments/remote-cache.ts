import { createHash } from 'node:crypto';
import { HOUR, MINUTE, type Clock } from '../../platform/clock.ts';
import { isStorageTrouble } from '../../platform/db/open-database.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { createHostLanes, createSlots } from '../../platform/limit-concurrency.ts';
import { OutboundError, type OutboundFetch } from '../../platform/net/outbound-fetch.ts';
import type { CacheFiles } from './cache-files.ts';
import type { CacheStore } from './cache-store.ts';
import { recogniseContent } from './recognise-file.ts';
import { RefusedFile } from './byte-walk.ts';

/** How long a file that could not be had is not asked for again; a slow publisher may be quicker soon. */
const FAILURE_KEPT = HOUR;
const SLOWNESS_KEPT = MINUTE;
const SLOWNESS = new Set(['timeout', 'idle']);

/** Each file is in memory while it is fetched. */
const FETCHED_AT_ONCE = 4;
const MAX_UNDER_WAY = 200;

/** Of those, so many of one host: a publisher that never answers leaves room for the others. */
const MAX_OF_HOST = 40;

const FOREVER = new AbortController().signal;

/** A file without a row is left over from a crash when it is older. */
const STRAY_AGE = HOUR;

const ROWS_AT_ONCE = 200;

export type CachedContent = { path: string; bytes: number; mediaType: string; sha256: string };

export type RemoteCacheDeps = {
  files: CacheFiles;
  store: CacheStore;
  outbound: OutboundFetch;
  /** Bytes of one file, and of all of them together; 0 for all turns the cache off. */
  maxFileBytes: number;
  maxBytes: number;
  clock: Clock;
  /** Counts requests; given by app. */
  count(result: 'hit' | 'miss' | 'error'): void;
};

export type RemoteCache = ReturnType<typeof createRemoteCache>;

/**
 * Publishers' files, fetched when a reader first asks and kept, so that readers never talk to publishers. One fetch
 * however many ask; the least recently used files go when the cache is full.
 */
export function createRemoteCache({ files, store, outbound, maxFileBytes, maxBytes, clock, count }: RemoteCacheDeps) {
  const underWay = new Map<string, { host: string; fetching: Promise<CachedContent> }>();
  const inLane = createHostLanes();
  const slots = createSlots(FETCHED_AT_ONCE, MAX_UNDER_WAY, busy);

  async function findKept(urlHash: string): Promise<CachedContent | undefined> {
    const known = store.find(urlHash);
    if (!known || (await files.sizeOf(urlHash)) !== known.bytes) return undefined;
    ignoringFullDisk(() => store.noteUse(known));
    const { bytes, mediaType, sha256 } = known;
    return { path: files.pathOf(urlHash), bytes, mediaType, sha256 };
  }

  function fetchOnce(urlHash: string, url: string): Promise<CachedContent> {
    const found = underWay.get(urlHash);
    if (found) return found.fetching;
    const { host } = new URL(url);
    if (!hasRoomFor(host)) return Promise.reject(busy());
    // A turn at the host comes before a slot: files that wait for one slow host keep no others from being fetched.
    const fetching = inLane(host, FOREVER, () => slots(() => fetchAndKeep(urlHash, url)))
      .finally(() => underWay.delete(urlHash));
    underWay.set(urlHash, { host, fetching });
    return fetching;
  }

  function hasRoomFor(host: string): boolean {
    const ofHost = [...underWay.values()].filter((one) => one.host === host);
    return underWay.size < MAX_UNDER_WAY && ofHost.length < MAX_OF_HOST;
  }

  async function fetchAndKeep(urlHash: string, url: string): Promise<CachedContent> {
    const { body, mediaType } = await fetchContent(url).catch((error: unknown) => remember(urlHash, error));
    const sha256 = createHash('sha256').update(body).digest('hex');
    await files.write(urlHash, body);
    store.keep({ urlHash, bytes: body.length, mediaType, sha256 });
    await evict(urlHash);
    return { path: files.pathOf(urlHash), bytes: body.length, mediaType, sha256 };
  }

  async function fetchContent(url: string): Promise<{ body: Buffer; mediaType: string }> {
    const headers = { accept: 'image/avif, image/webp, image/*, application/pdf' };
    const { status, body } = await outbound({ url, maxBytes: Math.min(maxFileBytes, maxBytes), headers });
    if (status !== 200) throw new OutboundError('bad-response', `its server answered ${status}`);
    return { body, mediaType: recogniseContent(body).mediaType };
  }

  function remember(urlHash: string, error: unknown): never {
    if (!(error instanceof OutboundError || error instanceof RefusedFile)) throw error;
    const isSlow = error instanceof OutboundError && SLOWNESS.has(error.reason);
    store.fail(urlHash, clock() + (isSlow ? SLOWNESS_KEPT : FAILURE_KEPT), error.message);
    throw unavailable(error.message);
  }

  /** Spares the file that was just fetched: where the clock was put back, it is the least recently used. */
  async function evict(spared?: string): Promise<void> {
    for (;;) {
      const next = store.nextToEvict(maxBytes, spared);
      if (next === undefined) return;
      store.forget(next);
      await files.remove(next);
    }
  }

  /** A restored backup has rows but no files. */
  async function forgetMissing(): Promise<void> {
    let found = store.list('', ROWS_AT_ONCE);
    while (found.length > 0) {
      for (const { urlHash, bytes } of found) {
        if ((await files.sizeOf(urlHash)) !== bytes) store.forget(urlHash);
      }
      found = store.list(found.at(-1)?.urlHash ?? '', ROWS_AT_ONCE);
    }
  }

  async function removeStrays(): Promise<void> {
    for await (const { urlHash, modifiedAt } of files.list()) {
      if (modifiedAt < clock() - STRAY_AGE && store.find(urlHash) === undefined) await files.remove(urlHash);
    }
  }

  return {
    /**
     * 404 when the file cannot be had or is of no type that the hub shows, which is remembered for a while; 503 when
     * too many are being fetched, of its host or of all.
     */
    async open(url: string): Promise<CachedContent> {
      if (maxBytes === 0) throw new HttpError(404, 'The hub keeps no copies of publishers’ files.');
      const urlHash = files.hashOf(url);
      const failure = store.failureOf(urlHash);
      try {
        if (failure !== undefined) throw unavailable(failure);
        const kept = await findKept(urlHash);
        const content = kept ?? await fetchOnce(urlHash, url);
        count(kept ? 'hit' : 'miss');
        return content;
      } catch (error) {
        count('error');
        throw error;
      }
    },

    /** Removes what the limit no longer allows, forgets old failures, and repairs what a crash left. */
    async tidy(): Promise<void> {
      store.forgetFailures();
      await forgetMissing();
      await evict();
      await removeStrays();
    },
  };
}

/** Reading goes on where nothing can be written. */
function ignoringFullDisk(write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!isStorageTrouble(error)) throw error;
  }
}

function unavailable(reason: string): HttpError {
  return new HttpError(404, `The publisher’s file cannot be had: ${reason}`);
}

function busy(): HttpError {
  return new HttpError(503, 'Too many files are being fetched at once.', { headers: { 'retry-after': '10' } });
}
