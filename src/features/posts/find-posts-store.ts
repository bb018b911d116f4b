import { store } from '../hub/hub.ts';
import { fromSource, joinSource } from '../sources/source-store.ts';
import { COLUMNS, type Post } from './post-store.ts';
import { FOUND_POSTS } from './posts-in-lists.ts';

// Numbers are bound as REAL, which FTS5 does not take for a bound on its rows.
const FOUND = `SELECT ${COLUMNS} ${FOUND_POSTS} CROSS ${joinSource('p.source_id')}
     WHERE posts_search MATCH ? AND posts_search.rowid < CAST(? AS INTEGER)`;

/** What the full-text index finds after a search key, newest first. */
export const foundPosts = store(({ db }) => {
  const selectAll = db.prepare<[string, number, number, number], Post>('search posts',
    `${FOUND} AND (s.visibility = 'public' OR s.owner_id = ?) ORDER BY posts_search.rowid DESC LIMIT ?`);
  const selectOfSource = db.prepare<[string, number, number], Post>('search posts of source',
    `${FOUND} ORDER BY posts_search.rowid DESC LIMIT ?`);
  const selectOwner = db.prepare<[number], { id: number }>('owner of source',
    `SELECT s.owner_id AS id ${fromSource('?')}`);

  return {
    ownerOf: (sourceId: number): number | undefined => selectOwner.get(sourceId)?.id,
    /** Public ones and the viewer's own. */
    all: (expression: string, after: number, viewerId: number, limit: number): Post[] =>
      selectAll.all(expression, after, viewerId, limit),
    /** Of a source that the expression names. */
    ofSource: (expression: string, after: number, limit: number): Post[] =>
      selectOfSource.all(expression, after, limit),
  };
});
