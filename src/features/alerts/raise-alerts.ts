import { DAY, hasPassed, HOUR } from '../../platform/clock.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { enqueue, jobs, once, type Hub } from '../hub/hub.ts';
import {
  alertDeliveries, alertEvents, TEST, TEST_MESSAGE,
  unsentAlerts, openAlerts, type AlertEvent, type AlertMessage, type Severity,
} from './alert-store.ts';
import { deliverAlert } from './send-alert.ts';

export const TELL_EVERY = HOUR;
export const REMIND_EVERY = DAY;

const LISTED = 5; // the most lines about problems in a message
const MAX_PROBLEM = 300; // characters

/** `event`: the name of a condition in `health/conditions.ts`. `problem`: the health problem in one line of text. */
type NewAlert = { event: string; source: { id: number; title: string } | null; problem: string };

/** `title` says that the problem exists, `over` that it has ended. */
export type AlertWords = { title: string; over: string; severity: Severity; whatToDo: string };

/** Stores the alert in the caller's transaction; `tellAlerts` makes the messages. */
export function raiseAlert(hub: Hub, { event, source, problem }: NewAlert): void {
  const line = source ? `“${source.title}” (${hub.config.baseUrl}${addressEnd(source.id)} ${problem}` : problem;
  logAlert(hub, event, line);
  noteRaised(hub, event, line);
}

function addressEnd(sourceId: number): string {
  return `/sources/${sourceId}):`;
}

/** Removes, in the caller's transaction, texts about a source from alerts: the source's title may name a person. */
export function forgetSourceAlerts(hub: Hub, sourceId: number): void {
  for (const storeOf of [alertEvents, alertDeliveries, unsentAlerts]) {
    storeOf(hub).replaceLines(addressEnd(sourceId), 'A source that has been deleted had the problem of this alert.');
  }
}

/** For each condition, what had a problem when this process last checked it. */
const lookedAt = once(() => new Map<string, ReadonlySet<string>>());

/**
 * Alerts when the problem begins, once a day, for a subject that this process did not see at its last check, and once a
 * receiver is configured. Without `problems`, the alert ends.
 */
export function watchAlert(hub: Hub, event: string, problems: ReadonlyMap<string, string>): void {
  const before = lookedAt(hub).get(event);
  const added = [...problems].filter(([thing]) => !before?.has(thing)).map(([, problem]) => problem);
  lookedAt(hub).set(event, new Set(problems.keys()));
  for (const problem of added) logAlert(hub, event, problem);
  if (problems.size === 0) return resolveAlert(hub, event);
  if (!(isToBeRaised(hub, event) || (before && added.length > 0))) return;
  hub.db.write('raise lasting alert', () => {
    const lines = isToBeRaised(hub, event) ? [...problems.values()].join(' ') : added.join(' ');
    if (lines !== '') noteRaised(hub, event, lines);
  });
}

/** Takes the write lock only if the alert is open. */
export function resolveAlert(hub: Hub, event: string): void {
  if (!isAlertOpen(hub, event)) return;
  hub.db.write('resolve alert', () => {
    const known = alertEvents(hub).find(event);
    if (known?.isOpen === 1) alertEvents(hub).put({ ...known, isOpen: 0 });
  });
}

export function isAlertOpen(hub: Hub, event: string): boolean {
  return openAlerts(hub).get(event) !== undefined;
}

/**
 * Makes a message for each alert that has changed, unless its last message is less than an hour old. It is sent to the
 * receiver, or only stored if there is none, or was none when the alert was last raised. `words`: texts by condition.
 */
export function tellAlerts(hub: Hub, words: ReadonlyMap<string, AlertWords>): void {
  alertEvents(hub).bringBackTimes();
  for (const { event, untold, isOpen, isTold } of alertEvents(hub).all()) {
    const said = words.get(event);
    const hasNews = untold > 0 || (isOpen === 0 && isTold === 1);
    if (said && hasNews) hub.db.write('tell alert', () => tellOne(hub, event, said));
  }
}

