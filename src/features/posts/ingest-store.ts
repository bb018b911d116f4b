import { SECOND, type Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';

export type NewAttachment = {
  url: string;
  filename: string;
  mediaType: string | null;
  bytes: number | null;
  title: string | null;
  durationSeconds: number | null;
};

/** A post ready to be stored: sanitised, with its searchable text. */
export type PreparedPost = {
  guid: string;
  title: string;
  url: string | null;
  author: string | null;
  contentHtml: string;
  summary: string;
  searchText: string;
  contentHash: string;
  publishedAt: number | null;
  updatedAt: number | null;
  attachments: NewAttachment[];
};

export type IngestStore = ReturnType<typeof createIngestStore>;

type UpsertParams = Omit<PreparedPost, 'searchText' | 'attachments' | 'publishedAt' | 'updatedAt'> & {
  sourceId: number;
  now: number;
  firstSeenAt: number;
  publishedAt: number | null; // as the publisher says
  updatedAt: number | null; // as the publisher says
};
type StoredPost = { id: number; publishedAt: number; searchKey: number | null };
type AttachmentRow = { id: number; url: string };

/** Where posts of sources are written: inserted, updated when they changed, left alone when they were deleted here. */
export function createIngestStore(db: Db, clock: Clock) {
  const selectHash = db.prepare<[number, string], { hash: string }>('hash of post',
    'SELECT content_hash AS hash FROM posts WHERE source_id = ? AND guid = ?');
  const selectTombstone = db.prepare<[number, string], { at: number }>('tombstone',
    'SELECT deleted_at AS at FROM post_tombstones WHERE source_id = ? AND guid = ?');
  const upsert = db.prepare<[UpsertParams], StoredPost>('store post', `
    INSERT INTO posts (source_id, is_public, owner_id, guid, title, url, author, content_html, summary, content_hash,
                       published_at, updated_at, created_at)
    SELECT id, visibility = 'public', owner_id, @guid, @title, @url, @author, @contentHtml, @summary, @contentHash,
           COALESCE(@publishedAt, @firstSeenAt), COALESCE(@updatedAt, @publishedAt, @firstSeenAt), @now
      FROM sources
     WHERE id = @sourceId AND NOT EXISTS (SELECT 1 FROM post_tombstones WHERE source_id = @sourceId AND guid = @guid)
    ON CONFLICT (source_id, guid) DO UPDATE SET
      title = excluded.title, url = excluded.url, author = excluded.author, content_html = excluded.content_html,
      summary = excluded.summary, content_hash = excluded.content_hash,
      published_at = COALESCE(@publishedAt, published_at), updated_at = COALESCE(@updatedAt, @now)
    RETURNING id, published_at AS publishedAt, search_key AS searchKey`);
  const selectKey = db.prepare<[number], { id: number }>('search key', 'SELECT id FROM posts WHERE search_key = ?');
  const setKey = db.prepare<[number, number]>('set search key', 'UPDATE posts SET search_key = ? WHERE id = ?');
  const unindex = db.prepare<[number]>('take post out of the index', 'DELETE FROM posts_search WHERE rowid = ?');
  const index = db.prepare<[number, string, string, string]>('index post',
    'INSERT INTO posts_search (rowid, title, body, source) VALUES (?, ?, ?, ?)');
  const selectAttachments = db.prepare<[number], AttachmentRow>('remote attachments',
    `SELECT id, remote_url AS url FROM attachments WHERE post_id = ? AND kind = 'remote'`);
  const insertAttachment = db.prepare<
    [number, number, string, string | null, number | null, string, string | null, number | null, number]
  >('add remote attachment', `
    INSERT INTO attachments (post_id, kind, position, filename, media_type, bytes, remote_url, title, duration_seconds, created_at)
    VALUES (?, 'remote', ?, ?, ?, ?, ?, ?, ?, ?)`);
  const updateAttachment = db.prepare<[number, string, string | null, number | null, string | null, number | null, number]>(
    'update remote attachment', `
    UPDATE attachments SET position = ?, filename = ?, media_type = ?, bytes = ?, title = ?, duration_seconds = ? WHERE id = ?`);
  const removeAttachment = db.prepare<[number]>('remove attachment', 'DELETE FROM attachments WHERE id = ?');
  const selectNewest = db.prepare<[number], { at: number }>('rhythm of source',
    'SELECT published_at AS at FROM posts WHERE source_id = ? ORDER BY published_at DESC, id DESC LIMIT 10');

  function indexPost({ id, publishedAt, searchKey: known }: StoredPost, sourceId: number, title: string, text: string): void {
    if (known !== null) unindex.run(known);
    let key = searchKey(publishedAt, id);
    for (let other = selectKey.get(key); other !== undefined && other.id !== id; other = selectKey.get(key)) key++;
    if (key !== known) setKey.run(key, id);
    index.run(key, title, text, String(sourceId));
  }

  /** What a URL named before keeps its id, so that links to it go on working. */
  function storeAttachments(postId: number, wanted: NewAttachment[]): void {
    const known = new Map(selectAttachments.all(postId).map((row) => [row.url, row.id]));
    wanted.forEach(({ url, filename, mediaType, bytes, title, durationSeconds }, position) => {
      const id = known.get(url);
      if (id === undefined) {
        insertAttachment.run(postId, position, filename, mediaType, bytes, url, title, durationSeconds, clock());
      } else {
        updateAttachment.run(position, filename, mediaType, bytes, title, durationSeconds, id);
        known.delete(url);
      }
    });
    for (const id of known.values()) removeAttachment.run(id);
  }

  return {
    /** Whether the post is stored with this content already, or was deleted here. */
    isSettled(sourceId: number, guid: string, contentHash: string): boolean {
      return selectHash.get(sourceId, guid)?.hash === contentHash || selectTombstone.get(sourceId, guid) !== undefined;
    },

    /** Stores one post; false when it was deleted here before. A publisher's date in the future counts as now. */
    store(sourceId: number, post: PreparedPost, firstSeenAt: number): boolean {
      const { searchText, attachments, ...columns } = post;
      const row = upsert.get({
        ...columns,
        sourceId,
        firstSeenAt,
        now: clock(),
        publishedAt: notLater(post.publishedAt, firstSeenAt),
        updatedAt: notLater(post.updatedAt, clock()),
      });
      if (!row) return false;
      indexPost(row, sourceId, post.title, searchText);
      storeAttachments(row.id, attachments);
      return true;
    },

    newestPublishedAt: (sourceId: number): number[] => selectNewest.all(sourceId).map((row) => row.at),
  };
}

function notLater(at: number | null, limit: number): number | null {
  return at === null ? null : Math.min(at, limit);
}

/** Grows with the second of publishing, then with the id; below 2^53 until the year 2106. */
function searchKey(publishedAt: number, id: number): number {
  return Math.floor(publishedAt / SECOND) * 2 ** 21 + (id % 2 ** 21);
}
