import type { ServerResponse } from 'node:http';
import { createTally } from '../limit-concurrency.ts';
import type { MetLimit } from './body.ts';

/** Limits in bytes of responses that clients have not read: for one client, and for all clients together. */
const OF_ONE = 8 * 1024 * 1024;
const OF_ALL = 96 * 1024 * 1024;

const WAITING_OF_ONE = 100;
const WAITING_OF_ALL = 1_000;

/** What a streamed response counts as, in bytes: about the longest post in an export. */
export const STREAM_BYTES = 2.5 * 1024 * 1024;

/** `Asked`: a request with its response. */
export type UntakenAnswers<Asked extends { res: ServerResponse }> = ReturnType<typeof createUntakenAnswers<Asked>>;

type Held = { who: string; bytes: number };

/**
 * Limits the memory for unread responses; `clientOf` names the client of a request. A response counts in full until the
 * operating system has taken its last byte, because Node holds the whole of it until then. A file does not count: it is
 * read only as fast as the client takes it. If unread responses take too much memory, the oldest are cut off, because
 * their readers are the slowest.
 */
export function createUntakenAnswers<Asked extends { res: ServerResponse }>(
  metLimit: MetLimit, clientOf: (asked: Asked) => string,
) {
  const held = new Map<ServerResponse, Held>(); // oldest first
  const unread = createTally(); // bytes
  const waiting = new Map<string, Set<() => void>>();
  let waitingOfAll = 0;

  function free(res: ServerResponse): void {
    const found = held.get(res);
    if (!found) return;
    held.delete(res);
    unread.add([found.who], -found.bytes);
    beginNext(found.who);
  }

  /** Counts a response against memory limits until its end. `bytes`: by default, what Node holds of the response. */
  function note(asked: Asked, bytes = asked.res.writableLength): void {
    const { res } = asked;
    if (bytes === 0 || res.destroyed || held.has(res)) return;
    const who = clientOf(asked);
    held.set(res, { who, bytes });
    unread.add([who], bytes);
    res.once('close', () => free(res));
    if (unread.total() > OF_ALL) cutOldest();
  }

  function cutOldest(): void {
    for (const res of held.keys()) {
      if (unread.total() <= OF_ALL) break;
      if (res.writableLength === 0) continue; // the client has read all bytes sent so far
      metLimit('answers', 0, 'Too many responses wait for slow clients to read them.');
      res.destroy();
      free(res);
    }
  }

  function beginNext(who: string): void {
    const [next] = waiting.get(who) ?? [];
    if (next && !isOver(who)) next();
  }

  function isOver(who: string): boolean {
    return unread.countOf(who) >= OF_ONE;
  }

  function isFull(asked: Asked): boolean {
    if (unread.total() < OF_ONE && waitingOfAll === 0) return false; // skips `clientOf`: no client can be over it
    const who = clientOf(asked);
    return isOver(who) || waiting.has(who);
  }

  /**
   * Resolves when the client has read enough, or has closed the request's connection. Throws 503 if too many requests
   * wait for slow clients. The result begins the client's next waiting request: call it once the response to this one
   * counts (`note`).
   */
  function room(asked: Asked): Promise<() => void> {
    const { res } = asked;
    const who = clientOf(asked);
    const ofClient = waiting.get(who) ?? new Set();
    if (ofClient.size >= WAITING_OF_ONE || waitingOfAll >= WAITING_OF_ALL) {
      throw metLimit('answers', 10, 'Too many requests wait until clients have read earlier responses.');
    }
    waiting.set(who, ofClient);
    waitingOfAll++;
    return new Promise((resolve) => {
      const leave = (): void => {
        res.off('close', leave);
        ofClient.delete(leave);
        if (ofClient.size === 0) waiting.delete(who);
        waitingOfAll--;
        resolve(() => beginNext(who));
      };
      ofClient.add(leave);
      res.once('close', leave);
    });
  }

  return { note, isFull, room };
}
