import { HOUR } from '../../platform/clock.ts';
import { dueTimes } from '../../platform/jobs/job-records.ts';
import { createTimeRepair } from '../../platform/jobs/scheduler.ts';
import { store, type Hub } from '../hub/hub.ts';

/** The state of the alerts of one condition; times in unix ms. */
export type AlertEvent = {
  event: string; // the name of a condition, possibly a condition that only an older version of the hub had
  isOpen: number;
  isTold: number; // 1: a message said that the problem exists, and none yet that it has ended
  isUnsent: number; // 1: raised without a receiver, so that its messages are stored and never sent
  untold: number; // how often the alert was raised since the last message about the condition
  subjects: string[]; // the first problems since that message, each one line of text
  raisedAt: number | null;
  toldAt: number | null;
  overToldAt: number | null;
};

type EventRow = Omit<AlertEvent, 'subjects'> & { subjects: string };

export const DELIVERY_STATES = ['failed', 'pending', 'delivered'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** `unsent`: stored while no receiver was configured. */
export const ALERT_STATES = [...DELIVERY_STATES, 'unsent'] as const;
export type AlertState = (typeof ALERT_STATES)[number];

/** Times in unix ms. */
export type StoredAlert<State = AlertState> = AlertMessage & {
  id: number;
  event: string; // the name of a condition, possibly of an older version of the hub, or TEST
  state: State;
  attempts: number;
  createdAt: number;
  nextAt: number | null;
  finishedAt: number | null;
  lastError: string | null;
};

export type AlertDelivery = StoredAlert<DeliveryState>;

type NewDelivery = AlertMessage & { event: string };

type AlertQuery<State> = { state?: State | undefined; before?: number | undefined; limit: number };

const EVENT_COLUMNS = `event, is_open AS isOpen, is_told AS isTold, is_unsent AS isUnsent, untold, subjects,
  raised_at AS raisedAt, told_at AS toldAt, over_told_at AS overToldAt`;

/** Also for a database before its migrations, which `hubctl` looks at: the disk's finding asks it. */
export const openAlerts = store(({ db }) => db.prepare<[string], object>('whether an alert is open',
  'SELECT 1 FROM alert_events WHERE event = ? AND is_open = 1'));

export const alertEvents = store(({ db, clock }) => {
  const select = db.prepare<[string], EventRow>('alert event',
    `SELECT ${EVENT_COLUMNS} FROM alert_events WHERE event = ?`);
  const selectAll = db.prepare<[], EventRow>('alert events', `SELECT ${EVENT_COLUMNS} FROM alert_events`);
  const upsert = db.prepare<[EventRow]>('store alert event', `
    INSERT INTO alert_events
      (event, is_open, is_told, is_unsent, untold, subjects, raised_at, told_at, over_told_at)
    VALUES (@event, @isOpen, @isTold, @isUnsent, @untold, @subjects, @raisedAt, @toldAt, @overToldAt)
    ON CONFLICT DO UPDATE SET is_open = excluded.is_open, is_told = excluded.is_told,
      is_unsent = excluded.is_unsent, untold = excluded.untold, subjects = excluded.subjects,
      raised_at = excluded.raised_at, told_at = excluded.told_at,
      over_told_at = excluded.over_told_at`);

  return {
    find(event: string): AlertEvent | undefined {
      const row = select.get(event);
      return row && toEvent(row);
    },

    all: (): AlertEvent[] => selectAll.all().map(toEvent),

    /** A time of an alert in the future would silence the alerts of its condition for long. */
    bringBackTimes: createTimeRepair(db, clock, [
      { table: 'alert_events', column: 'raised_at', furthest: 0 },
      { table: 'alert_events', column: 'told_at', furthest: 0 },
      { table: 'alert_events', column: 'over_told_at', furthest: 0 },
    ]),
    replaceLines(words: string, instead: string): void {
      for (const { subjects, ...row } of selectAll.all().map(toEvent)) {
        if (!subjects.some((subject) => subject.includes(words))) continue;
        upsert.run({ ...row, subjects: JSON.stringify(withReplaced(subjects, words, instead)) });
      }
    },
    put: ({ subjects, ...row }: AlertEvent): void => void upsert.run({ ...row, subjects: JSON.stringify(subjects) }),
  };
});

function toEvent({ subjects, ...row }: EventRow): AlertEvent {
  return { ...row, subjects: JSON.parse(subjects) as string[] };
}

function withReplaced(lines: string[], words: string, instead: string): string[] {
  return lines.map((line) => (line.includes(words) ? instead : line));
}

const DELIVERY_COLUMNS = `id, event, severity, title, body, suppressed, state, attempts, created_at AS createdAt,
  next_at AS nextAt, finished_at AS finishedAt, last_error AS lastError`;

const UNSENT_COLUMNS = `id, event, severity, title, body, suppressed, 'unsent' AS state, 0 AS attempts,
  created_at AS createdAt, NULL AS nextAt, NULL AS finishedAt, NULL AS lastError`;

export const DELIVER_ALERT = 'deliver-alert';

/** After a failure or a Retry-After, the next attempt to deliver waits at most this time. */
const LONGEST_PAUSE = 2 * HOUR;

export const alertDeliveries = store(({ db, clock }) => {
  const insert = db.prepare<[NewDelivery & { now: number }]>('create alert delivery', `
    INSERT INTO alert_deliveries (event, severity, title, body, suppressed, created_at, next_at)
    VALUES (@event, @severity, @title, @body, @suppressed, @now, @now)`);
  const selectAll = db.prepare<[number, number], AlertDelivery>('alert deliveries',
    `SELECT ${DELIVERY_COLUMNS} FROM alert_deliveries WHERE id < ? ORDER BY id DESC LIMIT ?`);
  const selectState = db.prepare<[string, number, number], AlertDelivery>('alert deliveries by state',
    `SELECT ${DELIVERY_COLUMNS} FROM alert_deliveries WHERE state = ? AND id < ? ORDER BY id DESC LIMIT ?`);
  const finish = db.prepare<[string, number, number, string | null, number]>('finish alert delivery', `
    UPDATE alert_deliveries SET state = ?, attempts = ?, finished_at = ?, next_at = NULL, last_error = ?
     WHERE id = ? AND state = 'pending'`);
  const retry = db.prepare<[number, number, string, number]>('retry alert delivery', `
    UPDATE alert_deliveries SET attempts = ?, next_at = ?, last_error = ? WHERE id = ? AND state = 'pending'`);
  const selectNaming = db.prepare<[string], { id: number; body: string }>('alert deliveries naming',
    'SELECT id, body FROM alert_deliveries WHERE instr(body, ?) > 0');
  const rewrite = db.prepare<[string, number]>('rewrite alert delivery',
    'UPDATE alert_deliveries SET body = ? WHERE id = ?');

  return {
    bringBackTimes: createTimeRepair(db, clock, [dueTimes(LONGEST_PAUSE, DELIVER_ALERT)]),

    create: (delivery: NewDelivery): number => insert.run({ ...delivery, now: clock() }).lastInsertRowid,

    find: db.prepare<[id: number], AlertDelivery>('alert delivery',
      `SELECT ${DELIVERY_COLUMNS} FROM alert_deliveries WHERE id = ?`).get,

    list({ state, before = Number.MAX_SAFE_INTEGER, limit }: AlertQuery<DeliveryState>): AlertDelivery[] {
      return state ? selectState.all(state, before, limit) : selectAll.all(before, limit);
    },

    markDelivered: (id: number, attempts: number): void => void finish.run('delivered', attempts, clock(), null, id),
    markFailed: (id: number, attempts: number, error: string): void =>
      void finish.run('failed', attempts, clock(), error, id),
    markRetrying: (id: number, attempts: number, nextAt: number, error: string): void =>
      void retry.run(attempts, nextAt, error, id),
    replaceLines: replaceIn(selectNaming, rewrite),
    pending: db.prepare<[], AlertDelivery>('pending alert deliveries',
      `SELECT ${DELIVERY_COLUMNS} FROM alert_deliveries WHERE state = 'pending'`).all,
    /** Removes up to `limit` deliveries that ended in `state` before `before` (unix ms). Returns their number. */
    prune: db.prepare<[state: DeliveryState, before: number, limit: number]>('remove old alert deliveries', `
      DELETE FROM alert_deliveries WHERE id IN
        (SELECT id FROM alert_deliveries WHERE state = ? AND finished_at < ? LIMIT ?)`).change,
  };
});

/** Alerts from a time without a receiver. They are shown, and never sent. */
export const unsentAlerts = store(({ db }) => {
  const copy = db.prepare<[number]>('store unsent alert', `
    INSERT INTO unsent_alerts (id, event, severity, title, body, suppressed, created_at)
    SELECT id, event, severity, title, body, suppressed, created_at FROM alert_deliveries WHERE id = ?`);
  const remove = db.prepare<[number]>('take alert out of deliveries', 'DELETE FROM alert_deliveries WHERE id = ?');
  const selectNaming = db.prepare<[string], { id: number; body: string }>('unsent alerts naming',
    'SELECT id, body FROM unsent_alerts WHERE instr(body, ?) > 0');
  const rewrite = db.prepare<[string, number]>('rewrite unsent alert',
    'UPDATE unsent_alerts SET body = ? WHERE id = ?');
  const selectUnsent = db.prepare<[number, number], StoredAlert>('unsent alerts',
    `SELECT ${UNSENT_COLUMNS} FROM unsent_alerts WHERE id < ? ORDER BY id DESC LIMIT ?`);
  const selectAll = db.prepare<[number, number, number], StoredAlert>('alerts', `
    SELECT ${DELIVERY_COLUMNS} FROM alert_deliveries WHERE id < ?
     UNION ALL SELECT ${UNSENT_COLUMNS} FROM unsent_alerts WHERE id < ? ORDER BY id DESC LIMIT ?`);

  return {
    /** In the caller's transaction, makes a delivery that was just created an unsent alert. */
    takeOver(id: number): void {
      copy.run(id);
      remove.run(id);
    },
    replaceLines: replaceIn(selectNaming, rewrite),
    /** The unsent alerts, or without a state these and the deliveries. */
    list: ({ state, before = Number.MAX_SAFE_INTEGER, limit }: AlertQuery<'unsent'>): StoredAlert[] =>
      state ? selectUnsent.all(before, limit) : selectAll.all(before, before, limit),
    prune: db.prepare<[before: number, limit: number]>('remove old unsent alerts', `
      DELETE FROM unsent_alerts WHERE id IN (SELECT id FROM unsent_alerts WHERE created_at < ? LIMIT ?)`).change,
  };
});

/** Lists alerts, newest first: of one state or all, with those that were never sent. */
export function storedAlerts(hub: Hub, { state, ...rest }: AlertQuery<AlertState>): StoredAlert[] {
  if (state === undefined || state === 'unsent') return unsentAlerts(hub).list({ state, ...rest });
  return alertDeliveries(hub).list({ state, ...rest });
}

type Naming = { all(words: string): { id: number; body: string }[] };

function replaceIn(naming: Naming, rewrite: { run(body: string, id: number): unknown }) {
  return (words: string, instead: string): void => {
    for (const { id, body } of naming.all(words)) {
      rewrite.run(withReplaced(body.split('\n'), words, instead).join('\n'), id);
    }
  };
}

export type Severity = 'error' | 'warning' | 'info' | 'resolved';

/** `suppressed`: how many times the alert was raised besides the problems that `body` names. */
export type AlertMessage = { title: string; body: string; severity: Severity; suppressed: number };

/** The `event` of test alerts. */
export const TEST = 'test';

export const TEST_MESSAGE: AlertMessage = {
  title: 'Test alert', body: 'This hub’s operator sent this message to test whether alerts arrive.', severity: 'info',
  suppressed: 0,
};
