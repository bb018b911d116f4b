import { DAY, hasPassed, HOUR } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createTimeRepair } from '../../platform/jobs/scheduler.ts';
import { counts, store } from '../hub/hub.ts';

type CachedFile = { urlHash: string; bytes: number; mediaType: string; sha256: string; usedAt: number };
type NewCachedFile = Omit<CachedFile, 'usedAt'> & Record<'width' | 'height', number | null>;

type CachedImage = { urlHash: string; bytes: number; width: number; height: number };

/** `used_at` is updated at most once in this time, so that reading a cached file hardly ever writes to the database. */
const USED_RESOLUTION = HOUR;

export const FAILURE_KEPT = HOUR;

/** A picture that was too large for lists may be fetched again after this time, or when a reader opens it. */
export const GIVEN_UP_KEPT = 7 * DAY;

export const cachedFiles = store((hub) => {
  const { db, clock } = hub;
  const sql = prepareCachedFiles(db);

  return {
    find: db.prepare<[urlHash: string], CachedFile>('cached file', `
      SELECT url_hash AS urlHash, bytes, media_type AS mediaType, sha256, used_at AS usedAt
        FROM cached_files WHERE url_hash = ? AND failed_until IS NULL`).get,
    images: (urlHashes: string[]): CachedImage[] => sql.images.all(JSON.stringify(urlHashes)),
    missing: (urlHashes: string[]): string[] =>
      sql.missing.all(JSON.stringify(urlHashes), clock()).map(({ urlHash }) => urlHash),
    list: db.prepare<[after: string, limit: number], Pick<CachedFile, 'urlHash' | 'bytes'>>('cached files', `
      SELECT url_hash AS urlHash, bytes FROM cached_files
       WHERE url_hash > ? AND failed_until IS NULL ORDER BY url_hash LIMIT ?`).all,
    /** Why the last fetch failed; undefined if the hub may fetch the file again. */
    failureOf: (urlHash: string): string | undefined => sql.failureOf.get(urlHash, clock())?.error,
    /** Whether the hub has a copy, could not fetch the file lately, or gave it up as too large. */
    isKnown: (urlHash: string): boolean => sql.known.get(urlHash, clock()) !== undefined,
    noteUse(file: CachedFile): void {
      if (hasPassed(file.usedAt, USED_RESOLUTION, clock())) sql.touch.run(clock(), file.urlHash);
    },
    keep: db.transaction('keep cached file', (file: NewCachedFile): void => {
      sql.remove.run(file.urlHash);
      sql.insert.run({ ...file, now: clock() });
    }),
    /** Remembers until `until` (unix ms) that a fetch failed; `error` is null if a file was too large for lists. */
    fail: db.transaction('remember failed fetch', (urlHash: string, until: number, error: string | null): void => {
      sql.remove.run(urlHash);
      sql.insertFailure.run({ urlHash, now: clock(), until, error });
    }),
    forget: sql.remove.run,
    forgetFailures: (): void => void sql.forgetFailures.run(clock()),
    bringBackTimes: createTimeRepair(db, clock, [
      { table: 'cached_files', column: 'failed_until', furthest: FAILURE_KEPT, where: 'error IS NOT NULL' },
      { table: 'cached_files', column: 'failed_until', furthest: GIVEN_UP_KEPT, where: 'error IS NULL' },
      { table: 'cached_files', column: 'used_at', furthest: 0, where: 'failed_until IS NULL' },
    ]),

    /** The least recently used file except `spared`; undefined if there is none or the cache fits into `maxBytes`. */
    nextToEvict(maxBytes: number, spared = ''): string | undefined {
      return counts(hub).value('attachment_cache_bytes') > maxBytes ? sql.oldest.get(spared)?.urlHash : undefined;
    },
  };
});

type FailedFetch = { urlHash: string; now: number; until: number; error: string | null };

function prepareCachedFiles(db: Db) {
  return {
    images: db.prepare<[string], CachedImage>('cached images', `
      SELECT url_hash AS urlHash, bytes, width, height FROM cached_files
       WHERE url_hash IN (SELECT value FROM json_each(?)) AND failed_until IS NULL AND width IS NOT NULL`),
    missing: db.prepare<[string, number], { urlHash: string }>('missing files', `
      SELECT url_hash AS urlHash FROM cached_files
       WHERE url_hash IN (SELECT value FROM json_each(?)) AND failed_until > ? AND error IS NOT NULL`),
    failureOf: db.prepare<[string, number], { error: string }>('failed fetch',
      'SELECT error FROM cached_files WHERE url_hash = ? AND failed_until > ? AND error IS NOT NULL'),
    known: db.prepare<[string, number], object>('known file',
      'SELECT 1 FROM cached_files WHERE url_hash = ? AND (failed_until IS NULL OR failed_until > ?)'),
    remove: db.prepare<[urlHash: string]>('forget cached file', 'DELETE FROM cached_files WHERE url_hash = ?'),
    insert: db.prepare<[NewCachedFile & { now: number }]>('keep cached file', `
      INSERT INTO cached_files (url_hash, bytes, media_type, sha256, width, height, fetched_at, used_at)
      VALUES (@urlHash, @bytes, @mediaType, @sha256, @width, @height, @now, @now)`),
    insertFailure: db.prepare<[FailedFetch]>('remember failed fetch', `
      INSERT INTO cached_files (url_hash, bytes, fetched_at, used_at, failed_until, error)
      VALUES (@urlHash, 0, @now, @now, @until, @error)`),
    touch: db.prepare<[number, string]>('note use of cached file',
      'UPDATE cached_files SET used_at = ? WHERE url_hash = ?'),
    oldest: db.prepare<[string], { urlHash: string }>('least recently used file', `
      SELECT url_hash AS urlHash FROM cached_files
       WHERE failed_until IS NULL AND url_hash <> ? ORDER BY used_at LIMIT 1`),
    forgetFailures: db.prepare<[number]>('forget old failures', 'DELETE FROM cached_files WHERE failed_until <= ?'),
  };
}
