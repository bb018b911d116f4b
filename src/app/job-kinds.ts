import { deliverAlert } from '../features/alerts/deliver-alert.ts';
import { scanUpload } from '../features/attachments/scan-upload.ts';
import { syncSource } from '../features/feeds/sync-source.ts';
import { removeAccount } from '../features/leaving/remove-account.ts';
import { removeSource } from '../features/manage-sources/remove-source.ts';
import { configured, type JobKind } from '../features/hub/job-kind.ts';
import type { Hub } from '../features/hub/hub.ts';
import type { JobHandler, JobHandlers } from '../platform/jobs/worker.ts';

/** Every kind of job. Payloads differ from kind to kind: what is enqueued for a kind is what its `run` is given. */
export const JOB_KINDS: JobKind<never>[] = [syncSource, removeSource, scanUpload, deliverAlert, removeAccount];

/** The handlers that a worker runs, by name of kind. */
export function jobHandlers(hub: Hub, kinds = JOB_KINDS): JobHandlers {
  return Object.fromEntries(kinds.map((kind) => [kind.name, handlerOf(hub, kind)]));
}

/** Names of the kinds whose jobs a restore lets run again; it discards those of all others. */
export function kindsToRunAgain(): string[] {
  return JOB_KINDS.filter(({ afterRestore }) => afterRestore === 'run').map(({ name }) => name);
}

function handlerOf(hub: Hub, kind: JobKind<never>): JobHandler {
  const { failed } = kind;
  return {
    concurrency: configured(hub, kind.concurrency),
    run: (job, signal) => kind.run(hub, job.payload as never, signal, job),
    ...(failed && { failed: (job, error, fate) => failed(hub, job.payload as never, error, fate, job) }),
  };
}
