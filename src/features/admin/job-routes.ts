import type { Db } from '../../platform/db/open-database.ts';
import { pathId } from '../../platform/http/input.ts';
import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { HttpError, notFound } from '../../platform/http/problem.ts';
import { json, noContent, page, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route } from '../../platform/http/router.ts';
import type { JobQueue, JobRow, JobState } from '../../platform/jobs/job-queue.ts';
import { actorOf, type RecordAct } from '../audit/audit.ts';
import { jobsPage } from './job-views.ts';

export const JOB_STATES: JobState[] = ['failed', 'retrying', 'queued', 'running', 'done', 'discarded'];

export type JobRouteDeps = { db: Db; jobs: JobQueue; recordAct: RecordAct };

/** Background work, for administrators: to look at, to run again, to give up. */
export function jobRoutes({ db, jobs, recordAct }: JobRouteDeps): Route[] {
  return [
    route('GET /api/admin/jobs', 'admin', 'Jobs, newest first; state shows those of one state only', list),
    route('POST /api/admin/jobs/:id/retry', 'admin', 'Run a failed job again', (req) => json(jobJson(retry(req)))),
    route('DELETE /api/admin/jobs/:id', 'admin', 'Give up a failed or waiting job', (req) => {
      discard(req);
      return noContent();
    }),
    route('GET /admin/jobs', 'admin', 'Page: jobs', show),
    route('POST /admin/jobs/:id/retry', 'admin', 'Form: run a failed job again', (req) => {
      retry(req);
      return seeOther('/admin/jobs');
    }),
    route('POST /admin/jobs/:id/discard', 'admin', 'Form: give up a job', (req) => {
      discard(req);
      return seeOther('/admin/jobs');
    }),
  ];

  function readPage({ query }: HubRequest, state: JobState | undefined) {
    const limit = readLimit(query);
    const [before] = readCursor(query, 1) ?? [];
    const filter = { ...(state ? { state } : {}), ...(before === undefined ? {} : { before }) };
    return pageOf(jobs.list({ ...filter, limit: limit + 1 }), limit, (last) => cursorOf(last.id));
  }

  function list(req: HubRequest): Reply {
    const { items, next } = readPage(req, readState(req.query));
    return json({ items: items.map(jobJson), next }, 200, nextLink(req.path, req.query, next));
  }

  function show(req: HubRequest): Reply {
    const state = req.query.get('state') === 'all' ? undefined : readState(req.query) ?? 'failed';
    return page(jobsPage({ ...readPage(req, state), state, states: JOB_STATES }));
  }

  function find({ params }: HubRequest): JobRow {
    const job = jobs.find(pathId(params));
    if (!job) throw notFound('job');
    return job;
  }

  function retry(req: MemberRequest): JobRow {
    const { id, kind } = find(req);
    const work = db.transaction('retry job', () => {
      if (!jobs.retry(id)) throw new HttpError(409, 'This job is not failed, or another for the same waits already.');
      recordAct('job.retried', actorOf(req), { kind: 'job', id, name: kind });
    });
    work();
    return find(req);
  }

  function discard(req: MemberRequest): void {
    const { id, kind } = find(req);
    const work = db.transaction('discard job', () => {
      if (!jobs.discard(id)) throw new HttpError(409, 'This job is running or at its end.');
      recordAct('job.discarded', actorOf(req), { kind: 'job', id, name: kind });
    });
    work();
  }
}

function readState(query: URLSearchParams): JobState | undefined {
  const value = query.get('state') ?? '';
  const state = JOB_STATES.find((one) => one === value);
  if (value && !state) throw new HttpError(400, `state must be one of ${JOB_STATES.join(', ')}.`);
  return state;
}

/** What it works on, as `subject`; its payload is the hub's own affair. */
function jobJson({ id, kind, dedupeKey, lane, state, attempts, maxAttempts, lastError, ...at }: JobRow) {
  return {
    id, kind, subject: dedupeKey, lane, state, attempts, maxAttempts, lastError,
    runAt: time(at.runAt), createdAt: time(at.createdAt), finishedAt: time(at.finishedAt),
  };
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
