import { store } from '../hub/hub.ts';

/**
 * A removal step ends after this many bytes of contents. SQLite overwrites deleted contents, which makes its
 * write-ahead log grow by 1.5 times their size (measured).
 */
const REMOVED_BYTES = 512 * 1024;

/** All posts of a source: their number, their publishing times, and their removal with the source. */
export const sourcePosts = store(({ db }) => {
  const selectNewest = db.prepare<[string], { id: number; at: number | null }>('newest posts of sources', `
    SELECT value AS id, (SELECT MAX(published_at) FROM posts WHERE source_id = value) AS at FROM json_each(?)`);
  const selectTimes = db.prepare<[number, number], { at: number }>('times of newest posts',
    'SELECT published_at AS at FROM posts WHERE source_id = ? ORDER BY published_at DESC LIMIT ?');
  const count = db.prepare<[number, number], { n: number }>('count posts of source',
    'SELECT COUNT(*) AS n FROM (SELECT 1 FROM posts WHERE source_id = ? LIMIT ?)');
  const remove = db.prepare<[number, number, number]>('delete posts of source', `
    DELETE FROM posts WHERE id IN
      (SELECT id FROM (SELECT id, SUM(length) OVER (ORDER BY id) - length AS before
                         FROM (SELECT id, octet_length(content_html) AS length FROM posts WHERE source_id = ? LIMIT ?))
        WHERE before < ?)`);
  const selectAny = db.prepare<[number], { id: number }>('any post of source',
    'SELECT id FROM posts WHERE source_id = ? LIMIT 1');

  return {
    /** Publishing times of a source's newest posts, up to `limit`. */
    newestTimes: (sourceId: number, limit: number): number[] =>
      selectTimes.all(sourceId, limit).map(({ at }) => at),
    /** Number of posts of a source; counting stops at `limit`. */
    count: (sourceId: number, limit: number): number => count.get(sourceId, limit)?.n ?? 0,
    /** Publishing time of each source's newest post, by source id; sources without posts are left out. */
    newestOf: (sourceIds: number[]): Map<number, number> => new Map(selectNewest.all(JSON.stringify(sourceIds))
      .flatMap(({ id, at }): [number, number][] => (at === null ? [] : [[id, at]]))),
    /** Deletes up to `limit` posts of a removed source, fewer if the posts are long, without tombstones. */
    remove(sourceId: number, limit: number): { removed: number; isMore: boolean } {
      const { changes } = remove.run(sourceId, limit, REMOVED_BYTES);
      return { removed: changes, isMore: selectAny.get(sourceId) !== undefined };
    },
  };
});
