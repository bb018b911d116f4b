import { DAY, HOUR, SECOND } from '../../platform/clock.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { dayNumber, shortTime, type Times } from '../../platform/http/times.ts';
import type { Hub } from '../hub/hub.ts';
import { ANSWERS, type Figure, type Slot } from './history-store.ts';
import { BYTES, COUNT, PERCENT, TIME, type Unit, axisOf, plotView, type Plot, type Series } from './plot-views.ts';
import { answerTime, RANGES, readDays, readSlots, sum, type Range } from './read-history.ts';

const DAYS = 30;

/** All plots of a time range, and the plot of posts in the last 30 days; an empty list without data of the range. */
export function plotViews(hub: Hub, range: Range, times: Times): Html[] {
  const slots = readSlots(hub, range);
  if (slots.every(({ figures }) => figures.worker_memory === undefined)) return [];
  const axis = axisOf(times, slots.map(({ at }) => at), range === '24h' ? 'clock' : 'day', 'now');
  const plots = [...ofAnswers(slots), ...ofWork(slots), ...ofProcesses(slots), ...ofRoom(slots)];
  return [...plots.map((plot) => plotView(plot, axis)), postsPerDay(hub, times)];
}

export function rangeLinks(range: Range): Html {
  const link = ([name, { words }]: [string, { words: string }]): Html => html`
<a class="button plain" href="/admin?range=${name}#plots" ${name === range && html`aria-current="true"`}>${words}</a>`;
  return html`<nav class="actions" aria-label="Range of the plots">${Object.entries(RANGES).map(link)}</nav>`;
}

type Known = number | undefined;

function ofAnswers(slots: Slot[]): Plot[] {
  const answered = (slot: Slot): Known => {
    const all = add(slot, ANSWERS);
    return all === undefined ? undefined : all - (slot.figures.answer_errors ?? 0);
  };
  const within = (share: number, some: Slot[]): Known => inMs(answerTime(some, share));
  const slowest = within(0.99, slots);
  const all = sum(slots.map((slot) => add(slot, ANSWERS)));
  return [
    bars('requests', 'Requests', counted(all, total(slots, 'answer_errors'), 'errors'),
      [{ name: 'answered', tone: 'c1', values: slots.map(answered) }, of(slots, 'answer_errors', 'errors', 'c3')]),
    lines('answers', 'Time to answer', slowest === undefined ? '' : `p99 ${TIME.say(slowest)}`, TIME, [
      { name: 'p50', tone: 'c2', values: slots.map((slot) => within(0.5, [slot])) },
      { name: 'p99', tone: 'c1', values: slots.map((slot) => within(0.99, [slot])) },
    ]),
    bars('errors', 'Unexpected errors', told(COUNT, total(slots, 'errors')), [of(slots, 'errors', 'errors', 'c3')]),
  ];
}

const SYNCS: Figure[] = ['syncs_changed', 'syncs_unchanged', 'syncs_error'];

function ofWork(slots: Slot[]): Plot[] {
  const taken = counted(total(slots, 'webhooks_accepted'), total(slots, 'webhooks_rejected'), 'refused');
  const waits = slots.map((slot) => inMs(slot.figures.oldest_due_max));
  return [
    bars('syncs', 'Fetches of sources', told(COUNT, sum(slots.map((slot) => add(slot, SYNCS)))), [
      of(slots, 'syncs_changed', 'new posts', 'c1'), of(slots, 'syncs_unchanged', 'unchanged', 'c2'),
      of(slots, 'syncs_error', 'failed', 'c3'),
    ]),
    {
      ...lines('due', 'Oldest due job', told(TIME, inMs(last(slots, 'oldest_due'))), TIME,
        [{ name: 'longest wait', tone: 'c1', values: waits }]),
      limit: { at: HOUR, words: 'too long' },
    },
    bars('events', 'Webhook events', taken,
      [of(slots, 'webhooks_accepted', 'taken', 'c1'), of(slots, 'webhooks_rejected', 'refused', 'c3')]),
  ];
}

