import { lstat, readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import type { Migration } from '../../platform/db/migration-files.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { codeOf } from '../../platform/error-code.ts';
import { writtenPath } from '../../platform/files/granted-name.ts';
import { uploadPath } from '../attachments/upload-files.ts';
import { ARCHIVE, DATABASE, SUMS } from './backup-folder.ts';
import { BackupError, timeOfBackup, timeOfInterim } from './backup-name.ts';
import type { Verdict } from './backup-status.ts';
import { hashFile, readManifest, type AbsentUpload, type Counts, type Manifest } from './manifest.ts';
import { checkDatabase, type DatabaseFacts, readSnapshot, withSnapshot } from './snapshot-store.ts';
import { checkUploads } from './upload-folder.ts';

export type Verification = {
  folder: string;
  name: string;
  verdict: Verdict;
  problem: string | null;
  defects: string[];
  notes: string[];
  absent: AbsentUpload[];
  createdAt: number | null; // unix ms
  version: string | null;
  schemaVersion: number | null;
  schema: DatabaseFacts['schema'] | null;
  counts: Counts | null;
  isInterim: boolean; // the folder has the files of an interim backup
  databaseBytes: number | null;
  archiveBytes: number | null; // the size of the archive; in an interim backup, the size of all uploads
  verifiedAt: number; // unix ms, end of the verification
  seconds: number;
};

type VerifyOptions = {
  migrations: Migration[];
  clock: Clock;
  signal?: AbortSignal;
  onStep?: (what: string) => void;
  onProgress?: ((done: number, total: number) => void) | undefined; // bytes read, of the database or of the uploads
};

const FILES = [SUMS, DATABASE, ARCHIVE];
const UPLOADS = 'uploads';
const INTERIM_FILES = [SUMS, DATABASE, UPLOADS];

/** Writes nothing, takes no lock, needs no hub. Rejects only if `signal` aborts; damage is part of the result. */
export async function verifyBackup(folder: string, options: VerifyOptions): Promise<Verification> {
  const began = options.clock();
  const found: Partial<Verification> = {};
  const problem = await examine(resolve(folder), options, found).then(() => null, (error: unknown) => {
    options.signal?.throwIfAborted();
    return explain(error);
  });
  const verifiedAt = options.clock();
  const flaws = (found.defects?.length ?? 0) + (found.absent?.length ?? 0);
  const verdict = problem !== null ? 'failed' : flaws > 0 ? 'degraded' : 'verified';
  return {
    ...NOTHING, ...found, folder: writtenPath(resolve(folder)), name: basename(resolve(folder)) || folder, problem,
    verdict, verifiedAt, seconds: Math.max(0, verifiedAt - began) / 1_000,
  };
}

const NOTHING = {
  defects: [], notes: [], absent: [], createdAt: null, version: null, schemaVersion: null, schema: null, counts: null,
  databaseBytes: null, archiveBytes: null, isInterim: false,
};

async function examine(folder: string, options: VerifyOptions, found: Partial<Verification>): Promise<void> {
  const { migrations, signal, onStep = () => {}, onProgress } = options;
  const manifest = await readWhole(folder);
  noteManifest(folder, manifest, found);

  onStep('hash of the database');
  const hashed = counting(await fileSize(folder, DATABASE), onProgress);
  const database = await hashFile(join(folder, DATABASE), signal, hashed);
  found.databaseBytes = database.bytes;
  compareHash(DATABASE, database.sha256, manifest.hashes.database);

  onStep('content of the database');
  const facts = await checkDatabase(join(folder, DATABASE), migrations);
  signal?.throwIfAborted();
  noteDatabase(facts, found);
  compareFacts(facts, manifest.facts);

  onStep('attachments');
  const absent = new Set(found.absent?.map(({ sha256 }) => sha256));
  const { archive: recorded } = manifest.hashes;
  const total = recorded === null ? facts.counts.uploadBytes : await fileSize(folder, ARCHIVE);
  const onBytes = counting(total, onProgress);
  const archive = await checkUploads(folder, { rows: facts.uploads, absent, signal, onBytes });
  found.archiveBytes = archive.bytes;
  compareHash(ARCHIVE, archive.sha256, recorded);
}

/** Reads SHA256SUMS of a folder that has exactly the files of a nightly backup or of an interim backup. */
async function readWhole(folder: string): Promise<Manifest> {
  const files = await requireFiles(folder);
  const manifest = await readManifest(folder);
  const hasHash = manifest.hashes.archive !== null;
  if (hasHash === files.includes(ARCHIVE)) return manifest;
  throw new BackupError(`SHA256SUMS ${hasHash ? 'names' : 'has no hash of'} ${ARCHIVE}`);
}

const SEE_LIST = ' (restore.sh --list shows all backups)';
const SEALED = 'backup.tar.gz.age'; // an encrypted copy of a backup consists of this file

/** Adds up the bytes that were read, and reports the sum as progress. */
export function counting(total: number, onProgress: VerifyOptions['onProgress']) {
  let done = 0;
  return (bytes: number): void => onProgress?.(done += bytes, total);
}

async function fileSize(folder: string, name: string): Promise<number> {
  return (await lstat(join(folder, name))).size;
}

/** Requires exactly the files of a backup, and returns them: a write-ahead log would change the database's content. */
async function requireFiles(folder: string): Promise<string[]> {
  const found = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') throw new BackupError(`there is no folder ${writtenPath(folder)}${SEE_LIST}`);
    if (codeOf(error) !== 'ENOTDIR') throw error;
    throw new BackupError(`${writtenPath(folder)} is not the folder of a backup${SEE_LIST}`);
  });
  if (found.includes(SEALED)) throw new BackupError('the backup is encrypted: decrypt it first, as the handbook shows');
  const files = found.includes(UPLOADS) && !found.includes(ARCHIVE) ? INTERIM_FILES : FILES;
  const missing = files.find((name) => !found.includes(name));
  if (missing) throw new BackupError(`${missing} is missing`);
  const extra = found.find((name) => !files.includes(name));
  if (extra !== undefined) throw new BackupError(`${JSON.stringify(extra)} does not belong to a backup`);
  for (const name of files) {
    const there = await lstat(join(folder, name));
    const [isRight, kind] = name === UPLOADS ? [there.isDirectory(), 'folder'] : [there.isFile(), 'plain file'];
    if (!isRight) throw new BackupError(`${name} is not a ${kind}`);
  }
  return files;
}

