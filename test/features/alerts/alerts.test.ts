// Protects the operator from silence and from floods: each trouble is told once, then at intervals, then as over.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobs } from '../../../src/features/hub/hub.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { raiseAlert } from '../../../src/features/alerts/raise-alerts.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import type { Hub } from '../../support/hub.ts';
import { hubWithReceiver, passTime, raise, watch } from '../../support/receiver.ts';
import { addJob } from '../../support/stored-jobs.ts';
import { metric } from '../../support/webhooks.ts';

const FAILING = 10_000;

test('a trouble is told within seconds, in words that say where, and what is told is stored', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t);
  raise(hub, 'sync-failed', 'Owls (5)');
  await hub.work(5 * SECOND);

  const [alert, ...more] = receiver.alerts();
  assert.deepEqual(more, []);
  assert.deepEqual(
    { event: alert?.event, severity: alert?.severity, title: alert?.title, suppressed: alert?.suppressed },
    { event: 'sync-failed', severity: 'error', title: 'Sources are failing', suppressed: 0 },
  );
  assert.match(alert?.text ?? '', /Owls \(5\)/);
  assert.equal(await metric(hub, 'service_alert_deliveries{state="delivered"}'), 1);
});

test('what is raised in a transaction that fails is not told', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t);
  const failing = hub.db.transaction('failing', () => {
    raiseAlert(hub.handle, { event: 'sync-failed', source: null, problem: 'Owls' });
    throw new Error('the disk is full');
  });
  assert.throws(failing);
  await passTime(hub, MINUTE, 5 * SECOND);

  assert.deepEqual(receiver.alerts(), []);
});

test('10,000 synchronisations that fail for good make one message, which names a few and counts the others', async (t) => {
  const { hub, receiver, tellFor } = await hubWithReceiver(t);
  await hub.person('ada');
  addFailingFeeds(hub, FAILING);
  hub.db.pragma('synchronous = OFF'); // 10,000 transactions, and no power to be cut
  hub.db.write('jobs', () => {
    for (let id = 1; id <= FAILING; id++) {
      addJob(hub, { payload: { sourceId: id }, dedupeKey: String(id), state: 'running', attempts: 5 });
    }
  });

  await hub.work();
  assert.equal(jobs(hub.handle).failedCount('sync-source'), FAILING);
  await tellFor(59 * MINUTE, MINUTE);

  const [alert, ...more] = receiver.alerts();
  assert.deepEqual(more, []);
  assert.equal(alert?.event, 'sync-failed');
  const named = alert?.text.split('\n').filter((line) => line.includes('/sources/')) ?? [];
  assert.equal(named.length, 5);
  assert.equal(named.length + (alert?.suppressed ?? 0), FAILING);
});

/** Feeds on as many hosts, none of which listens. */
function addFailingFeeds(hub: Hub, feeds: number, nextSyncAt = hub.now() + DAY): void {
  const source = { ownerId: 1, kind: 'feed', titleIsOwn: false, visibility: 'public' } as const;
  hub.db.write('feeds', () => {
    for (let id = 1; id <= feeds; id++) {
      const feed = { url: `http://127.${id >> 8}.${id & 255}.9:1/`, nextSyncAt };
      sources(hub.handle).create({ ...source, title: `Feed ${id}` }, feed);
    }
  });
}

test('a kind of trouble is told of once an hour; what was held back is told when the hour is over', async (t) => {
  const { hub, receiver, tellFor } = await hubWithReceiver(t);
  raise(hub, 'sync-failed', 'one');
  await tellFor(MINUTE, 5 * SECOND);
  assert.equal(receiver.alerts().length, 1);
  for (let n = 0; n < 20; n++) {
    raise(hub, 'sync-failed', `later ${n}`);
    await tellFor(2 * MINUTE, MINUTE);
  }
  assert.equal(receiver.alerts().length, 1, 'within the hour');
  raise(hub, 'webhook-silent', 'another kind');
  await tellFor(MINUTE, 30 * SECOND);
  assert.equal(receiver.alerts().length, 2, 'each kind has its own hour');

  await tellFor(20 * MINUTE, MINUTE);
  const last = receiver.alerts().at(-1);
  assert.equal(receiver.alerts().length, 3);
  assert.equal(last?.event, 'sync-failed');
  assert.match(last?.text ?? '', /later 0\nlater 1\nlater 2\nlater 3\nlater 4/);
  assert.equal(last?.suppressed, 15);
  await tellFor(3 * HOUR, 10 * MINUTE);
  assert.equal(receiver.alerts().length, 3, 'nothing happened since');
});

