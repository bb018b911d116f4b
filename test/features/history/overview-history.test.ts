// Protects the overview’s history: what is kept of five minutes and of an hour is true, gaps stay gaps, it is bounded.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { webTasks, workerTasks } from '../../../src/app/schedule.ts';
import { begunPath } from '../../../src/features/backups/backup-status.ts';
import { noteRun } from '../../../src/features/backups/note-run.ts';
import {
  ANSWERS, backupRuns, COARSE, FIGURES, FINE, history, MOST_RUNS, readings, type Figure,
} from '../../../src/features/history/history-store.ts';
import { beatOfWorker } from '../../../src/features/history/record-history.ts';
import { beatOfWeb } from '../../../src/features/history/process-notes.ts';
import { counts, heartbeats, jobs } from '../../../src/features/hub/hub.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { createScheduler, type Task } from '../../../src/platform/jobs/scheduler.ts';
import { noteRuns } from '../../../src/features/sources/note-runs.ts';
import { addNotes } from '../../support/accounts.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { addJob } from '../../support/stored-jobs.ts';
import { countRows, dropTable, rowsOf } from '../../support/stored-rows.ts';
import { makeUpHistory } from '../../support/made-up-history.ts';

/** All buckets of that length. */
const bucketsOf = ({ handle }: Pick<Hub, 'handle'>, step: number) => history(handle).list(step, 0, Infinity);

/** The values of a figure in all buckets of that length, by how many of them lie after the clock's beginning. */
function valuesOf(hub: Hub, name: Figure, step = FINE): Record<number, number | undefined> {
  return Object.fromEntries(bucketsOf(hub, step).map(({ at, figures }) => [(at - START) / step, figures[name]]));
}

const START = Date.UTC(2030, 0, 15, 12);

function count(hub: Hub, metric: string, label: string, by: number): void {
  counts(hub.handle).add(metric, label, by);
}

/** The worker runs for that long, and web with it unless it is said not to. */
function run(hub: Hub, ms: number, handle = hub.handle, withWeb = true): void {
  for (let passed = 0; passed < ms; passed += 30 * SECOND) {
    hub.passTime(30 * SECOND);
    if (withWeb && passed % MINUTE === 0) beatOfWeb(hub.handle);
    beatOfWorker(handle);
  }
}

test('of each five minutes there is how much counters grew, added up by the hour, whatever they stood at', async (t) => {
  const hub = await startHub(t);
  count(hub, 'sync_runs_total', 'changed', 1_000);
  beatOfWorker(hub.handle);
  count(hub, 'sync_runs_total', 'changed', 3);
  count(hub, 'posts_ingested_total', 'feed', 5);
  count(hub, 'posts_ingested_total', 'webhook', 2);
  run(hub, FINE);
  count(hub, 'sync_runs_total', 'changed', 4);
  run(hub, 2 * FINE);

  assert.deepEqual(valuesOf(hub, 'syncs_changed'), { 0: 3, 1: 4, 2: 0 });
  assert.deepEqual(valuesOf(hub, 'posts'), { 0: 7, 1: 0, 2: 0 });
  assert.deepEqual(valuesOf(hub, 'syncs_changed', COARSE), { 0: 7 });
});

test('a worker that was started again goes on where the one before it was, and what happened in a pause belongs to no bucket', async (t) => {
  const hub = await startHub(t);
  run(hub, FINE);
  count(hub, 'posts_ingested_total', 'feed', 5);
  run(hub, 2 * MINUTE);
  const second = { ...hub.handle }; // another process knows nothing but what the database says
  run(hub, 3 * MINUTE, second);
  assert.deepEqual(valuesOf(hub, 'posts'), { 0: 0, 1: 5 });

  hub.passTime(3 * HOUR);
  count(hub, 'posts_ingested_total', 'feed', 1_000);
  const third = { ...hub.handle };
  run(hub, 2 * FINE, third);
  const later = 2 + 3 * HOUR / FINE;
  assert.deepEqual(valuesOf(hub, 'posts'), { 0: 0, 1: 5, [later]: 0, [later + 1]: 0 });
});

