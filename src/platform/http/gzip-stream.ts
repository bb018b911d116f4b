import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';

/** The most compressions at a time: each takes 256 KiB and a thread of the pool that also reads files. */
const AT_ONCE = 32;

let underWay = 0;

/** Compresses, unless too many compressions are under way: then it resolves to undefined. */
export async function compressIfFree<Result>(compress: () => Promise<Result>): Promise<Result | undefined> {
  if (underWay >= AT_ONCE) return undefined;
  underWay++;
  try {
    return await compress();
  } finally {
    underWay--;
  }
}

const deflate = promisify<Buffer, object, Buffer>(deflateRaw);

const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]); // RFC 1952 §2.3: deflate, no time, unknown system
const LAST_BLOCK = Buffer.from([3, 0]); // RFC 1951 §3.2.6: an empty block
const LONGEST_STORED = 2 ** 16 - 1; // bytes
const WINDOW = 2 ** 15; // bytes

/**
 * A text as one gzip member, made chunk by chunk: between two chunks nothing is kept but the last 32 KiB, to which the
 * next may refer. What `secret` finds is stored as it is, and nothing before or after refers to it: the length says
 * nothing of it (BREACH). No chunk may end within a secret.
 */
export async function* gzipped(chunks: AsyncIterable<string>, secret: RegExp | null): AsyncGenerator<Buffer> {
  yield HEADER;
  let [crc, size, dictionary] = [0, 0, Buffer.alloc(0)];
  for await (const chunk of chunks) {
    for (const { text, isSecret } of partsOf(chunk, secret)) {
      const bytes = Buffer.from(text);
      [crc, size] = [crc32(bytes, crc), size + bytes.length];
      yield isSecret ? stored(bytes) : await block(bytes, dictionary);
      dictionary = isSecret ? Buffer.alloc(0) : Buffer.concat([dictionary, bytes]).subarray(-WINDOW);
    }
  }
  const end = Buffer.alloc(8);
  end.writeUInt32LE(crc);
  end.writeUInt32LE(size % 2 ** 32, 4);
  yield Buffer.concat([LAST_BLOCK, end]);
}

function partsOf(chunk: string, secret: RegExp | null): { text: string; isSecret: boolean }[] {
  const parts = [];
  let at = 0;
  for (let found = secret?.exec(chunk); found; found = secret?.exec(chunk)) {
    const { 0: text, index } = found;
    parts.push({ text: chunk.slice(at, index), isSecret: false }, { text, isSecret: true });
    at = index + text.length;
  }
  return [...parts, { text: chunk.slice(at), isSecret: false }].filter(({ text }) => text !== '');
}

async function block(bytes: Buffer, dictionary: Buffer): Promise<Buffer> {
  const options = { finishFlush: constants.Z_SYNC_FLUSH, ...(dictionary.length > 0 && { dictionary }) };
  return await compressIfFree(() => deflate(bytes, options)) ?? stored(bytes);
}

/** Blocks without compression (RFC 1951 §3.2.4). */
function stored(bytes: Buffer): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += LONGEST_STORED) {
    const content = bytes.subarray(at, at + LONGEST_STORED);
    const head = Buffer.alloc(5);
    head.writeUInt16LE(content.length, 1);
    head.writeUInt16LE(content.length ^ 0xffff, 3);
    blocks.push(head, content);
  }
  return Buffer.concat(blocks);
}
