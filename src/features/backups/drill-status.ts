import { DAY, hasPassed, HOUR } from '../../platform/clock.ts';
import type { Hub } from '../hub/hub.ts';
import type { Config } from '../hub/read-config.ts';
import { readJsonFile, readKept, statusPath } from './backup-status.ts';
import { type Destination, readOffsite } from './offsite-status.ts';

/**
 * `proven`: a temporary hub ran on the off-site copy. `compared`: the copy is encrypted and the drill was not given its
 * key, so it only compared the copy's hash with the hash that the hub had noted.
 */
export type DrillOutcome = (typeof DRILL_OUTCOMES)[number];

export const DRILL_OUTCOMES = ['proven', 'compared', 'failed'] as const;

export type DrillRun = {
  place: string; // the destination's `destinationKey`
  outcome: DrillOutcome;
  name: string | null; // the backup's name
  at: number; // unix ms, when the drill (the examination of the copy) ended
  seconds: number;
  problem: string | null;
};

export type KeptDrills = { last: DrillRun | null; lastProven: DrillRun | null };

export type DrillStatus = KeptDrills & {
  name: Destination;
  isSealed: boolean; // the copies at the off-site destination `name` are encrypted for an age recipient
  intervalDays: number; // 0: no drill runs by itself
  isDue: boolean;
  isOverdue: boolean; // drills run by themselves, but the last proof of a restore is one and a half intervals old
};

const USUAL_INTERVAL = 30; // days between two drills (tests of an off-site copy) by default
const LARGEST_FETCHED = 1_024 ** 3; // bytes; by default, larger backups are not fetched for a test

/** A test of an off-site copy (drill) is due this much early, because nightly runs begin at varying times. */
const EARLIER = 2 * HOUR;

/** The recorded drills of each configured off-site destination, and whether a drill is due there. Never throws. */
export function readDrills(hub: Pick<Hub, 'config' | 'clock'>): DrillStatus[] {
  const { config, clock } = hub;
  const days = drillInterval(config);
  return readOffsite(hub).map(({ name, place, lastGood }) => {
    const kept = readKeptDrills(config.dataDir, name);
    const [last, lastProven] = [kept.last, kept.lastProven].map((run) => run?.place === place ? run : null);
    const isSealed = name !== 'restic' && config.backupAgeRecipient !== null;
    const hasPassedSince = (run: DrillRun | null | undefined, ms: number): boolean =>
      !run || hasPassed(run.at, ms, clock());
    return {
      name, isSealed, intervalDays: days, last: last ?? null, lastProven: lastProven ?? null,
      isDue: days > 0 && lastGood !== null && hasPassedSince(last, days * DAY - EARLIER),
      isOverdue: days > 0 && !isSealed && !!lastProven && hasPassedSince(lastProven, 1.5 * days * DAY),
    };
  });
}

function drillInterval({ dataDir, drillEveryDays }: Config): number {
  const bytes = lastBackupBytes(dataDir);
  return drillEveryDays ?? (bytes !== null && bytes <= LARGEST_FETCHED ? USUAL_INTERVAL : 0);
}

/** Of the last good nightly backup; null if unknown. */
export function lastBackupBytes(dataDir: string): number | null {
  return readKept(dataDir, 'backup').lastGood?.bytes ?? null;
}

/** Either is null if there is no record of it. */
export function readKeptDrills(dataDir: string, name: Destination): KeptDrills {
  const { last, lastProven } = readJsonFile<KeptDrills>(statusPath(dataDir, `drill-${name}`)) ?? {};
  return { last: isDrillRun(last) ? last : null, lastProven: isDrillRun(lastProven) ? lastProven : null };
}

/** Whether a value has the shape of a drill's record: the file may be damaged or of another version. */
function isDrillRun(value: unknown): value is DrillRun {
  const run = value as Partial<DrillRun> | null | undefined;
  return typeof run === 'object' && run !== null && Number.isFinite(run.at) &&
    DRILL_OUTCOMES.some((outcome) => outcome === run.outcome);
}
