import { store } from '../hub/hub.ts';

/** When the newest post of a source was published, for many sources at once. */
export const newestPosts = store(({ db }) => {
  const select = db.prepare<[string], { id: number; at: number | null }>('newest posts of sources', `
    SELECT value AS id, (SELECT MAX(published_at) FROM posts WHERE source_id = value) AS at FROM json_each(?)`);

  return {
    /** By the id of the source, without those that have no posts. */
    of: (sourceIds: number[]): Map<number, number> => new Map(select.all(JSON.stringify(sourceIds))
      .flatMap(({ id, at }): [number, number][] => (at === null ? [] : [[id, at]]))),
  };
});
