import type { Db } from '../../platform/db/open-database.ts';
import { createTimeRepair, type StoredTime } from '../../platform/jobs/scheduler.ts';
import { store, type StoreHub } from '../hub/hub.ts';

type ScanState = 'clean' | 'unscanned' | 'infected';

/** A file of a post: uploaded here (native), or named by its publisher (remote). */
export type Attachment = {
  id: number;
  urlKey: string; // the random part of its address
  postId: number;
  kind: 'native' | 'remote';
  filename: string;
  mediaType: string | null;
  bytes: number | null;
  sha256: string | null;
  remoteUrl: string | null;
  title: string | null;
  durationSeconds: number | null;
  isInline: number; // 1: an image within the content, not listed below it
  scan: ScanState | null; // of native ones
  width: number | null; // pixels, of native images
  height: number | null;
};

/** A file that was received, recognised and perhaps scanned, ready to be attached to a post. */
export type NewUpload = {
  sha256: string;
  bytes: number;
  mediaType: string;
  width: number | null;
  height: number | null;
  filename: string;
  scan: 'clean' | 'unscanned';
};

/** A file that a publisher names beside or within a post. */
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
  postId: number; ownerId: number; position: number; now: number;
};
type RemoteRow = Omit<RemoteFile, 'url' | 'isInline'> & { position: number; isInline: 0 | 1 };

/** The uploaded files of an account, as `postId` and `bytes`; its parameter is the account. */
export const FILES_OF_OWNER = 'SELECT post_id AS postId, bytes FROM attachments WHERE owner_id = ?';

/** A picture of a post is looked for among its first few files. */
const FIRST_FILES = 6;

const UPLOAD_TIMES: StoredTime[] = [{ table: 'uploads', column: 'unnamed_since', furthest: 0 }];

/** Uploaded files, each once however many attachments name it, and what accounts use of their quotas. */
export const uploads = store(({ db, clock }) => {
  const sql = prepareUploads(db);

  return {
    /** Notes that the file is there and named again. A verdict settles what had none. */
    put: (file: NewUpload): void => void sql.put.run({ ...file, now: clock() }),
    /** Bytes that count for the account's quota. */
    usageOf: (accountId: number): number => sql.usage.get(accountId)?.bytes ?? 0,
    scanOf: (sha256: string): ScanState | undefined => sql.scanOf.get(sha256)?.scan,
    setScan: (sha256: string, scan: ScanState): void => void sql.setScan.run(scan, sha256),
    /** The size that was counted when the file came in. */
    bytesOf: (sha256: string): number | undefined => sql.bytesOf.get(sha256)?.bytes,
    /** Notes since when files are named by nobody, and forgets that of those that are named again. */
    markUnnamed(): void {
      db.write('mark unnamed uploads', () => {
        sql.unmark.run();
        sql.mark.run(clock());
      });
    },
    /** Forgets files that nobody has named since `before` (unix ms), in the caller's transaction; returns which. */
    takeUnnamed: (before: number, limit: number): string[] =>
      sql.takeUnnamed.all(before, limit).map(({ sha256 }) => sha256),
    /** Files without a verdict, in order, after the given one. */
    unscanned: (after: string, limit: number): string[] =>
      sql.unscanned.all(after, limit).map(({ sha256 }) => sha256),
    /** All files that rows name, in order, after the given one. */
    named: (after: string, limit: number) => sql.named.all(after, limit),
    bringBackTimes: createTimeRepair(db, clock, UPLOAD_TIMES),
  };
});

/** Attachments of posts. A file comes first, then the rows that name it: see upload-files. */
export const attachments = store((hub) => {
  const { db, clock } = hub;
  const { put } = uploads(hub);
  const sql = prepareAttachments(db);

  return {
    find: (id: number): Attachment | undefined => sql.find.get(id),
    /** Of all these posts, each post's in order. */
    ofPosts: (postIds: number[]): Attachment[] => sql.ofPosts.all(JSON.stringify(postIds)),
    /** The first few files of all these posts that may be pictures, each post's in order. */
    firstOfPosts: (postIds: number[]): Attachment[] => sql.firstOfPosts.all(JSON.stringify(postIds), FIRST_FILES),
    /** How many each of these posts has, by its id; none where it has none. */
    countsOfPosts: (postIds: number[]): Map<number, number> =>
      new Map(sql.countsOfPosts.all(JSON.stringify(postIds)).map(({ postId, files }) => [postId, files])),

    /**
     * Names the files as attachments of the post, in the caller's transaction. Returns their ids. A verdict settles
     * what had none; it lifts no quarantine: it may be the older of the two, or of a scanner that knows less.
     */
    attach(postId: number, ownerId: number, files: NewUpload[]): number[] {
      const first = (sql.lastPosition.get(postId)?.position ?? -1) + 1;
      return files.map((file, index) => {
        put(file);
        return sql.attach.get({ ...file, postId, ownerId, position: first + index, now: clock() })?.id ?? 0;
      });
    },

    /** Makes these the post's remote attachments. What a URL named before keeps its id, and so its links. */
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

    detach: (id: number): void => void sql.detach.run(id),
    /** Whose attachments of which posts have these bytes. */
    namersOf: (sha256: string) => sql.namers.all(sha256),
  };
});

