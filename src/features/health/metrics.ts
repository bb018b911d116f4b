import { DAY, SECOND, wholeSeconds } from '../../platform/clock.ts';
import { sqliteVersion } from '../../platform/db/open-database.ts';
import { JOB_STATES } from '../../platform/jobs/job-records.ts';
import { DURATION_BOUNDS } from '../../platform/metrics/counters.ts';
import { familiesFrom, type HistogramSample, type Metric } from '../../platform/metrics/exposition.ts';
import { HTTP_METRICS } from '../../platform/metrics/http-metrics.ts';
import { PROCESS_METRICS, type ProcessFigures } from '../../platform/metrics/process-metrics.ts';
import { DELIVERY_STATES } from '../alerts/alert-store.ts';
import { timeOfBackup } from '../backups/backup-name.ts';
import type { DrillStatus } from '../backups/drill-status.ts';
import { DESTINATIONS, type Destination, type OffsiteStatus } from '../backups/offsite-status.ts';
import { PICTURE_RESULTS } from '../feeds/fetch-pictures.ts';
import { bufferedCounts, httpMetrics, jobs, once, processMetrics, turnWaits, type Hub } from '../hub/hub.ts';
import { LIMITS } from '../hub/limits.ts';
import { ACTS } from '../rules/rule-store.ts';
import { SOURCE_KINDS, SOURCE_STATES } from '../sources/source-store.ts';
import { SYNC_SOURCE, syncState } from '../sources/sync-state-store.ts';
import { WEBHOOK_STATES } from '../webhooks/webhook-store.ts';
import { takeSnapshot, type HubSnapshot } from './condition.ts';

