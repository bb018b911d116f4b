import { discardJob, retryJob } from '../features/admin/job-list.ts';
import { COMMAND_LINE } from '../features/audit/audit-store.ts';
import { jobs } from '../features/hub/hub.ts';
import { isoTime } from '../platform/clock.ts';
import { parseId } from '../platform/http/input.ts';
import { JOB_STATES, type JobRow } from '../platform/jobs/job-queue.ts';
import {
  LISTED, tellNewest, UsageError, type Command, type CommandContext, type ExitCode, type Values,
} from './command.ts';

const SETTLE = { retry: retryJob, discard: discardJob };

/** Looks after jobs: above all those that ran out of retries. */
export const jobsCommand: Command = {
  options: { state: { type: 'string' }, json: { type: 'boolean' } },
  operands: 2,

  run([act, id], values, context) {
    if (act === 'list' && id === undefined) return list(values, context);
    if (act === 'retry' || act === 'discard') return settle(act, id, context);
    throw new UsageError('expected list, retry <id> or discard <id>');
  },
};

async function list({ state = 'failed', json }: Values, context: CommandContext): Promise<ExitCode> {
  const known = JOB_STATES.find((one) => one === state);
  if (!known && state !== 'all') throw new UsageError(`--state must be one of ${JOB_STATES.join(', ')}, all`);
  const found = jobs(await context.openHub()).list({ limit: LISTED + 1, state: known });
  return tellNewest(found, json, json ? asJson : line, known ? `no ${state} jobs` : 'no jobs', context);
}

/** As the API shows it, with what it works on: this is for whoever runs the hub. */
function asJson({ runAt, leaseExpiresAt, createdAt, finishedAt, ...job }: JobRow) {
  return {
    ...job,
    runAt: isoTime(runAt), leaseExpiresAt: isoTime(leaseExpiresAt),
    createdAt: isoTime(createdAt), finishedAt: isoTime(finishedAt),
  };
}

function line({ id, kind, dedupeKey, state, attempts, maxAttempts, runAt, lastError }: JobRow): string {
  const subject = dedupeKey === null ? kind : `${kind} ${dedupeKey}`;
  const when = isoTime(runAt);
  const reason = (lastError ?? '').replace(/\s+/g, ' ');
  return `${[id, state, subject, `${attempts}/${maxAttempts}`, when, reason].join('\t')}\n`;
}

async function settle(
  act: 'retry' | 'discard', id: string | undefined, { err, openHub }: CommandContext,
): Promise<ExitCode> {
  const jobId = parseId(id ?? '');
  if (jobId === undefined) throw new UsageError(`jobs ${act} needs the id of a job`);
  const hub = await openHub();
  const job = jobs(hub).find(jobId);
  if (job && SETTLE[act](hub, job, COMMAND_LINE)) return 0;
  err(act === 'retry'
    ? `job ${jobId} has not failed, or another one for the same source is waiting\n`
    : `there is no job ${jobId} that can be discarded\n`);
  return 1;
}
