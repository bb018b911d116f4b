import type { TestContext } from 'node:test';
import type { Db } from '../../src/platform/db/open-database.ts';
import type { Job } from '../../src/platform/jobs/claim-jobs.ts';
import { createWorkerQueue } from '../../src/platform/jobs/worker-queue.ts';
import type { JobHandler } from '../../src/platform/jobs/run-job.ts';
import { createWorker } from '../../src/platform/jobs/worker.ts';
import { createLog } from '../../src/platform/log.ts';
import { jobEffects } from './job-effects.ts';
import { migratedDatabase } from './migrated-database.ts';

export const START = Date.UTC(2025, 0, 1);

type Line = Record<string, unknown> & { event: string; level: string };
type Options = { realTime?: boolean };

/** A worker on a file of its own; its jobs' effects, log lines, errors, transactions and pragmas can be looked at. */
export function startWorker(t: TestContext, handlers: Record<string, Partial<JobHandler>>, options: Options = {}) {
  const { realTime = false } = options;
  const { db: file, connect } = migratedDatabase(t);
  const { db, transactions, pragmas } = recordUse(file);
  let now = START;
  const clock = realTime ? Date.now : () => now;
  const lines: Line[] = [];
  const errors: unknown[] = [];
  const log = createLog('worker', 'debug', clock, (text) => {
    for (const line of text.trim().split('\n')) lines.push(JSON.parse(line));
  });
  const queue = createWorkerQueue(db, clock, () => 0.5);
  const effects = jobEffects(db);
  const worker = createWorker({
    db, queue, clock, log, onError: (error) => errors.push(error),
    handlers: Object.fromEntries(Object.entries(handlers).map(([kind, handler]) => [kind, complete(handler)])),
  });
  t.after(() => worker.stop(0));
  return {
    db, queue, worker, log, errors, transactions, pragmas, connect, clock,
    lines: () => (log.flush(), lines),
    events: () => (log.flush(), lines.map(({ event }) => event)),
    passTime: (milliseconds: number) => void (now += milliseconds),
    effect: (job: Job) => () => effects.leave(job.id),
    largeEffect: () => effects.leave(1, 1_000_000),
    effects: effects.ids,
    states: () => queue.list().map(({ state }) => state).reverse(),
  };
}

function complete(handler: Partial<JobHandler>): JobHandler {
  return { concurrency: 1, run: async () => {}, ...handler };
}

/** The same connection; the names of the transactions and the pragmas that were run are noted. */
function recordUse(file: Db): { db: Db; transactions: string[]; pragmas: string[] } {
  const transactions: string[] = [];
  const pragmas: string[] = [];
  const db: Db = {
    ...file,
    pragma(source) {
      pragmas.push(source);
      return file.pragma(source);
    },
    transaction(name, work) {
      const run = file.transaction(name, work);
      return (...args) => {
        if (!file.inTransaction) transactions.push(name);
        return run(...args);
      };
    },
    get inTransaction() {
      return file.inTransaction;
    },
  };
  return { db, transactions, pragmas };
}

/** A handler that waits for the test, and says what its signal told it. */
export function gate() {
  const started: Job[] = [];
  const reasons: string[] = [];
  const open: (() => void)[] = [];
  async function run(job: Job, signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => reasons.push(signal.reason.message));
    started.push(job);
    await new Promise<void>((resolve) => open.push(resolve));
  }
  return { run, started, reasons, open };
}
