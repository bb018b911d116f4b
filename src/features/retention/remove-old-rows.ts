import { DAY, MINUTE, SECOND, type Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import type { PacedWrites } from '../../platform/db/paced-writes.ts';
import type { Log } from '../../platform/log.ts';
import type { Actor, RecordAct } from '../audit/audit.ts';
import type { RetentionRunStore } from './run-store.ts';

/** What is kept for how long. `removeBefore` removes up to `limit` rows older than that and returns how many. */
export type RetentionRule = {
  kind: string;
  keptMs: number; // 0: for ever
  removeBefore(before: number, limit: number): number;
  countBefore(before: number): number;
};

export type Expired = { kind: string; keptMs: number; before: number | null; rows: number };

type Deps = {
  db: Db;
  paced: PacedWrites;
  runs: RetentionRunStore;
  rules: RetentionRule[];
  recordAct: RecordAct;
  actor: Actor;
  clock: Clock;
  log: Log;
};

/** A call works for so long at most, so that a worker which is told to stop need not wait; the next call goes on. */
const SLICE_MS = 4 * SECOND;

export type RemovingOldRows = ReturnType<typeof removingOldRows>;

/** Removes once a day what has been kept long enough. */
export function removingOldRows({ db, paced, runs, rules, recordAct, actor, clock, log }: Deps) {
  const active = rules.filter(({ keptMs }) => keptMs > 0);

  const finish = db.transaction('finish retention', (): void => {
    if (!runs.finish(clock())) return;
    const removed = runs.find()?.removed ?? {};
    if (Object.keys(removed).length === 0) return;
    log.info('old rows removed', removed);
    recordAct('retention.applied', actor, undefined, removed);
  });

  /** Whether a day has passed. A clock that was set back makes no old row safe and no run late. */
  function isDue(): boolean {
    const last = runs.find();
    return !last || clock() - last.startedAt >= DAY || last.startedAt > clock() + MINUTE;
  }

  const isUnderWay = (): boolean => runs.find()?.finishedAt === null;

  function beginOrGoOn(): void {
    if (!isUnderWay()) runs.begin(clock());
  }

  /** False when the time was up before all old rows of the rule were gone. */
  function apply({ kind, keptMs, removeBefore }: RetentionRule, until: number): Promise<boolean> {
    return paced('remove old rows', (limit) => {
      const removed = removeBefore(clock() - keptMs, limit);
      if (removed > 0) runs.note(kind, removed);
      return removed;
    }, () => performance.now() >= until);
  }

  async function work(sliceMs: number): Promise<boolean> {
    const until = performance.now() + sliceMs;
    for (const rule of active) {
      if (!(await apply(rule, until))) return false;
    }
    finish();
    return true;
  }

  return {
    /** Asked often, it goes on with the run that is under way, or begins one once a day. */
    async runDaily(): Promise<void> {
      if (!isUnderWay() && !isDue()) return;
      beginOrGoOn();
      await work(SLICE_MS);
    },

    /** A whole run now, or the rest of the one that is under way: what that has removed stays in its record. */
    async runNow(): Promise<void> {
      beginOrGoOn();
      await work(Infinity);
    },

    /** What a run would remove now. */
    preview: (): Expired[] => rules.map(({ kind, keptMs, countBefore }) => {
      const before = keptMs > 0 ? clock() - keptMs : null;
      return { kind, keptMs, before, rows: before === null ? 0 : countBefore(before) };
    }),
  };
}
