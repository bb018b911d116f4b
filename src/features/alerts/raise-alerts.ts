import { DAY, HOUR, type Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { excerpt } from '../../platform/markup/plain-text.ts';
import type { AlertDeliveryStore } from './alert-delivery-store.ts';
import type { AlertEvent, AlertEventStore } from './alert-event-store.ts';
import { overMessage, troubleMessage, TROUBLES, type Message, type Trouble } from './troubles.ts';

/** Between two messages of one kind. */
export const TELL_EVERY = HOUR;

/** While a state of things lasts it is raised again. */
export const REMIND_EVERY = DAY;

const NAMED = 5; // subjects of one message
const MAX_SUBJECT = 300; // characters

export type RaisingAlerts = ReturnType<typeof raisingAlerts>;

export type RaiseAlertsDeps = {
  db: Db;
  events: AlertEventStore;
  deliveries: AlertDeliveryStore;
  clock: Clock;
  /** Enqueues the job that sends it, in the same transaction; given by app. */
  enqueue(deliveryId: number): void;
};

/**
 * Troubles are noted in the transaction in which they happen, and told by `tell`: one message an hour for each kind,
 * whatever happened meanwhile, and one when what was told is over.
 */
export function raisingAlerts({ db, events, deliveries, clock, enqueue }: RaiseAlertsDeps) {
  function raise(trouble: Trouble, subject: string): void {
    const known = events.find(trouble) ?? untouched(trouble);
    const subjects = withSubject(known.subjects, excerpt(subject, MAX_SUBJECT));
    events.put({ ...known, isOpen: 1, untold: known.untold + 1, subjects, raisedAt: clock() });
  }

  function resolve(trouble: Trouble): void {
    const known = events.find(trouble);
    if (known?.isOpen === 1) events.put({ ...known, isOpen: 0 });
  }

  const isOpen = (trouble: Trouble): boolean => events.find(trouble)?.isOpen === 1;

  function isToBeRaised(trouble: Trouble): boolean {
    const known = events.find(trouble);
    return known?.isOpen !== 1 || hasPassed(known.raisedAt, REMIND_EVERY, clock());
  }

  const raiseIfNew = db.transaction('raise lasting trouble', (trouble: Trouble, subject: string): void => {
    if (isToBeRaised(trouble)) raise(trouble, subject);
  });
  const resolveNow = db.transaction('resolve trouble', resolve);

  function send(trouble: Trouble, message: Message): void {
    enqueue(deliveries.create({ event: trouble, ...message }));
  }

  /** In a transaction. */
  function tellOne(event: Trouble): void {
    const known = events.find(event);
    if (!known || !(event in TROUBLES)) return;
    const now = clock();
    const state = notFromTheFuture(known, now);
    const isOver = state.isOpen === 0;
    const { subjects, untold } = state;
    const told = { untold: 0, subjects: [] };
    if (isOver && state.isTold === 1 && hasPassed(state.overToldAt, TELL_EVERY, now)) {
      send(event, overMessage(event, subjects, untold));
      events.put({ ...state, ...told, isTold: 0, overToldAt: now });
    } else if (untold > 0 && hasPassed(state.toldAt, TELL_EVERY, now)) {
      send(event, troubleMessage(event, subjects, untold, isOver));
      events.put({ ...state, ...told, isTold: isOver ? 0 : 1, toldAt: now });
    } else if (state !== known) {
      events.put(state);
    }
  }

  const tellInTransaction = db.transaction('tell of trouble', tellOne);

  return {
    /** Notes that it happened to `subject`, in the caller's transaction. */
    raise,

    /** Notes that none of the kind lasts any more, in the caller's transaction. */
    resolve,

    /**
     * For a state of things that is looked at from time to time: raised when it begins (`subject` in words) and once a
     * day while it lasts, resolved when it is over (`subject` null).
     */
    watch(trouble: Trouble, subject: string | null): void {
      if (subject === null ? !isOpen(trouble) : !isToBeRaised(trouble)) return; // without asking for the write lock
      if (subject === null) resolveNow(trouble);
      else raiseIfNew(trouble, subject);
    },

    isOpen,

    /** Makes messages of what is not told yet and may be told by now. */
    tell(): void {
      const now = clock();
      for (const event of events.all().filter((one) => hasNews(one, now))) tellInTransaction(event.event);
    },
  };
}

function untouched(event: Trouble): AlertEvent {
  return { event, isOpen: 0, isTold: 0, untold: 0, subjects: [], raisedAt: null, toldAt: null, overToldAt: null };
}

function withSubject(subjects: string[], subject: string): string[] {
  return subjects.length >= NAMED || subjects.includes(subject) ? subjects : [...subjects, subject];
}

function hasNews(event: AlertEvent, now: number): boolean {
  return event.untold > 0 || (event.isOpen === 0 && event.isTold === 1) || notFromTheFuture(event, now) !== event;
}

/** After a clock that was ahead is set right, its times would silence a kind for as long: they become `now`. */
function notFromTheFuture(event: AlertEvent, now: number): AlertEvent {
  const times = [event.raisedAt, event.toldAt, event.overToldAt].map((at) => at ?? 0);
  if (Math.max(...times) <= now) return event;
  const atMostNow = (at: number | null): number | null => at === null ? null : Math.min(at, now);
  return {
    ...event,
    raisedAt: atMostNow(event.raisedAt), toldAt: atMostNow(event.toldAt), overToldAt: atMostNow(event.overToldAt),
  };
}

function hasPassed(since: number | null, duration: number, now: number): boolean {
  return since === null || now - since >= duration;
}
