import { rmSync, statSync } from 'node:fs';
import { chmod, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hasPassed, SECOND } from '../../platform/clock.ts';
import { type Migration, readMigrations } from '../../platform/db/migration-files.ts';
import { isDamage, isStorageTrouble, openDatabase } from '../../platform/db/open-database.ts';
import { salvage } from '../../platform/db/salvage.ts';
import { messageOf } from '../../platform/error-code.ts';
import { syncPath } from '../../platform/files/durable-file.ts';
import { writtenPath } from '../../platform/files/granted-name.ts';
import { errorFields } from '../../platform/log.ts';
import { MAX_ATTEMPTS, receiverOf, sendAlert } from '../alerts/send-alert.ts';
import { type FileLock, isWorkerRunning, takeFileLock } from '../hub/data-locks.ts';
import { databaseNote, isDatabaseGone, isFrozen, noteDatabase, thaw, whileThawed } from '../hub/database-file.ts';
import {
  describeDatabase, isDatabaseLost, newDatabaseNote, removeDatabaseNote, type DatabaseFault, type DatabaseNote,
} from '../hub/database-note.ts';
import { fileBytes } from '../hub/disk-space.ts';
import { once, type Hub } from '../hub/hub.ts';
import { requireSpace } from './backup-folder.ts';
import { backupName } from './backup-name.ts';
import {
  arePagesSound, checkDatabase, copyTo, damagedIndices, databaseSize, integrityProblems, onNewConnection,
} from './snapshot-store.ts';

const RETRY = 10 * SECOND;

/** A stop waits this long for the copy; systemd waits a little longer (TimeoutStopSec of the units). */
export const LONGEST_SAVING = 90 * SECOND;

const UNFINISHED = /^\.rescue-/;

export const DATABASE_GONE = 'database-gone';
export const DATABASE_GONE_TITLE = 'The database is lost or damaged: nothing is stored any more';

const rescues = once((_hub: Hub) => ({
  running: null as Promise<void> | null, triedAt: -Infinity, alert: { text: '', attempts: 0, sentAt: 0 },
}));

/**
 * Called each second while the database is lost: writes a copy of all that the open handle still has, verifies the copy
 * and tells the operator. The worker does this; web does, if no worker runs.
 */
export async function rescueDatabase(hub: Hub): Promise<void> {
  const rescue = rescues(hub);
  await (rescue.running ??= attempt(hub).finally(() => (rescue.running = null)));
}

/** Before a process closes its handle: waits until a copy is verified. Begins no attempt after `LONGEST_SAVING`. */
export async function saveBeforeEnd(hub: Hub): Promise<void> {
  const until = performance.now() + LONGEST_SAVING;
  while (isDatabaseGone(hub) && !isSaved(hub) && performance.now() < until) {
    await rescueDatabase(hub);
    if (!isSaved(hub)) await delay(SECOND / 4);
  }
}

/** Whether this process has a handle of a lost database without a copy, so that it must not end. */
export function isSaving(hub: Hub): boolean {
  return isFrozen(hub) && !isSaved(hub);
}

function isSaved(hub: Hub): boolean {
  return databaseNote(hub)?.rescue?.verified === true;
}

async function attempt(hub: Hub): Promise<void> {
  const { config: { dataDir }, clock, program } = hub;
  if (program === 'web' && isWorkerRunning(dataDir)) return endIfSound(hub);
  if (!isSaved(hub) && hasPassed(rescues(hub).triedAt, RETRY, clock())) {
    const lock = lockForSaving(dataDir);
    try {
      if (lock) await save(hub);
    } finally {
      lock?.release();
    }
  }
  await tell(hub);
}

/** On a full disk no lock can be taken: then two processes may each write a copy. */
function lockForSaving(dataDir: string): FileLock | undefined {
  try {
    return takeFileLock(join(dataDir, 'run', 'rescue-lock.db'));
  } catch (error) {
    if (isStorageTrouble(error)) return { release: () => {} };
    throw error;
  }
}

/** Ends the freeze of a process, after another process has found that nothing, or only indices are damaged. */
function endIfSound(hub: Hub): void {
  const note = databaseNote(hub);
  if (isFrozen(hub) && (!note || note.fault === 'index')) thaw(hub);
}

async function save(hub: Hub): Promise<void> {
  const { clock, log } = hub;
  const note = databaseNote(hub) ?? newDatabaseNote('removed', clock());
  rescues(hub).triedAt = clock();
  try {
    const indices = note.fault === 'damaged' ? damagedIndicesOf(hub) : null;
    if (indices !== null) {
      if (indices.length > 0) noteDatabase(hub, { ...note, fault: 'index', indices });
      else removeDatabaseNote(hub.config.dataDir); // a statement failed, but the database is sound
      return thaw(hub);
    }
    const rescue = await writeCopy(hub, note);
    noteDatabase(hub, { ...note, rescue, problem: null });
    log.warn('the lost database was saved', { file: rescue.file, lost: rescue.lost.join('; ') });
  } catch (error) {
    noteDatabase(hub, { ...note, problem: messageOf(error) });
    log.error('the lost database could not be saved', errorFields(error));
  }
}