export const SERVICE_METRICS: readonly Metric<HubSnapshot>[] = [
  {
    type: 'info',
    name: 'service_build_info',
    help: 'Versions of the hub, of Node.js and of SQLite that are running.',
    labels: { version: 'version of the hub', node: 'version of Node.js', sqlite: 'version of SQLite' },
    samples: ({ hub }) => [{ labels: versions(hub), value: 1 }],
  },

  kept('gauge', 'service_sources', 'Number of sources by kind and state.',
    { kind: SOURCE_KINDS, state: SOURCE_STATES }),
  kept('gauge', 'service_public_posts', 'Number of public posts.'),
  kept('counter', 'service_posts_ingested_total', 'New posts that the hub has stored, by the kind of their source.',
    { kind: SOURCE_KINDS }),

  {
    type: 'gauge',
    name: 'service_sync_jobs',
    help: 'Synchronisation jobs by state; a failed job has used up its attempts and stays until a person retries or ' +
      'discards the job, or the feed is synchronised again.',
    labels: { state: JOB_STATES.filter((state) => state !== 'done' && state !== 'discarded') },
    value: ({ kept }, state) => kept().value('jobs', `${SYNC_SOURCE},${state}`),
  },
  gauge('service_sync_oldest_due_seconds',
    'Waiting time of the due synchronisation job that has waited longest, 0 if no job is due.',
    ({ hub }) => Math.floor(jobs(hub).oldestDueSeconds(SYNC_SOURCE))),
  gauge('service_sync_oldest_success_seconds',
    'Longest time since the last successful synchronisation of a feed that is not paused, 0 without such feeds.',
    ({ hub }) => wholeSeconds(hub.clock() - (syncState(hub).mostBehindSince() ?? hub.clock()))),
  kept('counter', 'service_sync_runs_total', 'Number of finished synchronisations by result.',
    { result: ['changed', 'unchanged', 'error'] }),
  {
    type: 'histogram',
    name: 'service_sync_duration_seconds',
    help: 'Duration of synchronisations.',
    bounds: DURATION_BOUNDS,
    samples: ({ kept }) => [{ labels: {}, ...kept().histogram('sync_duration_seconds') }],
  },

  kept('gauge', 'service_webhooks',
    'Incoming webhooks by state; silent webhooks had no valid event for more than a week.', { state: WEBHOOK_STATES }),
  kept('counter', 'service_webhook_events_total', 'Incoming webhook events by result.',
    { result: ['accepted', 'duplicate', 'rejected'] }),

  kept('gauge', 'service_attachment_cache_files', 'Number of files in the cache of remote attachments.'),
  kept('gauge', 'service_attachment_cache_bytes', 'Size of the cache of remote attachments.'),
  gauge('service_attachment_cache_max_bytes', 'Maximum size of the cache of remote attachments, 0 if the cache is off.',
    ({ hub }) => hub.config.attachmentCacheMaxBytes),
  kept('counter', 'service_attachment_cache_requests_total', 'Number of requests for remote attachments by result.',
    { result: ['hit', 'miss', 'error'] }),
  kept('counter', 'service_list_pictures_total',
    'Number of pictures of new posts that the worker got, or did not get, for lists of posts, by result.',
    { result: PICTURE_RESULTS }),
  kept('counter', 'service_rules_applied_total',
    'Number of posts to which rules of members were applied, by what the rule did to the post.',
    { act: [...ACTS] }),
  kept('gauge', 'service_full_text_bytes',
    'Size of the full texts of posts, with the estimated size of their words in the search index.'),
  kept('counter', 'service_full_texts_total',
    'Number of pages that the hub fetched, or did not get, for full texts of posts, by result.',
    { result: ['ready', 'refused', 'failed'] }),
  kept('counter', 'service_attachment_scans_total', 'Number of virus scans of uploads by result.',
    { result: ['clean', 'infected', 'unavailable'] }),

  kept('gauge', 'service_alert_deliveries', 'Number of alert deliveries in the database by state.',
    { state: DELIVERY_STATES }),
  kept('counter', 'service_limits_refused_total', 'Number of refused requests by the limit that they exceeded.',
    { limit: Object.keys(LIMITS) }),
  kept('counter', 'service_error_events_total',
    'Errors that are the fault of the hub, by the process in which they occurred.', { process: ['web', 'worker'] }),
  gauge('service_worker_last_seen_timestamp_seconds', 'Time of the last heartbeat of the worker, 0 for never.',
    ({ worker }) => seconds(worker().seenAt)),

  gauge('service_backup_last_success_timestamp_seconds', 'Time of the last complete backup, 0 for never.',
    ({ backups }) => seconds(backups().lastSuccessAt)),
  gauge('service_backup_last_verified_timestamp_seconds',
    'Time of the last successful verification of a backup, 0 for never.',
    ({ backups }) => seconds(backups().lastVerifiedAt)),
  gauge('service_backup_oldest_verification_timestamp_seconds',
    'Oldest of the last verification times of the backups on this machine, 0 without backups.',
    ({ backups }) => seconds(backups().byVerification[0]?.at ?? null)),
  gauge('service_backup_interim_last_success_timestamp_seconds',
    'When the newest verified interim backup on this machine was made, 0 for none.',
    ({ interim }) => seconds(interim().newestAt)),
  gauge('service_backup_interim_last_run_failed', '1 if the last run of interim-backup.sh failed, otherwise 0.',
    ({ interim }) => Number(interim().last?.ok === false)),
  {
    type: 'gauge',
    name: 'service_backup_last_run_failed',
    help: '1 if the last backup failed, if an existing backup was found damaged, or if the last off-site run left a ' +
      'backup unsent.',
    labels: { run: ['backup', 'verify', ...DESTINATIONS.map((name) => `offsite-${name}`)] },
    value: lastRunFailed,
  },
  offsite('service_backup_offsite_last_success_timestamp_seconds',
    'Time of the last off-site run that sent the destination all missing backups, 0 for never.',
    ({ lastGood }) => seconds(lastGood?.at ?? null)),
  offsite('service_backup_offsite_last_bytes',
    'Size of the newest copy that the last successful off-site run sent, 0 without such a run.',
    ({ lastGood }) => lastGood?.bytes ?? 0),
  offsite('service_backup_offsite_last_duration_seconds', 'Duration of the last off-site run, successful or not.',
    ({ last }) => last?.seconds ?? 0),
  offsite('service_backup_offsite_oldest_unsent_timestamp_seconds',
    'Time of the oldest backup that the last off-site run left unsent, 0 if it sent all backups.',
    ({ last }) => seconds(timeOfBackup(last?.unsent ?? '') ?? null)),
  gauge('service_backup_restic_last_check_timestamp_seconds',
    'Time when a part of the restic repository was last read and found intact, 0 for never.',
    ({ offsite }) => seconds(offsite().find(({ name }) => name === 'restic')?.last?.checkedAt ?? null)),

  drill('service_backup_last_proven_restore_timestamp_seconds',
    'When a drill last proved that the newest copy at an off-site destination can be restored, 0 for never.',
    ({ lastProven }) => seconds(lastProven?.at ?? null)),
  drill('service_backup_drill_interval_seconds',
    'Configured time between scheduled drills that prove a restore, 0 if no scheduled drill proves a restore.',
    ({ isSealed, intervalDays }) => isSealed ? 0 : seconds(intervalDays * DAY)),

  gauge('service_database_bytes', 'Size of the database file.', ({ storage }) => storage().databaseBytes),
  gauge('service_database_wal_bytes', 'Size of the write-ahead log of the database.',
    ({ storage }) => storage().walBytes),
  kept('gauge', 'service_uploads_bytes', 'Size of the uploaded attachments.'),
  gauge('service_data_free_bytes', 'Free space for the hub on the file system of its data.',
    ({ storage }) => storage().freeBytes),
];

