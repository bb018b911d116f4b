import { mkdir } from 'node:fs/promises';
import { MINUTE } from '../../platform/clock.ts';
import { plural } from '../../platform/in-words.ts';
import { interimFolder, keepNewest, requireSpace, reserveIn, spaceNeeded } from './backup-folder.ts';
import { UnsoundBackup } from './backup-name.ts';
import { listBackups, readVerdicts } from './backup-status.ts';
import { type BackupOptions, type MadeBackup, makeAndPublish, type UploadStore, whileLocked } from './make-backup.ts';
import { placeUploads } from './upload-folder.ts';
import { counting } from './verify-backup.ts';

export const INTERIM_KEPT = 24;
/** Time after a nightly backup without interim backups; shorter than an hour, their smallest interval. */
const NIGHT_COUNTS = 50 * MINUTE;

/** Returns null, without an interim backup, within NIGHT_COUNTS of a nightly backup. Rejects as `makeBackup` does. */
export function makeInterim(options: BackupOptions): Promise<MadeBackup | null> {
  const { backupDir, clock, dataDir } = options;
  return whileLocked(options, 'interim', async () => {
    const now = clock();
    if (listBackups(backupDir).some(({ createdAt }) => createdAt <= now && createdAt > now - NIGHT_COUNTS)) return null;
    const folder = interimFolder(backupDir);
    await mkdir(folder.root, { recursive: true, mode: 0o700 });
    const last = (await folder.list()).at(-1);
    const previous = last === undefined ? null : folder.pathOf(last);
    const make = (isCareful: boolean) => makeAndPublish(options, folder, () => linkStore(options, previous, isCareful));
    // If the verification fails, perhaps for a damaged upload, a second attempt reads every upload that it links.
    const made = await make(false).catch((error: unknown) => {
      if (error instanceof UnsoundBackup) return make(true);
      throw error;
    });
    const verdicts = readVerdicts(dataDir);
    const isComplete = made.verification.verdict === 'verified';
    const complete = (await folder.list()).findLast((name) =>
      (name === made.name ? isComplete : verdicts[name]?.verdict === 'verified'));
    return { ...made, retention: await keepNewest(folder, { made: made.name, complete, kept: INTERIM_KEPT }, dataDir) };
  });
}

function linkStore(options: BackupOptions, previous: string | null, isCareful: boolean): UploadStore {
  const { dataDir, backupDir, signal, onStep, onProgress } = options;
  return {
    bytes: () => 0,
    async put(folder, { counts, uploads: rows }) {
      onStep(`linking ${plural(counts.uploads, 'attachment')}`);
      const absent = await placeUploads({
        dataDir, previous, folder, rows, isCareful, signal, onProgress: counting(counts.uploadBytes, onProgress),
        requireRoom: (bytes) => bytes === 0 ? Promise.resolve() :
          requireSpace(backupDir, spaceNeeded(bytes, 0), 'an interim backup', reserveIn(backupDir, options)),
      });
      return { absent, archive: null };
    },
  };
}
