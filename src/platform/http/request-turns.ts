import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';

/** The status of dropped requests in log and metrics, as in nginx. It is never sent to a client. */
export const CLIENT_GONE = 499;

/**
 * Whether the client can no longer get an answer: it has closed the connection, or its half, which node:http treats the
 * same way.
 */
export function isGone({ socket }: IncomingMessage): boolean {
  return socket.destroyed || !socket.writable;
}

/**
 * Returns a function that resolves when a request may begin: one in each turn of the event loop, in the order of the
 * calls. Between two of them the loop reads what clients have closed meanwhile. Without turns, a thousand requests that
 * came together would all be answered before the first closed connection is seen.
 */
export function createRequestTurns(): () => Promise<unknown> {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const mine = last;
    last = mine.then(() => setImmediate());
    return mine;
  };
}
