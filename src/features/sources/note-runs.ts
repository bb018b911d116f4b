import { DAY } from '../../platform/clock.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import type { StoreHub } from '../hub/hub.ts';
import { RUNS, sourceRuns, type Run } from './run-store.ts';

/** Characters. */
const NOTE_MAX = 300;

const NOTHING = { times: 1, failed: 0, added: 0, changed: 0, tookMs: null, bytes: null, event: null, note: null };

/**
 * Keeps, for the owner of a source, what came of its runs, in the caller's transaction: alike ones that come together
 * as one, and of very many the last.
 */
export function noteRuns(hub: StoreHub, sourceId: number, noted: Partial<Run>[]): void {
  const endedAt = hub.clock();
  const runs: Run[] = [];
  for (const run of noted) addRun(runs, { endedAt, ...run });
  const day = { day: Math.floor(endedAt / DAY), runs: 0, failed: 0, added: 0 };
  for (const { times, failed, added } of runs) {
    day.runs += times;
    day.failed += failed * times;
    day.added += added;
  }
  if (!sourceRuns(hub).noteDay(sourceId, day)) return;
  for (const { note, ...run } of runs.slice(-RUNS)) {
    sourceRuns(hub).note(sourceId, { ...run, note: note && excerpt(note, NOTE_MAX) });
  }
}

/** The same, of runs that failed for one reason: all of a day are one. */
export function noteFailures(hub: StoreHub, sourceId: number, note: string, times: number): void {
  const endedAt = hub.clock();
  const day = { day: Math.floor(endedAt / DAY), runs: times, failed: times, added: 0 };
  if (!sourceRuns(hub).noteDay(sourceId, day) || sourceRuns(hub).noteAgain(sourceId, note, times)) return;
  sourceRuns(hub).note(sourceId, { ...NOTHING, endedAt, failed: 1, times, note });
}

/** Adds a run to those that came before it; to the last one where the two are alike. */
export function addRun(kept: Run[], added: Partial<Run> & Pick<Run, 'endedAt'>): void {
  const run = { ...NOTHING, ...added };
  const last = kept.at(-1);
  if (last && isAlike(last, run)) kept[kept.length - 1] = together(last, run);
  else kept.push(run);
}

function isAlike(one: Run, other: Run): boolean {
  return one.event === other.event && one.note === other.note && one.failed === other.failed
    && one.added > 0 === other.added > 0 && one.changed > 0 === other.changed > 0;
}

function together(one: Run, other: Run): Run {
  return {
    ...other, times: one.times + other.times, added: one.added + other.added, changed: one.changed + other.changed,
    bytes: (one.bytes ?? 0) + (other.bytes ?? 0),
  };
}
