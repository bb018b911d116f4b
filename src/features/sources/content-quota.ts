import { HOUR, MINUTE } from '../../platform/clock.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import { byteSize } from '../../platform/in-words.ts';
import { NotNowError } from '../../platform/jobs/run-job.ts';
import { accounts } from '../accounts/account-store.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { contentUsage, type ContentUsage } from './content-usage-store.ts';
import { syncState } from './sync-state-store.ts';

const NO_ROOM_FOR_CONTENT = 'The sources of this feed’s owner have reached the limit of space for contents. ' +
  'Delete posts or sources: the feed then continues by itself.';

/** Below this share of the quota, stopped feeds are due at once; above it, an hourly try asks whether there is room. */
const GOES_ON_BELOW = 0.99;

/** Whether an account's contents have reached `part` of CONTENT_QUOTA_BYTES; administrators have no content quota. */
export function isContentFull(hub: Hub, usage: ContentUsage | undefined, part = 1): boolean {
  const quota = hub.config.contentQuotaBytes;
  if (!usage || quota === 0 || usage.bytes < quota * part) return false;
  return accounts(hub).find(usage.accountId)?.role === 'member';
}

export type ContentRoom = { bytes: number; quota: number | null; isFull: boolean };

/** Bytes of contents that an account's sources use, and its quota; `quota`: null without a limit. */
export function contentRoom(hub: Hub, accountId: number): ContentRoom {
  const usage = contentUsage(hub).of(accountId);
  const isBounded = hub.config.contentQuotaBytes > 0 && accounts(hub).find(accountId)?.role === 'member';
  const quota = isBounded ? hub.config.contentQuotaBytes : null;
  return { bytes: usage?.bytes ?? 0, quota, isFull: isContentFull(hub, usage) };
}

/** Whether the source may store no more content, because its owner's quota is used up. */
export function isSourceFull(hub: Hub, sourceId: number): boolean {
  return isContentFull(hub, contentUsage(hub).ofOwner(sourceId));
}

/** Whether the account's content quota has room for the contents of a further source. */
export function fitsContentQuota(hub: Hub, sourceId: number, accountId: number): boolean {
  const usage = contentUsage(hub).of(accountId);
  return !usage || !isContentFull(hub, { ...usage, bytes: usage.bytes + contentUsage(hub).ofSource(sourceId) });
}

/** Throws status 507 if the source may store no more content. */
export function requireContentRoom(hub: Hub, sourceId: number): void {
  if (isSourceFull(hub, sourceId)) throw contentFull(hub);
}

/** Runs `change` in the caller's transaction; throws 507 if the owner's quota was used up and the contents grow. */
export function withinContentQuota<Result>(hub: Hub, sourceId: number, change: () => Result): Result {
  const [isFull, before] = [isSourceFull(hub, sourceId), contentUsage(hub).ofSource(sourceId)];
  const result = change();
  if (isFull && contentUsage(hub).ofSource(sourceId) > before) throw contentFull(hub);
  return result;
}

/** Counts a request that the content quota refuses, and returns the 507 error. */
export function contentFull(hub: Hub): HttpError {
  const taken = byteSize(hub.config.contentQuotaBytes);
  return metLimit(hub, 'content-quota', 0, `This account’s sources have reached their limit of ${taken}. Nothing was ` +
    'stored. To make room, delete posts or sources of it.');
}

/** Scheduled task: tells owners once that their content quota is used up; restarts stopped feeds when there is room. */
export function watchContentQuotas(hub: Hub): void {
  for (const usage of contentUsage(hub).large(hub.config.contentQuotaBytes || Number.MAX_SAFE_INTEGER)) {
    if (usage.fullSince === null && isContentFull(hub, usage)) stop(hub, usage);
    else if (usage.fullSince !== null && !isContentFull(hub, usage, GOES_ON_BELOW)) goOn(hub, usage);
  }
}

function stop(hub: Hub, { accountId }: ContentUsage): void {
  contentUsage(hub).setFull(accountId, true);
  notifications(hub).add({
    accountId,
    kind: 'content-quota',
    title: `The contents of your sources have reached the limit of ${byteSize(hub.config.contentQuotaBytes)}. ` +
      'New posts wait until you delete posts or sources',
    path: '/sources?show=mine',
  });
}

function goOn(hub: Hub, { accountId }: ContentUsage): void {
  contentUsage(hub).setFull(accountId, false);
  contentUsage(hub).hurry(accountId, NO_ROOM_FOR_CONTENT);
}

const LATER = 5 * MINUTE;

/**
 * In the transaction that stores a job's posts: throws NotNowError if the hub may record nothing or the quota of the
 * source's owner is used up, either of them since the job began.
 */
export function requireMayStore(hub: Hub, sourceId: number): void {
  if (!mayRecord(hub)) throw new NotNowError('the hub may not store posts now', hub.clock() + LATER);
  if (isSourceFull(hub, sourceId)) throw new NotNowError('the owner’s content quota is used up', hub.clock());
}

/** In the caller's transaction. Marks a feed as failing at its owner's quota; `watchContentQuotas` restarts it. */
export function stopAtQuota(hub: Hub, sourceId: number): void {
  syncState(hub).recordFailure(sourceId, NO_ROOM_FOR_CONTENT, { isFinal: false, timedOut: false });
  syncState(hub).planNext(sourceId, hub.clock() + HOUR); // the feed is tried again, in case the quota is raised
}