test('web’s answers come by how long they took; a web that was started again is never negative, and one that is silent leaves a gap', async (t) => {
  const hub = await startHub(t);
  const answered = (name: string): number =>
    ANSWERS.reduce((sum, one) => sum + (valuesOf(hub, one)[Number(name)] ?? 0), 0);
  await hub.anybody.get('/');
  beatOfWeb(hub.handle);
  beatOfWorker(hub.handle);
  await hub.anybody.get('/');
  await hub.anybody.get('/missing');
  run(hub, FINE);
  assert.equal(answered('0'), 2);
  assert.deepEqual(valuesOf(hub, 'answer_errors'), { 0: 0 });

  const again = { startedAt: hub.now(), saidAt: hub.now() + 1, answers: ANSWERS.map(() => 1), errors: 1,
    memory: 7, memoryMax: 9, delayP99: 1, delayMax: 30, busy: 50 };
  hub.passTime(MINUTE);
  readings(hub.handle).put('web', again);
  run(hub, 4 * MINUTE, hub.handle, false);
  assert.equal(answered('1'), ANSWERS.length);
  assert.equal(valuesOf(hub, 'answer_errors')[1], 1);
  assert.deepEqual([valuesOf(hub, 'web_memory')[1], valuesOf(hub, 'web_memory_max')[1]], [7, 9]);

  run(hub, FINE, hub.handle, false);
  assert.deepEqual([valuesOf(hub, 'answer_errors')[2], valuesOf(hub, 'web_memory')[2]], [undefined, undefined]);
  assert.ok((valuesOf(hub, 'worker_memory')[2] ?? 0) > 1e6, 'the worker’s own are there');
});

test('what web and the worker do by their schedules is enough for a bucket with the figures of both', async (t) => {
  const hub = await startHub(t);
  const due = (tasks: Task[]): Task[] => tasks.filter(({ name }) => name === 'heartbeat');
  const onError = (error: unknown): void => assert.ifError(error);
  const { clock, log } = hub.handle;
  const [web, worker] = [due(webTasks(hub.handle)), due(workerTasks(hub.handle))]
    .map((tasks) => createScheduler({ tasks, clock, log, onError }));
  await hub.anybody.get('/');
  for (let passed = 0; passed <= FINE; passed += 30 * SECOND, hub.passTime(30 * SECOND)) {
    await web?.tick();
    await worker?.tick();
  }
  for (const figure of FIGURES.keys()) assert.notEqual(valuesOf(hub, figure)[0], undefined, figure);
});

test('a history that cannot be written is an error, and the worker is no less alive for it', async (t) => {
  const hub = await startHub(t);
  beatOfWorker(hub.handle);
  dropTable(hub, 'history');
  hub.passTime(FINE);
  assert.throws(() => beatOfWorker(hub.handle), /no such table: history/);
  assert.equal(heartbeats(hub.handle).lastSeen('worker'), hub.now());
});

test('the longest wait of a job is kept although it is over when the bucket ends', async (t) => {
  const hub = await startHub(t);
  beatOfWorker(hub.handle);
  const waiting = addJob(hub, { runAt: START });
  run(hub, 2 * MINUTE);
  jobs(hub.handle).discard(waiting);
  run(hub, 3 * MINUTE);

  assert.deepEqual([valuesOf(hub, 'oldest_due_max')[0], valuesOf(hub, 'oldest_due')[0]], [120, 0]);
});

test('a figure that is new gets the next place, and what was kept before still reads as it did', async (t) => {
  const { handle, passTime } = await startHub(t);
  history(handle).add(START, { posts: 1, errors: 2 });
  passTime(FINE);
  history(handle).add(START + FINE, { free_bytes: 9, posts: 3 });
  assert.deepEqual(bucketsOf({ handle }, FINE).map(({ figures }) => figures), [{ posts: 1, errors: 2 }, { posts: 3, free_bytes: 9 }]);
});

test('two days are kept by five minutes and 60 by the hour, at most 2018 rows and 1.5 MB; what lies ahead is forgotten', async (t) => {
  const hub = await startHub(t);
  const full = Object.fromEntries([...FIGURES.keys()].map((name) => [name, 1_234_567_890.5]));
  hub.db.write('fill', () => {
    for (let passed = 0; passed <= 3 * DAY; passed += FINE, hub.passTime(FINE)) history(hub.handle).add(hub.now(), full);
    for (let passed = 0; passed <= 60 * DAY; passed += HOUR, hub.passTime(HOUR)) history(hub.handle).add(hub.now(), full);
    for (let passed = 0; passed <= 2 * DAY; passed += FINE, hub.passTime(FINE)) history(hub.handle).add(hub.now(), full);
  });
  const rows = (): number[] => [FINE, COARSE].map((step) => bucketsOf(hub, step).length);
  assert.deepEqual(rows(), [2 * DAY / FINE + 1, 60 * DAY / HOUR]);
  const bytes = JSON.stringify(rowsOf(hub, 'history')).length;
  assert.ok(bytes < 1_500_000, `${bytes} bytes`);

  const newest = hub.now();
  hub.passTime(-DAY);
  for (; hub.now() <= newest; hub.passTime(FINE)) history(hub.handle).add(hub.now(), full);
  const twice = bucketsOf(hub, FINE)
    .filter(({ at, figures }) => at > newest - DAY && figures.posts !== full['posts']);
  assert.deepEqual(twice, [], 'nothing is added to what lay ahead');
});

