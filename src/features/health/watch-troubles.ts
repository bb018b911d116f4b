import { MINUTE } from '../../platform/clock.ts';
import { byteSize } from '../../platform/http/html.ts';
import { isTroubleOpen, watchTrouble } from '../alerts/raise-alerts.ts';
import { isStale, readBackupStatus } from '../backups/backup-status.ts';
import { leastFree, spaceNeeded } from '../backups/backup-folder.ts';
import { syncSource } from '../feeds/sync-source.ts';
import { counts, jobs, once, type Hub } from '../hub/hub.ts';
import { readStorageSizes } from './storage-sizes.ts';

/** Space is low until so many times what is too little is free, so that the trouble does not come and go. */
export const SPACE_HYSTERESIS = 1.1;

/** So many unexpected errors within so long are told. */
export const BURST = 20;
export const BURST_TIME = 10 * MINUTE;

/** Notices the end of troubles that are raised where they happen. */
export function watchEnds(hub: Hub): void {
  if (jobs(hub).failedCount(syncSource.name) === 0) watchTrouble(hub, 'sync-failed', null);
  if (counts(hub).read().value('webhooks', 'silent') === 0) watchTrouble(hub, 'webhook-silent', null);
}

/** Notices that the next backup, or a gigabyte, would not fit on the disk. */
export function watchSpace(hub: Hub): void {
  const { databaseBytes, freeBytes } = readStorageSizes(hub.config.databasePath);
  const uploadBytes = counts(hub).read().value('uploads_bytes');
  const least = leastFree(databaseBytes, uploadBytes);
  const isLow = freeBytes < least * (isTroubleOpen(hub, 'space-low') ? SPACE_HYSTERESIS : 1);
  const backup = byteSize(spaceNeeded(databaseBytes, uploadBytes));
  watchTrouble(hub, 'space-low', isLow ? `${byteSize(freeBytes)} are free; the next backup may take ${backup}` : null);
}

/** Notices that a backup failed or failed its verification, or that there is none of late. */
export function watchBackups(hub: Hub): void {
  const { lastBackup, newest, newestVerified, lastBackupFailed, lastVerifyFailed, lastVerification } =
    readBackupStatus(hub.config.dataDir);
  watchTrouble(hub, 'backup-failed', lastBackupFailed ? `The last backup: ${problemOf(lastBackup)}` : null);
  const damaged = `${lastVerification?.name ?? 'The last backup'}: ${problemOf(lastVerification)}`;
  watchTrouble(hub, 'backup-verify-failed', lastVerifyFailed ? damaged : null);
  const wereEverMade = lastBackup !== null || newest !== null;
  const state = newestVerified ? `The newest is ${newestVerified.name}` : 'No backup on this machine is verified';
  watchTrouble(hub, 'backup-stale', wereEverMade && isStale(newestVerified, hub.clock()) ? state : null);
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
  const first = seen.findIndex(({ at }) => at <= now && now - at < BURST_TIME);
  seen.splice(0, first < 0 ? seen.length : first);
  seen.push({ at: now, total });
  const recent = total - (seen[0]?.total ?? total);
  const minutes = Math.ceil((now - (seen[0]?.at ?? now)) / MINUTE);
  const state = `${recent} within ${minutes} minutes; see the list of errors`;
  watchTrouble(hub, 'error-burst', recent >= BURST ? state : null);
}
