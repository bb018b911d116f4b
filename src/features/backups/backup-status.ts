import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import { backupLock, isFileLocked } from '../hub/data-locks.ts';
import type { Config } from '../hub/read-config.ts';
import { timeOfBackup } from './backup-name.ts';

/**
 * `verified`: complete, intact and consistent. `degraded`: intact, but the hub itself lacked files or had defects when
 * the backup was made. `failed`: the backup must not be restored; `problem` says why.
 */
export type Verdict = (typeof VERDICTS)[number];

const VERDICTS = ['verified', 'degraded', 'failed'] as const;

/** How a run of backup or of verification ended. */
export type RunResult = {
  name: string | null; // the backup's name; null: no backup was made
  at: number; // unix ms, end of the run
  ok: boolean;
  verdict: Verdict;
  bytes: number | null;
  seconds: number;
  problem: string | null;
};

/** A day, plus time for making the backup. */
export const OLDEST_BACKUP = DAY + 2 * HOUR;

/** How sending copies to an off-site destination ended. */
export type OffsiteRun = Omit<RunResult, 'verdict'> & {
  place: string; // the destination's `destinationKey`
  unsent: string | null; // the oldest backup that the destination lacks
  checkedAt?: number | null; // unix ms, when a part of a restic repository was last read and found good
  isDamaged?: boolean; // a restic repository was found damaged and has not been repaired
};

export type Kind = 'backup' | 'interim' | 'verification' | `offsite-${string}`;

export type KeptRuns<R = RunResult> = { last: R | null; lastGood: R | null };

export type Dated = { name: string; createdAt: number };

/** The last result of making or verifying one backup. */
type Judged = { at: number; verdict: Verdict; problem: string | null };

export type BackupStatus = {
  wereEverMade: boolean; // a run was noted, or a backup is there
  lastBackup: RunResult | null;
  lastVerification: RunResult | null; // of a backup in BACKUP_DIR
  lastSuccessAt: number | null; // unix ms, when a backup last went well
  lastVerifiedAt: number | null; // unix ms, when a backup was last found good, at its making or later
  lastBackupFailed: boolean;
  /** BACKUP_DIR is not there, or has none of the backups made in it: `newest` and `newestVerified` are from records. */
  lost: 'missing' | 'empty' | null;
  /** The newest existing backup that was found damaged. */
  damaged: { name: string; problem: string | null } | null;
  /** The newest existing backup, verified or not; ignores names in the future. */
  newest: (Dated & { verified: boolean }) | null;
  newestVerified: Dated | null;
  /** Backups whose names lie in the future: their age is unknown. */
  ahead: string[];
  /** The newest complete backup that is not known to be damaged, of any age. */
  newestComplete: string | null;
  /**
   * All existing backups, least recently verified first; each was verified when made. A time in the future counts as 0,
   * so that a clock that was ahead does not delay the next verification.
   */
  byVerification: { name: string; at: number; verdict: Verdict | null }[];
};

/** The folders of backups and of their records. */
export type BackupPlaces = Pick<Config, 'dataDir' | 'backupDir'>;

/** Corrections of a machine's clock are smaller. */
export const AHEAD = 5 * MINUTE;

/** Reads the status of the hub's backups from three small files and a list of BACKUP_DIR. Never throws. */
export function readBackupStatus({ config, clock }: { config: BackupPlaces; clock: Clock }): BackupStatus {
  const { dataDir, backupDir } = config;
  const [backup, verification] = [readKept(dataDir, 'backup'), readKept(dataDir, 'verification')];
  const last = readKilled(dataDir, 'backup', backup.last) ?? backup.last;
  const good = [backup.lastGood, verification.lastGood].filter((run): run is RunResult => run !== null);
  const there = listBackups(backupDir);
  const verdicts = { ...olderVerdicts(good, verification.last), ...readVerdicts(dataDir) };
  const latest = clock() + AHEAD;
  const recorded = dated(Object.keys(verdicts), timeOfBackup);
  const lost = lossOf(config, there, recorded);
  const here = (lost === null ? there : recorded).filter(({ createdAt }) => createdAt <= latest);
  const isVerified = ({ name }: Dated): boolean => verdicts[name]?.verdict === 'verified';
  const damaged = there.findLast(({ name }) => verdicts[name]?.verdict === 'failed');
  const newest = here.at(-1);
  return {
    wereEverMade: last !== null || there.length > 0,
    lastBackup: last,
    lastVerification: verification.last,
    lastSuccessAt: backup.lastGood?.at ?? null,
    lastVerifiedAt: good.length > 0 ? Math.max(...good.map(({ at }) => at)) : null,
    lastBackupFailed: last?.ok === false,
    lost,
    damaged: damaged ? { name: damaged.name, problem: verdicts[damaged.name]?.problem ?? null } : null,
    newest: newest ? { ...newest, verified: isVerified(newest) } : null,
    newestVerified: here.findLast(isVerified) ?? null,
    ahead: there.filter(({ createdAt }) => createdAt > latest).map(({ name }) => name),
    newestComplete: there.findLast(isVerified)?.name ?? null,
    byVerification: there
      .map((one) => {
        const { at, verdict } = verdicts[one.name] ?? { at: one.createdAt, verdict: null };
        return { name: one.name, at: at <= latest ? at : 0, verdict };
      })
      .sort((a, b) => a.at - b.at),
  };
}