test('a clock that is a year ahead, or decades behind, for half an hour costs little of what is kept', async (t) => {
  const hub = await startHub(t);
  makeUpHistory(hub.handle, 5);
  const kept = (): number[] => [bucketsOf(hub, FINE).length, bucketsOf(hub, COARSE).length, backupRuns(hub.handle).since(0).length];
  const before = kept();
  const source = await addNotes(await hub.person('ada'));
  for (let day = 0; day < 25; day++, hub.passTime(DAY)) noteRuns(hub.handle, source, [{ added: 1 }]);
  hub.passTime(-25 * DAY);
  for (const away of [365 * DAY, -30 * 365 * DAY]) {
    hub.passTime(away);
    for (let passed = 0; passed < HOUR / 2; passed += FINE, hub.passTime(FINE)) {
      hub.db.write('note', () => {
        history(hub.handle).add(hub.now(), { posts: 1 });
        backupRuns(hub.handle).note({ place: 'here', at: hub.now(), result: 'good', bytes: 1, seconds: 1, problem: null });
      });
    }
    noteRuns(hub.handle, source, [{ added: 1 }]);
    hub.passTime(-away - HOUR / 2);
  }
  for (const [index, count] of kept().entries()) assert.ok(count > (before[index] ?? 0) - 40, `${count} of ${before[index]}`);
  assert.ok(countRows(hub, 'source_days') > 20);
});

test('each run of a backup is remembered after the next one, and no more than 500 of a place', async (t) => {
  const hub = await startHub(t);
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  const night = (verdict: 'verified' | 'failed' | 'degraded', problem: string | null): Promise<void> => noteRun(hub.dataDir, 'backup',
    { name: null, at: hub.now(), ok: verdict === 'verified', verdict, bytes: 5, seconds: 60, problem });
  for (const [verdict, problem] of [['verified', null], ['failed', 'no room'], ['degraded', 'one is missing']] as const) {
    await night(verdict, problem);
    run(hub, 2 * FINE);
    hub.passTime(DAY);
    run(hub, FINE);
  }
  assert.deepEqual(backupRuns(hub.handle).since(0).map(({ place, result, problem }) => [place, result, problem]),
    [['here', 'good', null], ['here', 'failed', 'no room'], ['here', 'degraded', 'one is missing']]);

  const one = { place: 'dir', result: 'good', bytes: null, seconds: 1, problem: null } as const;
  hub.db.write('note', () => {
    backupRuns(hub.handle).note({ ...one, at: hub.now() + DAY });
    for (let n = 0; n < 600; n++) backupRuns(hub.handle).note({ ...one, at: hub.now() - n * MINUTE });
  });
  const kept = backupRuns(hub.handle).since(0).filter(({ place }) => place === 'dir');
  assert.equal(kept.length, MOST_RUNS);
  assert.ok(kept.every(({ at }) => at <= hub.now()));
});

test('a run of a backup, and one that was killed, are among the nights with the next heartbeat', async (t) => {
  const hub = await startHub(t);
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  run(hub, FINE);
  await noteRun(hub.dataDir, 'backup',
    { name: null, at: hub.now(), ok: true, verdict: 'verified', bytes: 5, seconds: 60, problem: null });
  hub.passTime(5 * SECOND);
  beatOfWorker(hub.handle);
  writeFileSync(begunPath(hub.dataDir, 'backup'), JSON.stringify({ at: hub.now() }));
  hub.passTime(5 * SECOND);
  beatOfWorker(hub.handle);
  assert.deepEqual(backupRuns(hub.handle).since(0).map(({ result }) => result), ['good', 'failed']);
});
