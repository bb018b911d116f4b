import { type Clock, hasPassed, SECOND } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import { errorFields, type Log } from '../log.ts';

/**
 * Recurring work. Two processes may run a task at the same time, so `run` must be idempotent. If `stopping` aborts, a
 * long task ends early and leaves the remaining work to its next run.
 */
export type Task = {
  name: string;
  everyMs: number;
  run(stopping: AbortSignal): void | Promise<void>;
  /** While `isHeld` returns true, the task does not run; an overdue task runs as soon as `isHeld` returns false. */
  isHeld?(): boolean;
};

type SchedulerOptions = { tasks: Task[]; clock: Clock; log: Log; onError: (error: unknown) => void };

/**
 * Runs each task at the start and then at its interval; in one process, runs of a task never overlap. One run makes up
 * for all runs that a restart or a forward jump of the clock has skipped. If the clock jumps back, tasks run at once.
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

  /** Runs the tasks that are due; resolves when these tasks have ended. */
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

    /** Starts no more tasks; resolves when the running tasks have ended. */
    async stop(): Promise<void> {
      clearInterval(timer);
      timer = undefined;
      stopping.abort();
      await Promise.all(running.values());
    },
  };
}

/** Lets a process record that it is alive, and other processes read the time of its last record. */
export function createHeartbeats(db: Db, clock: Clock) {
  const startedAt = clock();
  const write = db.prepare<[string, number, number]>('beat', `
    INSERT INTO heartbeats (program, started_at, seen_at) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET started_at = excluded.started_at, seen_at = excluded.seen_at`);
  const read = db.prepare<[string], { startedAt: number; seenAt: number }>('last beat', `
    SELECT started_at AS startedAt, seen_at AS seenAt FROM heartbeats WHERE program = ?`);

  return {
    beat: (program: string): void => void write.run(program, startedAt, clock()),
    /** When the worker or web process last recorded a heartbeat, unix ms, or null. */
    lastSeen: (program: string): number | null => read.get(program)?.seenAt ?? null,
    /** When the worker or web process was last started, unix ms, or null. */
    lastStarted: (program: string): number | null => read.get(program)?.startedAt ?? null,
  };
}

/**
 * A column of times (unix ms) that the hub never sets further than `furthest` ms into the future. `where`: an SQL
 * condition for the rows to correct. `along`: a column of the same table that is corrected by as many ms as `column`.
 */
export type StoredTime = { table: string; column: string; furthest: number; where?: string; along?: string };

/**
 * Returns a function that repairs times stored while the clock was ahead: once the clock is right, jobs would wait too
 * long for times that lie far in the future. The function sets times that lie too far in the future to now.
 */
export function createTimeRepair(db: Db, clock: Clock, times: StoredTime[]): () => void {
  const repairs = times.map((time) => prepareRepair(db, time));
  return () => {
    const now = clock();
    for (const { furthest, strayed, bringBack } of repairs) {
      const latest = now + furthest;
      if (strayed.get(latest)) bringBack.run({ now, latest }); // takes the write lock only if a row needs repair
    }
  };
}

function prepareRepair(db: Db, { table, column, furthest, where = 'TRUE', along }: StoredTime) {
  const also = along === undefined ? '' : `${along} = ${along} - ${column} + @now, `;
  return {
    furthest,
    strayed: db.prepare<[number], object>(`strayed ${column}`, `
      SELECT 1 FROM ${table} WHERE ${column} > ? AND ${where} LIMIT 1`),
    bringBack: db.prepare<[{ now: number; latest: number }]>(`bring back ${column}`, `
      UPDATE ${table} SET ${also}${column} = @now WHERE ${column} > @latest AND ${where}`),
  };
}
