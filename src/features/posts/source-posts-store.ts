import { store } from '../hub/hub.ts';

/** Bytes of contents after which a step deletes no more; it writes 1.5 times as many to the WAL (measured). */
const REMOVED_BYTES = 512 * 1024;

export const sourcePosts = store(({ db }) => {
  const selectNewest = db.prepare<[string], { id: number; at: number | null }>('read the newest posts of sources', `
    SELECT value AS id, (SELECT MAX(published_at) FROM posts WHERE source_id = value) AS at FROM json_each(?)`);
  const selectTimes = db.prepare<[number, number], { at: number }>('read the times of the newest posts',
    'SELECT published_at AS at FROM posts WHERE source_id = ? ORDER BY published_at DESC LIMIT ?');
  const remove = db.prepare<[number, number, number]>('delete the posts of a source', `
    DELETE FROM posts WHERE id IN
      (SELECT id FROM (SELECT id, SUM(length) OVER (ORDER BY id) - length AS before
                         FROM (SELECT id, octet_length(content_html) AS length FROM posts WHERE source_id = ? LIMIT ?))
        WHERE before < ?)`);
  const selectAny = db.prepare<[number], { id: number }>('whether a source has any post',
    'SELECT id FROM posts WHERE source_id = ? LIMIT 1');
  const selectDeleted = db.prepare<[string, string], { at: number }>('tombstone in some sources', `
    SELECT deleted_at AS at FROM post_tombstones
     WHERE guid = ? AND source_id IN (SELECT value FROM json_each(?))`);

  const selectNthLast = db.prepare<[number, number], { id: number }>('find the nth newest post of a source',
    'SELECT id FROM posts WHERE source_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?');

  return {
    /** The id of the source's post after which exactly `n` posts arrived; 0 if the source has at most `n` posts. */
    nthLast: (sourceId: number, n: number): number => selectNthLast.get(sourceId, n)?.id ?? 0,
    newestTimes: (sourceId: number, limit: number): number[] =>
      selectTimes.all(sourceId, limit).map(({ at }) => at),
    hasAny: (sourceIds: number[]): boolean => sourceIds.some((id) => selectAny.get(id) !== undefined),
    count: db.prepare<[sourceId: number, limit: number], { n: number }>('count the posts of a source',
      'SELECT COUNT(*) AS n FROM (SELECT 1 FROM posts WHERE source_id = ? LIMIT ?)').count,
    newestOf: (sourceIds: number[]): Map<number, number> => new Map(selectNewest.all(JSON.stringify(sourceIds))
      .flatMap(({ id, at }): [number, number][] => (at === null ? [] : [[id, at]]))),
    /** Returns the time (unix ms) at which the post `guid` of one of these sources was deleted; undefined if not. */
    deletedAt: (sourceIds: number[], guid: string): number | undefined =>
      selectDeleted.get(guid, JSON.stringify(sourceIds))?.at,
    remove(sourceId: number, limit: number): { removed: number; isMore: boolean } {
      const { changes } = remove.run(sourceId, limit, REMOVED_BYTES);
      return { removed: changes, isMore: selectAny.get(sourceId) !== undefined };
    },
  };
});
