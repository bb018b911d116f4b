import type { LookupAddress } from 'node:dns';
import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { decoderFor, isTooLarge } from './content-decoding.ts';
import { OutboundError } from './outbound-error.ts';
import { bareHost, pinnedLookup, portOf } from './outbound-target.ts';

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
};

export type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };

const MAX_HEADER_BYTES = 32 * 1024;

const TLS_PROBLEMS: Record<string, string> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  EPROTO: 'it does not speak TLS on this port, or not a version that is safe',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate chain is incomplete or from an unknown authority',
};

/**
 * Sends one GET and reads the answer; the body only of a 2xx, empty otherwise. The connection is closed whatever
 * happens. Throws OutboundError, or the signal's reason once it is aborted.
 */
export async function exchange(hop: Exchange): Promise<Answer> {
  const request = openRequest(hop);
  try {
    const response = await waitForHeaders(request, hop);
    const status = response.statusCode ?? 0;
    const body = status >= 200 && status < 300 ? await readBody(response, hop) : Buffer.alloc(0);
    return { status, headers: response.headers, body };
  } catch (error) {
    throw hop.signal.aborted ? hop.signal.reason : error;
  } finally {
    request.destroy();
  }
}

function openRequest({ url, addresses, headers, signal }: Exchange): ClientRequest {
  const open = url.protocol === 'https:' ? https.request : http.request;
  return open({
    hostname: bareHost(url),
    port: portOf(url),
    path: url.pathname + url.search,
    headers,
    agent: false, // no shared connections, and no proxy out of the environment, which would dial unchecked addresses
    lookup: pinnedLookup(addresses),
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    insecureHTTPParser: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    signal,
  });
}

async function waitForHeaders(request: ClientRequest, { url, who, headerMs }: Exchange): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let describe = connectError;
  request.once('socket', (socket) => {
    socket.once('connect', () => (describe = url.protocol === 'https:' ? tlsError : answerError));
    socket.once('secureConnect', () => (describe = answerError));
  });
  request.once('response', (response) => {
    // Without a declared length Node would take a reset or an abort for the end of the body.
    request.on('error', (cause) => { if (!response.complete) response.destroy(cause); });
    resolve(response);
  });
  request.on('error', (cause: NodeJS.ErrnoException) => reject(describe(who, cause))); // stays: errors may come late
  request.once('close', () => reject(answerError(who)));
  const timer = setTimeout(() => reject(slowError(who, headerMs)), headerMs);
  request.end();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

async function readBody(response: IncomingMessage, hop: Exchange): Promise<Buffer> {
  const decode = decoderFor(response.headers['content-encoding']);
  if (!decode) throw new OutboundError('bad-response', `${hop.who} packed its answer in a way the hub cannot unpack`);
  const packed = await readPacked(response, hop);
  try {
    return await decode(packed, hop.maxBytes);
  } catch (cause) {
    if (isTooLarge(cause)) throw tooLargeError(hop);
    throw new OutboundError('bad-response', `the packed answer of ${hop.who} is damaged or incomplete`, { cause });
  }
}

async function readPacked(response: IncomingMessage, hop: Exchange): Promise<Buffer> {
  if (Number(response.headers['content-length']) > hop.maxBytes) throw tooLargeError(hop);
  const chunks: Buffer[] = [];
  let size = 0;
  const idle = setTimeout(() => response.destroy(idleError(hop)), hop.idleMs);
  try {
    for await (const chunk of response) {
      idle.refresh();
      size += chunk.length;
      if (size > hop.maxBytes) throw tooLargeError(hop);
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof OutboundError) throw cause;
    throw new OutboundError('bad-response', `${hop.who} broke off before its answer was complete`, { cause });
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
