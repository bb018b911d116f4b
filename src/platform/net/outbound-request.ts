import http, { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';

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
