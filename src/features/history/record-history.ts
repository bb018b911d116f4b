import { hasPassed } from '../../platform/clock.ts';
import type { CountsSnapshot } from '../../platform/metrics/counters.ts';
import { readBackupStatus, type OffsiteRun, type RunResult } from '../backups/backup-status.ts';
import { readOffsite } from '../backups/offsite-status.ts';
import { readStorageSizes } from '../backups/storage-space.ts';
import { counts, heartbeats, oldestDueSeconds, once, type Hub } from '../hub/hub.ts';
import {
  ANSWERS, backupRuns, FINE, history, merge, processNotes, type BackupRun, type Figure, type Figures,
} from './history-store.ts';
import { processSample, WEB, type WebSample } from './process-notes.ts';

/** Counters whose growth the history records; without a label, the counts of all labels are added up. */
const COUNTED = {
  syncs_changed: ['sync_runs_total', 'changed'], syncs_unchanged: ['sync_runs_total', 'unchanged'],
  syncs_error: ['sync_runs_total', 'error'],
  webhooks_accepted: ['webhook_events_total', 'accepted'], webhooks_rejected: ['webhook_events_total', 'rejected'],
  posts: ['posts_ingested_total'], errors: ['error_events_total'],
} satisfies Partial<Record<Figure, [metric: string, label?: string]>>;

type Counted = keyof typeof COUNTED;

/** The counters at the end of the last time bucket, or at the first beat after a pause; growth counts from there. */
type Totals = { counters: Record<Counted, number>; web: WebSample | null };

const TOTALS = 'totals';

type OpenBucket = { at: number; figures: Figures; web: WebSample | null };

/** `runs`: when the last stored backup run of each place ended. */
const open = once((_hub: Hub): { bucket?: OpenBucket; runs: Map<string, number> } => ({ runs: new Map() }));

/** Writes the worker's heartbeat even if storing the hub's figures and backup runs fails. */
export function beatOfWorker(hub: Hub): void {
  try {
    beatAndRecord(hub);
  } catch (error) {
    heartbeats(hub).beat('worker');
    throw error;
  }
}

function beatAndRecord(hub: Hub): void {
  const at = hub.clock() - hub.clock() % FINE;
  const state = open(hub);
  // After a start of the worker, web's counts grow from those at the last bucket's end, else from its last report.
  const bucket = state.bucket ??
    { at, figures: {}, web: baseline(hub)?.web ?? processNotes(hub).find<WebSample>(WEB)?.note ?? null };
  look(hub, bucket);
  const runs = lastRuns(hub).filter((run) => state.runs.get(run.place) !== run.at);
  if (state.bucket && bucket.at === at && runs.length === 0) return heartbeats(hub).beat('worker');
  const ended = bucket.at === at ? null : { ...bucket.figures, ...closing(hub), ...growth(hub, bucket.at) };
  const totals: Totals = { counters: readCounters(hub), web: bucket.web };
  const isToStart = ended !== null || baseline(hub) === null;
  hub.db.write('heartbeat with history', () => {
    heartbeats(hub).beat('worker');
    if (ended) history(hub).add(bucket.at, ended);
    for (const run of runs) backupRuns(hub).note(run);
    if (isToStart) processNotes(hub).put(TOTALS, totals);
  });
  for (const run of runs) state.runs.set(run.place, run.at);
  state.bucket = bucket.at === at ? bucket : { at, figures: {}, web: bucket.web };
}

/** Null at first, and after a pause of the worker, when growth has no known time. */
function baseline(hub: Hub): Totals | null {
  const kept = processNotes(hub).find<Totals>(TOTALS);
  return kept && !hasPassed(kept.at, 2 * FINE, hub.clock()) ? kept.note : null;
}

function look(hub: Hub, bucket: OpenBucket): void {
  processSample(hub).look();
  const due = oldestDueSeconds(hub);
  bucket.figures = merge(bucket.figures, { oldest_due: due, oldest_due_max: due });
  const said = processNotes(hub).find<WebSample>(WEB);
  if (!said || said.note.saidAt === bucket.web?.saidAt) return;
  bucket.figures = merge(bucket.figures, ofWeb(said.note, bucket.web));
  bucket.web = said.note;
}

/** The web process's figures since its sample `before`, or since its last restart if the restart came later. */
function ofWeb(now: WebSample, before: WebSample | null): Figures {
  const isSame = before?.startedAt === now.startedAt;
  const answers = ANSWERS.map((name, bound) =>
    [name, (now.answers[bound] ?? 0) - (isSame ? before.answers[bound] ?? 0 : 0)] as const);
  return {
    ...Object.fromEntries(answers), answer_errors: now.errors - (isSame ? before.errors : 0), web_memory: now.memory,
    web_memory_max: now.memoryMax, web_delay_p99: now.delayP99, web_delay_max: now.delayMax, web_busy: now.busy,
  };
}

function closing(hub: Hub): Figures {
  const kept = counts(hub).read();
  const { databaseBytes, freeBytes } = readStorageSizes(hub.config.databasePath);
  const { memory, memoryMax, delayP99, delayMax, busy } = processSample(hub).take();
  return {
    worker_memory: memory, worker_memory_max: memoryMax, worker_delay_p99: delayP99, worker_delay_max: delayMax,
    worker_busy: busy, database_bytes: databaseBytes, free_bytes: freeBytes, uploads_bytes: kept.value('uploads_bytes'),
    cache_bytes: kept.value('attachment_cache_bytes'),
  };
}

function growth(hub: Hub, since: number): Figures {
  const before = baseline(hub);
  if (!before || hasPassed(since, 2 * FINE, hub.clock())) return {};
  const now = readCounters(hub);
  const grown = (Object.keys(now) as Counted[]).map((name) =>
    [name, Math.max(0, now[name] - (before.counters[name] ?? now[name]))] as const);
  return Object.fromEntries(grown);
}

function readCounters(hub: Hub): Record<Counted, number> {
  const kept = counts(hub).read();
  const read = Object.entries(COUNTED).map(([name, [metric, label]]) => [name, total(kept, metric, label)] as const);
  return Object.fromEntries(read) as Record<Counted, number>;
}

/** Unexpected errors in the five-minute buckets that overlap the last `span` ms, including the unfinished bucket. */
export function recentErrors(hub: Hub, span: number): { count: number; since: number | null } {
  const now = hub.clock();
  const ended = history(hub).one(FINE, now - span - FINE, 'errors').filter(({ at, value }) => at <= now && value > 0);
  const before = baseline(hub);
  const open = before ? Math.max(0, readCounters(hub).errors - before.counters.errors) : 0;
  const count = ended.reduce((sum, { value }) => sum + value, open);
  return { count, since: ended[0]?.at ?? (open > 0 ? now - now % FINE : null) };
}

function total(kept: CountsSnapshot, metric: string, label: string | undefined): number {
  if (label !== undefined) return kept.value(metric, label);
  return kept.labels(metric).reduce((sum, one) => sum + kept.value(metric, one), 0);
}

function lastRuns(hub: Hub): BackupRun[] {
  const { lastBackup } = readBackupStatus(hub);
  return [
    ...(lastBackup ? [noted('here', lastBackup)] : []),
    ...readOffsite(hub).flatMap(({ name, last }) => (last ? [noted(name, last)] : [])),
  ];
}

function noted(place: string, run: RunResult | OffsiteRun): BackupRun {
  const { at, ok, bytes, seconds, problem } = run;
  const isDegraded = 'verdict' in run && run.verdict === 'degraded';
  return { place, at, result: ok ? 'good' : isDegraded ? 'degraded' : 'failed', bytes, seconds, problem };
}
