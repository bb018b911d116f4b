import { type Clock, hasPassed, HOUR } from '../../platform/clock.ts';
import { timeOfInterim } from './backup-name.ts';
import {
  AHEAD, type BackupPlaces, type Dated, datedFolders, listBackups, readKept, readKilled, readVerdicts, type RunResult,
} from './backup-status.ts';

/** The intervals of interim backups, in hours: each divides the day, so that a nightly backup takes one run's place. */
export const INTERIM_HOURS = [1, 2, 3, 4, 6, 8, 12];

/** How a run that makes an interim backup ended. */
export type InterimRun = RunResult & { everyHours: number | null }; // null: cron or a timer has made no interim backup

/** Interim backups are late if this many are missing in a row and no nightly backup was made in the meantime. */
const MISSED = 3;

export type InterimStatus = {
  last: RunResult | null; // a killed run of an interim backup counts as failed
  everyHours: number | null;
  kept: number; // how many interim backups are on this machine
  newestAt: number | null; // unix ms, when the newest verified interim backup was made
  isLate: boolean; // no interim or nightly backup was verified within the last 3 × `everyHours` hours
};

/** The hub's knowledge of its interim backups. Never throws. */
export function readInterim({ config, clock }: { config: BackupPlaces; clock: Clock }): InterimStatus {
  const { dataDir, backupDir } = config;
  const { last: ended } = readKept<InterimRun>(dataDir, 'interim');
  const everyHours = INTERIM_HOURS.find((hours) => hours === ended?.everyHours) ?? null;
  const last = readKilled(dataDir, 'interim', ended) ?? ended;
  const verdicts = readVerdicts(dataDir);
  const isGood = ({ name, createdAt }: Dated): boolean =>
    verdicts[name]?.verdict === 'verified' && createdAt <= clock() + AHEAD;
  const there = listInterim(backupDir);
  const newestAt = there.findLast(isGood)?.createdAt ?? null;
  const newest = Math.max(newestAt ?? 0, listBackups(backupDir).findLast(isGood)?.createdAt ?? 0);
  const isLate = everyHours !== null && hasPassed(Math.min(newest, clock()), MISSED * everyHours * HOUR, clock());
  return { last, everyHours, newestAt, kept: there.length, isLate };
}

/** Interim backups in BACKUP_DIR, oldest first; empty if the folder cannot be read. */
export function listInterim(backupDir: string): Dated[] {
  return datedFolders(`${backupDir}/interim`, timeOfInterim);
}
