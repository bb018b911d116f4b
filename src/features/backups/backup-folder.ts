import { statSync } from 'node:fs';
import { lstat, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DAY } from '../../platform/clock.ts';
import { messageOf } from '../../platform/error-code.ts';
import { syncPath } from '../../platform/files/durable-file.ts';
import { byteSize } from '../../platform/in-words.ts';
import { lockForRemoving } from '../hub/data-locks.ts';
import { diskUsage, reserveOf } from '../hub/disk-space.ts';
import type { Config } from '../hub/read-config.ts';
import { BackupError, backupName, interimName, timeOfBackup, timeOfInterim } from './backup-name.ts';

/** A nightly backup consists of DATABASE, ARCHIVE and SUMS; an interim backup has a folder of uploads, not ARCHIVE. */
export const DATABASE = 'hub.db';
export const ARCHIVE = 'uploads.tar.gz';
export const SUMS = 'SHA256SUMS';

/** Folders that killed backup runs left: unfinished and half-removed backups. */
const LEFTOVER = /^\.(?:tmp-(?<unfinished>.+)-\d+|del-(?<removed>.+))$/;

const NAMES_TO_TRY = 60;

export type BackupFolder = ReturnType<typeof backupFolder>;

type Naming = { format(at: number): string; timeOf(name: string): number | undefined };

const NIGHTLY: Naming = { format: backupName, timeOf: timeOfBackup };
const INTERIM: Naming = { format: interimName, timeOf: timeOfInterim };

export function interimFolder(backupDir: string): BackupFolder {
  return backupFolder(join(backupDir, 'interim'), INTERIM);
}

/** A folder of backups. The names of unfinished and half-removed ones begin with a dot. */
export function backupFolder(root: string, { format, timeOf }: Naming = NIGHTLY) {
  const isLeftover = (name: string): boolean => {
    const { unfinished, removed } = LEFTOVER.exec(name)?.groups ?? {};
    return timeOf(unfinished ?? removed ?? '') !== undefined;
  };
  const withdrawnPath = (name: string): string => join(root, `.del-${name}`);
  const matching = async (isWanted: (name: string) => boolean): Promise<string[]> => {
    const entries = await readdir(root, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name).filter(isWanted).sort();
  };

  return {
    root,
    pathOf: (name: string): string => join(root, name),
    partialPath: (at: number): string => join(root, `.tmp-${format(at)}-${process.pid}`),
    /** Names of the finished backups, oldest first. Ignores symbolic links. */
    list: (): Promise<string[]> => matching((name) => timeOf(name) !== undefined),
    /** The caller must hold the backup lock. */
    async removeLeftovers(): Promise<void> {
      const leftovers = await matching(isLeftover);
      for (const name of leftovers) await rm(join(root, name), { recursive: true, force: true });
    },
    /** Names a complete backup by the time `at`, or by the first second after `at` whose name no other backup has. */
    async publish(partial: string, at: number): Promise<string> {
      for (let attempt = 0; attempt < NAMES_TO_TRY; attempt++) {
        const name = format(at + attempt * 1_000);
        if (await lstat(join(root, name)).then(() => true, () => false)) continue;
        await rename(partial, join(root, name));
        await syncPath(root);
        return name;
      }
      throw new BackupError(`no free backup name: there is already a backup for every second since ${format(at)}`);
    },
    /** Renames a backup before removing it, so that a half-removed folder never looks like a backup. */
    async withdraw(name: string): Promise<void> {
      await rename(join(root, name), withdrawnPath(name));
      await syncPath(root);
    },
    removeWithdrawn: (name: string): Promise<void> => rm(withdrawnPath(name), { recursive: true, force: true }),
  };
}

const MARGIN = 64 * 1_024 * 1_024; // how many bytes the running hub may write during the backup

export const LEAST_FREE = 1_024 ** 3; // bytes

/** An upper bound of the bytes that a copy of the database and of the uploads takes. */
export function spaceNeeded(databaseBytes: number, uploadBytes: number): number {
  return databaseBytes + uploadBytes + MARGIN;
}

/** The bytes that must stay free on the disk of a folder: the hub's reserve if DATA_DIR is on this disk, else 0. */
export function reserveIn(
  folder: string, config: Pick<Config, 'dataDir' | 'diskReserveBytes'>, searchIndex = 0,
): number {
  if (statSync(folder).dev !== statSync(config.dataDir).dev) return 0;
  return reserveOf(config, { total: diskUsage(folder).total, searchIndex });
}

