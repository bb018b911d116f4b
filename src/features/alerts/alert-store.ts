import { HOUR } from '../../platform/clock.ts';
import { dueTimes } from '../../platform/jobs/job-records.ts';
import { createTimeRepair, type StoredTime } from '../../platform/jobs/scheduler.ts';
import { store } from '../hub/hub.ts';

/** What is known of one kind of trouble; times in unix ms. */
export type AlertEvent = {
  event: Trouble;
  isOpen: number;
  isTold: number;
  untold: number;
  subjects: string[];
  raisedAt: number | null;
  toldAt: number | null;
  overToldAt: number | null;
};

type EventRow = Omit<AlertEvent, 'subjects'> & { subjects: string };

/** Every state of a delivery. */
export const DELIVERY_STATES = ['failed', 'pending', 'delivered'] as const;

export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** A message to the operator's receiver and how its delivery goes; times in unix ms. */
export type AlertDelivery = TroubleMessage & {
  id: number;
  event: string; // a kind of trouble, or one of an older hub
  state: DeliveryState;
  attempts: number;
  createdAt: number;
  nextAt: number | null;
  finishedAt: number | null;
  lastError: string | null;
};

type NewDelivery = TroubleMessage & { event: Trouble | typeof TEST };

/** `before` is the id of the last one of the page before. */
type DeliveryQuery = { state?: DeliveryState | undefined; before?: number | undefined; limit: number };

const EVENT_COLUMNS = `event, is_open AS isOpen, is_told AS isTold, untold, subjects, raised_at AS raisedAt,
  told_at AS toldAt, over_told_at AS overToldAt`;

/** A time that is yet to come would silence its kind of trouble for as long. */
const EVENT_TIMES: StoredTime[] = [
  { table: 'alert_events', column: 'raised_at', furthest: 0 },
  { table: 'alert_events', column: 'told_at', furthest: 0 },
  { table: 'alert_events', column: 'over_told_at', furthest: 0 },
];

/** One row for each kind of trouble that there has been. */
export const alertEvents = store(({ db, clock }) => {
  const select = db.prepare<[string], EventRow>('alert event',
    `SELECT ${EVENT_COLUMNS} FROM alert_events WHERE event = ?`);
  const selectAll = db.prepare<[], EventRow>('alert events', `SELECT ${EVENT_COLUMNS} FROM alert_events`);
  const upsert = db.prepare<[EventRow]>('store alert event', `
    INSERT INTO alert_events (event, is_open, is_told, untold, subjects, raised_at, told_at, over_told_at)
    VALUES (@event, @isOpen, @isTold, @untold, @subjects, @raisedAt, @toldAt, @overToldAt)
    ON CONFLICT DO UPDATE SET is_open = excluded.is_open, is_told = excluded.is_told, untold = excluded.untold,
      subjects = excluded.subjects, raised_at = excluded.raised_at, told_at = excluded.told_at,
      over_told_at = excluded.over_told_at`);

  return {
    find(event: Trouble): AlertEvent | undefined {
      const row = select.get(event);
      return row && toEvent(row);
    },

    all: (): AlertEvent[] => selectAll.all().map(toEvent),

    bringBackTimes: createTimeRepair(db, clock, EVENT_TIMES),
    /** As `forget` of deliveries, of what is not told yet. */
    forget(words: string, instead: string): void {
      for (const { subjects, ...row } of selectAll.all().map(toEvent)) {
        if (!subjects.some((subject) => subject.includes(words))) continue;
        upsert.run({ ...row, subjects: JSON.stringify(without(subjects, words, instead)) });
      }
    },
    put: ({ subjects, ...row }: AlertEvent): void => void upsert.run({ ...row, subjects: JSON.stringify(subjects) }),
  };
});

function toEvent({ subjects, ...row }: EventRow): AlertEvent {
  return { ...row, subjects: JSON.parse(subjects) as string[] };
}

function without(lines: string[], words: string, instead: string): string[] {
  return lines.map((line) => (line.includes(words) ? instead : line));
}

const DELIVERY_COLUMNS = `id, event, severity, title, body, suppressed, state, attempts, created_at AS createdAt,
  next_at AS nextAt, finished_at AS finishedAt, last_error AS lastError`;

/** The name of the jobs that deliver a message. */
export const DELIVER_ALERT = 'deliver-alert';

/** No delivery is put off for longer than this, after a failure or by a Retry-After. */
const LONGEST_PAUSE = 2 * HOUR;

