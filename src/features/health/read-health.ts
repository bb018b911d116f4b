import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { SECOND } from '../../platform/clock.ts';
import { createSchemaVersion } from '../../platform/db/migrate.ts';
import type { CountsReading } from '../../platform/metrics/counters.ts';
import { createHttpMetrics } from '../../platform/metrics/http-metrics.ts';
import { createProcessMetrics } from '../../platform/metrics/measure-process.ts';
import { readBackupStatus, recoveryKitPrintedAt } from '../backups/backup-status.ts';
import { readOffsite, type Destination } from '../backups/offsite-status.ts';
import { isDiskLow } from '../hub/disk-reserve.ts';
import { counts, heartbeats, jobs, once, store, type Hub } from '../hub/hub.ts';
import { SYNC_SOURCE } from '../sources/sync-state-store.ts';

const WORKER_ALIVE_SECONDS = 30;

type Health = {
  ok: true;
  failedJobs: number;
  database: 'ok';
  worker: { ok: boolean; lastSeenSeconds: number | null };
  schemaVersion: number;
  oldestDueJobSeconds: number;
  /** The newest that is there, whose name does not lie in the future. */
  lastBackup: { ageSeconds: number; verified: boolean } | null;
  /** The newest of those that were found good when they were made or last verified. */
  lastVerifiedBackup: { ageSeconds: number } | null;
  /** Each destination that is configured; how long ago it last got everything that it had missed. */
  offsite: { name: Destination; ok: boolean; ageSeconds: number | null; checkAgeSeconds?: number | null }[];
  /** When what a restore on another machine needs was last printed; null for never. */
  recoveryKit: { ageSeconds: number } | null;
  /** Names of what keeps the hub from doing all that it should; empty when nothing does. */
  degraded: Degraded[];
};

/** `disk`: it is down to its reserve, and members can store nothing. */
type Degraded = 'disk';

/** The number of the newest migration that was applied. */
export const schemaVersionReader = store(({ db }) => createSchemaVersion(db));

/** Counts and durations of the answers that this process has given, for metrics. */
export const httpMetrics = once((_hub: Hub) => createHttpMetrics());

/** Memory, CPU time and event loop lag of this process, for metrics. */
export const processMetrics = once(({ clock }: Hub) => createProcessMetrics({ startedAtSeconds: clock() / SECOND }));

/** The file that this process has opened. It goes on with that one when it is removed or replaced, alone. */
export const openedFile = once(({ config }: Hub) => fileId(config.databasePath));

/** What is wrong with the database although it can be read. */
export class DatabaseGoneError extends Error {}

/** Throws DatabaseGoneError where the file that was opened is no longer the one in its place. */
export function assertInPlace(hub: Hub): void {
  const { databasePath } = hub.config;
  const found = fileId(databasePath);
  if (found === openedFile(hub)) return;
  const what = found === undefined ? 'removed' : 'replaced by another file';
  throw new DatabaseGoneError(`${basename(databasePath)} was ${what} while the hub runs. Stop the hub, then ` +
    'restore a backup; what was stored since then is lost.');
}

function fileId(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && `${stat.dev} ${stat.ino}`;
}

/** Throws when the database is not readable, or is not where it was. */
export function readHealth(hub: Hub): Health {
  assertInPlace(hub);
  const kept = counts(hub).read();
  return {
    ok: true,
    failedJobs: kept.value('jobs', `${SYNC_SOURCE},failed`),
    database: 'ok',
    worker: readWorker(hub),
    schemaVersion: schemaVersionReader(hub)(),
    oldestDueJobSeconds: oldestDueSeconds(hub, kept),
    ...readBackups(hub),
    degraded: isDiskLow(hub) ? ['disk'] : [],
  };
}

/** Whether the worker was seen of late. */
export function readWorker(hub: Hub): Health['worker'] {
  const seenAt = heartbeats(hub).lastSeen('worker');
  const lastSeenSeconds = seenAt === null ? null : wholeSeconds(hub.clock() - seenAt);
  return { ok: lastSeenSeconds !== null && lastSeenSeconds <= WORKER_ALIVE_SECONDS, lastSeenSeconds };
}

/** For how long the job has waited that was due first, of whatever kind. */
export function oldestDueSeconds(hub: Hub, kept: CountsReading): number {
  return Math.max(0, ...jobKinds(kept).map((kind) => Math.floor(jobs(hub).oldestDueSeconds(kind))));
}

/** Never negative: clocks may be set back. */
export function wholeSeconds(ms: number): number {
  return Math.max(0, Math.floor(ms / SECOND));
}

/** From the files of backup runs: what a database says of its own backups would be old after a restore. */
function readBackups(hub: Hub): Pick<Health, 'lastBackup' | 'lastVerifiedBackup' | 'offsite' | 'recoveryKit'> {
  const { config, clock } = hub;
  const { newest, newestVerified } = readBackupStatus(hub);
  const printedAt = recoveryKitPrintedAt(config.dataDir);
  const ageOf = ({ createdAt }: { createdAt: number }): number => wholeSeconds(clock() - createdAt);
  return {
    lastBackup: newest && { ageSeconds: ageOf(newest), verified: newest.verified },
    lastVerifiedBackup: newestVerified && { ageSeconds: ageOf(newestVerified) },
    offsite: readOffsite(hub).map(({ name, last, lastGood, hasFailed, isStale }) => {
      const ageSeconds = lastGood && wholeSeconds(clock() - lastGood.at);
      const checkAgeSeconds = last?.checkedAt ? wholeSeconds(clock() - last.checkedAt) : null;
      return { name, ok: !hasFailed && !isStale, ageSeconds, ...(name === 'restic' && { checkAgeSeconds }) };
    }),
    recoveryKit: printedAt === null ? null : { ageSeconds: wholeSeconds(clock() - printedAt) },
  };
}

/** The kinds that have ever been queued, from the labels `kind,state` of the counters. */
function jobKinds(kept: CountsReading): string[] {
  return [...new Set(kept.labels('jobs').map((label) => label.slice(0, label.lastIndexOf(','))))];
}
