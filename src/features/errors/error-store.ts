import { createHash } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { errorFields, type Log } from '../../platform/log.ts';

const MAX_TEXT = 4_000;

/** Errors of one kind; times in unix ms. */
export type ErrorEvent = {
  id: number;
  program: string;
  message: string; // of the latest one
  stack: string;
  count: number;
  firstAt: number;
  lastAt: number;
};

export type ErrorPosition = Pick<ErrorEvent, 'lastAt' | 'id'>;

export type ErrorStore = ReturnType<typeof createErrorStore>;

const FROM_THE_TOP: ErrorPosition = { lastAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

/**
 * Notes what went wrong unexpectedly: one row per fingerprint, with a count and the first and last time. Never
 * throws; when the database cannot be written, the log line is all there is.
 */
export function createErrorStore(db: Db, clock: Clock, program: string, log: Log) {
  const upsert = db.prepare<[string, string, string, string, number, number]>('note error event', `
    INSERT INTO error_events (fingerprint, program, message, stack, count, first_at, last_at)
    VALUES (?, ?, ?, ?, 1, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + 1, message = excluded.message, last_at = excluded.last_at`);
  const count = db.prepare<[string]>('count error event', `
    INSERT INTO counts (metric, label, value) VALUES ('error_events_total', ?, 1)
    ON CONFLICT DO UPDATE SET value = value + 1`);

  const selectPage = db.prepare<[number, number, number], ErrorEvent>('error events', `
    SELECT rowid AS id, program, message, stack, count, first_at AS firstAt, last_at AS lastAt FROM error_events
     WHERE (last_at, rowid) < (?, ?) ORDER BY last_at DESC, rowid DESC LIMIT ?`);
  const removeBefore = db.prepare<[number, number]>('remove old error events', `
    DELETE FROM error_events WHERE fingerprint IN
      (SELECT fingerprint FROM error_events WHERE last_at < ? ORDER BY last_at LIMIT ?)`);
  const countBefore = db.prepare<[number], { n: number }>('count old error events',
    'SELECT COUNT(*) AS n FROM error_events WHERE last_at < ?');

  const store = db.transaction('note error event', (fingerprint: string, message: string, stack: string) => {
    const now = clock();
    upsert.run(fingerprint, program, message, stack, now, now);
    count.run(program);
  });

  function note(error: unknown): void {
    try {
      const description = describe(error);
      const { message, stack } = description;
      store(fingerprintOf(program, description), message.slice(0, MAX_TEXT), stack.slice(0, MAX_TEXT));
    } catch (failure) {
      log.error('error event not stored', errorFields(failure));
    }
  }

  return {
    note,

    /** Last seen first; the page begins after that one. */
    list: ({ lastAt, id }: ErrorPosition = FROM_THE_TOP, limit: number): ErrorEvent[] =>
      selectPage.all(lastAt, id, limit),
    /** Up to `limit` that were last seen before that (unix ms), oldest first; returns how many. */
    removeBefore: (before: number, limit: number): number => removeBefore.run(before, limit).changes,
    countBefore: (before: number): number => countBefore.get(before)?.n ?? 0,
  };
}

/** The same for the same kind of error at the same place in the code, whatever ids or names its message mentions. */
export function fingerprintOf(program: string, { name, message, stack }: Description): string {
  const gist = message.replace(/"[^"]*"|'[^']*'/g, '""').replace(/\d+/g, '0');
  const place = stack.split('\n').find((line) => /^\s+at /.test(line)) ?? '';
  return createHash('sha256').update(`${program}\n${name}\n${gist}\n${place}`).digest('hex');
}

type Description = { name: string; message: string; stack: string };

function describe(error: unknown): Description {
  if (error instanceof Error) return { name: error.name, message: error.message, stack: error.stack ?? '' };
  return { name: 'not an Error', message: String(error), stack: '' };
}
