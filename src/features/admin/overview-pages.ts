import { html, type Html } from '../../platform/http/html.ts';
import { HttpError, page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { dayNumber, showTime, timesOf } from '../../platform/http/times.ts';
import type { CountsReading } from '../../platform/metrics/counters.ts';
import { alertEvents, TROUBLES } from '../alerts/alert-store.ts';
import { iconsOfSources } from '../attachments/icon-views.ts';
import { nightsView } from '../history/night-views.ts';
import { readNights } from '../history/nights.ts';
import { plotViews, rangeLinks } from '../history/plots.ts';
import { RANGES, type Range } from '../history/read-history.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { failingSources } from '../sources/source-store.ts';
import { problemsOf } from './finding.ts';
import { findings } from './findings.ts';
import { nextSteps } from './next-steps.ts';
import { failingView, tiles, verdict, type PastTrouble } from './overview-views.ts';

/** Of the sources that fail, those that have done so the longest are named. */
const FAILING_SHOWN = 5;

/** Whether everything is all right, in one sentence; then what is known of each thing, and what it was like. */
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

/** Of the troubles that the operator was told of: the one of which it was said last that it is over. */
function lastOver(hub: Hub): PastTrouble | null {
  const over = alertEvents(hub).all().filter(({ event, isOpen }) => isOpen === 0 && event in TROUBLES)
    .flatMap(({ event, overToldAt }) => (overToldAt === null ? [] : [{ words: TROUBLES[event].over, at: overToldAt }]));
  return over.sort((a, b) => b.at - a.at)[0] ?? null;
}

function rangeOf(query: URLSearchParams): Range {
  const range = query.get('range') ?? '24h';
  if (Object.hasOwn(RANGES, range)) return range as Range;
  throw new HttpError(400, `range must be ${Object.keys(RANGES).join(', ')}.`);
}

function plotsOrNothing(plots: Html[]): Html {
  if (plots.length > 0) return html`<div class="plots">${plots}</div>`;
  return html`<p class="empty">Nothing is known of that time. The worker notes every five minutes what
the hub is like.</p>`;
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
