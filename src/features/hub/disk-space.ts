import { statfsSync, statSync } from 'node:fs';
import { SECOND } from '../../platform/clock.ts';
import { type Db, emptyLog, isStorageTrouble } from '../../platform/db/open-database.ts';
import type { Config } from './read-config.ts';

/** The usage of the disk on which DATA_DIR is, in bytes. */
export type DiskSpace = {
  total: number;
  used: number;
  /** How much the hub can write; the write-ahead log counts as empty unless a checkpoint cannot empty it. */
  free: number;
  /** Bytes that SQLite fills before hub.db grows, and never gives back to the disk. */
  emptyPages: number;
  searchIndex: number;
};

export type Disk = { space(): DiskSpace };

const MiB = 1024 * 1024;

const RESERVE = 64 * MiB;
const RESERVE_SHARE = 0.05;

/** The smallest default disk reserve: 16 MiB (25 % of a tiny disk), because deletions fill the write-ahead log too. */
const LEAST_RESERVE = 16 * MiB;
const LEAST_SHARE = 0.25;

/**
 * After most posts were deleted, a single step may merge the whole search index, which adds up to 0.9 times its size to
 * the write-ahead log (measured). Two thirds of the reserve are for that.
 */
const INDEX_SHARE = 2;

const MOST_FOR_INDEX = 768 * MiB;
const MOST_SHARE = 0.5;

/** While less than twice the default reserve is free, large changes of the database are made in small transactions. */
const TIGHT = 2;

/** With 1 GiB to spare beyond the reserve, measured space is reused for a second, in which the hub writes far less. */
const PLENTY = 1024 * MiB;
const KEPT_MS = SECOND;

type Measured = Pick<DiskSpace, 'total' | 'searchIndex'>;

/** In bytes: DISK_RESERVE_BYTES, or a default for the sizes of the disk and the search index. */
export function reserveOf({ diskReserveBytes }: Pick<Config, 'diskReserveBytes'>, measured: Measured): number {
  return diskReserveBytes ?? usualReserve(measured);
}

function usualReserve({ total, searchIndex }: Measured): number {
  return Math.max(
    Math.min(RESERVE, total * RESERVE_SHARE),
    Math.min(LEAST_RESERVE, total * LEAST_SHARE),
    Math.min(searchIndex * INDEX_SHARE, MOST_FOR_INDEX, total * MOST_SHARE),
  );
}

/** Empty pages of hub.db do not count as free, because SQLite first writes every change to the write-ahead log. */
export function isTight({ space }: Disk): boolean {
  const now = space();
  return now.free < usualReserve(now) * TIGHT;
}

/** Measures the free space on the hub's disk: at most once a second, but on each call while little space is free. */
export function createDisk(
  db: Db, config: Pick<Config, 'dataDir' | 'databasePath' | 'diskReserveBytes'>, searchIndex: () => number,
): Disk {
  let kept: DiskSpace | undefined;
  let keptUntil = 0;
  const canEmptyLog = createLogLook(db);

  function space(): DiskSpace {
    if (kept && performance.now() < keptUntil) return kept;
    const { total, used, free: onDisk } = diskUsage(config.dataDir);
    const { emptyPages, inLog } = measureDatabase(db, config.databasePath);
    const seen = { total, used, free: onDisk + inLog, emptyPages, searchIndex: searchIndex() };
    if (onDisk < reserveOf(config, seen) && !canEmptyLog()) seen.free = onDisk;
    kept = seen.free > reserveOf(config, seen) + PLENTY ? seen : undefined;
    keptUntil = performance.now() + KEPT_MS;
    return seen;
  }

  return { space };
}

/** Whether a checkpoint can empty the write-ahead log, which a process that reads for long prevents. */
function createLogLook(db: Db): () => boolean {
  let [canEmpty, triedAt] = [true, -Infinity];
  return () => {
    if (db.inTransaction || performance.now() < triedAt + KEPT_MS) return canEmpty;
    triedAt = performance.now();
    try {
      canEmpty = emptyLog(db);
    } catch (error) {
      if (!isStorageTrouble(error)) throw error; // the database is open read-only
    }
    return canEmpty;
  };
}

function measureDatabase(db: Db, databasePath: string): { emptyPages: number; inLog: number } {
  const pageBytes = Number(db.pragma('page_size'));
  const databaseBytes = Number(db.pragma('page_count')) * pageBytes;
  const logBytes = fileBytes(`${databasePath}-wal`);
  const toCome = Math.max(0, databaseBytes - fileBytes(databasePath)); // bytes that a checkpoint adds to hub.db
  return { inLog: logBytes - toCome, emptyPages: Number(db.pragma('freelist_count')) * pageBytes };
}

/** The usage in bytes of the file system of a folder. `free`: what an unprivileged user may write. */
export function diskUsage(folder: string): { total: number; used: number; free: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(folder);
  return { total: blocks * bsize, used: (blocks - bfree) * bsize, free: bavail * bsize };
}

/** The size of a file; 0 if it does not exist. */
export function fileBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
