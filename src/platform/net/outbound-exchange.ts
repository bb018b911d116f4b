import type { LookupAddress } from 'node:dns';
import http, {
  type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders,
} from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { pipeline, type Transform } from 'node:stream';
import zlib from 'node:zlib';
import { OutboundError, pinnedLookup } from './outbound-target.ts';
import { MAX_HEAD_BYTES, tidyHead } from './tidy-head.ts';

/** One outgoing request to IP addresses that were checked before. `who` names the host in error messages. */
export type OutboundRequest = {
  url: URL;
  who: string;
  addresses: LookupAddress[];
  headers: Record<string, string>;
  maxBytes: number;
  cuts?: boolean;
  headerMs: number;
  idleMs: number;
  signal: AbortSignal;
  large?: LargeBody;
  take?: TakeBody;
  gunzip?: boolean;
};

/** After `bytes` unpacked bytes, reading pauses until `turn` resolves. */
export type LargeBody = { bytes: number; turn(): Promise<void> };

/** Receives the unpacked body, so that `Answer.body` stays empty. Returns false to end the download early. */
export type TakeBody = (piece: Buffer) => boolean;

export type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };

const TLS_PROBLEMS: Record<string, string> = {
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  EPROTO: 'the server does not speak TLS on this port, or only an unsafe version',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate comes from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate comes from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate chain is incomplete or from an unknown authority',
};

export const ACCEPT_ENCODING = 'gzip, br, zstd, deflate';

// HTTP limits the zstd window to 8 MiB (RFC 9659), because a server may ask for a window larger than the response.
const ZSTD_WINDOW = { [zlib.constants.ZSTD_d_windowLogMax]: 23 };

/** Decoders emit 64 KiB pieces, not Node's 16 KiB, because other work runs after each piece: 10 MiB are 160 pieces. */
const PIECE = { chunkSize: 64 * 1024 };

// The decoders do not limit their output; `unpackBody` limits the body size, piece by piece.
const UNPACKERS = new Map<string, (first: Buffer) => Transform | null>([
  ['identity', () => null],
  ['gzip', () => zlib.createGunzip(PIECE)],
  ['br', () => zlib.createBrotliDecompress(PIECE)],
  ['zstd', () => zlib.createZstdDecompress({ ...PIECE, params: ZSTD_WINDOW })],
  ['deflate', inflateEither],
]);

/** Values that servers send as the Content-Encoding of a body that is not packed. */
const NO_CODINGS = new Set(['', 'identity', 'none', 'binary', '8bit', 'utf-8', 'utf8', 'iso-8859-1']);

/** Sends a GET request. Without status 2xx or 300 the body is empty. Throws OutboundError or the signal's reason. */
export async function exchange(hop: OutboundRequest): Promise<Answer> {
  const { url, addresses, headers, signal } = hop;
  const request = openRequest(url, { headers, lookup: pinnedLookup(addresses), signal });
  try {
    const response = await waitForHeaders(request, hop);
    const status = response.statusCode ?? 0;
    const body = status >= 200 && status <= 300 ? await unpackBody(response, hop) : Buffer.alloc(0);
    return { status, headers: response.headers, body };
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    request.destroy();
  }
}

async function waitForHeaders(
  request: ClientRequest, { url, who, headerMs }: OutboundRequest,
): Promise<IncomingMessage> {
  let describe = connectError;
  request.once('socket', (socket) => {
    tidyHead(socket);
    socket.once('connect', () => (describe = url.protocol === 'https:' ? tlsError : answerError));
    socket.once('secureConnect', () => (describe = answerError));
  });
  const response = responseTo(request, (cause) => (cause ? describe(who, cause) : answerError(who)));
  const { promise: tooSlow, reject } = Promise.withResolvers<never>();
  const slow = (): void =>
    reject(new OutboundError('timeout', `${who} did not begin to answer within ${headerMs / 1000} s`));
  const timer = setTimeout(slow, headerMs);
  request.end();
  try {
    return await Promise.race([response, tooSlow]);
  } finally {
    clearTimeout(timer);
  }
}

async function unpackBody(response: IncomingMessage, hop: OutboundRequest): Promise<Buffer> {
  const { maxBytes, cuts, large } = hop;
  const whole: Buffer[] = [];
  const take = hop.take ?? ((piece) => whole.push(piece) > 0);
  let size = 0;
  for await (const piece of unpack(response, hop)) {
    size += piece.length;
    if (size > maxBytes && !cuts) throw tooLargeError(hop);
    if (large && size > large.bytes && size - piece.length <= large.bytes) await large.turn();
    if (size > maxBytes) take(piece.subarray(0, maxBytes - size));
    if (size > maxBytes || !take(piece)) break;
  }
  return Buffer.concat(whole);
}

/** Yields the unpacked response body, with back-pressure. An empty body is not unpacked. */
async function* unpack(response: IncomingMessage, hop: OutboundRequest): AsyncGenerator<Buffer> {
  const coding = codingOf(response);
  const unpackerFor = coding === 'identity' && hop.gunzip ? gunzipFile : UNPACKERS.get(coding);
  if (!unpackerFor) throw new OutboundError('bad-response', `${hop.who} answered in an encoding the hub cannot decode`);
  const packed = readPacked(response, hop);
  const { value: first, done } = await packed.next();
  const unpacker = done ? null : unpackerFor(first);
  if (!done && !unpacker) yield first;
  if (!unpacker) return yield* packed;
  unpacker.write(first);
  try {
    yield* pipeline(packed, unpacker, () => {});
  } catch (cause) {
    if (cause instanceof OutboundError || hop.signal.aborted) throw cause;
    throw new OutboundError('bad-response', `the compressed answer of ${hop.who} is damaged or incomplete`, { cause });
  }
}

