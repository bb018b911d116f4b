import { statfsSync, statSync } from 'node:fs';
import { SECOND } from '../../platform/clock.ts';
import { type Db, emptyLog, isStorageTrouble } from '../../platform/db/open-database.ts';
import type { Config } from './read-config.ts';

/** The disk that DATA_DIR lies on, in bytes. */
export type DiskSpace = {
  total: number;
  used: number;
  /** What the hub could still write if the log of its database were emptied first. */
  free: number;
  /** Empty pages within hub.db. SQLite fills them before the file grows, and never gives them back to the disk. */
  emptyPages: number;
  /** What the search index takes of the database. */
  searchIndex: number;
};

/** `space` may be replaced by a test. */
export type Disk = { space(): DiskSpace };

const MiB = 1024 * 1024;

/** Default reserve: 64 MiB, or 5 % of a small disk. */
const RESERVE = 64 * MiB;
const RESERVE_SHARE = 0.05;

/** At least this, or that part of a tiny disk: a step of removing may add 6 MiB to the log of the database. */
const LEAST_RESERVE = 16 * MiB;
const LEAST_SHARE = 0.25;

/**
 * After most posts of the hub were removed, one step may merge the whole search index, whose old pages are overwritten:
 * up to 0.9 times its size goes to the log (measured). Two thirds of the reserve are there for that.
 */
const INDEX_SHARE = 2;

/** Upper bound of the share for the search index. Never more than this part of the disk. */
const MOST_FOR_INDEX = 768 * MiB;
const MOST_SHARE = 0.5;

/** Small steps begin at twice the reserve: one large step can use as much as the reserve. */
const TIGHT = 2;

/** With 1 GiB to spare a measurement is reused for a second; nothing fills that much in a second. */
const PLENTY = 1024 * MiB;
const KEPT_MS = SECOND;

type DiskConfig = Pick<Config, 'dataDir' | 'databasePath' | 'diskReserveBytes'>;

type Measured = Pick<DiskSpace, 'total' | 'searchIndex'>;

/** Bytes that stay free on a disk: what the setting says, or what suits the disk and the largest source. */
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
 * Whether so little is free on the disk itself, whatever is empty within hub.db, that large changes go in small steps.
 * A change takes room in the log first, also one that deletes.
 */
export function isTight({ space }: Disk): boolean {
  const now = space();
  return now.free < usualReserve(now) * TIGHT;
}

/** The disk of a hub. A look is kept for a second while plenty is free; nearer to the reserve each one is new. */
export function createDisk(db: Db, config: DiskConfig, searchIndex: () => number): Disk {
  let kept: DiskSpace | undefined;
  let keptUntil = 0;
  const canEmptyLog = createLogLook(db);

  function space(): DiskSpace {
    if (kept && performance.now() < keptUntil) return kept;
    const { onDisk, inLog, ...found } = lookAtDisk(db, config);
    const seen = { ...found, free: onDisk + inLog, searchIndex: searchIndex() };
    if (onDisk < reserveOf(config, seen) && !canEmptyLog()) seen.free = onDisk;
    kept = seen.free > reserveOf(config, seen) + PLENTY ? seen : undefined;
    keptUntil = performance.now() + KEPT_MS;
    return seen;
  }

  return { space };
}

/**
 * Whether the log of the database can be emptied now, and so counts as free: not while somebody reads an older state,
 * as a backup does. Tries it once a second at most.
 */
function createLogLook(db: Db): () => boolean {
  let [canEmpty, triedAt] = [true, -Infinity];
  return () => {
    if (db.inTransaction || performance.now() < triedAt + KEPT_MS) return canEmpty;
    triedAt = performance.now();
    try {
      canEmpty = emptyLog(db);
    } catch (error) {
      if (!isStorageTrouble(error)) throw error; // a look that may not write
    }
    return canEmpty;
  };
}

type MeasuredDisk = Omit<DiskSpace, 'searchIndex' | 'free'> & {
  onDisk: number;
  inLog: number; // what emptying the log gives back
};

function lookAtDisk(db: Db, { dataDir, databasePath }: DiskConfig): MeasuredDisk {
  const { total, used, free } = diskUsage(dataDir);
  const pageBytes = Number(db.pragma('page_size'));
  const databaseBytes = Number(db.pragma('page_count')) * pageBytes;
  const logBytes = fileBytes(`${databasePath}-wal`);
  const toCome = Math.max(0, databaseBytes - fileBytes(databasePath)); // emptying the log makes the file as long
  return {
    total,
    used,
    onDisk: free,
    inLog: logBytes - toCome,
    emptyPages: Number(db.pragma('freelist_count')) * pageBytes,
  };
}

/** Bytes of the file system that a folder lies on. `free`: what this account may still write. */
export function diskUsage(folder: string): { total: number; used: number; free: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(folder);
  return { total: blocks * bsize, used: (blocks - bfree) * bsize, free: bavail * bsize };
}

/** Bytes of a file; 0 if it does not exist. */
export function fileBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
