import { DAY, hasPassed, SECOND } from '../../platform/clock.ts';
import { auditRecords } from '../audit/audit-store.ts';
import { audit, THE_HUB, type Actor } from '../audit/audit.ts';
import { errorEvents } from '../errors/error-store.ts';
import { throttled, type Hub } from '../hub/hub.ts';
import type { Config } from '../hub/read-config.ts';
import { notifications } from '../notifications/notification-store.ts';
import { oldPosts } from '../reading/old-posts-store.ts';
import { readingHistory } from '../reading/reading-history-store.ts';
import { retentionRuns } from './retention-store.ts';

type OldRows = {
  /** Removes up to `limit` rows older than `before`; returns how many. `looked`: `limit` if old rows may be left. */
  removeBefore(before: number, limit: number): number | { removed: number; looked: number };
  countBefore(before: number): number;
};

/** `days`: for how many days the hub keeps rows of the kind; 0 means for ever. */
type RetentionRule = { kind: string; days(config: Config): number; rowsOf(hub: Hub): OldRows };

export type ExpiredRows = { kind: string; keptMs: number; before: number | null; rows: number };

const ERROR_DAYS = 90;

/** Kinds of old rows that are removed daily; other tasks of the schedule remove expired rows, such as sessions. */
const RULES: RetentionRule[] = [
  { kind: 'notifications', days: (config) => config.notificationRetentionDays, rowsOf: notifications },
  { kind: 'readingHistory', days: (config) => config.readingHistoryRetentionDays, rowsOf: readingHistory },
  { kind: 'posts', days: (config) => config.postRetentionDays, rowsOf: oldPosts },
  { kind: 'auditRecords', days: (config) => config.auditRetentionDays, rowsOf: auditRecords },
  { kind: 'errorEvents', days: () => ERROR_DAYS, rowsOf: errorEvents },
];

/** After this time, a scheduled removal pauses until the task's next run, so that a stopping worker waits no longer. */
const SLICE_MS = 4 * SECOND;

/** Scheduled task: continues an unfinished removal of old rows, or begins one a day after the last began. */
export async function removeOldRows(hub: Hub): Promise<void> {
  const isDue = hasPassed(retentionRuns(hub).find()?.startedAt ?? -Infinity, DAY, hub.clock());
  if (isDue || isUnderWay(hub)) await work(hub, THE_HUB, SLICE_MS);
}

/** Removes all old rows now, or finishes a begun removal. */
export function removeOldRowsNow(hub: Hub, actor: Actor): Promise<void> {
  return work(hub, actor, Infinity);
}

/** Counts the rows that a removal would remove now. */
export function previewRetention(hub: Hub): ExpiredRows[] {
  return RULES.map(({ kind, days, rowsOf }) => {
    const keptMs = days(hub.config) * DAY;
    const before = keptMs > 0 ? hub.clock() - keptMs : null;
    return { kind, keptMs, before, rows: before === null ? 0 : rowsOf(hub).countBefore(before) };
  });
}

function isUnderWay(hub: Hub): boolean {
  return retentionRuns(hub).find()?.finishedAt === null;
}

async function work(hub: Hub, actor: Actor, sliceMs: number): Promise<void> {
  const until = performance.now() + sliceMs;
  if (!isUnderWay(hub)) retentionRuns(hub).begin(hub.clock());
  for (const rule of RULES) {
    if (rule.days(hub.config) > 0 && !(await apply(hub, rule, until))) return;
  }
  hub.db.write('finish retention', () => finish(hub, actor));
}

function apply(hub: Hub, { kind, days, rowsOf }: RetentionRule, until: number): Promise<boolean> {
  return throttled(hub)('remove old rows', (limit) => {
    const step = rowsOf(hub).removeBefore(hub.clock() - days(hub.config) * DAY, limit);
    const { removed, looked } = typeof step === 'number' ? { removed: step, looked: step } : step;
    if (removed > 0) retentionRuns(hub).note(kind, removed);
    return looked;
  }, () => performance.now() >= until);
}

/** Finishes a removal of old rows, in the caller's transaction, unless another process has finished it. */
function finish(hub: Hub, actor: Actor): void {
  if (!retentionRuns(hub).finish(hub.clock())) return;
  const removed = retentionRuns(hub).find()?.removed ?? {};
  if (Object.keys(removed).length === 0) return;
  hub.log.info('old rows removed', removed);
  audit(hub, 'retention.applied', actor, undefined, removed);
}
