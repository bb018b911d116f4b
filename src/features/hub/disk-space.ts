import { statfsSync, statSync } from 'node:fs';
import { SECOND } from '../../platform/clock.ts';
import { type Db, emptyLog, isStorageTrouble } from '../../platform/db/open-database.ts';
import type { Config } from './read-config.ts';

/** Usage of the disk that holds DATA_DIR, in bytes. */
export type DiskSpace = {
  total: number;
  used: number;
  /** How much the hub can write after a checkpoint of the write-ahead log. */
  free: number;
  /**
   * Empty pages within hub.db. SQLite fills empty pages before the file grows, and never gives them back to the disk.
   */
  emptyPages: number;
  /** Size of the search index within the database. */
  searchIndex: number;
};

/** Measures the disk; tests replace `space`. */
export type Disk = { space(): DiskSpace };

const MiB = 1024 * 1024;

/** Default reserve: 64 MiB, or 5 % of a small disk. */
const RESERVE = 64 * MiB;
const RESERVE_SHARE = 0.05;

/** Minimum reserve: 16 MiB, or 25 % of a tiny disk. One step of a deletion may add 6 MiB to the write-ahead log. */
const LEAST_RESERVE = 16 * MiB;
const LEAST_SHARE = 0.25;

/**
 * After most posts were deleted, one step may merge the whole search index and write up to 0.9 times its size to the
 * log (measured). Two thirds of the reserve are for this merge.
 */
const INDEX_SHARE = 2;

/** Upper bounds of the reserve for the search index: 768 MiB, and half of the disk. */
const MOST_FOR_INDEX = 768 * MiB;
const MOST_SHARE = 0.5;

/** Large changes are split into small steps from twice the reserve: one large step can use as much as the reserve. */
const TIGHT = 2;

/** A measurement with 1 GiB to spare is reused for a second: no process fills 1 GiB in a second. */
const PLENTY = 1024 * MiB;
const KEPT_MS = SECOND;

type DiskConfig = Pick<Config, 'dataDir' | 'databasePath' | 'diskReserveBytes'>;

type Measured = Pick<DiskSpace, 'total' | 'searchIndex'>;

/** The disk reserve in bytes: DISK_RESERVE_BYTES, or a default for the sizes of the disk and the search index. */
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

/**
 * Whether large changes must go in small steps because the disk is nearly full. Empty pages in hub.db do not help:
 * every change, even a deletion, goes to the log first.
 */
export function isTight({ space }: Disk): boolean {
  const now = space();
  return now.free < usualReserve(now) * TIGHT;
}

/** Measures the disk of a hub. A measurement is reused for a second; near the reserve every call measures again. */
export function createDisk(db: Db, config: DiskConfig, searchIndex: () => number): Disk {
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

/**
 * Tells whether a checkpoint can empty the write-ahead log now, so that the log's bytes count as free. A long reader,
 * such as a backup, prevents the checkpoint. Tries a checkpoint at most once a second.
 */
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

/** Bytes of empty database pages, and bytes that emptying the write-ahead log gives back to the disk. */
function measureDatabase(db: Db, databasePath: string): { emptyPages: number; inLog: number } {
  const pageBytes = Number(db.pragma('page_size'));
  const databaseBytes = Number(db.pragma('page_count')) * pageBytes;
  const logBytes = fileBytes(`${databasePath}-wal`);
  const toCome = Math.max(0, databaseBytes - fileBytes(databasePath)); // a checkpoint extends the file to this length
  return { inLog: logBytes - toCome, emptyPages: Number(db.pragma('freelist_count')) * pageBytes };
}

/** Usage, in bytes, of the file system that holds a folder. `free`: how much this system user may still write. */
export function diskUsage(folder: string): { total: number; used: number; free: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(folder);
  return { total: blocks * bsize, used: (blocks - bfree) * bsize, free: bavail * bsize };
}

/** Size of a file in bytes; 0 if the file does not exist. */
export function fileBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