function noteManifest(folder: string, { facts, hashes }: Manifest, found: Partial<Verification>): void {
  const name = basename(folder);
  found.createdAt = facts?.createdAt ?? timeOfBackup(name) ?? timeOfInterim(name) ?? null;
  found.version = facts?.version ?? null;
  found.isInterim = hashes.archive === null;
  found.absent = facts?.absent ?? [];
  found.notes = facts ? [] : ['SHA256SUMS records only hashes: the numbers of rows cannot be checked'];
}

const SCHEMA_NOTES: Partial<Record<DatabaseFacts['schema'], string>> = {
  newer: 'the backup’s schema is newer than this program, which cannot restore it: use the version that made it',
  foreign: 'the backup’s schema was made by migrations that this program lacks: this program cannot restore it',
};

function noteDatabase(facts: DatabaseFacts, found: Partial<Verification>): void {
  found.schemaVersion = facts.schemaVersion;
  found.schema = facts.schema;
  found.counts = facts.counts;
  found.defects = facts.defects;
  const note = SCHEMA_NOTES[facts.schema];
  if (note) found.notes = [...(found.notes ?? []), note];
}

/** An intact but emptied database must not pass for a backup. Without recorded facts, an administrator is enough. */
function compareFacts({ schemaVersion, counts, uploads }: DatabaseFacts, recorded: Manifest['facts']): void {
  if (!recorded) {
    if (counts.admins === 0) throw new BackupError('hub.db has no administrator');
    return;
  }
  if (schemaVersion !== recorded.schemaVersion) {
    throw new BackupError(`hub.db has schema ${schemaVersion} instead of ${recorded.schemaVersion}`);
  }
  for (const key of Object.keys(recorded.counts) as (keyof Counts)[]) {
    if (counts[key] === recorded.counts[key]) continue;
    throw new BackupError(`hub.db has ${counts[key]} ${key} where ${recorded.counts[key]} were recorded`);
  }
  const known = new Set(uploads.map(({ sha256 }) => sha256));
  const unknown = recorded.absent.find(({ sha256 }) => !known.has(sha256));
  if (unknown) throw new BackupError(`SHA256SUMS calls ${unknown.sha256} absent, which hub.db does not reference`);
}

function compareHash(name: string, actual: string | null, recorded: string | null): void {
  if (actual !== recorded) throw new BackupError(`${name} does not match SHA256SUMS: its hash is ${actual}`);
}

/** A system error's message needs no name before it: it begins with its code. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = codeOf(error);
  if (code === 'ERR_ACCESS_DENIED') return 'this process may not read the folder';
  return error instanceof BackupError || code !== undefined ? error.message : `${error.name}: ${error.message}`;
}

export type OpenBackup = Manifest & { folder: string };

/** Checks which files a backup has, and the hash of its database, but not its uploads. Throws BackupError. */
export async function openBackup(path: string): Promise<OpenBackup> {
  const folder = resolve(path);
  const manifest = await readWhole(folder);
  const { sha256 } = await hashFile(join(folder, DATABASE));
  if (sha256 !== manifest.hashes.database) throw new BackupError(`${DATABASE} does not match SHA256SUMS`);
  return { ...manifest, folder };
}

export function readSaved<T>({ folder }: OpenBackup, read: (db: Db) => T): Promise<T> {
  return withSnapshot(join(folder, DATABASE), read);
}

/** Reads the uploads twice, so that no byte is passed on before the hash is verified. Throws BackupError. */
export async function extractUpload(
  { folder, facts }: OpenBackup, sha256: string, write: (chunk: Buffer) => void,
): Promise<void> {
  const { uploads: rows } = await readSnapshot(join(folder, DATABASE));
  const absent = new Map(facts?.absent.map((upload) => [upload.sha256, upload.why]));
  const why = absent.get(sha256);
  if (why) throw new BackupError(`${uploadPath(sha256)} is not in the backup: it was ${why} when the backup was made`);
  for (const to of [() => {}, write]) {
    const found = new AbortController();
    const destination = (name: string) =>
      name === uploadPath(sha256) ? { write: to, end: () => found.abort() } : undefined;
    const checking = checkUploads(folder, { rows, absent: new Set(absent.keys()), signal: found.signal, destination });
    await checking.catch((error: unknown) => {
      if (!found.signal.aborted) throw error;
    });
  }
}