/** Yields the response body as received, still packed. Only time spent waiting for the remote server counts as idle. */
async function* readPacked(response: IncomingMessage, hop: OutboundRequest): AsyncGenerator<Buffer> {
  const { maxBytes, cuts } = hop;
  if (Number(response.headers['content-length']) > maxBytes && !cuts) throw tooLargeError(hop);
  const startIdle = () => setTimeout(() => response.destroy(idleError(hop)), hop.idleMs);
  let size = 0;
  let idle = startIdle();
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      clearTimeout(idle);
      // With `cuts`, `unpackBody` stops at the limit; a body still read then is longer packed than unpacked: refused.
      if (size + (cuts ? 0 : chunk.length) > maxBytes) throw tooLargeError(hop);
      size += chunk.length;
      yield chunk;
      idle = startIdle();
    }
  } catch (cause) {
    if (cause instanceof OutboundError) throw cause;
    throw new OutboundError('bad-response', `${hop.who} closed the connection before its answer ended`, { cause });
  } finally {
    clearTimeout(idle);
  }
}

function connectError(who: string, cause?: NodeJS.ErrnoException): OutboundError {
  return new OutboundError('connect', `could not connect to ${who} (${cause?.code ?? 'no connection'})`, { cause });
}

function tlsError(who: string, cause?: NodeJS.ErrnoException): OutboundError {
  const code = cause?.code ?? 'unknown error';
  return new OutboundError('tls', `no secure connection to ${who}: ${TLS_PROBLEMS[code] ?? code}`, { cause });
}

function answerError(who: string, cause?: NodeJS.ErrnoException): OutboundError {
  const garbled = cause?.code?.startsWith('HPE_'); // an error code of Node's HTTP parser
  const problem = garbled
    ? `${who} did not answer in valid HTTP (${cause?.code})`
    : `${who} closed the connection without an answer`;
  return new OutboundError('bad-response', problem, { cause });
}

function idleError({ who, idleMs }: OutboundRequest): OutboundError {
  return new OutboundError('idle', `${who} stopped sending for ${idleMs / 1000} s in the middle of its answer`);
}

function tooLargeError({ who, maxBytes }: OutboundRequest): OutboundError {
  return new OutboundError('too-large', `the answer of ${who} is larger than the limit of ${maxBytes} bytes`);
}

/** The Content-Encoding. A list of codings has no decoder, because each level would multiply a decompression bomb. */
function codingOf({ headers }: IncomingMessage): string {
  const written = (headers['content-encoding'] ?? '').toLowerCase().split(',').map((coding) => coding.trim());
  const coding = written.filter((one) => !NO_CODINGS.has(one)).join();
  return coding === 'x-gzip' ? 'gzip' : coding || 'identity';
}

/** The unpacker of a body without a Content-Encoding, which may still be a file in the gzip format (RFC 1952). */
function gunzipFile(first: Buffer): Transform | null {
  const isPacked = first[0] === 0x1f && (first.length === 1 || first[1] === 0x8b);
  return isPacked ? zlib.createGunzip(PIECE) : null;
}

/** "deflate" should mean the zlib format (RFC 9110 section 8.4.1.2); some servers send a raw deflate stream. */
function inflateEither(first: Buffer): Transform {
  const [method = 0, check] = first;
  const hasZlibHeader = (method & 0x0f) === 8 && (check === undefined || (method * 256 + check) % 31 === 0);
  return hasZlibHeader ? zlib.createInflate(PIECE) : zlib.createInflateRaw(PIECE);
}

type RequestOptions = { headers: OutgoingHttpHeaders; lookup: LookupFunction; signal: AbortSignal };

/** Creates a GET request to a publisher, not yet sent. `lookup` gives the checked IP addresses. */
function openRequest(url: URL, { headers, lookup, signal }: RequestOptions): ClientRequest {
  const open = url.protocol === 'https:' ? https.request : http.request;
  return open(url, {
    headers,
    lookup,
    signal,
    agent: false, // no shared connections, and no proxy from the environment, which would bypass the address check
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    insecureHTTPParser: true, // for blanks around the sizes of chunks; this connection has no second answer
    maxHeaderSize: MAX_HEAD_BYTES,
  });
}

/** Resolves once the headers have come, or rejects with `failure(cause)`; a closed connection gives no `cause`. */
function responseTo(
  request: ClientRequest, failure: (cause?: NodeJS.ErrnoException) => Error,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.on('error', (cause: NodeJS.ErrnoException) => reject(failure(cause)));
  request.once('close', () => reject(failure()));
  request.once('response', (response) => {
    // If a body has no Content-Length, Node would take a reset or an abort for the end of the body.
    request.on('error', (cause) => { if (!response.complete) response.destroy(cause); });
    resolve(response);
  });
  return promise;
}
