import { constants } from 'node:os';
import { BackupBusy, BackupError } from '../features/backups/backup-folder.ts';
import { noteRun, type Run } from '../features/backups/backup-status.ts';
import { makeBackup, type MadeBackup } from '../features/backups/make-backup.ts';
import { readMigrations } from '../platform/db/migration-files.ts';
import { codeOf } from '../platform/error-code.ts';
import { byteSize } from '../platform/http/html.ts';
import { listed } from './verify.ts';
import type { Config } from '../features/hub/read-config.ts';
import type { Command, CommandContext, ExitCode, Values } from './command.ts';

const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/** Makes and verifies a backup. Its last line on standard output is for scripts. */
export const backupCommand: Command = {
  options: { json: { type: 'boolean' } },
  operands: 0,

  async run(_args, values, context) {
    const { config } = context;
    const stopped = new AbortController();
    const stop = (signal: NodeJS.Signals): void => stopped.abort(new Stopped(signal));
    for (const signal of SIGNALS) process.on(signal, stop);
    const began = Date.now();
    try {
      const made = await makeBackup({ ...optionsOf(config, context), signal: stopped.signal });
      await note(context, toRun(made, began));
      return tell(made, began, values, context);
    } catch (error) {
      return await fail(error, began, values, context);
    } finally {
      for (const signal of SIGNALS) process.off(signal, stop);
    }
  },
};

/** The reason of an abort: which signal asked for it. */
class Stopped extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}; the unfinished backup was removed`);
    this.signal = signal;
  }
}

function optionsOf(config: Config, { err, isTerminal }: CommandContext) {
  const { dataDir, databasePath, version, backupRetentionDays: retentionDays } = config;
  let shownAt = 0;
  return {
    dataDir, databasePath, version, retentionDays,
    migrations: readMigrations(config.migrationsDir),
    clock: Date.now,
    pid: process.pid,
    onStep: (what: string) => err(isTerminal ? `\r\x1b[Kbackup: ${what} …` : `backup: ${what}\n`),
    onProgress(done: number, total: number) {
      if (!isTerminal || Date.now() - shownAt < 200) return;
      shownAt = Date.now();
      err(`\r\x1b[Kbackup: archiving attachments, ${byteSize(done, 1)} of ${byteSize(total, 1)} …`);
    },
  };
}

function toRun({ name, verification }: MadeBackup, began: number): Run {
  const { verdict, verifiedAt } = verification;
  const ok = verdict === 'verified';
  return { name, at: verifiedAt, ok, verdict, bytes: bytesOf(verification), seconds: secondsSince(began),
    problem: ok ? null : whatIsWrong(verification) };
}

function bytesOf({ databaseBytes, archiveBytes }: MadeBackup['verification']): number {
  return (databaseBytes ?? 0) + (archiveBytes ?? 0);
}

function whatIsWrong({ absent, defects }: MadeBackup['verification']): string {
  const lost = absent.length > 0 ? [`missing or damaged uploads: ${absent.length}`] : [];
  return [...lost, ...defects].join('; ');
}

/** The result stands whether or not it could be noted for the hub. */
async function note({ config, err }: CommandContext, run: Run): Promise<void> {
  try {
    await noteRun(config.dataDir, 'backup', run, process.pid);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return; // there is no hub at all
    err(`backup: the result could not be noted in DATA_DIR/run: ${messageOf(error)}\n`);
  }
}

function tell(made: MadeBackup, began: number, values: Values, { out, err, isTerminal }: CommandContext): ExitCode {
  const { name, path, verification, retention } = made;
  const { verdict, absent, defects } = verification;
  if (isTerminal) err('\r\x1b[K');
  for (const problem of retention.problems) err(`backup: ${problem}\n`);
  for (const removed of retention.removed) err(`backup: removed ${removed}\n`);
  if (verdict === 'degraded') err(`backup: ${name} is DEGRADED: the hub itself is incomplete\n`);
  for (const defect of defects) err(`backup: ${defect}\n`);
  for (const line of listed(absent)) err(`backup: ${line}\n`);
  const result = { result: verdict, name, bytes: bytesOf(verification), seconds: secondsSince(began),
    removed: retention.removed.length, dir: path };
  out(values['json'] ? `${JSON.stringify({ ...result, absent, defects, ...retention })}\n` : `${inOneLine(result)}\n`);
  return verdict === 'verified' ? 0 : 1;
}

/** `key=value …`; the folder is last, because a path may hold spaces. */
function inOneLine(fields: Record<string, string | number>): string {
  return Object.entries(fields).map(([key, value]) => `${key}=${value}`).join(' ');
}

async function fail(error: unknown, began: number, values: Values, context: CommandContext): Promise<ExitCode> {
  const { out, err, isTerminal } = context;
  if (isTerminal) err('\r\x1b[K');
  const isBusy = error instanceof BackupBusy;
  const problem = messageOf(error);
  err(`backup: ${isBusy ? 'BUSY' : 'FAILED'}: ${problem}\n`);
  if (!isBusy) {
    await note(context, { name: null, at: Date.now(), ok: false, verdict: 'failed', bytes: null,
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
