import { wholeSeconds } from '../../platform/clock.ts';
import { createSchemaVersion } from '../../platform/db/migrate.ts';
import { recoveryKitPrintedAt } from '../backups/backup-status.ts';
import type { Destination } from '../backups/offsite-status.ts';
import { oldestDueSeconds, store, type Hub } from '../hub/hub.ts';
import { SYNC_SOURCE } from '../sources/sync-state-store.ts';
import { readWorker, startReading, type Condition, type HubReading, type WorkerState } from './condition.ts';
import { CONDITIONS } from './conditions.ts';

type Health = {
  ok: true;
  failedJobs: number;
  database: 'ok';
  worker: WorkerState;
  schemaVersion: number;
  oldestDueJobSeconds: number;
  lastBackup: { ageSeconds: number; verified: boolean } | null;
  lastVerifiedBackup: { ageSeconds: number } | null;
  /** `ageSeconds`: since the destination last had all backups. */
  offsite: { name: Destination; ok: boolean; ageSeconds: number | null; checkAgeSeconds?: number | null }[];
  recoveryKit: { ageSeconds: number } | null;
  lastProvenRestore: { destination: Destination; ageSeconds: number }[];
  degraded: NonNullable<Condition['degrades']>[];
};

export const schemaVersionReader = store(({ db }) => createSchemaVersion(db));

/** Throws an error if the database cannot be read. */
export function readHealth(hub: Hub): Health {
  const reading = startReading(hub);
  return {
    ok: true,
    failedJobs: reading.kept().value('jobs', `${SYNC_SOURCE},failed`),
    database: 'ok',
    worker: readWorker(hub),
    schemaVersion: schemaVersionReader(hub)(),
    oldestDueJobSeconds: oldestDueSeconds(hub),
    ...readBackups(reading),
    degraded: CONDITIONS.flatMap(({ degrades, look }) => (degrades && look(reading) ? [degrades] : [])),
  };
}

/** Reads the state of backups from files, because a restored database is as old as its backup. */
function readBackups(
  { hub: { config, clock }, backups, offsite, drills }: HubReading,
): Pick<Health, 'lastBackup' | 'lastVerifiedBackup' | 'offsite' | 'recoveryKit' | 'lastProvenRestore'> {
  const { newest, newestVerified } = backups();
  const printedAt = recoveryKitPrintedAt(config.dataDir);
  const ageOf = ({ createdAt }: { createdAt: number }): number => wholeSeconds(clock() - createdAt);
  return {
    lastBackup: newest && { ageSeconds: ageOf(newest), verified: newest.verified },
    lastVerifiedBackup: newestVerified && { ageSeconds: ageOf(newestVerified) },
    offsite: offsite().map(({ name, last, lastGood, hasFailed, isStale }) => {
      const ageSeconds = lastGood && wholeSeconds(clock() - lastGood.at);
      const checkAgeSeconds = last?.checkedAt ? wholeSeconds(clock() - last.checkedAt) : null;
      return { name, ok: !hasFailed && !isStale, ageSeconds, ...(name === 'restic' && { checkAgeSeconds }) };
    }),
    recoveryKit: printedAt === null ? null : { ageSeconds: wholeSeconds(clock() - printedAt) },
    lastProvenRestore: drills().flatMap(({ name: destination, lastProven }) =>
      (lastProven ? [{ destination, ageSeconds: wholeSeconds(clock() - lastProven.at) }] : [])),
  };
}
