import type { LookupAddress } from 'node:dns';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { decoderFor, isTooLarge } from './content-decoding.ts';
import { OutboundError } from './outbound-error.ts';
import { openRequest, responseTo } from './outbound-request.ts';
import { pinnedLookup } from './outbound-target.ts';

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
