import { MINUTE, wholeSeconds } from '../../platform/clock.ts';
import type { Migration } from '../../platform/db/migration-files.ts';
import { utcTime } from '../../platform/in-words.ts';
import type { CountsSnapshot } from '../../platform/metrics/counters.ts';
import type { Severity } from '../alerts/alert-store.ts';
import { isAlertOpen } from '../alerts/raise-alerts.ts';
import { readBackupStatus, readInterim, type BackupStatus, type InterimStatus } from '../backups/backup-status.ts';
import { readDrills, type DrillStatus } from '../backups/drill-status.ts';
import { readOffsite, type Copies, type Destination, type OffsiteStatus } from '../backups/offsite-status.ts';
import { findSpace, readStorageSizes, type StorageSizes } from '../backups/storage-space.ts';
import { recentErrors } from '../history/record-history.ts';
import { HYSTERESIS } from '../hub/disk-reserve.ts';
import { counts, heartbeats, type Hub } from '../hub/hub.ts';

export type Subject = 'Schema' | 'Settings' | 'Web' | 'Worker' | 'Queue' | 'Sources' | 'Content quota' | 'Webhooks' |
  'Virus scanner' | 'Errors' | 'Alerts' | 'Backup here' | 'Interim backups' | 'Verification' | Copies |
  'Copies elsewhere' | 'Older backups in restic' | Restores | 'Sign of life' | 'Recovery kit' | 'Disk' | 'Database' |
  'Files' | 'Clock' | 'Certificate' | 'Version';

export const RESTORES = {
  dir: 'Last proven restore (another disk)', rclone: 'Last proven restore (rclone)',
  restic: 'Last proven restore (restic)',
} as const satisfies Record<Destination, string>;

export type Restores = (typeof RESTORES)[Destination];

/** `warn`: the hub works, but somebody should look. `bad`: some of it does not work, or data is at risk. */
type TroubleLevel = 'warn' | 'bad';

/** A problem found by a health condition's `look`. Its fields replace the condition's own. */
export type Trouble = {
  headline?: string; // the problem in few words; the default is the condition's title
  problem?: string; // sentences that explain the health problem; the default is the text of `headline`
  since?: number | null; // when the problem began (unix ms), if known
  subject?: Subject;
  level?: TroubleLevel;
  whatToDo?: string;
  state?: string;
  detail?: string | null;
  at?: number | null;
  isQuiet?: boolean; // the problem is shown, but raises no alert
};

type Alerting = {
  over: string; // the title of the message that the problem has ended
  severity?: Severity; // severity of the alert; the default is error
  /** By default the worker; with 'its cause', the work that meets the problem, such as a synchronisation that fails. */
  raisedBy?: 'worker' | 'web' | 'its cause';
  /** With 'its cause': whether the alert stays open; by default, as long as `look` finds a problem. */
  lasts?: (snapshot: HubSnapshot) => boolean;
};

/** A problem that the hub may have, and how it is found and reported. The condition's name is the alert's `event`. */
export type Condition = {
  name: string;
  subject: Subject; // the tile of the overview that shows the condition
  level: TroubleLevel;
  state: string; // a few words for the overview while the problem exists, such as 'none yet'
  title: string; // names the problem without a full stop; the title of its alert
  href: string | null; // the administrators' page that helps to solve the health problem
  whatToDo: string;
  look(snapshot: HubSnapshot): Trouble | Trouble[] | null;
  alert?: Alerting;
  degrades?: 'disk' | 'backup-dir'; // the problem's name in `degraded` of GET /api/health
};

/** What `look` finds, each completed with the condition's own text and level. */
export function troublesOf({ subject, level, state, title, href, whatToDo, look }: Condition, snapshot: HubSnapshot) {
  return [look(snapshot) ?? []].flat().map((found) => {
    const headline = found.headline ?? `${title}.`;
    return { subject, level, state, href, whatToDo, problem: headline, since: null, ...found, headline };
  });
}

/** The condition `error-burst` counts the unexpected errors of about this time: see `recentErrors`. */
export const BURST_TIME = 10 * MINUTE;

/** The worker counts as running for this long after its last heartbeat; it sends one every 5 s, on trial every 2 s. */
const WORKER_ALIVE_SECONDS = 30;

export type WorkerState = { ok: boolean; lastSeenSeconds: number | null };

/** The hub's state for one check or one scrape. */
export type HubSnapshot = {
  hub: Hub;
  pending: readonly Migration[]; // migrations that the database lacks; always empty in the web and worker processes
  kept(): CountsSnapshot;
  worker(): WorkerState & { seenAt: number | null };
  backups(): BackupStatus;
  interim(): InterimStatus;
  offsite(): OffsiteStatus[];
  drills(): DrillStatus[];
  storage(): StorageSizes;
  space(): ReturnType<typeof findSpace>;
  errors(): { count: number; since: number | null };
};

/** Each part is read once, when it is first asked for; only the worker's heartbeat is read each time. */
export function takeSnapshot(hub: Hub, pending: readonly Migration[] = []): HubSnapshot {
  const kept = lazily(() => counts(hub).read());
  return {
    hub, pending, kept,
    worker: () => ({ ...readWorker(hub), seenAt: heartbeats(hub).lastSeen('worker') }),
    backups: lazily(() => readBackupStatus(hub)),
    interim: lazily(() => readInterim(hub)),
    offsite: lazily(() => readOffsite(hub)),
    drills: lazily(() => readDrills(hub)),
    storage: lazily(() => readStorageSizes(hub.config.databasePath)),
    space: lazily(() => findSpace(hub, kept().value('uploads_bytes'), isAlertOpen(hub, 'space-low') ? HYSTERESIS : 1)),
    errors: lazily(() => recentErrors(hub, BURST_TIME)),
  };
}

function lazily<Value>(read: () => Value): () => Value {
  let known: { value: Value } | undefined;
  return () => (known ??= { value: read() }).value;
}

export function readWorker(hub: Hub): WorkerState {
  const seenAt = heartbeats(hub).lastSeen('worker');
  const lastSeenSeconds = seenAt === null ? null : wholeSeconds(hub.clock() - seenAt);
  return { ok: lastSeenSeconds !== null && lastSeenSeconds <= WORKER_ALIVE_SECONDS, lastSeenSeconds };
}

/** The number of jobs or sources of all kinds that are in the given state. Labels are `kind,state`. */
export function countIn(kept: CountsSnapshot, metric: 'jobs' | 'sources', state: string): number {
  return kept.labels(metric).filter((label) => label.endsWith(`,${state}`))
    .reduce((sum, label) => sum + kept.value(metric, label), 0);
}

/** "Since 2026-11-22 13:05 UTC."; empty if the time is not known. */
export function sinceInWords(since: number | null | undefined): string {
  return since ? `Since ${utcTime(since)}.` : '';
}
