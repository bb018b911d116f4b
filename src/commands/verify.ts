import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type FileLock, lockForVerifying } from '../features/hub/data-locks.ts';
import { timeOfBackup } from '../features/backups/backup-folder.ts';
import { noteRun } from '../features/backups/backup-status.ts';
import { verifyBackup, type Verification } from '../features/backups/verify-backup.ts';
import { readMigrations } from '../platform/db/migration-files.ts';
import { codeOf } from '../platform/error-code.ts';
import { formatReport } from './backup-report.ts';
import { ConfigError, PROJECT_ROOT } from '../features/hub/read-config.ts';
import { UsageError, type Command, type CommandContext } from './command.ts';

/** Reports on a backup. Needs neither a hub nor its configuration, and may be run by another user. */
export const verifyCommand: Command = {
  options: { json: { type: 'boolean' } },

  async run([folder, ...rest], { json }, context) {
    if (rest.length > 0) throw new UsageError(`unexpected argument ${rest[0]}`);
    if (!folder) throw new UsageError('the folder of the backup is missing');
    const dataDir = dataDirOf(folder, context);
    const lock = dataDir === null ? undefined : await lockIfPossible(dataDir);
    const migrations = readMigrations(join(PROJECT_ROOT, 'migrations'));
    const verification = await verifyBackup(folder, { migrations, clock: Date.now });
    // It may have been taken away before there was a lock; that is no damage for the hub to worry about.
    if (dataDir !== null && existsSync(folder)) await noteIfPossible(dataDir, verification);
    lock?.release();
    context.out(json ? `${JSON.stringify(verification)}\n` : formatReport(verification));
    return verification.verdict === 'verified' ? 0 : 1;
  },
};

/**
 * DATA_DIR where the folder is one of its own backups, whose state the hub wants to know; else null. For another
 * account too: what root wrote there would be out of the hub's reach.
 */
function dataDirOf(folder: string, context: CommandContext): string | null {
  try {
    const { dataDir, databasePath } = context.config;
    if (statSync(databasePath).uid !== process.getuid?.()) return null;
    const path = realpathSync(resolve(folder));
    const isOwn = dirname(path) === join(realpathSync(dataDir), 'backups');
    return isOwn && timeOfBackup(path.slice(dirname(path).length + 1)) !== undefined ? dataDir : null;
  } catch (error) {
    if (error instanceof ConfigError || codeOf(error) !== undefined) return null;
    throw error;
  }
}

/** Another user may read, and no more. */
function lockIfPossible(dataDir: string): Promise<FileLock | undefined> {
  return lockForVerifying(dataDir).catch(() => undefined);
}

async function noteIfPossible(dataDir: string, verification: Verification): Promise<void> {
  const { name, verdict, verifiedAt: at, databaseBytes, archiveBytes, seconds, problem } = verification;
  const bytes = databaseBytes === null || archiveBytes === null ? null : databaseBytes + archiveBytes;
  const run = { name, at, ok: verdict === 'verified', verdict, bytes, seconds, problem };
  await noteRun(dataDir, 'verification', run, process.pid).catch(() => {}); // as above
}
