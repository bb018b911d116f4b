import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { BackupBusy, BackupError, timeOfBackup } from '../features/backups/backup-name.ts';
import { noteRun, type Run } from '../features/backups/backup-status.ts';
import { type MadeBackup, makeBackup } from '../features/backups/make-backup.ts';
import type { AbsentUpload, Counts } from '../features/backups/manifest.ts';
import { DESTINATIONS, noteOffsite } from '../features/backups/offsite-status.ts';
import { type Verification, verifyBackup } from '../features/backups/verify-backup.ts';
import { lockForVerifying } from '../features/hub/data-locks.ts';
import { type Config, ConfigError, PROJECT_ROOT } from '../features/hub/read-config.ts';
import { DAY, HOUR, isoTime, MINUTE, SECOND } from '../platform/clock.ts';
import { readMigrations } from '../platform/db/migration-files.ts';
import { codeOf, messageOf } from '../platform/error-code.ts';
import { byteSize } from '../platform/http/html.ts';
import { excerpt } from '../platform/markup/tidy-text.ts';
import { type Command, type CommandContext, type ExitCode, UsageError, type Values } from './command.ts';

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
      const seconds = secondsSince(began);
      await note(context, { ...runOf(made.verification), seconds, problem: whatIsWrong(made.verification) });
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

/** A verification as the hub remembers it. */
function runOf(verification: Verification): Run {
  const { name, verdict, verifiedAt: at, seconds, problem } = verification;
  return { name, at, ok: verdict === 'verified', verdict, bytes: bytesOf(verification), seconds, problem };
}

function bytesOf({ databaseBytes, archiveBytes }: Verification): number | null {
  return databaseBytes === null || archiveBytes === null ? null : databaseBytes + archiveBytes;
}

function whatIsWrong({ absent, defects }: Verification): string | null {
  const lost = absent.length > 0 ? [`missing or damaged uploads: ${absent.length}`] : [];
  return [...lost, ...defects].join('; ') || null;
}

/** Records the run for the hub's health. A failure to record it does not change the result. */
async function note({ config, err }: CommandContext, run: Run): Promise<void> {
  try {
    await noteRun(config.dataDir, 'backup', run, process.pid);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return; // there is no hub at all
    err(`backup: the result could not be recorded in DATA_DIR/run: ${messageOf(error)}\n`);
  }
}

function tell(made: MadeBackup, began: number, values: Values, { out, err, isTerminal }: CommandContext): ExitCode {
  const { name, path, verification, retention } = made;
  const { verdict, absent, defects } = verification;
  if (isTerminal) err('\r\x1b[K');
  for (const problem of retention.problems) err(`backup: ${problem}\n`);
  for (const removed of retention.removed) err(`backup: removed ${removed}\n`);
  if (verdict === 'degraded') err(`backup: ${name} is DEGRADED: the hub itself has missing or damaged data\n`);
  for (const defect of defects) err(`backup: ${defect}\n`);
  for (const line of listed(absent)) err(`backup: ${line}\n`);
  const result = { result: verdict, name, bytes: bytesOf(verification), seconds: secondsSince(began),
    removed: retention.removed.length, dir: path };
  out(values['json'] ? `${JSON.stringify({ ...result, absent, defects, ...retention })}\n` : `${inOneLine(result)}\n`);
  return verdict === 'verified' ? 0 : 1;
}

