import { join, resolve } from 'node:path';
import type { Db } from '../../platform/db/open-database.ts';
import { uploadPath } from '../attachments/upload-files.ts';
import { ARCHIVE, DATABASE } from './backup-folder.ts';
import { BackupError } from './backup-name.ts';
import { hashFile, type Manifest, readManifest } from './manifest.ts';
import { readSnapshot, withSnapshot } from './snapshot-store.ts';
import { checkArchive } from './upload-archive.ts';
import { requireFiles } from './verify-backup.ts';

export type OpenBackup = Manifest & { folder: string };

/** Opens a backup for reading after checking its files and the database's hash. Throws BackupError. */
export async function openBackup(path: string): Promise<OpenBackup> {
  const folder = resolve(path);
  await requireFiles(folder);
  const manifest = await readManifest(folder);
  const { sha256 } = await hashFile(join(folder, DATABASE));
  if (sha256 !== manifest.hashes.database) throw new BackupError(`${DATABASE} does not match SHA256SUMS`);
  return { ...manifest, folder };
}

/** Returns what `read` returns for the backup's database. */
export function readSaved<T>({ folder }: OpenBackup, read: (db: Db) => T): Promise<T> {
  return withSnapshot(join(folder, DATABASE), read);
}

/**
 * Passes an upload's bytes to `write`. Reads the archive twice, so that nothing is passed on before the hash is
 * verified. Throws BackupError.
 */
export async function extractUpload(
  { folder, facts }: OpenBackup, sha256: string, write: (chunk: Buffer) => void,
): Promise<void> {
  const { uploads: rows } = await readSnapshot(join(folder, DATABASE));
  const absent = new Map(facts?.absent.map((upload) => [upload.sha256, upload.why]));
  const why = absent.get(sha256);
  if (why) throw new BackupError(`${uploadPath(sha256)} is ${why}: the hub had lost it when the backup was made`);
  for (const to of [() => {}, write]) {
    const found = new AbortController();
    const destination = (name: string) =>
      name === uploadPath(sha256) ? { write: to, end: () => found.abort() } : undefined;
    const reading = checkArchive(join(folder, ARCHIVE),
      { rows, absent: new Set(absent.keys()), signal: found.signal, destination });
    await reading.catch((error: unknown) => {
      if (!found.signal.aborted) throw error;
    });
  }
}
