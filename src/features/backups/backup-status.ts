import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import type { Config } from '../hub/read-config.ts';
import { timeOfBackup } from './backup-folder.ts';

/**
 * `verified`: complete, unharmed and consistent. `degraded`: unharmed, but the hub itself lacked files or had defects
 * when it was made. `failed`: not to be restored; `problem` says why, and the other fields what was known until then.
 */
export type Verdict = (typeof VERDICTS)[number];

const VERDICTS = ['verified', 'degraded', 'failed'] as const;

/** How a run of backup or of verification ended. */
export type RunResult = {
  name: string | null; // of the backup; null where none was made
  at: number; // unix ms, when it ended
  ok: boolean;
  verdict: Verdict;
  bytes: number | null;
  seconds: number;
  problem: string | null;
};

/** A day, and time for the backup itself. */
export const OLDEST_BACKUP = DAY + 2 * HOUR;

/** How sending copies to an off-site destination ended. */
export type OffsiteRun = Omit<RunResult, 'verdict'> & {
  place: string; // stands for what the destination was set to
  unsent: string | null; // the oldest backup that is not there
  checkedAt?: number | null; // unix ms, when a part of a restic repository was last read and found good
  isDamaged?: boolean; // a restic repository was found damaged and has not been repaired
};

export type Kind = 'backup' | 'verification' | `offsite-${string}`;

export type KeptRuns<R = RunResult> = { last: R | null; lastGood: R | null };

type Dated = { name: string; createdAt: number };

/** What is known of one backup: how it was when it was made or last verified. */
type Judged = { at: number; verdict: Verdict; problem: string | null };

export type BackupStatus = {
  lastBackup: RunResult | null;
  lastVerification: RunResult | null; // of a backup in BACKUP_DIR
  lastSuccessAt: number | null; // unix ms, when a backup last went well
  lastVerifiedAt: number | null; // unix ms, when a backup was last found good, at its making or later
  lastBackupFailed: boolean;
  /** The newest of those that are there and were found damaged. */
  damaged: { name: string; problem: string | null } | null;
  /** The newest that is there, whatever became of it; none whose name lies in the future. */
  newest: (Dated & { verified: boolean }) | null;
  newestVerified: Dated | null;
  /** Those whose names lie in the future, and so say nothing of their age. */
  ahead: string[];
  /** The newest that is complete and not known to be damaged, of whatever time. */
  newestComplete: string | null;
  /**
   * All that are there, the one first whose last verification is the longest ago; each was verified when made. A time
   * in the future counts as 0, lest a clock that was ahead put off the next verification by as much.
   */
  byVerification: { name: string; at: number; verdict: Verdict | null }[];
};

/** Where a hub's backups lie, and what it notes of them. */
export type BackupPlaces = Pick<Config, 'dataDir' | 'backupDir'>;

/** Clocks of one machine are corrected by less. */
const AHEAD = 5 * MINUTE;

/** What the hub knows of its backups: three small files and one list of a folder. Never throws. */
export function readBackupStatus({ config, clock }: { config: BackupPlaces; clock: Clock }): BackupStatus {
  const { dataDir, backupDir } = config;
  const [backup, verification] = [readKept(dataDir, 'backup'), readKept(dataDir, 'verification')];
  const good = [backup.lastGood, verification.lastGood].filter((run): run is RunResult => run !== null);
  const there = listBackups(backupDir);
  const verdicts = { ...olderVerdicts(good, verification.last), ...readVerdicts(dataDir) };
  const latest = clock() + AHEAD;
  const here = there.filter(({ createdAt }) => createdAt <= latest);
  const isVerified = ({ name }: Dated): boolean => verdicts[name]?.verdict === 'verified';
  const damaged = there.findLast(({ name }) => verdicts[name]?.verdict === 'failed');
  const newest = here.at(-1);
  return {
    lastBackup: backup.last,
    lastVerification: verification.last,
    lastSuccessAt: backup.lastGood?.at ?? null,
    lastVerifiedAt: good.length > 0 ? Math.max(...good.map(({ at }) => at)) : null,
    lastBackupFailed: backup.last?.ok === false,
    damaged: damaged ? { name: damaged.name, problem: verdicts[damaged.name]?.problem ?? null } : null,
    newest: newest ? { ...newest, verified: isVerified(newest) } : null,
    newestVerified: here.findLast(isVerified) ?? null,
    ahead: there.filter((one) => !here.includes(one)).map(({ name }) => name),
    newestComplete: there.findLast(isVerified)?.name ?? null,
    byVerification: there
      .map((one) => {
        const { at, verdict } = verdicts[one.name] ?? { at: one.createdAt, verdict: null };
        return { name: one.name, at: at <= latest ? at : 0, verdict };
      })
      .sort((a, b) => a.at - b.at),
  };
}

