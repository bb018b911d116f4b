import type { Db } from '../../platform/db/open-database.ts';
import { createTimeRepair } from '../../platform/jobs/scheduler.ts';
import { store, type StoreHub } from '../hub/hub.ts';

type ScanState = 'clean' | 'unscanned' | 'infected';

export type Attachment = {
  id: number;
  urlKey: string; // the random part of the file's address
  postId: number;
  kind: 'native' | 'remote'; // a native file is one of the hub's uploads; a remote file is on its publisher's server
  filename: string;
  mediaType: string | null;
  bytes: number | null;
  sha256: string | null;
  remoteUrl: string | null;
  title: string | null;
  durationSeconds: number | null;
  isInline: number; // 1: the post's content shows the image, so it is not listed below the post
  scan: ScanState | null; // null for a file on the publisher's server
  width: number | null; // in pixels; null unless the file is native and an image
  height: number | null;
  servedAt?: string; // the path of a picture that is no row of `attachments`, such as a picture of a full text
};

export type NewUpload = {
  sha256: string;
  bytes: number;
  mediaType: string;
  width: number | null;
  height: number | null;
  filename: string;
  scan: 'clean' | 'unscanned';
};

export type RemoteFile = {
  url: string;
  filename: string;
  mediaType: string | null;
  bytes: number | null;
  title: string | null;
  durationSeconds: number | null;
  isInline: boolean;
};

type AttachUpload = Pick<NewUpload, 'sha256' | 'bytes' | 'mediaType' | 'filename'> & {
  postId: number; ownerId: number | null; position: number; isInline: 0 | 1; now: number;
};
type RemoteRow = Omit<RemoteFile, 'url' | 'isInline'> & { position: number; isInline: 0 | 1 };

/** SQL: `postId` and `bytes` of the attached files that count for an account's quota. Parameter: the account's id. */
export const FILES_OF_OWNER = 'SELECT post_id AS postId, bytes FROM attachments WHERE owner_id = ?';

/** Lists look for a post's picture only among the files at this many first positions. */
const FIRST_FILES = 6;

/** One row per content, even if several attachments name the content. */
export const uploads = store(({ db, clock }) => {
  const sql = prepareUploads(db);

  return {
    /** Replaces the scan of a content that has a row only if it is 'unscanned'. */
    put: (file: NewUpload): void => void sql.put.run({ ...file, now: clock() }),
    usageOf: (accountId: number): number => sql.usage.get({ id: accountId })?.bytes ?? 0,
    find: db.prepare<[sha256: string], { scan: ScanState; bytes: number }>('upload',
      'SELECT scan, bytes FROM uploads WHERE sha256 = ?').get,
    setScan: (sha256: string, scan: ScanState): void => void sql.setScan.run(scan, sha256),
    markUnnamed(): void {
      db.write('mark unnamed uploads', () => {
        sql.unmark.run();
        sql.mark.run(clock());
      });
    },
    /** Deletes up to `limit` rows marked unnamed before `before`, in the caller's transaction; returns their hashes. */
    takeUnnamed: (before: number, limit: number): string[] =>
      sql.takeUnnamed.all(before, limit).map(({ sha256 }) => sha256),
    unscanned: (after: string, limit: number): string[] =>
      sql.unscanned.all(after, limit).map(({ sha256 }) => sha256),
    named: db.prepare<[after: string, limit: number], { sha256: string; bytes: number }>('named uploads',
      'SELECT sha256, bytes FROM uploads WHERE sha256 > ? ORDER BY sha256 LIMIT ?').all,
    bringBackTimes: createTimeRepair(db, clock, [{ table: 'uploads', column: 'unnamed_since', furthest: 0 }]),
  };
});

