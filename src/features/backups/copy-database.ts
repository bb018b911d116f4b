import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isStorageTrouble, openDatabase } from '../../platform/db/open-database.ts';
import { codeOf } from '../../platform/error-code.ts';
import { sumUploads } from '../attachments/upload-inventory-store.ts';
import { BackupError, DATABASE } from './backup-folder.ts';
import { requireSpace, spaceNeeded } from './free-space.ts';
import { bytesOf, copyTo, requireHub } from './snapshot-store.ts';

/**
 * A consistent copy of the hub's database, of one moment, in a new folder; others may write meanwhile. Throws
 * BackupError when there is too little space for it and the attachments, or the source cannot be read.
 */
export async function copyDatabase(source: string, folder: string): Promise<void> {
  const db = explained(() => openDatabase(source, { readonly: true }));
  try {
    const needed = explained(() => {
      requireHub(db);
      return spaceNeeded(bytesOf(db), sumUploads({ db }).uploadBytes);
    });
    await requireSpace(dirname(folder), needed);
    await mkdir(folder, { mode: 0o700 });
    explained(() => copyTo(db, join(folder, DATABASE)));
  } finally {
    db.close();
  }
  await chmod(join(folder, DATABASE), 0o600);
  await nextTurn();
}

const OWN_DAMAGE = 'the hub\'s own database is damaged or cannot be read';
const WHY: [code: RegExp, reason: string][] = [
  [/^SQLITE_(BUSY|LOCKED)/, 'another program keeps the database locked'],
  [/^SQLITE_(FULL|IOERR_(WRITE|FSYNC|TRUNCATE))/, 'the copy could not be written'],
];

/** That the database of the hub itself cannot be read is what the operator has to know before all else. */
function explained<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error) || !isStorageTrouble(error)) throw error;
    const code = codeOf(error) ?? '';
    const reason = WHY.find(([pattern]) => pattern.test(code))?.[1] ?? OWN_DAMAGE;
    throw new BackupError(`${reason}: ${error.message}`, { cause: error });
  }
}

/** Lets signals that came during synchronous work be seen. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