export const METRICS: readonly Metric<MetricsSnapshot>[] = [...SERVICE_METRICS, ...HTTP_METRICS, ...PROCESS_METRICS];

export const metricFamilies = familiesFrom(METRICS);

function gauge(name: string, help: string, value: (snapshot: HubSnapshot) => number): Metric<HubSnapshot> {
  return { type: 'gauge', name, help, value };
}

function perDestination<Status extends { name: Destination }>(
  name: string, help: string, statuses: (snapshot: HubSnapshot) => Status[], value: (status: Status) => number,
): Metric<HubSnapshot> {
  return {
    type: 'gauge', name, help, labels: { destination: DESTINATIONS },
    value(snapshot, destination) {
      const status = statuses(snapshot).find(({ name }) => name === destination);
      return status ? value(status) : 0;
    },
  };
}

function offsite(name: string, help: string, value: (status: OffsiteStatus) => number): Metric<HubSnapshot> {
  return perDestination(name, help, ({ offsite }) => offsite(), value);
}

function drill(name: string, help: string, value: (status: DrillStatus) => number): Metric<HubSnapshot> {
  return perDestination(name, help, ({ drills }) => drills(), value);
}

function lastRunFailed({ backups, offsite }: HubSnapshot, run: string | undefined): number {
  if (run === 'backup') return Number(backups().lastBackupFailed);
  if (run === 'verify') return Number(backups().damaged !== null);
  const status = offsite().find(({ name }) => run === `offsite-${name}`);
  return Number(status?.hasFailed ?? false);
}

type KnownLabels = Record<string, readonly string[]>;

/** A metric from the table `counts`, found by its name without `service_` and by its label values, joined by commas. */
function kept(type: 'gauge', name: string, help: string, labels?: KnownLabels): Metric<HubSnapshot>;
function kept(type: 'counter', name: `${string}_total`, help: string, labels?: KnownLabels): Metric<HubSnapshot>;
function kept(type: 'gauge' | 'counter', name: string, help: string, labels: KnownLabels = {}): Metric<HubSnapshot> {
  const metric = name.slice('service_'.length);
  const value = ({ kept }: HubSnapshot, ...values: string[]): number => kept().value(metric, values.join(','));
  return { type, name, help, labels, value } as Metric<HubSnapshot>;
}

function seconds(at: number | null): number {
  return (at ?? 0) / SECOND;
}

type MetricsSnapshot = HubSnapshot & {
  http: readonly HistogramSample[]; waits: readonly HistogramSample[]; process: ProcessFigures;
};

const versions = once(({ db, config }: Hub) =>
  ({ version: config.version, node: process.version, sqlite: sqliteVersion(db) }));

/** Of the database, a scrape reads kept counts and single rows by an index: it costs the same however many posts. */
export function readMetrics(hub: Hub): MetricsSnapshot {
  bufferedCounts(hub).flush();
  const [http, waits] = [httpMetrics(hub).read(), turnWaits(hub).read()];
  return { ...takeSnapshot(hub), http, waits, process: processMetrics(hub).read() };
}
