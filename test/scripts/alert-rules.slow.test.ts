// Protects the alerting rules for Prometheus: each fires when it should, and not otherwise, and leads to help.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { anchorOf, headingsOf } from '../support/contents.ts';
import { temporaryDataDir } from '../support/hub-process.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { requireTool } from '../support/tools.ts';

const FILE = join(PROJECT_ROOT, 'scripts/monitoring/alerts.yml');
const TEXT = readFileSync(FILE, 'utf8');

type Rule = { name: string; severity: string; wait: string; summary: string; runbook: string };

const RULES: Rule[] = TEXT.split('- alert: ').slice(1).map((text) => {
  const [name = ''] = text.split('\n');
  const read = (key: string): string => new RegExp(`\\b${key}: ([^}\\n]*?)(?: }|$)`, 'm').exec(text)?.[1] ?? '';
  return { name, severity: read('severity'), wait: read('for'), summary: read('summary'), runbook: read('runbook') };
});

/** One value every five minutes, in the notation of promtool: `5x20` is 5 and then 20 times the same. */
type Series = Record<string, string>;

/** What makes a rule fire at that time, and what it says then of the instance X; what is nearly the same and does not. */
type Case = { fires: Series; quiet: Series; at?: string; says: string; labels?: Record<string, string> };

const NOT_SCRAPED = 'No target belongs to the job content-hub, so no other rule of the hub can fire.';
const GIB = 1024 ** 3;
const LAG = 'nodejs_eventloop_lag_p99_seconds';
const [REQUESTS, ERRORS] = ['service_http_requests_total', 'service_error_events_total{process="worker"}'];
const RUNS = (result: string): string => `service_sync_runs_total{result="${result}"}`;
const FAILED = (run: string): string => `service_backup_last_run_failed{run="${run}"}`;
const MADE = 'service_backup_last_success_timestamp_seconds';
const [VERIFIED, CHECKED] =
  ['service_backup_last_verified_timestamp_seconds', 'service_backup_restic_last_check_timestamp_seconds'];
const SENT = 'service_backup_offsite_last_success_timestamp_seconds{destination="dir"}';
const [PROVEN, DRILLS] = ['last_proven_restore_timestamp_seconds', 'drill_interval_seconds']
  .map((name) => `service_backup_${name}{destination="dir"}`) as [string, string];
const REFUSED = (limit: string): string => `service_limits_refused_total{limit="${limit}"}`;
const SCANS = (result: string): string => `service_attachment_scans_total{result="${result}"}`;

/** Answers of one minute, of which so many took longer than a second. */
function answers(total: number, slow: number): Series {
  const bucket = (le: string): string =>
    `service_http_request_duration_seconds_bucket{method="GET",route="/",code="200",le="${le}"}`;
  return {
    [bucket('0.1')]: `0+${total - slow}x30`, [bucket('1.0')]: `0+${total - slow}x30`,
    [bucket('2.5')]: `0+${total}x30`, [bucket('+Inf')]: `0+${total}x30`,
  };
}

