import { HOUR, MINUTE, SECOND } from '../../platform/clock.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { details } from '../../platform/http/page-parts.ts';
import { shortTime, type Times } from '../../platform/http/times.ts';
import { byteSize, measuredTime } from '../../platform/in-words.ts';

/** `tone`: the CSS class of the colour. `values`: one value per time step of the plot; undefined means unknown. */
export type Series = { name: string; tone: 'c1' | 'c2' | 'c3' | 'c4'; values: (number | undefined)[] };

export type Plot = {
  id: string;
  title: string;
  now: string; // the plot's most important value, shown beside its title
  shape: 'bars' | 'lines'; // the bars of several series are stacked
  unit: Unit;
  series: Series[];
  /** The value beyond which the hub reports a problem, drawn as a line if the axis reaches it. */
  limit?: { at: number; words: string };
};

type Axis = { steps: string[]; marks: string[] };

/** The time axis of a plot whose steps begin at `starts`: a name for each, four marks, and `last` at the end. */
export function axisOf(times: Times, starts: number[], form: 'clock' | 'day', last: string): Axis {
  const quarter = starts.length / 4;
  const marks = [0, 1, 2, 3].map((n) => shortTime(times, starts[Math.round(n * quarter)] ?? 0, form));
  return { steps: starts.map((at) => shortTime(times, at, 'both')), marks: [...marks, last] };
}

/** A plot with its key and a table of its data. The Content-Security-Policy forbids inline styles in the plot. */
export function plotView(plot: Plot, axis: Axis): Html {
  const { id, title, now, series } = plot;
  const top = plot.unit.top(highest(plot));
  const limit = plot.limit && plot.limit.at <= top ? plot.limit : undefined;
  return html`
<section class="plot" aria-labelledby="${id}"><h3 id="${id}">${title}<span class="now">${now}</span></h3>
<p class="key">${series.map(({ tone, name }) => html`<span><i class="${tone}"></i>${name}</span>`)}${
  limit && html`<span><i class="c3"></i>${limit.words}</span>`}</p>
<div class="field-of-plot"><div class="y" aria-hidden="true"><span>${plot.unit.mark(top)}</span><span>${
  plot.unit.mark(top / 2)}</span><span>0</span></div>
${drawing(plot, axis, top, limit?.at)}
<div class="x" aria-hidden="true">${axis.marks.map((mark) => html`<span>${mark}</span>`)}</div></div>
${table(plot, axis)}</section>`;
}

function highest({ shape, series }: Plot): number {
  const [first] = series;
  if (!first) return 0;
  return Math.max(0, ...first.values.map((_, step) => {
    const values = series.map(({ values }) => values[step] ?? 0);
    return shape === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
  }));
}

/** The SVG of a plot; each time step is one unit wide, and the plot is 100 units high. */
function drawing(plot: Plot, { steps }: Axis, top: number, limit: number | undefined): Html {
  const { id, title, shape, series } = plot;
  const width = steps.length;
  const drawn = shape === 'bars' ? barPaths(series, top) : series.map(({ values }) => linePath(values, top));
  const limitAt = limit === undefined ? undefined : height(limit, top);
  return html`<svg viewBox="0 0 ${width} 100" preserveAspectRatio="none" role="img"
  aria-labelledby="${id}-what ${id}-how"><title id="${id}-what">${title}</title><desc id="${id}-how">${
  series.map((one) => summary(one, plot.unit)).join(' ')}</desc>
<path class="grid" d="M0 0H${width}M0 50H${width}M0 100H${width}"/>${
  limitAt !== undefined && html`<path class="limit" d="M0 ${limitAt}H${width}"/>`}${
  series.map(({ tone }, index) => html`<path class="${shape} ${tone}" d="${drawn[index]}"/>`)}
<g class="hits">${steps.map((name, step) =>
  html`<rect x="${step}" width="1" height="100"><title>${name}: ${tooltip(plot, step)}</title></rect>`)}</g></svg>`;
}

function tooltip({ shape, series, unit }: Plot, step: number): string {
  const known = series.flatMap(({ name, values }) => {
    const value = values[step];
    if (value === undefined) return [];
    return [shape === 'bars' ? `${unit.say(value)} ${name}` : `${name} ${unit.say(value)}`];
  });
  return known.length > 0 ? known.join(', ') : 'no data';
}

