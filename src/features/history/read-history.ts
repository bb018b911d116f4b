import { DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import { ANSWER_BOUNDS } from '../../platform/metrics/http-metrics.ts';
import type { Hub } from '../hub/hub.ts';
import { ANSWERS, FIGURES, type Figure } from './figures.ts';
import { COARSE, FINE, history, type Buckets } from './history-store.ts';

/** The ranges of the plots, and the slots in each. */
export const RANGES = {
  '24h': { words: '24 hours', step: FINE, slot: 30 * MINUTE, slots: 48 },
  '7d': { words: '7 days', step: COARSE, slot: 3 * HOUR, slots: 56 },
  '30d': { words: '30 days', step: COARSE, slot: 12 * HOUR, slots: 60 },
} as const;

export type Range = keyof typeof RANGES;

/** A span of time (unix ms) and its figures; undefined is unknown, not 0. */
export type Slot = { at: number; until: number; value(name: Figure): number | undefined };

/** The slots of a range, also those without data. The last one is not over yet. */
export function readSlots(hub: Hub, range: Range): Slot[] {
  const { step, slot, slots } = RANGES[range];
  const now = hub.clock();
  const until = now - now % slot + slot;
  const from = until - slots * slot;
  const read = history(hub).list(step, from, until);
  const merged = mergeInto(read, slots, (at) => Math.floor((at - from) / slot));
  return merged.map((values, index) => ({
    at: from + index * slot, until: from + (index + 1) * slot,
    value: (name) => values[read.places.get(name) ?? -1] ?? undefined,
  }));
}

/** `merge` for many buckets at once. */
function mergeInto({ places, buckets }: Buckets, slots: number, slotOf: (at: number) => number): (number | null)[][] {
  const merged = Array.from({ length: slots }, (): (number | null)[] => []);
  const kinds = new Array<string | undefined>(places.size);
  for (const [name, place] of places) kinds[place] = FIGURES.get(name);
  for (const { at, values } of buckets) {
    const into = merged[slotOf(at)];
    if (!into) continue;
    for (let place = 0; place < values.length; place++) {
      const value = values[place] ?? null;
      if (value === null) continue;
      const before = into[place] ?? null;
      into[place] = before === null || kinds[place] === 'last' ? value :
        kinds[place] === 'sum' ? before + value : Math.max(before, value);
    }
  }
  return merged;
}

/** How many answers were given in that time; undefined if unknown. */
export function answersIn(slot: Slot): number | undefined {
  let sum: number | undefined;
  for (const name of ANSWERS) {
    const count = slot.value(name);
    if (count !== undefined) sum = (sum ?? 0) + count;
  }
  return sum;
}

/** A quantile of the answer times in seconds, from their histogram; undefined without answers. */
export function answerTime(slots: readonly Slot[], share: number): number | undefined {
  const counts = ANSWERS.map((name) => slots.reduce((sum, slot) => sum + (slot.value(name) ?? 0), 0));
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

/** `answerTime` of the last hour. */
export function recentAnswerTime(hub: Hub, share: number): number | undefined {
  const now = hub.clock();
  const { places, buckets } = history(hub).list(FINE, now - HOUR, now);
  return answerTime(buckets.map(({ at, values }) => ({
    at, until: at + FINE, value: (name) => values[places.get(name) ?? -1] ?? undefined,
  })), share);
}

/** The sum of a figure for each of the last days, today last. `dayOf`: the number of a time's day. */
export function readDays(hub: Hub, days: number, dayOf: (at: number) => number, name: Figure): (number | undefined)[] {
  const today = dayOf(hub.clock());
  const sums = new Array<number | undefined>(days).fill(undefined);
  for (const { at, value } of history(hub).one(COARSE, hub.clock() - (days + 1) * DAY, name)) {
    const index = days - 1 - (today - dayOf(at));
    if (index >= 0 && index < days) sums[index] = (sums[index] ?? 0) + value;
  }
  return sums;
}
