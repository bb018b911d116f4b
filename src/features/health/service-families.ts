import { SECOND } from '../../platform/clock.ts';
import { type Family, gauge, type Sample } from '../../platform/metrics/exposition.ts';
import { type CountsReading, DURATION_BOUNDS } from '../../platform/metrics/kept-counts.ts';
import { type ServiceReading, SYNC_JOB } from './health-store.ts';
import type { StorageSizes } from './storage-sizes.ts';

export type BuildInfo = { version: string; node: string; sqlite: string };

/** Times in unix ms; null for never. */
export type BackupFacts = {
  lastSuccessAt: number | null;
  lastVerifiedAt: number | null;
  lastBackupFailed: boolean;
  lastVerifyFailed: boolean;
};

/** The name of the one label, and every value it takes; empty for a number without labels. */
type KnownValues = Record<string, readonly string[]>;

const SOURCE_KINDS = ['feed', 'webhook', 'native'];
const SOURCE_STATES = ['active', 'failing', 'paused'];
const JOB_STATES = ['queued', 'running', 'retrying', 'failed'];

/**
 * Everything the hub says about itself, from readings that were taken already. A series stands for each known
 * label value, with 0 where nothing is kept, so that an alert on it does not wait for its first appearance.
 */
export function serviceFamilies(
  build: BuildInfo,
  reading: ServiceReading,
  storage: StorageSizes,
  cacheMaxBytes: number,
  backups: BackupFacts,
): Family[] {
  const { counts } = reading;
  return [
    buildInfo(build),
    ...contentFamilies(counts),
    ...syncFamilies(reading),
    ...webhookFamilies(counts),
    ...attachmentFamilies(counts, cacheMaxBytes),
    ...operationFamilies(reading, backups),
    ...storageFamilies(counts, storage),
  ];
}

function buildInfo(build: BuildInfo): Family {
  const help = 'Versions of the hub, of Node.js and of SQLite that are running.';
  return { type: 'info', name: 'service_build_info', help, samples: [{ labels: build, value: 1 }] };
}

function contentFamilies(counts: CountsReading): Family[] {
  return [
    {
      type: 'gauge',
      name: 'service_sources',
      help: 'Sources by kind and state.',
      samples: SOURCE_KINDS.flatMap((kind) => SOURCE_STATES.map((state) => {
        return { labels: { kind, state }, value: counts.value('sources', `${kind},${state}`) };
      })),
    },
    gauge('service_public_posts', 'Posts that anybody may read.', counts.value('public_posts')),
    keptCounter(counts, 'posts_ingested_total', 'Posts that were new to the hub, by the kind of their source.',
      { kind: SOURCE_KINDS }),
  ];
}

function syncFamilies({ counts, oldestDueSyncSeconds, oldestSuccessSeconds }: ServiceReading): Family[] {
  return [
    {
      type: 'gauge',
      name: 'service_sync_jobs',
      help: 'Synchronisation jobs by state; failed ones are out of attempts and wait for a person or a later success.',
      samples: JOB_STATES.map((state) => ({ labels: { state }, value: counts.value('jobs', `${SYNC_JOB},${state}`) })),
    },
    gauge('service_sync_oldest_due_seconds',
      'How long the longest-waiting due synchronisation job has waited, 0 when none is due.', oldestDueSyncSeconds),
    gauge('service_sync_oldest_success_seconds',
      'Time since the last success of the feed that is most behind and not paused, 0 without feeds.',
      oldestSuccessSeconds),
    keptCounter(counts, 'sync_runs_total', 'Synchronisations that ended, by result.',
      { result: ['changed', 'unchanged', 'error'] }),
    {
      type: 'histogram',
      name: 'service_sync_duration_seconds',
      help: 'Duration of synchronisations.',
      bounds: DURATION_BOUNDS,
      samples: [{ labels: {}, ...counts.histogram('sync_duration_seconds') }],
    },
  ];
}

