import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../platform/error-code.ts';
import { BackupError } from './backup-name.ts';

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
    if (text !== undefined) return parseState(path, text);
  }
  return undefined;
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
  if (!isWhole) throw new BackupError(`${path} does not contain a valid restore state`);
  return state as RestoreState;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
