import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { uploadPath } from '../features/attachments/upload-files.ts';
import { timeOfBackup, timeOfInterim } from '../features/backups/backup-name.ts';
import type { InterimRun, RunResult } from '../features/backups/backup-status.ts';
import type { AbsentUpload, Counts } from '../features/backups/manifest.ts';
import { noteRun, noteVerdict } from '../features/backups/note-run.ts';
import { type Verification, verifyBackup } from '../features/backups/verify-backup.ts';
import { lockForVerifying } from '../features/hub/data-locks.ts';
import { type Config, ConfigError, PROJECT_ROOT } from '../features/hub/read-config.ts';
import { readMigrations } from '../platform/db/migration-files.ts';
import { codeOf } from '../platform/error-code.ts';
import { grantedName } from '../platform/files/granted-name.ts';
import { byteSize, duration, plural, utcTime } from '../platform/in-words.ts';
import { type Command, type CommandContext, UsageError, showProgress } from './command.ts';

/** Verifies a backup and prints a report; needs no hub and no configuration, and another account may run it. */
export const verifyCommand: Command = {
  options: { json: { type: 'boolean' } },
  operands: 1,

  async run([named], { json }, context) {
    if (!named) throw new UsageError('the folder of the backup is missing');
    const folder = grantedName(resolve(named));
    const dataDir = dataDirOf(folder, context);
    // An account other than the hub's may only read the backup: then there is no lock, and no result is recorded.
    const lock = dataDir === null ? undefined : await lockForVerifying(dataDir).catch(() => undefined);
    const migrations = readMigrations(join(PROJECT_ROOT, 'migrations'));
    const progress = showProgress(context, 'verify', 'nothing');
    const verification = await verifyBackup(folder, { migrations, clock: Date.now, ...progress });
    progress.end();
    // A backup that retention removed before this process took the lock has not failed.
    if (dataDir !== null && existsSync(folder)) {
      await noteVerification(context.config, runOf(verification)).catch(() => {});
    }
    lock?.release();
    context.out(json ? `${JSON.stringify(verification)}\n` : formatReport(verification));
    return verification.verdict === 'verified' ? 0 : 1;
  },
};

/** Records the result of a backup or verification for the hub's health. */
export async function noteLocalRun(
  config: Config, kind: 'backup' | 'interim' | 'verification', run: RunResult | InterimRun,
): Promise<void> {
  await noteRun(config.dataDir, kind, run);
  await noteVerdict(config, run);
}

/** Stores the result of verifying a backup; only a nightly backup counts as the hub's last verification. */
function noteVerification(config: Config, run: RunResult): Promise<void> {
  const isInterim = timeOfInterim(run.name ?? '') !== undefined;
  return isInterim ? noteVerdict(config, run) : noteLocalRun(config, 'verification', run);
}

/** A verification in the form in which it is stored. */
export function runOf(verification: Verification): RunResult {
  const { name, verdict, verifiedAt: at, seconds } = verification;
  const problem = verification.problem ?? whatIsWrong(verification);
  return { name, at, ok: verdict === 'verified', verdict, bytes: backupBytes(verification), seconds, problem };
}

/** Bytes of a backup's database and archive, or of an interim backup's database and uploads; null if unknown. */
export function backupBytes({ databaseBytes, archiveBytes }: Verification): number | null {
  return databaseBytes === null || archiveBytes === null ? null : databaseBytes + archiveBytes;
}

const NAMED = 2;

function whatIsWrong({ absent, defects }: Verification): string | null {
  const named = absent.slice(0, NAMED).map(({ sha256 }) => uploadPath(sha256)).join(', ');
  const more = absent.length > NAMED ? ', …' : '';
  const lost = absent.length > 0 ? [`missing, damaged or unreadable uploads: ${absent.length} (${named}${more})`] : [];
  return [...lost, ...defects].join('; ') || null;
}

