import { constants, type PathLike } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../error-code.ts';

/** Flags that send each write through to the disk, used if the process may not call fsync. */
const WRITTEN_THROUGH = constants.O_WRONLY | constants.O_DSYNC;
const MODE = 0o600;

/**
 * Bytes per write. Writes of 64 KiB, the size of a socket's chunk, take a third longer, but each file that is being
 * written has two buffers: beyond FEW files at once they are small, unless each write waits for the disk (O_DSYNC).
 */
const BATCH = 512 * 1024;
const SMALL_BATCH = 64 * 1024;
const FEW = 8;

/** Bytes after which a sync begins in the background, so that little is left to sync at the end. */
const SYNC_BYTES = 2 * 1024 * 1024;

/** Whether this process may call fsync; undefined at first. Node's permission model refuses fsync since version 25. */
let maySync: boolean | undefined;

/** Creates a file for writing. Rejects if the file exists. */
export async function createFile(path: PathLike): Promise<FileHandle> {
  const handle = await open(path, 'wx', MODE);
  try {
    if (maySync === undefined) await sync(handle); // tries fsync on the new, empty file, because Node may refuse fsync
    if (maySync) return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return open(path, WRITTEN_THROUGH);
}

/** Syncs a file's bytes or a folder's entries, so that they survive a power cut. Does nothing if Node refuses fsync. */
export async function sync(handle: FileHandle): Promise<void> {
  if (maySync === false) return;
  try {
    await handle.sync();
    maySync = true;
  } catch (error) {
    if (codeOf(error) !== 'ERR_ACCESS_DENIED') throw error;
    maySync = false;
  }
}

/** Writes a new file durably. Rejects if the file exists. */
export async function writeNewFile(path: PathLike, content: string | Buffer): Promise<void> {
  const handle = await createFile(path);
  try {
    await handle.writeFile(content);
    await sync(handle);
  } finally {
    await handle.close();
  }
}

/** Replaces a file in one step and syncs it. `partial`: a temporary path, of each process's own if several do so. */
export async function replaceFile(path: string, content: string, partial = `${path}.partial`): Promise<void> {
  await rm(partial, { force: true });
  await writeNewFile(partial, content);
  await rename(partial, path);
  await syncPath(dirname(path));
}

/**
 * Syncs a file, or the renames within a folder. If Node refuses fsync, a rename becomes durable with the next commit of
 * the database, because a journalling file system writes the rename before the commit.
 */
export async function syncPath(path: PathLike): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await sync(handle);
  } finally {
    await handle.close();
  }
}

/** Files that are being written by `writeChunks`. */
let underWay = 0;

/** Writes the chunks into a new file and syncs it. `chunks` may reuse the memory of a chunk for the next. */
export async function writeChunks(handle: FileHandle, chunks: AsyncIterable<Buffer>): Promise<void> {
  const size = underWay < FEW || maySync === false ? BATCH : SMALL_BATCH;
  underWay++;
  try {
    await writeInBatches(handle, chunks, size);
  } finally {
    underWay--;
  }
}

/** One buffer is written while the other is filled, and what is written is synced: uploads are half as fast again. */
async function writeInBatches(handle: FileHandle, chunks: AsyncIterable<Buffer>, size: number): Promise<void> {
  let filling: Buffer = Buffer.allocUnsafeSlow(size);
  let spare: Buffer | undefined;
  let filled = 0;
  let written = Promise.resolve();
  const { wrote, synced } = syncingBehind(handle);

  async function write(): Promise<void> {
    await written;
    written = handle.writeFile(filling.subarray(0, filled));
    written.catch(() => {}); // whoever awaits `written` next gets the error
    wrote(filled);
    [filling, spare, filled] = [spare ?? Buffer.allocUnsafeSlow(size), filling, 0];
  }

  for await (const chunk of chunks) {
    for (let taken = 0; taken < chunk.length;) {
      const copied = chunk.copy(filling, filled, taken);
      taken += copied;
      filled += copied;
      if (filled === size) await write();
    }
  }
  await written;
  await handle.writeFile(filling.subarray(0, filled));
  await synced();
}

/** Syncs after each SYNC_BYTES and at the end. Keeps an error, which the system reports to one fsync only. */
function syncingBehind(handle: FileHandle): { wrote(bytes: number): void; synced(): Promise<void> } {
  let unsynced = 0;
  let isSyncing = false;
  let syncing = Promise.resolve();
  return {
    wrote(bytes) {
      unsynced += bytes;
      if (unsynced < SYNC_BYTES || isSyncing) return;
      [unsynced, isSyncing] = [0, true];
      syncing = syncing.then(() => sync(handle)).finally(() => (isSyncing = false));
      syncing.catch(() => {}); // `synced` gets the error
    },
    synced: () => syncing.then(() => sync(handle)),
  };
}
