import { html, type Html } from '../../platform/http/html.ts';
import { page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, timesOf } from '../../platform/http/times.ts';
import type { CountsReading } from '../../platform/metrics/counters.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { problemsOf } from './finding.ts';
import { findings } from './findings.ts';
import { tiles, verdict } from './overview-views.ts';

/** Whether everything is all right, in one sentence; then what is known of each thing. */
export function showOverview(hub: Hub, { viewer }: MemberRequest): Reply {
  const times = timesOf(hub, viewer);
  const all = findings(hub);
  const kept = counts(hub).read();
  const jobs = kept.labels('jobs').filter((label) => kept.value('jobs', label) > 0);
  const bar = html`<h1>Overview</h1><span class="space"></span>
<span class="meta">${showTime(times, hub.clock(), 'exact')}</span>`;
  const main = html`
${verdict(problemsOf(all), times)}
${tiles(all, times)}
<h2>Jobs</h2>
${jobs.length > 0 ? jobTable(kept, jobs) : html`<p class="empty">The queue is empty.</p>`}`;
  return page({ title: 'Overview', bar, main, section: 'admin/' });
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
