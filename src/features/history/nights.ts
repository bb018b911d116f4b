import { DAY } from '../../platform/clock.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { timeOfBackup } from '../backups/backup-name.ts';
import { readBackupStatus } from '../backups/backup-status.ts';
import { readOffsite } from '../backups/offsite-status.ts';
import type { Hub } from '../hub/hub.ts';
import { backupRuns, type BackupRun } from './history-store.ts';

/**
 * `late`: the night's last run succeeded after a failure. `failed`: it failed, or a backup here is damaged. `none`: no
 * run is known, although earlier ones are. `unknown`: no run is known, of this night or earlier, or not yet of today.
 */
export type NightOutcome = 'good' | 'late' | 'degraded' | 'failed' | 'none' | 'unknown';

/** `day`: the day's number in the viewer's calendar. `elsewhere`: worst off-site result; null without a destination. */
export type Night = { day: number; here: NightOutcome; elsewhere: NightOutcome | null; problems: string[] };

export const NIGHTS = 35;

const PROBLEMS_NAMED = 3;
const PROBLEM_MAX = 200; // characters

/** The backups of the last five weeks, today last. `dayOf`: the number of the day that contains a time (unix ms). */
export function readNights(hub: Hub, dayOf: (at: number) => number): Night[] {
  const today = dayOf(hub.clock());
  const { there, damaged } = foundHere(hub);
  const runs = [...there, ...backupRuns(hub).since(hub.clock() - (NIGHTS + 1) * DAY)];
  const byDay = Map.groupBy(runs.toSorted((a, b) => a.at - b.at), ({ at }) => dayOf(at));
  const damagedDays = new Set(damaged.map(dayOf));
  const here = outcomesOf('here', byDay, today);
  const copies = readOffsite(hub).map(({ name }) => outcomesOf(name, byDay, today));
  return here.map((outcome, index) => {
    const day = today - NIGHTS + 1 + index;
    const elsewhere = copies.length === 0 ? null : worst(copies.map((one) => one[index] ?? 'unknown'));
    return {
      day, here: damagedDays.has(day) ? 'failed' : outcome, elsewhere, problems: problemTexts(byDay.get(day) ?? []),
    };
  });
}

function problemTexts(runs: BackupRun[]): string[] {
  const told = new Set(runs.filter(({ problem }) => problem !== null)
    .map(({ place, problem }) => (place === 'here' ? `${problem}` : `${place}: ${problem}`)));
  return [...told].slice(-PROBLEMS_NAMED).map((one) => excerpt(one, PROBLEM_MAX));
}

/** The backups in BACKUP_DIR (a restored hub may lack records of their runs), and the times of damaged backups. */
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

function outcomesOf(place: string, byDay: Map<number, BackupRun[]>, today: number): NightOutcome[] {
  const resultsOf = (day: number): BackupRun['result'][] =>
    byDay.get(day)?.filter((run) => run.place === place).map(({ result }) => result) ?? [];
  const first = Math.min(...[...byDay.keys()].filter((day) => resultsOf(day).length > 0));
  return Array.from({ length: NIGHTS }, (_, index) => {
    const day = today - NIGHTS + 1 + index;
    const results = resultsOf(day);
    if (results.length === 0) return day > first && day < today ? 'none' : 'unknown';
    if (results.at(-1) !== 'good') return results.at(-1) ?? 'unknown';
    return results.includes('failed') ? 'late' : 'good';
  });
}

const BY_WEIGHT: NightOutcome[] = ['failed', 'none', 'degraded', 'late', 'unknown', 'good'];

function worst(outcomes: NightOutcome[]): NightOutcome {
  return BY_WEIGHT.find((one) => outcomes.includes(one)) ?? 'unknown';
}
