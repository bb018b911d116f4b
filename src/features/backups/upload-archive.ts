import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ArchiveError, gunzipFile, gzipFile, type WrittenFile } from '../../platform/archive/gzip-file.ts';
import {
  packTar, unpackTar, type MemberSink, type PackedMember, type UnpackedMember,
} from '../../platform/archive/tar-file.ts';
import { codeOf } from '../../platform/error-code.ts';
import { createFile, sync } from '../../platform/files/durable-file.ts';
import { uploadPath } from '../attachments/upload-files.ts';
import type { UploadRow } from '../attachments/attachment-store.ts';
import { BackupError } from './backup-name.ts';
import { openPlainFile, READ_PLAIN, type AbsentUpload } from './manifest.ts';

type ArchiveOptions = {
  dataDir: string;
  rows: UploadRow[];
  createdAt: number; // unix ms, when the snapshot of the database was made
  path: string;
  signal: AbortSignal;
  onProgress: (bytes: number) => void; // called with the size of each uploaded file that was read
};

/** If an archived upload proves damaged, the next attempt omits it. */
const ATTEMPTS = 3;

/** Archives the uploaded files that the rows name. `absent`: those that the archive lacks, and why. */
export async function archiveUploads(options: ArchiveOptions): Promise<WrittenFile & { absent: AbsentUpload[] }> {
  const absent = new Map<string, AbsentUpload>();
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const written = new Set<string>();
    const file = await createFile(options.path);
    try {
      const result = await gzipFile(packTar(members(options, absent, written)), file, options.signal);
      await sync(file);
      const isSound = [...absent.keys()].every((sha256) => !written.has(sha256));
      if (isSound) return { ...result, absent: [...absent.values()].sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1)) };
    } finally {
      await file.close();
    }
    await rm(options.path);
  }
  throw new BackupError('uploaded files changed while they were being copied');
}

function* members(
  { dataDir, rows, createdAt, onProgress }: ArchiveOptions, absent: Map<string, AbsentUpload>, written: Set<string>,
): Generator<PackedMember, void> {
  yield { kind: 'folder', name: 'uploads', size: 0, modifiedAt: createdAt };
  for (const row of rows) {
    const { sha256 } = row;
    if (absent.has(sha256)) continue;
    const upload = openUpload(dataDir, row);
    if (typeof upload === 'string') {
      absent.set(sha256, { sha256, why: upload });
      continue;
    }
    try {
      const { bytes: size, createdAt: modifiedAt } = row;
      yield { kind: 'file', name: uploadPath(sha256), size, modifiedAt, content: upload.content() };
      written.add(sha256);
      if (!upload.isSound()) absent.set(sha256, { sha256, why: 'damaged' });
    } finally {
      upload.close();
    }
    onProgress(row.bytes);
  }
}

const PIECE = 256 * 1_024; // bytes

/**
 * Opens an uploaded file, or says why it cannot be used. Reads block this process, but take a tenth of the time of
 * asynchronous reads for small files.
 */
export function openUpload(dataDir: string, row: UploadRow) {
  const opened = openOrWhyNot(join(dataDir, uploadPath(row.sha256)));
  if (typeof opened === 'string') return opened;
  const fd = opened;
  const found = fstatSync(fd);
  if (!found.isFile() || found.size !== row.bytes) {
    closeSync(fd);
    return found.isFile() ? 'damaged' as const : 'missing' as const;
  }
  const hash = createHash('sha256');
  let isRead = false;
  function* content(): Generator<Buffer, void> {
    for (let left = row.bytes; left > 0; ) {
      const chunk = readChunk(fd, Math.min(PIECE, left));
      hash.update(chunk);
      left -= chunk.length;
      yield chunk;
    }
    isRead = true;
  }
  return { content, isSound: () => isRead && hash.digest('hex') === row.sha256, close: () => closeSync(fd) };
}

