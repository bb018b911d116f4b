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
  onError: (error: unknown) => void; // gets errors of the worker, such as a full disk, and of `failed`; not of `run`
};

/** An idle worker checks every POLL ms whether another process wrote, and for due jobs at least every FULL_LOOK ms. */
const POLL = SECOND / 4;
const FULL_LOOK = 5 * SECOND;

/** The shortest pause between two worker rounds, so that writers of other processes can take the write lock. */
const SHORTEST_BREATH = 5;

/** For this long after a write of another process, each pause of the worker is at least as long as the round before. */
const OTHERS_WRITE = SECOND;

const FIRST_PAUSE = SECOND / 10;
const LONGEST_PAUSE = 10 * SECOND;

/** Runs jobs in one loop, up to the concurrency limit of each kind. Ignores jobs of a kind without a handler. */
export function createWorker(options: WorkerOptions) {
  const { queue } = options;
  const idle = createIdleWait();
  const inFlight = createInFlightJobs({ ...options, onEnd: idle.wake });
  const loop = createLoop(options, idle, round);
  let unwatch = () => {};

  function round(): void {
    inFlight.settle();
    inFlight.claim();
  }

  /** `until`: a time of performance.now(). */
  async function untilJobsEnd(until: number): Promise<void> {
    await idle.wait(Math.min(until - performance.now(), FULL_LOOK));
    await nextTurn(); // jobs that end in the same event-loop round share a transaction
  }

  return {
    start(): void {
      unwatch = queue.watch(idle.wake);
      loop.start();
    },

    /** For tests: runs all due jobs, also jobs that become due meanwhile. Returns the number of jobs run. */
    async runDue(): Promise<number> {
      for (let done = 0; ; ) {
        inFlight.claim();
        if (inFlight.areNone()) return done;
        await untilJobsEnd(Infinity);
        done += inFlight.settle();
      }
    },

    /**
     * Aborts the signals of in-flight jobs. Jobs that then fail, or do not end within `graceMs`, go back to the queue
     * without counting the attempt; late results are ignored.
     */
    async stop(graceMs: number): Promise<void> {
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

function createLoop({ db, queue, handlers, clock, log, onError }: WorkerOptions, idle: IdleWait, round: () => void) {
  let running: Promise<void> | undefined;
  let stopping = false;

  async function run(): Promise<void> {
    let [lastVersion, othersWroteAt] = [undefined as unknown, 0];
    for (let troubles = 0; !stopping; ) {
      try {
        // Read before `round`, to notice what other processes write meanwhile.
        const version = db.pragma('data_version');
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

  async function rest(version: unknown, lookedAt: number): Promise<void> {
    const until = performance.now() + FULL_LOOK;
    const kinds = Object.entries(handlers).filter(([, { mustWait }]) => !mustWait?.()).map(([kind]) => kind);
    const dueAt = queue.nextDueAt(kinds, lookedAt) ?? Infinity;
    while (performance.now() < until && clock() < dueAt && db.pragma('data_version') === version) {
      if (await idle.wait(Math.min(POLL, Math.max(1, dueAt - clock())))) break;
    }
    await nextTurn();
  }

  /** Waits for `milliseconds`, or until the worker stops. A job that ends meanwhile does not shorten it. */
  async function pause(milliseconds: number): Promise<void> {
    const until = performance.now() + milliseconds;
    for (let left = milliseconds; !stopping && left > 0; left = until - performance.now()) await idle.wait(left);
  }

  return {
    start(): void {
      stopping = false;
      running ??= run();
    },

    async stop(): Promise<void> {
      stopping = true;
      idle.wake();
      await running;
      running = undefined;
    },
  };
}

type IdleWait = ReturnType<typeof createIdleWait>;

/** A call to `wake` while nobody waits cuts the next wait short. */
function createIdleWait() {
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
    wake(): void {
      isWoken = true;
      endWait();
    },
    /** Resolves to false after the given time, or to true as soon as `wake` is called. */
    async wait(milliseconds: number): Promise<boolean> {
      if (!isWoken) await sleep(milliseconds);
      const woken = isWoken;
      isWoken = false;
      return woken;
    },
  };
}