/** The verdicts that older versions recorded, which stored only the last runs. */
function olderVerdicts(good: RunResult[], lastVerification: RunResult | null): Record<string, Judged> {
  const runs = lastVerification ? [...good, lastVerification] : good;
  return Object.fromEntries(runs.sort((a, b) => a.at - b.at).map((run) => [run.name ?? '', run]));
}

/** Whether the newest verified backup is too old or missing. */
export function isStale(newestVerified: { createdAt: number } | null, now: number): boolean {
  return newestVerified === null || Math.abs(now - newestVerified.createdAt) > OLDEST_BACKUP;
}

/** The file with the last result of each backup. */
export function verdictsPath(dataDir: string): string {
  return join(dataDir, 'run', 'backup-verdicts.json');
}

/** The last result of each backup, by name. */
export function readVerdicts(dataDir: string): Record<string, Judged> {
  const kept = Object.entries(readJsonFile<Record<string, Judged | null>>(verdictsPath(dataDir)) ?? {});
  return Object.fromEntries(kept.filter((entry): entry is [string, Judged] => {
    const [, one] = entry;
    return !!one && Number.isFinite(one.at) && VERDICTS.includes(one.verdict);
  }));
}

/** The file with the last runs of that kind. */
export function statusPath(dataDir: string, kind: Kind): string {
  return join(dataDir, 'run', `last-${kind}.json`);
}

/** The last runs of that kind; the runs are null if the file cannot be read. */
export function readKept<R extends RunResult | OffsiteRun = RunResult>(dataDir: string, kind: Kind): KeptRuns<R> {
  const kept = readJsonFile<{ last?: unknown; lastGood?: unknown }>(statusPath(dataDir, kind));
  return { last: toRun<R>(kept?.last), lastGood: toRun<R>(kept?.lastGood) };
}

/** The value if it is a run, otherwise null: a file may be damaged or of another version. */
function toRun<R extends RunResult | OffsiteRun>(value: unknown): R | null {
  const run = value as Partial<RunResult> | null;
  const isRun = typeof run === 'object' && run !== null && Number.isFinite(run.at) && typeof run.ok === 'boolean' &&
    (run.name === null || typeof run.name === 'string');
  return isRun ? (run as R) : null;
}

/** Nightly backups in the folder, oldest first; empty if the folder cannot be read. */
export function listBackups(backupDir: string): Dated[] {
  return datedFolders(backupDir, timeOfBackup);
}

/** Folders whose names are times, oldest first, without symbolic links; none if they cannot be listed. */
export function datedFolders(folder: string, timeOf: (name: string) => number | undefined): Dated[] {
  try {
    const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return dated(folders.map(({ name }) => name), timeOf);
  } catch {
    return [];
  }
}

function dated(names: string[], timeOf: (name: string) => number | undefined): Dated[] {
  return names.map((name) => ({ name, createdAt: timeOf(name) }))
    .filter((one): one is Dated => one.createdAt !== undefined).sort((a, b) => a.createdAt - b.createdAt);
}

/** Only a folder outside of DATA_DIR is on a disk that may be away. */
function lossOf({ dataDir, backupDir }: BackupPlaces, there: Dated[], recorded: Dated[]): BackupStatus['lost'] {
  if (backupDir === join(dataDir, 'backups')) return null;
  if (!existsSync(backupDir)) return 'missing';
  return there.length === 0 && recorded.length > 0 ? 'empty' : null;
}

function isLocked(path: string): boolean {
  try {
    return isFileLocked(path);
  } catch {
    return true; // unknown
  }
}

/** Of a backup that is being made: since when (unix ms). `whileLocked` removes it while it still holds its lock. */
export function begunPath(dataDir: string, kind: 'backup' | 'interim'): string {
  return join(dataDir, 'run', `${kind}-begun.json`);
}

/** A failed run, if the last backup neither ended nor goes on; null if `last` is newer. */
export function readKilled(
  dataDir: string, kind: 'backup' | 'interim', last: RunResult | null,
): RunResult | null {
  const begunAt = (): unknown => readJsonFile<{ at?: unknown }>(begunPath(dataDir, kind))?.at;
  const at = begunAt();
  if (typeof at !== 'number' || (last && last.at > at)) return null;
  // It may have ended between the two looks.
  if (isLocked(backupLock(dataDir)) || begunAt() !== at) return null;
  const problem = 'it was killed before it was complete';
  return { name: null, at, ok: false, verdict: 'failed', bytes: null, seconds: 0, problem };
}

/** When scripts/recovery-kit.sh last printed the kit (unix ms), or null if unknown. */
export function recoveryKitPrintedAt(dataDir: string): number | null {
  const at = readJsonFile<{ at?: unknown }>(join(dataDir, 'run', 'recovery-kit.json'))?.at;
  return typeof at === 'number' && Number.isFinite(at) ? at : null;
}

/** The JSON in a file; null if the file is missing, unreadable or damaged. Does not check the JSON's members. */
export function readJsonFile<Expected>(path: string): Partial<Expected> | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Partial<Expected> | null;
  } catch {
    return null;
  }
}
