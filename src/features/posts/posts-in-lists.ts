// SQL for reading lists, which join posts with what a person follows, has read and starred.

/** For statements about the posts of a source. */
export const FROM_POSTS = 'FROM posts p';

/** Those of them that their feed no longer has. */
export const FROM_LEFT_POSTS = 'FROM posts p INDEXED BY posts_left WHERE p.left_at IS NOT NULL';

/** The post that a row names, as `p`. */
export function joinPost(id: string): string {
  return `JOIN posts p ON p.id = ${id}`;
}

/** The same of a row that names its source too: the index holds all there is of it in lists. */
export function joinArrived(row: string): string {
  return `JOIN posts p INDEXED BY posts_arrival ON p.source_id = ${row}.source_id AND p.id = ${row}.post_id`;
}

/** All posts of a source, as `p`, in the order in which they arrived. */
export function joinArrivals(sourceId: string): string {
  return `JOIN posts p INDEXED BY posts_arrival ON p.source_id = ${sourceId}`;
}

/** The id of the post of a source that arrived last; NULL where it has none. */
export function lastOfSource(sourceId: string): string {
  return `(SELECT MAX(id) FROM posts WHERE source_id = ${sourceId})`;
}

/** All posts, whoever may see them, in the order of lists: the index holds all there is of them there. */
export const NEWEST_POSTS = 'FROM posts INDEXED BY posts_newest';

/** `@looks` posts that arrived after the post `@newest`, whoever may see them. */
export const ARRIVED = 'SELECT id, source_id FROM posts WHERE id > @newest ORDER BY id LIMIT @looks';

/** Posts that the full-text index finds; its rowids are their places in lists. */
export const FOUND_POSTS = 'FROM posts_search CROSS JOIN posts p ON p.search_key = +posts_search.rowid';

/** The places in lists of what the full-text index finds, whoever may see it. */
export const FOUND_PLACES = 'SELECT rowid AS place FROM posts_search WHERE posts_search MATCH @expression';
export const JOIN_FOUND = 'CROSS JOIN posts p ON p.search_key = n.place';

/** Where posts stand in the index, whose ids are given as JSON. */
export const KEYS_OF_POSTS = 'SELECT search_key FROM posts WHERE id IN (SELECT value FROM json_each(@ids))';
