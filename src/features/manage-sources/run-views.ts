import { DAY } from '../../platform/clock.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { details } from '../../platform/http/page-parts.ts';
import { dayName, showTime, type Times } from '../../platform/http/times.ts';
import { byteSize, measuredTime, plural } from '../../platform/in-words.ts';
import { DAYS, RUNS, type SourceRun, type RunDay } from '../sources/run-store.ts';
import type { Source } from '../sources/source-store.ts';
import { DELETING } from '../webhooks/read-event.ts';

/** A day of a source's 30-day chart. `good`: number of a feed's new posts, or of a webhook's accepted events. */
type StripDay = { name: string; good: number; failed: number; look: 'new' | 'same' | 'err' | 'none' };
type Strip = { kind: Source['kind']; days: StripDay[] };

/** Returns a function that makes a source's chart of 30 days, up to today (UTC), from its daily totals in `found`. */
export function stripsOf({ now }: Times, found: Map<number, RunDay[]>) {
  const first = Math.floor((now ?? 0) / DAY) - DAYS + 1;
  const dates = Array.from({ length: DAYS }, (_, index) => ({
    date: first + index, name: dayName({ now, zone: 'UTC' }, (first + index) * DAY),
  }));
  return ({ id, kind }: Pick<Source, 'id' | 'kind'>): Strip => {
    const byDate = new Map(found.get(id)?.map((day) => [day.day, day]));
    return { kind, days: dates.map(({ date, name }) => stripDay(name, kind, byDate.get(date))) };
  };
}

function stripDay(name: string, kind: Source['kind'], day: RunDay | undefined): StripDay {
  if (!day) return { name, good: 0, failed: 0, look: 'none' };
  const { runs, failed, added } = day;
  const good = kind === 'webhook' ? runs - failed : added;
  return { name, good, failed, look: good > 0 ? 'new' : failed === runs ? 'err' : 'same' };
}

const HEIGHT = 24;
const LOWEST = 4;
const HIGHEST = 18; // the height leaves room above a day's bar for the mark of a failure

/** A source's 30-day chart as one image with one path per colour, small enough for lists. */
export function smallStrip(strip: Strip): Html {
  const said = sumOf(strip);
  const drawn = [...Map.groupBy(barsOf(strip).flat(), ({ look }) => look)].map(([look, bars]) =>
    html`<path class="${look}" d="${bars.map(({ path }) => path).join('')}"/>`);
  return svg(said, html`<title>${said}</title>${drawn}`);
}

/** A source's 30-day chart with a tooltip for each day, a summary in words, and a table of the days with runs. */
export function wholeStrip(strip: Strip): Html {
  const bars = barsOf(strip);
  const drawn = strip.days.map((day, index) => html`<g><title>${day.name}: ${dayText(strip.kind, day)}</title>
<path class="day" d="M${4 * index - 0.5} 0h4v${HEIGHT}h-4z"/>${(bars[index] ?? []).map(({ look, path }) =>
    html`<path class="${look}" d="${path}"/>`)}</g>`);
  const said = sumOf(strip);
  const days = strip.days.filter(({ look }) => look !== 'none').toReversed();
  return html`
<figure class="days">
  ${svg(said, html`${drawn}`)}
  <figcaption>${said}</figcaption>
</figure>
${days.length > 0 && details('Day by day', html`<div class="wide"><table>
  <thead><tr><th>Day (UTC)</th><th>Result</th></tr></thead>
  <tbody>${days.map((day) => html`<tr><td>${day.name}</td><td>${dayText(strip.kind, day)}</td></tr>`)}</tbody>
</table></div>`)}`;
}

function svg(said: string, drawn: Html): Html {
  return html`<svg class="strip" viewBox="0 0 ${4 * DAYS - 1} ${HEIGHT}" preserveAspectRatio="none" role="img"
  aria-label="${said}">${drawn}</svg>`;
}

type Bar = { look: string; path: string };

function barsOf({ days }: Strip): Bar[][] {
  const most = Math.max(1, ...days.map(({ good }) => good));
  return days.map(({ look, good, failed }, index) => {
    const bar = (top: number, height: number): string => `M${4 * index} ${top}h3v${height}h-3z`;
    if (look === 'err') return [{ look, path: bar(6, 8) + bar(16, 8) }];
    const height = look === 'none' ? 1 : Math.round(LOWEST + (HIGHEST - LOWEST) * good / most);
    const mark = failed > 0 ? [{ look: 'err', path: bar(0, 3) }] : [];
    return [{ look, path: bar(HEIGHT - height, height) }, ...mark];
  });
}

function dayText(kind: Source['kind'], { look, good, failed }: StripDay): string {
  const isHook = kind === 'webhook';
  if (look === 'none') return isHook ? 'no events' : 'not fetched';
  const what = good > 0 ? plural(good, isHook ? 'event' : 'new post') : isHook ? 'nothing accepted' : 'nothing new';
  const wrong = isHook ? `${failed} refused` : `${plural(failed, 'try', 'tries')} failed`;
  return failed === 0 ? what : look === 'err' ? wrong : `${what}, ${wrong}`;
}

function sumOf({ kind, days }: Strip): string {
  const on = (look: StripDay['look']): string | false => {
    const count = days.filter((day) => day.look === look).length;
    return count > 0 && plural(count, 'day');
  };
  const good = days.reduce((sum, day) => sum + day.good, 0);
  const isHook = kind === 'webhook';
  const parts = [
    on('new') && `${plural(good, isHook ? 'event' : 'new post')} on ${on('new')}`,
    on('same') && `nothing new on ${on('same')}`,
    on('err') && `${isHook ? 'only refusals' : 'failed'} on ${on('err')}`,
  ].filter((part) => part !== false);
  return `Last ${DAYS} days: ${parts.join(', ') || (isHook ? 'no events' : 'not fetched yet')}.`;
}

/** For the managers of the source. */
export function lastRuns(runs: SourceRun[], { kind, state }: Source, times: Times): Html | false {
  const what = kind === 'webhook' ? 'deliveries' : 'synchronisations';
  return runs.length > 0 && details(`Last ${what}`, html`
  <ol class="runs">${runs.map((run) => runItem(run, times))}</ol>
  <p class="hint">The hub keeps the last ${RUNS} ${what}.</p>`, { isOpen: state === 'failing' });
}

function runItem(run: SourceRun, times: Times): Html {
  const { endedAt, tookMs, bytes, event, times: often } = run;
  const facts = [
    often > 1 && `${often.toLocaleString('en')} times`, tookMs !== null && measuredTime(tookMs),
    bytes !== null && byteSize(bytes),
  ].filter((fact) => fact !== false);
  return html`
  <li>${showTime(times, endedAt)}<p>${whatCame(run)}${event !== null && html` <code>${event}</code>`}</p>
    <span class="facts-line">${facts.join(', ')}</span></li>`;
}

function whatCame({ failed, note, added, changed, event }: SourceRun): Html {
  const said = (level: string, words: string): Html => html`<span class="state ${level}">${words}</span>`;
  if (failed) return said('bad', note ?? 'Failed');
  const parts = [
    added > 0 && plural(added, 'new post'),
    changed > 0 && event !== DELETING && plural(changed, 'post changed', 'posts changed'),
    changed > 0 && event === DELETING && plural(changed, 'post removed', 'posts removed'),
  ].filter((part) => part !== false).join(', ');
  if (note !== null && parts === '') return said('warn', note);
  if (note !== null) return said(event === null ? 'warn' : 'good', `${parts}. ${note}`);
  return parts === '' ? said('off', event === null ? 'Nothing new' : 'Nothing to change') : said('good', parts);
}