/**
 * Returns DATA_DIR, where the verification is recorded, if the folder is one of the hub's backups and the command runs
 * under the operating system's account of the hub; otherwise null.
 */
function dataDirOf(folder: string, context: CommandContext): string | null {
  try {
    const { dataDir, backupDir, databasePath } = context.config;
    if (statSync(databasePath).uid !== process.getuid?.()) return null;
    const path = realpathSync.native(folder);
    const [name, root] = [basename(path), realpathSync.native(backupDir)];
    const isNightly = dirname(path) === root && timeOfBackup(name) !== undefined;
    const isInterim = dirname(path) === join(root, 'interim') && timeOfInterim(name) !== undefined;
    return isNightly || isInterim ? dataDir : null;
  } catch (error) {
    if (error instanceof ConfigError || codeOf(error) !== undefined) return null;
    throw error;
  }
}

const LISTED = 20;

/** A line for each of the first LISTED missing, damaged or unreadable files, and one that counts the others. */
export function absentLines(absent: AbsentUpload[]): string[] {
  const lines = absent.slice(0, LISTED).map(({ sha256, why }) => `${uploadPath(sha256)} is ${why}`);
  return absent.length > LISTED ? [...lines, `… and ${absent.length - LISTED} more`] : lines;
}

function formatReport(verification: Verification): string {
  const { folder, name, defects, absent, notes, isInterim } = verification;
  const lines = [
    `${isInterim ? 'Interim backup' : 'Backup'} ${name} (${folder})`,
    ...facts(verification).map(([label, value]) => `  ${label.padEnd(13)}${value}`),
    ...notes.map((text) => `  note: ${text}`),
    ...[...absentLines(absent), ...defects].map((text) => `  defect: ${text}`),
    verdictLine(verification),
  ];
  return `${lines.join('\n')}\n`;
}

function facts(verification: Verification): [label: string, value: string][] {
  const {
    createdAt, version, verifiedAt, counts, databaseBytes, archiveBytes, isInterim, schemaVersion, schema,
  } = verification;
  const lines: [string, string | null][] = [
    ['made', createdAt === null ? null : `${utcTime(createdAt)}, ${duration(verifiedAt - createdAt)} ago` +
      (version === null ? '' : `, by version ${version}`)],
    ['database', databaseBytes === null ? null : byteSize(databaseBytes, 1) +
      (schemaVersion === null ? '' : `, schema ${schemaVersion}${SCHEMAS[schema ?? 'same']}`)],
    ['content', counts && `${plural(counts.accounts, 'account')} (${plural(counts.admins, 'administrator')}), ` +
      `${plural(counts.sources, 'source')}, ${plural(counts.posts, 'post')}`],
    ['attachments', counts && attachments(counts, verification)],
    ['archive', archiveBytes === null || isInterim ? null : byteSize(archiveBytes, 1)],
    [verification.verdict === 'failed' ? 'examined' : 'verified',
      databaseBytes === null ? null : `${utcTime(verifiedAt)}, in ${verification.seconds.toFixed(1)} s`],
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
  const files = plural(counts.uploads, 'file');
  const about = `${plural(counts.attachments, 'attachment')} in ${files}, ${byteSize(counts.uploadBytes, 1)}`;
  if (verdict === 'failed') return about;
  if (absent.length > 0) return `${about}: ${plural(absent.length, 'file')} ABSENT`;
  return `${about}: all present, sizes and SHA-256 match`;
}

function verdictLine({ verdict, problem, schema, absent, defects }: Verification): string {
  if (verdict === 'failed') return `FAILED: ${problem}. Do not restore this backup.`;
  if (verdict === 'degraded') {
    return `DEGRADED: the backup is intact, but the hub itself lacked data (${absent.length} files absent, ` +
      `${defects.length} other defects).`;
  }
  const isKnown = schema === 'same' || schema === 'older';
  return isKnown ? 'VERIFIED: this backup can be restored.' : 'VERIFIED, but this program cannot restore this backup.';
}
