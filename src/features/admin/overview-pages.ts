import { byteSize, html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import type { CountsReading } from '../../platform/metrics/counters.ts';
import { isStale, readBackupStatus } from '../backups/backup-status.ts';
import { readOffsite, type OffsiteStatus } from '../backups/offsite-status.ts';
import { recoveryKitPrintedAt } from '../backups/recovery-kit.ts';
import { readHealth, type Health } from '../health/read-health.ts';
import { findSpace, readStorageSizes } from '../health/storage-space.ts';
import { counts, type Hub } from '../hub/hub.ts';

type Fact = { subject: string; state: Html | string; isBad?: boolean };

/** Health, backups, space and the queue, out of counters and a few small files. What needs attention stands out. */
export function showOverview(hub: Hub, { viewer }: MemberRequest): Reply {
  const kept = counts(hub).read();
  const health = readHealth(hub);
  const failing = kept.value('sources', 'feed,failing');
  const facts = [
    ...healthFacts(health, failing), ...backupFacts(hub, timesOf(hub, viewer)),
    ...storageFacts(hub, kept.value('uploads_bytes')),
  ];
  const jobs = kept.labels('jobs').filter((label) => kept.value('jobs', label) > 0);
  const bar = html`<h1>Overview</h1><span class="space"></span>
<span class="meta"><span>version ${hub.config.version}</span> <span>schema ${health.schemaVersion}</span></span>`;
  const main = html`
${verdict(facts.filter(({ isBad }) => isBad))}
<dl class="tiles">${facts.map(tile)}</dl>
<h2>Jobs</h2>
${jobs.length > 0 ? jobTable(kept, jobs) : html`<p class="empty">The queue is empty.</p>`}`;
  return page({ title: 'Overview', bar, main, section: 'admin/' });
}

/** Whether anything needs attention, and what. */
function verdict(bad: Fact[]): Html {
  if (bad.length === 0) return html`<div class="verdict good">${icon('done')}<div><h2>All is well.</h2></div></div>`;
  const names = bad.map(({ subject }) => subject).join(', ');
  return html`<div class="verdict bad">${icon('warning')}<div>
<h2>${bad.length === 1 ? 'One thing needs attention.' : `${bad.length} things need attention.`}</h2>
<p>${names}</p></div></div>`;
}

function healthFacts({ worker, failedJobs, oldestDueJobSeconds }: Health, failing: number): Fact[] {
  const seen = worker.lastSeenSeconds === null ? 'never seen' : `last seen ${worker.lastSeenSeconds} s ago`;
  const failed = html`<a href="/admin/jobs">${failedJobs} failed</a>`;
  const troubles = html`${failing} failing${failedJobs > 0 && html`, ${failed}`}`;
  const isBad = failing + failedJobs > 0;
  return [
    { subject: 'Worker', state: `${worker.ok ? 'running' : 'not running'}, ${seen}`, isBad: !worker.ok },
    { subject: 'Synchronisation', state: isBad ? troubles : 'ok', isBad },
    { subject: 'Oldest due job', state: `${oldestDueJobSeconds} s`, isBad: oldestDueJobSeconds > 3600 },
  ];
}

function backupFacts(hub: Hub, times: Times): Fact[] {
  const { lastSuccessAt, lastVerifiedAt, newestVerified, ...state } = readBackupStatus(hub);
  const { damaged } = state;
  const failed = state.lastBackupFailed ? state.lastBackup :
    damaged && { problem: `${damaged.name}: ${damaged.problem ?? 'it is damaged'}` };
  const timeOf = (at: number | null): Html | string => at === null ? 'never' : showTime(times, at);
  return [
    { subject: 'Last backup', state: timeOf(lastSuccessAt), isBad: isStale(newestVerified, hub.clock()) },
    { subject: 'Last verified backup', state: timeOf(lastVerifiedAt), isBad: lastVerifiedAt === null },
    ...(failed ? [{ subject: 'Backup problem', state: failed.problem ?? 'the last run failed', isBad: true }] : []),
    ...readOffsite(hub).map((status) => offsiteFact(status, times)),
    { subject: 'Recovery kit', state: html`printed ${timeOf(recoveryKitPrintedAt(hub.config.dataDir))}` },
  ];
}

const DESTINATION_NAMES: Record<OffsiteStatus['name'], string> = {
  dir: 'Copies on another disk', rclone: 'Copies by rclone', restic: 'Copies by restic',
};

/** When a destination last got what it had missed, and what keeps it from its copies. */
function offsiteFact({ name, last, lastGood, hasFailed, isStale }: OffsiteStatus, times: Times): Fact {
  const size = lastGood?.bytes ? `, ${byteSize(lastGood.bytes)}, took ${Math.ceil(lastGood.seconds)} s` : '';
  const sent = lastGood ? html`${showTime(times, lastGood.at)}${size}` : 'never';
  const unsent = last?.unsent ? ` (since ${last.unsent})` : '';
  const problem = hasFailed && `; ${last?.problem ?? 'the last run failed'}${unsent}`;
  return { subject: DESTINATION_NAMES[name], state: html`${sent}${problem}`, isBad: hasFailed || isStale };
}

function storageFacts(hub: Hub, uploadsBytes: number): Fact[] {
  const { databaseBytes, walBytes, freeBytes } = readStorageSizes(hub.config.databasePath);
  return [
    { subject: 'Free space', state: byteSize(freeBytes), isBad: findSpace(hub, uploadsBytes).isLow },
    { subject: 'Database', state: byteSize(databaseBytes) },
    { subject: 'Write-ahead log', state: byteSize(walBytes) },
    { subject: 'Uploads', state: byteSize(uploadsBytes) },
  ];
}

function tile({ subject, state, isBad }: Fact): Html {
  const shown = isBad ? html`<strong class="bad">${state}</strong>` : state;
  return html`<div class="tile ${isBad ? 'bad' : 'good'}"><dt>${subject}</dt><dd>${shown}</dd></div>`;
}

/** A row for each label `kind,state` of the counters. */
function jobTable(kept: CountsReading, labels: string[]): Html {
  const row = (label: string): Html => {
    const [kind, state] = label.split(',');
    return html`
    <tr><td>${kind}</td><td><a href="/admin/jobs?state=${state}">${state}</a></td>
      <td class="number">${kept.value('jobs', label)}</td></tr>`;
  };
  return html`
<div class="wide"><table>
  <thead><tr><th>Kind</th><th>State</th><th class="number">Jobs</th></tr></thead>
  <tbody>${labels.map(row)}</tbody>
</table></div>`;
}
