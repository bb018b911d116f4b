import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeSetUpLink } from '../features/accounts/join-hub.ts';
import { isRestoreUnderWay } from '../features/backups/restore-state.ts';
import type { Clock } from '../platform/clock.ts';
import { migrate, readMigrations, SchemaError } from '../platform/db/migrate.ts';
import { openDatabase, type Db, type SlowQuery } from '../platform/db/open-database.ts';
import type { Config } from '../features/hub/read-config.ts';

/** In DATA_DIR, beside the database. */
const FOLDERS = ['uploads', 'cache', 'backups', 'tmp', 'run'];

export type PreparedHub = { setUpLink: string | null; close(): void };

/** What has to be true before web and worker start. `setUpLink` makes the first account while there is none. */
export function prepareHub(config: Config, clock: Clock = Date.now): PreparedHub {
  const db = openHub(config, clock);
  const token = makeSetUpLink({ db, clock });
  return { setUpLink: token && `${config.baseUrl}/join/${token}`, close: db.close };
}

/** Opens the database and applies safe migrations. Throws SchemaError when it must not be used, as during a restore. */
export function openHub({ dataDir, databasePath, migrationsDir }: Config, clock: Clock, onSlow?: SlowQuery): Db {
  if (isRestoreUnderWay(dataDir)) {
    throw new SchemaError('a restore is under way, or was interrupted: ./scripts/restore.sh --recover ends it');
  }
  for (const folder of FOLDERS) mkdirSync(join(dataDir, folder), { recursive: true, mode: 0o700 });
  const db = openDatabase(databasePath, onSlow ? { onSlow } : {});
  try {
    migrate(db, readMigrations(migrationsDir), clock);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
