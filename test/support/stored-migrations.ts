import { openDatabase } from '../../src/platform/db/open-database.ts';
import type { Stored } from './stored-rows.ts';

/** Records a migration that only a later version of the hub knows. */
export function addLaterMigration({ db }: Stored, version: number): void {
  db.exec(`INSERT INTO schema_migrations VALUES (${version}, 1, 'later', 'x')`);
}

/** A database as 0.1.0 left it: nothing of it is read but its history. */
export function writeDatabaseOf010(path: string): void {
  const db = openDatabase(path);
  db.exec(`CREATE TABLE schema_migrations (
      version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL, name TEXT NOT NULL, checksum TEXT NOT NULL) STRICT;
    INSERT INTO schema_migrations VALUES
      (1, 1, 'platform', 'ad7ad3bc0726638dd79de087755cdd712739a1a69eff86c8d0af42923cc86082'),
      (2, 1, 'accounts', 'a87d06a20774dee7be3fd3990186e6f5c62f3b6d878e099038045a94bad57ef0');
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, username TEXT NOT NULL) STRICT`);
  db.close();
}
