import { store } from '../hub/hub.ts';
import type { Severity } from './alert.ts';

export type DeliveryState = 'pending' | 'delivered' | 'failed';

/** A message to the operator's receiver and how its delivery goes; times in unix ms. */
export type AlertDelivery = {
  id: number;
  event: string;
  severity: Severity;
  title: string;
  body: string;
  suppressed: number;
  state: DeliveryState;
  attempts: number;
  createdAt: number;
  nextAt: number | null;
  finishedAt: number | null;
  lastError: string | null;
};

export type NewDelivery = Pick<AlertDelivery, 'event' | 'severity' | 'title' | 'body' | 'suppressed'>;

/** `before` is the id of the last one of the page before. */
export type DeliveryQuery = { state?: DeliveryState; before?: number; limit: number };

export type AlertDeliveryStore = ReturnType<typeof alertDeliveries>;

const COLUMNS = `id, event, severity, title, body, suppressed, state, attempts, created_at AS createdAt,
  next_at AS nextAt, finished_at AS finishedAt, last_error AS lastError`;

/** The messages that were made of troubles. */
export const alertDeliveries = store(({ db, clock }) => {
  const insert = db.prepare<[NewDelivery & { now: number }], { id: number }>('create alert delivery', `
    INSERT INTO alert_deliveries (event, severity, title, body, suppressed, created_at, next_at)
    VALUES (@event, @severity, @title, @body, @suppressed, @now, @now) RETURNING id`);
  const select = db.prepare<[number], AlertDelivery>('alert delivery',
    `SELECT ${COLUMNS} FROM alert_deliveries WHERE id = ?`);
  const selectAll = db.prepare<[number, number], AlertDelivery>('alert deliveries',
    `SELECT ${COLUMNS} FROM alert_deliveries WHERE id < ? ORDER BY id DESC LIMIT ?`);
  const selectState = db.prepare<[string, number, number], AlertDelivery>('alert deliveries by state',
    `SELECT ${COLUMNS} FROM alert_deliveries WHERE state = ? AND id < ? ORDER BY id DESC LIMIT ?`);
  const finish = db.prepare<[string, number, number, string | null, number]>('finish alert delivery', `
    UPDATE alert_deliveries SET state = ?, attempts = ?, finished_at = ?, next_at = NULL, last_error = ?
     WHERE id = ? AND state = 'pending'`);
  const retry = db.prepare<[number, number, string, number]>('retry alert delivery', `
    UPDATE alert_deliveries SET attempts = ?, next_at = ?, last_error = ? WHERE id = ? AND state = 'pending'`);
  const failAbandoned = db.prepare<[number, string]>('fail abandoned alert deliveries', `
    UPDATE alert_deliveries
       SET state = 'failed', finished_at = ?, next_at = NULL, last_error = 'it was given up: its job is gone'
     WHERE state = 'pending' AND NOT EXISTS
       (SELECT 1 FROM jobs WHERE kind = ? AND dedupe_key = CAST(alert_deliveries.id AS TEXT)
           AND state IN ('queued', 'retrying', 'running'))`);
  const prune = db.prepare<[string, number, number]>('remove old alert deliveries', `
    DELETE FROM alert_deliveries WHERE id IN
      (SELECT id FROM alert_deliveries WHERE state = ? AND finished_at < ? LIMIT ?)`);

  return {
    create(delivery: NewDelivery): number {
      const row = insert.get({ ...delivery, now: clock() });
      if (!row) throw new Error('alert delivery was not created');
      return row.id;
    },

    find: (id: number): AlertDelivery | undefined => select.get(id),

    /** The newest first. */
    list({ state, before = Number.MAX_SAFE_INTEGER, limit }: DeliveryQuery): AlertDelivery[] {
      return state ? selectState.all(state, before, limit) : selectAll.all(before, limit);
    },

    /** After `attempts` attempts. */
    markDelivered: (id: number, attempts: number): void => void finish.run('delivered', attempts, clock(), null, id),
    markFailed: (id: number, attempts: number, error: string): void =>
      void finish.run('failed', attempts, clock(), error, id),
    markRetrying: (id: number, attempts: number, nextAt: number, error: string): void =>
      void retry.run(attempts, nextAt, error, id),

    /** Those whose job, of that kind and with their id as its key, was discarded by somebody. */
    failAbandoned: (jobKind: string): number => failAbandoned.run(clock(), jobKind).changes,

    /** Removes up to `limit` that ended so before `before` (unix ms). Returns how many. */
    prune: (state: DeliveryState, before: number, limit: number): number => prune.run(state, before, limit).changes,
  };
});
