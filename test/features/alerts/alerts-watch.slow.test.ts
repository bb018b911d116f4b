// Protects the operator's notice of a worker that is gone, bad backups, a full disk and many errors.
import assert from 'node:assert/strict';
import { rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { webTasks } from '../../../src/app/schedule.ts';
import { noteError } from '../../../src/features/errors/error-store.ts';
import { stopDeliveringAlerts } from '../../../src/features/health/watch-conditions.ts';
import { noteVerdict } from '../../../src/features/backups/note-run.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { createHeartbeats } from '../../../src/platform/jobs/scheduler.ts';
import { alertDeliveries } from '../../../src/features/alerts/alert-store.ts';
import { isAlertOpen } from '../../../src/features/alerts/raise-alerts.ts';
import type { Hub } from '../../support/hub.ts';
import { hubEnvironment, temporaryDataDir } from '../../support/hub-process.ts';
import { hubctl } from '../../support/hubctl.ts';
import { putDatabase } from '../../support/migrated-database.ts';
import { noteBackup, runOf } from '../../support/noted-backups.ts';
import { hubWithReceiver, passTime, raise, startReceiver } from '../../support/receiver.ts';
import { setCount } from '../../support/stored-rows.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Web's watch over the worker, run by hand, and a worker that beats or does not. */
function watchedWorker(t: TestContext, hub: Hub) {
  const heartbeats = createHeartbeats(hub.db, hub.handle.clock);
  const task = webTasks(hub.handle).find(({ name }) => name === 'watch the worker') ?? assert.fail();
  t.after(() => stopDeliveringAlerts(hub.handle));
  return async (ms: number, beats: boolean): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 10 * SECOND) {
      hub.passTime(10 * SECOND);
      if (beats) heartbeats.beat('worker');
      await task.run(new AbortController().signal);
    }
  };
}

function delivered(hub: Hub): number {
  return alertDeliveries(hub.handle).list({ state: 'delivered', limit: 100 }).length;
}

test('web tells that the worker has not been seen for five minutes, delivers that itself, and tells when it is back', async (t) => {
  const { hub, receiver, tell } = await hubWithReceiver(t);
  const watch = watchedWorker(t, hub);
  await watch(10 * MINUTE, true);
  await watch(5 * MINUTE - 10 * SECOND, false);
  assert.equal(isAlertOpen(hub.handle, 'worker-silent'), false);
  await watch(10 * SECOND, false);
  await waitUntil('web has delivered the alert', () => delivered(hub) === 1);
  assert.equal(receiver.alerts()[0]?.event, 'worker-silent');
  assert.match(receiver.alerts()[0]?.text ?? '', /^The worker is not running: .* Since 2030-01-15 12:10 UTC\./);

  raise(hub, 'backup-failed', 'by somebody else meanwhile');
  await watch(10 * SECOND, false);
  await waitUntil('web delivers what else is to be told', () => delivered(hub) === 2);
  await watch(HOUR, false);
  assert.equal(receiver.alerts().length, 2, 'it is told once');

  await watch(10 * SECOND, true);
  await tell();
  assert.deepEqual(receiver.alerts().map(({ event, severity }) => `${event} ${severity}`),
    ['worker-silent error', 'backup-failed error', 'worker-silent resolved']);
});

test('a worker that has never run is missed too', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t);
  await watchedWorker(t, hub)(5 * MINUTE + 10 * SECOND, false);
  await waitUntil('web has delivered the alert', () => receiver.alerts().length === 1);
  assert.match(receiver.alerts()[0]?.text ?? '', /^The worker is not running: sources are not synchronised\.\n/);
});

test('a clock that jumps by hours or days, forward or back, does not make a living worker missed, nor hide a dead one', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t);
  const watch = watchedWorker(t, hub);
  await watch(MINUTE, true);
  for (const jump of [HOUR, -2 * HOUR, 9 * DAY, -9 * DAY]) {
    hub.passTime(jump);
    await watch(4 * MINUTE, false); // its beats come late
    assert.equal(isAlertOpen(hub.handle, 'worker-silent'), false, `after ${jump / HOUR} hours`);
    await watch(MINUTE, true);
  }
  hub.passTime(-9 * DAY);
  await watch(5 * MINUTE + 10 * SECOND, false);
  await waitUntil('the dead worker is told of', () => receiver.alerts().length === 1);
});

