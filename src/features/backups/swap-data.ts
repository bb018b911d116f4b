import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { lstat, mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '../../platform/files/durable-file.ts';
import { BackupError } from './backup-name.ts';
import { OFFSITE_HUB } from './offsite-hub.ts';

/** SQLite would apply the write-ahead log of a replaced database to the new database without an error. */
export const DATA_ITEMS = ['hub.db-wal', 'hub.db-shm', 'hub.db-journal', 'hub.db', 'uploads', OFFSITE_HUB] as const;

export type Places = {
  live: string; // DATA_DIR
  staged: string; // the folder with the unpacked data of the backup, until this data moves to `live`
  kept: string; // the folder to which the hub's data before the restore moves
};

export function restoreFolders(dataDir: string, id: string): Places {
  return { live: dataDir, staged: join(dataDir, `.restore-${id}`), kept: join(dataDir, `pre-restore-${id}`) };
}

/** The folder of filler files within `staged`. */
export const RESERVE = 'reserve';

/** Removes a restore's filler files, so that its end or undoing has space on a full disk. */
export async function releaseReserve({ staged }: Places): Promise<void> {
  await rm(join(staged, RESERVE), { recursive: true, force: true });
}

export function isStagingName(name: string): boolean {
  return /^\.restore-\d{8}-\d{6}$/.test(name);
}

/** Moves a file or folder. Tests pass a function that fails or stops at any moment. */
export type Move = (from: string, to: string) => Promise<void>;

const moveByRename: Move = (from, to) => rename(from, to);

export function itemsIn(folder: string): string[] {
  return DATA_ITEMS.filter((item) => existsSync(join(folder, item)));
}

/**
 * Moves the hub's data from DATA_DIR to the folder `kept`, then the backup's data to DATA_DIR. After a stop, `swapIn`
 * can be called again, because data of the backup comes into DATA_DIR only when `kept` has all the hub's data.
 */
export async function swapIn({ live, staged, kept }: Places, old: string[], move = moveByRename): Promise<void> {
  await mkdir(kept, { recursive: true, mode: 0o700 });
  for (const item of DATA_ITEMS) {
    if (old.includes(item) && !existsSync(join(kept, item))) await move(join(live, item), join(kept, item));
  }
  await syncPath(kept);
  await syncPath(live);
  for (const item of DATA_ITEMS) {
    if (existsSync(join(staged, item))) await move(join(staged, item), join(live, item));
  }
  await syncPath(staged);
  await syncPath(live);
}

/** Moves the backup's data out of DATA_DIR and the hub's data back, even if `swapIn` or `swapBack` stopped halfway. */
export async function swapBack({ live, staged, kept }: Places, old: string[], move = moveByRename): Promise<void> {
  await mkdir(staged, { recursive: true, mode: 0o700 });
  for (const item of DATA_ITEMS) {
    const isOldInPlace = old.includes(item) && !existsSync(join(kept, item));
    if (!isOldInPlace && existsSync(join(live, item))) await move(join(live, item), join(staged, item));
    if (old.includes(item) && !isOldInPlace) await move(join(kept, item), join(live, item));
  }
  await syncPath(kept).catch(() => {}); // `kept` is missing if `swapIn` never ran
  await syncPath(live);
}

/** Refuses mount points and symbolic links, because a rename would not move the data behind them. */
export async function requireMovable(dataDir: string): Promise<void> {
  const { dev } = await stat(dataDir);
  for (const item of DATA_ITEMS) {
    const path = join(dataDir, item);
    const found = await lstat(path).catch(() => undefined);
    if (!found || (!found.isSymbolicLink() && found.dev === dev && !isMountPoint(path))) continue;
    throw new BackupError(`DATA_DIR/${item} is a symbolic link or a mount point: stop the hub, put ${item} ` +
      'itself into DATA_DIR (or all of DATA_DIR onto that disk), and restore then');
  }
}

/** Whether a file system is mounted at the given path; false if /proc does not tell (proc(5)). */
function isMountPoint(path: string): boolean {
  try {
    return mountPoints(readFileSync('/proc/self/mountinfo', 'utf8')).includes(realpathSync.native(path));
  } catch {
    return false;
  }
}

/** The paths of mount points: the fifth field of each line, in which spaces and tabs, for example, are octal. */
function mountPoints(mountinfo: string): string[] {
  const fields = mountinfo.split('\n').map((line) => line.split(' ')[4] ?? '');
  const toCharacter = (_: string, octal: string): string => String.fromCharCode(parseInt(octal, 8));
  return fields.map((path) => path.replace(/\\([0-7]{3})/g, toCharacter));
}
