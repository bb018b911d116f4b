import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FileFault } from '../../platform/db/watched-file.ts';

/** `index`: only indices are damaged, so that the hub goes on; see `hubctl reindex`. */
export type DatabaseFault = FileFault | 'damaged' | 'index';

const WHAT_HAPPENED: Record<DatabaseFault, string> = {
  removed: 'was removed while the hub runs',
  replaced: 'was replaced by another file while the hub runs',
  cut: 'was cut off while the hub runs',
  overwritten: 'was overwritten while the hub runs',
  'log-lost': 'has lost its write-ahead log (hub.db-wal, hub.db-shm) while the hub runs',
  damaged: 'is damaged',
  index: 'has a damaged index',
};

/** What all processes of the hub know of a lost or damaged database: the file run/database-gone.json. */
export type DatabaseNote = {
  fault: DatabaseFault;
  since: number; // unix ms
  indices: string[]; // names of damaged indices
  /** The copy of all that was stored, in DATA_DIR. `lost`: what of a damaged database could not be read. */
  rescue: { file: string; verified: boolean; lost: string[] } | null;
  problem: string | null; // why there is no copy yet
};

/** The note of a lost or damaged database; null while all is well. */
export function readDatabaseNote(dataDir: string): DatabaseNote | null {
  try {
    return JSON.parse(readFileSync(notePath(dataDir), 'utf8')) as DatabaseNote;
  } catch {
    return null;
  }
}

/** Not durable. Returns false if it fails, as on a full disk: each process also finds a lost file by itself. */
export function writeDatabaseNote(dataDir: string, note: DatabaseNote): boolean {
  const partial = `${notePath(dataDir)}.${process.pid}`;
  try {
    writeFileSync(partial, JSON.stringify(note), { mode: 0o600 });
    renameSync(partial, notePath(dataDir)); // other processes read it meanwhile
    return true;
  } catch {
    rmSync(partial, { force: true }); // a full disk leaves an empty file
    return false;
  }
}

export function removeDatabaseNote(dataDir: string): void {
  rmSync(notePath(dataDir), { force: true });
}

function notePath(dataDir: string): string {
  return join(dataDir, 'run', 'database-gone.json');
}

export function newDatabaseNote(fault: DatabaseFault, since: number): DatabaseNote {
  return { fault, since, indices: [], rescue: null, problem: null };
}

/** Whether there is a note: of a loss, or only of damaged indices. */
export function isNoted(dataDir: string): boolean {
  return existsSync(notePath(dataDir));
}

/** Whether the database is noted as lost, also if its copy is verified: no restart cures that. */
export function isDatabaseLost(dataDir: string): boolean {
  return (readDatabaseNote(dataDir)?.fault ?? 'index') !== 'index';
}

/** Whether a running hub alone has what was stored, so that its processes must not be killed. */
export function isDatabaseUnsaved(dataDir: string): boolean {
  return isDatabaseLost(dataDir) && !readDatabaseNote(dataDir)?.rescue?.verified;
}

/** What is wrong, where the copy is, and what to do, in this order. `folder`: how to call DATA_DIR. */
export function describeDatabase(note: DatabaseNote, folder = 'DATA_DIR'): { problem: string; whatToDo: string } {
  const { fault, indices, rescue, problem } = note;
  const what = `hub.db ${WHAT_HAPPENED[fault]}`;
  if (fault === 'index') {
    return {
      problem: `${what} (${indices.join(', ')}). Nothing is lost.`,
      whatToDo: 'Run ./scripts/hubctl reindex: it makes all indices anew, and the hub may run meanwhile. Then look ' +
        'at the disk, which may be failing.',
    };
  }
  if (rescue?.verified) {
    const lost = rescue.lost.length > 0 ? ` What could not be read: ${rescue.lost.join('; ')}.` : '';
    const all = lost === '' ? 'All that was stored' : 'All that could be read';
    const compare = lost === '' ? '' : ' The newest backup may have what was lost: ./scripts/restore.sh --list.';
    return {
      problem: `${what}. ${all} is in ${rescue.file}, which was verified.${lost}`,
      whatToDo: `Stop the hub. Put the copy in place: ${commandsFor(rescue.file, folder)} ` +
        `Then start the hub.${compare}`,
    };
  }
  const why = problem === null ? 'is being written' : `could not be written yet: ${problem}`;
  const room = problem === null ? '' : ' Mend that: it is tried again every ten seconds.';
  const otherwise = problem === null ? '' : ' If it cannot be mended, stop the hub and restore a backup: ' +
    './scripts/restore.sh --list shows them, and what is newer is lost.';
  return {
    problem: `${what}. Only the running hub still has what can be saved, and stores nothing more. A copy ${why}.`,
    whatToDo: `Do not stop the hub and do not restore a backup before the copy is verified.${room} ` +
      `./scripts/hubctl status says when it is, and what to do then.${otherwise}`,
  };
}

/** The name of a copy in DATA_DIR. */
export const RESCUED = /^rescued-(\d{8}-\d{6})\.db$/;

/** Moves the write-ahead log aside with hub.db, because SQLite would apply it to the copy. */
export function commandsFor(file: string, folder: string): string {
  const aside = file.replace(RESCUED, 'old-database-$1');
  const quoted = folder === 'DATA_DIR' ? folder : `'${folder.replaceAll("'", `'\\''`)}'`;
  return `cd ${quoted} && mkdir ${aside} && find . -maxdepth 1 -name 'hub.db*' -exec mv {} ${aside}/ \\; && ` +
    `mv ${file} hub.db`;
}
