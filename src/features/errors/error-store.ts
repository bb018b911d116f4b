import { createHash } from 'node:crypto';
import { errorFields } from '../../platform/log.ts';
import { counts, store, type Hub } from '../hub/hub.ts';

const MAX_TEXT = 4_000;

/** The errors of one kind, stored as one row; times in unix ms. */
export type ErrorEvent = {
  id: number;
  program: string;
  message: string; // the message of the latest error of this kind
  stack: string;
  count: number;
  firstAt: number;
  lastAt: number;
};

type NewError = { fingerprint: string; program: string; message: string; stack: string; now: number };
type ErrorPosition = Pick<ErrorEvent, 'lastAt' | 'id'>;

const FROM_THE_TOP: ErrorPosition = { lastAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

export const errorEvents = store(({ db, clock }) => {
  const upsert = db.prepare<[NewError]>('note error event', `
    INSERT INTO error_events (fingerprint, program, message, stack, count, first_at, last_at)
    VALUES (@fingerprint, @program, @message, @stack, 1, @now, @now)
    ON CONFLICT (fingerprint) DO UPDATE SET count = count + 1, message = excluded.message, last_at = excluded.last_at`);
  const selectPage = db.prepare<[number, number, number], ErrorEvent>('error events', `
    SELECT id, program, message, stack, count, first_at AS firstAt, last_at AS lastAt FROM error_events
     WHERE (last_at, id) < (?, ?) ORDER BY last_at DESC, id DESC LIMIT ?`);

  return {
    add: (error: Omit<NewError, 'now'>): void => void upsert.run({ ...error, now: clock() }),

    list: ({ lastAt, id }: ErrorPosition = FROM_THE_TOP, limit: number): ErrorEvent[] =>
      selectPage.all(lastAt, id, limit),
    /** Removes up to `limit` kinds of errors last seen before `before`, oldest first; returns how many kinds. */
    removeBefore: db.prepare<[before: number, limit: number]>('remove old error events', `
      DELETE FROM error_events WHERE fingerprint IN
        (SELECT fingerprint FROM error_events WHERE last_at < ? ORDER BY last_at LIMIT ?)`).change,
    countBefore: db.prepare<[before: number], { n: number }>('count old error events',
      'SELECT COUNT(*) AS n FROM error_events WHERE last_at < ?').count,
  };
});

/** Never throws: if the database cannot be written, the failure is only logged. */
export function noteError(hub: Hub, error: unknown): void {
  const { program } = hub;
  try {
    const description = error instanceof Error ? { name: error.name, message: error.message, stack: error.stack ?? '' }
      : { name: 'not an Error', message: String(error), stack: '' };
    const [message, stack] = [description.message.slice(0, MAX_TEXT), description.stack.slice(0, MAX_TEXT)];
    hub.db.write('note error event', () => {
      errorEvents(hub).add({ fingerprint: fingerprintOf(program, description), program, message, stack });
      counts(hub).add('error_events_total', program, 1);
    });
  } catch (failure) {
    hub.log.error('error event not stored', errorFields(failure));
  }
}

/** A hash of what tells kinds of errors apart: the message counts without its numbers and quoted names. */
export function fingerprintOf(program: string, { name, message, stack }: Description): string {
  const gist = message.replace(/"[^"]*"|'[^']*'/g, '""').replace(/\d+/g, '0');
  const place = stack.split('\n').find((line) => /^\s+at /.test(line)) ?? '';
  return createHash('sha256').update(`${program}\n${name}\n${gist}\n${place}`).digest('hex');
}

type Description = { name: string; message: string; stack: string };
