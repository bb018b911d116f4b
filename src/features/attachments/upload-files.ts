import { createHash, randomUUID } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DAY, hasPassed, HOUR, MINUTE } from '../../platform/clock.ts';
import { codeOf } from '../../platform/error-code.ts';
import { createFile, syncPath, writeChunks } from '../../platform/files/durable-file.ts';
import { backupLock, takeFileLock } from '../hub/data-locks.ts';
import { type Hub, once } from '../hub/hub.ts';
import { uploads } from './attachment-store.ts';

/** A complete, synced file in tmp/ that no row of the database names yet. */
type ReceivedBytes = { path: string; bytes: number; sha256: string };

/** The path of an uploaded file, relative to DATA_DIR, and the file's name in the archive of a backup. */
export function uploadPath(sha256: string): string {
  return `uploads/${sha256.slice(0, 2)}/${sha256}`;
}

/** Stores uploads: in tmp/ while a file arrives, then unchanged in uploads/<first two digits>/<sha256>. */
export const uploadFiles = once(({ config }: Pick<Hub, 'config'>) => {
  const uploads = join(config.dataDir, 'uploads');
  const tmp = join(config.dataDir, 'tmp');
  const pathOf = (sha256: string): string => join(config.dataDir, uploadPath(sha256));

  return {
    pathOf,

    async receive(chunks: AsyncIterable<Buffer>, inspect: (chunk: Buffer) => void): Promise<ReceivedBytes> {
      const path = join(tmp, `upload-${randomUUID()}`);
      const handle = await createFile(path);
      const hash = createHash('sha256');
      let bytes = 0;
      async function* inspected(): AsyncGenerator<Buffer> {
        for await (const chunk of chunks) {
          inspect(chunk);
          hash.update(chunk);
          bytes += chunk.length;
          yield chunk;
          free(chunk);
        }
      }
      try {
        await writeChunks(handle, inspected());
        return { path, bytes, sha256: hash.digest('hex') };
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      } finally {
        await handle.close();
      }
    },

    /** Moves a received file from tmp/ to uploads/, where it replaces one with the same content. */
    async keep({ path, sha256 }: ReceivedBytes): Promise<void> {
      const target = pathOf(sha256);
      const folder = dirname(target);
      const made = await mkdir(folder, { recursive: true, mode: 0o700 });
      await rename(path, target);
      await syncPath(folder);
      if (made !== undefined) await syncPath(uploads);
    },

    discard: ({ path }: ReceivedBytes): Promise<void> => rm(path, { force: true }),

    /** Runs in a write transaction: transactions that write the row of a file first ask `isThere` for the file. */
    removeNow: (sha256: string): void => rmSync(pathOf(sha256), { force: true }),
    isThere: (sha256: string): boolean => statSync(pathOf(sha256), { throwIfNoEntry: false }) !== undefined,

    modifiedAt: (sha256: string): number | undefined => statSync(pathOf(sha256), { throwIfNoEntry: false })?.mtimeMs,

    /** Opens the file, because one of another user of the machine has a size but cannot be read. */
    async stateOf(sha256: string, bytes: number): Promise<'there' | 'missing' | 'unreadable'> {
      try {
        const file = await open(pathOf(sha256));
        const isWhole = await file.stat().then(({ size }) => size === bytes).finally(() => file.close());
        return isWhole ? 'there' : 'missing';
      } catch (error) {
        return isForbidden(error) ? 'unreadable' : 'missing';
      }
    },

    async *list(): AsyncGenerator<string> {
      for (const folder of await readdir(uploads).catch(unlessMissing)) {
        if (!/^[0-9a-f]{2}$/.test(folder)) continue;
        for (const name of await readdir(join(uploads, folder)).catch(unlessForbidden)) {
          if (name.startsWith(folder) && /^[0-9a-f]{64}$/.test(name)) yield name;
        }
      }
    },
  };
});

function unlessMissing(error: unknown): string[] {
  if (codeOf(error) === 'ENOENT') return [];
  throw error;
}

function unlessForbidden(error: unknown): string[] {
  if (isForbidden(error)) return [];
  throw error;
}

function isForbidden(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes(codeOf(error) ?? '');
}

/** Frees a chunk's memory at once: waiting for garbage collection, a hundred uploads would hold 50 MiB. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** How long, at least, an uploaded file is kept after no post and no draft names it any more. */
export const KEPT_UNNAMED = DAY;

/** An upload takes up to an hour for its body, and up to five minutes (VIRUS_SCAN_TIMEOUT_SECONDS) for each scan. */
const ABANDONED_AFTER = 3 * HOUR;

const BATCH = 50;

/** `strays`: files older than KEPT_UNNAMED without a row. `missing`: files with a row, but not whole on the disk. */
type UploadReport = { strays: string[]; missing: string[]; unreadable: string[] };

const lastSweep = once(() => ({ at: -Infinity }));

/**
 * Removes uploaded files that nothing has named for KEPT_UNNAMED, once a day; runs every hour, because a backup may
 * prevent the removal. Logs files that are missing.
 */
export async function sweepUploads(hub: Hub): Promise<void> {
  const { clock, log } = hub;
  const last = lastSweep(hub);
  if (!hasPassed(last.at, DAY - MINUTE, clock())) return;
  if (!unlessBackup(hub, () => true)) return log.info('sweep of uploads postponed: a backup is running');
  last.at = clock();
  const removed = removeUnnamed(hub);
  const { strays, missing, unreadable } = await findStraysAndMissing(hub);
  const strayed = strays.filter((sha256) => unlessBackup(hub, () => removeStray(hub, sha256))).length;
  if (removed + strayed > 0) log.info('uploads swept', { removed, strays: strayed });
  if (missing.length > 0) log.error('uploads missing', { count: missing.length, first: missing[0] });
  if (unreadable.length > 0) log.error('uploads unreadable', { count: unreadable.length, first: unreadable[0] });
}

/** Compares the files in uploads/ with their rows in the database. Changes nothing. */
export async function findStraysAndMissing(hub: Hub): Promise<UploadReport> {
  return { strays: await listStrays(hub), ...await listAbsent(hub) };
}

/** Removes files in tmp/ that a crash left there. */
export async function removeAbandonedUploads({ config, clock, log }: Hub): Promise<void> {
  const tmp = join(config.dataDir, 'tmp');
  const names = (await readdir(tmp)).filter((name) => /^(upload|cache)-[0-9a-f-]{36}$/.test(name));
  const old = names.map((name) => join(tmp, name)).filter((path) =>
    (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) < clock() - ABANDONED_AFTER);
  await Promise.all(old.map((path) => rm(path, { force: true })));
  if (old.length > 0) log.info('abandoned uploads removed', { removed: old.length });
}

/** Runs `work` unless a backup is running. Callers lock for one batch of files at a time, so a backup waits briefly. */
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
  return at !== undefined && at < hub.clock() - KEPT_UNNAMED && !uploads(hub).find(sha256);
}

async function listAbsent(hub: Hub): Promise<Pick<UploadReport, 'missing' | 'unreadable'>> {
  const absent = { missing: [] as string[], unreadable: [] as string[] };
  const { named, find } = uploads(hub);
  for (let rows = named('', BATCH); rows.length > 0; rows = named(rows.at(-1)?.sha256 ?? '', BATCH)) {
    for (const { sha256, bytes } of rows) {
      const state = await uploadFiles(hub).stateOf(sha256, bytes);
      if (state !== 'there' && find(sha256)) absent[state].push(sha256);
    }
  }
  return absent;
}
