import type { Db } from '../../platform/db/open-database.ts';
import { JOINS_DOUBLES } from '../accounts/preferences-store.ts';
import { FOLLOWS, IN_FOLDER, IN_LIST, MAY_SEE } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { LINK_ROWS } from '../posts/link-store.ts';
import { matchesIn } from '../posts/find-posts-store.ts';
import { POSTS } from '../posts/post-store.ts';
import { FULL_TEXTS_WORDS, POSTS_WORDS } from '../posts/search-index-store.ts';
import type { NamedFacts } from '../posts/search-query.ts';
import type { KeyRange } from '../posts/stretches-store.ts';
import { joinSource } from '../sources/source-store.ts';
import { ENTRY_OF_POST, IS_READ, READ_SINCE } from './entry-store.ts';
import type { ListPlace } from './list-orders.ts';
import type { PageParams } from './list-store.ts';

export type SearchParams = PageParams & KeyRange & {
  since: number; isUnread: number; isStarred: number; isMuted: number; sourceId: number;
};
/** A post that arrived before the post `of` and has the same link. */
type EarlierPost = NamedFacts & { of: number; searchKey: number };
export type FoundPost = ListPlace & NamedFacts & { searchKey: number };

const IN_SEARCHED_LIST = `CROSS ${joinSource('p.source_id')}
        LEFT JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id
        ${ENTRY_OF_POST}
       WHERE ${MAY_SEE} AND ${IN_FOLDER}
         AND (NOT @isStarred OR e.starred_at IS NOT NULL)
         AND (@isStarred OR @isMuted OR @sourceId = p.source_id OR ${IN_LIST})
         AND (@sourceId = 0 OR @sourceId = p.source_id)
         AND @isMuted = (e.muted_by IS NOT NULL)
         AND (NOT @isUnread OR NOT ${IS_READ} OR (${READ_SINCE}))`;

const INDEXES = [POSTS_WORDS, FULL_TEXTS_WORDS];

export const searchesInLists = store(({ db }) => ({
  down: prepareFound(db, '<', '>', 'DESC'), up: prepareFound(db, '>', '<', 'ASC'),
  /** The list's earlier posts with the links of found posts (`@ids`, JSON); none if the list does not join doubles. */
  earlier: db.prepare<[SearchParams & { ids: string }], EarlierPost>('earlier posts of the rows of found posts', `
    SELECT d.post_id AS "of", p.id, p.search_key AS searchKey, p.source_id AS sourceId, p.author
      FROM json_each(@ids) j CROSS JOIN ${LINK_ROWS} d ON d.post_id = j.value AND @sourceId = 0 AND ${JOINS_DOUBLES}
      CROSS JOIN ${LINK_ROWS} first ON first.row_id = d.row_id AND first.post_id < d.post_id
      CROSS JOIN ${POSTS} p ON p.id = first.post_id ${IN_SEARCHED_LIST}
       AND p.search_key < CAST(@key AS INTEGER) AND p.search_key > CAST(@end AS INTEGER)`),
  matches: db.prepare<[KeyRange & { match: string }], { place: number }>('whether a search finds a post',
    `${matchesIn(INDEXES, '<', '>')} LIMIT 1`),
  among: db.prepare<[string], NamedFacts & { searchKey: number }>('search keys of posts', `
    SELECT p.id, p.search_key AS searchKey, p.source_id AS sourceId, p.author
      FROM json_each(?) j CROSS JOIN ${POSTS} p ON p.id = j.value ORDER BY p.search_key DESC`),
}));

/** Queries for the posts of a list in one stretch of a search. `@only`: ids as JSON, or null. */
function prepareFound(db: Db, onwards: '<' | '>', back: '<' | '>', order: 'ASC' | 'DESC') {
  return db.prepare<[SearchParams & { match: string; only: string | null }], FoundPost>('found posts', `
    WITH n (place) AS MATERIALIZED (${matchesIn(INDEXES, onwards, back)})
    SELECT p.id, p.published_at AS at, p.source_id AS sourceId, p.author, n.place AS searchKey
      FROM n CROSS JOIN ${POSTS} p ON p.search_key = n.place
       AND (@only IS NULL OR p.id IN (SELECT value FROM json_each(@only))) ${IN_SEARCHED_LIST}
     ORDER BY n.place ${order}`);
}
