import { isTroubleOpen, watchTrouble } from '../features/alerts/raise-alerts.ts';
import { isStale, readBackupStatus } from '../features/backups/backup-status.ts';
import { leastFree, spaceNeeded } from '../features/backups/free-space.ts';
import { syncSource } from '../features/feeds/sync-source.ts';
import { readStorageSizes } from '../features/health/storage-sizes.ts';
import { MINUTE } from '../platform/clock.ts';
import { byteSize } from '../platform/http/readable.ts';
import type { App } from './app.ts';

export const ENOUGH = 1.1; // times what is too little: until then a trouble lasts, so that it does not come and go

export const BURST = 20; // unexpected errors
export const BURST_TIME = 10 * MINUTE;

/** States of things that the operator is told of; each function looks once. */
export function watchingTroubles({ hub, config, counts, clock, jobs }: App) {
  const errorsSeen: { at: number; total: number }[] = [];

  /** They are raised where they happen; here is seen when the last one is over. */
  function watchEnds(): void {
    if (jobs.failedCount(syncSource.name) === 0) watchTrouble(hub, 'sync-failed', null);
    if (counts.read().value('webhooks', 'silent') === 0) watchTrouble(hub, 'webhook-silent', null);
  }

  function watchSpace(): void {
    const { databaseBytes, freeBytes } = readStorageSizes(config.databasePath);
    const uploadBytes = counts.read().value('uploads_bytes');
    const backup = spaceNeeded(databaseBytes, uploadBytes);
    const least = leastFree(databaseBytes, uploadBytes);
    const isLow = freeBytes < least * (isTroubleOpen(hub, 'space-low') ? ENOUGH : 1);
    const state = `${byteSize(freeBytes)} are free; the next backup may take ${byteSize(backup)}`;
    watchTrouble(hub, 'space-low', isLow ? state : null);
  }

  function watchBackups(): void {
    const { lastBackup, newest, newestVerified, lastBackupFailed, lastVerifyFailed, lastVerification } =
      readBackupStatus(config.dataDir);
    watchTrouble(hub, 'backup-failed', lastBackupFailed ? `The last one: ${problemOf(lastBackup)}` : null);
    const damaged = `${lastVerification?.name ?? 'The last one'}: ${problemOf(lastVerification)}`;
    watchTrouble(hub, 'backup-verify-failed', lastVerifyFailed ? damaged : null);
    const wereEverMade = lastBackup !== null || newest !== null;
    const state = newestVerified ? `The newest is ${newestVerified.name}` : 'No backup on this machine is verified';
    watchTrouble(hub, 'backup-stale', wereEverMade && isStale(newestVerified, clock()) ? state : null);
  }

  function watchErrors(): void {
    const now = clock();
    const reading = counts.read();
    const total = reading.value('error_events_total', 'web') + reading.value('error_events_total', 'worker');
    const first = errorsSeen.findIndex(({ at }) => at <= now && now - at < BURST_TIME);
    errorsSeen.splice(0, first < 0 ? errorsSeen.length : first);
    errorsSeen.push({ at: now, total });
    const recent = total - (errorsSeen[0]?.total ?? total);
    const minutes = Math.ceil((now - (errorsSeen[0]?.at ?? now)) / MINUTE);
    const state = `${recent} within ${minutes} minutes; see the error events`;
    watchTrouble(hub, 'error-burst', recent >= BURST ? state : null);
  }

  return { watchEnds, watchSpace, watchBackups, watchErrors };
}

function problemOf(run: { problem: string | null } | null): string {
  return run?.problem ?? 'no reason known';
}
