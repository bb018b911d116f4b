import type { LookupAddress } from 'node:dns';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { codeOf } from '../error-code.ts';
import http from '../node-http.ts';
import { OutboundError, pinnedLookup } from './outbound-target.ts';

/** One request to addresses that were checked. `who` names the host in messages. */
export type Exchange = {
  url: URL;
  who: string;
  addresses: LookupAddress[];
  headers: Record<string, string>;
  maxBytes: number;
  headerMs: number;
  idleMs: number;
  signal: AbortSignal;
  large?: LargeBody;
};

/** `turn` is waited for, and nothing is read, once a body as it comes or unpacked has more than so many bytes. */
export type LargeBody = { bytes: number; turn(): Promise<void> };

export type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };

const TLS_PROBLEMS: Record<string, string> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  EPROTO: 'it does not speak TLS on this port, or not a version that is safe',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate chain is incomplete or from an unknown authority',
};

/** The codings that can be unpacked, as an Accept-Encoding value. */
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
 * Sends one GET and reads the answer; the body only of a 2xx, empty otherwise. The connection is closed whatever
 * happens. Throws OutboundError, or the signal's reason once it is aborted.
 */
export async function exchange(hop: Exchange): Promise<Answer> {
  const { url, addresses, headers, signal } = hop;
  const request = openRequest(url, { headers, lookup: pinnedLookup(addresses), signal });
  try {
    const response = await waitForHeaders(request, hop);
    const status = response.statusCode ?? 0;
    const body = status >= 200 && status < 300 ? await readBody(response, hop) : Buffer.alloc(0);
    return { status, headers: response.headers, body };
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    request.destroy();
  }
}

async function waitForHeaders(request: ClientRequest, { url, who, headerMs }: Exchange): Promise<IncomingMessage> {
  let describe = connectError;
  request.once('socket', (socket) => {
    socket.once('connect', () => (describe = url.protocol === 'https:' ? tlsError : answerError));
    socket.once('secureConnect', () => (describe = answerError));
  });
  const response = responseTo(request, (cause) => (cause ? describe(who, cause) : answerError(who)));
  const { promise: tooSlow, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(slowError(who, headerMs)), headerMs);
  request.end();
  try {
    return await Promise.race([response, tooSlow]);
  } finally {
    clearTimeout(timer);
  }
}

async function readBody(response: IncomingMessage, hop: Exchange): Promise<Buffer> {
  const decode = decoderFor(response.headers['content-encoding']);
  if (!decode) throw new OutboundError('bad-response', `${hop.who} answered in an encoding the hub cannot decode`);
  const packed = await readPacked(response, hop);
  try {
    return await unpack(packed, decode, hop);
  } catch (cause) {
    if (codeOf(cause) === 'ERR_BUFFER_TOO_LARGE') throw tooLargeError(hop); // unpacked
    if (hop.signal.aborted) throw cause;
    throw new OutboundError('bad-response', `the compressed answer of ${hop.who} is damaged or incomplete`, { cause });
  }
}

/** What turns out to be large is unpacked when its turn has come. */
async function unpack(packed: Buffer, decode: Decode, { maxBytes, large }: Exchange): Promise<Buffer> {
  if (!large || packed.length > large.bytes) return decode(packed, maxBytes);
  try {
    return await decode(packed, large.bytes);
  } catch (error) {
    if (codeOf(error) !== 'ERR_BUFFER_TOO_LARGE') throw error;
    await large.turn();
    return decode(packed, maxBytes);
  }
}

async function readPacked(response: IncomingMessage, hop: Exchange): Promise<Buffer> {
  if (Number(response.headers['content-length']) > hop.maxBytes) throw tooLargeError(hop);
  const chunks: Buffer[] = [];
  let size = 0;
  const startIdle = () => setTimeout(() => response.destroy(idleError(hop)), hop.idleMs);
  let idle = startIdle();
  try {
    for await (const chunk of response) {
      idle.refresh();
      size += chunk.length;
      if (size > hop.maxBytes) throw tooLargeError(hop);
      chunks.push(chunk);
      const isLargeNow = hop.large && size > hop.large.bytes && size - chunk.length <= hop.large.bytes;
      if (!isLargeNow) continue;
      clearTimeout(idle);
      await hop.large?.turn();
      idle = startIdle();
    }
  } catch (cause) {
    if (cause instanceof OutboundError) throw cause;
    throw new OutboundError('bad-response', `${hop.who} closed the connection before its answer ended`, { cause });
  } finally {
    clearTimeout(idle);
  }
  return Buffer.concat(chunks);
}

