import { page, type Reply } from '../../platform/http/reply.ts';
import { isStale, readBackupStatus } from '../backups/backup-status.ts';
import { leastFree } from '../backups/backup-folder.ts';
import { readHealth } from '../health/read-health.ts';
import { readStorageSizes } from '../health/storage-sizes.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { overviewPage, type Overview } from './overview-views.ts';

export function showOverview(hub: Hub): Reply {
  return page(overviewPage(readOverview(hub)));
}

/** What the administrators' first page shows, out of counters and a few small files. */
function readOverview(hub: Hub): Overview {
  const kept = counts(hub).read();
  const jobs = kept.labels('jobs').map((label) => {
    const [kind = '', state = ''] = label.split(',');
    return { kind, state, count: kept.value('jobs', label) };
  });
  return {
    ...readHealth(hub),
    version: hub.config.version,
    jobs: jobs.filter(({ count }) => count > 0),
    backup: readBackup(hub),
    storage: readStorage(hub, kept.value('uploads_bytes')),
  };
}

function readBackup({ config, clock }: Hub): Overview['backup'] {
  const { lastSuccessAt, lastVerifiedAt, lastBackup, lastVerification, ...state } = readBackupStatus(config.dataDir);
  const failed = state.lastBackupFailed ? lastBackup : state.lastVerifyFailed ? lastVerification : null;
  return {
    lastAt: lastSuccessAt,
    verifiedAt: lastVerifiedAt,
    isStale: isStale(state.newestVerified, clock()),
    problem: failed && (failed.problem ?? 'the last run failed'),
  };
}

function readStorage({ config }: Hub, uploadsBytes: number): Overview['storage'] {
  const sizes = readStorageSizes(config.databasePath);
  return { ...sizes, uploadsBytes, isLow: sizes.freeBytes < leastFree(sizes.databaseBytes, uploadsBytes) };
}
