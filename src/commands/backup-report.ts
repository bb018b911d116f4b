import type { AbsentUpload } from '../features/backups/manifest.ts';
import type { Verification } from '../features/backups/verify-backup.ts';
import { DAY, HOUR, isoTime, MINUTE, SECOND } from '../platform/clock.ts';
import { byteSize } from '../platform/http/readable.ts';

const LISTED = 20;

/** One line for each of the first files that could not be saved. */
export function listed(absent: AbsentUpload[]): string[] {
  const lines = absent.slice(0, LISTED).map(({ sha256, why }) => `uploads/${sha256.slice(0, 2)}/${sha256} is ${why}`);
  return absent.length > LISTED ? [...lines, `… and ${absent.length - LISTED} more`] : lines;
}

/** The report of a verification, to be read in a log every morning. Its last line is the verdict. */
export function formatReport(verification: Verification): string {
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
