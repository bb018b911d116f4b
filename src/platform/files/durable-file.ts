import { constants, type PathLike } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../error-code.ts';

/** Flags that send each write through to the disk, used if the process may not call fsync. */
const WRITTEN_THROUGH = constants.O_WRONLY | constants.O_DSYNC;
const MODE = 0o600;

/** Bytes per write: the size of a socket's chunk. With O_DSYNC, a write of 512 KiB is as fast as one of 64 KiB. */
const BATCH = 64 * 1024;
const BATCH_THROUGH = 512 * 1024;

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

/** Writes the chunks into a new file and syncs it. `chunks` may reuse the memory of a chunk for the next. */
export async function writeChunks(handle: FileHandle, chunks: AsyncIterable<Buffer>): Promise<void> {
  const batch = Buffer.allocUnsafeSlow(maySync === false ? BATCH_THROUGH : BATCH);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let taken = 0; taken < chunk.length;) {
      const copied = chunk.copy(batch, filled, taken);
      taken += copied;
      filled += copied;
      if (filled === batch.length) {
        await handle.writeFile(batch);
        filled = 0;
      }
    }
  }
  await handle.writeFile(batch.subarray(0, filled));
  await sync(handle);
}