/** Attachments of posts. A file is stored on the disk before the rows that name it (see `upload-files.ts`). */
export const attachments = store((hub) => {
  const { db, clock } = hub;
  const { put } = uploads(hub);
  const sql = prepareAttachments(db);

  return {
    find: sql.find.get,
    ofPosts: (postIds: number[]): Attachment[] => sql.ofPosts.all(JSON.stringify(postIds)),
    firstOfPosts: (postIds: number[]): Attachment[] => sql.firstOfPosts.all(JSON.stringify(postIds), FIRST_FILES),
    countsOfPosts: (postIds: number[]): Map<number, number> =>
      new Map(sql.countsOfPosts.all(JSON.stringify(postIds)).map(({ postId, files }) => [postId, files])),

    /** A 'clean' scan does not end a file's quarantine: the scan may be older, or know fewer viruses. */
    attach(postId: number, ownerId: number, files: NewUpload[]): number[] {
      const first = (sql.lastPosition.get(postId)?.position ?? -1) + 1;
      return files.map((file, index) => {
        put(file);
        const position = first + index;
        return sql.attach.get({ ...file, postId, ownerId, position, isInline: 0, now: clock() })?.id ?? 0;
      });
    },

    /** Pictures that a publisher wrote into the post's content: nobody owns them, and the content quota counts them. */
    embedded: db.prepare<[postId: number], { id: number; sha256: string }>('embedded pictures', `
      SELECT id, sha256 FROM attachments WHERE post_id = ? AND kind = 'native' AND owner_id IS NULL`).all,
    embed(postId: number, file: NewUpload, position: number): void {
      put(file);
      sql.attach.run({ ...file, postId, ownerId: null, position, isInline: 1, now: clock() });
    },

    /** Replaces a post's remote attachments. A known URL keeps its attachment's id, so that links to it still work. */
    replaceRemote(postId: number, wanted: RemoteFile[]): void {
      const known = new Map(sql.remote.all(postId).map((row) => [row.url, row.id]));
      wanted.forEach(({ url, isInline, ...columns }, position) => {
        const id = known.get(url);
        const row: RemoteRow = { ...columns, position, isInline: isInline ? 1 : 0 };
        if (id === undefined) sql.insertRemote.run({ ...row, postId, url, now: clock() });
        else sql.updateRemote.run({ ...row, id });
        known.delete(url);
      });
      for (const id of known.values()) sql.detach.run(id);
    },

    detach: sql.detach.run,
    namersOf: db.prepare<[sha256: string], { id: number; ownerId: number | null; postId: number; filename: string }>(
      'users of upload',
      'SELECT id, owner_id AS ownerId, post_id AS postId, filename FROM attachments WHERE sha256 = ?').all,
  };
});