/** The messages that were made of troubles. */
export const alertDeliveries = store(({ db, clock }) => {
  const insert = db.prepare<[NewDelivery & { now: number }], { id: number }>('create alert delivery', `
    INSERT INTO alert_deliveries (event, severity, title, body, suppressed, created_at, next_at)
    VALUES (@event, @severity, @title, @body, @suppressed, @now, @now) RETURNING id`);
  const select = db.prepare<[number], AlertDelivery>('alert delivery',
    `SELECT ${DELIVERY_COLUMNS} FROM alert_deliveries WHERE id = ?`);
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
  const selectPending = db.prepare<[], AlertDelivery>('pending alert deliveries',
    `SELECT ${DELIVERY_COLUMNS} FROM alert_deliveries WHERE state = 'pending'`);
  const prune = db.prepare<[string, number, number]>('remove old alert deliveries', `
    DELETE FROM alert_deliveries WHERE id IN
      (SELECT id FROM alert_deliveries WHERE state = ? AND finished_at < ? LIMIT ?)`);

  return {
    bringBackTimes: createTimeRepair(db, clock, [dueTimes(LONGEST_PAUSE, DELIVER_ALERT)]),

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
    /** Says something else instead of every line with those words. In the caller's transaction. */
    forget(words: string, instead: string): void {
      for (const { id, body } of selectNaming.all(words)) {
        rewrite.run(without(body.split('\n'), words, instead).join('\n'), id);
      }
    },
    /** Those that are yet to be sent: a few for each kind of trouble. */
    pending: (): AlertDelivery[] => selectPending.all(),
    /** Removes up to `limit` that ended so before `before` (unix ms). Returns how many. */
    prune: (state: DeliveryState, before: number, limit: number): number => prune.run(state, before, limit).changes,
  };
});

export type Severity = 'error' | 'warning' | 'info' | 'resolved';

/** A kind of trouble in words: when it happened, and when it is over. */
type Words = { title: string; severity: Severity; over: string };

/** Every kind that is told. Each is told of once an hour at most, however many things are in that trouble. */
export const TROUBLES = {
  'sync-failed': {
    title: 'Sources cannot be synchronised', severity: 'error', over: 'All sources are synchronised again',
  },
  'webhook-silent': {
    title: 'No events from webhooks for more than 7 days', severity: 'warning', over: 'No webhook is silent any more',
  },
  'worker-silent': {
    title: 'The hub’s worker is not running', severity: 'error', over: 'The hub’s worker is running again',
  },
  'backup-failed': { title: 'A backup failed', severity: 'error', over: 'Backups succeed again' },
  'backup-degraded': {
    title: 'A backup is degraded: the hub has lost data', severity: 'error', over: 'Backups are complete again',
  },
  'backup-stale': {
    title: 'There is no recent verified backup', severity: 'error', over: 'There is a recent verified backup again',
  },
  'backup-offsite-failed': {
    title: 'Off-site copies fail', severity: 'error', over: 'Off-site copies succeed again',
  },
  'backup-offsite-stale': {
    title: 'There is no recent off-site copy', severity: 'error', over: 'There are recent off-site copies again',
  },
  'backup-verify-failed': {
    title: 'A backup failed its verification', severity: 'error', over: 'No backup on this machine is damaged any more',
  },
  'space-low': {
    title: 'The hub’s disk is nearly full', severity: 'error', over: 'The hub’s disk has enough space again',
  },
  'scanner-silent': {
    title: 'The virus scanner does not answer', severity: 'error', over: 'The virus scanner answers again',
  },
  'disk-full': {
    title: 'The hub’s disk is full: members can store nothing', severity: 'error',
    over: 'There is room on the hub’s disk again: members can write',
  },
  'certificate-ending': {
    title: 'The certificate of the hub’s address ends soon', severity: 'error', over: 'The certificate was renewed',
  },
  'error-burst': { title: 'Many unexpected errors', severity: 'error', over: 'Unexpected errors are rare again' },
} satisfies Record<string, Words>;

export type Trouble = keyof typeof TROUBLES;

/** What one message says; `suppressed` more of the kind it does not name. */
export type TroubleMessage = { title: string; body: string; severity: Severity; suppressed: number };

/** The `event` of messages that tell of no trouble. */
export const TEST = 'test';

/** What is sent to see whether it arrives. */
export const TEST_MESSAGE: TroubleMessage = {
  title: 'Test alert', body: 'This hub’s operator sent this message to test alert delivery.', severity: 'info',
  suppressed: 0,
};

/** Of a trouble that happened `untold` times, `subjects` among them; `isOver` where it has passed already. */
export function troubleMessage(trouble: Trouble, subjects: string[], untold: number, isOver: boolean): TroubleMessage {
  const { title, severity } = TROUBLES[trouble];
  const lines = isOver ? [...subjects, 'This has already been resolved.'] : subjects;
  return message(title, severity, lines, untold - subjects.length);
}

/** That a trouble is over; it may have come back `untold` times in between. */
export function overMessage(trouble: Trouble, subjects: string[], untold: number): TroubleMessage {
  const { title, over } = TROUBLES[trouble];
  return message(over, 'resolved', [`Resolved: ${title}`, ...subjects], untold - subjects.length);
}

function message(title: string, severity: Severity, lines: string[], unnamed: number): TroubleMessage {
  return { title, body: lines.join('\n'), severity, suppressed: Math.max(0, unnamed) };
}
