// Protects the proof that an upgrade asks of the new version: web and worker write.
import assert from 'node:assert/strict';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import timers from 'node:timers/promises';
import { heartbeats } from '../../src/features/hub/hub.ts';
import { startHub } from '../support/hub.ts';
import { hubctl } from '../support/hubctl.ts';
import { waitUntil } from '../support/wait-until.ts';

test('a hub has proved itself when web and worker have written since it was started', async (t) => {
  const hub = await startHub(t);
  const since = String(hub.now());
  hub.passTime(-1_000);
  for (const name of ['web', 'worker']) heartbeats(hub.handle).beat(name);
  const waits: (() => void)[] = [];
  t.mock.method(timers, 'setTimeout', () => new Promise<void>((resolve) => waits.push(resolve)));
  const proof = hubctl(hub.dataDir, 'await-writes', since, 'web', 'worker');
  hub.passTime(2_000);
  heartbeats(hub.handle).beat('web');
  for (let looks = 1; looks <= 3; looks++) {
    await waitUntil('it waits: what the worker wrote before is not enough', () => waits.length === looks);
    if (looks < 3) waits.at(-1)?.();
  }
  assert.equal((await hubctl(hub.dataDir, 'await-writes', since, 'web')).status, 0);

  heartbeats(hub.handle).beat('worker');
  waits.at(-1)?.();
  assert.deepEqual(await proof, { status: 0, stdout: '', stderr: '' });
  for (const wrong of [[], ['now', 'web'], [since], [since, 'nobody']]) {
    assert.equal((await hubctl(hub.dataDir, 'await-writes', ...wrong)).status, 2, wrong.join());
  }
});

test('a web that does not write is found out after half a minute', async (t) => {
  const hub = await startHub(t);
  const waits = t.mock.method(timers, 'setTimeout', () => Promise.resolve()).mock;
  heartbeats(hub.handle).beat('worker');
  const { status, stderr } = await hubctl(hub.dataDir, 'await-writes', String(hub.now()), 'web', 'worker');
  assert.deepEqual([status, stderr], [1, 'web did not write to the database within 30 s\n']);
  assert.equal(waits.calls.reduce((sum, call) => sum + Number(call.arguments[0]), 0), 30_000);
});

test('what npm start says of the end of a program is not waited out, and nothing that it said of an earlier one counts', async (t) => {
  const hub = await startHub(t);
  const since = hub.now();
  const failed = join(hub.dataDir, 'run/hub.failed');
  const said = (text: string, at: number): void => {
    writeFileSync(failed, text);
    utimesSync(failed, at / 1_000, at / 1_000);
  };
  const proof = () => hubctl(hub.dataDir, 'await-writes', String(since), 'web', 'worker');
  const waits = t.mock.method(timers, 'setTimeout', () => Promise.resolve()).mock;

  heartbeats(hub.handle).beat('web');
  said('worker ended by itself (exit code 1); the hub has stopped\n', since + 1_000);
  const { status, stderr } = await proof();
  assert.deepEqual([status, stderr], [1, 'worker ended by itself (exit code 1); the hub has stopped\n']);
  assert.equal(waits.callCount(), 0);

  heartbeats(hub.handle).beat('worker');
  assert.equal((await proof()).status, 1, 'it wrote, and ended then');
  said('of an earlier upgrade\n', since - 1_000);
  assert.deepEqual(await proof(), { status: 0, stdout: '', stderr: '' });
});