/** Every rule. Time begins at 0, so that what happened before has a time below. */
const CASES = {
  ContentHubDown: { fires: { up: '0x30' }, quiet: { up: '1x30' }, says: 'X has not answered a scrape for two minutes.' },
  ContentHubRestarting: {
    fires: { process_start_time_seconds: '1 2 3 4 5x20' }, quiet: { process_start_time_seconds: '1 2 3 4x20' },
    at: '30m', says: 'X started 4 times within an hour.',
  },
  ContentHubWorkerSilent: {
    fires: { service_worker_last_seen_timestamp_seconds: '0x30' },
    quiet: { service_worker_last_seen_timestamp_seconds: '0+300x30' },
    at: '15m', says: 'The worker of X was last seen 15m 0s ago.',
  },
  ContentHubErrors: {
    fires: { [ERRORS]: '4 5x30' }, quiet: { [ERRORS]: '5x30' }, at: '30m', says: 'worker of X: 1 errors an hour.',
    labels: { process: 'worker' },
  },
  ContentHubErrorBurst: {
    fires: { [ERRORS]: '0x10 0+12x20' }, quiet: { [ERRORS]: '0x10 0+6x20' }, says: 'X: 24 errors within ten minutes.',
  },
  ContentHubServerErrors: {
    fires: { [`${REQUESTS}{method="GET",route="/",code="200"}`]: '0+90x30', [`${REQUESTS}{code="500"}`]: '0+10x30' },
    quiet: { [`${REQUESTS}{route="/",code="200"}`]: '0+98x30', [`${REQUESTS}{route="/",code="500"}`]: '0+2x30' },
    says: '10% of the answers of X are errors.',
  },
  ContentHubSlow: { fires: answers(100, 10), quiet: answers(100, 4), says: 'One in twenty pages of X takes 1.75s or more.' },
  ContentHubEventLoopBlocked: { fires: { [LAG]: '0.15x30' }, quiet: { [LAG]: '0.05x30' }, says: 'Work in web of X waits 150ms (99th percentile).' },
  ContentHubMemoryHigh: {
    fires: { process_resident_memory_bytes: `${0.9 * GIB}x30` }, quiet: { process_resident_memory_bytes: `${GIB / 2}x30` },
    says: 'X takes 921.6MiB.',
  },
  ContentHubFilesOpen: {
    fires: { process_open_fds: '900x30', process_max_fds: '1000x30' },
    quiet: { process_open_fds: '700x30', process_max_fds: '1000x30' },
    says: 'X has 90% of its file descriptors open.',
  },
  ContentHubSyncDelayed: {
    fires: { service_sync_oldest_due_seconds: '3900x30' }, quiet: { service_sync_oldest_due_seconds: '3600x30' },
    says: 'A synchronisation of X has waited for 1h 5m 0s.',
  },
  ContentHubSyncsFail: {
    fires: { [RUNS('error')]: '0+8x30', [RUNS('changed')]: '0+2x30' },
    quiet: { [RUNS('error')]: '0+4x30', [RUNS('unchanged')]: '0+4x30', [RUNS('changed')]: '0+2x30' },
    at: '2h', says: '80% of the synchronisations of X failed within an hour.',
  },
  ContentHubSourceFailed: {
    fires: { 'service_sync_jobs{state="failed"}': '2x30' }, quiet: { 'service_sync_jobs{state="retrying"}': '2x30' },
    labels: { state: 'failed' }, says: '2 sources of X could not be synchronised.',
  },
  ContentHubSourceBehind: {
    fires: { service_sync_oldest_success_seconds: '691200x30' }, quiet: { service_sync_oldest_success_seconds: '518400x30' },
    says: 'A source of X last succeeded 8d 0h 0m 0s ago.',
  },
  ContentHubWebhookSilent: {
    fires: { 'service_webhooks{state="silent"}': '1x30' }, quiet: { 'service_webhooks{state="disabled"}': '1x30' },
    labels: { state: 'silent' }, says: '1 webhooks of X are silent.',
  },
  ContentHubBackupFailed: {
    fires: { [FAILED('backup')]: '1x30' }, quiet: { [FAILED('backup')]: '0x30' }, labels: { run: 'backup' },
    says: 'The last backup of X was not made, or lacks data.',
  },
  ContentHubInterimFailed: {
    fires: { service_backup_interim_last_run_failed: '1x30' }, quiet: { [FAILED('backup')]: '0x30', service_backup_interim_last_run_failed: '0x30' },
    says: 'The last interim backup of X was not made, or lacks something.',
  },
  ContentHubBackupDamaged: {
    fires: { [FAILED('verify')]: '1x30' }, quiet: { [FAILED('verify')]: '0x30' }, labels: { run: 'verify' },
    says: 'A backup of X failed its verification and still exists.',
  },
  ContentHubBackupStale: {
    fires: { [MADE]: '-93600x30', [VERIFIED]: '-1000x30' }, quiet: { [MADE]: '-80000x30' },
    says: 'The last good backup of X was made 1d 3h 40m 0s ago.',
  },
  ContentHubNoBackup: {
    fires: { [MADE]: '0x300' }, quiet: { [MADE]: '0x200 1x100' }, at: '24h30m', says: 'X has run for a day without a good backup.',
  },
  ContentHubOffsiteFailed: {
    fires: { [FAILED('offsite-restic')]: '1x30' }, quiet: { [FAILED('offsite-restic')]: '0x30' },
    labels: { run: 'offsite-restic' }, says: 'The last off-site run of X left offsite-restic without a backup.',
  },
  ContentHubOffsiteStale: {
    fires: { [SENT]: '-93600x30' }, quiet: { [SENT]: '-80000x30', [SENT.replace('dir', 'restic')]: '0x30' },
    labels: { destination: 'dir' }, says: 'dir last got all backups of X 1d 3h 40m 0s ago.',
  },
  ContentHubResticUnchecked: {
    fires: { [CHECKED]: '-604800x30' }, quiet: { [CHECKED]: '-500000x30' }, says: 'restic data of X was last found good 7d 1h 40m 0s ago.',
  },
  ContentHubRestoreUnproven: {
    fires: { [PROVEN]: '-3888000x30', [DRILLS]: '2592000x30' }, quiet: { [PROVEN]: '-9000000x30', [DRILLS]: '0x30' },
    labels: { destination: 'dir' }, says: 'A restore of X from dir was last proven 45d 1h 40m 0s ago.',
  },
  ContentHubSpaceLow: {
    fires: { service_data_free_bytes: `${GIB / 2}x30` }, quiet: { service_data_free_bytes: `${2 * GIB}x30` },
    says: 'X has 512MiB left.',
  },
  ContentHubSpaceShrinking: {
    fires: { service_data_free_bytes: `${100 * GIB}-${GIB}x30` },
    quiet: { service_data_free_bytes: `${100 * GIB}-${GIB / 20}x30` }, says: 'The free space of X has shrunk over the last six hours.',
  },
  ContentHubLogLarge: {
    fires: { service_database_wal_bytes: `${GIB}x30` }, quiet: { service_database_wal_bytes: `${GIB / 4}x30` },
    says: 'The write-ahead log of X has 1GiB.',
  },
  ContentHubAlertsUndelivered: {
    fires: { 'service_alert_deliveries{state="failed"}': '0x10 1x20' },
    quiet: { 'service_alert_deliveries{state="failed"}': '2x10 1x20' },
    labels: { state: 'failed' }, says: 'Deliveries of X ran out of attempts within the last six hours.',
  },
  ContentHubScannerUnavailable: {
    fires: { [SCANS('unavailable')]: '0+1x30' }, quiet: { [SCANS('unavailable')]: '9x30', [SCANS('clean')]: '0+1x30' },
    labels: { result: 'unavailable' }, says: 'The virus scanner of X gave no verdict within the last quarter of an hour.',
  },
  ContentHubOverloaded: {
    fires: { [REFUSED('bodies')]: '0+10x30' }, quiet: { [REFUSED('bodies')]: '0+1x30', [REFUSED('sync-now')]: '0+9x30' },
    labels: { limit: 'bodies' }, says: 'X refused 30 requests in 15 minutes (bodies).',
  },
  ContentHubGuessing: {
    fires: { [REFUSED('sign-in')]: '0+6x30', [REFUSED('sign-in-name')]: '0+6x30' },
    quiet: { [REFUSED('sign-in')]: '0+3x30' }, says: 'X refused 144 sign-in attempts within an hour.',
  },
} satisfies Record<string, Case>;

