import type { Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';

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

export type Post = {
  id: number;
  sourceId: number;
  sourceTitle: string;
  sourceKind: string;
  ownerId: number;
  guid: string;
  title: string;
  url: string | null;
  author: string | null;
  contentHtml: string;
  summary: string;
  publishedAt: number;
  updatedAt: number;
  isPublic: number;
  searchKey: number;
};

export type PostWithAttachments = Post & { attachments: PostAttachment[] };

/** Where a page of the timeline begins: after this post, newest first. */
export type Position = { publishedAt: number; id: number };

/** `unreadOnly`: without what the viewer has read. */
export type PostQuery = {
  viewerId: number | null;
  sourceId?: number;
  after?: Position;
  limit: number;
  unreadOnly?: boolean;
};

/** `words` is an FTS5 expression; the page begins after the search key `after`. */
export type SearchQuery = Omit<PostQuery, 'after'> & { words: string; after?: number };

export type PostStore = ReturnType<typeof createPostStore>;

const COLUMNS = `p.id, p.source_id AS sourceId, s.title AS sourceTitle, s.kind AS sourceKind, p.owner_id AS ownerId,
  p.guid, p.title,
  p.url, p.author, p.content_html AS contentHtml, p.summary, p.published_at AS publishedAt, p.updated_at AS updatedAt,
  p.is_public AS isPublic, p.search_key AS searchKey`;
const SELECT = `SELECT ${COLUMNS} FROM posts p JOIN sources s ON s.id = p.source_id AND s.removed_at IS NULL`;
const AFTER = '(p.published_at, p.id) < (?, ?)';
const UNREAD = 'NOT EXISTS (SELECT 1 FROM reading_history h WHERE h.account_id = ? AND h.post_id = p.id)';
const NEWEST_FIRST = 'ORDER BY p.published_at DESC, p.id DESC LIMIT ?';

const FROM_THE_TOP: Position = { publishedAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

/** Posts as they are read. Keyset paging by (published_at, id), each page by an index. */
export function createPostStore(db: Db, clock: Clock) {
  const select = db.prepare<[number], Post>('post', `${SELECT} WHERE p.id = ?`);
  const selectPublic = db.prepare<[number, number, number], Post>('public posts',
    `${SELECT} WHERE p.is_public = 1 AND ${AFTER} ${NEWEST_FIRST}`);
  const selectPrivate = db.prepare<[number, number, number, number], Post>('own private posts',
    `${SELECT} WHERE p.is_public = 0 AND p.owner_id = ? AND ${AFTER} ${NEWEST_FIRST}`);
  const selectOfSource = db.prepare<[number, number, number, number], Post>('posts of source',
    `${SELECT} WHERE p.source_id = ? AND ${AFTER} ${NEWEST_FIRST}`);
  const selectUnread = db.prepare<[number, number, number, number], Post>('unread public posts',
    `${SELECT} WHERE p.is_public = 1 AND ${AFTER} AND ${UNREAD} ${NEWEST_FIRST}`);
  const selectUnreadPrivate = db.prepare<[number, number, number, number, number], Post>('unread private posts',
    `${SELECT} WHERE p.is_public = 0 AND p.owner_id = ? AND ${AFTER} AND ${UNREAD} ${NEWEST_FIRST}`);
  const selectUnreadOfSource = db.prepare<[number, number, number, number, number], Post>('unread posts of source',
    `${SELECT} WHERE p.source_id = ? AND ${AFTER} AND ${UNREAD} ${NEWEST_FIRST}`);
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

  function newestUnread(viewerId: number, { sourceId, after = FROM_THE_TOP, limit }: PostQuery): Post[] {
    const { publishedAt, id } = after;
    if (sourceId !== undefined) return selectUnreadOfSource.all(sourceId, publishedAt, id, viewerId, limit);
    const open = selectUnread.all(publishedAt, id, viewerId, limit);
    const own = selectUnreadPrivate.all(viewerId, publishedAt, id, viewerId, limit);
    return [...open, ...own].sort(newestFirst).slice(0, limit);
  }

  function newest(query: PostQuery): Post[] {
    const { viewerId, sourceId, after = FROM_THE_TOP, limit, unreadOnly } = query;
    if (unreadOnly && viewerId !== null) return newestUnread(viewerId, query);
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

  return {
    /** Whoever may not see the post must be kept from it by the caller. */
    find(id: number): PostWithAttachments | undefined {
      const post = select.get(id);
      return post && withAttachments([post])[0];
    },

    /** Public posts and the viewer's own. With `sourceId` all of that source: the caller checks who may see it. */
    newest: (query: PostQuery): PostWithAttachments[] => withAttachments(newest(query)),

    /** Posts with all the words, newest first; as for `newest`, the caller checks who may see a source. */
    search: (query: SearchQuery): PostWithAttachments[] => withAttachments(find(query)),

    /** Deletes up to `limit` posts of a source that goes away itself; returns how many. */
    removeOfSource: (sourceId: number, limit: number): number => removeOfSource.run(sourceId, limit).changes,

    /** Removes the post and remembers that it was deleted, so that no sync brings it back. */
    delete: db.transaction('delete post', (post: Post): void => {
      bury.run(post.sourceId, post.guid, clock());
      remove.run(post.id);
    }),
  };
}

function newestFirst(a: Post, b: Post): number {
  return b.publishedAt - a.publishedAt || b.id - a.id;
}
