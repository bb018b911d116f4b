import { html, type Html } from '../../platform/http/html.ts';
import { HttpError, page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { dayNumber, showTime, timesOf } from '../../platform/http/times.ts';
import type { CountsReading } from '../../platform/metrics/counters.ts';
import { alertEvents } from '../alerts/alert-store.ts';
import { iconsOfSources } from '../attachments/icon-views.ts';
import { findings, problemsOf } from '../health/findings.ts';
import { ALERT_WORDS } from '../health/watch-conditions.ts';
import { nightsView } from '../history/night-views.ts';
import { readNights } from '../history/nights.ts';
import { plotViews, rangeLinks } from '../history/plots.ts';
import { RANGES, type Range } from '../history/read-history.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { failingSources } from '../sources/source-store.ts';
import { nextSteps } from './next-steps.ts';
import { failingView, tiles, verdict, type PastTrouble } from './overview-views.ts';

/** The overview lists this many failing sources, the longest-failing first. */
const FAILING_SHOWN = 5;

/** The overview: a verdict in one sentence, a tile for each subject, and plots of the past. */
export function showOverview(hub: Hub, { viewer, query }: MemberRequest): Reply {
  const range = rangeOf(query);
  const times = timesOf(hub, viewer);
  const all = findings(hub);
  const nights = readNights(hub, (at) => dayNumber(times, at));
  const hasNights = nights.some(({ here, elsewhere }) => here !== 'unknown' || (elsewhere ?? 'unknown') !== 'unknown');
  const failing = failingSources(hub).list(FAILING_SHOWN);
  const bar = html`<h1>Overview</h1><span class="space"></span>
<span class="meta only-wide">${showTime(times, hub.clock(), 'exact')}</span>`;
  const main = html`
${verdict(problemsOf(all), lastOver(hub), times)}
${nextSteps(hub, viewer, '/admin')}
${tiles(all, times)}
${hasNights && nightsView(nights)}
${failing.length > 0 && failingView(failing, iconsOfSources(hub, failing), times)}
<section aria-labelledby="plots"><div class="section-head"><h2 id="plots">The last ${RANGES[range].words}</h2>
${rangeLinks(range)}</div>
${plotsOrNothing(plotViews(hub, range, times))}</section>
${jobsView(counts(hub).read())}`;
  return page({ title: 'Overview', bar, main, section: 'admin/' });
}

/** The alert whose end was told last. */
function lastOver(hub: Hub): PastTrouble | null {
  const over = alertEvents(hub).all().flatMap(({ event, isOpen, overToldAt }) => {
    const words = ALERT_WORDS.get(event)?.over;
    return isOpen === 1 || overToldAt === null || words === undefined ? [] : [{ words, at: overToldAt }];
  });
  return over.sort((a, b) => b.at - a.at)[0] ?? null;
}

function rangeOf(query: URLSearchParams): Range {
  const range = query.get('range') ?? '24h';
  if (Object.hasOwn(RANGES, range)) return range as Range;
  throw new HttpError(400, `range must be ${Object.keys(RANGES).join(', ')}.`);
}

function plotsOrNothing(plots: Html[]): Html {
  if (plots.length > 0) return html`<div class="plots">${plots}</div>`;
  return html`<p class="empty">No data for this time. The worker records figures every five minutes.</p>`;
}

/** A row for each label `kind,state` of the counters. */
function jobsView(kept: CountsReading): Html {
  const labels = kept.labels('jobs').filter((label) => kept.value('jobs', label) > 0);
  const row = (label: string): Html => {
    const [kind, state] = label.split(',');
    return html`
    <tr><td>${kind}</td><td><a href="/admin/jobs?state=${state}">${state}</a></td>
      <td class="number">${kept.value('jobs', label)}</td></tr>`;
  };
  const table = html`<div class="wide"><table>
  <thead><tr><th>Kind</th><th>State</th><th class="number">Jobs</th></tr></thead>
  <tbody>${labels.map(row)}</tbody>
</table></div>`;
  return html`<section aria-labelledby="jobs"><div class="section-head"><h2 id="jobs">Jobs</h2></div>
${labels.length > 0 ? table : html`<p class="empty">The queue is empty.</p>`}</section>`;
}