function webhookFamilies(counts: CountsReading): Family[] {
  return [
    keptGauge(counts, 'webhooks', 'Incoming webhooks by state; silent ones heard no valid event for more than a week.',
      { state: ['active', 'silent', 'disabled'] }),
    keptCounter(counts, 'webhook_events_total', 'Incoming webhook events by result.',
      { result: ['accepted', 'duplicate', 'rejected'] }),
  ];
}

function attachmentFamilies(counts: CountsReading, cacheMaxBytes: number): Family[] {
  return [
    keptGauge(counts, 'attachment_cache_files', 'Files in the cache of remote attachments.'),
    keptGauge(counts, 'attachment_cache_bytes', 'Size of the cache of remote attachments.'),
    gauge('service_attachment_cache_max_bytes', 'Size the cache may grow to, 0 when it is off.', cacheMaxBytes),
    keptCounter(counts, 'attachment_cache_requests_total', 'Requests for remote attachments by result.',
      { result: ['hit', 'miss', 'error'] }),
    keptCounter(counts, 'attachment_scans_total', 'Virus scans of uploads by result.',
      { result: ['clean', 'infected', 'unavailable'] }),
  ];
}

function operationFamilies({ counts, workerSeenAt }: ServiceReading, backups: BackupFacts): Family[] {
  return [
    keptGauge(counts, 'alert_deliveries', 'Outbound alert deliveries recorded in the database by state.',
      { state: ['pending', 'delivered', 'failed'] }),
    keptCounter(counts, 'error_events_total', 'Errors that are the fault of the hub, by the process they happened in.',
      { process: ['web', 'worker'] }),
    gauge('service_worker_last_seen_timestamp_seconds', 'When the worker last showed that it runs, 0 for never.',
      (workerSeenAt ?? 0) / SECOND),
    gauge('service_backup_last_success_timestamp_seconds', 'When the last complete backup was made, 0 for never.',
      (backups.lastSuccessAt ?? 0) / SECOND),
    gauge('service_backup_last_verified_timestamp_seconds', 'When a backup was last found good, 0 for never.',
      (backups.lastVerifiedAt ?? 0) / SECOND),
    lastRuns(backups),
  ];
}

function lastRuns({ lastBackupFailed, lastVerifyFailed }: BackupFacts): Family {
  const help = 'Whether the last run made no good backup, or found one damaged and none has been made since.';
  const samples = Object.entries({ backup: lastBackupFailed, verification: lastVerifyFailed })
    .map(([run, hasFailed]) => ({ labels: { run }, value: hasFailed ? 1 : 0 }));
  return { type: 'gauge', name: 'service_backup_last_run_failed', help, samples };
}

function storageFamilies(counts: CountsReading, { databaseBytes, walBytes, freeBytes }: StorageSizes): Family[] {
  return [
    gauge('service_database_bytes', 'Size of the database file.', databaseBytes),
    gauge('service_database_wal_bytes', 'Size of the write-ahead log of the database.', walBytes),
    keptGauge(counts, 'uploads_bytes', 'Size of the uploaded attachments.'),
    gauge('service_data_free_bytes', 'Space left for the hub on the file system of its data.', freeBytes),
  ];
}

function keptGauge(counts: CountsReading, metric: string, help: string, label: KnownValues = {}): Family {
  return { type: 'gauge', name: `service_${metric}`, help, samples: keptSamples(counts, metric, label) };
}

function keptCounter(counts: CountsReading, metric: `${string}_total`, help: string, label: KnownValues): Family {
  return { type: 'counter', name: `service_${metric}`, help, samples: keptSamples(counts, metric, label) };
}

function keptSamples(counts: CountsReading, metric: string, label: KnownValues): Sample[] {
  const [known] = Object.entries(label);
  if (!known) return [{ labels: {}, value: counts.value(metric) }];
  const [name, values] = known;
  return values.map((value) => ({ labels: { [name]: value }, value: counts.value(metric, value) }));
}
