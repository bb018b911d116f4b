import { pathId } from '../../platform/http/input.ts';
import { HttpError, json, noContent, notFound, type Reply, seeOther } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { JobRow } from '../../platform/jobs/job-queue.ts';
import { actorOf } from '../audit/audit.ts';
import { jobs, type Hub } from '../hub/hub.ts';
import { jobJson } from './job-list.ts';
import { discardJob, retryJob } from './settle-job.ts';

export function retryJobJson(hub: Hub, req: MemberRequest): Reply {
  retry(hub, req);
  return json(jobJson(find(hub, req)));
}

export function submitRetryJob(hub: Hub, req: MemberRequest): Reply {
  retry(hub, req);
  return seeOther('/admin/jobs');
}

export function deleteJob(hub: Hub, req: MemberRequest): Reply {
  discard(hub, req);
  return noContent();
}

export function submitDiscardJob(hub: Hub, req: MemberRequest): Reply {
  discard(hub, req);
  return seeOther('/admin/jobs');
}

function retry(hub: Hub, req: MemberRequest): void {
  if (retryJob(hub, find(hub, req), actorOf(req))) return;
  throw new HttpError(409, 'This job has not failed, or another one for the same subject is already waiting.');
}

function discard(hub: Hub, req: MemberRequest): void {
  if (discardJob(hub, find(hub, req), actorOf(req))) return;
  throw new HttpError(409, 'This job is running or has ended.');
}

function find(hub: Hub, { params }: MemberRequest): JobRow {
  const job = jobs(hub).find(pathId(params));
  if (!job) throw notFound('job');
  return job;
}