function prepareAttachments(db: Db) {
  const columns = (mediaType: string, bytes: string): string => `
    a.id, a.url_key AS urlKey, a.post_id AS postId, a.kind, a.filename, ${mediaType} AS mediaType, ${bytes} AS bytes,
    a.sha256, a.remote_url AS remoteUrl, a.title, a.duration_seconds AS durationSeconds, a.is_inline AS isInline,
    u.scan, u.width, u.height`;
  return {
    // The same bytes may have been attached under names of two types: they are served as what they first were.
    find: db.prepare<[number], Attachment>('attachment', `
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
      INSERT INTO attachments (post_id, kind, position, filename, media_type, bytes, sha256, owner_id, created_at)
      VALUES (@postId, 'native', @position, @filename, @mediaType, @bytes, @sha256, @ownerId, @now) RETURNING id`),
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
    detach: db.prepare<[number]>('remove attachment', 'DELETE FROM attachments WHERE id = ?'),
    namers: db.prepare<[string], { id: number; ownerId: number; postId: number; filename: string }>('who names upload',
      'SELECT id, owner_id AS ownerId, post_id AS postId, filename FROM attachments WHERE sha256 = ?'),
  };
}

function prepareUploads(db: Db) {
  return {
    usage: db.prepare<[number], { bytes: number }>('upload usage',
      'SELECT bytes FROM upload_usage WHERE account_id = ?'),
    scanOf: db.prepare<[string], { scan: ScanState }>('scan of upload', 'SELECT scan FROM uploads WHERE sha256 = ?'),
    setScan: db.prepare<[ScanState, string]>('set scan', 'UPDATE uploads SET scan = ? WHERE sha256 = ?'),
    bytesOf: db.prepare<[string], { bytes: number }>('bytes of upload', 'SELECT bytes FROM uploads WHERE sha256 = ?'),
    put: db.prepare<[NewUpload & { now: number }]>('store upload', `
      INSERT INTO uploads (sha256, bytes, media_type, width, height, scan, created_at)
      VALUES (@sha256, @bytes, @mediaType, @width, @height, @scan, @now)
      ON CONFLICT DO UPDATE SET unnamed_since = NULL,
        scan = CASE scan WHEN 'unscanned' THEN excluded.scan ELSE scan END`),
    unmark: db.prepare<[]>('unmark named uploads', `
      UPDATE uploads SET unnamed_since = NULL WHERE unnamed_since IS NOT NULL
         AND EXISTS (SELECT 1 FROM attachments WHERE attachments.sha256 = uploads.sha256)`),
    mark: db.prepare<[number]>('mark unnamed uploads', `
      UPDATE uploads SET unnamed_since = ? WHERE unnamed_since IS NULL
         AND NOT EXISTS (SELECT 1 FROM attachments WHERE attachments.sha256 = uploads.sha256)`),
    takeUnnamed: db.prepare<[number, number], { sha256: string }>('take unnamed uploads', `
      DELETE FROM uploads WHERE sha256 IN (
        SELECT sha256 FROM uploads WHERE unnamed_since < ?
           AND NOT EXISTS (SELECT 1 FROM attachments WHERE attachments.sha256 = uploads.sha256) LIMIT ?)
      RETURNING sha256`),
    unscanned: db.prepare<[string, number], { sha256: string }>('unscanned uploads',
      `SELECT sha256 FROM uploads WHERE scan = 'unscanned' AND sha256 > ? ORDER BY sha256 LIMIT ?`),
    named: db.prepare<[string, number], { sha256: string; bytes: number }>('named uploads',
      'SELECT sha256, bytes FROM uploads WHERE sha256 > ? ORDER BY sha256 LIMIT ?'),
  };
}

/** A file that was uploaded, as backups know it. */
export type UploadRow = { sha256: string; bytes: number; createdAt: number };

/** Native attachments, the files that they share, and the bytes of these. */
export type UploadCounts = { attachments: number; uploads: number; uploadBytes: number };

type FileToFetch = { id: number; urlKey: string; filename: string; sha256: string; bytes: number; ownerId: number };

/** For backups, whose databases are no running hubs'. */
export function countUploads({ db }: Pick<StoreHub, 'db'>): UploadCounts {
  const native = db.prepare<[], { n: number }>('count attachments',
    `SELECT COUNT(*) AS n FROM attachments WHERE kind = 'native'`).get();
  return { attachments: native?.n ?? 0, ...sumUploads({ db }) };
}

/** Files, and the bytes of all of them. */
export function sumUploads({ db }: Pick<StoreHub, 'db'>): Omit<UploadCounts, 'attachments'> {
  return db.prepare<[], Omit<UploadCounts, 'attachments'>>('count uploads',
    'SELECT COUNT(*) AS uploads, COALESCE(SUM(bytes), 0) AS uploadBytes FROM uploads').get()
    ?? { uploads: 0, uploadBytes: 0 };
}

/** By their hashes. */
export function listUploads({ db }: Pick<StoreHub, 'db'>): UploadRow[] {
  return db.prepare<[], UploadRow>('all uploads',
    'SELECT sha256, bytes, created_at AS createdAt FROM uploads ORDER BY sha256').all();
}

/** How many native attachments name a file that no row of uploads knows. */
export function countDangling({ db }: Pick<StoreHub, 'db'>): number {
  return db.prepare<[], { n: number }>('attachments without upload', `
    SELECT COUNT(*) AS n FROM attachments
     WHERE kind = 'native' AND (sha256 IS NULL OR sha256 NOT IN (SELECT sha256 FROM uploads))`).get()?.n ?? 0;
}

/** The largest files that are to be given out, each with somebody who may see it. */
export function largestUploads({ db }: Pick<StoreHub, 'db'>, limit: number): FileToFetch[] {
  return db.prepare<[number], FileToFetch>('largest files', `
    SELECT a.id, a.url_key AS urlKey, a.filename, u.sha256, u.bytes, a.owner_id AS ownerId
      FROM uploads u JOIN attachments a ON a.id = (
             SELECT MIN(id) FROM attachments WHERE kind = 'native' AND sha256 = u.sha256)
     WHERE u.scan <> 'infected' ORDER BY u.bytes DESC, u.sha256 LIMIT ?`).all(limit);
}