function ofProcesses(slots: Slot[]): Plot[] {
  const both = (unit: Unit, kind: string): string => {
    const [web, worker] = [last(slots, `web_${kind}` as Figure), last(slots, `worker_${kind}` as Figure)];
    return [told(unit, web), told(unit, worker)].filter(Boolean).join(' and ');
  };
  const pair = (kind: string): Series[] =>
    [of(slots, `web_${kind}` as Figure, 'web', 'c1'), of(slots, `worker_${kind}` as Figure, 'worker', 'c4')];
  return [
    lines('busy', 'Processor', both(PERCENT, 'busy'), PERCENT, pair('busy')),
    lines('memory', 'Memory', both(BYTES, 'memory'), BYTES, pair('memory_max')),
    lines('delay', 'Event-loop delay, p99', both(TIME, 'delay_p99'), TIME, pair('delay_p99')),
  ];
}

const SIZES: Figure[] = ['database_bytes', 'uploads_bytes', 'cache_bytes'];

function ofRoom(slots: Slot[]): Plot[] {
  const newest = slots.findLast((slot) => add(slot, SIZES) !== undefined);
  return [
    bars('room', 'Space used', told(BYTES, newest && add(newest, SIZES)), [
      of(slots, 'database_bytes', 'database', 'c1'), of(slots, 'uploads_bytes', 'uploads', 'c4'),
      of(slots, 'cache_bytes', 'cache', 'c2'),
    ], BYTES),
    lines('free', 'Free on the disk', told(BYTES, last(slots, 'free_bytes')), BYTES,
      [of(slots, 'free_bytes', 'free', 'c1')]),
  ];
}

/** New posts per day in the viewer's time zone, whatever time range the page shows. */
function postsPerDay(hub: Hub, times: Times): Html {
  const values = readDays(hub, DAYS, (at) => dayNumber(times, at), 'posts');
  const first = dayNumber(times, hub.clock()) - DAYS + 1;
  const noons = values.map((_, index) => (first + index) * DAY + DAY / 2);
  const days = { ...times, zone: 'UTC' };
  const { marks } = axisOf(days, noons, 'day', 'today');
  const all = sum(values);
  const now = all === undefined ? '' : `${COUNT.say(all)} in ${DAYS} days`;
  const plot = bars('posts', 'Posts a day', now, [{ name: 'posts', tone: 'c1', values }]);
  return plotView(plot, { marks, steps: noons.map((at) => shortTime(days, at, 'day')) });
}

function bars(id: string, title: string, now: string, series: Series[], unit: Unit = COUNT): Plot {
  return { id, title, now, shape: 'bars', unit, series };
}

function lines(id: string, title: string, now: string, unit: Unit, series: Series[]): Plot {
  return { id, title, now, shape: 'lines', unit, series };
}

function of(slots: Slot[], figure: Figure, name: string, tone: Series['tone']): Series {
  return { name, tone, values: slots.map((slot) => slot.figures[figure]) };
}

function total(slots: Slot[], figure: Figure): Known {
  return sum(slots.map((slot) => slot.figures[figure]));
}

function last(slots: Slot[], figure: Figure): Known {
  return slots.findLast((slot) => slot.figures[figure] !== undefined)?.figures[figure];
}

function add(slot: Slot, figures: Figure[]): Known {
  return sum(figures.map((figure) => slot.figures[figure]));
}

function inMs(seconds: Known): Known {
  return seconds === undefined ? undefined : seconds * SECOND;
}

function counted(all: Known, some: Known, which: string): string {
  return all === undefined ? '' : `${COUNT.say(all)}, ${COUNT.say(some ?? 0)} ${which}`;
}

function told(unit: Unit, value: Known): string {
  return value === undefined ? '' : unit.say(value);
}
