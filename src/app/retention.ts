import { auditRecords } from '../features/audit/audit-store.ts';
import { errorEvents } from '../features/errors/error-store.ts';
import { readingHistory } from '../features/posts/reading-history-store.ts';
import { retentionRuns as retentionRunsOf } from '../features/retention/run-store.ts';
import { removingOldRows, type RetentionRule } from '../features/retention/remove-old-rows.ts';
import { DAY } from '../platform/clock.ts';
import type { Actor } from '../features/audit/audit.ts';
import type { App } from './app.ts';

/** Errors of a kind are forgotten so long after they were last seen. */
const ERRORS_KEPT = 90 * DAY;

/** What the daily removal of old rows covers. What expires by itself, such as sessions, goes within a minute. */
export function createRetention(app: App, actor: Actor) {
  const { db, paced, clock, log, config, recordAct, notifications } = app;
  const { notificationRetentionDays, readingHistoryRetentionDays, auditRetentionDays } = config;
  const rules: RetentionRule[] = [
    { kind: 'notifications', keptMs: notificationRetentionDays * DAY, ...notifications },
    { kind: 'readingHistory', keptMs: readingHistoryRetentionDays * DAY, ...readingHistory(app.hub) },
    { kind: 'auditRecords', keptMs: auditRetentionDays * DAY, ...auditRecords(app.hub) },
    { kind: 'errorEvents', keptMs: ERRORS_KEPT, ...errorEvents(app.hub) },
  ];
  return removingOldRows({ db, paced, runs: retentionRunsOf(app.hub), rules, recordAct, actor, clock, log });
}