/** Sends a test alert, or tries a pending one again now. Throws 409 without a receiver. */
export function sendTestAlert(hub: Hub): void {
  if (!hasReceiver(hub)) throw new HttpError(409, 'There is no receiver for alerts: ALERT_WEBHOOK_URL is not set.');
  hub.db.write('send test alert', () => {
    const pending = alertDeliveries(hub).pending().find(({ event }) => event === TEST);
    if (pending) jobs(hub).hurry(deliverAlert.name, String(pending.id));
    else send(hub, TEST, TEST_MESSAGE);
  });
}

function hasReceiver({ config }: Hub): boolean {
  return config.alertWebhookUrl !== null;
}

function logAlert({ log }: Hub, event: string, problem: string): void {
  log.warn('trouble', { trouble: event, subject: problem });
}

function noteRaised(hub: Hub, event: string, line: string): void {
  const last = alertEvents(hub).find(event);
  // What was gathered without a receiver is never sent, and does not make the first message wait.
  const known: Omit<AlertEvent, 'isOpen' | 'isUnsent' | 'raisedAt'> = last && !hasNewReceiver(hub, last) ? last :
    { event, isTold: 0, untold: 0, subjects: [], toldAt: null, overToldAt: null };
  const problem = excerpt(line, MAX_PROBLEM);
  const isAdded = known.subjects.length < LISTED && !known.subjects.includes(problem);
  const subjects = isAdded ? [...known.subjects, problem] : known.subjects;
  const isUnsent = hasReceiver(hub) ? 0 : 1;
  alertEvents(hub).put({ ...known, isOpen: 1, isUnsent, untold: known.untold + 1, subjects, raisedAt: hub.clock() });
}

function isToBeRaised(hub: Hub, event: string): boolean {
  const known = alertEvents(hub).find(event);
  return known?.isOpen !== 1 || hasNewReceiver(hub, known)
    || hasPassed(known.raisedAt ?? -Infinity, REMIND_EVERY, hub.clock());
}

/** Whether the alert was raised without a receiver, and there is one now. */
function hasNewReceiver(hub: Hub, { isUnsent }: AlertEvent): boolean {
  return isUnsent === 1 && hasReceiver(hub);
}

function tellOne(hub: Hub, event: string, words: AlertWords): void {
  const state = alertEvents(hub).find(event);
  if (!state) return;
  const now = hub.clock();
  const lastAt = Math.max(state.toldAt ?? -Infinity, state.overToldAt ?? -Infinity);
  if (!hasPassed(lastAt, TELL_EVERY, now)) return;
  const isOver = state.isOpen === 0;
  const told = { untold: 0, subjects: [] };
  if (isOver && state.isTold === 1) {
    tell(hub, state, messageOfEnd(state, words));
    alertEvents(hub).put({ ...state, ...told, isTold: 0, overToldAt: now });
  } else if (state.untold > 0) {
    tell(hub, state, messageOfProblems(state, words));
    alertEvents(hub).put({ ...state, ...told, isTold: isOver ? 0 : 1, toldAt: now });
  }
}

function messageOfProblems(state: AlertEvent, { title, severity, whatToDo }: AlertWords): AlertMessage {
  const end = state.isOpen === 1 ? whatToDo : 'The problem of this alert has already been resolved.';
  return messageWith(title, severity, state, [...state.subjects, end]);
}

function messageOfEnd(state: AlertEvent, { title, over }: AlertWords): AlertMessage {
  return messageWith(over, 'resolved', state, [`Resolved: ${title}`, ...state.subjects]);
}

function messageWith(title: string, severity: Severity, state: AlertEvent, lines: string[]): AlertMessage {
  return { title, severity, body: lines.join('\n'), suppressed: Math.max(0, state.untold - state.subjects.length) };
}

function tell(hub: Hub, { event, isUnsent }: AlertEvent, message: AlertMessage): void {
  if (isUnsent === 0 && hasReceiver(hub)) send(hub, event, message);
  else unsentAlerts(hub).takeOver(alertDeliveries(hub).create({ event, ...message }));
}

function send(hub: Hub, event: string, message: AlertMessage): void {
  enqueue(hub, deliverAlert, { deliveryId: alertDeliveries(hub).create({ event, ...message }) });
}
