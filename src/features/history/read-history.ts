import { DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import { ANSWER_BOUNDS } from '../../platform/metrics/http-metrics.ts';
import type { Hub } from '../hub/hub.ts';
import { ANSWERS, COARSE, FINE, history, type Figure, type Slot } from './history-store.ts';

export const RANGES = {
  '24h': { words: '24 hours', step: FINE, slot: 30 * MINUTE, slots: 48 },
  '7d': { words: '7 days', step: COARSE, slot: 3 * HOUR, slots: 56 },
  '30d': { words: '30 days', step: COARSE, slot: 12 * HOUR, slots: 60 },
} as const;

export type Range = keyof typeof RANGES;

/** The hub's figures for each time slot of a range, such as the last day; a slot without stored data has no figures. */
export function readSlots(hub: Hub, range: Range): Slot[] {
  const { step, slot, slots } = RANGES[range];
  const now = hub.clock();
  const until = now - now % slot + slot;
  const from = until - slots * slot;
  const known = new Map(history(hub).list(step, from, until, slot).map(({ at, figures }) => [at, figures]));
  const times = Array.from({ length: slots }, (_, index) => from + index * slot);
  return times.map((at) => ({ at, figures: known.get(at) ?? {} }));
}

export function sum(values: (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((all, value) => all + value, 0);
}

/** A quantile of the response times in seconds, computed from their histogram; undefined if there were no responses. */
export function answerTime(slots: readonly Slot[], share: number): number | undefined {
  const counts = ANSWERS.map((name) => slots.reduce((sum, { figures }) => sum + (figures[name] ?? 0), 0));
  const wanted = share * counts.reduce((sum, count) => sum + count, 0);
  if (wanted === 0) return undefined;
  let seen = 0;
  for (const [index, count] of counts.entries()) {
    const [lower, upper] = [ANSWER_BOUNDS[index - 1] ?? 0, ANSWER_BOUNDS[index]];
    if (upper === undefined) return lower;
    if (seen + count >= wanted) return lower + (upper - lower) * (wanted - seen) / count;
    seen += count;
  }
  return undefined;
}

/** A quantile of the response times during the last hour, in seconds. */
export function recentAnswerTime(hub: Hub, share: number): number | undefined {
  const now = hub.clock();
  return answerTime(history(hub).list(FINE, now - HOUR, now), share);
}

/** A figure's sum on each of the last `days` days, today last; undefined without data. `dayOf`: a time's day number. */
export function readDays(hub: Hub, days: number, dayOf: (at: number) => number, name: Figure): (number | undefined)[] {
  const today = dayOf(hub.clock());
  const sums = new Array<number | undefined>(days).fill(undefined);
  for (const { at, value } of history(hub).one(COARSE, hub.clock() - (days + 1) * DAY, name)) {
    const index = days - 1 - (today - dayOf(at));
    if (index >= 0 && index < days) sums[index] = (sums[index] ?? 0) + value;
  }
  return sums;
}
