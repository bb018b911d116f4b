import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createGzip, createInflateRaw } from 'node:zlib';
import { codeOf } from '../error-code.ts';

/** An archive is not as it has to be; the message says what was found, and where. */
export class ArchiveError extends Error {}

export type WrittenFile = { bytes: number; sha256: string };

const PIECE = 256 * 1_024; // bytes
const FASTEST = 1; // most of what people attach is compressed already

const HEADER = 10;
const TRAILER = 8;

/** Flags of the header (RFC 1952, 2.3.1). Of the optional parts only a file name is known from gzip itself. */
const HAS_NAME = 0x08;
const MAX_NAME = 1_024;

/** Compresses the chunks into an open, empty file, and hashes what it writes. Does not sync or close it. */
export async function gzipFile(chunks: Iterable<Buffer>, file: FileHandle, signal?: AbortSignal): Promise<WrittenFile> {
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

/**
 * The content of a file that is exactly one gzip member (RFC 1952): nothing before, between or after it, checksum and
 * length right; else an ArchiveError. `onBytes` sees every byte of the file as it is read, in order.
 */
export async function* gunzipFile(
  file: FileHandle, onBytes: (bytes: Buffer) => void = () => {},
): AsyncGenerator<Buffer, void> {
  const { size } = await file.stat();
  const header = await readHeader(file, size);
  onBytes(header);
  const inflate = createInflateRaw({ chunkSize: PIECE });
  const compressed = Readable.from(readRange(file, header.length, size - TRAILER, onBytes));
  pipeline(compressed, inflate).catch(() => {}); // thrown below, by reading
  let crc = 0;
  let length = 0;
  try {
    for await (const chunk of inflate as AsyncIterable<Buffer>) {
      crc = crc32(chunk, crc);
      length += chunk.length;
      yield chunk;
    }
  } catch (error) {
    if (!codeOf(error)?.startsWith('Z_')) throw error; // Z_DATA_ERROR, or Z_BUF_ERROR where it ends too early
    throw new ArchiveError('is damaged: it cannot be decompressed', { cause: error });
  }
  if (header.length + inflate.bytesWritten + TRAILER !== size) throw new ArchiveError('has data after its end');
  const trailer = await readBytes(file, size - TRAILER, TRAILER);
  onBytes(trailer);
  if (trailer.readUInt32LE(0) !== crc) throw new ArchiveError('is damaged: the checksum of its content differs');
  if (trailer.readUInt32LE(4) !== length % 2 ** 32) {
    throw new ArchiveError('is damaged: the length of its content differs');
  }
}

async function readHeader(file: FileHandle, size: number): Promise<Buffer> {
  if (size < HEADER + TRAILER) throw new ArchiveError('is cut off');
  const bytes = await readBytes(file, 0, Math.min(HEADER + MAX_NAME, size - TRAILER));
  const flags = bytes[3] ?? 0;
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 8 && (flags & ~HAS_NAME) === 0;
  if (!isGzip) throw new ArchiveError('is not a plain gzip file');
  if (flags === 0) return bytes.subarray(0, HEADER);
  const end = bytes.indexOf(0, HEADER);
  if (end < 0) throw new ArchiveError('is not a plain gzip file');
  return bytes.subarray(0, end + 1);
}

async function* readRange(
  file: FileHandle, from: number, to: number, onBytes: (bytes: Buffer) => void,
): AsyncGenerator<Buffer, void> {
  for (let at = from; at < to; at += PIECE) {
    const bytes = await readBytes(file, at, Math.min(PIECE, to - at));
    onBytes(bytes);
    yield bytes;
  }
}

async function readBytes(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  const { bytesRead } = await file.read(bytes, 0, length, position);
  if (bytesRead < length) throw new ArchiveError('was truncated while it was being read');
  return bytes;
}
