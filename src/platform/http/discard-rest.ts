import type { IncomingMessage } from 'node:http';

/** Bytes of a body that a client may still send after the answer, unless the server has another limit. */
export const DISCARD_BYTES = 2 * 1024 * 1024;

/** Bodies discarded at the same time: a thousand would block the event loop. */
const DISCARDED_AT_ONCE = 16;

/** After this time, the bodies being discarded give way to those that wait. */
const TURN_MS = 250;

/** Each waiting body takes up to 128 KiB of memory. */
const WAITING_AT_ONCE = 200;
const CUT_AFTER_MS = 250;

/** The time in ms without new bytes after which a refused body no longer delays its response. */
const QUIET_MS = 2_000;

type Rest = { req: IncomingMessage; take(chunk: Buffer): void };

const waiting = new Set<Rest>();
const discarding = new Set<Rest>();
let turn: NodeJS.Timeout | undefined;

/**
 * Reads and discards the rest of a request body for an early response, up to `limit` bytes: a client that is still
 * sending might otherwise never see the response. When the body has ended, the connection serves the client's next
 * request; beyond `limit`, or if very many bodies wait, it is cut. A waiting body has a `readable` listener, because
 * node:http itself would read and drop a body that has no listener.
 */
export function discardRest(req: IncomingMessage, limit = DISCARD_BYTES): void {
  if (isOver(req)) return;
  req.off('readable', leaveUnread).on('readable', leaveUnread); // adds `leaveUnread` to `req` only once
  if (waiting.size >= WAITING_AT_ONCE) return void setTimeout(cutUnlessWhole, CUT_AFTER_MS, req).unref();
  discard(req, limit, { onLimit: () => void req.destroy() });
}

/**
 * Discards a request body before the response. Resolves when the body ends or breaks off, after `limit` bytes, when no
 * more have come for QUIET_MS, or at once if very many bodies wait. Caddy passes a body on for only half a second after
 * the response, then cuts the client.
 */
export function discardBeforeAnswer(req: IncomingMessage, limit: number): Promise<void> {
  return new Promise((resolve) => {
    if (isOver(req) || waiting.size >= WAITING_AT_ONCE) return resolve();
    req.on('readable', leaveUnread);
    const finish = (): void => {
      clearTimeout(quiet);
      resolve();
    };
    const leave = discard(req, limit, { onLimit: finish, onEnd: finish, onChunk: () => void quiet.refresh() });
    const quiet = setTimeout(() => {
      leave();
      resolve();
    }, QUIET_MS);
  });
}

function isOver({ socket, complete, headers }: IncomingMessage): boolean {
  const hasNoBody = headers['transfer-encoding'] === undefined && !Number(headers['content-length']);
  return complete || hasNoBody || socket.destroyed;
}

type Events = { onLimit(): void; onEnd?(): void; onChunk?(): void };

/** The returned function leaves the rest of the body unread. */
function discard(req: IncomingMessage, limit: number, { onLimit, onEnd, onChunk }: Events): () => void {
  const { socket } = req;
  let left = limit;
  const take = (chunk: Buffer): void => {
    left -= chunk.length;
    onChunk?.();
    if (left >= 0) return;
    leave();
    onLimit();
  };
  const rest = { req, take };
  const stop = (): void => {
    req.off('end', onOver);
    socket.off('close', onOver); // if a request breaks off after its response, the socket reports this, not the request
    waiting.delete(rest);
    discarding.delete(rest);
    discardInTurn();
  };
  const onOver = (): void => {
    stop();
    onEnd?.();
  };
  const leave = (): void => {
    req.off('data', take).off('readable', leaveUnread).on('readable', leaveUnread);
    stop();
  };
  waiting.add(rest);
  req.on('end', onOver);
  socket.on('close', onOver);
  discardInTurn();
  return leave;
}

function leaveUnread(): void {}

function cutUnlessWhole(req: IncomingMessage): void {
  if (req.complete) req.off('readable', leaveUnread).resume();
  else req.socket.destroy();
}

function discardInTurn(): void {
  for (const rest of waiting) {
    if (discarding.size === DISCARDED_AT_ONCE) break;
    waiting.delete(rest);
    discarding.add(rest);
    rest.req.off('readable', leaveUnread).on('data', rest.take);
  }
  if (waiting.size > 0) turn ??= setTimeout(endTurn, TURN_MS).unref();
  else endTurns();
}

function endTurns(): void {
  clearTimeout(turn);
  turn = undefined;
}

function endTurn(): void {
  endTurns();
  for (const rest of discarding) {
    discarding.delete(rest);
    waiting.add(rest);
    rest.req.off('data', rest.take).on('readable', leaveUnread);
  }
  discardInTurn();
}
