import type { Stored } from './stored-rows.ts';

/** Records a migration that only a later version of the hub knows. */
export function addLaterMigration({ db }: Stored, version: number): void {
  db.exec(`INSERT INTO schema_migrations VALUES (${version}, 1, 'later', 'x')`);
}
