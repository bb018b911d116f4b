import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { SECOND } from '../clock.ts';

const STATUS_LINES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/**
 * For a server's `clientError`: answers what is no HTTP or comes too slowly, with the `headers` of every answer, and
 * ends the connection. `expect` tells of an answer that is still to be made: a refusal never takes its place, in which
 * the client would take it for that answer; the connection ends after it.
 */
export function createGarbageRefusal(headers: Record<string, string>) {
  const lastExpected = new WeakMap<Duplex, ServerResponse>();
  const refused = new WeakSet<Duplex>();
  const fields = Object.entries({ ...headers, connection: 'close', 'content-length': '0' });
  const lines = fields.map(([name, value]) => `${name}: ${value}`);

  function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
    const isFirst = !refused.has(socket);
    refused.add(socket);
    if (!isFirst || error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const last = lastExpected.get(socket);
    if (last && !last.req.complete && !isItsTurn(last, socket)) return void socket.destroy();
    if (last?.req.complete && !last.writableFinished) return void last.once('close', () => endSoon(socket));
    endSoon(socket, [`HTTP/1.1 ${STATUS_LINES[error.code ?? ''] ?? '400 Bad Request'}`, ...lines, '', ''].join('\r\n'));
  }

  return { refuse, expect: (answer: ServerResponse): void => void lastExpected.set(answer.req.socket, answer) };
}

/** Ends the connection; a client that does not hang up in turn is cut off a second later. */
function endSoon(socket: Duplex, farewell?: string): void {
  socket.end(farewell);
  setTimeout(() => socket.destroy(), SECOND).unref();
}

/** Whether a request that broke off can be refused in its own place: earlier ones are answered, and it is not yet. */
function isItsTurn(answer: ServerResponse, socket: Duplex): boolean {
  return answer.socket === socket && !answer.headersSent;
}
