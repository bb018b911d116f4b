import { setImmediate as nextTurn } from 'node:timers/promises';
import { SECOND, type Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import { errorFields, type Log } from '../log.ts';
import { createInFlightJobs } from './in-flight-jobs.ts';
import type { JobHandlers } from './run-job.ts';
import type { WorkerQueue } from './worker-queue.ts';

type WorkerOptions = {
  db: Db;
  queue: WorkerQueue;
  handlers: JobHandlers;
  clock: Clock;
  log: Log;
  onError: (error: unknown) => void; // told of faults of the hub, such as a full disk; not of what handlers throw
};

export type Worker = {
  start(): void;
  /** For tests: runs all jobs that are due, and those that become due meanwhile. Returns how many. */
  runDue(): Promise<number>;
  /**
   * Claims nothing more and tells the in-flight jobs by their signals. Those that do not end within `graceMs` are
   * given back, without the attempt being counted, and their late results are ignored.
   */
  stop(graceMs: number): Promise<void>;
};

/** How often an idle worker checks whether another process has written, and how often it looks for due jobs anyway. */
const POLL = SECOND / 4;
const FULL_LOOK = 5 * SECOND;

/** The shortest pause between two rounds, in which writers of other processes retry (`batched-writes.ts`). */
const SHORTEST_BREATH = 5;

/** If another process has written within this time, the pause is as long as the round before it. */
const OTHERS_WRITE = SECOND;

/** After an error the worker pauses, twice as long each time. */
const FIRST_PAUSE = SECOND / 10;
const LONGEST_PAUSE = 10 * SECOND;

/** One loop for all kinds of jobs, each with its own concurrency. Jobs of a kind without a handler are left alone. */
export function createWorker(options: WorkerOptions): Worker {
  const { queue } = options;
  const idle = createIdleWait();
  const inFlight = createInFlightJobs({ ...options, onEnd: idle.wake });
  const loop = createLoop(options, idle, round);
  let unwatch = () => {};

  function round(): void {
    inFlight.settle();
    inFlight.claim();
  }

  /** Waits until a job ends, at most until then (performance.now), and for what ends in the same turn. */
  async function untilJobsEnd(until: number): Promise<void> {
    await idle.wait(Math.min(until - performance.now(), FULL_LOOK));
    await nextTurn(); // jobs that end in the same turn share a transaction
  }

  return {
    start() {
      unwatch = queue.watch(idle.wake);
      loop.start();
    },

    async runDue() {
      for (let done = 0; ; ) {
        inFlight.claim();
        if (inFlight.areNone()) return done;
        await untilJobsEnd(Infinity);
        done += inFlight.settle();
      }
    },

    async stop(graceMs) {
      unwatch();
      inFlight.tellToStop(new Error('the worker is stopping'));
      await loop.stop();
      const until = performance.now() + graceMs;
      while (inFlight.areAtWork() && performance.now() < until) {
        await untilJobsEnd(until);
        inFlight.trySettle();
      }
      inFlight.giveBack();
    },
  };
}

/** Calls `round` whenever there may be work. Errors are logged, and the loop goes on after a pause. */
function createLoop({ db, queue, handlers, clock, log, onError }: WorkerOptions, idle: IdleWait, round: () => void) {
  let running: Promise<void> | undefined;
  let stopping = false;

  async function run(): Promise<void> {
    let [lastVersion, othersWroteAt] = [undefined as unknown, 0];
    for (let troubles = 0; !stopping; ) {
      try {
        const version = db.pragma('data_version'); // read before the round, so that nothing falls between
        const lookedAt = clock();
        const began = performance.now();
        if (version !== lastVersion) [lastVersion, othersWroteAt] = [version, began];
        round();
        troubles = 0;
        const took = began - othersWroteAt < OTHERS_WRITE ? performance.now() - began : 0;
        const nextAt = performance.now() + Math.max(SHORTEST_BREATH, took);
        await rest(version, lookedAt);
        await pause(nextAt - performance.now());
      } catch (error) {
        log.error('error in the worker loop; continuing', errorFields(error));
        onError(error);
        await pause(Math.min(FIRST_PAUSE * 2 ** troubles++, LONGEST_PAUSE));
      }
    }
  }

  /** Waits until a job ends, one falls due, another process has written, or 5 s are over. */
  async function rest(version: unknown, lookedAt: number): Promise<void> {
    const until = performance.now() + FULL_LOOK;
    const kinds = Object.entries(handlers).filter(([, { mustWait }]) => !mustWait?.()).map(([kind]) => kind);
    const dueAt = queue.nextDueAt(kinds, lookedAt) ?? Infinity;
    while (performance.now() < until && clock() < dueAt && db.pragma('data_version') === version) {
      if (await idle.wait(Math.min(POLL, Math.max(1, dueAt - clock())))) break;
    }
    await nextTurn();
  }

  /** Only `stop` cuts it short: jobs that end meanwhile have their turn in the next round. */
  async function pause(milliseconds: number): Promise<void> {
    const until = performance.now() + milliseconds;
    for (let left = milliseconds; !stopping && left > 0; left = until - performance.now()) await idle.wait(left);
  }

  return {
    start(): void {
      stopping = false;
      running ??= run();
    },

    /** Resolves when the loop has come to its end. */
    async stop(): Promise<void> {
      stopping = true;
      idle.wake();
      await running;
      running = undefined;
    },
  };
}

/** A wait that can be cut short. A call to `wake` while nobody waits cuts the next wait short. */
type IdleWait = {
  wake(): void;
  /** Resolves after the time, or early and with true when woken. */
  wait(milliseconds: number): Promise<boolean>;
};

function createIdleWait(): IdleWait {
  let isWoken = false;
  let endWait = () => {};

  function sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      endWait = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  return {
    wake() {
      isWoken = true;
      endWait();
    },
    async wait(milliseconds) {
      if (!isWoken) await sleep(milliseconds);
      const woken = isWoken;
      isWoken = false;
      return woken;
    },
  };
}
