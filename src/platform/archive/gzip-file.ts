import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, gzipSync } from 'node:zlib';
import { codeOf } from '../error-code.ts';

export class ArchiveError extends Error {}

export type WrittenFile = { bytes: number; sha256: string };

const PIECE = 256 * 1_024; // bytes
const LARGEST_MEMBER = 512 * 1_024; // bytes of content

/** Writes gzip members (RFC 1952) into an open, empty file, and hashes their bytes. The caller syncs the file. */
export async function gzipFile(chunks: Iterable<Buffer>, file: FileHandle, signal?: AbortSignal): Promise<WrittenFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  async function append(content: Buffer): Promise<void> {
    signal?.throwIfAborted();
    const member = gzipSync(content, { level: levelFor(content) });
    hash.update(member);
    bytes += member.length;
    await file.writeFile(member);
  }
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += LARGEST_MEMBER) await append(chunk.subarray(at, at + LARGEST_MEMBER));
  }
  if (bytes === 0) await append(Buffer.alloc(0)); // an empty file is not a gzip file
  return { bytes, sha256: hash.digest('hex') };
}

const SAMPLE = 4_096; // bytes

/** Content whose sample hardly shrinks, as in most images, is stored: compressing it takes ten times as long. */
function levelFor(content: Buffer): number {
  const middle = Math.max(0, Math.floor((content.length - SAMPLE) / 2));
  const sample = content.subarray(middle, middle + SAMPLE);
  const isDense = gzipSync(sample, { level: constants.Z_BEST_SPEED }).length > sample.length * 0.9;
  return isDense ? constants.Z_NO_COMPRESSION : constants.Z_DEFAULT_COMPRESSION;
}

/**
 * Unpacks a gzip file of one or more members. Throws ArchiveError for an empty or damaged file and for data after the
 * last member. `onBytes` gets the packed bytes in order, and must not keep them.
 */
export async function* gunzipFile(
  file: FileHandle, onBytes: (bytes: Buffer) => void = () => {},
): AsyncGenerator<Buffer, void> {
  const { size } = await file.stat();
  const gunzip = createGunzip({ chunkSize: PIECE });
  pipeline(Readable.from(readFile(file, size, onBytes)), gunzip).catch(() => {}); // `gunzip` throws read errors
  try {
    yield* gunzip as AsyncIterable<Buffer>;
  } catch (error) {
    throw damaged(error);
  }
  // Node ignores a zero byte after the gzip data and all that follows, so its count is compared with the file's size.
  if (size === 0 || gunzip.bytesWritten !== size) {
    throw new ArchiveError('the archive is empty, or has data after its end');
  }
}

async function* readFile(file: FileHandle, size: number, onBytes: (bytes: Buffer) => void): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; at += PIECE) {
    const bytes = Buffer.allocUnsafe(Math.min(PIECE, size - at));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, at);
    if (bytesRead < bytes.length) throw new ArchiveError('the archive was truncated while it was being read');
    onBytes(bytes);
    yield bytes;
  }
}

function damaged(error: unknown): unknown {
  switch (codeOf(error)) {
    case 'Z_BUF_ERROR': return new ArchiveError('the archive is cut off, or has data after its end', { cause: error });
    case 'Z_DATA_ERROR': return new ArchiveError('the archive is damaged and cannot be decompressed', { cause: error });
    default: return error;
  }
}
