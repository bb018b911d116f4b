// Protects the notice that health and web give of a killed worker, and of its return.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { alertEvents } from '../../../src/features/alerts/alert-store.ts';
import { HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { utcTime } from '../../../src/platform/in-words.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { createHeartbeats } from '../../../src/platform/jobs/scheduler.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Web looks once a second, which is then 20 s: looks more than a minute apart would tell it of a clock that was set. */
const SPEED = 20;

type Health = { ok: boolean; worker: { ok: boolean; lastSeenSeconds: number } };

test('when a real worker is killed, health says so, a real web tells it after five minutes by its clock, and the next worker that it is over', async (t) => {
  const receiver = await startReceiver(t);
  const dataDir = temporaryDataDir(t);
  const fastClock = join(dataDir, 'fast-clock.ts'); // where web, which is confined, can read it
  copyFileSync(join(import.meta.dirname, '../../support/fast-clock.ts'), fastClock);
  const env = { ALERT_WEBHOOK_URL: receiver.url, ALERT_WEBHOOK_FORMAT: 'json' };
  const started = Date.now();
  const web = startHubProcess(t, 'web', dataDir, {
    ...env, NODE_OPTIONS: `--import="${fastClock}"`, TEST_CLOCK_SPEED: String(SPEED),
  });
  const address = await web.address();
  const db = openDatabase(join(dataDir, 'hub.db'));
  t.after(() => db.close());
  const seenAt = (): number | null => createHeartbeats(db, Date.now).lastSeen('worker');
  const health = async (): Promise<Health> => (await fetch(`${address}/api/health`)).json() as Promise<Health>;
  const told = (): string[] => receiver.alerts().map(({ event, severity }) => `${event} ${severity}`);

  const worker = startHubProcess(t, 'worker', dataDir, env);
  await waitUntil('the worker beats', () => seenAt() !== null);
  const first = seenAt();
  await waitUntil('it beats again', () => seenAt() !== first);
  assert.deepEqual(told(), []);

  worker.child.kill('SIGKILL');
  await worker.ended;
  const lastSeen = started - HOUR;
  createHeartbeats(db, () => lastSeen).beat('worker');
  const { ok, worker: seen } = await health();
  assert.deepEqual([ok, seen.ok], [true, false]);
  assert.ok(seen.lastSeenSeconds >= 3_600, 'at once');
  assert.deepEqual(told(), [], 'a time in the database, which a clock may have jumped over, makes no worker dead');

  const killedAt = Date.now();
  await waitUntil('web has told it', () => told().length > 0);
  assert.ok(Date.now() - killedAt >= 5 * MINUTE / SPEED - 1_000, 'not before five minutes of its clock');
  assert.deepEqual(told(), ['worker-silent error']);
  assert.ok(receiver.alerts()[0]?.text.includes(`Since ${utcTime(lastSeen)}.`), receiver.alerts()[0]?.text);
  assert.equal((await health()).ok, true, 'web lives');
  await waitUntil('the log says it', () => web.lines('web delivers alerts while the worker is silent').length === 1); // lines wait for 100 ms

  const events = alertEvents({ db, clock: Date.now });
  const open = events.find('worker-silent');
  assert.ok(open);
  events.put({ ...open, toldAt: Date.now() - HOUR }); // its end is told an hour after it at the soonest
  const next = startHubProcess(t, 'worker', dataDir, env);
  await waitUntil('its end is told', () => told().includes('worker-silent resolved'));
  const aboutWorker = told().filter((one) => one !== 'clock-ahead warning'); // web's clock has run ahead
  assert.deepEqual(aboutWorker, ['worker-silent error', 'worker-silent resolved']);
  assert.equal(await next.end('SIGTERM'), 0);
  assert.equal(await web.end('SIGTERM'), 0);
  assert.doesNotMatch(web.stderr() + worker.stderr() + next.stderr(), /SECRET/);
});
