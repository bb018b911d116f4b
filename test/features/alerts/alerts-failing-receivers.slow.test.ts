// Protects alerts and the worker from receivers that refuse, hang or come back late.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { jobs } from '../../../src/features/hub/hub.ts';
import { alertDeliveries, type AlertDelivery } from '../../../src/features/alerts/alert-store.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { tellOperator } from '../../../src/features/health/watch-conditions.ts';
import type { Hub } from '../../support/hub.ts';
import { answering, hubWithReceiver, raise } from '../../support/receiver.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { metric } from '../../support/webhooks.ts';

const SHORT = 400; // ms in which a receiver that hangs does not answer
const LONG = 15 * SECOND;

type Answer = (response: ServerResponse) => void;

const hanging: Answer = () => {};

function onlyDelivery(hub: Hub): AlertDelivery {
  const [delivery, ...others] = alertDeliveries(hub.handle).list({ limit: 10 });
  assert.deepEqual(others, []);
  return delivery ?? assert.fail('there is a delivery');
}

async function deliveryCounts(hub: Hub): Promise<Record<string, number>> {
  const states = ['pending', 'delivered', 'failed'];
  const counts = states.map((state) => metric(hub, `service_alert_deliveries{state="${state}"}`));
  return Object.fromEntries((await Promise.all(counts)).map((count, index) => [states[index], count]));
}

/** `pauses`: seconds between the attempts, in the middle of their spread; 600 s count until backoff asks for more. */
const REFUSALS: { answer: Answer; pauses: number[]; reason: RegExp }[] = [
  { answer: answering(410), pauses: [30, 120, 480, 1920], reason: /answered 410: no$/ },
  { answer: answering(429, { 'retry-after': '600' }), pauses: [630, 630, 630, 1920], reason: /answered 429: no$/ },
];

test('a message that its receiver refuses is tried five times, with growing pauses, and then kept as failed', async (t) => {
  for (const { answer, pauses, reason } of REFUSALS) {
    const { hub, receiver, tell } = await hubWithReceiver(t);
    receiver.answerWith(answer);
    raise(hub, 'sync-failed', 'Owls');
    assert.equal(await tell(), 1);
    const paused: number[] = [];
    for (let { nextAt } = onlyDelivery(hub); nextAt !== null; { nextAt } = onlyDelivery(hub)) {
      assert.ok(paused.length < 10, 'it comes to an end');
      paused.push((nextAt - hub.now()) / SECOND);
      hub.passTime(nextAt - hub.now() - 1);
      assert.equal(await tell(), 0, 'not before its time');
      hub.passTime(1);
      assert.equal(await tell(), 1);
    }

    assert.deepEqual(paused, pauses);
    const { state, attempts, lastError } = onlyDelivery(hub);
    assert.deepEqual([state, attempts, receiver.alerts().length], ['failed', 5, 5]);
    assert.match(lastError ?? '', reason);
    assert.deepEqual(await deliveryCounts(hub), { pending: 0, delivered: 0, failed: 1 });
    hub.passTime(DAY);
    assert.equal(await tell(), 0, 'it is not tried again');
    assert.deepEqual(jobs(hub.handle).list({ state: 'failed' }), [], 'the delivery is what is kept for a person');
  }
});

test('a receiver that hangs is told when it listens again, within five attempts, and keeps no other message back', async (t) => {
  const patience = { 'sync-failed': SHORT, 'backup-failed': LONG };
  const { hub, receiver, tell } = await hubWithReceiver(t, {}, (event) => patience[event as keyof typeof patience]);
  let hung = 0;
  receiver.answerWith((response) => {
    if (receiver.alerts().at(-1)?.event === 'sync-failed') hung++;
    else response.writeHead(200).end('ok');
  });
  raise(hub, 'sync-failed', 'Owls');
  raise(hub, 'backup-failed', 'another');
  await tell();
  assert.equal(hung, 1);
  assert.deepEqual(await deliveryCounts(hub), { pending: 1, delivered: 1, failed: 0 });

  receiver.take();
  patience['sync-failed'] = LONG;
  hub.passTime(MINUTE);
  await tell();
  assert.deepEqual(await deliveryCounts(hub), { pending: 0, delivered: 2, failed: 0 });
});

test('a worker that is stopped while a receiver hangs does not wait for it, and that attempt does not count', async (t) => {
  const { hub, receiver, worker, tell } = await hubWithReceiver(t);
  receiver.answerWith(hanging);
  raise(hub, 'sync-failed', 'Owls');
  tellOperator(hub.handle);
  worker.start();
  await waitUntil('the receiver has been asked', () => receiver.alerts().length === 1);
  const [job] = jobs(hub.handle).list({ state: 'running' });
  await worker.stop(HOUR);

  const { state, attempts } = onlyDelivery(hub);
  assert.deepEqual({ state, attempts }, { state: 'pending', attempts: 0 });
  assert.deepEqual([jobs(hub.handle).find(job?.id ?? 0)?.state, jobs(hub.handle).find(job?.id ?? 0)?.attempts], ['queued', 0]);
  receiver.take();
  await tell();
  assert.deepEqual([onlyDelivery(hub).state, onlyDelivery(hub).attempts], ['delivered', 1]);
});
