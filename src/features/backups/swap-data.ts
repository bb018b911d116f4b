import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../platform/files/durable-file.ts';

/**
 * Everything that changes places: the database with what SQLite may keep beside it, and the attachments. A log that
 * stayed beside another database would undo the restore without a word.
 */
export const DATA_ITEMS = ['hub.db-wal', 'hub.db-shm', 'hub.db-journal', 'hub.db', 'uploads'] as const;

export type Places = {
  live: string; // DATA_DIR
  staged: string; // where the new data lies ready
  kept: string; // where the old data is put aside
};

/** Moves one file or folder; given so that tests can stop at any move. */
export type Move = (from: string, to: string) => Promise<void>;

export const moveByRename: Move = (from, to) => rename(from, to);

/** The items that are in place now. */
export function itemsIn(folder: string): string[] {
  return DATA_ITEMS.filter((item) => existsSync(join(folder, item)));
}

/**
 * Puts the old items (`old`) aside and the staged ones in their place. Can be stopped at any instant and called again:
 * an item in place is the new one exactly if the old one is among the kept.
 */
export async function swapIn({ live, staged, kept }: Places, old: string[], move = moveByRename): Promise<void> {
  await mkdir(kept, { recursive: true, mode: 0o700 });
  for (const item of DATA_ITEMS) {
    if (old.includes(item) && !existsSync(join(kept, item))) await move(join(live, item), join(kept, item));
  }
  await syncFolder(kept);
  await syncFolder(live);
  for (const item of DATA_ITEMS) {
    if (existsSync(join(staged, item))) await move(join(staged, item), join(live, item));
  }
  await syncFolder(staged);
  await syncFolder(live);
}

/** Brings the old items back, after any part of `swapIn` or of itself; what was new goes back to the staged. */
export async function swapBack({ live, staged, kept }: Places, old: string[], move = moveByRename): Promise<void> {
  await mkdir(staged, { recursive: true, mode: 0o700 });
  for (const item of DATA_ITEMS) {
    const isOldInPlace = old.includes(item) && !existsSync(join(kept, item));
    if (!isOldInPlace && existsSync(join(live, item))) await move(join(live, item), join(staged, item));
    if (old.includes(item) && !isOldInPlace) await move(join(kept, item), join(live, item));
  }
  await syncFolder(kept).catch(() => {}); // it may never have been made
  await syncFolder(live);
}
