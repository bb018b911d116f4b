import { invitations } from '../features/accounts/account-store.ts';
import { passwordLinks, sessions } from '../features/accounts/credential-store.ts';
import { removeOldAlerts, tidyDeliveries } from '../features/alerts/send-alert.ts';
import { uploads } from '../features/attachments/attachment-store.ts';
import { cachedFiles } from '../features/attachments/cached-file-store.ts';
import { sourceIcons } from '../features/attachments/icon-store.ts';
import { tidyCache } from '../features/attachments/remote-cache.ts';
import { askScannerAgain, scanUnscanned } from '../features/attachments/scan-file.ts';
import { removeAbandonedUploads, sweepUploads } from '../features/attachments/upload-files.ts';
import { sealFeedPasswords } from '../features/feeds/feed-passwords.ts';
import { planDueIcons } from '../features/feeds/fetch-icon.ts';
import { planDueSyncs, planSomeSyncs } from '../features/feeds/sync-source.ts';
import { evictFullTexts, indexFullTexts, planFullTexts } from '../features/full-text/fetch-full-text.ts';
import { fullTexts } from '../features/full-text/full-text-store.ts';
import { indexAnew } from '../features/full-text/index-anew.ts';
import { tellOperator, watchConditions, watchWorker } from '../features/health/watch-conditions.ts';
import { lookAtCertificate } from '../features/history/watch-certificate.ts';
import { beatOfWeb, noteChangedSettings } from '../features/history/process-notes.ts';
import { beatOfWorker } from '../features/history/record-history.ts';
import { isFrozen } from '../features/hub/database-file.ts';
import { heartbeats, jobs, limits, once, throttled, type Hub } from '../features/hub/hub.ts';
import { beatOnTrial, isOnTrial, rehearse } from '../features/hub/trial.ts';
import { workerQueue } from '../features/hub/worker-jobs.ts';
import { endExpiredOffers } from '../features/manage-sources/answer-offer.ts';
import { offers } from '../features/manage-sources/offer-store.ts';
import { drafts } from '../features/writing/draft-store.ts';
import { links } from '../features/posts/link-store.ts';
import { planDuePosts } from '../features/writing/scheduled-posts.ts';
import { readActs } from '../features/reading/entry-store.ts';
import { oldTables } from '../features/reading/old-tables-store.ts';
import { addLateEntries, hasDueEntries, hasLateEntries, settleEntries } from '../features/reading/settle-entries.ts';
import { forgetReadTimes, recountUnread, trimEntries } from '../features/reading/trim-entries.ts';
import { removeOldRows } from '../features/retention/remove-old-rows.ts';
import { watchContentQuotas } from '../features/sources/content-quota.ts';
import { syncState } from '../features/sources/sync-state-store.ts';
import { findSilentWebhooks, sealSecrets } from '../features/webhooks/manage-webhooks.ts';
import { noteDeliveries } from '../features/webhooks/note-deliveries.ts';
import { EVENTS_KEPT } from '../features/webhooks/receive-event.ts';
import { webhookEvents, webhooks } from '../features/webhooks/webhook-store.ts';
import { DAY, hasPassed, HOUR, MINUTE, SECOND } from '../platform/clock.ts';
import { createSettledTimes, type Task } from '../platform/jobs/scheduler.ts';
import { JOB_KINDS } from './job-kinds.ts';

export const FINISHED_JOBS_KEPT = DAY;

/** Recurring work that may run twice without harm; `stopping` makes it leave the rest of the work for the next run. */
type ScheduledTask = {
  name: string;
  everyMs: number;
  run(hub: Hub, stopping: AbortSignal): void | Promise<void>;
  /** Runs the task's SQL once, to test a new version or restored data, in a transaction that is rolled back. */
  rehearse?(hub: Hub): void;
};

/** While a new version or restored data is being tried, this task proves that its process is alive and can write. */
const TRIAL_BEAT: ScheduledTask = { name: 'heartbeat on trial', everyMs: 2 * SECOND, run: beatOnTrial };