/** What older versions, which kept only the last runs, knew of single backups. */
function olderVerdicts(good: RunResult[], lastVerification: RunResult | null): Record<string, Judged> {
  const runs = lastVerification ? [...good, lastVerification] : good;
  return Object.fromEntries(runs.sort((a, b) => a.at - b.at).map((run) => [run.name ?? '', run]));
}

/** Whether the newest verified backup is too old, or there is none. */
export function isStale(newestVerified: { createdAt: number } | null, now: number): boolean {
  return newestVerified === null || Math.abs(now - newestVerified.createdAt) > OLDEST_BACKUP;
}

/** The file that keeps what is known of each backup. */
export function verdictsPath(dataDir: string): string {
  return join(dataDir, 'run', 'backup-verdicts.json');
}

/** What is known of each backup, by its name. */
export function readVerdicts(dataDir: string): Record<string, Judged> {
  try {
    const kept = Object.entries(JSON.parse(readFileSync(verdictsPath(dataDir), 'utf8')) as Record<string, Judged>);
    return Object.fromEntries(kept.filter(([, { at, verdict }]) => Number.isFinite(at) && VERDICTS.includes(verdict)));
  } catch {
    return {};
  }
}

/** The file that keeps the last runs of that kind. */
export function statusPath(dataDir: string, kind: Kind): string {
  return join(dataDir, 'run', `last-${kind}.json`);
}

/** What is known of runs of that kind. Nothing where no file can be read. */
export function readKept<R extends RunResult | OffsiteRun = RunResult>(dataDir: string, kind: Kind): KeptRuns<R> {
  try {
    const kept: unknown = JSON.parse(readFileSync(statusPath(dataDir, kind), 'utf8'));
    if (typeof kept !== 'object' || kept === null) return { last: null, lastGood: null };
    return {
      last: 'last' in kept ? toRun<R>(kept.last) : null,
      lastGood: 'lastGood' in kept ? toRun<R>(kept.lastGood) : null,
    };
  } catch {
    return { last: null, lastGood: null };
  }
}

/** Null for what no run has written: the file may be of another version, or damaged. */
function toRun<R extends RunResult | OffsiteRun>(value: unknown): R | null {
  const run = value as Partial<RunResult> | null;
  const isRun = typeof run === 'object' && run !== null && Number.isFinite(run.at) && typeof run.ok === 'boolean' &&
    (run.name === null || typeof run.name === 'string');
  return isRun ? (run as R) : null;
}

/** Real folders of that form, the oldest first; none where the folder cannot be read. */
export function listBackups(backupDir: string): Dated[] {
  try {
    return readdirSync(backupDir, { withFileTypes: true }).filter((entry) => entry.isDirectory())
      .map(({ name }) => ({ name, createdAt: timeOfBackup(name) }))
      .filter((one): one is Dated => one.createdAt !== undefined).sort((a, b) => a.createdAt - b.createdAt);
  } catch {
    return [];
  }
}

/** When scripts/recovery-kit.sh last printed the kit (unix ms), or null if it never has, or nothing usable is noted. */
export function recoveryKitPrintedAt(dataDir: string): number | null {
  try {
    const noted: unknown = JSON.parse(readFileSync(join(dataDir, 'run', 'recovery-kit.json'), 'utf8'));
    const at = typeof noted === 'object' && noted !== null && 'at' in noted ? noted.at : null;
    return typeof at === 'number' && Number.isFinite(at) ? at : null;
  } catch {
    return null;
  }
}
