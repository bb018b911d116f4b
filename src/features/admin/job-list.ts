import {
  choice, from, id, integer, madeOf, named, object, orNull, text, time,
} from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/http-error.ts';
import { postButton } from '../../platform/http/page-parts.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { JOB_STATES, type JobRow, type JobState } from '../../platform/jobs/job-records.ts';
import { actorOf, audit, type Actor } from '../audit/audit.ts';
import { act, type Endpoint } from '../hub/acts.ts';
import { adminList, byState, each } from '../hub/lists.ts';
import { counts, jobs, type Hub } from '../hub/hub.ts';
import { progressBar } from '../hub/progress-views.ts';
import { SYNC_SOURCE } from '../sources/sync-state-store.ts';

const JOB = named('Job', madeOf(object({
  id, kind: text, subject: from('dedupeKey', orNull(text)), lane: orNull(text), state: choice(JOB_STATES),
  attempts: integer, maxAttempts: integer, lastError: orNull(text),
  progress: orNull(object({ done: integer, total: orNull(integer) })),
  runAt: time, createdAt: time, finishedAt: orNull(time),
}), ({ progress: done, progressTotal: total, ...job }: JobRow) =>
  ({ ...job, progress: done === null ? null : { done, total } })));

export const jobList = adminList<JobRow, 'id', JobState | undefined>({
  name: 'jobs',
  title: 'Jobs',
  summary: 'Jobs, newest first; state filters them',
  key: ['id'],
  select: (hub, { after, limit, filter: state }) => jobs(hub).list({ state, before: after?.id, limit }),
  filter: byState('jobs', JOB_STATES, 'failed'),
  lead: unfinishedJobs,
  shape: JOB,
  rows: each(item),
  empty: 'No jobs in this state.',
});

function unfinishedJobs(hub: Hub): Html {
  const kept = counts(hub).read();
  const left = new Map<string, number>();
  for (const label of kept.labels('jobs')) {
    const [kind = '', state = ''] = label.split(',');
    if (!UNDER_WAY.includes(state)) continue;
    left.set(kind, (left.get(kind) ?? 0) + kept.value('jobs', label));
  }
  const said = [...left].filter(([, n]) => n > 0).map(([kind, n]) => `${n.toLocaleString('en')} ${kind}`);
  return html`<p>Unfinished jobs: ${said.join(', ') || 'nothing'}.</p>`;
}

const UNDER_WAY = ['queued', 'running', 'retrying'];

function item(job: JobRow, times: Times): Html {
  const { kind, dedupeKey, state, attempts, maxAttempts, lastError } = job;
  const subject = kind === SYNC_SOURCE && dedupeKey
    ? html`<a href="/sources/${dedupeKey}">source ${dedupeKey}</a>`
    : html`${dedupeKey?.slice(0, 16)}`;
  return html`
  <li>
    <div><p class="title">${kind} ${subject}</p>
      <p class="meta"><span class="tag ${state === 'failed' && 'failing'}">${state}</span>
        <span>attempt ${attempts} of ${maxAttempts}</span> <span>${timeOf(job, times)}</span></p>
      ${state !== 'done' && job.progress !== null && html`<p class="summary">${
        progressBar({ done: job.progress, total: job.progressTotal })}</p>`}
      ${lastError && html`<p class="summary">${lastError}</p>`}</div>
    ${buttons(job)}
  </li>`;
}

function timeOf({ state, runAt, finishedAt }: JobRow, times: Times): Html {
  if (finishedAt !== null) return html`finished ${showTime(times, finishedAt)}`;
  return html`${state === 'running' ? 'was due' : 'due'} ${showTime(times, runAt)}`;
}

function buttons({ id, state }: JobRow): Html {
  const mayDiscard = ['failed', 'retrying', 'queued'].includes(state);
  return html`<div class="actions">
    ${state === 'failed' && postButton(`/admin/jobs/${id}/retry`, 'Retry', 'secondary', `Retry job ${id}`)}
    ${mayDiscard && postButton(`/admin/jobs/${id}/discard`, 'Discard', 'link', `Discard job ${id}`)}</div>`;
}

export const JOB_ROUTES: Endpoint[] = [
  ...act({
    api: 'POST /api/admin/jobs/:id/retry', form: 'POST /admin/jobs/:id/retry', access: 'admin',
    summary: 'Run a failed job again',
    run: (hub, _given, req) => {
      if (settleJob(hub, 'retry', find(hub, req), actorOf(req))) return find(hub, req);
      throw new HttpError(409, 'This job has not failed, or another of its kind and subject is waiting or running.');
    },
    shape: JOB, show: JOB.show, refusals: [409], to: '/admin/jobs',
  }),
  ...act({
    api: 'DELETE /api/admin/jobs/:id', form: 'POST /admin/jobs/:id/discard', access: 'admin',
    summary: 'Discard a failed or waiting job',
    run: (hub, _given, req) => {
      if (settleJob(hub, 'discard', find(hub, req), actorOf(req))) return;
      throw new HttpError(409, 'This job cannot be discarded: it is running or has ended.');
    },
    refusals: [409], to: '/admin/jobs',
  }),
];

function find(hub: Hub, { params }: MemberRequest): JobRow {
  const job = jobs(hub).find(pathId(params));
  if (!job) throw notFound('job');
  return job;
}

const SETTLED = { retry: 'job.retried', discard: 'job.discarded' } as const;

/**
 * Returns false if a job to retry has not failed or another one of its kind and key is unfinished, or if a job to
 * discard is running, done or discarded.
 */
export function settleJob(hub: Hub, act: 'retry' | 'discard', { id, kind }: JobRow, actor: Actor): boolean {
  return hub.db.write(`${act} job`, () => {
    const isDone = jobs(hub)[act](id);
    if (isDone) audit(hub, SETTLED[act], actor, { kind: 'job', id, name: kind });
    return isDone;
  });
}
