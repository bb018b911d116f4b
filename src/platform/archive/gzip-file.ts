import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

const PIECE = 256 * 1_024; // bytes
const FASTEST = 1; // most of what people attach is compressed already

export type WrittenFile = { bytes: number; sha256: string };

/** Compresses the chunks into an open, empty file, and hashes what it writes. Does not sync or close it. */
export async function gzipFile(
  chunks: Iterable<Buffer>, file: FileHandle, signal?: AbortSignal,
): Promise<WrittenFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  async function store(compressed: AsyncIterable<Buffer>): Promise<void> {
    for await (const chunk of compressed) {
      hash.update(chunk);
      bytes += chunk.length;
      await file.writeFile(chunk);
    }
  }
  const gzip = createGzip({ level: FASTEST, chunkSize: PIECE });
  await pipeline(chunks, gzip, store, signal ? { signal } : {});
  return { bytes, sha256: hash.digest('hex') };
}