/** `key=value …`; the folder comes last, because a path may contain spaces. */
function inOneLine(fields: Record<string, string | number | null>): string {
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

/** Verifies a backup and prints a report. Needs neither a hub nor its configuration; another account may run it. */
export const verifyCommand: Command = {
  options: { json: { type: 'boolean' } },
  operands: 1,

  async run([folder], { json }, context) {
    if (!folder) throw new UsageError('the folder of the backup is missing');
    const dataDir = dataDirOf(folder, context);
    // Another user may read, and no more: then it is verified without a lock, and without a note for the hub.
    const lock = dataDir === null ? undefined : await lockForVerifying(dataDir).catch(() => undefined);
    const migrations = readMigrations(join(PROJECT_ROOT, 'migrations'));
    const verification = await verifyBackup(folder, { migrations, clock: Date.now });
    // The retention may have removed the backup before the lock was taken; that is not a failed verification.
    if (dataDir !== null && existsSync(folder)) {
      await noteRun(dataDir, 'verification', runOf(verification), process.pid).catch(() => {});
    }
    lock?.release();
    context.out(json ? `${JSON.stringify(verification)}\n` : formatReport(verification));
    return verification.verdict === 'verified' ? 0 : 1;
  },
};

/** Records how sending copies to a destination ended. The problem comes on standard input. */
export const offsiteNoteCommand: Command = {
  options: { name: { type: 'string' }, bytes: { type: 'string' }, seconds: { type: 'string' },
    unsent: { type: 'string' } },
  operands: 2,

  async run([destination, result], { name, bytes, seconds, unsent }, { config }): Promise<ExitCode> {
    const known = DESTINATIONS.find((one) => one === destination);
    const ok = result === 'ok';
    if (known === undefined || (!ok && result !== 'failed')) throw new UsageError('which destination, and how was it?');
    const text = (value: Values[string]): string | null => value === undefined ? null : String(value);
    await noteOffsite(config, known, {
      name: text(name), at: Date.now(), ok, bytes: bytes === undefined ? null : Number(bytes),
      seconds: Number(seconds ?? 0), unsent: text(unsent),
      problem: ok ? null : excerpt(readFileSync(0, 'utf8').trim(), LONGEST_PROBLEM),
    }, process.pid);
    return 0;
  },
};

/**
 * DATA_DIR if the folder is one of its backups, whose verification the hub records; else null. Also null for another
 * account: a file that root wrote there would be inaccessible to the hub.
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

const LISTED = 20;

const LONGEST_PROBLEM = 500; // characters

/** One line for each of the first files that are missing from the backup. */
export function listed(absent: AbsentUpload[]): string[] {
  const lines = absent.slice(0, LISTED).map(({ sha256, why }) => `uploads/${sha256.slice(0, 2)}/${sha256} is ${why}`);
  return absent.length > LISTED ? [...lines, `… and ${absent.length - LISTED} more`] : lines;
}

/** The report of a verification, as plain text. Its last line is the verdict. */
function formatReport(verification: Verification): string {
  const { folder, name, defects, absent, notes } = verification;
  const lines = [
    `Backup ${name} (${folder})`,
    ...facts(verification).map(([label, value]) => `  ${label.padEnd(13)}${value}`),
    ...notes.map((text) => `  note: ${text}`),
    ...[...listed(absent), ...defects].map((text) => `  defect: ${text}`),
    verdictLine(verification),
  ];
  return `${lines.join('\n')}\n`;
}

function facts(verification: Verification): [label: string, value: string][] {
  const { createdAt, version, verifiedAt, counts, databaseBytes, archiveBytes, schemaVersion, schema } = verification;
  const lines: [string, string | null][] = [
    ['made', createdAt === null ? null : `${inUtc(createdAt)}, ${age(verifiedAt - createdAt)} ago` +
      (version === null ? '' : `, by version ${version}`)],
    ['database', databaseBytes === null ? null : byteSize(databaseBytes, 1) +
      (schemaVersion === null ? '' : `, schema ${schemaVersion}${SCHEMAS[schema ?? 'same']}`)],
    ['content', counts && `${count(counts.accounts, 'account')} (${count(counts.admins, 'administrator')}), ` +
      `${count(counts.sources, 'source')}, ${count(counts.posts, 'post')}`],
    ['attachments', counts && attachments(counts, verification)],
    ['archive', archiveBytes === null ? null : byteSize(archiveBytes, 1)],
    ['verified', `${inUtc(verifiedAt)}, in ${verification.seconds.toFixed(1)} s`],
  ];
  return lines.filter((line): line is [string, string] => line[1] !== null);
}

const SCHEMAS = {
  same: '',
  older: ' (older than this program)',
  newer: ' (newer than this program)',
  foreign: ' (unknown to this program)',
};

function attachments(counts: Counts, { verdict, absent }: Verification): string {
  const files = count(counts.uploads, 'file');
  const about = `${count(counts.attachments, 'attachment')} in ${files}, ${byteSize(counts.uploadBytes, 1)}`;
  if (verdict === 'failed') return about;
  const state = absent.length === 0 ? 'all present, sizes and SHA-256 match' : `${count(absent.length, 'file')} ABSENT`;
  return `${about}: ${state}`;
}

function verdictLine({ verdict, problem, schema, absent, defects }: Verification): string {
  if (verdict === 'failed') return `FAILED: ${problem}. Do not restore this backup.`;
  if (verdict === 'degraded') {
    return `DEGRADED: the backup is intact, but the hub itself had lost data (${absent.length} files absent, ` +
      `${defects.length} other defects).`;
  }
  const isKnown = schema === 'same' || schema === 'older';
  return isKnown ? 'VERIFIED: this backup can be restored.' : 'VERIFIED, but this program cannot restore it.';
}

function inUtc(at: number): string {
  return `${isoTime(at).slice(0, 19).replace('T', ' ')} UTC`;
}

function age(ms: number): string {
  for (const [unit, noun] of [[DAY, 'day'], [HOUR, 'hour'], [MINUTE, 'minute']] as const) {
    if (ms >= 2 * unit) return count(Math.floor(ms / unit), noun);
  }
  return count(Math.max(0, Math.floor(ms / SECOND)), 'second');
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
}