test('no backup for 26 hours is told, and so is the next one', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t);
  const events = (): string[] => receiver.alerts()
    .filter(({ event }) => event.startsWith('backup')).map(({ event, severity }) => `${event} ${severity}`);
  await passTime(hub, 2 * DAY, 4 * HOUR);
  assert.deepEqual(events(), [], 'a hub without backups is left in peace');

  await noteBackup(hub);
  await passTime(hub, 26 * HOUR, HOUR);
  assert.deepEqual(events(), []);
  await passTime(hub, HOUR, 10 * MINUTE);
  assert.deepEqual(events(), ['backup-stale error']);
  await noteBackup(hub);
  await passTime(hub, 20 * MINUTE, 10 * MINUTE);
  assert.deepEqual(events(), ['backup-stale error', 'backup-stale resolved']);
});

test('a damaged backup is told as long as it is there', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t);
  const told = (): string[] => receiver.alerts().filter(({ event }) => event.startsWith('backup'))
    .map(({ event, severity }) => `${event} ${severity}`);
  const whole = runOf(hub);
  await noteBackup(hub);
  hub.passTime(HOUR);

  const config = { dataDir: hub.dataDir, backupDir: join(hub.dataDir, 'backups') };
  await noteVerdict(config, { ...whole, ok: false, verdict: 'failed', problem: 'hub.db is damaged' });
  await noteBackup(hub);
  await passTime(hub, 2 * HOUR, 10 * MINUTE);
  assert.deepEqual(told(), ['backup-verify-failed error'], 'another good backup makes none of this one');
  rmSync(join(hub.dataDir, 'backups', whole.name ?? ''), { recursive: true });
  await passTime(hub, 20 * MINUTE, 10 * MINUTE);
  assert.deepEqual(told().slice(1), ['backup-verify-failed resolved']);
});

test('too little space on the disk is told, and so is that there is enough again', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t);
  const { bavail, bsize } = statfsSync(hub.dataDir);
  await passTime(hub, 2 * MINUTE, MINUTE);
  setCount(hub, 'uploads_bytes', 2 * bavail * bsize); // the next backup would not fit
  await passTime(hub, 2 * MINUTE, MINUTE);
  setCount(hub, 'uploads_bytes', 0);
  await passTime(hub, HOUR, MINUTE);

  assert.deepEqual(receiver.alerts().map(({ event, severity }) => `${event} ${severity}`),
    ['space-low error', 'space-low resolved']);
});

test('twenty unexpected errors within ten minutes are told, without their words; a few a day are not', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t);
  for (let n = 0; n < 30; n++) {
    noteError(hub.handle, new Error('rare'));
    await passTime(hub, 5 * MINUTE, MINUTE);
  }
  assert.deepEqual(receiver.alerts(), []);
  for (let n = 0; n < 25; n++) noteError(hub.handle, new Error('a secret'));
  await passTime(hub, 2 * MINUTE, MINUTE);
  assert.equal(receiver.alerts()[0]?.event, 'error-burst');
  assert.doesNotMatch(receiver.alerts()[0]?.text ?? '', /secret/);
  await passTime(hub, HOUR, MINUTE);
  assert.deepEqual(receiver.alerts().map(({ severity }) => severity), ['error', 'resolved']);
});

test('hubctl alerts test sends one alert and says what came back, never where it was sent', async (t) => {
  const receiver = await startReceiver(t);
  const dataDir = temporaryDataDir(t);
  putDatabase(join(dataDir, 'hub.db'));
  const env = { ALERT_WEBHOOK_URL: receiver.url, ALERT_WEBHOOK_FORMAT: 'json' };

  const sent = await hubctl(hubEnvironment(dataDir, env), 'alerts', 'test');
  assert.match(sent.stdout, /^delivered: 127\.0\.0\.1:\d+ answered 200: ok\nformat: json\n$/);
  assert.equal(sent.status, 0);
  assert.equal(receiver.alerts()[0]?.event, 'test');

  receiver.answerWith((response) => void response.writeHead(404).end('no such hook: /alerts/SECRET-path'));
  const refused = await hubctl(hubEnvironment(dataDir, env), 'alerts', 'test');
  assert.equal(refused.status, 1);
  assert.match(refused.stdout, /^not delivered: 127\.0\.0\.1:\d+ answered 404\nformat: json\n$/);

  const silent = await hubctl(dataDir, 'alerts', 'test');
  assert.deepEqual([silent.status, silent.stdout], [1, '']);
  assert.match(silent.stderr, /ALERT_WEBHOOK_URL is not set/);
  assert.equal((await hubctl(hubEnvironment(dataDir, env), 'alerts', 'sing')).status, 2);
});
