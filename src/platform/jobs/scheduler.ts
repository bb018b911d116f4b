import { type Clock, hasPassed, SECOND } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import { errorFields, type Log } from '../log.ts';

/** Two processes may run a task at once, so `run` must be idempotent. A long task ends early if `stopping` aborts. */
export type Task = {
  name: string;
  everyMs: number;
  run(stopping: AbortSignal): void | Promise<void>;
  /** The task does not start while this returns true; if overdue, it starts right afterwards. */
  isHeld?(): boolean;
};

type SchedulerOptions = { tasks: Task[]; clock: Clock; log: Log; onError: (error: unknown) => void };

/**
 * Runs each task at the start and then at its interval. One run makes up for all runs that a restart or a forward jump
 * of the clock has skipped; if the clock jumps back, tasks run at once.
 */
export function createScheduler({ tasks, clock, log, onError }: SchedulerOptions) {
  const lastStarted = new Map<Task, number>();
  const running = new Map<Task, Promise<void>>();
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  function isDue(task: Task): boolean {
    if (running.has(task) || task.isHeld?.()) return false;
    return hasPassed(lastStarted.get(task) ?? -Infinity, task.everyMs, clock());
  }

  async function runTask(task: Task): Promise<void> {
    lastStarted.set(task, clock());
    try {
      await task.run(stopping.signal);
    } catch (error) {
      log.error('scheduled task failed', { task: task.name, ...errorFields(error) });
      onError(error);
    } finally {
      running.delete(task);
    }
  }

  async function tick(): Promise<void> {
    const due = tasks.filter(isDue);
    await Promise.all(due.map((task) => {
      const run = Promise.resolve().then(() => runTask(task));
      running.set(task, run);
      return run;
    }));
  }

  return {
    start(): void {
      const shortest = Math.min(SECOND, ...tasks.map(({ everyMs }) => everyMs));
      timer ??= setInterval(() => void tick(), shortest);
      void tick();
    },

    tick,

    async stop(): Promise<void> {
      clearInterval(timer);
      timer = undefined;
      stopping.abort();
      await Promise.all(running.values());
    },
  };
}

export type SettledTimes = { earliest: number; latest: number };

/**
 * The earlier and the later of what the clock says now and said at least half a minute ago; at first, instead of that,
 * what it said before this process (`before`). What is ended or repaired for good goes by these: a clock that is wrong
 * for seconds, as when a machine boots, does neither.
 */
export function createSettledTimes(clock: Clock, before: number | null): () => SettledTimes {
  let [previous, last] = [before, before];
  return () => {
    const now = clock();
    if (last === null || hasPassed(last, 30 * SECOND, now)) [previous, last] = [last, now];
    return { earliest: Math.min(previous ?? now, now), latest: Math.max(previous ?? now, now) };
  };
}

/** Records that processes are alive. Returned times are unix ms, or null. */
export function createHeartbeats(db: Db, clock: Clock) {
  const startedAt = clock();
  const write = db.prepare<[string, number, number]>('beat', `
    INSERT INTO heartbeats (program, started_at, seen_at) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET started_at = excluded.started_at, seen_at = excluded.seen_at`);
  const read = db.prepare<[string], { startedAt: number; seenAt: number }>('last beat', `
    SELECT started_at AS startedAt, seen_at AS seenAt FROM heartbeats WHERE program = ?`);

  return {
    beat: (program: string): void => void write.run(program, startedAt, clock()),
    lastSeen: (program: string): number | null => read.get(program)?.seenAt ?? null,
    lastStarted: (program: string): number | null => read.get(program)?.startedAt ?? null,
  };
}

/**
 * A column of unix ms. A repair sets a time that is more than `furthest` ms ahead back to now, or to `to` ms from now,
 * and moves the row's column `along` (such as the expiry) back by as much.
 */
export type StoredTime = {
  table: string; column: string; furthest: number; to?: number; where?: string; along?: string;
};

/** Brings back times that were stored while the clock was ahead: what waits for them would wait too long. */
export function createTimeRepair(db: Db, clock: Clock, times: StoredTime[]): (now?: number) => void {
  const repairs = times.map((time) => prepareRepair(db, time));
  return (now = clock()) => {
    for (const { furthest, to, strayed, bringBack } of repairs) {
      const latest = now + furthest;
      if (strayed.get(latest)) bringBack.run({ now: now + to, latest }); // locks only to repair
    }
  };
}

function prepareRepair(db: Db, { table, column, furthest, to = 0, where = 'TRUE', along }: StoredTime) {
  const also = along === undefined ? '' : `${along} = ${along} - ${column} + @now, `;
  return {
    furthest,
    to,
    strayed: db.prepare<[number], object>(`strayed ${column}`, `
      SELECT 1 FROM ${table} WHERE ${column} > ? AND ${where} LIMIT 1`),
    bringBack: db.prepare<[{ now: number; latest: number }]>(`bring back ${column}`, `
      UPDATE ${table} SET ${also}${column} = @now WHERE ${column} > @latest AND ${where}`),
  };
}
