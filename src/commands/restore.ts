import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { askReadiness } from '../app/processes/readiness.ts';
import { accounts } from '../features/accounts/account-store.ts';
import { apiTokens } from '../features/accounts/credential-store.ts';
import { largestUploads } from '../features/attachments/attachment-store.ts';
import { servedPath } from '../features/attachments/attachment-links.ts';
import { uploadPath } from '../features/attachments/upload-files.ts';
import { reserveIn } from '../features/backups/backup-folder.ts';
import { BackupBusy, BackupError } from '../features/backups/backup-name.ts';
import { readRestoreState } from '../features/backups/restore-state.ts';
import {
  finishRestore, makeRoom, openRestored, rejectRestored, removeStaged, swapRestored, undoRestore,
} from '../features/backups/restore-steps.ts';
import { backupLock, takeFileLock } from '../features/hub/data-locks.ts';
import { readOwnMigrations } from '../features/hub/own-migrations.ts';
import type { Config } from '../features/hub/read-config.ts';
import { isoTime, SECOND } from '../platform/clock.ts';
import { type Db, isStorageTrouble, openDatabase } from '../platform/db/open-database.ts';
import { grantedName, writtenPath } from '../platform/files/granted-name.ts';
import { byteSize, plural } from '../platform/in-words.ts';
import { type Command, type CommandContext, type ExitCode, UsageError, showProgress } from './command.ts';

type RestoreStep = (context: CommandContext, folder: string, called?: string) => Promise<void>;

const STEPS = new Map<string, RestoreStep>([
  ['begin', whileLocked(begin)], ['swap', whileLocked(swap)],
  ['open', whileLocked(async ({ config }) => void await openRestored(config.dataDir))],
  ['finish', whileLocked(finish)], ['reject', whileLocked(({ config }) => rejectRestored(config.dataDir))],
  ['undo', whileLocked(undo)], ['state', state],
]);

/** Steps of a restore that free reserved space before anything else, so that they work on a full disk. */
const ENDING = ['finish', 'reject', 'undo'];

/** The steps of scripts/restore.sh, which stops and starts the hub between them. Interrupted steps can be repeated. */
export const restoreCommand: Command = {
  options: {},

  async run([step = '', folder = '', called, ...rest], _values, context): Promise<ExitCode> {
    const work = STEPS.get(step);
    if (!work || rest.length > 0 || (step === 'begin') !== (folder !== '')) {
      throw new UsageError('expected begin <backup_dir> [<name>], swap, open, finish, reject, undo or state');
    }
    try {
      if (ENDING.includes(step)) await makeRoom(context.config.dataDir);
      await work(context, folder, called);
      return 0;
    } catch (error) {
      if (!(error instanceof BackupError || error instanceof BackupBusy)) throw error;
      context.err(`restore: ${error.message}\n`);
      return error instanceof BackupBusy ? 75 : 1;
    }
  },
};

function whileLocked(work: RestoreStep): RestoreStep {
  return (context, ...operands) => locked(context, () => work(context, ...operands));
}

async function locked(context: CommandContext, work: () => Promise<void>): Promise<void> {
  mkdirSync(join(context.config.dataDir, 'run'), { recursive: true, mode: 0o700 });
  const lock = takeFileLock(backupLock(context.config.dataDir));
  if (!lock) throw new BackupBusy('a backup is running');
  try {
    await work();
  } finally {
    lock.release();
  }
}

async function begin(context: CommandContext, folder: string, called?: string): Promise<void> {
  const { env, config, out } = context;
  if (env['CONFIRM_RESTORE'] !== 'YES') throw new UsageError('CONFIRM_RESTORE must be YES');
  // Both load much of the hub, which no other step needs: each step is a program of its own.
  const { kindsToRunAgain } = await import('../app/job-kinds.ts');
  const { beginRestore } = await import('../features/backups/begin-restore.ts');
  const { end, ...progress } = showProgress(context, 'restore', 'all');
  const { verification, settled, migrated, state: { id } } = await beginRestore({
    dataDir: config.dataDir,
    backup: grantedName(resolve(folder)),
    called,
    migrations: readOwnMigrations(config.migrationsDir),
    clock: Date.now,
    ...progress,
    keptFree: env['KEEP_DISK_RESERVE'] === 'YES' ? reserveIn(config.dataDir, config) : 0,
    runAgain: kindsToRunAgain(),
  }).finally(end);
  const { createdAt, counts, absent } = verification;
  out(`restoring ${verification.name}, made ${createdAt === null ? 'at an unknown time' : isoTime(createdAt)}\n`);
  if (counts) {
    const { accounts, sources, posts, attachments, uploadBytes } = counts;
    out(`  ${plural(accounts, 'account')}, ${plural(sources, 'source')}, ${plural(posts, 'post')}, ` +
      `${plural(attachments, 'attachment')} (${byteSize(uploadBytes, 1)})\n`);
  }
  if (absent.length > 0) out(`  WITHOUT ${plural(absent.length, 'file')} that the hub had lost before the backup\n`);
  if (migrated > 0) out(`  ${plural(migrated, 'migration')} applied\n`);
  const { sessions, jobs } = settled;
  out(`  ${plural(sessions, 'session')} ended; ${plural(jobs, 'job')} discarded, which may already have run\n`);
  out(`  staged in .restore-${id}\n`);
}

