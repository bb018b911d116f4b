// Protects retention: to the day, in small steps that can be cut off, with one record of what was removed.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { auditRecords } from '../../../src/features/audit/audit-store.ts';
import { errorEvents } from '../../../src/features/errors/error-store.ts';
import { jobs } from '../../../src/features/hub/hub.ts';
import { notifications } from '../../../src/features/notifications/notification-store.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { previewRetention, removeOldRows } from '../../../src/features/retention/remove-old-rows.ts';
import { readingHistory } from '../../../src/features/reading/reading-history-store.ts';
import { audit, COMMAND_LINE } from '../../../src/features/audit/audit.ts';
import { addPost, itemsAt } from '../../support/accounts.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { storedJobs } from '../../support/stored-jobs.ts';
import { storeNotifications } from '../../support/stored-notifications.ts';
import { countRows, failWrites } from '../../support/stored-rows.ts';

/** A hub with an administrator and one row of each kind for each of these ages in days. */
async function hubWithOldRows(t: TestContext, ages: number[], env: Record<string, string> = {}) {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t, env);
  for (const [index, age] of ages.entries()) {
    const at = hub.now() - age * DAY;
    const postId = await addPost(ada, sourceId);
    const past = { db: hub.db, clock: () => at };
    notify(hub, 1, at);
    readingHistory(past).note(1, postId);
    audit(past, 'account.exported', COMMAND_LINE);
    errorEvents(past).add({ fingerprint: `${index}`, program: 'web', message: 'x', stack: '' });
  }
  return { hub, ada };
}

function notify({ db }: Hub, count: number, at = 0): void {
  const { add } = notifications({ db, clock: () => at });
  db.write('notify', () => {
    for (let n = 0; n < count; n++) add({ accountId: 1, kind: 'test', title: `${at} ${n}`, path: '/' });
  });
}

function rows(hub: Hub) {
  return {
    notifications: countRows(hub, 'notifications'),
    history: countRows(hub, 'reading_history'),
    audit: auditRecords(hub.handle).list({ act: 'account.exported' }, undefined, 100).length,
    errors: countRows(hub, 'error_events'),
  };
}

async function applied(ada: Awaited<ReturnType<Hub['person']>>): Promise<unknown[]> {
  return (await itemsAt(ada, '/api/admin/audit?act=retention.applied')).map(({ detail }) => detail);
}

test('what has been kept long enough goes, to the day, and one record says how much that was', async (t) => {
  const { hub, ada } = await hubWithOldRows(t, [1, 89, 91, 364, 366]);

  await hub.work();

  assert.deepEqual(rows(hub), { notifications: 2, history: 4, audit: 4, errors: 2 });
  assert.deepEqual(await applied(ada), [{ notifications: 3, readingHistory: 1, auditRecords: 1, errorEvents: 3 }]);
  assert.equal(hub.logged().filter(({ event }) => event === 'old rows removed').length, 1);
});

test('periods are set in days, and 0 keeps for ever', async (t) => {
  const { hub } = await hubWithOldRows(t, [1, 3, 5000], {
    NOTIFICATION_RETENTION_DAYS: '2', READING_HISTORY_RETENTION_DAYS: '0', AUDIT_RETENTION_DAYS: '0',
  });

  await hub.work();

  assert.deepEqual(rows(hub), { notifications: 1, history: 3, audit: 3, errors: 2 });
});

test('it happens once a day, also across restarts of the worker, and leaves no record when there was nothing', async (t) => {
  const { hub, ada } = await hubWithOldRows(t, [91]);
  await hub.work();
  assert.equal((await applied(ada)).length, 1);

  notify(hub, 1);
  await hub.work(23 * HOUR);
  await removeOldRows(hub.handle);
  assert.equal(rows(hub).notifications, 1, 'not before a day has passed, in a new process either');
  await hub.work(HOUR);
  assert.equal(rows(hub).notifications, 0);
  assert.equal((await applied(ada)).length, 2);
  await hub.work(DAY);
  assert.equal((await applied(ada)).length, 2, 'nothing was removed');
});

test('a clock that jumps ahead and comes back neither stops nor repeats it', async (t) => {
  const { hub, ada } = await hubWithOldRows(t, [80, 91]);
  await hub.work();
  assert.equal(rows(hub).notifications, 1);

  await hub.work(15 * DAY);
  assert.equal(rows(hub).notifications, 0, 'older than 90 days by the clock there is');
  hub.passTime(-15 * DAY);
  notify(hub, 1);
  notify(hub, 1, hub.now() + 15 * DAY);
  await hub.work(10 * SECOND);
  assert.equal(rows(hub).notifications, 1, 'it ran again at once, and did not wait for the time of before');
  const runs = (await applied(ada)).length;
  for (let minute = 0; minute < 5; minute++) {
    await hub.work(MINUTE);
  }
  assert.equal((await applied(ada)).length, runs);
  await hub.work(106 * DAY);
  assert.equal(rows(hub).notifications, 0, 'what was written under the wrong clock goes too, in its time');
});

test('a run that was cut off goes on, and its record counts all that it removed', async (t) => {
  const { hub, ada } = await hubWithOldRows(t, []);
  storeNotifications(hub, 1, 12_000); // more than two steps
  const repair = failWrites(hub, 'DELETE', 'notifications', 9_000);

  await assert.rejects(removeOldRows(hub.handle), /made to fail/);
  const left = rows(hub).notifications;
  assert.ok(left > 3_000 && left < 12_000, `${left} are left`);
  assert.deepEqual(await applied(ada), []);
  repair();
  await removeOldRows(hub.handle);

  assert.equal(rows(hub).notifications, 0);
  assert.deepEqual(await applied(ada), [{ notifications: 12_000 }]);
});

test('a preview counts and changes nothing', async (t) => {
  const { hub } = await hubWithOldRows(t, [1, 91, 366], { AUDIT_RETENTION_DAYS: '0' });
  const before = rows(hub);

  const preview = previewRetention(hub.handle);

  assert.deepEqual(preview.map(({ kind, rows: count }) => [kind, count]), [
    ['notifications', 2], ['readingHistory', 1], ['posts', 0], ['auditRecords', 0], ['errorEvents', 2],
  ]);
  assert.equal(preview.find(({ kind }) => kind === 'auditRecords')?.before, null, 'kept for ever');
  assert.deepEqual(rows(hub), before);
});

test('what expires by itself is gone within minutes: invitations, sessions, rate limits, finished jobs', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  await ada.post('/api/invitations', { hours: 1, currentPassword: hub.password });
  await hub.anybody.post('/api/session', { username: 'ada', password: 'wrong password' });
  jobs(hub.handle).enqueue({ kind: 'remove-account', payload: { accountId: 99 } });
  await hub.work();
  const count = (table: string): number => countRows(hub, table);
  const finished = (): number => storedJobs(hub, 'remove-account').length;
  assert.ok(count('invitations') > 0 && count('sessions') > 0 && count('rate_limits') > 0 && finished() > 0);

  await hub.work(31 * DAY);
  await hub.work(MINUTE);

  for (const table of ['invitations', 'sessions', 'rate_limits']) assert.equal(count(table), 0, table);
  assert.equal(finished(), 0, 'jobs of the kind remove-account');
});