function prepareAttachments(db: Db) {
  const columns = (mediaType: string, bytes: string): string => `
    a.id, a.url_key AS urlKey, a.post_id AS postId, a.kind, a.filename, ${mediaType} AS mediaType, ${bytes} AS bytes,
    a.sha256, a.remote_url AS remoteUrl, a.title, a.duration_seconds AS durationSeconds, a.is_inline AS isInline,
    u.scan, u.width, u.height`;
  return {
    // The same content may be attached as .txt and as .md: the hub serves the media type of the content's first upload.
    find: db.prepare<[id: number], Attachment>('attachment', `
      SELECT ${columns('COALESCE(u.media_type, a.media_type)', 'COALESCE(u.bytes, a.bytes)')}
        FROM attachments a LEFT JOIN uploads u ON u.sha256 = a.sha256 WHERE a.id = ?`),
    ofPosts: db.prepare<[string], Attachment>('attachments of posts', `
      SELECT ${columns('a.media_type', 'a.bytes')}
        FROM attachments a LEFT JOIN uploads u ON u.sha256 = a.sha256
       WHERE a.post_id IN (SELECT value FROM json_each(?)) ORDER BY a.post_id, a.kind, a.position`),
    firstOfPosts: db.prepare<[string, number], Attachment>('first files of posts', `
      SELECT ${columns('a.media_type', 'a.bytes')}
        FROM attachments a LEFT JOIN uploads u ON u.sha256 = a.sha256
       WHERE a.post_id IN (SELECT value FROM json_each(?)) AND a.position < ?
         AND (a.media_type IS NULL OR a.media_type LIKE 'image/%') ORDER BY a.post_id, a.kind, a.position`),
    countsOfPosts: db.prepare<[string], { postId: number; files: number }>('number of attachments of posts', `
      SELECT post_id AS postId, COUNT(*) AS files FROM attachments
       WHERE post_id IN (SELECT value FROM json_each(?)) GROUP BY post_id`),
    lastPosition: db.prepare<[number], { position: number | null }>('last attachment',
      'SELECT MAX(position) AS position FROM attachments WHERE post_id = ?'),
    attach: db.prepare<[AttachUpload], { id: number }>('attach upload', `
      INSERT INTO attachments (post_id, kind, position, filename, media_type, bytes, sha256, owner_id, is_inline,
                               created_at)
      VALUES (@postId, 'native', @position, @filename, @mediaType, @bytes, @sha256, @ownerId, @isInline, @now)
      RETURNING id`),
    remote: db.prepare<[number], { id: number; url: string }>('remote attachments',
      `SELECT id, remote_url AS url FROM attachments WHERE post_id = ? AND kind = 'remote'`),
    insertRemote: db.prepare<[RemoteRow & { postId: number; url: string; now: number }]>('add remote attachment', `
      INSERT INTO attachments (post_id, kind, position, filename, media_type, bytes, remote_url, title,
                               duration_seconds, is_inline, created_at)
      VALUES (@postId, 'remote', @position, @filename, @mediaType, @bytes, @url, @title,
              @durationSeconds, @isInline, @now)`),
    updateRemote: db.prepare<[RemoteRow & { id: number }]>('update remote attachment', `
      UPDATE attachments SET position = @position, filename = @filename, media_type = @mediaType, bytes = @bytes,
             title = @title, duration_seconds = @durationSeconds, is_inline = @isInline
       WHERE id = @id`),
    detach: db.prepare<[id: number]>('remove attachment', 'DELETE FROM attachments WHERE id = ?'),
  };
}

const IS_NAMED = `(EXISTS (SELECT 1 FROM attachments WHERE attachments.sha256 = uploads.sha256)
                   OR EXISTS (SELECT 1 FROM draft_files WHERE draft_files.sha256 = uploads.sha256))`;

function prepareUploads(db: Db) {
  return {
    // A content that several drafts hold, as a scheduled text and the draft beside it do, takes its bytes once.
    usage: db.prepare<[{ id: number }], { bytes: number }>('upload usage', `
      SELECT bytes - COALESCE((
               SELECT SUM(bytes * (drafts - 1)) FROM (
                 SELECT bytes, COUNT(*) AS drafts FROM draft_files WHERE account_id = @id GROUP BY sha256)), 0) AS bytes
        FROM upload_usage WHERE account_id = @id`),
    setScan: db.prepare<[ScanState, string]>('set scan', 'UPDATE uploads SET scan = ? WHERE sha256 = ?'),
    put: db.prepare<[NewUpload & { now: number }]>('store upload', `
      INSERT INTO uploads (sha256, bytes, media_type, width, height, scan, created_at)
      VALUES (@sha256, @bytes, @mediaType, @width, @height, @scan, @now)
      ON CONFLICT DO UPDATE SET unnamed_since = NULL,
        scan = CASE scan WHEN 'unscanned' THEN excluded.scan ELSE scan END`),
    unmark: db.prepare<[]>('unmark named uploads', `
      UPDATE uploads SET unnamed_since = NULL WHERE unnamed_since IS NOT NULL AND ${IS_NAMED}`),
    mark: db.prepare<[number]>('mark unnamed uploads', `
      UPDATE uploads SET unnamed_since = ? WHERE unnamed_since IS NULL AND NOT ${IS_NAMED}`),
    takeUnnamed: db.prepare<[number, number], { sha256: string }>('take unnamed uploads', `
      DELETE FROM uploads WHERE sha256 IN (
        SELECT sha256 FROM uploads WHERE unnamed_since < ? AND NOT ${IS_NAMED} LIMIT ?)
      RETURNING sha256`),
    unscanned: db.prepare<[string, number], { sha256: string }>('unscanned uploads',
      `SELECT sha256 FROM uploads WHERE scan = 'unscanned' AND sha256 > ? ORDER BY sha256 LIMIT ?`),
  };
}

