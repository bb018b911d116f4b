import type { JobHandler, JobHandlers } from '../../platform/jobs/run-job.ts';
import { configured, type Hub, type JobKind } from './hub.ts';
import { mayRecord } from './may-record.ts';

/** What a worker runs for these kinds. */
export function jobHandlers(hub: Hub, kinds: JobKind<never>[]): JobHandlers {
  return Object.fromEntries(kinds.map((kind) => [kind.name, handlerOf(hub, kind)]));
}

function handlerOf(hub: Hub, kind: JobKind<never>): JobHandler {
  const { failed, stores } = kind;
  return {
    concurrency: configured(hub, kind.concurrency),
    run: (job, signal) => kind.run(hub, job.payload as never, signal, job),
    ...(failed && { failed: (job, error, fate) => failed(hub, job.payload as never, error, fate, job) }),
    ...(stores && { mustWait: () => !mayRecord(hub) }),
  };
}
