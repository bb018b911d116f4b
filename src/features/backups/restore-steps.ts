import { existsSync } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SECOND } from '../../platform/clock.ts';
import { isBusy, isStorageTrouble, openDatabase, type Db } from '../../platform/db/open-database.ts';
import { replaceFile, syncPath } from '../../platform/files/durable-file.ts';
import { writtenPath } from '../../platform/files/granted-name.ts';
import { readDatabaseNote, removeDatabaseNote, writeDatabaseNote } from '../hub/database-note.ts';
import { BackupError } from './backup-name.ts';
import {
  PHASES, probationPath, readRestoreState, rejectTrial, statePath, type Phase, type RestoreState,
} from './restore-state.ts';
import { raiseIdsAbove } from './raise-ids.ts';
import { isStagingName, itemsIn, releaseReserve, restoreFolders, swapBack, swapIn } from './swap-data.ts';

/** A hub that is stopping gets this much time to close its database. */
const LET_GO_MS = 20 * SECOND;
const POLL_MS = 250;

/** Replaces the hub's data by the backup's unpacked data. Throws BackupError if a process uses the hub's database. */
export async function swapRestored(dataDir: string, letGoMs = LET_GO_MS): Promise<RestoreState> {
  let state = requireState(dataDir, ['staged', 'swapping', 'swapped']);
  const places = restoreFolders(dataDir, state.id);
  if (state.phase === 'staged') {
    await closeDatabase(join(dataDir, 'hub.db'), letGoMs);
    // The hub assigns ids until its database is closed, so the restored database's ids are raised after the closing.
    raiseIdsAbove(join(places.staged, 'hub.db'), join(dataDir, 'hub.db'));
    const databaseNote = readDatabaseNote(dataDir);
    state = await writeRestoreState(dataDir, { ...state, phase: 'swapping', old: itemsIn(dataDir), databaseNote });
  }
  if (state.phase === 'swapping') {
    await swapIn(places, state.old);
    removeDatabaseNote(dataDir); // about the database that the backup has replaced
    state = await writeRestoreState(dataDir, { ...state, phase: 'swapped' });
  }
  return state;
}

/** Begins a restore's phase 'probation': from now on, the hub may start on the restored data, on trial. */
export async function openRestored(dataDir: string): Promise<RestoreState> {
  return writeRestoreState(dataDir, { ...requireState(dataDir, ['swapped', 'probation']), phase: 'probation' });
}

/** Ends a restore. `kept`: the folder with the data that the hub had before; null if the hub had no data. */
export async function finishRestore(dataDir: string): Promise<{ state: RestoreState; kept: string | null }> {
  const state = requireState(dataDir, ['probation']);
  const { staged, kept } = restoreFolders(dataDir, state.id);
  await rm(staged, { recursive: true, force: true });
  await clearRestoreState(dataDir);
  return { state, kept: (await removeIfEmpty(kept)) ? null : kept };
}

/** Throws BackupError if the hub has already accepted the backup's data. */
export async function rejectRestored(dataDir: string): Promise<void> {
  const { phase } = requireState(dataDir, PHASES);
  if (phase === 'probation' && !(await rejectTrial(dataDir))) requireState(dataDir, PHASES);
}

/** Brings the old data back, whatever phase the restore is in. Never changes the backup. */
export async function undoRestore(dataDir: string, letGoMs = LET_GO_MS): Promise<RestoreState> {
  await rejectRestored(dataDir);
  let state = requireState(dataDir, PHASES);
  const places = restoreFolders(dataDir, state.id);
  if (['swapped', 'probation', 'rejected'].includes(state.phase)) {
    state = await writeRestoreState(dataDir, { ...state, phase: 'rejected' });
    // No process may write to the database while its file is moved. From the phase 'undoing' on, the restore opens no
    // database, because SQLite could apply the write-ahead log of one database to the other.
    await closeDatabase(join(dataDir, 'hub.db'), letGoMs);
    requireKept(places.kept, state.old);
  }
  if (state.phase !== 'staged') {
    state = await writeRestoreState(dataDir, { ...state, phase: 'undoing' });
    await swapBack(places, state.old);
    if (state.databaseNote) writeDatabaseNote(dataDir, state.databaseNote);
  }
  await rm(places.staged, { recursive: true, force: true });
  await clearRestoreState(dataDir);
  await removeIfEmpty(places.kept);
  return state;
}

/** Frees the reserved space, because a full disk has no room even for a lock file. */
export async function makeRoom(dataDir: string): Promise<void> {
  const state = readRestoreState(dataDir);
  if (state) await releaseReserve(restoreFolders(dataDir, state.id));
}

/** Removes folders that interrupted restores left. The caller must make sure that no restore is in progress. */
export async function removeStaged(dataDir: string): Promise<number> {
  const left = (await readdir(dataDir)).filter(isStagingName);
  for (const name of left) await rm(join(dataDir, name), { recursive: true, force: true });
  return left.length;
}

/** Throws BackupError if an item of the old data is missing, because `swapBack` would count it as restored. */
function requireKept(kept: string, old: string[]): void {
  const there = itemsIn(kept);
  const lost = old.filter((item) => !there.includes(item));
  if (lost.length === 0) return;
  throw new BackupError(`${writtenPath(kept)} lacks ${lost.join(', ')} of the previous data: put it back`);
}

function requireState(dataDir: string, phases: readonly Phase[]): RestoreState {
  const state = readRestoreState(dataDir);
  if (!state) throw new BackupError('no restore is in progress');
  if (phases.includes(state.phase)) return state;
  throw new BackupError(`the restore is in the phase "${state.phase}", not in ${phases.join(' or ')}`);
}

/**
 * Proves that no process has the database open: SQLite leaves write-ahead mode only if the database has a single user.
 * Leaving write-ahead mode also moves the log into the database file, so that the old database's file, which the
 * restore keeps, is complete. A damaged or missing database stays as it is.
 */
async function closeDatabase(path: string, letGoMs: number): Promise<void> {
  if (!existsSync(path)) return;
  for (const until = performance.now() + letGoMs; ; await delay(POLL_MS)) {
    try {
      return leaveWalMode(path);
    } catch (error) {
      if (!isBusy(error)) {
        if (isStorageTrouble(error)) return;
        throw error;
      }
    }
    if (performance.now() >= until) break;
  }
  throw new BackupError('another process still has the database open: stop that process (or set HUB_STOP_COMMAND to ' +
    'the command that stops the hub) and try again');
}

function leaveWalMode(path: string): void {
  let db: Db | undefined;
  try {
    db = openDatabase(path);
    db.pragma('journal_mode = DELETE');
  } finally {
    db?.close();
  }
}

async function removeIfEmpty(folder: string): Promise<boolean> {
  return rmdir(folder).then(() => true, () => !existsSync(folder));
}

/** Durable. In the phase 'probation' the state has another file, so that web and worker may start. */
export async function writeRestoreState(dataDir: string, state: RestoreState): Promise<RestoreState> {
  const isOpen = state.phase === 'probation';
  const [path, other] = isOpen
    ? [probationPath(dataDir), statePath(dataDir)]
    : [statePath(dataDir), probationPath(dataDir)];
  await replaceFile(path, `${JSON.stringify(state)}\n`);
  await rm(other, { force: true }); // the old state file goes last, so that the restore always has a state file
  await syncPath(dirname(path));
  return state;
}

async function clearRestoreState(dataDir: string): Promise<void> {
  for (const path of [probationPath(dataDir), statePath(dataDir)]) {
    await rm(`${path}.partial`, { force: true });
    await rm(path, { force: true });
  }
  await syncPath(join(dataDir, 'run'));
}