export type UploadRow = { sha256: string; bytes: number; createdAt: number };

export type UploadCounts = { attachments: number; uploads: number; uploadBytes: number };

type FileToFetch = { id: number; urlKey: string; filename: string; sha256: string; bytes: number; ownerId: number };

/** All functions below also work on the database of a backup. */
export function countUploads({ db }: Pick<StoreHub, 'db'>): UploadCounts {
  const native = db.prepare<[], { n: number }>('count attachments',
    `SELECT COUNT(*) AS n FROM attachments WHERE kind = 'native'`).get();
  return { attachments: native?.n ?? 0, ...sumUploads({ db }) };
}

export function sumUploads({ db }: Pick<StoreHub, 'db'>): Omit<UploadCounts, 'attachments'> {
  return db.prepare<[], Omit<UploadCounts, 'attachments'>>('count uploads',
    'SELECT COUNT(*) AS uploads, COALESCE(SUM(bytes), 0) AS uploadBytes FROM uploads').get()
    ?? { uploads: 0, uploadBytes: 0 };
}

/** Ordered by hash. */
export function listUploads({ db }: Pick<StoreHub, 'db'>): UploadRow[] {
  return db.prepare<[], UploadRow>('all uploads',
    'SELECT sha256, bytes, created_at AS createdAt FROM uploads ORDER BY sha256').all();
}

/** The number of attachments that name an uploaded file without a row in `uploads`. */
export function countDangling({ db }: Pick<StoreHub, 'db'>): number {
  return db.prepare<[], { n: number }>('attachments without upload', `
    SELECT COUNT(*) AS n FROM attachments
     WHERE kind = 'native' AND (sha256 IS NULL OR sha256 NOT IN (SELECT sha256 FROM uploads))`).get()?.n ?? 0;
}

/** The largest attached files outside quarantine that have an owner, each with one of its attachments. */
export function largestUploads({ db }: Pick<StoreHub, 'db'>, limit: number): FileToFetch[] {
  return db.prepare<[number], FileToFetch>('largest files', `
    SELECT a.id, a.url_key AS urlKey, a.filename, u.sha256, u.bytes, a.owner_id AS ownerId
      FROM uploads u JOIN attachments a ON a.id = (
             SELECT MIN(id) FROM attachments WHERE owner_id IS NOT NULL AND sha256 = u.sha256)
     WHERE u.scan <> 'infected' ORDER BY u.bytes DESC, u.sha256 LIMIT ?`).all(limit);
}

export type SavedFile = { sha256: string; filename: string; bytes: number; postId: number };

const SAVED_FILES = `SELECT a.sha256, a.filename, u.bytes, a.post_id AS postId
  FROM attachments a JOIN uploads u ON u.sha256 = a.sha256`;

/** Uploads in a backup's database with this hash or exactly this name, one row per attachment. */
export function findSavedFiles(db: Db, hashOrName: string): SavedFile[] {
  return db.prepare<[{ hashOrName: string }], SavedFile>('saved files',
    `${SAVED_FILES} WHERE a.sha256 = @hashOrName OR a.filename = @hashOrName ORDER BY a.id`).all({ hashOrName });
}

/** Uploads in a backup's database whose names contain the text, newest first. Only ASCII letters match in any case. */
export function searchSavedFiles(db: Db, text: string, limit: number): SavedFile[] {
  return db.prepare<[string, number], SavedFile>('search saved files',
    `${SAVED_FILES} WHERE instr(lower(a.filename), lower(?)) > 0 ORDER BY a.id DESC LIMIT ?`).all(text, limit);
}

/** All columns, in the order of the post. */
export function filesOfSavedPost(db: Db, postId: number): Record<string, string | number | null>[] {
  return db.prepare<[number], Record<string, string | number | null>>('files of saved post',
    'SELECT * FROM attachments WHERE post_id = ? ORDER BY position').all(postId);
}
