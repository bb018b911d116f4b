import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, DAY, hasPassed, HOUR, MINUTE } from '../../platform/clock.ts';
import { backupLock, isFileLocked } from '../hub/data-locks.ts';
import type { Config } from '../hub/read-config.ts';
import { timeOfBackup, timeOfInterim } from './backup-name.ts';

/**
 * `verified`: the backup is complete, intact and consistent. `degraded`: the backup is intact, but the hub itself
 * lacked files or had defects when the backup was made. `failed`: there is no backup, or it must not be restored;
 * `problem` says why.
 */
export type Verdict = (typeof VERDICTS)[number];

const VERDICTS = ['verified', 'degraded', 'failed'] as const;

export type RunResult = {
  name: string | null; // the name of the backup; null if the run made no backup
  at: number; // unix ms, when the run ended
  ok: boolean;
  verdict: Verdict;
  bytes: number | null;
  seconds: number;
  problem: string | null;
};

/** The newest backup may be this old: a day, plus the time that making a backup takes. */
export const OLDEST_BACKUP = DAY + 2 * HOUR;

export type OffsiteRun = Omit<RunResult, 'verdict'> & {
  place: string; // the destination's `destinationKey`
  unsent: string | null; // the oldest backup that the destination does not have
  checkedAt?: number | null; // unix ms, when a part of the restic repository was last read and found good
  isDamaged?: boolean; // the restic repository was found damaged and has not been repaired since
};

export type Kind = 'backup' | 'interim' | 'verification' | `offsite-${string}` | `drill-${string}`;

export type KeptRuns<R = RunResult> = { last: R | null; lastGood: R | null };

export type Dated = { name: string; createdAt: number };

type Judged = { at: number; verdict: Verdict; problem: string | null };

export type BackupStatus = {
  wereEverMade: boolean;
  lastBackup: RunResult | null;
  lastVerification: RunResult | null; // how the last verification of a nightly backup in BACKUP_DIR ended
  lastSuccessAt: number | null; // unix ms, when the hub last made a nightly backup that was verified
  lastVerifiedAt: number | null; // unix ms, when a backup was last found good, either when it was made or later
  lastBackupFailed: boolean;
  /**
   * `missing`: BACKUP_DIR does not exist. `empty`: all backups that were made in BACKUP_DIR are gone. If `lost` is
   * not null, `newest` and `newestVerified` are the newest backups of which DATA_DIR/run has records.
   */
  lost: 'missing' | 'empty' | null;
  damaged: { name: string; problem: string | null } | null; // the newest backup that a verification found damaged
  newest: (Dated & { verified: boolean }) | null; // the newest backup whose name does not lie in the future
  newestVerified: Dated | null;
  ahead: string[]; // backups whose names lie in the future, so that their age is unknown
  newestComplete: string | null; // the newest verified one in BACKUP_DIR, even if its name lies in the future
  /** All backups; `at`: the time of the last verdict, or else of the backup; 0 if in the future. Sorted by `at`. */
  byVerification: { name: string; at: number; verdict: Verdict | null }[];
};

export type BackupPlaces = Pick<Config, 'dataDir' | 'backupDir'>;

/** A backup name further in the future than this shows a wrong clock; usual corrections of a clock are smaller. */
export const AHEAD = 5 * MINUTE;

/** Reads a few small files and the names in BACKUP_DIR. Never throws. */
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

/** The verdicts on backups in the results of the last runs, which are the only verdicts that old versions stored. */
function olderVerdicts(good: RunResult[], lastVerification: RunResult | null): Record<string, Judged> {
  const runs = lastVerification ? [...good, lastVerification] : good;
  return Object.fromEntries(runs.sort((a, b) => a.at - b.at).map((run) => [run.name ?? '', run]));
}

/** Also true if there is none, or if it lies as far in the future. */
export function isStale(newestVerified: { createdAt: number } | null, now: number): boolean {
  return newestVerified === null || Math.abs(now - newestVerified.createdAt) > OLDEST_BACKUP;
}

export function verdictsPath(dataDir: string): string {
  return join(dataDir, 'run', 'backup-verdicts.json');
}

/** The last verdict on each backup, by its name. */
export function readVerdicts(dataDir: string): Record<string, Judged> {
  const kept = Object.entries(readJsonFile<Record<string, Judged | null>>(verdictsPath(dataDir)) ?? {});
  return Object.fromEntries(kept.filter((entry): entry is [string, Judged] => {
    const [, one] = entry;
    return !!one && Number.isFinite(one.at) && VERDICTS.includes(one.verdict);
  }));
}

export function statusPath(dataDir: string, kind: Kind): string {
  return join(dataDir, 'run', `last-${kind}.json`);
}

