import type { Db } from './open-database.ts';

/** Does the work so that what it deletes is overwritten in the file too, not only left out of it. */
export function overwritingDeleted<Result>(db: Db, work: () => Result): Result {
  db.pragma('secure_delete = ON');
  try {
    return work();
  } finally {
    db.pragma('secure_delete = OFF');
  }
}
