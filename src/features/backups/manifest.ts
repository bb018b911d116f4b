import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { WrittenFile } from '../../platform/archive/gzip-file.ts';
import { isoTime } from '../../platform/clock.ts';
import type { UploadCounts } from '../attachments/attachment-store.ts';
import { ARCHIVE, DATABASE, SUMS } from './backup-folder.ts';
import { BackupError } from './backup-name.ts';

export type Counts = { accounts: number; admins: number; sources: number; posts: number } & UploadCounts;

type Hashes = { database: string; archive: string | null }; // SHA-256, hex; an interim backup has no archive

export type AbsentUpload = { sha256: string; why: 'missing' | 'damaged' | 'unreadable' };

type Facts = {
  createdAt: number; // unix ms, when the snapshot of the database was made
  version: string;
  schemaVersion: number;
  counts: Counts;
  absent: AbsentUpload[];
};

/** `facts`: null if SHA256SUMS has no facts, because the program sha256sum wrote the file. */
export type Manifest = { hashes: Hashes; facts: Facts | null };

const TITLE = '# Content Hub backup';
const HASH_LINE = /^([0-9a-f]{64})  (.+)$/;
const COUNTS: (keyof Counts)[] = ['accounts', 'admins', 'sources', 'posts', 'attachments', 'uploads', 'uploadBytes'];

/**
 * The text of SHA256SUMS, with facts about the backup as comments, which `sha256sum --check --strict` ignores. The last
 * comment is the hash of all other lines.
 */
export function formatManifest({ createdAt, version, schemaVersion, counts, absent }: Facts, hashes: Hashes): string {
  const comments = [
    TITLE,
    `# created ${isoTime(createdAt)}`,
    `# version ${version}`,
    `# schema ${schemaVersion}`,
    ...COUNTS.map((key) => `# ${key} ${counts[key]}`),
    ...absent.map(({ sha256, why }) => `# absent ${sha256} ${why}`),
  ];
  const lines = [`${hashes.database}  ${DATABASE}`];
  if (hashes.archive !== null) lines.push(`${hashes.archive}  ${ARCHIVE}`);
  return `${[...comments, `# lines ${hashOf([...comments, ...lines])}`, ...lines].join('\n')}\n`;
}

/** Parses the text of SHA256SUMS, also one without any comments. Throws BackupError if it is damaged or incomplete. */
export function parseManifest(text: string): Manifest {
  if (!text.endsWith('\n')) throw new BackupError('SHA256SUMS is cut off or empty');
  const lines = text.slice(0, -1).split('\n');
  const comments = lines.filter((line) => line.startsWith('#'));
  return {
    hashes: parseHashes(lines.filter((line) => !line.startsWith('#'))),
    facts: comments.length === 0 ? null : parseFacts(comments, lines),
  };
}

function parseHashes(lines: string[]): Hashes {
  const hashes = new Map<string, string>();
  for (const line of lines) {
    const [, hash, name] = HASH_LINE.exec(line) ?? [];
    if (!hash || !name) throw new BackupError(`SHA256SUMS has the line ${quotedLine(line)}, not a hash of a file`);
    if (name !== DATABASE && name !== ARCHIVE) throw new BackupError(`SHA256SUMS names ${quotedLine(name)}`);
    if (hashes.has(name)) throw new BackupError(`SHA256SUMS names ${name} twice`);
    hashes.set(name, hash);
  }
  const database = hashes.get(DATABASE);
  if (!database) throw new BackupError(`SHA256SUMS has no hash of ${DATABASE}`);
  return { database, archive: hashes.get(ARCHIVE) ?? null };
}

function parseFacts(comments: string[], lines: string[]): Facts {
  const values = new Map<string, string>();
  const absent: AbsentUpload[] = [];
  for (const comment of comments) {
    const [, key = '', value = ''] = /^# ([A-Za-z]+) (.*)$/.exec(comment) ?? [];
    if (key === 'absent') absent.push(parseAbsent(value));
    else if (values.has(key)) throw new BackupError(`SHA256SUMS says ${key} twice`);
    else if (key !== '' && comment !== TITLE) values.set(key, value);
  }
  const hash = hashOf(lines.filter((line) => !line.startsWith('# lines ')));
  if (values.get('lines') !== hash) throw new BackupError('SHA256SUMS is damaged: the hash of its lines is wrong');
  const whole = (key: string): number => parseWhole(key, values.get(key));
  return {
    createdAt: parseTime(values.get('created')),
    version: values.get('version') ?? '',
    schemaVersion: whole('schema'),
    counts: Object.fromEntries(COUNTS.map((key) => [key, whole(key)])) as Counts,
    absent,
  };
}

function hashOf(lines: string[]): string {
  return createHash('sha256').update(lines.join('\n')).digest('hex');
}

function parseAbsent(value: string): AbsentUpload {
  const [, sha256, why] = /^([0-9a-f]{64}) (missing|damaged|unreadable)$/.exec(value) ?? [];
  if (sha256 && why) return { sha256, why: why as AbsentUpload['why'] };
  throw new BackupError('SHA256SUMS has a malformed line for an absent file');
}

function parseWhole(key: string, value: string | undefined): number {
  if (value !== undefined && /^\d{1,15}$/.test(value)) return Number(value);
  throw new BackupError(`SHA256SUMS has no valid value for "${key}"`);
}

function parseTime(value: string | undefined): number {
  const at = Date.parse(value ?? '');
  if (!Number.isNaN(at) && isoTime(at) === value) return at;
  throw new BackupError('SHA256SUMS does not record when the backup was made');
}

function quotedLine(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}

const PIECE = 1_024 * 1_024; // bytes

/** The flags for opening a file to read, so that opening follows no symbolic link and does not wait for a pipe. */
export const READ_PLAIN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens a file for reading. Refuses symbolic links, pipes and devices. */
export async function openPlainFile(path: string): Promise<FileHandle> {
  const file = await open(path, READ_PLAIN);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new BackupError(`${basename(path)} is not a plain file`);
}

const MAX_SUMS = 64 * 1_024 * 1_024; // bytes: enough for a line for each of half a million lost files

export async function readManifest(folder: string): Promise<Manifest> {
  const file = await openPlainFile(join(folder, SUMS));
  try {
    if ((await file.stat()).size > MAX_SUMS) throw new BackupError(`${SUMS} is too large`);
    return parseManifest(await file.readFile('utf8'));
  } finally {
    await file.close();
  }
}

/** Refuses symbolic links, pipes and devices. */
export async function hashFile(
  path: string, signal?: AbortSignal, onBytes?: (bytes: number) => void,
): Promise<WrittenFile> {
  const file = await openPlainFile(path);
  try {
    const hash = createHash('sha256');
    const buffer = Buffer.allocUnsafe(PIECE);
    let bytes = 0;
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, PIECE, null);
      if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') };
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
      onBytes?.(bytesRead);
    }
  } finally {
    await file.close();
  }
}
