import { constants, type PathLike } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../error-code.ts';

/** Each write goes through to the disk: used if the process may not call fsync. */
const WRITTEN_THROUGH = constants.O_WRONLY | constants.O_DSYNC;
const MODE = 0o600;

/** Bytes per write. Writes of 64 KiB, the size of a socket's chunks, take twice as long. */
const BATCH = 512 * 1024;

/** Bytes after which a background sync begins, so that the last sync is short. */
const FLUSH = 2 * 1024 * 1024;

/** Files written in batches at the same time. More would take too much memory. */
const PAIRS = 8;

/** Whether this process may call fsync, which Node's permission model refuses from version 25 on; unknown at first. */
let maySync: boolean | undefined;

/** Creates a file for writing. Rejects if it exists. */
export async function createFile(path: PathLike): Promise<FileHandle> {
  const handle = await open(path, 'wx', MODE);
  try {
    if (maySync === undefined) await sync(handle); // try it on the empty file first
    if (maySync) return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return open(path, WRITTEN_THROUGH);
}

/** Syncs a file's bytes or a folder's entries: they survive a power cut once this resolves. */
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

/** Writes a new file durably. Rejects if it exists. */
export async function writeNewFile(path: PathLike, content: string | Buffer): Promise<void> {
  const handle = await createFile(path);
  try {
    await handle.writeFile(content);
    await sync(handle);
  } finally {
    await handle.close();
  }
}

/**
 * Replaces a file in one durable step: after a power cut it has the old content or the new. Give `partial` another name
 * in the same folder if several processes may replace the file at once.
 */
export async function replaceFile(path: string, content: string, partial = `${path}.partial`): Promise<void> {
  await rm(partial, { force: true });
  await writeNewFile(partial, content);
  await rename(partial, path);
  await syncPath(dirname(path));
}

/**
 * Syncs a file, or the renames within a folder. If fsync is refused, the later commit of the row that names the file
 * must suffice: a journalling file system writes the rename before it.
 */
export async function syncPath(path: PathLike): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await sync(handle);
  } finally {
    await handle.close();
  }
}

/** Call `release` after closing the handle, also after an error. */
export type WriteBehind = { write(chunk: Buffer): Promise<void>; end(): Promise<void>; release(): void };

type Writer = { write(chunk: Buffer): Promise<void>; drain(): Promise<void> };
type Pair = { filling: Buffer; spare: Buffer };

const idlePairs: Pair[] = [];
let pairsMade = 0;

/**
 * Writes a new file through two buffers: one is written while the other is filled. If many files are written at once,
 * writes chunk by chunk instead. A chunk may be reused once `write` resolves; `end` resolves once all is on the disk.
 * Both reject after a failed write. The caller closes the handle.
 */
export function writeBehind(handle: FileHandle): WriteBehind {
  const pair = takePair();
  const flusher = flushing(handle);
  const writer = pair ? bufferedWriter(handle, pair, flusher.wrote) : asTheyCome(handle, flusher.wrote);

  return {
    write: writer.write,
    async end() {
      await writer.drain();
      await flusher.done();
      await sync(handle);
    },
    release: () => void (pair && idlePairs.push(pair)),
  };
}

function takePair(): Pair | undefined {
  if (idlePairs.length > 0 || pairsMade === PAIRS) return idlePairs.pop();
  pairsMade++;
  return { filling: Buffer.allocUnsafeSlow(BATCH), spare: Buffer.allocUnsafeSlow(BATCH) };
}

function bufferedWriter(handle: FileHandle, pair: Pair, wrote: (bytes: number) => void): Writer {
  let filled = 0;
  let writing: Promise<void> = Promise.resolve();

  async function startWrite(): Promise<void> {
    await writing;
    writing = writeAll(handle, pair.filling.subarray(0, filled));
    writing.catch(() => {}); // the next await throws it
    wrote(filled);
    [pair.filling, pair.spare, filled] = [pair.spare, pair.filling, 0];
  }

  return {
    async write(chunk) {
      for (let taken = 0; taken < chunk.length;) {
        const copied = chunk.copy(pair.filling, filled, taken);
        taken += copied;
        filled += copied;
        if (filled === BATCH) await startWrite();
      }
    },
    async drain() {
      await startWrite();
      await writing;
    },
  };
}

function asTheyCome(handle: FileHandle, wrote: (bytes: number) => void): Writer {
  return {
    async write(chunk) {
      await writeAll(handle, chunk);
      wrote(chunk.length);
    },
    drain: async () => {},
  };
}

/** Syncs in the background. Keeps a failure for `done`, because the system reports it only once. */
function flushing(handle: FileHandle): { wrote(bytes: number): void; done(): Promise<void> } {
  let unflushed = 0;
  let isFlushing = false;
  let flushed: Promise<void> = Promise.resolve();

  async function flush(before: Promise<void>): Promise<void> {
    await before;
    await sync(handle);
    isFlushing = false;
  }

  return {
    wrote(bytes) {
      unflushed += bytes;
      if (unflushed < FLUSH || isFlushing) return;
      [unflushed, isFlushing] = [0, true];
      flushed = flush(flushed);
      flushed.catch(() => {}); // thrown by `done`
    },
    done: () => flushed,
  };
}

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += (await handle.write(bytes, written)).bytesWritten;
  }
}
