import { hasPassed, isoTime, MINUTE, SECOND, type Clock } from '../../platform/clock.ts';
import { createWorker, type Worker } from '../../platform/jobs/worker.ts';
import { byteSize } from '../../platform/in-words.ts';
import { deliverAlert } from '../alerts/deliver-alert.ts';
import { isTroubleOpen, tellTroubles, watchEach, watchTrouble } from '../alerts/raise-alerts.ts';
import { askScannerAgain, scannerSilentSince } from '../attachments/scan-file.ts';
import { isStale, readBackupStatus } from '../backups/backup-status.ts';
import { readOffsite } from '../backups/offsite-status.ts';
import { noteError } from '../errors/error-store.ts';
import { isDiskLow, lookAtReserve } from '../hub/disk-reserve.ts';
import { counts, heartbeats, jobs, once, type Hub } from '../hub/hub.ts';
import { jobHandlers, workerQueue } from '../hub/worker-jobs.ts';
import { SYNC_SOURCE } from '../sources/sync-state-store.ts';
import { findSpace, spaceTaken } from './storage-space.ts';

/** Space is low until so many times what is too little is free, so that the trouble does not come and go. */
export const SPACE_HYSTERESIS = 1.1;

/** This many unexpected errors within this time raise the alert error-burst. */
export const BURST = 20;
export const BURST_TIME = 10 * MINUTE;

/** Notices the end of troubles that are raised where they happen. */
export function watchEnds(hub: Hub): void {
  if (jobs(hub).failedCount(SYNC_SOURCE) === 0) watchTrouble(hub, 'sync-failed', null);
  if (counts(hub).read().value('webhooks', 'silent') === 0) watchTrouble(hub, 'webhook-silent', null);
}

/** Notices that the next backup, or a gigabyte, would not fit on the disk. */
export function watchSpace(hub: Hub): void {
  const times = isTroubleOpen(hub, 'space-low') ? SPACE_HYSTERESIS : 1;
  const { isLow, least, needed } = findSpace(hub, counts(hub).read().value('uploads_bytes'), times);
  const text = `${byteSize(least)} are free; the next backup may need ${byteSize(needed)}`;
  watchTrouble(hub, 'space-low', isLow ? text : null);
}

/** Notices that a required scanner keeps uploads from being taken, and asks it whether it is back. */
export async function watchScanner(hub: Hub): Promise<void> {
  await askScannerAgain(hub);
  const since = hub.config.virusScanRequired ? scannerSilentSince(hub) : null;
  watchTrouble(hub, 'scanner-silent', since === null ? null : `Uploads are refused since ${isoTime(since)}`);
}

/** Notices that the disk is down to its reserve, and says what takes the space. */
export function watchReserve(hub: Hub): void {
  const text = (): string => `${roomInWords(hub)}. The space is taken by: ${spaceTaken(hub)}`;
  watchTrouble(hub, 'disk-full', isDiskLow(hub) ? text() : null);
}

/** How much is free and how much is kept. */
export function roomInWords(hub: Hub): string {
  const { free, reserve } = lookAtReserve(hub);
  return `${byteSize(Math.max(0, free))} are free, ${byteSize(reserve)} are kept for repairs`;
}

/** Notices that a backup failed, lacks something or failed its verification, or that there is none of late. */
export function watchBackups(hub: Hub): void {
  const { lastBackup, lastBackupFailed, damaged, newestVerified, ahead, byVerification } = readBackupStatus(hub);
  const isDegraded = lastBackup?.verdict === 'degraded';
  const last = `The last backup: ${problemOf(lastBackup)}`;
  watchTrouble(hub, 'backup-failed', lastBackupFailed && !isDegraded ? last : null);
  watchTrouble(hub, 'backup-degraded', isDegraded ? `${lastBackup.name}: ${problemOf(lastBackup)}` : null);
  watchTrouble(hub, 'backup-verify-failed', damaged && `${damaged.name}: ${problemOf(damaged)}`);
  const wereEverMade = lastBackup !== null || byVerification.length > 0;
  const state = newestVerified ? `The newest is ${newestVerified.name}` : 'No backup on this machine is verified';
  const stray = ahead.length > 0 ? `; ${ahead.at(-1)} does not count, as its name lies in the future` : '';
  watchTrouble(hub, 'backup-stale', wereEverMade && isStale(newestVerified, hub.clock()) ? state + stray : null);
  watchOffsite(hub, wereEverMade);
}

