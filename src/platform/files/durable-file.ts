import { constants, type PathLike } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { codeOf } from '../error-code.ts';

/** Written through to the disk by each write, for where a process may not call fsync. */
const WRITTEN_THROUGH = constants.O_WRONLY | constants.O_DSYNC;
const MODE = 0o600;

/** Whether this process may call fsync, which Node's permission model refuses from version 25 on; unknown at first. */
let maySync: boolean | undefined;

/** A new file for writing. Fails when there is one already. */
export async function createFile(path: PathLike): Promise<FileHandle> {
  const handle = await open(path, 'wx', MODE);
  try {
    if (maySync === undefined) await sync(handle); // of nothing yet: the first file must not be the one that finds out
    if (maySync) return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return open(path, WRITTEN_THROUGH);
}

/** The file's bytes, or a folder's entries, survive a power cut once this resolves. */
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

/**
 * Makes renames within a folder durable. Where fsync is refused, the commit of the row that names the file has to do:
 * a journalling file system writes the rename before it.
 */
export async function syncFolder(path: PathLike): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await sync(handle);
  } finally {
    await handle.close();
  }
}
