import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { WrittenFile } from '../../platform/archive/gzip-file.ts';

const PIECE = 1_024 * 1_024; // bytes

/** Opens for reading; never through a link, and a pipe does not keep it waiting. */
export function openPlainFile(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

/** Length and SHA-256 of the bytes on disk. */
export async function hashFile(path: string, signal?: AbortSignal): Promise<WrittenFile> {
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
    }
  } finally {
    await file.close();
  }
}