test('each alert rule fires after its waiting time, and only when it should', (t) => {
  if (!requireTool(t, 'promtool')) return;
  const { ContentHubNoBackup, ...others } = CASES;
  const groups = [others, { ContentHubNoBackup }].map((cases) => ({
    interval: '5m',
    input_series: Object.entries(cases).flatMap(([name, { fires, quiet }]) =>
      [...ofInstance(`${name} fires`, fires), ...ofInstance(`${name} is quiet`, quiet)]),
    alert_rule_test: Object.entries(cases).flatMap(([name, one]) => expectedOf(name, one)),
  }));
  const notScraped = [said('ContentHubNotScraped', '15m', {}, NOT_SCRAPED)];
  const tests = [...groups, { interval: '5m', input_series: [], alert_rule_test: notScraped }];
  const file = join(temporaryDataDir(t), 'rules.json');
  writeFileSync(file, JSON.stringify({ rule_files: [FILE], evaluation_interval: '5m', tests }));

  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });

  assert.equal(status, 0, stdout + stderr);
});

test('every rule has a case, a severity, a time to wait, a summary that does not change, and a chapter', () => {
  const handbook = readFileSync(join(PROJECT_ROOT, 'scripts/README.md'), 'utf8');
  const anchors = headingsOf(handbook).map(({ text }) => anchorOf(text));
  assert.deepEqual(RULES.map(({ name }) => name).filter((name) => !(name in CASES)), ['ContentHubNotScraped']);
  for (const { name, severity, wait, summary, runbook } of RULES) {
    assert.match(severity, /^(?:critical|warning|info)$/, name);
    assert.match(wait, /^\d+[smhd]$/, name);
    assert.match(summary, /^[A-Z][^{]*\.$/, name);
    assert.ok(anchors.includes(/^scripts\/README\.md#([\w-]+)$/.exec(runbook)?.[1] ?? ''), runbook);
  }
});

function ofInstance(instance: string, series: Series): { series: string; values: string }[] {
  return Object.entries(series).map(([name, values]) => {
    const [metric = '', labels = ''] = name.split(/[{}]/);
    return { series: `${metric}{${labels}${labels && ','}job="content-hub",instance="${instance}"}`, values };
  });
}

function expectedOf(name: string, { at = '1h40m', says, labels = {} }: Case): object[] {
  const instance = `${name} fires`;
  const atFirst = { eval_time: '0m', alertname: name, exp_alerts: [] };
  return [atFirst, said(name, at, { ...labels, instance }, says.replace(/\bX\b/, instance))];
}

/** What one rule says at that time, of nothing else. */
function said(alertname: string, eval_time: string, labels: Record<string, string>, description: string): object {
  const { severity, summary, runbook } = RULES.find(({ name }) => name === alertname) ?? assert.fail(alertname);
  return { eval_time, alertname, exp_alerts: [{
    exp_labels: { severity, job: 'content-hub', ...labels }, exp_annotations: { summary, runbook, description },
  }] };
}