function summary({ name, values }: Series, unit: Unit): string {
  const known = values.filter((value) => value !== undefined);
  const last = known.at(-1);
  if (last === undefined) return `${name}: no data.`;
  const [lowest, highest] = [unit.say(Math.min(...known)), unit.say(Math.max(...known))];
  return `${name}: lowest ${lowest}, highest ${highest}, last ${unit.say(last)}.`;
}

/** The y coordinate of a value in a plot, from 0 (top) to 100 (bottom), with one decimal. */
function height(value: number, top: number): number {
  return Math.round((100 - value / top * 100) * 10) / 10;
}

function barPaths(series: Series[], top: number): string[] {
  const below = new Array<number>(series[0]?.values.length ?? 0).fill(0);
  return series.map(({ values }) => values.map((value, step) => {
    if (!value) return '';
    const from = height(below[step] ?? 0, top);
    const to = height((below[step] ?? 0) + value, top);
    below[step] = (below[step] ?? 0) + value;
    return `M${step}.12 ${from}V${to}h.76V${from}z`;
  }).join(''));
}

/** Draws the line of a plot with gaps for unknown values. A value between two gaps is drawn as a dot. */
function linePath(values: (number | undefined)[], top: number): string {
  let path = '';
  for (const [step, value] of values.entries()) {
    if (value === undefined) continue;
    const isFirst = values[step - 1] === undefined;
    path += `${isFirst ? 'M' : 'L'}${step}.5 ${height(value, top)}`;
    if (isFirst && values[step + 1] === undefined) path += 'h.01';
  }
  return path;
}

function table({ id, title, series, unit }: Plot, { steps }: Axis): Html {
  const cell = (value: number | undefined): Html => html`<td>${value === undefined ? '–' : unit.say(value)}</td>`;
  const rows = steps.map((name, step) =>
    html`<tr><th scope="row">${name}</th>${series.map(({ values }) => cell(values[step]))}</tr>`);
  return details(html`As a table<span class="unseen">: ${title}</span>`, html`<div class="scroll"
  tabindex="0" role="region" aria-labelledby="${id}"><table><thead><tr><th scope="col">From</th>${
  series.map(({ name }) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.reverse()}</tbody></table></div>`);
}

export type Unit = {
  say(value: number): string; // such as "13.5 ms" or "1,234" in the tooltip and the table
  top(most: number): number; // the end of the axis: a round number that is at least `most`
  mark(value: number): string; // the short label of a value on a plot's axis, such as "3 GiB" instead of "3.0 GiB"
};

const ROUND = [1, 2, 4, 6, 8, 10];

/** Rounds a number up to the next of 1, 2, 4, 6, 8, 10, 20, … */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return (ROUND.find((digit) => digit * power >= value * 0.999_999) ?? 10) * power;
}

const NUMBERS = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 });
const SHORT = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });

export const COUNT: Unit = {
  say: (value) => NUMBERS.format(value),
  top: (most) => Math.max(2, roundUp(Math.max(1, most))),
  mark: (value) => SHORT.format(value),
};

export const PERCENT: Unit = {
  say: (value) => `${NUMBERS.format(value)} %`,
  top: (most) => roundUp(Math.max(10, most)),
  mark: (value) => `${NUMBERS.format(value)} %`,
};

export const BYTES: Unit = {
  say: (value) => byteSize(value),
  top(most) {
    const bytes = Math.max(1024, most);
    const unit = 1024 ** Math.floor(Math.log2(bytes) / 10);
    return roundUp(bytes / unit) * unit;
  },
  mark: (value) => (value === 0 ? '0' : byteSize(value).replace('.0 ', ' ')),
};

/** Formats milliseconds in the largest unit in which the value is at least 1. */
export const TIME: Unit = {
  say: measuredTime,
  top(most) {
    const size = [HOUR, MINUTE, SECOND].find((unit) => most >= unit) ?? 1;
    return roundUp(Math.max(most, size === 1 ? 10 : size) / size) * size;
  },
  mark: (value) => (value === 0 ? '0' : measuredTime(value)),
};
