import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { emptyText } from '../../platform/http/page-parts.ts';
import { page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { dayNumber, showTime, timesOf, type Times } from '../../platform/http/times.ts';
import type { CountsSnapshot } from '../../platform/metrics/counters.ts';
import { alertEvents } from '../alerts/alert-store.ts';
import { iconsOfSources } from '../attachments/icon-views.ts';
import { resultsText } from '../full-text/full-text-views.ts';
import { sourceFullTexts } from '../full-text/source-full-text-store.ts';
import { findings, problemsOf, type Finding, type Level } from '../health/findings.ts';
import { ALERT_WORDS } from '../health/watch-conditions.ts';
import { nightsView } from '../history/night-views.ts';
import { readNights } from '../history/nights.ts';
import { plotViews, rangeLinks } from '../history/plots.ts';
import { RANGES, type Range } from '../history/read-history.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { asSentence } from '../manage-sources/source-state.ts';
import { failingSources, type FailingSource } from '../sources/source-store.ts';
import { nextSteps } from './next-steps.ts';

const FAILING_SHOWN = 5;

/** Page: a verdict on the hub, a tile for each subject, then details and plots of the past. */
export function showOverview(hub: Hub, { viewer, query }: MemberRequest): Reply {
  const range = rangeOf(query);
  const times = timesOf(hub, viewer);
  const all = findings(hub);
  const nights = readNights(hub, (at) => dayNumber(times, at));
  const hasNights = nights.some(({ here, elsewhere }) => here !== 'unknown' || (elsewhere ?? 'unknown') !== 'unknown');
  const failing = failingSources(hub).list(FAILING_SHOWN);
  const plots = plotViews(hub, range, times);
  const bar = html`<h1>Overview</h1><span class="space"></span>
<span class="meta only-wide">${showTime(times, hub.clock(), 'exact')}</span>`;
  const main = html`
${verdict(problemsOf(all), lastOver(hub), times)}
${nextSteps(hub, viewer, '/admin')}
<dl class="tiles">${all.map((one) => tile(one, times))}</dl>
${hasNights && nightsView(nights)}
${failing.length > 0 && failingView(failing, iconsOfSources(hub, failing), times)}
<section aria-labelledby="plots"><div class="section-head"><h2 id="plots">The last ${RANGES[range].words}</h2>
${rangeLinks(range)}</div>
${plots.length > 0 ? html`<div class="plots">${plots}</div>`
    : emptyText('No data for this time range. The worker records figures every five minutes.')}</section>
${fullTextsView(hub)}
${jobsView(counts(hub).read())}`;
  return page({ title: 'Overview', bar, main, section: 'admin/' });
}

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

function fullTextsView(hub: Hub): Html | false {
  const results = sourceFullTexts(hub).allResults();
  return results.length > 0 && html`<section aria-labelledby="full-texts"><div class="section-head"><h2
  id="full-texts">Full texts</h2></div><p>${resultsText(results)}</p></section>`;
}

function jobsView(kept: CountsSnapshot): Html {
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
${labels.length > 0 ? table : emptyText('The queue is empty.')}</section>`;
}

type PastTrouble = { words: string; at: number }; // `at`: when the hub told the operator that a health problem is over

function verdict(problems: Finding[], past: PastTrouble | null, times: Times): Html {
  const [worst, ...others] = problems;
  if (!worst) {
    const before = past && html`<p>${past.words}, since ${showTime(times, past.at, 'since')}.</p>`;
    return html`<section class="verdict good">${icon('done')}<div><h2>All is well.</h2>${before}</div></section>`;
  }
  const more = others.length === 0 ? '' : others.length === 1 ? ' One more thing needs attention.' :
    ` ${others.length} more things need attention.`;
  const words = others.length === 0
    ? html`<p>${worst.headline !== worst.problem && html`${worst.problem} `}${advice(worst, times)}</p>` : html`
<ul>${problems.map((one) => html`<li><strong>${one.problem}</strong> ${advice(one, times)} ${
  one.href && html`<a href="${one.href}">${one.subject}</a>`}</li>`)}</ul>`;
  return html`<section class="verdict ${worst.level}">${icon('warning')}<div>
<h2>${sentence(worst)}${more}</h2>
${words}</div>
${others.length === 0 && worst.href && html`<a class="button" href="${worst.href}">${worst.subject}</a>`}</section>`;
}

function sentence({ level, headline }: Finding): string {
  const words = headline ?? '';
  return level === 'bad' ? words : `The hub works, but ${words.charAt(0).toLowerCase()}${words.slice(1)}`;
}

function advice({ since, whatToDo }: Finding, times: Times): Html {
  return html`${since !== null && html`Since ${showTime(times, since, 'since')}. `}${whatToDo}`;
}

const LAMP_WORDS: Record<Level, string> = {
  good: 'well', off: 'not set up', warn: 'look at this', bad: 'look at this',
};

/** A number at the beginning of the state is shown larger. */
function tile({ subject, level, state, detail, at, href }: Finding, times: Times): Html {
  const [, number, rest] = /^(\d[\d.]*)( .*)?$/.exec(state) ?? [];
  const told = html`${detail}${detail !== null && at !== null && ', '}${at !== null && showTime(times, at)}`;
  const name = href ? html`<a href="${href}">${subject}</a>` : subject;
  return html`
<div class="tile ${level}"><dt>${name}<span class="unseen">: ${LAMP_WORDS[level]}</span></dt>
<dd>${number === undefined ? state : html`<strong>${number}</strong>${rest}`}</dd>
${told.markup !== '' && html`<dd class="detail">${told}</dd>`}</div>`;
}

function failingView(failing: FailingSource[], icons: Map<number, Html>, times: Times): Html {
  const item = ({ id, title, since, reason, nextSyncAt }: FailingSource): Html => html`
<li>${icons.get(id)}<div><a class="title" id="failing-${id}" href="/sources/${id}" dir="auto">${title}</a>
<p><span class="bad">Since ${showTime(times, since, 'since')}.</span> <span dir="auto">${
  reason !== null && asSentence(reason)}</span>${
  nextSyncAt !== null && html` Next try ${showTime(times, nextSyncAt)}.`}</p></div>
<form method="post" action="/sources/${id}/sync"><button aria-describedby="failing-${id}">Try now</button></form></li>`;
  return html`<section aria-labelledby="failing"><div class="section-head"><h2 id="failing">Failing sources</h2>
<a href="/sources">All sources</a></div><ul class="failing-list">${failing.map(item)}</ul></section>`;
}
