import { DAY } from '../../platform/clock.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import type { StoreHub } from '../hub/hub.ts';
import { RUNS, sourceRuns, type SourceRun, type RunDay } from './run-store.ts';

const NOTE_MAX = 300; // characters

const NOTHING = { times: 1, failed: 0, added: 0, changed: 0, tookMs: null, bytes: null, event: null, note: null };

/** Results of a source's synchronisations or webhook events that are not stored yet: sums, and the newest. */
export type Noted = Omit<RunDay, 'day'> & { last: SourceRun[] };

/** Results of no runs yet, to which `addRun` adds. */
export function nothingNoted(): Noted {
  return { runs: 0, failed: 0, added: 0, last: [] };
}

/** Adds a run (a synchronisation or an event), or merges it into the previous run if both have the same result. */
export function addRun(hub: StoreHub, noted: Noted, ended: Partial<SourceRun>): void {
  const run = { ...NOTHING, endedAt: hub.clock(), ...ended };
  noted.runs += run.times;
  noted.failed += run.failed * run.times;
  noted.added += run.added;
  const before = noted.last.at(-1);
  if (before && isAlike(before, run)) noted.last[noted.last.length - 1] = together(before, run);
  else if (noted.last.push(run) > RUNS) noted.last.shift();
}

/** In the caller's transaction; stores nothing if the source is gone. */
export function writeRuns(hub: StoreHub, sourceId: number, { last, ...sums }: Noted): void {
  const day = { day: Math.floor(hub.clock() / DAY), ...sums };
  if (!sourceRuns(hub).noteDay(sourceId, day)) return;
  for (const run of last) {
    sourceRuns(hub).note(sourceId, { ...run, note: run.note && excerpt(run.note, NOTE_MAX) });
  }
}

/** As `writeRuns`, for runs that are not collected first. */
export function noteRuns(hub: StoreHub, sourceId: number, runs: Partial<SourceRun>[]): void {
  const noted = nothingNoted();
  for (const run of runs) addRun(hub, noted, run);
  writeRuns(hub, sourceId, noted);
}

/** Stores failed runs with the same reason; they join a run that last failed for it less than a day ago. */
export function noteFailures(hub: StoreHub, sourceId: number, note: string, times: number): void {
  const endedAt = hub.clock();
  const day = { day: Math.floor(endedAt / DAY), runs: times, failed: times, added: 0 };
  if (!sourceRuns(hub).noteDay(sourceId, day) || sourceRuns(hub).noteAgain(sourceId, note, times)) return;
  sourceRuns(hub).note(sourceId, { ...NOTHING, endedAt, failed: 1, times, note });
}

function isAlike(one: SourceRun, other: SourceRun): boolean {
  return one.event === other.event && one.note === other.note && one.failed === other.failed
    && one.added > 0 === other.added > 0 && one.changed > 0 === other.changed > 0;
}

function together(one: SourceRun, other: SourceRun): SourceRun {
  return {
    ...other, times: one.times + other.times, added: one.added + other.added, changed: one.changed + other.changed,
    bytes: (one.bytes ?? 0) + (other.bytes ?? 0),
  };
}
