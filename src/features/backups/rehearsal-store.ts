import type { Db } from '../../platform/db/open-database.ts';

export type RehearsedFile = { id: number; filename: string; sha256: string; bytes: number; ownerId: number };

/** What a rehearsal asks of a restored database. */
export function createRehearsalStore(db: Db) {
  return {
    /** The largest files that are to be given out, each with somebody who may see it. */
    largestFiles: db.prepare<[number], RehearsedFile>('largest files', `
      SELECT a.id, a.filename, u.sha256, u.bytes, s.owner_id AS ownerId
        FROM uploads u JOIN attachments a ON a.id = (
               SELECT MIN(id) FROM attachments WHERE kind = 'native' AND sha256 = u.sha256)
        JOIN posts p ON p.id = a.post_id JOIN sources s ON s.id = p.source_id
       WHERE u.scan <> 'infected' ORDER BY u.bytes DESC, u.sha256 LIMIT ?`).all,
  };
}
