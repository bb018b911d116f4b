import { closeSync, fstatSync, linkSync, lstatSync, openSync, readSync, rmSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ArchiveError } from '../../platform/archive/gzip-file.ts';
import type { MemberSink } from '../../platform/archive/tar-file.ts';
import { codeOf } from '../../platform/error-code.ts';
import { createFile, syncPath, writeChunks } from '../../platform/files/durable-file.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { UploadRow } from '../attachments/attachment-store.ts';
import { uploadPath } from '../attachments/upload-files.ts';
import { ARCHIVE } from './backup-folder.ts';
import { BackupError } from './backup-name.ts';
import { type AbsentUpload, READ_PLAIN } from './manifest.ts';
import { checkArchive, type CheckOptions, createWalk, openUpload } from './upload-archive.ts';

const UPLOADS = 'uploads';

type Placing = {
  dataDir: string;
  previous: string | null; // the folder of the interim backup before this one
  folder: string; // the folder of the new backup
  rows: UploadRow[];
  isCareful: boolean; // whether the hub reads every upload that it links into the backup, to omit damaged uploads
  signal: AbortSignal;
  onProgress: (bytes: number) => void; // called with the size of each file once it is in the backup or left out
  requireRoom: (bytes: number) => Promise<void>; // rejects with BackupError if copies of `bytes` bytes do not fit
};

/** Uploads never change, so a hard link is enough; where none to a sound file can be made, the file is copied. */
export async function placeUploads(options: Placing): Promise<AbsentUpload[]> {
  const { folder, rows, signal, onProgress, requireRoom } = options;
  await mkdir(join(folder, UPLOADS), { mode: 0o700 });
  for (const name of foldersOf(rows)) await mkdir(join(folder, name), { mode: 0o700 });
  const left: UploadRow[] = [];
  for (const row of rows) {
    if (!linkUpload(options, row)) left.push(row);
    else onProgress(row.bytes);
    await nextTurn(); // handles signals
    signal.throwIfAborted();
  }
  await requireRoom(left.reduce((sum, { bytes }) => sum + bytes, 0));
  const absent: AbsentUpload[] = [];
  for (const row of left) {
    const why = await copyUpload(options, row);
    if (why !== null) absent.push({ sha256: row.sha256, why });
    signal.throwIfAborted();
    onProgress(row.bytes);
  }
  for (const name of [...foldersOf(rows), UPLOADS]) await syncPath(join(folder, name));
  return absent;
}

/** The folders of these uploads' files, such as `uploads/ab`. */
export function foldersOf(rows: UploadRow[]): string[] {
  return [...new Set(rows.map(({ sha256 }) => dirname(uploadPath(sha256))))];
}

function linkUpload({ dataDir, previous, folder, isCareful }: Placing, row: UploadRow): boolean {
  const path = join(folder, uploadPath(row.sha256));
  for (const from of previous === null ? [dataDir] : [dataDir, previous]) {
    if (!link(join(from, uploadPath(row.sha256)), path)) continue;
    if (isSound(folder, row, isCareful)) return true;
    rmSync(path);
  }
  return false;
}

/** No link can be made: the file is missing, unreadable or on another disk, or its file system allows no more. */
const UNLINKABLE = ['ENOENT', 'EACCES', 'EXDEV', 'EMLINK', 'EPERM', 'ENOTSUP', 'ENOSYS', 'ENOTDIR', 'ELOOP'];

function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (UNLINKABLE.includes(codeOf(error) ?? '')) return false;
    throw error;
  }
}

function isSound(folder: string, row: UploadRow, isCareful: boolean): boolean {
  const upload = openUpload(folder, row);
  if (typeof upload === 'string') return false;
  try {
    if (!isCareful) return true;
    for (const chunk of upload.content()) void chunk;
    return upload.isSound();
  } finally {
    upload.close();
  }
}

async function copyUpload({ dataDir, folder }: Placing, row: UploadRow): Promise<AbsentUpload['why'] | null> {
  const upload = openUpload(dataDir, row);
  if (typeof upload === 'string') return upload;
  const path = join(folder, uploadPath(row.sha256));
  const file = await createFile(path);
  try {
    await writeChunks(file, asynchronous(upload.content()));
  } finally {
    await file.close();
    upload.close();
  }
  if (upload.isSound()) return null;
  rmSync(path);
  return 'damaged';
}

async function* asynchronous(chunks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  for (const chunk of chunks) {
    yield chunk;
    await nextTurn();
  }
}

/** Returns size and hash of the archive; of an interim backup, the uploads' size and null. Throws BackupError. */
export async function checkUploads(
  backup: string, options: CheckOptions,
): Promise<{ bytes: number; sha256: string | null }> {
  const folder = join(backup, UPLOADS);
  if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) return checkArchive(join(backup, ARCHIVE), options);
  try {
    return { bytes: await walkFolder(backup, options), sha256: null };
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new BackupError(error.message.replace(/^the archive/, 'the folder uploads'), { cause: error });
  }
}

async function walkFolder(backup: string, options: CheckOptions): Promise<number> {
  const { onMember, finish } = createWalk(options);
  let bytes = 0;
  for (const { name: group, ...entry } of await listed(join(backup, UPLOADS))) {
    if (!entry.isFolder) throw new ArchiveError(`the archive holds ${shown(group)}, which is no folder`);
    onMember({ kind: 'folder', name: `${UPLOADS}/${group}`, size: 0 });
    for (const { name, isFile } of await listed(join(backup, UPLOADS, group))) {
      const path = `${UPLOADS}/${group}/${name}`;
      if (!isFile) throw new ArchiveError(`the archive holds ${shown(path)}, which is not a plain file`);
      bytes += readInto(join(backup, path), options, (size) => onMember({ kind: 'file', name: path, size }));
      await nextTurn(); // handles signals
      options.signal?.throwIfAborted();
    }
  }
  finish();
  return bytes;
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 120));
}

async function listed(folder: string): Promise<{ name: string; isFile: boolean; isFolder: boolean }[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.map((entry) => ({ name: entry.name, isFile: entry.isFile(), isFolder: entry.isDirectory() }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const PIECE = 256 * 1_024; // bytes

/** Reads a file into a sink and returns the file's size. Synchronous reading is ten times as fast for small files. */
function readInto(path: string, { onBytes }: CheckOptions, sinkFor: (size: number) => MemberSink | undefined): number {
  const fd = openSync(path, READ_PLAIN);
  try {
    const sink = sinkFor(fstatSync(fd).size);
    const piece = Buffer.allocUnsafe(PIECE);
    let bytes = 0;
    for (let read = readSync(fd, piece); read > 0; read = readSync(fd, piece)) {
      sink?.write(piece.subarray(0, read));
      onBytes?.(read);
      bytes += read;
    }
    sink?.end();
    return bytes;
  } finally {
    closeSync(fd);
  }
}
