import type { Db } from '../db/open-database.ts';
import type { RenderedReply } from './reply.ts';
import type { Route } from './router.ts';

/** The plain or gzip form of a response; `headers`: names and values in turn. */
export type Form = { headers: string[]; body: Buffer; etag: string };

/** A response that can be sent again; `compressed`: its form for clients that accept gzip. */
export type CachedResponse = Form & { status: number; isCompressible: boolean; compressed?: Form };
export type CachedAnswer = { response: CachedResponse; route: Route };

export type ResponseCache = ReturnType<typeof createResponseCache>;

const MAX_BYTES = 16 * 1024 * 1024;
const MAX_ENTRY_BYTES = 1024 * 1024;

/** Approximate bytes in memory of a cached response besides its body and its key. */
const ENTRY_OVERHEAD_BYTES = 2048;
const UNKNOWN = -1;

/** An LRU cache of public responses. Each look-up calls `version`; if that is new, the cache is emptied. */
export function createResponseCache(version: () => number) {
  // A Map keeps insertion order, so the first entry is the least recently used.
  const entries = new Map<string, CachedAnswer>();
  let bytes = 0;
  let current = UNKNOWN;

  /** Empties the cache and returns false if the version of the public content is new or unreadable (failing disk). */
  function isCurrent(): boolean {
    const now = readVersion(version);
    if (now === current && now !== UNKNOWN) return true;
    entries.clear();
    bytes = 0;
    current = now;
    return false;
  }

  function remove(key: string): CachedAnswer | undefined {
    const found = entries.get(key);
    if (found) bytes -= sizeOf(key, found);
    entries.delete(key);
    return found;
  }

  function add(key: string, answer: CachedAnswer): void {
    entries.set(key, answer);
    bytes += sizeOf(key, answer);
  }

  return {
    get(key: string): CachedAnswer | undefined {
      const found = isCurrent() ? remove(key) : undefined;
      if (found) add(key, found);
      return found;
    },
    /** Caches a response, unless too large, or changed since: `asOf` is the version before the response was made. */
    put(key: string, answer: CachedAnswer, asOf: number): void {
      if (!isCurrent() || asOf !== current || sizeOf(key, answer) > MAX_ENTRY_BYTES) return;
      remove(key);
      add(key, answer);
      for (const oldest of entries.keys()) {
        if (bytes <= MAX_BYTES) break;
        remove(oldest);
      }
    },
    version(): number {
      isCurrent();
      return current;
    },
  };
}

/** Whether a reply to an anonymous read may be cached: a whole, successful text without a secret. */
export function isCacheable({ status, headers, isText }: RenderedReply): boolean {
  const isShared = headers['cache-control'] !== 'no-store' && !headers['set-cookie'];
  return status === 200 && isText && isShared;
}

function readVersion(version: () => number): number {
  try {
    return version();
  } catch {
    return UNKNOWN;
  }
}

function sizeOf(key: string, { response }: CachedAnswer): number {
  const { body, compressed } = response;
  return body.length + (compressed?.body.length ?? 0) + 2 * key.length + ENTRY_OVERHEAD_BYTES;
}

/**
 * Returns a function that returns the version of the public content: a number that changes with what anonymous readers
 * can see. `PRAGMA data_version` takes 3 µs and tells whether another connection has committed, so `reader` must be a
 * connection that never writes. Requests that Node has read in one pass of its event loop share one look: with eight
 * visitors at a time, that saves 7 % of the processor time of a cached response.
 */
export function createContentVersion(reader: Db): () => number {
  const dataVersion = reader.prepare<[], { data_version: number }>('data version', 'PRAGMA data_version');
  const select = reader.prepare<[], { value: number }>('content version',
    `SELECT value FROM counts WHERE metric = 'content_version' AND label = ''`);
  let seen: number | undefined;
  let version = 0;
  let isFresh = false;

  return () => {
    if (isFresh) return version;
    const now = dataVersion.get()?.data_version;
    if (now !== seen) {
      version = select.get()?.value ?? 0;
      seen = now;
    }
    isFresh = true;
    setImmediate(() => (isFresh = false));
    return version;
  };
}
