import { DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import { backupLock, takeFileLock } from '../hub/data-locks.ts';
import { once, type Hub } from '../hub/hub.ts';
import { uploads } from './attachment-store.ts';
import { uploadFiles } from './upload-files.ts';

/** A file stays this long after the last row that named it. */
export const KEPT_UNNAMED = DAY;

/** Longer than any request may take: an hour to come in, and ten files of ten minutes each at the scanner. */
const ABANDONED = 3 * HOUR;

/** Files removed in one transaction. */
const BATCH = 50;

/** What folder and rows disagree about: files that no row has named for a day, and rows whose file is not there. */
export type UploadReport = { strays: string[]; missing: string[] };

const lastSweep = once(() => ({ at: -Infinity }));

/** Asked every hour, it sweeps once a day; while a backup is being made it waits for the next hour. */
export async function sweepUploads(hub: Hub): Promise<void> {
  const { clock, log } = hub;
  const last = lastSweep(hub);
  if (Math.abs(clock() - last.at) < DAY - MINUTE) return;
  if (!unlessBackup(hub, () => true)) return log.info('sweep of uploads put off: a backup is being made');
  last.at = clock();
  const removed = removeUnnamed(hub);
  const { strays, missing } = await compareUploads(hub);
  const strayed = strays.filter((sha256) => unlessBackup(hub, () => removeStray(hub, sha256))).length;
  if (removed + strayed > 0) log.info('uploads swept', { removed, strays: strayed });
  if (missing.length > 0) log.error('uploads missing', { count: missing.length, first: missing[0] });
}

/** Compares the folder of uploads with the rows without changing anything. */
export async function compareUploads(hub: Hub): Promise<UploadReport> {
  return { strays: await listStrays(hub), missing: await listMissing(hub) };
}

/** Removes what requests that were cut off by a crash left in tmp/. */
export async function removeAbandonedUploads(hub: Hub): Promise<void> {
  const removed = await uploadFiles(hub).removeAbandoned(hub.clock() - ABANDONED);
  if (removed > 0) hub.log.info('abandoned uploads removed', { removed });
}

/**
 * Keeps a backup from beginning meanwhile; undefined while one is being made: what its snapshot names must stay. Called
 * for each batch, so that a backup waits for one of them and no longer.
 */
function unlessBackup<Result>({ config }: Hub, work: () => Result): Result | undefined {
  const lock = takeFileLock(backupLock(config.dataDir));
  if (!lock) return undefined;
  try {
    return work();
  } finally {
    lock.release();
  }
}

function removeUnnamed(hub: Hub): number {
  uploads(hub).markUnnamed();
  let removed = 0;
  for (let batch = BATCH; batch === BATCH; removed += batch) {
    batch = unlessBackup(hub, () => removeUnnamedBatch(hub)) ?? 0;
  }
  return removed;
}

function removeUnnamedBatch(hub: Hub): number {
  return hub.db.write('remove unnamed uploads', () => {
    const taken = uploads(hub).takeUnnamed(hub.clock() - KEPT_UNNAMED, BATCH);
    taken.forEach(uploadFiles(hub).removeNow);
    return taken.length;
  });
}

function removeStray(hub: Hub, sha256: string): boolean {
  return hub.db.write('remove stray upload', () => {
    if (!isStray(hub, sha256)) return false;
    uploadFiles(hub).removeNow(sha256);
    return true;
  });
}

async function listStrays(hub: Hub): Promise<string[]> {
  const strays = [];
  for await (const sha256 of uploadFiles(hub).list()) {
    if (isStray(hub, sha256)) strays.push(sha256);
  }
  return strays;
}

function isStray(hub: Hub, sha256: string): boolean {
  const at = uploadFiles(hub).modifiedAt(sha256);
  return at !== undefined && at < hub.clock() - KEPT_UNNAMED && uploads(hub).scanOf(sha256) === undefined;
}

async function listMissing(hub: Hub): Promise<string[]> {
  const missing = [];
  const { named, scanOf } = uploads(hub);
  for (let rows = named('', BATCH); rows.length > 0; rows = named(rows.at(-1)?.sha256 ?? '', BATCH)) {
    for (const { sha256, bytes } of rows) {
      const isThere = (await uploadFiles(hub).sizeOf(sha256)) === bytes;
      if (!isThere && scanOf(sha256) !== undefined) missing.push(sha256);
    }
  }
  return missing;
}
