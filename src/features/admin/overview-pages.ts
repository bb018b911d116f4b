import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import { isStale, readBackupStatus } from '../backups/backup-status.ts';
import { leastFree } from '../backups/backup-folder.ts';
import { readHealth, readStorageSizes, type Health } from '../health/read-health.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { byteSize, html, moment, type Html } from '../../platform/http/html.ts';

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

/** Times in unix ms; null for what has never happened. */
export type Overview = Health & {
  version: string;
  jobs: { kind: string; state: string; count: number }[];
  backup: { lastAt: number | null; verifiedAt: number | null; isStale: boolean; problem: string | null };
  storage: { databaseBytes: number; walBytes: number; uploadsBytes: number; freeBytes: number; isLow: boolean };
};

type Fact = { subject: string; state: Html | string; isBad: boolean };

/** Health, backups, space and the queue. What needs somebody stands out. */
export function overviewPage(overview: Overview): Page {
  const main = html`
<header class="page-head">
  <h1>Overview</h1>
  <p class="meta"><span>version ${overview.version}</span> <span>schema ${overview.schemaVersion}</span></p>
</header>
<dl class="facts panel">${facts(overview).map(factRow)}</dl>
<h2>Jobs</h2>
${overview.jobs.length > 0 ? jobTable(overview.jobs) : html`<p class="empty">The queue is empty.</p>`}`;
  return { title: 'Overview', main, section: 'admin/' };
}

function facts({ worker, failedJobs, oldestDueJobSeconds, backup, storage }: Overview): Fact[] {
  const seen = worker.lastSeenSeconds === null ? 'never seen' : `last seen ${worker.lastSeenSeconds} s ago`;
  const failed = html`<a href="/admin/jobs">${failedJobs} failed</a>`;
  return [
    { subject: 'Worker', state: `${worker.ok ? 'running' : 'not running'}, ${seen}`, isBad: !worker.ok },
    { subject: 'Synchronisation', state: failedJobs > 0 ? failed : 'ok', isBad: failedJobs > 0 },
    { subject: 'Oldest due job', state: `${oldestDueJobSeconds} s`, isBad: oldestDueJobSeconds > 3600 },
    { subject: 'Last backup', state: backup.lastAt === null ? 'never' : moment(backup.lastAt), isBad: backup.isStale },
    {
      subject: 'Last verified backup',
      state: backup.verifiedAt === null ? 'never' : moment(backup.verifiedAt),
      isBad: backup.verifiedAt === null,
    },
    ...(backup.problem === null ? [] : [{ subject: 'Backup problem', state: backup.problem, isBad: true }]),
    { subject: 'Free space', state: byteSize(storage.freeBytes), isBad: storage.isLow },
    { subject: 'Database', state: byteSize(storage.databaseBytes), isBad: false },
    { subject: 'Write-ahead log', state: byteSize(storage.walBytes), isBad: false },
    { subject: 'Uploads', state: byteSize(storage.uploadsBytes), isBad: false },
  ];
}

function factRow({ subject, state, isBad }: Fact): Html {
  return html`<dt>${subject}</dt><dd>${isBad ? html`<strong class="bad">${state}</strong>` : state}</dd>`;
}

function jobTable(jobs: Overview['jobs']): Html {
  return html`
<div class="wide"><table>
  <thead><tr><th>Kind</th><th>State</th><th>Jobs</th></tr></thead>
  <tbody>${jobs.map(jobRow)}</tbody>
</table></div>`;
}

function jobRow({ kind, state, count }: Overview['jobs'][number]): Html {
  return html`
    <tr><td>${kind}</td><td><a href="/admin/jobs?state=${state}">${state}</a></td>
      <td class="number">${count}</td></tr>`;
}