const WORKER_SCHEDULE: ScheduledTask[] = [
  TRIAL_BEAT,
  sqlTask('heartbeat', 5 * SECOND, beatOfWorker),
  sqlTask('note changed settings', MINUTE, noteChangedSettings),
  sqlTask('repair times in the future', MINUTE, bringBackTimes),
  { name: 'plan due syncs', everyMs: SECOND, run: planDueSyncs, rehearse: (hub) => void planSomeSyncs(hub, 1) },
  sqlTask('plan due posts', 5 * SECOND, planDuePosts),
  sqlTask('plan due icons', 10 * SECOND, planDueIcons),
  sqlTask('plan full texts', 2 * SECOND, planFullTexts),
  throttledTask('evict full texts', MINUTE, evictFullTexts),
  { name: 'index full texts', everyMs: 10 * SECOND, run: indexFullTexts },
  { name: 'index posts anew', everyMs: 2 * SECOND, run: indexAnew },

  throttledTask('remove finished jobs', MINUTE, (hub, limit) =>
    jobs(hub).prune(hub.clock() - FINISHED_JOBS_KEPT, limit)),
  throttledTask('discard replaced failures', HOUR, (hub, limit) => jobs(hub).discardReplaced(limit)),
  throttledTask('remove idle rate limits', MINUTE, (hub, limit) => limits(hub).prune(limit)),
  throttledTask('remove expired sessions', MINUTE, (hub, limit) =>
    sessions(hub).removeExpired(settled(hub)().earliest, limit)),
  throttledTask('remove expired password links', MINUTE, (hub, limit) =>
    passwordLinks(hub).removeExpired(settled(hub)().earliest, limit)),
  throttledTask('remove old drafts', HOUR, (hub, limit) => drafts(hub).removeOld(limit)),
  throttledTask('remove expired invitations', MINUTE, (hub, limit) =>
    invitations(hub).removeExpired(settled(hub)().earliest, limit)),
  throttledTask('end expired offers', MINUTE, endExpiredOffers),
  throttledTask('forget ended offers', HOUR, (hub, limit) => offers(hub).forgetEnded(limit)),
  throttledTask('forget old markings', MINUTE, (hub, limit) => readActs(hub).removeOld(limit)),
  throttledTask('store the links of old posts', HOUR, (hub, limit) => links(hub).putOld(limit)),
  throttledTask('add late entries', SECOND, addLateEntries, hasLateEntries),
  throttledTask('settle entries', SECOND, settleEntries, hasDueEntries),
  throttledTask('empty old tables', HOUR, (hub, limit) => oldTables(hub).empty(limit)),
  onceADay(throttledTask('trim entries', HOUR, (hub, limit) => trimEntries(hub, limit))),
  onceADay(throttledTask('count unread posts anew', HOUR, recountUnread)),
  onceADay(throttledTask('forget when posts were read', HOUR, forgetReadTimes)),
  { name: 'remove old rows', everyMs: 5 * SECOND, run: removeOldRows },

  { name: 'scan unscanned uploads', everyMs: HOUR, run: scanUnscanned },
  { name: 'sweep uploads', everyMs: HOUR, run: sweepUploads },
  { name: 'remove abandoned uploads', everyMs: HOUR, run: removeAbandonedUploads },
  { name: 'tidy the cache', everyMs: HOUR, run: tidyCache },

  sqlTask('watch content quotas', 10 * SECOND, watchContentQuotas),
  throttledTask('find silent webhooks', HOUR, findSilentWebhooks),
  throttledTask('forget old webhook events', MINUTE, (hub, limit) =>
    webhookEvents(hub).removeBefore(hub.clock() - EVENTS_KEPT, limit)),
  throttledTask('forget replaced webhook secrets', HOUR, (hub, limit) =>
    webhooks(hub).removePreviousSecrets(hub.clock(), limit)),
  throttledTask('seal webhook secrets', HOUR, sealSecrets),
  throttledTask('seal passwords of feeds', HOUR, sealFeedPasswords),

  { name: 'ask the scanner again', everyMs: MINUTE, run: askScannerAgain },
  { name: 'look at the certificate', everyMs: HOUR, run: lookAtCertificate },
  sqlTask('watch conditions', 10 * SECOND, watchConditions),
  sqlTask('tell alerts', 5 * SECOND, tellOperator),
  sqlTask('tidy alerts', MINUTE, tidyDeliveries),
  onceADay(throttledTask('remove old alerts', HOUR, removeOldAlerts)),
];

