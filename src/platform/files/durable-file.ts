import { constants, type PathLike } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** Written through to the disk by each write, for where a process may not call fsync. */
const THROUGH = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_DSYNC;

/** Whether this process may call fsync: Node's permission model refuses it from version 26 on. */
let maySync = true;

/** A new file for writing. Fails when there is one already. */
export async function createFile(path: PathLike): Promise<FileHandle> {
  return maySync ? open(path, 'wx', 0o600) : open(path, THROUGH, 0o600);
}

/** The file's bytes, or a folder's entries, survive a power cut once this resolves. */
export async function sync(handle: FileHandle): Promise<void> {
  if (!maySync) return;
  try {
    await handle.sync();
  } catch (error) {
    if (!isRefused(error)) throw error;
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

function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_ACCESS_DENIED';
}
