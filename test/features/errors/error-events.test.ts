// Protects that unexpected errors are counted in one row each and never shown to visitors.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ErrorEvent, errorEvents, fingerprintOf, noteError } from '../../../src/features/errors/error-store.ts';
import { MINUTE } from '../../../src/platform/clock.ts';
import { startHub } from '../../support/hub.ts';
import { dropTable, type Stored } from '../../support/stored-rows.ts';
import { waitUntil } from '../../support/wait-until.ts';

function errorRows({ db }: Stored): ErrorEvent[] {
  return errorEvents({ db, clock: Date.now }).list(undefined, 10);
}

function fail(id: number): Error {
  return new Error(`post ${id} has no source`);
}

test('the same error is one row with a count, its first and last time, and its latest message', async (t) => {
  const hub = await startHub(t);
  const first = hub.now();
  noteError(hub.handle, fail(1));
  hub.passTime(MINUTE);
  noteError(hub.handle, fail(2));

  const [row, ...others] = errorRows(hub);
  assert.deepEqual(others, []);
  assert.deepEqual([row?.count, row?.firstAt, row?.lastAt, row?.message], [2, first, first + MINUTE, 'post 2 has no source']);
  const metrics = (await hub.anybody.get('/api/metrics')).text;
  assert.match(metrics, /service_error_events_total\{process="web"\} 2\n/);
});

test('errors of another place, name, message or process are others; ids and names in the message do not count', () => {
  const error = { name: 'Error', message: 'post 7 of "Owls" is lost', stack: 'Error: x\n    at a (file:///a.ts:1:1)' };
  const prints = [
    fingerprintOf('web', error),
    fingerprintOf('worker', error),
    fingerprintOf('web', { ...error, name: 'TypeError' }),
    fingerprintOf('web', { ...error, message: 'post 7 of "Owls" is found' }),
    fingerprintOf('web', { ...error, stack: 'Error: x\n    at a (file:///a.ts:2:1)' }),
  ];

  assert.equal(new Set(prints).size, prints.length);
  assert.equal(prints[0], fingerprintOf('web', { ...error, message: 'post 8 of "Hawks" is lost' }));
});

test('a handler that fails answers 500 without saying why, and the failure is noted', async (t) => {
  const hub = await startHub(t);
  dropTable(hub, 'posts');

  const answer = await hub.anybody.get('/api/posts');
  assert.equal(answer.status, 500);
  assert.doesNotMatch(answer.text, /table|SQL|at file/);
  assert.equal(errorRows(hub)[0]?.count, 1);
  assert.equal((await hub.anybody.get('/api/health?probe=live')).status, 200);
});

test('an error that cannot be stored is logged, and noting it throws nothing', async (t) => {
  const hub = await startHub(t);
  const lines: string[] = [];
  const log = { ...console, flush() {}, error: (event: string) => void lines.push(event) };
  const broken = { ...hub.handle, log };
  dropTable(hub, 'error_events');

  for (const thrown of [fail(1), 'thrown text', undefined]) noteError(broken, thrown);
  assert.deepEqual(lines, ['error event not stored', 'error event not stored', 'error event not stored']);
});

test('what nobody caught in a running process is noted, and the process goes on until it is told to stop', async (t) => {
  const hub = await startHub(t);
  const program = join(import.meta.dirname, '../../support/faulty-process.ts');
  const env = { ...process.env, DATA_DIR: hub.dataDir };
  const child = spawn(process.execPath, [program], { env, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');

  await waitUntil('both error events', () => errorRows(hub).length === 2 || child.exitCode !== null);
  assert.deepEqual(errorRows(hub).map(({ program: of, message }) => `${of}: ${message}`).sort(), [
    'worker: a rejection that nobody caught', 'worker: an exception that nobody caught',
  ]);
  assert.equal(child.exitCode, null);
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});