const WEB_SCHEDULE: ScheduledTask[] = [
  TRIAL_BEAT,
  sqlTask('heartbeat', MINUTE, beatOfWeb),
  sqlTask('note changed settings', MINUTE, noteChangedSettings),
  { name: 'watch the worker', everyMs: 10 * SECOND, run: watchWorker },
  { name: 'note deliveries', everyMs: 2 * SECOND, run: noteDeliveries },
];

const settled = once((hub: Hub) => createSettledTimes(hub.clock, heartbeats(hub).lastSeen('worker')));

function bringBackTimes(hub: Hub): void {
  const stores = [jobs, syncState, webhooks, drafts, offers, uploads, cachedFiles, sourceIcons, fullTexts];
  for (const storeOf of stores) storeOf(hub).bringBackTimes();
  for (const storeOf of [sessions, invitations, passwordLinks]) storeOf(hub).bringBackTimes(settled(hub)().latest);
}

export function workerTasks(hub: Hub): Task[] {
  settled(hub); // reads the last heartbeat before there is another one
  return tasksOf(hub, WORKER_SCHEDULE);
}

export const webTasks = (hub: Hub): Task[] => tasksOf(hub, WEB_SCHEDULE);

function tasksOf(hub: Hub, schedule: ScheduledTask[]): Task[] {
  return schedule.map(({ name, everyMs, run }) => ({
    name,
    everyMs,
    run: (stopping) => run(hub, stopping),
    isHeld: () => isFrozen(hub) || (isOnTrial(hub) ? name !== TRIAL_BEAT.name : name === TRIAL_BEAT.name),
  }));
}

/** Tries the SQL of tasks that have a `rehearse`, and of claiming jobs; rolls all changes back. Throws on failure. */
export function rehearseWorker(hub: Hub): void {
  rehearse(hub, () => {
    for (const { rehearse: run } of WORKER_SCHEDULE) run?.(hub);
    for (const { name } of JOB_KINDS) workerQueue(hub).claim(name, 1);
  });
}

/** Runs the task once a day, also across restarts; a task that failed or was stopped runs again at its interval. */
function onceADay(task: ScheduledTask): ScheduledTask {
  const name = `task: ${task.name}`;
  return {
    ...task,
    async run(hub, stopping) {
      if (!hasPassed(heartbeats(hub).lastSeen(name) ?? -Infinity, DAY, hub.clock())) return;
      await task.run(hub, stopping);
      if (!stopping.aborted) heartbeats(hub).beat(name);
    },
  };
}

function sqlTask(name: string, everyMs: number, run: (hub: Hub) => void): ScheduledTask {
  return { name, everyMs, run, rehearse: run };
}

/**
 * A task made of short transactions, between which other processes write; `some` handles up to `limit` rows. `hasWork`:
 * asked first by a task that runs often, so that it takes the lock of the database only for work.
 */
function throttledTask(
  name: string, everyMs: number, some: (hub: Hub, limit: number) => number, hasWork = (_hub: Hub): boolean => true,
): ScheduledTask {
  return {
    name,
    everyMs,
    rehearse: (hub) => void some(hub, 1),
    async run(hub, stopping) {
      if (!hasWork(hub)) return;
      let rows = 0;
      await throttled(hub)(name, (limit) => {
        const done = some(hub, limit);
        rows += done;
        return done;
      }, () => stopping.aborted);
      if (rows > 0) hub.log.info('scheduled task', { task: name, rows });
    },
  };
}
