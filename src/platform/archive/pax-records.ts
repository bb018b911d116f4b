import { ArchiveError } from './archive-error.ts';
import type { TarHeader } from './tar-header.ts';

/** What says nothing about name, kind or content. */
const HARMLESS = new Set(['atime', 'comment', 'ctime', 'gid', 'gname', 'mtime', 'uid', 'uname']);

/**
 * The header as the extended records before it change it (POSIX.1-2024, pax, "pax Extended Header": each record is
 * `<length> <key>=<value>\n`). Throws ArchiveError for records that are malformed or mean anything but a plain member.
 */
export function applyPax(bytes: Buffer, header: TarHeader): TarHeader {
  const changed = { ...header };
  for (let at = 0; at < bytes.length; ) {
    const { key, value, length } = readRecord(bytes.subarray(at));
    if (key === 'path') changed.name = value;
    else if (key === 'size') changed.size = toSize(value);
    else if (!HARMLESS.has(key)) {
      throw new ArchiveError(`holds the extended record ${JSON.stringify(key.slice(0, 80))}`);
    }
    at += length;
  }
  return changed;
}

function readRecord(bytes: Buffer): { key: string; value: string; length: number } {
  const digits = /^([1-9]\d{0,5}) /.exec(bytes.toString('latin1', 0, 8))?.[1] ?? '';
  const length = Number(digits);
  const text = bytes.toString('utf8', digits.length + 1, length);
  const equals = text.indexOf('=');
  const isWhole = digits !== '' && length <= bytes.length && equals > 0 && text.endsWith('\n');
  if (!isWhole) throw new ArchiveError('holds a malformed extended record');
  return { key: text.slice(0, equals), value: text.slice(equals + 1, -1), length };
}

function toSize(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new ArchiveError('holds a member of an impossible size');
}
