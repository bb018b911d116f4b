import { setImmediate as nextTurn } from 'node:timers/promises';
import { SECOND, type Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import { errorFields, type Log } from '../log.ts';
import type { JobQueue } from './job-queue.ts';

const POLL = SECOND / 4;
const FULL_LOOK = 5 * SECOND;
const FIRST_PAUSE = SECOND / 10;
const LONGEST_PAUSE = 10 * SECOND;

type Needs = {
  db: Db;
  queue: JobQueue;
  kinds: string[];
  clock: Clock;
  log: Log;
  onError: (error: unknown) => void;
  nap: (milliseconds: number) => Promise<boolean>;
  round: () => void;
};

/** Calls `round` whenever there may be something to do. What it throws is told, and the loop goes on after a pause. */
export function createWorkerLoop({ db, queue, kinds, clock, log, onError, nap, round }: Needs) {
  let running: Promise<void> | undefined;
  let stopping = false;

  async function run(): Promise<void> {
    for (let troubles = 0; !stopping; ) {
      try {
        const version = db.pragma('data_version'); // read before the round, so that nothing falls between
        const lookedAt = clock();
        round();
        troubles = 0;
        await rest(version, lookedAt);
      } catch (error) {
        log.error('the worker met trouble and goes on', errorFields(error));
        onError(error);
        await pause(Math.min(FIRST_PAUSE * 2 ** troubles++, LONGEST_PAUSE));
      }
    }
  }

  /** Until a job ends, one falls due, another process has written, or it is time for a look without a reason. */
  async function rest(version: unknown, lookedAt: number): Promise<void> {
    const until = performance.now() + FULL_LOOK;
    const dueAt = queue.nextDueAt(kinds, lookedAt) ?? Infinity;
    while (performance.now() < until && clock() < dueAt && db.pragma('data_version') === version) {
      if (await nap(Math.min(POLL, Math.max(1, dueAt - clock())))) break;
    }
    await nextTurn();
  }

  /** Nothing but `stop` cuts it short: what ends meanwhile would only meet the same trouble. */
  async function pause(milliseconds: number): Promise<void> {
    const until = performance.now() + milliseconds;
    while (!stopping && performance.now() < until) await nap(until - performance.now());
  }

  return {
    start(): void {
      stopping = false;
      running ??= run();
    },

    /** Resolves when the loop has come to its end; a nap in it must be woken. */
    async stop(): Promise<void> {
      stopping = true;
      await running;
      running = undefined;
    },

    /** Waits for a wake, at most until then (performance.now), and for what ends in the same turn. */
    async untilJobsEnd(until: number): Promise<void> {
      await nap(Math.min(until - performance.now(), FULL_LOOK));
      await nextTurn(); // jobs that end in the same turn share a transaction
    },
  };
}
