import { store } from '../hub/hub.ts';
import { fromSource, joinSource } from '../sources/source-store.ts';
import { COLUMNS, type Post, type PostQuery } from './post-store.ts';
import { FOUND_POSTS } from './posts-in-lists.ts';
import { searchWords } from './search-words.ts';

type Typed = Pick<PostQuery, 'viewerId' | 'sourceId'> & { typed: string };

/** The page begins after the search key `after`. */
type SearchQuery = Typed & { after?: number; limit: number };

// Numbers are bound as REAL, which FTS5 does not take for a bound on its rows.
const FOUND = `SELECT ${COLUMNS} ${FOUND_POSTS} ${joinSource('p.source_id')}
     WHERE posts_search MATCH ? AND posts_search.rowid < CAST(? AS INTEGER)`;

/** Finds posts by their words. */
export const findPosts = store(({ db }) => {
  const selectAll = db.prepare<[string, number, number, number], Post>('search posts',
    `${FOUND} AND (s.visibility = 'public' OR s.owner_id = ?) ORDER BY posts_search.rowid DESC LIMIT ?`);
  const selectOfSource = db.prepare<[string, number, number], Post>('search posts of source',
    `${FOUND} ORDER BY posts_search.rowid DESC LIMIT ?`);
  const selectOwner = db.prepare<[number], { id: number }>('owner of source',
    `SELECT s.owner_id AS id ${fromSource('?')}`);

  /** Looked through are also private posts: the viewer's, or those of a source, which the viewer may see. */
  function expression({ viewerId, sourceId, typed }: Typed): string | undefined {
    const ownerId = sourceId === undefined ? viewerId ?? 0 : selectOwner.get(sourceId)?.id ?? 0;
    const open = searchWords(typed);
    if (open === undefined) return undefined;
    const words = ownerId === 0 ? open : `(${open}) OR (${searchWords(typed, ownerId)})`;
    return `{title body} : (${words})${sourceId === undefined ? '' : ` AND source : "${sourceId}"`}`;
  }

  return {
    /** What the full-text index is asked for what somebody typed; undefined where that is nothing. */
    expression,

    /** Posts with all the words, newest first. The caller checks who may see a source. */
    search({ after = Number.MAX_SAFE_INTEGER, limit, ...typed }: SearchQuery): Post[] {
      const wanted = expression(typed);
      if (wanted === undefined) return [];
      if (typed.sourceId === undefined) return selectAll.all(wanted, after, typed.viewerId ?? 0, limit);
      return selectOfSource.all(wanted, after, limit);
    },
  };
});