function connectError(who: string, cause?: NodeJS.ErrnoException): OutboundError {
  return new OutboundError('connect', `could not connect to ${who} (${cause?.code ?? 'no connection'})`, { cause });
}

function tlsError(who: string, cause?: NodeJS.ErrnoException): OutboundError {
  const code = cause?.code ?? 'unknown error';
  return new OutboundError('tls', `no secure connection to ${who}: ${TLS_PROBLEMS[code] ?? code}`, { cause });
}

function answerError(who: string, cause?: NodeJS.ErrnoException): OutboundError {
  const garbled = cause?.code?.startsWith('HPE_'); // from Node's HTTP parser
  const problem = garbled ? `did not answer in valid HTTP (${cause?.code})` : 'closed the connection without an answer';
  return new OutboundError('bad-response', `${who} ${problem}`, { cause });
}

function slowError(who: string, limit: number): OutboundError {
  return new OutboundError('timeout', `${who} did not begin to answer within ${limit / 1000} s`);
}

function idleError({ who, idleMs }: Exchange): OutboundError {
  return new OutboundError('idle', `${who} stopped sending for ${idleMs / 1000} s in the middle of its answer`);
}

function tooLargeError({ who, maxBytes }: Exchange): OutboundError {
  return new OutboundError('too-large', `the answer of ${who} is larger than the limit of ${maxBytes} bytes`);
}

/**
 * The unpacker for a Content-Encoding value, or undefined when it names an unknown coding or stacks several
 * (no server needs that, and each layer multiplies a bomb). An empty body stays empty.
 */
function decoderFor(contentEncoding: string | undefined): Decode | undefined {
  const coding = (contentEncoding ?? '').trim().toLowerCase().replace(/^x-gzip$/, 'gzip') || 'identity';
  const decode = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  return decode && ((packed, maxBytes) => (packed.length === 0 ? Promise.resolve(packed) : decode(packed, maxBytes)));
}

/** "deflate" should mean the zlib format (RFC 9110 section 8.4.1.2); some servers send a raw deflate stream. */
function inflateEither(packed: Buffer, options: zlib.ZlibOptions): Promise<Buffer> {
  const hasZlibHeader = packed.length >= 2 && (packed[0]! & 0x0f) === 8 && packed.readUInt16BE(0) % 31 === 0;
  return promisify(hasZlibHeader ? zlib.inflate : zlib.inflateRaw)(packed, options);
}

type RequestOptions = {
  method?: 'GET' | 'POST'; // GET when absent
  headers: OutgoingHttpHeaders;
  lookup?: LookupFunction;
  signal?: AbortSignal | undefined;
};

const MAX_HEADER_BYTES = 32 * 1024;

/**
 * Begins a request to an http or https address, not yet sent: every request that leaves the hub begins here. A user
 * name and password in the address are sent (RFC 7617). Which addresses may be reached is for the caller to decide.
 */
export function openRequest(url: URL, { method = 'GET', headers, lookup, signal }: RequestOptions): ClientRequest {
  const open = url.protocol === 'https:' ? https.request : http.request;
  return open(url, {
    method,
    headers,
    ...(lookup && { lookup }),
    ...(signal && { signal }),
    agent: false, // no shared connections, and no proxy out of the environment, which would see and dial everything
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    insecureHTTPParser: false,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
}

/** The head of the answer. `failure` makes the error to throw; it is given none where the connection just closed. */
export function responseTo(
  request: ClientRequest, failure: (cause?: NodeJS.ErrnoException) => Error,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.on('error', (cause: NodeJS.ErrnoException) => reject(failure(cause))); // stays: errors may come late
  request.once('close', () => reject(failure()));
  request.once('response', (response) => {
    // Without a declared length Node would take a reset or an abort for the end of the body.
    request.on('error', (cause) => { if (!response.complete) response.destroy(cause); });
    resolve(response);
  });
  return promise;
}
