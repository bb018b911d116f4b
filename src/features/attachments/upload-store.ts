import type { Db } from '../../platform/db/open-database.ts';
import { store } from '../hub/hub.ts';

export type ScanState = 'clean' | 'unscanned' | 'infected';

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

/** An attachment with what decides who may have it. */
export type StoredAttachment = {
  id: number;
  postId: number;
  sourceId: number;
  ownerId: number;
  isPublic: number;
  kind: 'native' | 'remote';
  filename: string;
  mediaType: string | null;
  bytes: number | null;
  sha256: string | null;
  remoteUrl: string | null;
  scan: ScanState | null;
};

export type UploadStore = ReturnType<typeof uploads>;

type FileColumns = Omit<NewUpload, 'width' | 'height' | 'scan'>;
type AttachParams = FileColumns & { postId: number; ownerId: number; position: number; now: number };

/** Uploaded files and the attachments that name them. Files come first: see upload-files. */
export const uploads = store(({ db, clock }) => {
  const sql = prepareStatements(db);

  return {
    find: (id: number): StoredAttachment | undefined => sql.find.get(id),
    /** Bytes that count for the account's quota. */
    usageOf: (accountId: number): number => sql.usage.get(accountId)?.bytes ?? 0,
    /** Bytes of what is attached to the posts of a source; `ownerId` is the source's. */
    bytesOfSource: (sourceId: number, ownerId: number): number => sql.sourceBytes.get(ownerId, sourceId)?.bytes ?? 0,
    scanOf: (sha256: string): ScanState | undefined => sql.scanOf.get(sha256)?.scan,

    /** The size that was counted when the file came in. */
    bytesOf: (sha256: string): number | undefined => sql.bytesOf.get(sha256)?.bytes,

    /**
     * Names the files as attachments of the post, in the caller's transaction. Returns their ids. A verdict settles
     * what had none; it lifts no quarantine: it may be the older of the two, or of a scanner that knows less.
     */
    attach(postId: number, ownerId: number, files: NewUpload[]): number[] {
      const first = (sql.lastPosition.get(postId)?.position ?? -1) + 1;
      return files.map(({ width, height, scan, ...file }, index) => {
        const now = clock();
        sql.put.run({ ...file, width, height, scan, now });
        return sql.attach.get({ ...file, postId, ownerId, position: first + index, now })?.id ?? 0;
      });
    },

    detach: (id: number): void => void sql.detach.run(id),
    setScan: (sha256: string, scan: ScanState): void => void sql.setScan.run(scan, sha256),
    /** Accounts and posts whose attachments have these bytes. */
    namersOf: (sha256: string) => sql.namers.all(sha256),

    /** Notes since when files are named by nobody, and forgets that of those that are named again. */
    markUnnamed: db.transaction('mark unnamed uploads', (): void => {
      sql.unmark.run();
      sql.mark.run(clock());
    }),

    /** Forgets files that nobody has named since `before` (unix ms), in the caller's transaction; returns which. */
    takeUnnamed: (before: number, limit: number): string[] =>
      sql.takeUnnamed.all(before, limit).map(({ sha256 }) => sha256),
    /** Files without a verdict, in order, after the given one. */
    unscanned: (after: string, limit: number): string[] =>
      sql.unscanned.all(after, limit).map(({ sha256 }) => sha256),
    /** All files that rows name, in order, after the given one. */
    named: (after: string, limit: number) => sql.named.all(after, limit),
  };
});

function prepareStatements(db: Db) {
  return {
    find: db.prepare<[number], StoredAttachment>('attachment', `
      SELECT a.id, a.post_id AS postId, p.source_id AS sourceId, p.owner_id AS ownerId, p.is_public AS isPublic, a.kind,
             a.filename, COALESCE(u.media_type, a.media_type) AS mediaType, COALESCE(u.bytes, a.bytes) AS bytes,
             a.sha256, a.remote_url AS remoteUrl, u.scan
        FROM attachments a JOIN posts p ON p.id = a.post_id
        JOIN sources s ON s.id = p.source_id AND s.removed_at IS NULL
        LEFT JOIN uploads u ON u.sha256 = a.sha256
       WHERE a.id = ?`),
    usage: db.prepare<[number], { bytes: number }>('upload usage',
      'SELECT bytes FROM upload_usage WHERE account_id = ?'),
    // By the files of the owner, which are fewer than the posts of a large source.
    sourceBytes: db.prepare<[number, number], { bytes: number }>('bytes of source', `
      SELECT COALESCE(SUM(a.bytes), 0) AS bytes FROM attachments a CROSS JOIN posts p ON p.id = a.post_id
       WHERE a.owner_id = ? AND p.source_id = ?`),
    scanOf: db.prepare<[string], { scan: ScanState }>('scan of upload', 'SELECT scan FROM uploads WHERE sha256 = ?'),
    bytesOf: db.prepare<[string], { bytes: number }>('bytes of upload', 'SELECT bytes FROM uploads WHERE sha256 = ?'),
    lastPosition: db.prepare<[number], { position: number | null }>('last attachment',
      'SELECT MAX(position) AS position FROM attachments WHERE post_id = ?'),
    put: db.prepare<[NewUpload & { now: number }]>('store upload', `
      INSERT INTO uploads (sha256, bytes, media_type, width, height, scan, created_at)
      VALUES (@sha256, @bytes, @mediaType, @width, @height, @scan, @now)
      ON CONFLICT DO UPDATE SET unnamed_since = NULL,
        scan = CASE scan WHEN 'unscanned' THEN excluded.scan ELSE scan END`),
    attach: db.prepare<[AttachParams], { id: number }>('attach upload', `
      INSERT INTO attachments (post_id, kind, position, filename, media_type, bytes, sha256, owner_id, created_at)
      VALUES (@postId, 'native', @position, @filename, @mediaType, @bytes, @sha256, @ownerId, @now) RETURNING id`),
    detach: db.prepare<[number]>('remove attachment', 'DELETE FROM attachments WHERE id = ?'),
    setScan: db.prepare<[ScanState, string]>('set scan', 'UPDATE uploads SET scan = ? WHERE sha256 = ?'),
    namers: db.prepare<[string], { id: number; ownerId: number; postId: number; filename: string }>('who names upload',
      'SELECT id, owner_id AS ownerId, post_id AS postId, filename FROM attachments WHERE sha256 = ?'),
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
