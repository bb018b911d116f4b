import type { Clock } from '../clock.ts';
import { errorFields, withLogContext, type Log } from '../log.ts';
import { takeInHand, type JobInHand } from './job-in-hand.ts';
import type { Job, JobQueue } from './job-queue.ts';
import { createSettle } from './settle-jobs.ts';
import type { JobHandler, JobHandlers } from './worker.ts';

type Needs = {
  queue: JobQueue;
  handlers: JobHandlers;
  clock: Clock;
  log: Log;
  onError: (error: unknown) => void;
  onEnd: () => void;
};

/** The jobs that this worker has taken and not yet written down. */
export function createHands({ queue, handlers, clock, log, onError, onEnd }: Needs) {
  const inHand = new Set<JobInHand>();
  let stopping = false;
  const settle = createSettle({ queue, inHand, log, onError, isStopping: () => stopping });

  function fillFor(kind: string, handler: JobHandler): void {
    const busy = [...inHand].filter(({ job }) => job.kind === kind).length;
    const buried: [Job, Error][] = [];
    const jobs = queue.claim(kind, handler.concurrency - busy, (job, error) => {
      handler.failed?.(job, error, 'failed');
      buried.push([job, error]);
    });
    for (const [job, error] of buried) noteBuried(log, job, error);
    for (const job of jobs) inHand.add(takeInHand(job, handler, { queue, clock, onEnd }));
  }

  function release(hand: JobInHand): void {
    inHand.delete(hand);
    if (queue.release(hand.job)) noteReleased(log, hand.job);
  }

  function calmly(work: () => void): void {
    try {
      work();
    } catch (error) {
      log.error('jobs in hand could not be written down', errorFields(error));
      onError(error);
    }
  }

  return {
    settle,

    /** Claims as much as there are free hands, and starts it. */
    fill(): void {
      stopping = false;
      for (const [kind, handler] of Object.entries(handlers)) fillFor(kind, handler);
    },

    tellToStop(reason: Error): void {
      stopping = true;
      for (const hand of inHand) hand.abort(reason);
    },

    settleCalmly: (): void => calmly(settle),

    /** What has ended is written down, the rest is released; if the disk does not allow it, the leases run out. */
    giveBack(): void {
      const unfinished = [...inHand].filter(({ outcome }) => !outcome);
      for (const hand of unfinished) hand.letGo();
      calmly(settle);
      calmly(() => unfinished.forEach(release));
      inHand.clear();
    },

    areEmpty: (): boolean => inHand.size === 0,
    areAtWork: (): boolean => [...inHand].some(({ outcome }) => !outcome),
  };
}

function noteBuried(log: Log, { id, kind, attempts }: Job, error: Error): void {
  const fields = { kind, attempt: attempts, ...errorFields(error) };
  withLogContext({ jobId: id }, () => log.error('job failed for good', fields));
}

function noteReleased(log: Log, { id, kind, attempts }: Job): void {
  withLogContext({ jobId: id }, () => log.info('job released', { kind, attempt: attempts }));
}
