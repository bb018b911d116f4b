import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { timeOfBackup } from '../features/backups/backup-folder.ts';
import { noteRun } from '../features/backups/backup-status.ts';
import type { AbsentUpload } from '../features/backups/manifest.ts';
import { verifyBackup, type Verification } from '../features/backups/verify-backup.ts';
import { lockForVerifying, type FileLock } from '../features/hub/data-locks.ts';
import { ConfigError, PROJECT_ROOT } from '../features/hub/read-config.ts';
import { DAY, HOUR, isoTime, MINUTE, SECOND } from '../platform/clock.ts';
import { readMigrations } from '../platform/db/migration-files.ts';
import { codeOf } from '../platform/error-code.ts';
import { byteSize } from '../platform/http/html.ts';
import { UsageError, type Command, type CommandContext } from './command.ts';

/** Reports on a backup. Needs neither a hub nor its configuration, and may be run by another user. */
export const verifyCommand: Command = {
  options: { json: { type: 'boolean' } },
  operands: 1,

  async run([folder], { json }, context) {
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

const LISTED = 20;

/** One line for each of the first files that could not be saved. */
export function listed(absent: AbsentUpload[]): string[] {
  const lines = absent.slice(0, LISTED).map(({ sha256, why }) => `uploads/${sha256.slice(0, 2)}/${sha256} is ${why}`);
  return absent.length > LISTED ? [...lines, `… and ${absent.length - LISTED} more`] : lines;
}

/** The report of a verification, to be read in a log every morning. Its last line is the verdict. */
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
    ['attachments', counts && attachments(verification)],
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

function attachments({ counts, verdict, absent }: Verification): string {
  if (!counts) return '';
  const files = count(counts.uploads, 'file');
  const about = `${count(counts.attachments, 'attachment')} in ${files}, ${byteSize(counts.uploadBytes, 1)}`;
  if (verdict === 'failed') return about;
  const state = absent.length === 0 ? 'all present, size and SHA-256 equal' : `${count(absent.length, 'file')} ABSENT`;
  return `${about}: ${state}`;
}

function verdictLine({ verdict, problem, schema, absent, defects }: Verification): string {
  if (verdict === 'failed') return `FAILED: ${problem}. Do not restore this backup.`;
  if (verdict === 'degraded') {
    return `DEGRADED: intact since it was made, but the hub itself was incomplete (${absent.length} files absent, ` +
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
