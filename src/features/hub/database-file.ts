import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isDamage } from '../../platform/db/open-database.ts';
import { watchDatabaseFile } from '../../platform/db/watched-file.ts';
import { codeOf } from '../../platform/error-code.ts';
import { HttpError, tryLater } from '../../platform/http/http-error.ts';
import { isHubRunning } from './data-locks.ts';
import {
  type DatabaseFault, type DatabaseNote, isDatabaseLost, isNoted, newDatabaseNote, readDatabaseNote, writeDatabaseNote,
} from './database-note.ts';
import { once, type Hub } from './hub.ts';

/** The note of a loss that is not over: a hub runs on the lost file, or the copy waits to be put in place. */
export function standingLoss(dataDir: string): DatabaseNote | null {
  const note = readDatabaseNote(dataDir);
  if (!note || note.fault === 'index') return null;
  const isWaiting = note.rescue !== null && existsSync(join(dataDir, note.rescue.file));
  return isWaiting || isHubRunning(dataDir) ? note : null;
}

const watches = once(({ config }: Hub) => watchDatabaseFile(config.databasePath));
const freezes = once((_hub: Hub) => ({ isFrozen: false, unwritten: null as DatabaseNote | null }));

/** Whether this process stores nothing any more, because its database is lost. Does not look at the disk. */
export function isFrozen(hub: Hub): boolean {
  return freezes(hub).isFrozen;
}

/**
 * From now on, this process acknowledges no write that it committed to a lost file: the copy that `rescueDatabase`
 * makes may have been begun before that commit. The copy has all acknowledged commits, but for what is damaged.
 */
export function guardDatabase(hub: Hub): void {
  watches(hub);
  hub.db.watch({
    committed: () => {
      if (!isFrozen(hub) && isGone(hub, watches(hub).look())) throw databaseGone();
    },
    failed: (error) => {
      if (isDamage(error) && !isFrozen(hub) && !isNotedAlready(hub, error)) freeze(hub, 'damaged');
    },
  });
}

/** Whether the note says what a statement met; a noted damage of an index explains wrong entries, no other damage. */
function isNotedAlready({ config: { dataDir } }: Hub, error: unknown): boolean {
  return isDatabaseLost(dataDir) || isNoted(dataDir) && codeOf(error) === 'SQLITE_CORRUPT_INDEX';
}

/** Four calls of stat are a tenth of the work for a small write. Every commit looks once more. */
const SEEN_MS = 1;

const seen = once((_hub: Hub) => ({ until: 0 }));

/** Throws 503 if the database was lost: what would be stored now would be lost with it. */
export function requireDatabase(hub: Hub): void {
  const last = seen(hub);
  if (!isFrozen(hub) && performance.now() < last.until) return;
  if (isDatabaseGone(hub)) throw databaseGone();
  last.until = performance.now() + SEEN_MS;
}

/** Looks whether the database was lost; if so, this process stores nothing from then on. */
export function isDatabaseGone(hub: Hub): boolean {
  return isFrozen(hub) || isGone(hub, watches(hub).lookAtAll());
}

function isGone(hub: Hub, fault: DatabaseFault | null): boolean {
  const { dataDir } = hub.config;
  const found = fault ?? (isNoted(dataDir) ? readDatabaseNote(dataDir)?.fault ?? null : null);
  if (found === null || found === 'index') return false;
  freeze(hub, found);
  return true;
}

/** SQLite then refuses every write of this process (SQLITE_READONLY). */
function freeze(hub: Hub, fault: DatabaseFault): void {
  const { config: { dataDir, databasePath }, db, clock, log } = hub;
  freezes(hub).isFrozen = true;
  db.pragma('query_only = ON');
  const known = readDatabaseNote(dataDir)?.fault ?? 'index'; // the loss of a file is worse than a damaged index
  if (known === 'index') noteDatabase(hub, newDatabaseNote(fault, clock()));
  log.error('the database is lost: nothing is stored any more', { database: databasePath, fault });
}

/** The note of all processes, or what this process alone knows: on a full disk no note can be written. */
export function databaseNote(hub: Hub): DatabaseNote | null {
  return freezes(hub).unwritten ?? readDatabaseNote(hub.config.dataDir);
}

/** Tells all processes. */
export function noteDatabase(hub: Hub, note: DatabaseNote): void {
  freezes(hub).unwritten = writeDatabaseNote(hub.config.dataDir, note) ? null : note;
}

/** Ends the freeze, if nothing, or only indices turned out to be damaged. */
export function thaw(hub: Hub): void {
  Object.assign(freezes(hub), { isFrozen: false, unwritten: null });
  hub.db.pragma('query_only = OFF');
}

/** Runs `work`, which may write to other files by way of SQLite. */
export function whileThawed<T>(hub: Hub, work: () => T): T {
  hub.db.pragma('query_only = OFF');
  try {
    return work();
  } finally {
    hub.db.pragma('query_only = ON');
  }
}

const RETRY_SECONDS = 60;

function databaseGone(): HttpError {
  return tryLater(503, RETRY_SECONDS, 'The hub’s database is lost or damaged, so nothing was stored. What it had is ' +
    'being saved; an administrator has to put that copy in place.');
}
