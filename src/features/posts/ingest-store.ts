import type { Db } from '../../platform/db/open-database.ts';
import { store } from '../hub/hub.ts';
import type { PreparedPost } from './incoming-post.ts';
import { remoteAttachments } from './remote-attachment-store.ts';
import { searchIndex } from './search-index-store.ts';

/** 'unchanged': it is stored with this content already, or was deleted here and does not come back. */
export type Stored = 'added' | 'updated' | 'unchanged';

export type IngestStore = ReturnType<typeof ingestStore>;

type Columns = Omit<PreparedPost, 'searchText' | 'attachments'> & {
  sourceId: number;
  now: number;
  firstSeenAt: number;
};
type StoredPost = { id: number; publishedAt: number; searchKey: number | null };

/** Where posts of sources are written: inserted, updated when they changed, left alone when they were deleted here. */
export const ingestStore = store((hub) => {
  const { db, clock } = hub;
  const [index, attachments] = [searchIndex(hub), remoteAttachments(hub)];
  const selectHash = db.prepare<[number, string], { hash: string }>('hash of post',
    'SELECT content_hash AS hash FROM posts WHERE source_id = ? AND guid = ?');
  const selectId = db.prepare<[number, string], { id: number }>('id of post',
    'SELECT id FROM posts WHERE source_id = ? AND guid = ?');
  const selectTombstone = db.prepare<[number, string], { at: number }>('tombstone',
    'SELECT deleted_at AS at FROM post_tombstones WHERE source_id = ? AND guid = ?');
  const selectNewest = db.prepare<[number], { at: number }>('rhythm of source',
    'SELECT published_at AS at FROM posts WHERE source_id = ? ORDER BY published_at DESC, id DESC LIMIT 10');
  const bury = db.prepare<[number, string, number]>('bury post',
    'INSERT INTO post_tombstones (source_id, guid, deleted_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const removePost = db.prepare<[number, string]>('remove post', 'DELETE FROM posts WHERE source_id = ? AND guid = ?');
  const upsert = prepareUpsert(db);

  return {
    /** Whether the post is stored with this content already, or was deleted here. */
    isSettled(sourceId: number, guid: string, contentHash: string): boolean {
      return selectHash.get(sourceId, guid)?.hash === contentHash || selectTombstone.get(sourceId, guid) !== undefined;
    },

    /** Stores one post, in the caller's transaction. A publisher's date in the future counts as now. */
    store(sourceId: number, post: PreparedPost, firstSeenAt: number): Stored {
      const { searchText: text, attachments: files, ...columns } = post;
      const now = clock();
      const publishedAt = notLater(post.publishedAt, firstSeenAt);
      const updatedAt = notLater(post.updatedAt, now);
      const row = upsert.get({ ...columns, sourceId, firstSeenAt, now, publishedAt, updatedAt });
      if (!row) return 'unchanged';
      index.put({ ...row, sourceId, title: post.title, text });
      attachments.replace(row.id, files);
      return row.searchKey === null ? 'added' : 'updated';
    },

    /** The post goes, and its tombstone keeps it from coming back. In the caller's transaction. */
    remove(sourceId: number, guid: string): void {
      bury.run(sourceId, guid, clock());
      removePost.run(sourceId, guid);
    },

    idOf: (sourceId: number, guid: string): number | undefined => selectId.get(sourceId, guid)?.id,

    newestPublishedAt: (sourceId: number): number[] => selectNewest.all(sourceId).map((row) => row.at),
  };
});

function prepareUpsert(db: Db) {
  return db.prepare<[Columns], StoredPost>('store post', `
    INSERT INTO posts (source_id, is_public, owner_id, guid, title, url, author, content_html, summary, content_hash,
                       published_at, updated_at, created_at)
    SELECT id, visibility = 'public', owner_id, @guid, @title, @url, @author, @contentHtml, @summary, @contentHash,
           COALESCE(@publishedAt, @firstSeenAt), COALESCE(@updatedAt, @publishedAt, @firstSeenAt), @now
      FROM sources
     WHERE id = @sourceId AND removed_at IS NULL
       AND NOT EXISTS (SELECT 1 FROM post_tombstones WHERE source_id = @sourceId AND guid = @guid)
    ON CONFLICT (source_id, guid) DO UPDATE SET
      title = excluded.title, url = excluded.url, author = excluded.author, content_html = excluded.content_html,
      summary = excluded.summary, content_hash = excluded.content_hash,
      published_at = COALESCE(@publishedAt, published_at), updated_at = COALESCE(@updatedAt, @now)
     WHERE content_hash <> excluded.content_hash
    RETURNING id, published_at AS publishedAt, search_key AS searchKey`);
}

function notLater(at: number | null, limit: number): number | null {
  return at === null ? null : Math.min(at, limit);
}
