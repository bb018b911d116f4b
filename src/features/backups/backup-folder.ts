import { lstat, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isoTime } from '../../platform/clock.ts';
import { syncFolder } from '../../platform/files/durable-file.ts';

/** What keeps a backup from being made or trusted; the message is a sentence for the operator. */
export class BackupError extends Error {}

/** Another backup is being made, verified for deletion or restored: the same may work later. */
export class BackupBusy extends Error {}

const NAME = /^(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})$/;

/** YYYYMMDD-HHMMSS in UTC, from unix ms. */
export function backupName(at: number): string {
  const [date = '', time = ''] = isoTime(at).slice(0, 19).split('T');
  return `${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
}

/** Unix ms, or undefined for what is no name of a backup, such as one of the 31st of February. */
export function timeOfBackup(name: string): number | undefined {
  if (!NAME.test(name)) return undefined;
  const at = Date.parse(name.replace(NAME, '$1-$2-$3T$4:$5:$6Z'));
  return !Number.isNaN(at) && backupName(at) === name ? at : undefined;
}

/** What a backup consists of, and nothing else. */
export const DATABASE = 'hub.db';
export const ARCHIVE = 'uploads.tar.gz';
export const SUMS = 'SHA256SUMS';

/** Of runs that died: half-made backups, and old ones that were being removed. */
const LEFTOVER = /^\.tmp-\d{8}-\d{6}-\d+$|^\.del-\d{8}-\d{6}$/;

const NAMES_TO_TRY = 60;

export type BackupFolder = ReturnType<typeof backupFolder>;

/** DATA_DIR/backups: finished backups under their final names, everything else beginning with a dot. */
export function backupFolder(dataDir: string) {
  const root = join(dataDir, 'backups');
  const withdrawnPath = (name: string): string => join(root, `.del-${name}`);
  const isFolder = (name: string): Promise<boolean> =>
    lstat(join(root, name)).then((found) => found.isDirectory(), () => false);

  async function matching(isWanted: (name: string) => boolean): Promise<string[]> {
    const found: string[] = [];
    for (const name of (await readdir(root)).filter(isWanted).sort()) {
      if (await isFolder(name)) found.push(name);
    }
    return found;
  }

  return {
    root,
    pathOf: (name: string): string => join(root, name),
    partialPath: (name: string, pid: number): string => join(root, `.tmp-${name}-${pid}`),

    /** Names of the finished backups, oldest first: real folders of exactly that form, no links. */
    list: (): Promise<string[]> => matching((name) => timeOfBackup(name) !== undefined),

    /** Removes what dead runs left. Only for the holder of the lock. */
    async removeLeftovers(): Promise<string[]> {
      const leftovers = await matching((name) => LEFTOVER.test(name));
      for (const name of leftovers) await rm(join(root, name), { recursive: true, force: true });
      return leftovers;
    },

    /** Gives a complete backup its final name, of `at` or the first free second after it. Never over another. */
    async publish(partial: string, at: number): Promise<string> {
      for (let attempt = 0; attempt < NAMES_TO_TRY; attempt++) {
        const name = backupName(at + attempt * 1_000);
        if (await exists(join(root, name))) continue;
        await rename(partial, join(root, name));
        await syncFolder(root);
        return name;
      }
      throw new BackupError(`there is a backup of each second since ${backupName(at)}`);
    },

    /** Takes the final name away first, so that what is half removed is never taken for a backup. */
    async withdraw(name: string): Promise<void> {
      await rename(join(root, name), withdrawnPath(name));
      await syncFolder(root);
    },

    removeWithdrawn: (name: string): Promise<void> => rm(withdrawnPath(name), { recursive: true, force: true }),
  };
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(() => true, () => false);
}
