import { spawn, type ChildProcess } from 'node:child_process';
import { openDatabase } from '../../src/platform/db/open-database.ts';

/** Removes all of the reading history with one statement, in a process of its own. */
export function startDeleting(path: string): ChildProcess {
  return spawn(process.execPath, [import.meta.filename, path], { stdio: 'ignore' });
}

const [, program, path] = process.argv;
if (program === import.meta.filename && path) {
  const db = openDatabase(path);
  db.exec('DELETE FROM reading_history WHERE read_at < 8.64e15');
  db.close();
}