test('the end of a trouble that was told is told once, an hour later; one that was over before it was told says both', async (t) => {
  const { hub, receiver, tellFor } = await hubWithReceiver(t);
  watch(hub, 'backup-failed', 'no space');
  await tellFor(10 * SECOND, 5 * SECOND);
  watch(hub, 'backup-failed', null);
  await tellFor(HOUR - 10 * SECOND, MINUTE);
  assert.equal(receiver.alerts().length, 1, 'within the hour');
  await tellFor(10 * SECOND, 5 * SECOND);
  assert.deepEqual(receiver.alerts().map(({ severity, title }) => [severity, title]),
    [['error', 'The last backup failed'], ['resolved', 'Backups succeed again']]);

  watch(hub, 'backup-failed', 'no space again');
  watch(hub, 'backup-failed', null);
  await tellFor(2 * HOUR, 5 * MINUTE);
  const [, , last, ...more] = receiver.alerts();
  assert.deepEqual(more, []);
  assert.match(last?.text ?? '', /no space again\nThe problem of this alert has already been resolved\./);
});

test('a trouble that comes and goes all the time makes one message an hour at most, and the last says how it ended', async (t) => {
  const { hub, receiver, tellFor } = await hubWithReceiver(t);
  const toldAt: number[] = [];
  const pass = async (minutes: number): Promise<void> => {
    for (let n = 0; n < minutes; n++) {
      await tellFor(MINUTE, MINUTE);
      if (receiver.alerts().length > toldAt.length) toldAt.push(hub.now());
    }
  };
  for (let n = 0; n < 6 * 12; n++) {
    watch(hub, 'space-low', n % 2 === 0 ? `${n} bytes are left` : null);
    await pass(5 + n % 3);
  }
  await pass(2 * 60);

  assert.equal(receiver.alerts().length, toldAt.length, 'never two at once');
  assert.ok(toldAt.slice(1).every((at, n) => at - (toldAt[n] ?? 0) >= HOUR), `${toldAt}`);
  assert.ok(toldAt.length >= 7, 'and is not forgotten');
  const counted = receiver.alerts().map(({ text, suppressed }) => suppressed + (text.match(/bytes are left/g) ?? []).length);
  assert.equal(counted.reduce((sum, one) => sum + one, 0), 6 * 12 / 2, 'each time is told or counted');
  assert.match(`${receiver.alerts().at(-1)?.severity} ${receiver.alerts().at(-1)?.text}`, /^resolved|already been resolved/);
});

test('a trouble that lasts is told again once a day', async (t) => {
  const { hub, receiver, tellFor } = await hubWithReceiver(t);
  for (let n = 0; n < 3 * 24 * 2; n++) {
    watch(hub, 'space-low', 'little is left');
    await tellFor(30 * MINUTE, 30 * MINUTE);
  }

  assert.deepEqual(receiver.alerts().map(({ event, severity }) => [event, severity]), Array(3).fill(['space-low', 'error']));
});

for (const [name, jump] of [['an hour', HOUR], ['nine days', 9 * DAY], ['a year', 365 * DAY]] as const) {
  test(`a clock that was ${name} ahead, or is set ${name} ahead, neither silences a trouble nor makes a flood`, async (t) => {
    const { hub, receiver, tellFor } = await hubWithReceiver(t);
    raise(hub, 'sync-failed', 'before');
    await tellFor(MINUTE, 5 * SECOND);
    hub.passTime(-jump);
    raise(hub, 'sync-failed', 'clock set back');
    await tellFor(30 * MINUTE, MINUTE);
    assert.equal(receiver.alerts().length, 1, 'the hour begins anew');
    await tellFor(31 * MINUTE, MINUTE);
    assert.equal(receiver.alerts().length, 2);

    for (let n = 0; n < 5; n++) {
      raise(hub, 'sync-failed', `jump ${n}`);
      hub.passTime(n % 2 === 0 ? jump : -jump);
      await tellFor(MINUTE, 30 * SECOND);
    }
    assert.ok(receiver.alerts().length <= 5, `${receiver.alerts().length} messages`);
    await tellFor(2 * HOUR, 5 * MINUTE);
    assert.match(receiver.alerts().map(({ text }) => text).join(), /jump 4/);
  });
}

test('when no synchronisation is failed any more, by success or by hand, that is told', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t, { SYNC_MAX_ATTEMPTS: '1' });
  const ada = await hub.person('ada');
  addFailingFeeds(hub, 2, 0);
  await hub.work(SECOND);
  await passTime(hub, 10 * SECOND, 5 * SECOND);
  assert.equal(receiver.alerts().length, 1);

  await ada.delete('/api/sources/1');
  await passTime(hub, 2 * MINUTE, MINUTE);
  assert.equal(receiver.alerts().length, 1);
  await ada.patch('/api/sources/2', { paused: true });
  await passTime(hub, HOUR, MINUTE);
  assert.deepEqual(receiver.alerts().map(({ severity }) => severity), ['error', 'resolved']);
});
