import { overwritingDeleted } from '../../platform/db/open-database.ts';
import { store } from '../hub/hub.ts';
import { COLUMNS, FROM_THE_TOP, NEWEST_FIRST, newestFirst, SELECT, type Position, type Post } from './post-columns.ts';
import { createUnreadStore, type UnreadQuery } from './unread-store.ts';

export type { Position, Post };

export type PostAttachment = {
  id: number;
  postId: number;
  kind: 'native' | 'remote';
  filename: string;
  mediaType: string | null;
  bytes: number | null;
  sha256: string | null;
  remoteUrl: string | null;
  title: string | null;
  durationSeconds: number | null;
  isInline: number;
  scan: 'clean' | 'unscanned' | 'infected' | null; // of native ones
};

export type PostWithAttachments = Post & { attachments: PostAttachment[] };

export type PostQuery = {
  viewerId: number | null;
  sourceId?: number;
  after?: Position;
  limit: number;
};

/** `words` is an FTS5 expression; the page begins after the search key `after`. */
export type SearchQuery = Omit<PostQuery, 'after'> & { words: string; after?: number };

export type PostStore = ReturnType<typeof posts>;

const AFTER = '(p.published_at, p.id) < (?, ?)';

/** Posts as they are read. Keyset paging by (published_at, id), each page by an index. */
export const posts = store(({ db, clock }) => {
  const unread = createUnreadStore(db);
  const select = db.prepare<[number], Post>('post', `${SELECT} WHERE p.id = ?`);
  const selectId = db.prepare<[number], { id: number }>('whether post is there', 'SELECT id FROM posts WHERE id = ?');
  const selectPublic = db.prepare<[number, number, number], Post>('public posts',
    `${SELECT} WHERE p.is_public = 1 AND ${AFTER} ${NEWEST_FIRST}`);
  const selectPrivate = db.prepare<[number, number, number, number], Post>('own private posts',
    `${SELECT} WHERE p.is_public = 0 AND p.owner_id = ? AND ${AFTER} ${NEWEST_FIRST}`);
  const selectOfSource = db.prepare<[number, number, number, number], Post>('posts of source',
    `${SELECT} WHERE p.source_id = ? AND ${AFTER} ${NEWEST_FIRST}`);
  // Numbers are bound as REAL, which FTS5 does not take for a bound on its rows.
  const search = db.prepare<[string, number, number, number], Post>('search posts', `
    SELECT ${COLUMNS} FROM posts_search
      JOIN posts p ON p.search_key = posts_search.rowid JOIN sources s ON s.id = p.source_id AND s.removed_at IS NULL
     WHERE posts_search MATCH ? AND posts_search.rowid < CAST(? AS INTEGER) AND (p.is_public = 1 OR p.owner_id = ?)
     ORDER BY posts_search.rowid DESC LIMIT ?`);
  const searchSource = db.prepare<[string, number, number], Post>('search posts of source', `
    SELECT ${COLUMNS} FROM posts_search
      JOIN posts p ON p.search_key = posts_search.rowid JOIN sources s ON s.id = p.source_id AND s.removed_at IS NULL
     WHERE posts_search MATCH ? AND posts_search.rowid < CAST(? AS INTEGER)
     ORDER BY posts_search.rowid DESC LIMIT ?`);
  const selectAttachments = db.prepare<[string], PostAttachment>('attachments of posts', `
    SELECT a.id, a.post_id AS postId, a.kind, a.filename, a.media_type AS mediaType, a.bytes, a.sha256,
           a.remote_url AS remoteUrl, a.title, a.duration_seconds AS durationSeconds, a.is_inline AS isInline, u.scan
      FROM attachments a LEFT JOIN uploads u ON u.sha256 = a.sha256
     WHERE a.post_id IN (SELECT value FROM json_each(?)) ORDER BY a.post_id, a.kind, a.position`);
  const remove = db.prepare<[number]>('delete post', 'DELETE FROM posts WHERE id = ?');
  const removeOfSource = db.prepare<[number, number]>('delete posts of source',
    'DELETE FROM posts WHERE id IN (SELECT id FROM posts WHERE source_id = ? LIMIT ?)');
  const bury = db.prepare<[number, string, number]>('leave tombstone',
    'INSERT INTO post_tombstones (source_id, guid, deleted_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');

  function newest(query: PostQuery): Post[] {
    const { viewerId, sourceId, after = FROM_THE_TOP, limit } = query;
    const { publishedAt, id } = after;
    if (sourceId !== undefined) return selectOfSource.all(sourceId, publishedAt, id, limit);
    const open = selectPublic.all(publishedAt, id, limit);
    if (viewerId === null) return open;
    return [...open, ...selectPrivate.all(viewerId, publishedAt, id, limit)].sort(newestFirst).slice(0, limit);
  }

  function find({ viewerId, sourceId, after = Number.MAX_SAFE_INTEGER, limit, words }: SearchQuery): Post[] {
    const expression = `{title body} : (${words})`;
    if (sourceId === undefined) return search.all(expression, after, viewerId ?? 0, limit);
    return searchSource.all(`${expression} AND source : "${sourceId}"`, after, limit);
  }

  function withAttachments(posts: Post[]): PostWithAttachments[] {
    if (posts.length === 0) return [];
    const all = selectAttachments.all(JSON.stringify(posts.map((post) => post.id)));
    const byPost = Map.groupBy(all, (attachment) => attachment.postId);
    return posts.map((post) => ({ ...post, attachments: byPost.get(post.id) ?? [] }));
  }

  const deletePost = db.transaction('delete post', (post: Post): void => {
    bury.run(post.sourceId, post.guid, clock());
    remove.run(post.id);
  });

  return {
    /** Whoever may not see the post must be kept from it by the caller. */
    find(id: number): PostWithAttachments | undefined {
      const post = select.get(id);
      return post && withAttachments([post])[0];
    },

    /** Whether there is such a post, whoever may see it. */
    exists: (id: number): boolean => selectId.get(id) !== undefined,

    /** Public posts and the viewer's own. With `sourceId` all of that source: the caller checks who may see it. */
    newest: (query: PostQuery): PostWithAttachments[] => withAttachments(newest(query)),

    /** As `newest`, without what the viewer has read. `reached`: it ended there before the page was full. */
    unread(query: UnreadQuery): { posts: PostWithAttachments[]; reached: Position | null } {
      const { posts, reached } = unread(query);
      return { posts: withAttachments(posts), reached };
    },

    /** Posts with all the words, newest first; as for `newest`, the caller checks who may see a source. */
    search: (query: SearchQuery): PostWithAttachments[] => withAttachments(find(query)),

    /** Deletes up to `limit` posts of a source that goes away itself; returns how many. */
    removeOfSource: (sourceId: number, limit: number): number => removeOfSource.run(sourceId, limit).changes,

    /**
     * Removes the post from the file, too (its words leave the search index when that is next merged), and remembers
     * that it was deleted, so that no sync brings it back.
     */
    delete: (post: Post): void => overwritingDeleted(db, () => deletePost(post)),
  };
});
