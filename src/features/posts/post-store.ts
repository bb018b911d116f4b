import { bytesLeft } from '../attachments/attach-files.ts';
import { attachments, FILES_OF_OWNER, type Attachment } from '../attachments/attachment-store.ts';
import { store, type Hub } from '../hub/hub.ts';
import { joinSource } from '../sources/source-store.ts';
import type { PreparedPost } from './incoming-post.ts';
import {
  AFTER, COLUMNS, FROM_THE_TOP, NEWEST_FIRST, newestFirst, SELECT, UPSERT, type Position, type Post,
} from './post-columns.ts';
import { searchIndex } from './search-index-store.ts';

export type { Position, Post };

export type PostWithAttachments = Post & { attachments: Attachment[] };

/** What decides who may see a post and its files. */
export type PostAccess = Pick<Post, 'id' | 'sourceId' | 'ownerId' | 'isPublic'>;

export type PostQuery = {
  viewerId: number | null;
  sourceId?: number;
  after?: Position;
  limit: number;
};

/** `words` is an FTS5 expression; the page begins after the search key `after`. */
export type SearchQuery = Omit<PostQuery, 'after'> & { words: string; after?: number };

type UpsertRow = Omit<PreparedPost, 'baseUrl' | 'searchText' | 'attachments'> & {
  sourceId: number; now: number; firstSeenAt: number;
};
type StoredRow = { id: number; publishedAt: number; searchKey: number | null };

