import { MINUTE, wholeSeconds } from '../../platform/clock.ts';
import type { Migration } from '../../platform/db/migration-files.ts';
import { utcTime } from '../../platform/in-words.ts';
import type { CountsReading } from '../../platform/metrics/counters.ts';
import type { Severity } from '../alerts/alert-store.ts';
import { isAlertOpen } from '../alerts/raise-alerts.ts';
import { readBackupStatus, type BackupStatus } from '../backups/backup-status.ts';
import { readDrills, type DrillStatus } from '../backups/drill-status.ts';
import { readInterim, type InterimStatus } from '../backups/interim-status.ts';
import { readOffsite, type Copies, type Destination, type OffsiteStatus } from '../backups/offsite-status.ts';
import { findSpace } from '../backups/storage-space.ts';
import { recentErrors } from '../history/record-history.ts';
import { HYSTERESIS } from '../hub/disk-reserve.ts';
import { counts, heartbeats, type Hub } from '../hub/hub.ts';

/** The names of the tiles of the administrators' overview. */
export type Subject = 'Schema' | 'Settings' | 'Web' | 'Worker' | 'Queue' | 'Sources' | 'Content quota' | 'Webhooks' |
  'Virus scanner' | 'Errors' | 'Alerts' | 'Backup here' | 'Interim backups' | 'Verification' | Copies |
  'Copies elsewhere' | 'Older backups in restic' | Restores | 'Sign of life' | 'Recovery kit' | 'Disk' | 'Database' |
  'Files' | 'Clock' | 'Certificate' | 'Version';

/** The last proven restore from each destination, as pages and alerts name it. */
export const RESTORES = {
  dir: 'Last proven restore (another disk)', rclone: 'Last proven restore (rclone)',
  restic: 'Last proven restore (restic)',
} as const satisfies Record<Destination, string>;

export type Restores = (typeof RESTORES)[Destination];

/** `warn`: the hub works, but somebody should look. `bad`: people cannot use it, or data is at risk. */
type TroubleLevel = 'warn' | 'bad';

/** What a condition found. State, texts and level replace those of the condition; detail and time those of the tile. */
export type Trouble = {
  headline?: string; // what is wrong in few words; the default is the title
  problem?: string; // what is wrong in a sentence or more; the default is the headline
  since?: number | null; // unix ms, if known
  subject?: Subject;
  level?: TroubleLevel;
  whatToDo?: string;
  state?: string;
  detail?: string | null;
  at?: number | null;
  isQuiet?: boolean; // shown, but no reason for an alert
};

type Alerting = {
  over: string; // the title of the message that the condition is over
  severity?: Severity; // the default is error
  /** Who raises the alert: by default the worker when `look` finds trouble; `its cause`: the code with the problem. */
  raisedBy?: 'its cause' | 'web';
  /** Whether an alert that its cause raised stays open; by default, while `look` finds trouble. */
  lasts?: (reading: HubReading) => boolean;
};

/** A problem that the hub may have. The condition's name is the alert's event. */
export type Condition = {
  name: string;
  subject: Subject; // the tile on the overview that shows it
  level: TroubleLevel;
  state: string; // what the tile says while it holds, in a few words
  title: string; // without a full stop: the headline, and the title of the alert
  href: string | null; // the page that helps
  whatToDo: string;
  /** The trouble found now; null or an empty list if the condition does not hold. */
  look(reading: HubReading): Trouble | Trouble[] | null;
  alert?: Alerting;
  degrades?: 'disk' | 'backup-dir'; // its name in `degraded` of GET /api/health
};

/** What the condition finds wrong, with its own words where the finding has none. */
export function troublesOf({ subject, level, state, title, href, whatToDo, look }: Condition, reading: HubReading) {
  return [look(reading) ?? []].flat().map((found) => {
    const headline = found.headline ?? `${title}.`;
    return { subject, level, state, href, whatToDo, problem: headline, since: null, ...found, headline };
  });
}

/** The condition `error-burst` counts the errors within this time. */
export const BURST_TIME = 10 * MINUTE;

/** The worker, which beats every 5 s, counts as running for this long after it was last seen. */
const WORKER_ALIVE_SECONDS = 30;

export type WorkerState = { ok: boolean; lastSeenSeconds: number | null };

/** The hub's state, shared by all conditions and tiles of a list. Each part is read when first asked for. */
export type HubReading = {
  hub: Hub;
  pending: readonly Migration[]; // migrations that the database lacks; always empty in web and worker
  kept(): CountsReading;
  worker(): WorkerState & { seenAt: number | null };
  backups(): BackupStatus;
  interim(): InterimStatus;
  offsite(): OffsiteStatus[];
  drills(): DrillStatus[];
  space(): ReturnType<typeof findSpace>;
  errors(): { count: number; since: number | null };
};

export function startReading(hub: Hub, pending: readonly Migration[] = []): HubReading {
  const kept = lazily(() => counts(hub).read());
  return {
    hub, pending, kept,
    worker: () => ({ ...readWorker(hub), seenAt: heartbeats(hub).lastSeen('worker') }),
    backups: lazily(() => readBackupStatus(hub)),
    interim: lazily(() => readInterim(hub)),
    offsite: lazily(() => readOffsite(hub)),
    drills: lazily(() => readDrills(hub)),
    space: lazily(() => findSpace(hub, kept().value('uploads_bytes'), isAlertOpen(hub, 'space-low') ? HYSTERESIS : 1)),
    errors: lazily(() => recentErrors(hub, BURST_TIME)),
  };
}

/** Calls `read` once, when its value is first asked for. */
function lazily<Value>(read: () => Value): () => Value {
  let known: { value: Value } | undefined;
  return () => (known ??= { value: read() }).value;
}

/** Whether the worker was seen in the last 30 s. */
export function readWorker(hub: Hub): WorkerState {
  const seenAt = heartbeats(hub).lastSeen('worker');
  const lastSeenSeconds = seenAt === null ? null : wholeSeconds(hub.clock() - seenAt);
  return { ok: lastSeenSeconds !== null && lastSeenSeconds <= WORKER_ALIVE_SECONDS, lastSeenSeconds };
}

/** How many jobs or sources of all kinds are in that state. Labels are `kind,state`. */
export function countIn(kept: CountsReading, metric: 'jobs' | 'sources', state: string): number {
  return kept.labels(metric).filter((label) => label.endsWith(`,${state}`))
    .reduce((sum, label) => sum + kept.value(metric, label), 0);
}

/** "Since 2026-11-22 13:05 UTC."; empty if the time is not known. */
export function sinceInWords(since: number | null | undefined): string {
  return since ? `Since ${utcTime(since)}.` : '';
}
