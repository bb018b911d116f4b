import type { ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { alertDeliveries } from '../../src/features/alerts/alert-store.ts';
import { deliver, deliverAlert, receiverOf } from '../../src/features/alerts/send-alert.ts';
import { raiseAlert, watchAlert } from '../../src/features/alerts/raise-alerts.ts';
import { noteError } from '../../src/features/errors/error-store.ts';
import { tellOperator } from '../../src/features/health/watch-conditions.ts';
import type { JobKind } from '../../src/features/hub/hub.ts';
import { jobHandlers, workerQueue } from '../../src/features/hub/worker-jobs.ts';
import { HOUR } from '../../src/platform/clock.ts';
import { createWorker } from '../../src/platform/jobs/worker.ts';
import { startOrigin } from './origin.ts';
import { startHub, type Hub } from './hub.ts';

/** An alert as the plain JSON format has it. */
type ReceivedAlert = { event: string; severity: string; title: string; text: string; suppressed: number };

/** A receiver of alerts, which takes them until a test says otherwise. */
export async function startReceiver(t: TestContext) {
  let answer: (response: ServerResponse) => void = taken;
  const origin = await startOrigin(t, (_request, response) => answer(response));
  return {
    url: `${origin.url}/alerts/SECRET-path?key=SECRET-key`,
    alerts: (): ReceivedAlert[] => origin.requests.map(({ body }) => JSON.parse(body.toString()) as ReceivedAlert),
    /** What it does from now on. */
    answerWith: (next: (response: ServerResponse) => void): void => void (answer = next),
    take: (): void => void (answer = taken),
    close: origin.close,
  };
}

/** What a receiver does that answers with that status. */
export function answering(
  status: number, headers: Record<string, string> = {}, body = 'no',
): (response: ServerResponse) => void {
  return (response) => void response.writeHead(status, headers).end(body);
}

function taken(response: ServerResponse): void {
  response.writeHead(200).end('ok');
}

/** How many ms to wait for the answer to an alert of this event. */
type Patience = (event: string) => number;

/** As the hub's own, but with a patience of the test's. */
function withPatience(patience: Patience): JobKind<{ deliveryId: number }> {
  return {
    ...deliverAlert,
    run(hub, { deliveryId }, signal, job) {
      const receiver = receiverOf(hub);
      const timeoutMs = patience(alertDeliveries(hub).find(deliveryId)?.event ?? '');
      return deliver(hub, deliveryId, receiver && { ...receiver, timeoutMs }, job, signal);
    },
  };
}

/** A hub that tells its troubles to a receiver, which it waits for as long as is usual unless `patience` is given. */
export async function hubWithReceiver(t: TestContext, env: Record<string, string> = {}, patience?: Patience) {
  const receiver = await startReceiver(t);
  const hub = await startHub(t, { ALERT_WEBHOOK_URL: receiver.url, ALERT_WEBHOOK_FORMAT: 'json', ...env });
  const { db, clock, log } = hub.handle;
  const kind = patience ? withPatience(patience) : deliverAlert;
  const handlers = jobHandlers(hub.handle, [kind]);
  const worker = createWorker({
    db, queue: workerQueue(hub.handle), handlers, clock, log, onError: (error) => noteError(hub.handle, error),
  });

  /** Tells and delivers what is due, and looks after nothing else. Returns how many deliveries were tried. */
  function tell(): Promise<number> {
    tellOperator(hub.handle);
    return worker.runDue();
  }

  /** Lets the time pass in steps, telling at each. */
  async function tellFor(ms: number, step: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += step) {
      hub.passTime(Math.min(step, ms - passed));
      await tell();
    }
  }

  /** Tells what is due and uses up its five attempts. */
  async function tellInVain(): Promise<void> {
    for (let attempt = 1; attempt <= 5; attempt++, hub.passTime(HOUR)) await tell();
  }

  return { hub, receiver, worker, tell, tellFor, tellInVain };
}

/** As something in the hub does it: in a transaction. */
export function raise(hub: Hub, event: string, problem: string): void {
  hub.db.transaction('test', () => raiseAlert(hub.handle, { event, source: null, problem }))();
}

/** As one look at a condition: what is wrong, or null when it is over. */
export function watch(hub: Hub, event: string, problem: string | null): void {
  watchAlert(hub.handle, event, new Map(problem === null ? [] : [['it', problem]]));
}

/** Lets the time pass in steps of the schedule, working at each. */
export async function passTime(hub: Hub, ms: number, step: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    await hub.work(Math.min(step, ms - passed));
  }
}