/** Posts. Keyset paging by (published_at, id), each page by an index. */
export const posts = store((hub) => {
  const { db, clock } = hub;
  const [index, files] = [searchIndex(hub), attachments(hub)];
  const select = db.prepare<[number], Post>('post', `${SELECT} WHERE p.id = ?`);
  const selectAccess = db.prepare<[number], PostAccess>('access to post', `
    SELECT p.id, p.source_id AS sourceId, p.owner_id AS ownerId, p.is_public AS isPublic
      FROM posts p ${joinSource('p.source_id')} WHERE p.id = ?`);
  const selectId = db.prepare<[number], { id: number }>('whether post is there', 'SELECT id FROM posts WHERE id = ?');
  const selectPublic = db.prepare<[number, number, number], Post>('public posts',
    `${SELECT} WHERE p.is_public = 1 AND ${AFTER} ${NEWEST_FIRST}`);
  const selectPrivate = db.prepare<[number, number, number, number], Post>('own private posts',
    `${SELECT} WHERE p.is_public = 0 AND p.owner_id = ? AND ${AFTER} ${NEWEST_FIRST}`);
  const selectOfSource = db.prepare<[number, number, number, number], Post>('posts of source',
    `${SELECT} WHERE p.source_id = ? AND ${AFTER} ${NEWEST_FIRST}`);
  // Numbers are bound as REAL, which FTS5 does not take for a bound on its rows.
  const found = `SELECT ${COLUMNS} FROM posts_search
      JOIN posts p ON p.search_key = posts_search.rowid ${joinSource('p.source_id')}
     WHERE posts_search MATCH ? AND posts_search.rowid < CAST(? AS INTEGER)`;
  const search = db.prepare<[string, number, number, number], Post>('search posts',
    `${found} AND (p.is_public = 1 OR p.owner_id = ?) ORDER BY posts_search.rowid DESC LIMIT ?`);
  const searchSource = db.prepare<[string, number, number], Post>('search posts of source',
    `${found} ORDER BY posts_search.rowid DESC LIMIT ?`);

  const selectHash = db.prepare<[number, string], { hash: string }>('hash of post',
    'SELECT content_hash AS hash FROM posts WHERE source_id = ? AND guid = ?');
  const selectTombstone = db.prepare<[number, string], { at: number }>('tombstone',
    'SELECT deleted_at AS at FROM post_tombstones WHERE source_id = ? AND guid = ?');
  const selectNewest = db.prepare<[number], { at: number }>('rhythm of source',
    'SELECT published_at AS at FROM posts WHERE source_id = ? ORDER BY published_at DESC, id DESC LIMIT 10');
  const upsert = db.prepare<[UpsertRow], StoredRow>('store post', UPSERT);
  const insertTombstone = db.prepare<[number, string, number]>('leave tombstone',
    'INSERT INTO post_tombstones (source_id, guid, deleted_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const remove = db.prepare<[number, string]>('delete post', 'DELETE FROM posts WHERE source_id = ? AND guid = ?');
  const removeOfSource = db.prepare<[number, number]>('delete posts of source',
    'DELETE FROM posts WHERE id IN (SELECT id FROM posts WHERE source_id = ? LIMIT ?)');
  // By the files of the owner, which are fewer than the posts of a large source.
  const sumBytes = db.prepare<[number, number], { bytes: number }>('bytes of source', `
    SELECT COALESCE(SUM(f.bytes), 0) AS bytes FROM (${FILES_OF_OWNER}) f CROSS JOIN posts p ON p.id = f.postId
     WHERE p.source_id = ?`);

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
    const byPost = Map.groupBy(files.ofPosts(posts.map((post) => post.id)), (attachment) => attachment.postId);
    return posts.map((post) => ({ ...post, attachments: byPost.get(post.id) ?? [] }));
  }

  return {
    withAttachments,

    /** Whoever may not see the post must be kept from it by the caller. */
    find(id: number): PostWithAttachments | undefined {
      const post = select.get(id);
      return post && withAttachments([post])[0];
    },

    /** Whether there is such a post, whoever may see it. */
    exists: (id: number): boolean => selectId.get(id) !== undefined,
    accessOf: (id: number): PostAccess | undefined => selectAccess.get(id),

    /** Public posts and the viewer's own. With `sourceId` all of that source: the caller checks who may see it. */
    newest: (query: PostQuery): PostWithAttachments[] => withAttachments(newest(query)),

    /** Posts with all the words, newest first; as for `newest`, the caller checks who may see a source. */
    search: (query: SearchQuery): PostWithAttachments[] => withAttachments(find(query)),

    /** When the ten newest posts of a source were published (unix ms). */
    newestPublishedAt: (sourceId: number): number[] => selectNewest.all(sourceId).map((row) => row.at),

    /** Bytes of the files of a source's posts. */
    fileBytes: (source: { id: number; ownerId: number }): number =>
      sumBytes.get(source.ownerId, source.id)?.bytes ?? 0,

    /** Whether the post is stored with this content already, or was deleted here. */
    isSettled(sourceId: number, guid: string, contentHash: string): boolean {
      return selectHash.get(sourceId, guid)?.hash === contentHash || selectTombstone.get(sourceId, guid) !== undefined;
    },

    /**
     * Stores one post, in the caller's transaction. A publisher's date in the future counts as now. Undefined where
     * nothing is stored: it is there with this content already, was deleted here, or its source is gone.
     */
    put(sourceId: number, post: PreparedPost, firstSeenAt: number): { id: number; isNew: boolean } | undefined {
      const now = clock();
      const publishedAt = notLater(post.publishedAt, firstSeenAt);
      const updatedAt = notLater(post.updatedAt, now);
      const row = upsert.get({ ...post, sourceId, firstSeenAt, now, publishedAt, updatedAt });
      if (!row) return undefined;
      index.put({ ...row, sourceId, title: post.title, text: post.searchText });
      files.replaceRemote(row.id, post.attachments);
      return { id: row.id, isNew: row.searchKey === null };
    },

    /** The post goes, and its tombstone keeps it from coming back. In the caller's transaction. */
    remove(sourceId: number, guid: string): void {
      insertTombstone.run(sourceId, guid, clock());
      remove.run(sourceId, guid);
    },

    /** Deletes up to `limit` posts of a source that goes away itself; returns how many. */
    removeOfSource: (sourceId: number, limit: number): number => removeOfSource.run(sourceId, limit).changes,
  };
});

/** How many bytes too few an account has left for the files of a source; 0 if they fit. */
export function bytesMissing(hub: Hub, source: { id: number; ownerId: number }, accountId: number): number {
  const bytes = posts(hub).fileBytes(source);
  return bytes === 0 ? 0 : Math.max(0, bytes - bytesLeft(hub, accountId));
}

function notLater(at: number | null, limit: number): number | null {
  return at === null ? null : Math.min(at, limit);
}