/** Notices that a destination was left without a backup, or has got none of late. */
function watchOffsite(hub: Hub, wereEverMade: boolean): void {
  const offsite = readOffsite(hub);
  const failed = offsite.filter(({ hasFailed }) => hasFailed)
    .map(({ name, last }) => [name, `${name}: ${problemOf(last)}`] as const);
  const stale = offsite.filter(({ isStale }) => isStale && wereEverMade)
    .map(({ name, lastGood }) => [name, `${name}: ${lastGood ? `last ${isoTime(lastGood.at)}` : 'none yet'}`] as const);
  watchEach(hub, 'backup-offsite-failed', new Map(failed));
  watchEach(hub, 'backup-offsite-stale', new Map(stale));
}

function problemOf(run: { problem: string | null } | null): string {
  return run?.problem ?? 'unknown reason';
}

/** How many unexpected errors there had been, at each look of the last minutes. */
const errorTotals = once((): { at: number; total: number }[] => []);

/** Notices that unexpected errors have become many. */
export function watchErrors(hub: Hub): void {
  const now = hub.clock();
  const reading = counts(hub).read();
  const total = reading.value('error_events_total', 'web') + reading.value('error_events_total', 'worker');
  const seen = errorTotals(hub);
  const first = seen.findIndex(({ at }) => !hasPassed(at, BURST_TIME, now));
  seen.splice(0, first < 0 ? seen.length : first);
  seen.push({ at: now, total });
  const recent = total - (seen[0]?.total ?? total);
  const minutes = Math.ceil((now - (seen[0]?.at ?? now)) / MINUTE);
  const state = `${recent} within ${minutes} minutes; see the list of errors`;
  watchTrouble(hub, 'error-burst', recent >= BURST ? state : null);
}

/** The worker is missed once it has not been seen for so long. */
export const LONGEST_SILENCE = 5 * MINUTE;

/** Looks that lie so far apart, or the wrong way round, tell of a clock that was set or a machine that slept. */
const LONGEST_GAP = MINUTE;

/** For a delivery in progress when the worker is back, or web ends. */
const GRACE = 2 * SECOND;

/** What web remembers between its looks, and what delivers alerts while the worker does not. */
const watches = once((hub: Hub) => ({
  isStill: noticingStillness(hub.clock),
  deliverer: createDeliverer(hub),
  isDelivering: false,
}));

/**
 * Web's look at the worker. While that has not been seen for five minutes, web says so and delivers alerts itself.
 */
export async function watchWorker(hub: Hub): Promise<void> {
  const seenAt = heartbeats(hub).lastSeen('worker');
  const isSilent = watches(hub).isStill(seenAt);
  const since = seenAt === null ? 'It has never been seen' : `It was last seen at ${isoTime(seenAt)}`;
  watchTrouble(hub, 'worker-silent', isSilent ? `${since}; sources are not synchronised` : null);
  if (isSilent) tellTroubles(hub);
  await deliverWhile(hub, isSilent && hub.config.alertWebhookUrl !== null);
}

/** Ends what `watchWorker` may have begun. */
export async function stopDeliveringAlerts(hub: Hub): Promise<void> {
  await deliverWhile(hub, false);
}

async function deliverWhile(hub: Hub, isNeeded: boolean): Promise<void> {
  const watch = watches(hub);
  if (isNeeded === watch.isDelivering) return;
  watch.isDelivering = isNeeded;
  const event = isNeeded ? 'web delivers alerts while the worker is silent' : 'the worker delivers alerts again';
  hub.log.info(event, { kind: deliverAlert.name });
  if (isNeeded) watch.deliverer.start();
  else await watch.deliverer.stop(GRACE);
}

function createDeliverer(hub: Hub): Worker {
  const { db, clock, log } = hub;
  const handlers = jobHandlers(hub, [deliverAlert]);
  return createWorker({ db, queue: workerQueue(hub), handlers, clock, log, onError: (error) => noteError(hub, error) });
}

/**
 * Whether a value has been the same for five minutes, over looks that come one after another. What happened between
 * two looks that lie far apart says nothing.
 */
function noticingStillness(clock: Clock): (value: number | null) => boolean {
  let last = { value: null as number | null, at: -Infinity };
  let since = 0;
  return (value) => {
    const now = clock();
    const isRegular = !hasPassed(last.at, LONGEST_GAP, now);
    if (!isRegular || value !== last.value) since = now;
    last = { value, at: now };
    return hasPassed(since, LONGEST_SILENCE, now);
  };
}
