import { DAY, HOUR, MINUTE, type Clock } from '../../platform/clock.ts';
import type { FileLock } from '../../platform/db/file-lock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import type { Log } from '../../platform/log.ts';
import type { UploadFiles } from './upload-files.ts';
import type { UploadStore } from './upload-store.ts';

/** A file stays this long after the last row that named it. */
export const KEPT_UNNAMED = DAY;

/** Longer than any request may take: an hour to come in, and ten files of ten minutes each at the scanner. */
const ABANDONED = 3 * HOUR;

/** Files removed in one transaction. */
const BATCH = 50;

export type SweepDeps = {
  db: Db;
  uploads: UploadStore;
  uploadFiles: UploadFiles;
  /** Keeps a backup from beginning, undefined while one is being made: what its snapshot names must stay. */
  takeBackupLock(): FileLock | undefined;
  clock: Clock;
  log: Log;
};

/** What folder and rows disagree about: files that no row has named for a day, and rows whose file is not there. */
export type UploadReport = { strays: string[]; missing: string[] };

export type SweepingUploads = ReturnType<typeof sweepingUploads>;

/** Removes files that nobody has named for a day, and compares the folder with the rows. */
export function sweepingUploads({ db, uploads, uploadFiles, takeBackupLock, clock, log }: SweepDeps) {
  let sweptAt = -Infinity;

  /** Batch by batch, so that a backup waits for one of them and no longer. */
  function unlessBackup<T>(work: () => T): T | undefined {
    const lock = takeBackupLock();
    if (!lock) return undefined;
    try {
      return work();
    } finally {
      lock.release();
    }
  }

  const removeUnnamedBatch = db.transaction('remove unnamed uploads', (): number => {
    const taken = uploads.takeUnnamed(clock() - KEPT_UNNAMED, BATCH);
    taken.forEach(uploadFiles.removeNow);
    return taken.length;
  });

  const removeStray = db.transaction('remove stray upload', (sha256: string): boolean => {
    if (!isStray(sha256)) return false;
    uploadFiles.removeNow(sha256);
    return true;
  });

  function isStray(sha256: string): boolean {
    const at = uploadFiles.modifiedAt(sha256);
    return at !== undefined && at < clock() - KEPT_UNNAMED && uploads.scanOf(sha256) === undefined;
  }

  async function listStrays(): Promise<string[]> {
    const strays = [];
    for await (const sha256 of uploadFiles.list()) {
      if (isStray(sha256)) strays.push(sha256);
    }
    return strays;
  }

  async function listMissing(): Promise<string[]> {
    const missing = [];
    for (let rows = uploads.named('', BATCH); rows.length > 0; rows = uploads.named(rows.at(-1)?.sha256 ?? '', BATCH)) {
      for (const { sha256, bytes } of rows) {
        if ((await uploadFiles.sizeOf(sha256)) !== bytes && uploads.scanOf(sha256) !== undefined) missing.push(sha256);
      }
    }
    return missing;
  }

  function removeUnnamed(): number {
    uploads.markUnnamed();
    let removed = 0;
    for (let batch = BATCH; batch === BATCH; removed += batch) batch = unlessBackup(removeUnnamedBatch) ?? 0;
    return removed;
  }

  return {
    /** Compares without changing anything. */
    compare: async (): Promise<UploadReport> => ({ strays: await listStrays(), missing: await listMissing() }),

    /** Asked every hour, it sweeps once a day; while a backup is being made it waits for the next hour. */
    async sweepDaily(): Promise<void> {
      if (Math.abs(clock() - sweptAt) < DAY - MINUTE) return;
      if (!unlessBackup(() => true)) return log.info('sweep of uploads put off: a backup is being made');
      sweptAt = clock();
      const removed = removeUnnamed();
      const { strays, missing } = { strays: await listStrays(), missing: await listMissing() };
      const strayed = strays.filter((sha256) => unlessBackup(() => removeStray(sha256))).length;
      if (removed + strayed > 0) log.info('uploads swept', { removed, strays: strayed });
      if (missing.length > 0) log.error('uploads missing', { count: missing.length, first: missing[0] });
    },

    /** Removes what requests that were cut off by a crash left in tmp/. */
    async removeAbandoned(): Promise<void> {
      const removed = await uploadFiles.removeAbandoned(clock() - ABANDONED);
      if (removed > 0) log.info('abandoned uploads removed', { removed });
    },
  };
}
