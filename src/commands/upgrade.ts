import timers from 'node:timers/promises';
import { assertNobodyRuns, openDatabaseFile } from '../app/processes/open-hub.ts';
import { failureSince } from '../app/processes/run-hub.ts';
import { readBackupStatus } from '../features/backups/backup-status.ts';
import { heartbeats } from '../features/hub/hub.ts';
import { readOwnMigrations } from '../features/hub/own-migrations.ts';
import type { Config } from '../features/hub/read-config.ts';
import { HOUR, SECOND } from '../platform/clock.ts';
import { migrate, pendingMigrations } from '../platform/db/migrate.ts';
import { SchemaError } from '../platform/db/migration-files.ts';
import { type Command, UsageError } from './command.ts';

const FRESH = HOUR;

export const migrateCommand: Command = {
  options: { 'allow-unsafe': { type: 'boolean' } },
  operands: 0,

  run(_args, values, { out, err, config }) {
    const allowUnsafe = values['allow-unsafe'] === true;
    const migrations = readOwnMigrations(config.migrationsDir);
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

const PROGRAMS = ['web', 'worker'];
const PATIENCE_SECONDS = '30';
const POLL = SECOND / 4;

/** Waits up to --seconds until each program has written a heartbeat since a time (unix ms), or npm start has failed. */
export const awaitWritesCommand: Command = {
  options: { seconds: { type: 'string', default: PATIENCE_SECONDS } },

  async run([since = '', ...programs], { seconds }, { lookAtHub, err }) {
    const isKnown = programs.length > 0 && programs.every((name) => PROGRAMS.includes(name));
    if (!/^\d{1,15}$/.test(since) || !isKnown) {
      throw new UsageError('expected a time in unix ms, then web, worker or both');
    }
    if (!/^\d{1,5}$/.test(String(seconds))) throw new UsageError('--seconds must be a whole number');
    const { hub } = await lookAtHub();
    const silent = (): string[] => programs.filter((name) => (heartbeats(hub).lastSeen(name) ?? 0) < Number(since));
    const failure = (): string | null => failureSince(hub.config.dataDir, Number(since));
    for (let left = Number(seconds) * SECOND; silent().length > 0 && failure() === null && left > 0; left -= POLL) {
      await timers.setTimeout(POLL);
    }
    if (silent().length === 0 && failure() === null) return 0;
    err(`${failure() ?? `${silent().join(' and ')} did not write to the database within ${seconds} s`}\n`);
    return 1;
  },
};
