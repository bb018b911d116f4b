import type { StoreHub } from '../hub/hub.ts';

/** A file that was uploaded, as backups know it. */
export type UploadRow = { sha256: string; bytes: number; createdAt: number };

export type UploadCounts = {
  attachments: number; // native ones
  uploads: number; // files they share
  uploadBytes: number;
};

type FileToFetch = { id: number; urlKey: string; filename: string; sha256: string; bytes: number; ownerId: number };

/** For backups, whose databases are no running hubs'. */
export function countUploads({ db }: Pick<StoreHub, 'db'>): UploadCounts {
  const { attachments } = db.prepare<[], { attachments: number }>('count attachments',
    `SELECT COUNT(*) AS attachments FROM attachments WHERE kind = 'native'`).get() ?? { attachments: 0 };
  return { attachments, ...sumUploads({ db }) };
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