/** `kept`: the number of bytes that must still be free after the files were written. */
export async function requireSpace(folder: string, needed: number, what: string, kept: number): Promise<void> {
  const { free } = diskUsage(folder);
  if (free >= needed + kept) return;
  const [wanted, left, reserve] = [needed, free, kept].map((bytes) => byteSize(bytes, 2, 'GiB'));
  const beside = kept > 0 ? ` beside the ${reserve} that the hub keeps free for repairs (DISK_RESERVE_BYTES)` : '';
  throw new BackupError(`not enough disk space: ${what} may need ${wanted}${beside}, ${left} is free`);
}

export type RetentionResult = { removed: string[]; problems: string[] };

/** Reports failed removals instead of throwing an error, because the new backup is there in any case. */
export async function applyRetention(
  folder: BackupFolder, facts: Omit<RetentionFacts, 'names'>, dataDir: string,
): Promise<RetentionResult> {
  const result: RetentionResult = { removed: [], problems: [] };
  try {
    const { remove, refusal } = planRetention({ ...facts, names: await folder.list() });
    if (refusal !== null) return { ...result, problems: [`no old backup was removed: ${refusal}`] };
    for (const name of remove) await removeOne(folder, name, dataDir, result);
  } catch (error) {
    result.problems.push(`old backups could not be listed: ${messageOf(error)}`);
  }
  return result;
}

/**
 * Removes old backups until `kept` are left: the new one (`made`), the newest `complete` one and the newest others.
 * `problems` names those that could not be removed.
 */
export async function keepNewest(
  folder: BackupFolder, { made, complete, kept }: { made: string; complete: string | undefined; kept: number },
  dataDir: string,
): Promise<RetentionResult> {
  const result: RetentionResult = { removed: [], problems: [] };
  const stay = new Set([made, complete ?? made]);
  const others = (await folder.list()).filter((name) => !stay.has(name));
  const surplus = others.slice(0, Math.max(0, others.length + stay.size - kept));
  for (const name of surplus) await removeOne(folder, name, dataDir, result);
  return result;
}

async function removeOne(
  folder: BackupFolder, name: string, dataDir: string, result: RetentionResult,
): Promise<void> {
  try {
    const lock = lockForRemoving(dataDir);
    if (!lock) return void result.problems.push(`${name} was not removed: a backup is being verified`);
    await folder.withdraw(name).finally(() => lock.release());
    await folder.removeWithdrawn(name);
    result.removed.push(name);
  } catch (error) {
    result.problems.push(`${name} could not be removed: ${messageOf(error)}`);
  }
}

type RetentionFacts = {
  names: string[]; // the names of all backups, including the backup that this run made
  made: string; // this run's backup
  complete: string | null; // the newest complete backup; null if no backup is known to be complete
  days: number; // the number of days for which backups are kept
  now: number; // unix ms
};

const KEPT = 3;

/** If more time lies between two backups, the clock may be wrong, and the hub removes no old backups. */
const LONGEST_PAUSE = 35 * DAY;

/** `refusal`: why old backups stay (the clock looks wrong, or none is known to be complete); null without a reason. */
export function planRetention(
  { names, made, complete, days, now }: RetentionFacts,
): { remove: string[]; refusal: string | null } {
  const dated = names
    .map((name) => ({ name, at: timeOfBackup(name) }))
    .filter((backup): backup is { name: string; at: number } => backup.at !== undefined)
    .sort((a, b) => a.at - b.at);
  const removable = dated.slice(0, -KEPT).filter(({ name }) => name !== made && name !== complete);
  const remove = removable.filter(({ at }) => at < now - days * DAY).map(({ name }) => name);
  const unknown = complete === null ? 'no backup is known to be complete' : null;
  const refusal = remove.length > 0 ? unknown ?? clockTrouble(dated, made, now) : null;
  return refusal === null ? { remove, refusal } : { remove: [], refusal };
}

/** Says why the clock may be wrong, judged by the names of the backups (oldest first); null if nothing is odd. */
export function clockTrouble(dated: { name: string; at: number }[], made: string, now: number): string | null {
  const newest = dated.at(-1);
  if (newest && newest.name !== made) return `${newest.name} is newer than this backup: the clock may be wrong`;
  if (newest && newest.at > now + DAY) return `${newest.name} lies in the future: the clock may be wrong`;
  const before = dated.at(-2);
  if (!before || now - before.at <= LONGEST_PAUSE) return null;
  return `the backup before this one, ${before.name}, is ${Math.floor((now - before.at) / DAY)} days older: ` +
    'the clock may be wrong';
}
