import { DAY, hasPassed, HOUR } from '../../platform/clock.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { HttpError } from '../../platform/http/reply.ts';
import { enqueue, once, type Hub } from '../hub/hub.ts';
import {
  alertDeliveries, alertEvents, overMessage, TEST, TEST_MESSAGE, troubleMessage, TROUBLES, type AlertEvent,
  type Trouble, type TroubleMessage,
} from './alert-store.ts';
import { deliverAlert } from './deliver-alert.ts';

/** Between two messages of one kind. */
export const TELL_EVERY = HOUR;

/** While a trouble lasts it is raised again. */
export const REMIND_EVERY = DAY;

const NAMED = 5; // subjects of one message
const MAX_SUBJECT = 300; // characters

/** The lasting troubles that this process has logged, so that each is logged once. */
const logged = once(() => new Set<Trouble>());

/**
 * Notes that a trouble happened to `subject` (one line), in the caller's transaction. It is logged at once; the
 * operator's receiver, where there is one, is sent one message an hour for each kind.
 */
export function raiseAlert(hub: Hub, trouble: Trouble, subject: string): void {
  logTrouble(hub, trouble, subject);
  if (hasReceiver(hub)) noteRaised(hub, trouble, subject);
}

/** `raiseAlert` of a source; `problem` says what is wrong with it. */
export function raiseSourceAlert(
  hub: Hub, trouble: Trouble, source: { id: number; title: string }, problem: string,
): void {
  raiseAlert(hub, trouble, `“${source.title}” (${hub.config.baseUrl}/sources/${source.id}): ${problem}`);
}

/** What was said of a source goes with it: its title may name somebody. In the caller's transaction. */
export function forgetSourceAlerts(hub: Hub, sourceId: number): void {
  for (const storeOf of [alertEvents, alertDeliveries]) {
    storeOf(hub).forget(`/sources/${sourceId})`, 'A source that has been deleted.');
  }
}

/**
 * For a trouble that lasts and is looked for from time to time: `subject` in words while it lasts, null when it does
 * not. It is raised when it begins and once a day until it is over.
 */
export function watchTrouble(hub: Hub, trouble: Trouble, subject: string | null): void {
  if (subject === null) logged(hub).delete(trouble);
  else if (!logged(hub).has(trouble)) logTrouble(hub, trouble, subject);
  if (subject !== null) logged(hub).add(trouble);
  if (!hasReceiver(hub)) return;
  if (subject === null) resolveTrouble(hub, trouble);
  else if (isToBeRaised(hub, trouble)) raiseIfNew(hub, trouble, subject);
}

/** The things that were in that trouble when this process last looked. */
const lookedAt = once(() => new Map<Trouble, ReadonlySet<string>>());

/**
 * `watchTrouble` of several things, each with its subject. One that gets into a trouble that others are in already is
 * raised as well.
 */
export function watchEach(hub: Hub, trouble: Trouble, subjects: ReadonlyMap<string, string>): void {
  const before = lookedAt(hub).get(trouble);
  const isNew = (thing: string): boolean => before !== undefined && before.size > 0 && !before.has(thing);
  const added = [...subjects].filter(([thing]) => isNew(thing));
  watchTrouble(hub, trouble, subjects.size > 0 ? [...subjects.values()].join('; ') : null);
  for (const [, subject] of added) hub.db.write('raise trouble', () => raiseAlert(hub, trouble, subject));
  lookedAt(hub).set(trouble, new Set(subjects.keys()));
}

/** Whether a trouble was raised and is not over yet. Always false where there is no receiver. */
export function isTroubleOpen(hub: Hub, trouble: Trouble): boolean {
  return alertEvents(hub).find(trouble)?.isOpen === 1;
}

/** Makes messages of what is not told yet and may be told by now. */
export function tellTroubles(hub: Hub): void {
  alertEvents(hub).bringBackTimes();
  const news = alertEvents(hub).all().filter(hasNews);
  for (const { event } of news) hub.db.write('tell of trouble', () => tellOne(hub, event));
}

/** Has the operator sent a message that tells of nothing, unless one is on its way. 409 where there is no receiver. */
export function sendTestAlert(hub: Hub): void {
  if (!hasReceiver(hub)) throw new HttpError(409, 'There is no receiver: ALERT_WEBHOOK_URL is not set.');
  hub.db.write('send test alert', () => {
    if (alertDeliveries(hub).pending().some(({ event }) => event === TEST)) return;
    enqueue(hub, deliverAlert, { deliveryId: alertDeliveries(hub).create({ event: TEST, ...TEST_MESSAGE }) });
  });
}

function hasReceiver({ config }: Hub): boolean {
  return config.alertWebhookUrl !== null;
}

function logTrouble({ log }: Hub, trouble: Trouble, subject: string): void {
  log.warn('trouble', { trouble, title: TROUBLES[trouble].title, subject });
}

function noteRaised(hub: Hub, trouble: Trouble, subject: string): void {
  const untouched = { event: trouble, isTold: 0, untold: 0, subjects: [], toldAt: null, overToldAt: null };
  const known = alertEvents(hub).find(trouble) ?? untouched;
  const subjects = withSubject(known.subjects, excerpt(subject, MAX_SUBJECT));
  alertEvents(hub).put({ ...known, isOpen: 1, untold: known.untold + 1, subjects, raisedAt: hub.clock() });
}

function isToBeRaised(hub: Hub, trouble: Trouble): boolean {
  const known = alertEvents(hub).find(trouble);
  return known?.isOpen !== 1 || hasPassed(known.raisedAt ?? -Infinity, REMIND_EVERY, hub.clock());
}

function raiseIfNew(hub: Hub, trouble: Trouble, subject: string): void {
  hub.db.write('raise lasting trouble', () => {
    if (isToBeRaised(hub, trouble)) noteRaised(hub, trouble, subject);
  });
}

/** Asks for the write lock only where there is something to write. */
function resolveTrouble(hub: Hub, trouble: Trouble): void {
  if (!isTroubleOpen(hub, trouble)) return;
  hub.db.write('resolve trouble', () => {
    const known = alertEvents(hub).find(trouble);
    if (known?.isOpen === 1) alertEvents(hub).put({ ...known, isOpen: 0 });
  });
}

/** In a transaction. */
function tellOne(hub: Hub, event: Trouble): void {
  const state = alertEvents(hub).find(event);
  if (!state || !(event in TROUBLES)) return;
  const now = hub.clock();
  const isOver = state.isOpen === 0;
  const { subjects, untold } = state;
  const told = { untold: 0, subjects: [] };
  if (isOver && state.isTold === 1 && hasPassed(state.overToldAt ?? -Infinity, TELL_EVERY, now)) {
    send(hub, event, overMessage(event, subjects, untold));
    alertEvents(hub).put({ ...state, ...told, isTold: 0, overToldAt: now });
  } else if (untold > 0 && hasPassed(state.toldAt ?? -Infinity, TELL_EVERY, now)) {
    send(hub, event, troubleMessage(event, subjects, untold, isOver));
    alertEvents(hub).put({ ...state, ...told, isTold: isOver ? 0 : 1, toldAt: now });
  }
}

function send(hub: Hub, trouble: Trouble, message: TroubleMessage): void {
  enqueue(hub, deliverAlert, { deliveryId: alertDeliveries(hub).create({ event: trouble, ...message }) });
}

function withSubject(subjects: string[], subject: string): string[] {
  return subjects.length >= NAMED || subjects.includes(subject) ? subjects : [...subjects, subject];
}

function hasNews(event: AlertEvent): boolean {
  return event.untold > 0 || (event.isOpen === 0 && event.isTold === 1);
}
