import { existsSync, readFileSync } from 'node:fs';
import { rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../platform/error-code.ts';
import { syncPath } from '../../platform/files/durable-file.ts';
import { writtenPath } from '../../platform/files/granted-name.ts';
import { BackupError } from './backup-folder.ts';

/**
 * `staged`: the backup lies ready, nothing of the old data has been touched. `swapping`: old data goes aside and new
 * comes in. `swapped`: new data is in place and has not been started yet. `probation`: it may run, and has to prove
 * itself. `rejected`: it has not, and must not run any more. `undoing`: the old data comes back.
 */
export const PHASES = ['staged', 'swapping', 'swapped', 'probation', 'rejected', 'undoing'] as const;

export type Phase = (typeof PHASES)[number];

export type RestoreState = {
  phase: Phase;
  /** Of this restore; in the names of its folders. */
  id: string;
  /** The backup as it was given: its folder or file, or its place on a remote. */
  backup: string;
  startedAt: number; // unix ms
  /** What there was in DATA_DIR before, by name; known from `swapping` on. */
  old: string[];
};

/** While this file is there, neither web nor worker starts. */
export function statePath(dataDir: string): string {
  return join(dataDir, 'run', 'restore-state.json');
}

/** Where the state is during probation, when web and worker may start. */
export function probationPath(dataDir: string): string {
  return join(dataDir, 'run', 'restore-probation.json');
}

/** Whether the data must not be used by anybody but a restore. */
export function isRestoreUnderWay(dataDir: string): boolean {
  return existsSync(statePath(dataDir));
}

/** Whether one was begun and is not over, be it on probation: what is there now may not be there tomorrow. */
export function isRestoreOpen(dataDir: string): boolean {
  return whereaboutsOf(dataDir).some((path) => existsSync(path));
}

/** Where a state may be, in the order to look: it may pass from one file to the other, either way, meanwhile. */
function whereaboutsOf(dataDir: string): string[] {
  return [statePath(dataDir), probationPath(dataDir), statePath(dataDir)];
}

/** The restore that was begun and is not over, or undefined. Throws BackupError for a file that says nothing usable. */
export function readRestoreState(dataDir: string): RestoreState | undefined {
  for (const path of whereaboutsOf(dataDir)) {
    const text = readIfThere(path);
    if (text !== undefined) return asTold(path, parseState(path, text));
  }
  return undefined;
}

/** `rejectTrial` renames the probation file: phase 'probation' in restore-state.json means 'rejected'. */
function asTold(path: string, state: RestoreState): RestoreState {
  const isRejected = state.phase === 'probation' && path.endsWith('restore-state.json');
  return isRejected ? { ...state, phase: 'rejected' } : state;
}

/**
 * What is on trial, and after how many seconds the hub ends the trial by itself, if the script that began it says so.
 * The hub never ends the trial of a 'rehearsal'.
 */
type Trial = { what: 'upgrade' | 'restore' | 'rehearsal'; seconds: number | null };

/** What is on trial; null for nothing. */
export function readTrial(dataDir: string): Trial | null {
  const text = readIfThere(probationPath(dataDir));
  if (text === undefined) return null;
  const { phase, seconds } = (parseJson(text) ?? {}) as { phase?: unknown; seconds?: unknown };
  const what = phase === 'upgrade' || phase === 'rehearsal' ? phase : 'restore';
  return { what, seconds: typeof seconds === 'number' ? seconds : null };
}

/**
 * Ends the trial for good: what was on trial stays. Durable when it resolves. False if the script that began the trial
 * has ended it: of this and `rejectTrial` only one can succeed, since both take away the same file.
 */
export async function acceptTrial(dataDir: string): Promise<boolean> {
  return endTrialBy(dataDir, (path) => unlink(path));
}

/** Keeps the hub from starting again, so that what was there before can come back. False if the hub has accepted. */
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
