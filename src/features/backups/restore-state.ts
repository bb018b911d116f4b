import { existsSync, readFileSync } from 'node:fs';
import { rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../platform/error-code.ts';
import { syncPath } from '../../platform/files/durable-file.ts';
import { writtenPath } from '../../platform/files/granted-name.ts';
import type { DatabaseNote } from '../hub/database-note.ts';
import { BackupError } from './backup-name.ts';

/**
 * The phases of a restore, in their order. `staged`: the backup's data is unpacked, and the hub's data is untouched.
 * `swapping`: the backup's data takes the place of the hub's data. `swapped`: the backup's data is in place.
 * `probation`: the hub runs on the backup's data, on trial. `rejected`: the restore is to be undone; no hub may start.
 * `undoing`: the data that the hub had before the restore moves back into place.
 */
export const PHASES = ['staged', 'swapping', 'swapped', 'probation', 'rejected', 'undoing'] as const;

export type Phase = (typeof PHASES)[number];

export type RestoreState = {
  phase: Phase;
  id: string; // the restore's id, which the names of the restore's folders contain
  backup: string; // the operator's name for the backup: a folder, a file or an address on a remote
  startedAt: number; // unix ms
  old: string[]; // the names of the items that DATA_DIR had before the restore; set from the phase `swapping` on
  databaseNote?: DatabaseNote | null; // of the database before the restore
};

/** The path of the state file of a restore or an upgrade. While it exists, neither web nor worker starts. */
export function statePath(dataDir: string): string {
  return join(dataDir, 'run', 'restore-state.json');
}

/** The path of the state file during a trial: of a restore (phase 'probation'), an upgrade or a rehearsal. */
export function probationPath(dataDir: string): string {
  return join(dataDir, 'run', 'restore-probation.json');
}

/** Whether only the restore or upgrade may use the hub's data, so that web and worker must not start. */
export function isRestoreUnderWay(dataDir: string): boolean {
  return existsSync(statePath(dataDir));
}

/** Whether a restore or upgrade has begun and not ended; it goes on while the hub runs on trial. */
export function isRestoreOpen(dataDir: string): boolean {
  return whereaboutsOf(dataDir).some((path) => existsSync(path));
}

/** Paths of a restore's state file; `statePath` comes twice, as another process may move the file to `statePath`. */
function whereaboutsOf(dataDir: string): string[] {
  return [statePath(dataDir), probationPath(dataDir), statePath(dataDir)];
}

/** The state of the restore in progress, or undefined. Throws BackupError if the file is damaged or an upgrade's. */
export function readRestoreState(dataDir: string): RestoreState | undefined {
  for (const path of whereaboutsOf(dataDir)) {
    const text = readIfThere(path);
    if (text === undefined) continue;
    const state = parseState(path, text);
    // A rejected restore has its state file at `statePath` again, but with the phase 'probation' in the file's text.
    const isRejected = state.phase === 'probation' && path === statePath(dataDir);
    return isRejected ? { ...state, phase: 'rejected' } : state;
  }
  return undefined;
}

/**
 * 'rehearsal': a trial in a temporary folder. `seconds`: how long the trial of an upgrade may last, as its script has
 * written; null if it wrote none (version 1.0.0), and for other trials.
 */
type Trial = { what: 'upgrade' | 'restore' | 'rehearsal'; seconds: number | null };

/** Null if the hub is not on trial. */
export function readTrial(dataDir: string): Trial | null {
  const text = readIfThere(probationPath(dataDir));
  if (text === undefined) return null;
  const { phase, seconds } = (parseJson(text) ?? {}) as { phase?: unknown; seconds?: unknown };
  const what = phase === 'upgrade' || phase === 'rehearsal' ? phase : 'restore';
  return { what, seconds: typeof seconds === 'number' ? seconds : null };
}

/**
 * Accepts the upgrade or restored backup on trial; returns false if its trial has ended already. Only one of
 * `acceptTrial` and `rejectTrial` can remove the state file at `probationPath`.
 */
export async function acceptTrial(dataDir: string): Promise<boolean> {
  return endTrialBy(dataDir, (path) => unlink(path));
}

/** Rejects the upgrade or restored backup on trial, so that no hub starts; returns false if its trial has ended. */
export async function rejectTrial(dataDir: string): Promise<boolean> {
  return endTrialBy(dataDir, (path) => rename(path, statePath(dataDir)));
}

async function endTrialBy(dataDir: string, act: (path: string) => Promise<void>): Promise<boolean> {
  const path = probationPath(dataDir);
  try {
    await act(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
  await syncPath(dirname(path));
  return true;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function parseState(path: string, text: string): RestoreState {
  const state = parseJson(text) as Partial<RestoreState> | null;
  const { phase, id, backup, startedAt, old } = state ?? {};
  const isWhole = PHASES.some((one) => one === phase) && /^\d{8}-\d{6}$/.test(id ?? '')
    && typeof backup === 'string' && typeof startedAt === 'number' && Array.isArray(old);
  if (!isWhole) throw new BackupError(`${writtenPath(path)} does not contain a valid restore state`);
  return state as RestoreState;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
