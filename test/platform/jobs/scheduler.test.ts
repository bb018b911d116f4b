// Protects scheduled tasks from failures, slow neighbours and jumps of the clock.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { workerTasks } from '../../../src/app/schedule.ts';
import { alertDeliveries, TEST, TEST_MESSAGE } from '../../../src/features/alerts/alert-store.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { createHeartbeats, createScheduler, type Task } from '../../../src/platform/jobs/scheduler.ts';
import { createLog } from '../../../src/platform/log.ts';
import { startHub } from '../../support/hub.ts';
import { failWrites, countRows } from '../../support/stored-rows.ts';
import { migratedDatabase } from '../../support/migrated-database.ts';
import { waitUntil } from '../../support/wait-until.ts';

function startScheduler(tasks: Task[]) {
  let now = Date.UTC(2025, 0, 1);
  const clock = () => now;
  const lines: string[] = [];
  const errors: unknown[] = [];
  const log = createLog('worker', 'debug', clock, (text) => lines.push(text));
  const scheduler = createScheduler({ tasks, clock, log, onError: (error) => errors.push(error) });
  return { scheduler, lines, errors, passTime: (milliseconds: number) => void (now += milliseconds) };
}

function countingTask(everyMs: number, name = 'count') {
  let runs = 0;
  return { task: { name, everyMs, run: () => void runs++ }, runs: () => runs };
}

test('a task runs at the start and then once for each interval that has passed', async () => {
  const often = countingTask(SECOND);
  const rarely = countingTask(MINUTE);
  const { scheduler, passTime } = startScheduler([often.task, rarely.task]);
  await scheduler.tick();
  await scheduler.tick();
  assert.deepEqual([often.runs(), rarely.runs()], [1, 1]);

  passTime(SECOND - 1);
  await scheduler.tick();
  assert.equal(often.runs(), 1);
  passTime(1);
  await scheduler.tick();
  assert.deepEqual([often.runs(), rarely.runs()], [2, 1]);
});

test('a task that fails is told and does not stop the others or its own next run', async () => {
  let tries = 0;
  const good = countingTask(SECOND);
  const failing = (name: string, run: () => void | Promise<void>) => ({ name, everyMs: SECOND, run });
  const { scheduler, passTime, errors, lines } = startScheduler([
    failing('throws', () => {
      tries++;
      throw new Error('disk full');
    }),
    failing('rejects', () => Promise.reject(new Error('later'))),
    good.task,
  ]);
  await scheduler.tick();
  passTime(SECOND);
  await scheduler.tick();

  assert.deepEqual([tries, good.runs(), errors.length], [2, 2, 4]);
  assert.match(lines[0] ?? '', /"event":"scheduled task failed","task":"throws","error":"disk full"/);
});

test('a slow task is not started again while it runs, and holds up no other', async () => {
  let started = 0;
  let end = () => {};
  const slow = {
    name: 'slow',
    everyMs: SECOND,
    run: () => new Promise<void>((resolve) => {
      started++;
      end = resolve;
    }),
  };
  const good = countingTask(SECOND);
  const { scheduler, passTime } = startScheduler([slow, good.task]);
  const first = scheduler.tick();
  await waitUntil('the slow task has started', () => started === 1);
  passTime(MINUTE);
  await scheduler.tick();
  assert.deepEqual([started, good.runs()], [1, 2]);

  end();
  await first;
  const second = scheduler.tick();
  await waitUntil('the slow task has started again', () => started === 2);
  end();
  await second;
});

test('jumps of the clock, back or forward, cost one run and never stall a task', async () => {
  const daily = countingTask(DAY);
  const { scheduler, passTime } = startScheduler([daily.task]);
  await scheduler.tick();
  passTime(30 * DAY);
  await scheduler.tick();
  await scheduler.tick();
  assert.equal(daily.runs(), 2);

  passTime(-365 * DAY);
  await scheduler.tick();
  await scheduler.tick();
  assert.equal(daily.runs(), 3);
  passTime(DAY);
  await scheduler.tick();
  assert.equal(daily.runs(), 4);
});

test('a started scheduler ticks by itself, and once stopped nothing of it runs', async () => {
  let release = () => {};
  let inside = 0;
  const slow = {
    name: 'slow',
    everyMs: DAY,
    run: async () => {
      inside++;
      await new Promise<void>((resolve) => (release = resolve));
      inside--;
    },
  };
  const quick = countingTask(5);
  const { scheduler, passTime } = startScheduler([quick.task, slow]);
  scheduler.start();
  await waitUntil('both have run', () => quick.runs() === 1 && inside === 1);
  passTime(5);
  await waitUntil('the quick one has run again', () => quick.runs() === 2);

  let stopped = false;
  const stopping = scheduler.stop().then(() => void (stopped = true));
  await nextTurn();
  assert.equal(stopped, false, 'stop waits for what is running');
  release();
  await stopping;
  assert.equal(inside, 0);
  passTime(DAY);
  await nextTurn();
  assert.deepEqual([quick.runs(), inside], [2, 0]);
});

test('a process sees when another one last gave a sign of life', (t) => {
  const { db, connect } = migratedDatabase(t);
  let now = 1_000;
  const worker = createHeartbeats(db, () => now);
  const web = createHeartbeats(connect(), () => now);
  assert.equal(web.lastSeen('worker'), null);
  now = 2_000;
  worker.beat('worker');
  now = 3_000;
  worker.beat('worker');

  assert.equal(web.lastSeen('worker'), 3_000);
  assert.equal(web.lastSeen('web'), null);
  assert.deepEqual([countRows({ db }, 'heartbeats'), web.lastStarted('worker')], [1, 1_000]);
});

test('a task of once a day runs once a day however often the worker starts, and again soon if it failed', async (t) => {
  const hub = await startHub(t);
  const { db, clock, log } = hub.handle;
  const past = alertDeliveries({ db, clock: () => 0 });
  const addOldAlert = (): void => past.markDelivered(past.create({ event: TEST, ...TEST_MESSAGE }), 1);
  const oldAlerts = (): number => countRows(hub, 'alert_deliveries');
  const tasks = workerTasks(hub.handle).filter(({ name }) => name === 'remove old alerts');
  assert.equal(tasks.length, 1);
  const startWorker = () => createScheduler({ tasks, clock, log, onError: () => {} });

  addOldAlert();
  const repair = failWrites(hub, 'DELETE', 'alert_deliveries');
  let worker = startWorker();
  await worker.tick();
  assert.equal(oldAlerts(), 1);
  repair();
  hub.passTime(HOUR);
  await worker.tick();
  assert.equal(oldAlerts(), 0, 'the run that failed did not count');

  addOldAlert();
  worker = startWorker();
  await worker.tick();
  hub.passTime(DAY - MINUTE);
  await worker.tick();
  assert.equal(oldAlerts(), 1, 'less than a day has passed');
  hub.passTime(HOUR);
  await worker.tick();
  assert.equal(oldAlerts(), 0);

  addOldAlert();
  hub.passTime(-30 * DAY);
  await startWorker().tick();
  assert.equal(oldAlerts(), 0, 'a clock set back holds nothing up');
});
