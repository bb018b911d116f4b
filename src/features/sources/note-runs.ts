import { DAY } from '../../platform/clock.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import type { StoreHub } from '../hub/hub.ts';
import { RUNS, sourceRuns, type Run } from './run-store.ts';

/** Characters. */
const NOTE_MAX = 300;

const NOTHING = { times: 1, failed: 0, added: 0, changed: 0, tookMs: null, bytes: null, event: null, note: null };

/** Keeps, for the owner of a source, what came of its runs, in the caller's transaction; of very many the last ones. */
export function noteRuns(hub: StoreHub, sourceId: number, noted: Partial<Run>[]): void {
  const endedAt = hub.clock();
  const runs = noted.map((run) => ({ ...NOTHING, endedAt, ...run }));
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
