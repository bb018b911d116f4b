import { readBackupStatus } from '../features/backups/backup-status.ts';
import { spaceNeeded } from '../features/backups/free-space.ts';
import { SYNC_SOURCE } from '../features/feeds/sync-source.ts';
import { readStorageSizes } from '../features/health/storage-sizes.ts';
import { MINUTE } from '../platform/clock.ts';
import { byteSize } from '../platform/http/readable.ts';
import type { App } from './app.ts';
import { isStale, leastFree } from './trouble-bounds.ts';

export const ENOUGH = 1.1; // times what is too little: until then a trouble lasts, so that it does not come and go

export const BURST = 20; // unexpected errors
export const BURST_TIME = 10 * MINUTE;

/** States of things that the operator is told of; each function looks once. */
export function watchingTroubles({ alerts, config, counts, clock, jobs, webhooks }: App) {
  const errorsSeen: { at: number; total: number }[] = [];

  /** They are raised where they happen; here is seen when the last one is over. */
  function watchEnds(): void {
    if (jobs.failedCount(SYNC_SOURCE) === 0) alerts.watch('sync-failed', null);
    if (webhooks.countSilent() === 0) alerts.watch('webhook-silent', null);
  }

  function watchSpace(): void {
    const { databaseBytes, freeBytes } = readStorageSizes(config.databasePath);
    const uploadBytes = counts.read().value('uploads_bytes');
    const backup = spaceNeeded(databaseBytes, uploadBytes);
    const least = leastFree(databaseBytes, uploadBytes);
    const isLow = freeBytes < least * (alerts.isOpen('space-low') ? ENOUGH : 1);
    const state = `${byteSize(freeBytes)} are free; the next backup may take ${byteSize(backup)}`;
    alerts.watch('space-low', isLow ? state : null);
  }

  function watchBackups(): void {
    const { lastBackup, newest, newestVerified, lastBackupFailed, lastVerifyFailed, lastVerification } =
      readBackupStatus(config.dataDir);
    alerts.watch('backup-failed', lastBackupFailed ? `The last one: ${problemOf(lastBackup)}` : null);
    const damaged = `${lastVerification?.name ?? 'The last one'}: ${problemOf(lastVerification)}`;
    alerts.watch('backup-verify-failed', lastVerifyFailed ? damaged : null);
    const wereEverMade = lastBackup !== null || newest !== null;
    const state = newestVerified ? `The newest is ${newestVerified.name}` : 'No backup on this machine is verified';
    alerts.watch('backup-stale', wereEverMade && isStale(newestVerified, clock()) ? state : null);
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
    alerts.watch('error-burst', recent >= BURST ? `${recent} within ${minutes} minutes; see the error events` : null);
  }

  return { watchEnds, watchSpace, watchBackups, watchErrors };
}

function problemOf(run: { problem: string | null } | null): string {
  return run?.problem ?? 'no reason known';
}
