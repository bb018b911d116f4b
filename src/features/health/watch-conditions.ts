import { hasPassed, MINUTE, SECOND, type Clock } from '../../platform/clock.ts';
import { createWorker } from '../../platform/jobs/worker.ts';
import { singleLine } from '../../platform/markup/tidy-text.ts';
import { deliverAlert } from '../alerts/send-alert.ts';
import { resolveAlert, tellAlerts, watchAlert, type AlertWords } from '../alerts/raise-alerts.ts';
import { noteError } from '../errors/error-store.ts';
import { heartbeats, once, type Hub } from '../hub/hub.ts';
import { jobHandlers, workerQueue } from '../hub/worker-jobs.ts';
import { sinceInWords, takeSnapshot, troublesOf, type Condition, type HubSnapshot } from './condition.ts';
import { CONDITIONS, LONGEST_SILENCE } from './conditions.ts';

type AlertingCondition = Condition & Required<Pick<Condition, 'alert'>>;

const ALERTING = CONDITIONS.filter((one): one is AlertingCondition => one.alert !== undefined);

export const ALERT_WORDS: ReadonlyMap<string, AlertWords> = new Map(ALERTING.map(
  ({ name, title, whatToDo, alert: { over, severity = 'error' } }) => [name, { title, over, severity, whatToDo }]));

/** Raises the alerts of the worker's conditions, and ends all but web's. A check that throws stops no other one. */
export function watchConditions(hub: Hub): void {
  const snapshot = takeSnapshot(hub);
  const failures: unknown[] = [];
  for (const condition of ALERTING) {
    try {
      watchCondition(condition, snapshot);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

function watchCondition(condition: AlertingCondition, snapshot: HubSnapshot): void {
  const { name, alert: { raisedBy = 'worker', lasts } } = condition;
  if (raisedBy === 'web') return; // see `watchWorker`
  if (raisedBy === 'worker') return watchAlert(snapshot.hub, name, problemLines(condition, snapshot));
  const isOver = lasts ? !lasts(snapshot) : problemLines(condition, snapshot).size === 0;
  if (isOver) resolveAlert(snapshot.hub, name);
}

function problemLines(condition: Condition, snapshot: HubSnapshot): Map<string, string> {
  return new Map(troublesOf(condition, snapshot).filter(({ isQuiet }) => !isQuiet)
    .map(({ subject, problem, since }) => [subject, singleLine(`${problem} ${sinceInWords(since)}`)]));
}

export function tellOperator(hub: Hub): void {
  tellAlerts(hub, ALERT_WORDS);
}

/** If the time between two checks is longer than this or negative, the clock was set or the machine slept. */
const LONGEST_GAP = MINUTE;

/** When the web process stops delivering alerts, it waits at most this long for an alert that is on its way. */
const GRACE = 2 * SECOND;

const watches = once((hub: Hub) => {
  const { db, clock, log } = hub;
  const [queue, handlers] = [workerQueue(hub), jobHandlers(hub, [deliverAlert])];
  const deliverer = createWorker({ db, queue, handlers, clock, log, onError: (error) => noteError(hub, error) });
  return { isStill: noticingStillness(clock), deliverer, isDelivering: false };
});

/** If the worker has been silent for LONGEST_SILENCE, the web process raises `worker-silent` and delivers alerts. */
export async function watchWorker(hub: Hub): Promise<void> {
  const seenAt = heartbeats(hub).lastSeen('worker');
  const isSilent = watches(hub).isStill(seenAt);
  const snapshot = { ...takeSnapshot(hub), worker: () => ({ ok: !isSilent, seenAt, lastSeenSeconds: null }) };
  for (const condition of ALERTING.filter(({ alert }) => alert.raisedBy === 'web')) {
    watchAlert(hub, condition.name, problemLines(condition, snapshot));
  }
  if (isSilent) tellOperator(hub);
  await deliverWhile(hub, isSilent && hub.config.alertWebhookUrl !== null);
}

/** In the web process; waits at most GRACE for an alert that is on its way. */
export async function stopDeliveringAlerts(hub: Hub): Promise<void> {
  await deliverWhile(hub, false);
}

async function deliverWhile(hub: Hub, isNeeded: boolean): Promise<void> {
  const watch = watches(hub);
  if (isNeeded === watch.isDelivering) return;
  watch.isDelivering = isNeeded;
  const event = isNeeded ? 'web delivers alerts while the worker is silent' : 'the worker delivers alerts again';
  hub.log.info(event, { kind: deliverAlert.name });
  if (isNeeded) watch.deliverer.start();
  else await watch.deliverer.stop(GRACE);
}

/** Whether a value has stayed the same for LONGEST_SILENCE; begins anew if the clock was set or the machine slept. */
function noticingStillness(clock: Clock): (value: number | null) => boolean {
  let last = { value: null as number | null, at: -Infinity };
  let since = 0;
  return (value) => {
    const now = clock();
    const isRegular = !hasPassed(last.at, LONGEST_GAP, now);
    if (!isRegular || value !== last.value) since = now;
    last = { value, at: now };
    return hasPassed(since, LONGEST_SILENCE, now);
  };
}
