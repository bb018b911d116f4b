import type { IncomingMessage } from 'node:http';

/** Bodies that are read only to be discarded, at once: a thousand of them would fill each turn of the event loop. */
const DISCARDED_AT_ONCE = 16;

/** Bodies that wait, each with what came with its head: up to 128 KiB. Of more the connections are cut soon. */
const WAITING_AT_ONCE = 200;
const CUT_AFTER_MS = 250;

let discarding = 0;
const waiting = new Map<IncomingMessage, number>(); // with their limits

/**
 * After an answer given before the body was read, the rest is read and discarded, up to `limit` bytes: a client whose
 * connection is cut while it sends may never see the answer. The connection then serves the next request. Bodies take
 * turns; one that waits is not read, for which it has a listener: node:http reads what nobody listens to. Where very
 * many wait, the connection is cut soon after its answer.
 */
export function discardRest(req: IncomingMessage, limit: number): void {
  const { socket, complete, headers } = req;
  const hasNoBody = headers['transfer-encoding'] === undefined && !Number(headers['content-length']);
  if (complete || hasNoBody || socket.destroyed) return;
  if (waiting.size >= WAITING_AT_ONCE) {
    req.on('readable', leaveUnread);
    return void setTimeout(() => socket.destroy(), CUT_AFTER_MS).unref();
  }
  const onOver = (): void => {
    req.off('end', onOver);
    socket.off('close', onOver); // of a request that breaks off after its answer nothing else tells
    if (!waiting.delete(req)) discarding--;
    discardInTurn();
  };
  waiting.set(req.on('readable', leaveUnread).on('end', onOver), limit);
  socket.on('close', onOver);
  discardInTurn();
}

function leaveUnread(): void {}

function discardInTurn(): void {
  for (const [req, limit] of waiting) {
    if (discarding === DISCARDED_AT_ONCE) return;
    waiting.delete(req);
    discarding++;
    discard(req, limit);
  }
}

function discard(req: IncomingMessage, limit: number): void {
  let discarded = 0;
  req.off('readable', leaveUnread).on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > limit) req.destroy();
  });
}
