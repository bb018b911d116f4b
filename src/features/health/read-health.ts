import { wholeSeconds } from '../../platform/clock.ts';
import { createSchemaVersion } from '../../platform/db/migrate.ts';
import {
  array, choice, flag, integer, named, object, optional, orNull, text, type Shown,
} from '../../platform/http/fields.ts';
import { recoveryKitPrintedAt } from '../backups/backup-status.ts';
import { DESTINATIONS } from '../backups/offsite-status.ts';
import { oldestDueSeconds, store, type Hub } from '../hub/hub.ts';
import { SYNC_SOURCE } from '../sources/sync-state-store.ts';
import { readWorker, takeSnapshot, type HubSnapshot } from './condition.ts';
import { CONDITIONS } from './conditions.ts';

const age = object({ ageSeconds: integer });

export const HEALTH = named('Health', object({
  ok: flag, failedJobs: integer, database: text, worker: object({ ok: flag, lastSeenSeconds: orNull(integer) }),
  schemaVersion: integer, oldestDueJobSeconds: integer,
  lastBackup: orNull(object({ ageSeconds: integer, verified: flag })), lastVerifiedBackup: orNull(age),
  offsite: array(object({
    name: choice(DESTINATIONS), ok: flag,
    ageSeconds: orNull(integer), // since the destination last had all backups
    checkAgeSeconds: optional(orNull(integer)),
  })),
  recoveryKit: orNull(age),
  lastProvenRestore: array(object({ destination: choice(DESTINATIONS), ageSeconds: integer })),
  degraded: array(choice(['disk', 'backup-dir'])),
}));
type Health = Shown<typeof HEALTH>;

export const ALIVE = named('Alive', object({ ok: flag }));
export const UNREADY = named('Unready', object({
  ok: flag, database: text, error: text, rescue: optional(object({ file: text, verified: flag })),
  problem: optional(text), whatToDo: optional(text),
}));

export const schemaVersionReader = store(({ db }) => createSchemaVersion(db));

/** Throws an error if the database cannot be read. */
export function readHealth(hub: Hub): Health {
  const snapshot = takeSnapshot(hub);
  return {
    ok: true,
    failedJobs: snapshot.kept().value('jobs', `${SYNC_SOURCE},failed`),
    database: 'ok',
    worker: readWorker(hub),
    schemaVersion: schemaVersionReader(hub)(),
    oldestDueJobSeconds: oldestDueSeconds(hub),
    ...readBackups(snapshot),
    degraded: CONDITIONS.flatMap(({ degrades, look }) => (degrades && look(snapshot) ? [degrades] : [])),
  };
}

/** Reads the state of backups from files, because a restored database is as old as its backup. */
function readBackups(
  { hub: { config, clock }, backups, offsite, drills }: HubSnapshot,
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
