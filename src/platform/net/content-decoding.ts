import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { codeOf } from '../error-code.ts';

/** What this module can unpack, as an Accept-Encoding value. */
export const ACCEPT_ENCODING = 'gzip, br, zstd, deflate';

// A server may ask the decoder for a window far larger than the answer. 8 MiB is the most HTTP allows (RFC 9659).
const ZSTD_WINDOW = { [zlib.constants.ZSTD_d_windowLogMax]: 23 };

type Decode = (packed: Buffer, maxBytes: number) => Promise<Buffer>;

// The one-call forms stop at maxOutputLength as they go; the stream forms ignore it.
const DECODERS: Record<string, Decode> = {
  'identity': async (packed) => packed,
  'gzip': (packed, maxBytes) => promisify(zlib.gunzip)(packed, { maxOutputLength: maxBytes }),
  'br': (packed, maxBytes) => promisify(zlib.brotliDecompress)(packed, { maxOutputLength: maxBytes }),
  'zstd': (packed, maxBytes) => unzstd(packed, { maxOutputLength: maxBytes, params: ZSTD_WINDOW }),
  'deflate': (packed, maxBytes) => inflateEither(packed, { maxOutputLength: maxBytes }),
};
const unzstd = promisify(zlib.zstdDecompress);

/**
 * The unpacker for a Content-Encoding value, or undefined when it names an unknown coding or stacks several
 * (no server needs that, and each layer multiplies a bomb). An empty body stays empty.
 */
export function decoderFor(contentEncoding: string | undefined): Decode | undefined {
  const coding = (contentEncoding ?? '').trim().toLowerCase().replace(/^x-gzip$/, 'gzip') || 'identity';
  const decode = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  return decode && ((packed, maxBytes) => (packed.length === 0 ? Promise.resolve(packed) : decode(packed, maxBytes)));
}

/** Whether an unpacker stopped because the answer unpacks to more than it was allowed. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof RangeError && codeOf(error) === 'ERR_BUFFER_TOO_LARGE';
}

/** "deflate" should mean the zlib format (RFC 9110 section 8.4.1.2); some servers send a raw deflate stream. */
function inflateEither(packed: Buffer, options: zlib.ZlibOptions): Promise<Buffer> {
  const hasZlibHeader = packed.length >= 2 && (packed[0]! & 0x0f) === 8 && packed.readUInt16BE(0) % 31 === 0;
  return promisify(hasZlibHeader ? zlib.inflate : zlib.inflateRaw)(packed, options);
}