/** An upload that this account may not read makes a backup incomplete, not impossible. */
function openOrWhyNot(path: string): number | 'missing' | 'unreadable' {
  try {
    return openSync(path, READ_PLAIN);
  } catch (error) {
    if (['EACCES', 'EPERM'].includes(codeOf(error) ?? '')) return 'unreadable';
    if (['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO'].includes(codeOf(error) ?? '')) return 'missing';
    throw error;
  }
}

/** Reads on. After a read error, or if the file has become shorter, zeros fill the chunk: the size stays right. */
function readChunk(fd: number, length: number): Buffer {
  const chunk = Buffer.allocUnsafe(length);
  try {
    const filled = readSync(fd, chunk);
    if (filled > 0) return chunk.subarray(0, filled);
  } catch (error) {
    if (codeOf(error) !== 'EIO') throw error;
  }
  return chunk.fill(0);
}

export type CheckOptions = {
  rows: UploadRow[];
  absent: ReadonlySet<string>; // hashes of files that the archive must not contain, although rows name these files
  signal?: AbortSignal | undefined;
  destination?: (name: string) => MemberSink | undefined; // receives the bytes of one file in the archive
  onBytes?: ((bytes: number) => void) | undefined; // called with the size of each chunk that was read
};

/** Throws BackupError unless the archive has the files of the rows but `absent`, unchanged, and no other file. */
export async function checkArchive(path: string, options: CheckOptions): Promise<WrittenFile> {
  const file = await openPlainFile(path);
  const hash = createHash('sha256');
  const walk = createWalk(options);
  try {
    const read = (bytes: Buffer): void => (hash.update(bytes), options.onBytes?.(bytes.length));
    await unpackTar(withSignal(gunzipFile(file, read), options.signal), walk.onMember);
    walk.finish();
    return { bytes: (await file.stat()).size, sha256: hash.digest('hex') };
  } catch (error) {
    if (error instanceof ArchiveError) throw new BackupError(`uploads.tar.gz: ${error.message}`, { cause: error });
    throw error;
  } finally {
    await file.close();
  }
}

async function* withSignal(chunks: AsyncIterable<Buffer>, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    signal?.throwIfAborted();
    yield chunk;
  }
}

/** Compares the members of an archive, or the files of a folder, with the rows of uploads in the backup's database. */
export function createWalk({ rows, absent, destination = () => undefined }: CheckOptions) {
  const expected = new Map<string, UploadRow>();
  for (const row of rows) {
    if (!absent.has(row.sha256)) expected.set(uploadPath(row.sha256), row);
  }

  function onMember({ kind, name, size }: UnpackedMember): MemberSink | undefined {
    if (kind === 'folder') {
      if (/^uploads(\/[0-9a-f]{2})?$/.test(name)) return undefined;
      throw new ArchiveError(`the archive holds the folder ${JSON.stringify(name.slice(0, 120))}`);
    }
    const row = expected.get(name);
    if (!row) {
      throw new ArchiveError(`the archive has ${JSON.stringify(name.slice(0, 120))}, which hub.db does not reference`);
    }
    if (size !== row.bytes) {
      throw new ArchiveError(`the archive holds ${name} with ${size} bytes instead of ${row.bytes}`);
    }
    expected.delete(name);
    return comparing(row, destination(name));
  }

  function finish(): void {
    const [first] = expected.keys();
    if (first === undefined) return;
    const more = expected.size > 1 ? ` and ${expected.size - 1} more` : '';
    throw new ArchiveError(`the archive lacks ${first}${more}, which hub.db references`);
  }

  return { onMember, finish };
}

function comparing({ sha256 }: UploadRow, next: MemberSink | undefined): MemberSink {
  const hash = createHash('sha256');
  const name = uploadPath(sha256);
  return {
    write(chunk) {
      hash.update(chunk);
      next?.write(chunk);
    },
    end() {
      if (hash.digest('hex') !== sha256) throw new ArchiveError(`the archive holds ${name} with other content`);
      next?.end();
    },
  };
}
