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

/** Old rows of a table; `before` in unix ms. */
type OldRows = {
  /** Removes up to `limit` rows older than that and returns how many, or beside that how many it has looked at. */
  removeBefore(before: number, limit: number): number | { removed: number; looked: number };
  countBefore(before: number): number;
};

/** What is kept for how many days; 0 for ever. */
type RetentionRule = { kind: string; days(config: Config): number; rowsOf(hub: Hub): OldRows };

/** What a run would remove now; `before` is null for what is kept for ever. */
export type ExpiredRows = { kind: string; keptMs: number; before: number | null; rows: number };

/** Errors of a kind are forgotten so long after they were last seen. */
const ERROR_DAYS = 90;

/** What the daily removal of old rows covers. What expires by itself, such as sessions, goes within a minute. */
const RULES: RetentionRule[] = [
  { kind: 'notifications', days: (config) => config.notificationRetentionDays, rowsOf: notifications },
  { kind: 'readingHistory', days: (config) => config.readingHistoryRetentionDays, rowsOf: readingHistory },
  { kind: 'posts', days: (config) => config.postRetentionDays, rowsOf: oldPosts },
  { kind: 'auditRecords', days: (config) => config.auditRetentionDays, rowsOf: auditRecords },
  { kind: 'errorEvents', days: () => ERROR_DAYS, rowsOf: errorEvents },
];

/** A call works for so long at most, so that a worker which is told to stop need not wait; the next call goes on. */
const SLICE_MS = 4 * SECOND;

/** Asked often, it goes on with the run that is under way, or begins one once a day. */
export async function removeOldRows(hub: Hub): Promise<void> {
  const isDue = hasPassed(retentionRuns(hub).find()?.startedAt ?? -Infinity, DAY, hub.clock());
  if (isDue || isUnderWay(hub)) await work(hub, THE_HUB, SLICE_MS);
}

/** A whole run now, or the rest of the one that is under way: what that has removed stays in its audit event. */
export function removeOldRowsNow(hub: Hub, actor: Actor): Promise<void> {
  return work(hub, actor, Infinity);
}

/** What a run would remove now. */
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

/** False when the time was up before all old rows of the rule were gone. */
function apply(hub: Hub, { kind, days, rowsOf }: RetentionRule, until: number): Promise<boolean> {
  return throttled(hub)('remove old rows', (limit) => {
    const step = rowsOf(hub).removeBefore(hub.clock() - days(hub.config) * DAY, limit);
    const { removed, looked } = typeof step === 'number' ? { removed: step, looked: step } : step;
    if (removed > 0) retentionRuns(hub).note(kind, removed);
    return looked;
  }, () => performance.now() >= until);
}

/** In a transaction; another process may have finished the run before. */
function finish(hub: Hub, actor: Actor): void {
  if (!retentionRuns(hub).finish(hub.clock())) return;
  const removed = retentionRuns(hub).find()?.removed ?? {};
  if (Object.keys(removed).length === 0) return;
  hub.log.info('old rows removed', removed);
  audit(hub, 'retention.applied', actor, undefined, removed);
}
