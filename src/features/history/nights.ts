import { DAY } from '../../platform/clock.ts';
import { timeOfBackup } from '../backups/backup-name.ts';
import { readBackupStatus } from '../backups/backup-status.ts';
import { readOffsite } from '../backups/offsite-status.ts';
import type { Hub } from '../hub/hub.ts';
import { backupRuns, type BackupRun } from './backup-run-store.ts';

/**
 * What came of a night: `late` only after a failure, `none` where no run is known although there were some before,
 * `unknown` before the first that is known, and today while there is none yet.
 */
export type Outcome = 'good' | 'late' | 'degraded' | 'failed' | 'none' | 'unknown';

/** One day of somebody's calendar, by its number; `elsewhere` is the worst of all destinations, null without any. */
export type Night = { day: number; here: Outcome; elsewhere: Outcome | null; problems: string[] };

export const NIGHTS = 35;

/** The last five weeks, today last. `dayOf` tells the number of a time's day. */
export function readNights(hub: Hub, dayOf: (at: number) => number): Night[] {
  const today = dayOf(hub.clock());
  const destinations = readOffsite(hub).map(({ name }) => name);
  const { there, damaged } = foundHere(hub);
  const runs = [...there, ...backupRuns(hub).since(hub.clock() - (NIGHTS + 1) * DAY)];
  const damagedDays = new Set(damaged.map(dayOf));
  const byPlace = Map.groupBy(runs, ({ place }) => place);
  const outcomes = new Map(['here', ...destinations].map((place) =>
    [place, byDay(byPlace.get(place) ?? [], today, dayOf)] as const));
  return Array.from({ length: NIGHTS }, (_, index) => {
    const day = today - NIGHTS + 1 + index;
    const at = (place: string): Outcome => outcomes.get(place)?.[index] ?? 'unknown';
    const problems = runs.filter((run) => run.problem !== null && dayOf(run.at) === day)
      .map(({ place, problem }) => (place === 'here' ? problem : `${place}: ${problem}`) ?? '');
    const here = damagedDays.has(day) ? 'failed' : at('here');
    return { day, here, elsewhere: destinations.length === 0 ? null : worst(destinations.map(at)), problems };
  });
}

/** Backups that are there, whose runs may be forgotten, as after a restore; and when the damaged ones were made. */
function foundHere(hub: Hub): { there: BackupRun[]; damaged: number[] } {
  const all = readBackupStatus(hub).byVerification
    .map(({ name, verdict }) => ({ at: timeOfBackup(name) ?? 0, verdict }))
    .filter(({ at }) => at <= hub.clock());
  const there = all.map(({ at, verdict }): BackupRun => {
    const result = verdict === 'degraded' ? 'degraded' : 'good';
    return { place: 'here', at, result, bytes: null, seconds: 0, problem: null };
  });
  return { there, damaged: all.filter(({ verdict }) => verdict === 'failed').map(({ at }) => at) };
}

function byDay(runs: BackupRun[], today: number, dayOf: (at: number) => number): Outcome[] {
  const days = Map.groupBy(runs.toSorted((a, b) => a.at - b.at), ({ at }) => dayOf(at));
  const first = Math.min(...days.keys());
  return Array.from({ length: NIGHTS }, (_, index) => {
    const day = today - NIGHTS + 1 + index;
    const results = days.get(day)?.map(({ result }) => result) ?? [];
    if (results.length === 0) return day > first && day < today ? 'none' : 'unknown';
    if (results.at(-1) !== 'good') return results.at(-1) ?? 'unknown';
    return results.includes('failed') ? 'late' : 'good';
  });
}

const BY_WEIGHT: Outcome[] = ['failed', 'none', 'degraded', 'late', 'unknown', 'good'];

function worst(outcomes: Outcome[]): Outcome {
  return BY_WEIGHT.find((one) => outcomes.includes(one)) ?? 'unknown';
}