/** Either is null if there is no record of it. */
export function readKept<R extends RunResult | OffsiteRun = RunResult>(dataDir: string, kind: Kind): KeptRuns<R> {
  const kept = readJsonFile<{ last?: unknown; lastGood?: unknown }>(statusPath(dataDir, kind));
  return { last: toRun<R>(kept?.last), lastGood: toRun<R>(kept?.lastGood) };
}

/** Returns null unless `value` is the record of a run (such as a backup): the file of these records may be damaged. */
function toRun<R extends RunResult | OffsiteRun>(value: unknown): R | null {
  const run = value as Partial<RunResult> | null;
  const isRun = typeof run === 'object' && run !== null && Number.isFinite(run.at) && typeof run.ok === 'boolean' &&
    (run.name === null || typeof run.name === 'string');
  return isRun ? (run as R) : null;
}

/** Nightly backups only. */
export function listBackups(backupDir: string): Dated[] {
  return datedFolders(backupDir, timeOfBackup);
}

/** Folders whose names are times, oldest first, without symbolic links; none if they cannot be listed. */
function datedFolders(folder: string, timeOf: (name: string) => number | undefined): Dated[] {
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

/** The default BACKUP_DIR, within DATA_DIR, is taken to be on the hub's disk; only another one can lose its disk. */
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

/** The file with the start (unix ms) of the running backup; `whileLocked` removes the file when the backup ends. */
export function begunPath(dataDir: string, kind: 'backup' | 'interim'): string {
  return join(dataDir, 'run', `${kind}-begun.json`);
}

/** A record of failure if the last backup was killed, else null. `last`: the last backup whose end was recorded. */
function readKilled(dataDir: string, kind: 'backup' | 'interim', last: RunResult | null): RunResult | null {
  const begunAt = (): unknown => readJsonFile<{ at?: unknown }>(begunPath(dataDir, kind))?.at;
  const at = begunAt();
  if (typeof at !== 'number' || (last && last.at > at)) return null;
  // Reads the file of the begun backup again, because the backup may have ended since the first reading.
  if (isLocked(backupLock(dataDir)) || begunAt() !== at) return null;
  const problem = 'the backup was killed before it was complete';
  return { name: null, at, ok: false, verdict: 'failed', bytes: null, seconds: 0, problem };
}

/** Intervals of interim backups, in hours, which divide 24: each day, a nightly backup replaces an interim backup. */
export const INTERIM_HOURS = [1, 2, 3, 4, 6, 8, 12];

export type InterimRun = RunResult & { everyHours: number | null }; // null: cron or a timer has made no interim backup

/** Interim backups are late if this many are missing in a row and no nightly backup was made in the meantime. */
const MISSED = 3;

export type InterimStatus = {
  last: RunResult | null; // a killed run of an interim backup counts as failed
  everyHours: number | null;
  kept: number; // how many interim backups are on this machine
  newestAt: number | null; // unix ms, when the newest verified interim backup was made
  isLate: boolean; // no verified backup, interim or nightly, is from the last MISSED × `everyHours` hours
};

/** Never throws. */
export function readInterim({ config, clock }: { config: BackupPlaces; clock: Clock }): InterimStatus {
  const { dataDir, backupDir } = config;
  const { last: ended } = readKept<InterimRun>(dataDir, 'interim');
  const everyHours = INTERIM_HOURS.find((hours) => hours === ended?.everyHours) ?? null;
  const last = readKilled(dataDir, 'interim', ended) ?? ended;
  const verdicts = readVerdicts(dataDir);
  const isGood = ({ name, createdAt }: Dated): boolean =>
    verdicts[name]?.verdict === 'verified' && createdAt <= clock() + AHEAD;
  const there = listInterim(backupDir);
  const newestAt = there.findLast(isGood)?.createdAt ?? null;
  const newest = Math.max(newestAt ?? 0, listBackups(backupDir).findLast(isGood)?.createdAt ?? 0);
  const isLate = everyHours !== null && hasPassed(Math.min(newest, clock()), MISSED * everyHours * HOUR, clock());
  return { last, everyHours, newestAt, kept: there.length, isLate };
}

export function listInterim(backupDir: string): Dated[] {
  return datedFolders(join(backupDir, 'interim'), timeOfInterim);
}

/** When scripts/recovery-kit.sh last printed the kit (unix ms); null if unknown. */
export function recoveryKitPrintedAt(dataDir: string): number | null {
  const at = readJsonFile<{ at?: unknown }>(join(dataDir, 'run', 'recovery-kit.json'))?.at;
  return typeof at === 'number' && Number.isFinite(at) ? at : null;
}

/** Returns null if a JSON file is missing, unreadable or damaged. The object in a JSON file may have any members. */
export function readJsonFile<Expected>(path: string): Partial<Expected> | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Partial<Expected> | null;
  } catch {
    return null;
  }
}
