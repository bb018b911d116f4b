import { store } from '../hub/hub.ts';

/** Of sources as a whole: when the newest post of each was published, and how many there are. */
export const newestPosts = store(({ db }) => {
  const select = db.prepare<[string], { id: number; at: number | null }>('newest posts of sources', `
    SELECT value AS id, (SELECT MAX(published_at) FROM posts WHERE source_id = value) AS at FROM json_each(?)`);
  const selectTimes = db.prepare<[number, number], { at: number }>('times of newest posts',
    'SELECT published_at AS at FROM posts WHERE source_id = ? ORDER BY published_at DESC LIMIT ?');
  const count = db.prepare<[number, number], { n: number }>('count posts of source',
    'SELECT COUNT(*) AS n FROM (SELECT 1 FROM posts WHERE source_id = ? LIMIT ?)');

  return {
    /** When the newest posts of a source were published, at most `most`. */
    times: (sourceId: number, most: number): number[] => selectTimes.all(sourceId, most).map(({ at }) => at),
    /** How many posts a source has, or `most`. */
    count: (sourceId: number, most: number): number => count.get(sourceId, most)?.n ?? 0,
    /** By the id of the source, without those that have no posts. */
    of: (sourceIds: number[]): Map<number, number> => new Map(select.all(JSON.stringify(sourceIds))
      .flatMap(({ id, at }): [number, number][] => (at === null ? [] : [[id, at]]))),
  };
});
