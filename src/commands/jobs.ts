import { parseId } from '../platform/http/input.ts';
import { COMMAND_LINE } from '../features/audit/audit.ts';
import type { JobState } from '../platform/jobs/job-queue.ts';
import type { JobRow } from '../platform/jobs/job-records.ts';
import type { App } from '../app/app.ts';
import { UsageError, type Command, type CommandContext, type ExitCode, type Values } from './run-hubctl.ts';

const STATES: JobState[] = ['queued', 'running', 'retrying', 'failed', 'done', 'discarded'];
const LIMIT = 100;

/** Looks after jobs: above all those that ran out of retries. */
export const jobsCommand: Command = {
  usage: 'jobs list [--state STATE] [--json] | jobs retry <id> | jobs discard <id>',
  summary: `List jobs (failed ones, unless --state says ${STATES.join('|')}|all), run one again, or give it up.`,
  options: { state: { type: 'string' }, json: { type: 'boolean' } },

  run([act, id, ...rest], values, context) {
    if (rest.length > 0) throw new UsageError(`unexpected argument ${rest[0]}`);
    if (act === 'list' && id === undefined) return list(values, context);
    if (act === 'retry' || act === 'discard') return settle(act, id, context);
    throw new UsageError('say list, retry <id> or discard <id>');
  },
};

function list({ state = 'failed', json }: Values, { out, err, openApp }: CommandContext): ExitCode {
  const known = STATES.find((one) => one === state);
  if (!known && state !== 'all') throw new UsageError(`--state must be one of ${STATES.join(', ')}, all`);
  const found = openApp().jobs.list({ limit: LIMIT + 1, ...(known ? { state: known } : {}) });
  const rows = found.slice(0, LIMIT);
  if (json) out(`${JSON.stringify(rows.map(asJson))}\n`);
  else if (rows.length === 0) err(known ? `no ${state} jobs\n` : 'no jobs\n');
  else out(rows.map(line).join(''));
  if (found.length > LIMIT) err(`only the newest ${LIMIT} are listed\n`);
  return 0;
}

/** As the API shows it, with what it works on: this is for whoever runs the hub. */
function asJson({ runAt, leaseExpiresAt, createdAt, finishedAt, ...job }: JobRow) {
  return {
    ...job,
    runAt: time(runAt), leaseExpiresAt: time(leaseExpiresAt), createdAt: time(createdAt), finishedAt: time(finishedAt),
  };
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

function line({ id, kind, dedupeKey, state, attempts, maxAttempts, runAt, lastError }: JobRow): string {
  const subject = dedupeKey === null ? kind : `${kind} ${dedupeKey}`;
  const when = new Date(runAt).toISOString();
  const reason = (lastError ?? '').replace(/\s+/g, ' ');
  return `${[id, state, subject, `${attempts}/${maxAttempts}`, when, reason].join('\t')}\n`;
}

function settle(act: 'retry' | 'discard', id: string | undefined, { err, openApp }: CommandContext): ExitCode {
  const jobId = parseId(id ?? '');
  if (jobId === undefined) throw new UsageError(`jobs ${act} needs the id of a job`);
  const app = openApp();
  const settled = app.db.transaction(`${act} job`, () => settleAndRecord(app, act, jobId))();
  if (settled) return 0;
  err(act === 'retry'
    ? `job ${jobId} is not failed, or another for the same source is waiting\n`
    : `there is no job ${jobId} that could be discarded\n`);
  return 1;
}

function settleAndRecord({ jobs, recordAct }: App, act: 'retry' | 'discard', id: number): boolean {
  const job = jobs.find(id);
  const settled = act === 'retry' ? jobs.retry(id) : jobs.discard(id);
  const name = act === 'retry' ? 'job.retried' : 'job.discarded';
  if (settled && job) recordAct(name, COMMAND_LINE, { kind: 'job', id, name: job.kind });
  return settled;
}
