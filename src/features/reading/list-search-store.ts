import type { Db } from '../../platform/db/open-database.ts';
import { JOINS_DOUBLES } from '../accounts/preferences-store.ts';
import { FOLLOWS, IN_FOLDER, IN_LIST, MAY_SEE } from '../follows/follow-store.ts';
import { FULL_TEXTS_SEARCH, matchesForMembers } from '../full-text/full-text-store.ts';
import { store } from '../hub/hub.ts';
import { DOUBLES } from '../posts/link-store.ts';
import { POSTS, POSTS_SEARCH, type Position } from '../posts/post-store.ts';
import type { NamedFacts } from '../posts/search-query.ts';
import { joinSource } from '../sources/source-store.ts';
import { isUnread, type ScanParams } from './list-store.ts';
import { notMuted } from './muted-store.ts';

/** The row ids of the search index between which a search looks, both excluded; the search begins at `key`. */
type Range = { key: number; end: number };
export type SearchParams = ScanParams & Range & {
  expression: string; isUnread: number; isStarred: number; isMuted: number; sourceId: number;
};
type AmongParams = Omit<SearchParams, 'scanned'> & { ids: string };
type RowsParams = SearchParams & { rows: string };
/** A post that arrived before the post `of` and has the same link. */
type EarlierPost = NamedFacts & { of: number; id: number; searchKey: number };
type FitParams = Range & { expression: string; ids: string; limit: number };
/** `rowId`: the group of posts with the same link, which lists show as one row; null in a search of one source. */
export type FoundPost = Position & NamedFacts & { rowId: number | null };

const IN_SEARCHED_LIST = `CROSS ${joinSource('p.source_id')}
        LEFT JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id
        LEFT JOIN read_marks m ON m.account_id = @viewerId AND m.source_id = p.source_id AND m.post_id = p.id
        LEFT JOIN stars t ON t.account_id = @viewerId AND t.post_id = p.id
       WHERE ${MAY_SEE} AND ${IN_FOLDER}
         AND (NOT @isStarred OR t.post_id IS NOT NULL)
         AND (@isStarred OR @isMuted OR @sourceId = p.source_id OR ${IN_LIST})
         AND (@sourceId = 0 OR @sourceId = p.source_id)
         AND @isMuted <> (${notMuted('p.source_id', 'p.id')})
         AND (NOT @isUnread OR ${isUnread('COALESCE(f.read_up_to, 0)')})`;

const ROW = `LEFT JOIN ${DOUBLES} d ON d.post_id = p.id AND @sourceId = 0 AND ${JOINS_DOUBLES}`;
const FOUND = `p.id, p.published_at AS publishedAt, p.source_id AS sourceId, p.author, d.row_id AS rowId`;

export const searchesInLists = store(({ db }) => ({
  older: prepareSearch(db, '<', '>', 'DESC'), newer: prepareSearch(db, '>', '<', 'ASC'),
  /**
   * For each post that the search found, reads the earlier posts of the searched list with the same link. `@rows`:
   * pairs of post id and `rowId`, as JSON.
   */
  earlier: db.prepare<[RowsParams], EarlierPost>('earlier posts of the rows of found posts', `
    SELECT j.value ->> 0 AS "of", p.id, p.search_key AS searchKey, p.source_id AS sourceId, p.author
      FROM json_each(@rows) j CROSS JOIN ${DOUBLES} e ON e.row_id = j.value ->> 1 AND e.post_id < j.value ->> 0
      CROSS JOIN ${POSTS} p ON p.id = e.post_id ${IN_SEARCHED_LIST}
       AND p.search_key < CAST(@key AS INTEGER) AND p.search_key > CAST(@end AS INTEGER)`),
}));

/** Queries that search a list with the full-text index, whose row ids (`key`) follow the order of lists. */
function prepareSearch(db: Db, onwards: '<' | '>', back: '<' | '>', order: 'ASC' | 'DESC') {
  return {
    found: db.prepare<[SearchParams], FoundPost>('found posts', `
      WITH n (place) AS MATERIALIZED (${matchesForMembers(onwards, back, order, 'LIMIT @scanned')})
      SELECT ${FOUND} FROM n CROSS JOIN ${POSTS} p ON p.search_key = n.place ${ROW} ${IN_SEARCHED_LIST}
       ORDER BY n.place ${order}`),
    /** Reads the best posts of the list among the next `scanned` matches; a word in a title counts five times. */
    best: db.prepare<[SearchParams], FoundPost>('best found posts', `
      SELECT ${FOUND} FROM (
              SELECT rowid AS place, bm25(posts_search, 5.0, 1.0, 0.0) AS score FROM ${POSTS_SEARCH}
               WHERE posts_search MATCH @expression AND rowid ${onwards} CAST(@key AS INTEGER)
                 AND rowid ${back} CAST(@end AS INTEGER) ORDER BY rowid ${order} LIMIT @scanned) n
        CROSS JOIN ${POSTS} p ON p.search_key = n.place ${ROW} ${IN_SEARCHED_LIST} ORDER BY n.score`),
    foundEnd: db.prepare<[SearchParams & { last: number }], Position>('find the end of a search step', `
      SELECT p.id, p.published_at AS publishedAt
        FROM (${matchesForMembers(onwards, back, order, 'LIMIT 1 OFFSET @last')}) n
        CROSS JOIN ${POSTS} p ON p.search_key = n.place`),
    foundAmong: db.prepare<[AmongParams], FoundPost>('find the matches of a search among few posts', `
      WITH n (place) AS MATERIALIZED (
        ${matchesAmong(POSTS_SEARCH, onwards, back)} UNION ${matchesAmong(FULL_TEXTS_SEARCH, onwards, back)})
      SELECT ${FOUND} FROM n CROSS JOIN ${POSTS} p ON p.search_key = n.place ${ROW}
       ORDER BY n.place ${order} LIMIT @limit`),
    matching: db.prepare<[Omit<FitParams, 'limit'>], { place: number }>('matches of a search among posts', `
      ${matchesAmong(POSTS_SEARCH, onwards, back)} UNION ${matchesAmong(FULL_TEXTS_SEARCH, onwards, back)}`),
    fitAmong: db.prepare<[FitParams], NamedFacts & { id: number }>('posts that a rule fits', `
      SELECT p.id, p.source_id AS sourceId, p.author FROM (${matchesAmong(POSTS_SEARCH, onwards, back)}) n
        CROSS JOIN ${POSTS} p ON p.search_key = n.place ORDER BY n.place ${order} LIMIT @limit`),
  };
}

function matchesAmong(index: string, onwards: '<' | '>', back: '<' | '>'): string {
  return `SELECT rowid AS place FROM ${index} WHERE ${index} MATCH @expression
     AND rowid ${onwards} CAST(@key AS INTEGER) AND rowid ${back} CAST(@end AS INTEGER)
     AND +rowid IN (SELECT search_key FROM ${POSTS} WHERE id IN (SELECT value FROM json_each(@ids)))`;
}
