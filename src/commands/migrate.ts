import { assertNobodyRuns, openDatabaseFile } from '../app/processes/open-hub.ts';
import { readBackupStatus } from '../features/backups/backup-status.ts';
import { HOUR } from '../platform/clock.ts';
import { migrate, pendingMigrations } from '../platform/db/migrate.ts';
import { readMigrations, SchemaError } from '../platform/db/migration-files.ts';
import type { Config } from '../features/hub/read-config.ts';
import type { Command } from './command.ts';

const FRESH = HOUR;

/** Applies pending migrations; unsafe ones only with --allow-unsafe and a fresh verified backup. */
export const migrateCommand: Command = {
  options: { 'allow-unsafe': { type: 'boolean' } },
  operands: 0,

  run(_args, values, { out, err, config }) {
    const allowUnsafe = values['allow-unsafe'] === true;
    const migrations = readMigrations(config.migrationsDir);
    const db = openDatabaseFile(config.databasePath);
    try {
      assertNobodyRuns(db, migrations, config.dataDir);
      const isRisky = allowUnsafe && pendingMigrations(db, migrations).some(({ safe }) => !safe);
      if (isRisky) requireFreshBackup(config, Date.now());
      const applied = migrate(db, migrations, Date.now, allowUnsafe);
      for (const { version, name } of applied) out(`applied ${version} ${name}\n`);
      if (applied.length === 0) err('nothing to apply: the schema is up to date\n');
      return 0;
    } finally {
      db.close();
    }
  },
};

/** A backup's age is measured from when it was made, not from when it was verified. */
function requireFreshBackup(config: Config, now: number): void {
  const { newestVerified } = readBackupStatus({ config, clock: () => now });
  const age = now - (newestVerified?.createdAt ?? 0);
  if (age >= 0 && age < FRESH) return;
  throw new SchemaError('an unsafe migration needs a verified backup younger than an hour: ' +
    'run ./scripts/backup.sh and ./scripts/verify-backup.sh first; nothing was changed');
}