async function swap({ config, out }: CommandContext): Promise<void> {
  const { id, old } = await swapRestored(config.dataDir);
  const kept = writtenPath(join(config.dataDir, `pre-restore-${id}`));
  const moved = old.length > 0 ? `previous data moved to ${kept}; ` : '';
  out(`${moved}restored data in place\n`);
}

async function finish({ config, out }: CommandContext): Promise<void> {
  const { state: { backup }, kept } = await finishRestore(config.dataDir);
  out(`RESTORED ${backup}\n`);
  if (kept !== null) {
    out(`the previous data is in ${writtenPath(kept)}; remove that folder when you no longer need it\n`);
  }
  if (config.backupResticRepository === null) return;
  out('this hub now has a new id in the restic repository and removes no older backups there; ' +
    'if it replaces the hub that sent them, run ./scripts/hubctl offsite adopt; if not, run ' +
    './scripts/hubctl offsite adopt --no\n');
}

async function undo({ config, out }: CommandContext): Promise<void> {
  const { phase, old } = await undoRestore(config.dataDir);
  const previous = old.length > 0 ? 'the previous data is in place again' : 'there is no data, as before the restore';
  out(`ROLLED BACK: ${phase === 'staged' ? 'nothing had been changed' : previous}\n`);
}

/** Prints the phase of the restore. Without a restore, prints "none" and removes what interrupted restores left. */
async function state(context: CommandContext): Promise<void> {
  const { dataDir } = context.config;
  if (readRestoreState(dataDir)) {
    requireNoStepInHand(dataDir);
  } else {
    await locked(context, async () => {
      if (!readRestoreState(dataDir)) await removeStaged(dataDir);
    });
  }
  context.out(`${readRestoreState(dataDir)?.phase ?? 'none'}\n`);
}

/**
 * Throws BackupBusy while a process of a killed restore.sh still holds the backup lock. If a full disk has no room for
 * the lock file, does nothing: the restore frees reserved disk space and then takes the lock itself.
 */
function requireNoStepInHand(dataDir: string): void {
  try {
    const lock = takeFileLock(backupLock(dataDir));
    if (!lock) throw new BackupBusy('a step of the restore is still running');
    lock.release();
  } catch (error) {
    if (!isStorageTrouble(error)) throw error;
  }
}

const PATIENCE = 60 * SECOND; // how long one reply of the hub may take
const FILES_TO_TRY = 1_000; // rehearsing a restore tries this many uploads, because files may be missing

export const rehearseCommand: Command = {
  options: {},

  async run([address, ...rest], _values, { config, out, err }) {
    if (!address || rest.length > 0) throw new UsageError('the address of the hub is missing');
    const problem = await askForEverything(address, config, (line) => out(`  ${line}\n`));
    if (problem === null) return 0;
    err(`rehearse: ${problem}\n`);
    return 1;
  },
};

async function askForEverything(address: string, config: Config, tell: (line: string) => void): Promise<string | null> {
  const { problem: unready } = await askReadiness(address, AbortSignal.timeout(PATIENCE));
  if (unready !== null) return unready;
  tell('health       ready');
  const page = await ask(`${address}/`, { accept: 'text/html' });
  if (page.status !== 200 || !page.body.includes('</html>')) return `the timeline answered ${page.status}`;
  tell(`page         the timeline, ${byteSize(page.body.length, 1)}`);
  const found = pickFile(config);
  if (!found) {
    tell('attachment   this backup has no uploaded file');
    return null;
  }
  const { file, token } = found;
  const { filename, sha256 } = file;
  const path = servedPath(file);
  const { status, body } = await ask(address + path, { authorization: `Bearer ${token}` });
  if (status !== 200) return `${path} answered ${status}`;
  if (createHash('sha256').update(body).digest('hex') !== sha256) return `${path} differs from what was uploaded`;
  tell(`attachment   ${JSON.stringify(filename)}, ${byteSize(body.length, 1)}, SHA-256 equal`);
  return null;
}

async function ask(url: string, headers: Record<string, string>): Promise<{ status: number; body: Buffer }> {
  const response = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(PATIENCE) });
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
}

function pickFile({ databasePath, dataDir }: Config) {
  const db: Db = openDatabase(databasePath);
  try {
    const files = largestUploads({ db }, FILES_TO_TRY);
    const hub = { db, clock: Date.now };
    const file = files.find(({ ownerId, sha256 }) =>
      existsSync(join(dataDir, uploadPath(sha256))) && accounts(hub).find(ownerId)?.disabledAt === null);
    return file && { file, token: apiTokens(hub).create(file.ownerId, 'rehearsal', 'read', null).token };
  } finally {
    db.close();
  }
}