function damagedIndicesOf(hub: Hub): string[] | null {
  try {
    return damagedIndices(onNewConnection(hub.config.databasePath, integrityProblems));
  } catch (error) {
    if (isStorageTrouble(error)) return null;
    throw error;
  }
}

/** Faults after which SQLite may meet wrong bytes in the file. */
const DAMAGES: readonly DatabaseFault[] = ['cut', 'overwritten', 'damaged'];

/** The copy may use the disk's reserve, which is kept for repairs. */
async function writeCopy(hub: Hub, { fault }: DatabaseNote): Promise<NonNullable<DatabaseNote['rescue']>> {
  const { config: { dataDir, migrationsDir }, clock, db } = hub;
  for (const name of (await readdir(dataDir)).filter((one) => UNFINISHED.test(one))) await rm(join(dataDir, name));
  const isDamaged = DAMAGES.includes(fault);
  const bytes = isDamaged ? 2 * fileBytes(join(dataDir, 'hub.db')) : databaseSize(db);
  await requireSpace(dataDir, bytes, 'a copy of the database', 0);
  const partial = join(dataDir, `.rescue-${process.pid}.db`);
  const migrations = readMigrations(migrationsDir);
  // A failed VACUUM makes SQLite read the schema again, which may be damaged: salvage needs the schema in memory.
  const lost = whileThawed(hub, () => (isDamaged ? salvageTo : copyAllTo)(hub, partial, migrations));
  await checkDatabase(partial, migrations);
  const file = `rescued-${backupName(clock())}.db`;
  await chmod(partial, 0o600);
  await syncPath(partial);
  await rename(partial, join(dataDir, file));
  await syncPath(dataDir);
  return { file, verified: true, lost };
}

function copyAllTo(hub: Hub, path: string, migrations: Migration[]): string[] {
  try {
    copyTo(hub.db, path);
    return [];
  } catch (error) {
    if (!isDamage(error)) throw error;
    rmSync(path, { force: true });
    return salvageTo(hub, path, migrations);
  }
}

function salvageTo({ db, clock }: Hub, path: string, migrations: Migration[]): string[] {
  const loose = `${path}-loose`;
  try {
    const lost = salvage(db, loose, migrations, clock);
    const made = openDatabase(loose);
    copyTo(made, path);
    made.close();
    return lost;
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${loose}${end}`, { force: true });
  }
}

/**
 * Sends the alert past the database, which stores nothing; again when there is something new to say. A failed one is
 * sent again after 10, 20, 40 and 80 s.
 */
async function tell(hub: Hub): Promise<void> {
  const { config: { dataDir, baseUrl }, clock, log } = hub;
  const [note, receiver] = [databaseNote(hub), receiverOf(hub)];
  if (!isFrozen(hub) || !note || !receiver) return;
  const { problem, whatToDo } = describeDatabase(note, writtenPath(dataDir));
  const text = `${problem}\n${whatToDo}`;
  const before = rescues(hub).alert;
  const attempts = before.text === text ? before.attempts : 0;
  const isDue = attempts === 0 || hasPassed(before.sentAt, RETRY * 2 ** (attempts - 1), clock());
  if (attempts === MAX_ATTEMPTS || !isDue) return;
  const alert = { event: DATABASE_GONE, title: DATABASE_GONE_TITLE, text, at: clock(), suppressed: 0, hubUrl: baseUrl };
  const { isDelivered, detail } = await sendAlert(receiver, { ...alert, severity: 'error' });
  log.info('alert of the lost database', { isDelivered, detail });
  rescues(hub).alert = { text, attempts: isDelivered ? MAX_ATTEMPTS : attempts + 1, sentAt: clock() };
}

/** A database up to this size is checked when its file changes: a check of 128 MiB takes about half a second. */
const CHECKED_BYTES = 128 * 1024 * 1024;

/** The worker spends at most this share of its time on checks. */
const CHECKING_SHARE = 1 / 200;

const checks = once(({ config: { databasePath: path }, clock }: Hub) =>
  ({ mtimeMs: statSync(path).mtimeMs, doneAt: clock(), pause: 0 }));

/** Looks for damage on the disk after the file has changed, by a checkpoint or by whatever damages it. */
export function checkChangedPages(hub: Hub): void {
  const { config: { dataDir, databasePath }, clock, log } = hub;
  const check = checks(hub);
  const stat = statSync(databasePath, { throwIfNoEntry: false });
  const isUnchanged = !stat || stat.mtimeMs === check.mtimeMs || stat.size > CHECKED_BYTES;
  if (isUnchanged || !hasPassed(check.doneAt, check.pause, clock()) || isDatabaseLost(dataDir)) return;
  const began = performance.now();
  const areSound = arePagesSound(databasePath);
  const pause = (performance.now() - began) / CHECKING_SHARE;
  Object.assign(check, { mtimeMs: stat.mtimeMs, doneAt: clock(), pause });
  if (areSound) return;
  log.error('pages of the database are damaged on the disk');
  noteDatabase(hub, newDatabaseNote('damaged', clock()));
}
