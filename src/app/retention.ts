import { createOldHistoryStore } from '../features/history/old-history-store.ts';
import { createRetentionRunStore } from '../features/retention/run-store.ts';
import { removingOldRows, type RetentionRule } from '../features/retention/remove-old-rows.ts';
import { DAY } from '../platform/clock.ts';
import type { Actor } from '../platform/record-act.ts';
import type { App } from './app.ts';

/** Errors of a kind are forgotten so long after they were last seen. */
const ERRORS_KEPT = 90 * DAY;

/** What the daily removal of old rows covers. What expires by itself, such as sessions, goes within a minute. */
export function createRetention(app: App, actor: Actor) {
  const { db, paced, clock, log, config, recordAct, people, errors, notifications } = app;
  const { notificationRetentionDays, readingHistoryRetentionDays, auditRetentionDays } = config;
  const rules: RetentionRule[] = [
    { kind: 'notifications', keptMs: notificationRetentionDays * DAY, ...notifications },
    { kind: 'readingHistory', keptMs: readingHistoryRetentionDays * DAY, ...createOldHistoryStore(db) },
    { kind: 'auditRecords', keptMs: auditRetentionDays * DAY, ...people.audit },
    { kind: 'errorEvents', keptMs: ERRORS_KEPT, ...errors },
  ];
  return removingOldRows({ db, paced, runs: createRetentionRunStore(db), rules, recordAct, actor, clock, log });
}
