import { constants } from 'node:os';
import { BackupBusy, BackupError } from '../features/backups/backup-name.ts';
import { INTERIM_HOURS, type InterimRun, readKept, type RunResult } from '../features/backups/backup-status.ts';
import { type MadeBackup, makeBackup } from '../features/backups/make-backup.ts';
import { makeInterim } from '../features/backups/make-interim.ts';
import type { Config } from '../features/hub/read-config.ts';
import { readMigrations } from '../platform/db/migration-files.ts';
import { codeOf, messageOf } from '../platform/error-code.ts';
import { writtenPath } from '../platform/files/granted-name.ts';
import { type Command, type CommandContext, type ExitCode, UsageError, type Values, showProgress } from './command.ts';
import { absentLines, backupBytes, noteLocalRun, runOf } from './verify.ts';

const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

export const backupCommand: Command = {
  options: {
    json: { type: 'boolean' }, interim: { type: 'boolean' }, every: { type: 'string' }, unattended: { type: 'boolean' },
  },

  async run(args, values, context) {
    if (args.length > 0) return (await import('./read-backup.ts')).readBackup(args, context);
    requireHours(values);
    const { config } = context;
    const stopped = new AbortController();
    const stop = (signal: NodeJS.Signals): void => stopped.abort(new Stopped(signal));
    for (const signal of SIGNALS) process.on(signal, stop);
    const began = Date.now();
    const progress = showProgress(context, 'backup', 'steps');
    try {
      const make = values['interim'] ? makeInterim : makeBackup;
      const isUnattended = values['unattended'] === true;
      const made = await make({ ...optionsOf(config), ...progress, isUnattended, signal: stopped.signal });
      const seconds = secondsSince(began);
      progress.end();
      if (!made) return printSkipped(values, context);
      await note(context, values, { ...runOf(made.verification), seconds });
      return printResult(made, began, values, context);
    } catch (error) {
      progress.end();
      return await fail(error, began, values, context);
    } finally {
      for (const signal of SIGNALS) process.off(signal, stop);
    }
  },
};

function requireHours({ interim, every }: Values): void {
  if (every === undefined || (interim && INTERIM_HOURS.map(String).includes(String(every)))) return;
  throw new UsageError(`expected --interim, and with --every one of ${INTERIM_HOURS.join(', ')}`);
}

function printSkipped(values: Values, { out, err }: CommandContext): ExitCode {
  err('backup: no interim backup was made: there is a nightly backup of the last 50 minutes\n');
  out(values['json'] ? `${JSON.stringify({ result: 'skipped' })}\n` : 'result=skipped\n');
  return 0;
}

class Stopped extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}; the unfinished backup was removed`);
    this.signal = signal;
  }
}

function optionsOf(config: Config) {
  const { dataDir, backupDir, databasePath, version, diskReserveBytes, backupRetentionDays: retentionDays } = config;
  return {
    dataDir, backupDir, databasePath, version, diskReserveBytes, retentionDays,
    migrations: readMigrations(config.migrationsDir),
    clock: Date.now,
  };
}

/** Records a backup's result for the hub's health. If the result cannot be recorded, the exit status stays. */
async function note({ config, err }: CommandContext, { interim, every }: Values, run: RunResult): Promise<void> {
  try {
    if (!interim) return await noteLocalRun(config, 'backup', run);
    const known = readKept<InterimRun>(config.dataDir, 'interim').last?.everyHours ?? null;
    const everyHours = every === undefined ? known : Number(every);
    await noteLocalRun(config, 'interim', { ...run, everyHours });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return; // DATA_DIR holds no hub
    err(`backup: the result could not be recorded in DATA_DIR/run: ${messageOf(error)}\n`);
  }
}

function printResult(made: MadeBackup, began: number, values: Values, { out, err }: CommandContext): ExitCode {
  const { name, path, verification, retention } = made;
  const { verdict, absent, defects } = verification;
  for (const problem of retention.problems) err(`backup: ${problem}\n`);
  for (const removed of retention.removed) err(`backup: removed ${removed}\n`);
  if (verdict === 'degraded') err(`backup: ${name} is DEGRADED: the hub itself has missing or damaged data\n`);
  for (const defect of defects) err(`backup: ${defect}\n`);
  for (const line of absentLines(absent)) err(`backup: ${line}\n`);
  // The path `dir` comes last in the line of key=value pairs, because a path may contain spaces.
  const result = { result: verdict, name, bytes: backupBytes(verification), seconds: secondsSince(began),
    removed: retention.removed.length, dir: writtenPath(path) };
  const inOneLine = Object.entries(result).map(([key, value]) => `${key}=${value}`).join(' ');
  out(values['json'] ? `${JSON.stringify({ ...result, absent, defects, ...retention })}\n` : `${inOneLine}\n`);
  return verdict === 'verified' ? 0 : 1;
}

async function fail(error: unknown, began: number, values: Values, context: CommandContext): Promise<ExitCode> {
  const { out, err } = context;
  const isBusy = error instanceof BackupBusy;
  const problem = messageOf(error);
  err(`backup: ${isBusy ? 'BUSY' : 'FAILED'}: ${problem}\n`);
  if (!isBusy) {
    await note(context, values, { name: null, at: Date.now(), ok: false, verdict: 'failed', bytes: null,
      seconds: secondsSince(began), problem });
  }
  const result = isBusy ? 'busy' : 'failed';
  out(values['json'] ? `${JSON.stringify({ result, problem })}\n` : `result=${result}\n`);
  if (isBusy) return 75;
  if (error instanceof Stopped) return (128 + constants.signals[error.signal]) as ExitCode;
  if (error instanceof BackupError || codeOf(error) !== undefined) return 1;
  throw error;
}

function secondsSince(began: number): number {
  return Math.max(0, Date.now() - began) / 1_000;
}
