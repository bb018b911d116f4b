import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DAY, HOUR } from '../../platform/clock.ts';
import { writeNewFile } from '../../platform/files/durable-file.ts';
import { timeOfBackup } from './backup-name.ts';
import type { Verdict } from './verify-backup.ts';

/** How a run of backup or of verification ended. */
export type Run = {
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
export type OffsiteRun = Omit<Run, 'verdict'> & {
  place: string; // stands for what the destination was set to
  unsent: string | null; // the oldest backup that is not there
};

export type Kind = 'backup' | 'verification' | `offsite-${string}`;

type Kept<R = Run> = { last: R | null; lastGood: R | null };

type Dated = { name: string; createdAt: number };

export type BackupStatus = {
  lastBackup: Run | null;
  lastVerification: Run | null; // of a backup in DATA_DIR/backups
  lastSuccessAt: number | null; // unix ms, when a backup last went well
  lastVerifiedAt: number | null; // unix ms, when a backup was last found good, at its making or later
  lastBackupFailed: boolean;
  lastVerifyFailed: boolean; // and no good backup was made since
  /** The newest that is there, whatever became of it. */
  newest: (Dated & { verified: boolean }) | null;
  newestVerified: Dated | null;
};

/** Notes how a run ended. Throws where DATA_DIR/run must not be written. */
export async function noteRun(dataDir: string, kind: Kind, run: Run | OffsiteRun, pid: number): Promise<void> {
  const path = statusPath(dataDir, kind);
  const lastGood = run.ok ? run : readKept(dataDir, kind).lastGood;
  const partial = `${path}.${pid}.partial`;
  await writeNewFile(partial, `${JSON.stringify({ last: run, lastGood } satisfies Kept<Run | OffsiteRun>)}\n`);
  await rename(partial, path);
}

/** What the hub knows of its backups: two small files and one list of a folder. Never throws. */
export function readBackupStatus(dataDir: string): BackupStatus {
  const backup = readKept(dataDir, 'backup');
  const verification = readKept(dataDir, 'verification');
  const good = [backup.lastGood, verification.lastGood].filter((run): run is Run => run !== null);
  const failed = verification.last?.ok === false ? verification.last : null;
  const sound = good.filter(({ name, at }) => failed === null || name !== failed.name || at > failed.at);
  const verified = sound.flatMap(({ name }) => dated(name)).filter(({ name }) => isThere(dataDir, name)).sort(byTime);
  const newest = listNames(dataDir).flatMap(dated).sort(byTime).at(-1);
  return {
    lastBackup: backup.last,
    lastVerification: verification.last,
    lastSuccessAt: backup.lastGood?.at ?? null,
    lastVerifiedAt: good.length > 0 ? Math.max(...good.map(({ at }) => at)) : null,
    lastBackupFailed: backup.last?.ok === false,
    lastVerifyFailed: failed !== null && failed.at > (backup.lastGood?.at ?? 0),
    newest: newest ? { ...newest, verified: verified.some(({ name }) => name === newest.name) } : null,
    newestVerified: verified.at(-1) ?? null,
  };
}

/** Whether the newest verified backup is too old, or there is none. */
export function isStale(newestVerified: { createdAt: number } | null, now: number): boolean {
  return newestVerified === null || Math.abs(now - newestVerified.createdAt) > OLDEST_BACKUP;
}

function statusPath(dataDir: string, kind: Kind): string {
  return join(dataDir, 'run', `last-${kind}.json`);
}

/** What is known of runs of that kind. Nothing where no file can be read. */
export function readKept<R extends Run | OffsiteRun = Run>(dataDir: string, kind: Kind): Kept<R> {
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
function toRun<R extends Run | OffsiteRun>(value: unknown): R | null {
  const run = value as Partial<Run> | null;
  const isRun = typeof run === 'object' && run !== null && Number.isFinite(run.at) && typeof run.ok === 'boolean' &&
    (run.name === null || typeof run.name === 'string');
  return isRun ? (run as R) : null;
}

function dated(name: string | null): Dated[] {
  const createdAt = name === null ? undefined : timeOfBackup(name);
  return name === null || createdAt === undefined ? [] : [{ name, createdAt }];
}

const byTime = (a: Dated, b: Dated): number => a.createdAt - b.createdAt;

function listNames(dataDir: string): string[] {
  try {
    return readdirSync(join(dataDir, 'backups')).filter((name) => isThere(dataDir, name));
  } catch {
    return [];
  }
}

function isThere(dataDir: string, name: string): boolean {
  try {
    return lstatSync(join(dataDir, 'backups', name)).isDirectory();
  } catch {
    return false;
  }
}
