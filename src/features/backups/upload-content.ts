import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../platform/error-code.ts';
import type { UploadRow } from './snapshot-store.ts';

/** Never through a link, and a pipe does not keep it waiting. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const PIECE = 256 * 1_024; // bytes

/** The name of an uploaded file, in DATA_DIR as in the archive. */
export function uploadPath(sha256: string): string {
  return `uploads/${sha256.slice(0, 2)}/${sha256}`;
}

export type OpenUpload = {
  /** Exactly as many bytes as the row says, with zeros for those that cannot be read. */
  content(): Generator<Buffer, void>;
  /** Whether the content, now that it was read, is what had been uploaded. */
  isSound(): boolean;
  close(): void;
};

/**
 * Opens the file that the row names, or says what is wrong with it. Throws a system error where it must not be read.
 * Reading is synchronous: nobody else is served meanwhile, and a small file costs a tenth of the time.
 */
export function openUpload(dataDir: string, row: UploadRow): OpenUpload | 'missing' | 'damaged' {
  const fd = openOrMissing(join(dataDir, uploadPath(row.sha256)));
  if (fd === undefined) return 'missing';
  const found = fstatSync(fd);
  if (!found.isFile() || found.size !== row.bytes) {
    closeSync(fd);
    return found.isFile() ? 'damaged' : 'missing';
  }
  const hash = createHash('sha256');
  let isRead = false;
  function* content(): Generator<Buffer, void> {
    for (let left = row.bytes; left > 0; ) {
      const chunk = readChunk(fd ?? -1, Math.min(PIECE, left));
      hash.update(chunk);
      left -= chunk.length;
      yield chunk;
    }
    isRead = true;
  }
  return { content, isSound: () => isRead && hash.digest('hex') === row.sha256, close: () => closeSync(fd) };
}

function openOrMissing(path: string): number | undefined {
  try {
    return openSync(path, READ);
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** Zeros where the file has become shorter or the disk cannot read it: the hash will tell. */
function readChunk(fd: number, length: number): Buffer {
  const chunk = Buffer.allocUnsafe(length);
  const filled = readOrNothing(fd, chunk);
  return filled === 0 ? chunk.fill(0) : chunk.subarray(0, filled);
}

function readOrNothing(fd: number, chunk: Buffer): number {
  try {
    return readSync(fd, chunk);
  } catch (error) {
    if (codeOf(error) === 'EIO') return 0;
    throw error;
  }
}
