import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw, deflateRawSync, inflateRawSync, type Zlib } from 'node:zlib';
import { codeOf } from '../error-code.ts';

/** An archive is not as it has to be; the message says what was found, and where. */
export class ArchiveError extends Error {}

export type WrittenFile = { bytes: number; sha256: string };

const PIECE = 256 * 1_024; // bytes
const LARGEST = 512 * 1_024; // bytes of content in one member of ours

const HEADER = 10;
const TRAILER = 8;

/** Flags of the header (RFC 1952, 2.3.1). Of the optional parts only a file name is known from gzip itself. */
const HAS_NAME = 0x08;
const MAX_NAME = 1_024;

/**
 * How each of our members begins: without a time, and with an extra field (RFC 1952, 2.3.1.1) of four bytes, the length
 * of its deflate blocks. So a reader knows where the next one begins before it has decompressed anything.
 */
const OPENING = Buffer.from([0x1f, 0x8b, 8, 0x04, 0, 0, 0, 0, 0, 3, 8, 0, 0x43, 0x48, 4, 0]);
const LENGTH_AT = OPENING.length;
const OUR_HEADER = OPENING.length + 4;

/**
 * Writes the chunks into an open, empty file as gzip members one after the other, which is one gzip file, and hashes
 * what it writes. Does not sync or close it.
 */
export async function gzipFile(chunks: Iterable<Buffer>, file: FileHandle, signal?: AbortSignal): Promise<WrittenFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  async function store(content: Buffer): Promise<void> {
    signal?.throwIfAborted();
    const member = memberOf(content);
    hash.update(member);
    bytes += member.length;
    await file.writeFile(member);
  }
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += LARGEST) await store(chunk.subarray(at, at + LARGEST));
  }
  if (bytes === 0) await store(Buffer.alloc(0)); // no gzip file is empty
  return { bytes, sha256: hash.digest('hex') };
}

function memberOf(content: Buffer): Buffer {
  const blocks = isDense(content) ? storedBlocks(content) : [deflateRawSync(content)];
  const lengths = Buffer.alloc(4 + TRAILER);
  lengths.writeUInt32LE(blocks.reduce((sum, { length }) => sum + length, 0));
  lengths.writeUInt32LE(crc32(content), 4);
  lengths.writeUInt32LE(content.length, 8);
  return Buffer.concat([OPENING, lengths.subarray(0, 4), ...blocks, lengths.subarray(4)]);
}

const SAMPLE = 4_096; // bytes
const DENSE = 7; // bits

/**
 * Whether compressing would be in vain, told by how many bits a byte of it carries: images, PDF and other compressed
 * files have nearly 8, text has 4 to 6.
 */
function isDense(content: Buffer): boolean {
  const step = Math.ceil(content.length / SAMPLE) | 1; // odd, so that no pattern of two or four bytes is missed
  const times = new Uint32Array(256);
  let seen = 0;
  for (let at = 0; at < content.length; at += step, seen++) times[content[at] ?? 0]!++;
  let bits = 0;
  for (const count of times) bits += count === 0 ? 0 : count * Math.log2(seen / count);
  return bits / seen > DENSE;
}

const LARGEST_STORED = 0xffff; // bytes in one block

/** The content as it is, in deflate blocks (RFC 1951, 3.2.4). */
function storedBlocks(content: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = 0; at < content.length; at += LARGEST_STORED) {
    const part = content.subarray(at, at + LARGEST_STORED);
    const header = Buffer.from([at + part.length === content.length ? 1 : 0, 0, 0, 0, 0]);
    header.writeUInt16LE(part.length, 1);
    header.writeUInt16LE(part.length ^ 0xffff, 3);
    blocks.push(header, part);
  }
  return blocks;
}

/**
 * The content of a gzip file (RFC 1952) that consists of members of ours, or else of one single member: nothing before,
 * between or after, checksums and lengths right; else an ArchiveError. `onBytes` sees every byte of the file as it is
 * read, in order, valid during the call only.
 */
export async function* gunzipFile(
  file: FileHandle, onBytes: (bytes: Buffer) => void = () => {},
): AsyncGenerator<Buffer, void> {
  const { size } = await file.stat();
  const isOurs = size >= OPENING.length && (await readBytes(file, 0, OPENING.length)).equals(OPENING);
  if (!isOurs) return yield* gunzipSingle(file, size, onBytes);
  for (let at = 0; at < size;) {
    const member = await readMember(file, at, size);
    onBytes(member);
    yield contentOf(member);
    at += member.length;
  }
}

async function readMember(file: FileHandle, at: number, size: number): Promise<Buffer> {
  if (size - at < OUR_HEADER + TRAILER) throw new ArchiveError('is cut off, or has data after its end');
  const header = await readBytes(file, at, OUR_HEADER);
  if (!header.subarray(0, LENGTH_AT).equals(OPENING)) throw new ArchiveError('has data after its end');
  const length = OUR_HEADER + header.readUInt32LE(LENGTH_AT) + TRAILER;
  if (length > 2 * LARGEST) throw new ArchiveError('is damaged: it has a member that is too long');
  if (length > size - at) throw new ArchiveError('is cut off');
  return readBytes(file, at, length);
}

function contentOf(member: Buffer): Buffer {
  const blocks = member.subarray(OUR_HEADER, -TRAILER);
  const { buffer: content, used } = inflateAll(blocks);
  if (used !== blocks.length) throw new ArchiveError('has data after the end of a member');
  checkTrailer(member.subarray(-TRAILER), crc32(content), content.length);
  return content;
}

/** The content, and how many bytes of the blocks it took. */
function inflateAll(blocks: Buffer): { buffer: Buffer; used: number } {
  const options = { maxOutputLength: LARGEST, chunkSize: LARGEST, info: true };
  try {
    const { buffer, engine } = inflateRawSync(blocks, options) as unknown as { buffer: Buffer; engine: Zlib };
    return { buffer, used: engine.bytesWritten };
  } catch (error) {
    throw damaged(error);
  }
}

/** An archive that tar and gzip made, or an older version of the hub. */
async function* gunzipSingle(
  file: FileHandle, size: number, onBytes: (bytes: Buffer) => void,
): AsyncGenerator<Buffer, void> {
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
    throw damaged(error);
  }
  if (header.length + inflate.bytesWritten + TRAILER !== size) throw new ArchiveError('has data after its end');
  const trailer = await readBytes(file, size - TRAILER, TRAILER);
  onBytes(trailer);
  checkTrailer(trailer, crc, length);
}

function checkTrailer(trailer: Buffer, crc: number, length: number): void {
  if (trailer.readUInt32LE(0) !== crc) throw new ArchiveError('is damaged: the checksum of its content differs');
  if (trailer.readUInt32LE(4) !== length % 2 ** 32) {
    throw new ArchiveError('is damaged: the length of its content differs');
  }
}

/** What zlib throws for bytes that are no deflate blocks, or end too early, or make too much; others as they are. */
function damaged(error: unknown): unknown {
  const code = codeOf(error) ?? '';
  if (!code.startsWith('Z_') && code !== 'ERR_BUFFER_TOO_LARGE') return error;
  return new ArchiveError('is damaged: it cannot be decompressed', { cause: error });
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
