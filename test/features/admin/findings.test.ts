// Protects the list of findings that the overview and the command line show: what is wrong, since when, what to do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BURST } from '../../../src/features/health/conditions.ts';
import { findings, problemsOf, type Finding } from '../../../src/features/health/findings.ts';
import { FINE, history } from '../../../src/features/history/history-store.ts';
import { heartbeats, jobs, type Hub } from '../../../src/features/hub/hub.ts';
import { workerQueue } from '../../../src/features/hub/worker-jobs.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { addFeed } from '../../support/accounts.ts';
import { conditionsOn } from '../../support/conditions.ts';
import { rss, serving } from '../../support/feeds.ts';
import { startHub } from '../../support/hub.ts';
import { reply, startOrigin } from '../../support/origin.ts';
import { answering, hubWithReceiver, raise } from '../../support/receiver.ts';
import { hubWithWebhook } from '../../support/webhooks.ts';

function of(hub: Hub, subject: string): Finding {
  const found = findings(hub).filter((one) => one.subject === subject);
  assert.equal(found.length, 1, subject);
  return found[0] as Finding;
}

/** What a finding says is wrong, since when, and where one is led. */
function troubleOf(hub: Hub, subject: string) {
  const { level, problem, since, href } = of(hub, subject);
  return { level, problem, since, href };
}

test('the hub’s list of findings has each subject once, in the overview’s order; each fault has a sentence and an advice', async (t) => {
  const hub = await startHub(t);
  const all = findings(hub.handle);

  assert.deepEqual(all.map(({ subject, level }) => `${subject}: ${level}`), [
    'Web: good', 'Worker: bad', 'Queue: good', 'Sources: good', 'Webhooks: off', 'Errors: good', 'Alerts: off', 'Backup here: warn',
    'Verification: off', 'Copies elsewhere: off', 'Recovery kit: off', 'Disk: good', 'Database: good', 'Files: good',
    'Version: good',
  ]);
  assert.deepEqual(problemsOf(all).map(({ subject }) => subject), ['Worker', 'Backup here'], 'the worst first');
  for (const { isBad, problem, whatToDo, subject } of all) {
    assert.equal(problem !== null, isBad, subject);
    if (isBad) assert.match(`${problem} ${whatToDo}`, /^[A-Z0-9].*\. [A-Z].*\.$/, subject);
  }
});

test('hubctl sees from its heartbeat whether web runs; web itself runs', async (t) => {
  const { handle, ...hub } = await startHub(t);
  const hubctl: Hub = { ...handle, program: 'hubctl' };
  assert.equal(of(handle, 'Web').level, 'good');
  assert.deepEqual(troubleOf(hubctl, 'Web'), { level: 'bad', problem: 'The web process is not running.', since: null, href: null });
  assert.deepEqual(conditionsOn(hubctl, 'Web'), ['web-silent']);
  heartbeats(handle).beat('web');
  const seenAt = hub.now();
  hub.passTime(2 * MINUTE);
  assert.equal(of(hubctl, 'Web').level, 'good');
  hub.passTime(MINUTE);
  assert.deepEqual([of(hubctl, 'Web').level, of(hubctl, 'Web').since], ['bad', seenAt]);
});

test('a job that has waited for more than an hour is told since when, and those that failed for good until somebody acts', async (t) => {
  const { handle, ...hub } = await startHub(t);
  const [dueAt] = [hub.now(), jobs(handle).enqueue({ kind: 'scan-upload', payload: {}, dedupeKey: 'a', maxAttempts: 1 })];
  hub.passTime(HOUR);
  assert.deepEqual([of(handle, 'Queue').level, of(handle, 'Queue').state], ['good', '1 waiting']);
  hub.passTime(MINUTE);
  assert.deepEqual(troubleOf(handle, 'Queue'), {
    level: 'bad', problem: 'A job has waited for 1 h.', since: dueAt, href: '/admin/jobs',
  });
  assert.deepEqual(conditionsOn(handle, 'Queue'), ['queue-late']);
  for (const job of workerQueue(handle).claim('scan-upload', 1)) workerQueue(handle).fail(job, new Error('no scanner'));
  assert.deepEqual(troubleOf(handle, 'Queue'), {
    level: 'warn', problem: 'One job has failed for good.', since: hub.now(), href: '/admin/jobs?state=failed',
  });
  assert.deepEqual(conditionsOn(handle, 'Queue'), ['jobs-failed']);
});

test('one feed that has gone is news for its owner; many, or all of one host, concern the operator, and say since when', async (t) => {
  const hub = await startHub(t, { SYNC_MAX_ATTEMPTS: '1' });
  const ada = await hub.person('ada');
  const answers = { large: 200, small: 200, other: 200 };
  for (const [name, feeds] of [['large', 17], ['small', 1], ['other', 3]] as const) {
    const well = serving(() => rss(name, []));
    const { url } = await startOrigin(t, (...args) => (answers[name] === 200 ? well : reply(answers[name], {}))(...args));
    for (let n = 0; n < feeds; n++) await addFeed(ada, `${url}/${n}`);
  }
  /** All feeds are fetched a day later, and the sources' finding is looked at. */
  const nextDay = async (changes: Partial<typeof answers>) => {
    Object.assign(answers, changes);
    hub.passTime(DAY);
    for (let n = 0; n < 21; n++) await hub.work();
    return of(hub.handle, 'Sources');
  };
  assert.deepEqual([(await nextDay({})).level, (await nextDay({})).state], ['good', '21 well']);

  const gone = await nextDay({ small: 404 });
  assert.deepEqual([gone.level, gone.state, gone.detail], ['good', '20 of 21 well', '1 failing']);
  assert.equal(of(hub.handle, 'Queue').level, 'good', 'its job is no second trouble');
  assert.equal((await hub.anybody.get('/api/health')).json<{ failedJobs: number }>().failedJobs, 1, 'but it is counted');

  const host = await nextDay({ other: 403 });
  assert.deepEqual([host.level, host.state], ['warn', '4 failing']);
  assert.match(host.problem ?? '', /^All 3 feeds of 127\.0\.0\.1:\d+ are failing\.$/);
  assert.deepEqual([host.since, host.href], [hub.now(), '/admin#failing']);

  assert.equal((await nextDay({ other: 200 })).level, 'good');
  const many = await nextDay({ large: 500 });
  assert.equal(many.problem, '18 of 21 feeds are failing.');
});

test('a webhook that is silent for a week is told since its last event', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const madeAt = hub.now();
  assert.equal(of(hub.handle, 'Webhooks').state, '1 listening');
  await hub.work(8 * DAY);
  assert.deepEqual(troubleOf(hub.handle, 'Webhooks'), {
    level: 'warn', problem: 'Webhooks have been silent for more than 7 days.', since: madeAt, href: '/admin/webhooks',
  });
  assert.deepEqual(conditionsOn(hub.handle, 'Webhooks'), ['webhook-silent']);
  await ada.patch(`/api/sources/${hook.id}`, { paused: true });
  const { level, state, detail } = of(hub.handle, 'Webhooks');
  assert.deepEqual([level, state, detail], ['good', '0 listening', '1 paused'], 'it is there, and nobody misses it');
});

test('as many unexpected errors as an alert is sent of are told, with or without a receiver, until they are over', async (t) => {
  const { handle, ...hub } = await startHub(t);
  const startedAt = hub.now();
  const errors = (count: number): void => hub.db.write('test', () => history(handle).add(hub.now(), { errors: count }));
  errors(BURST - 1);
  hub.passTime(FINE);
  assert.deepEqual([of(handle, 'Errors').level, of(handle, 'Errors').state], ['good', '19 recently']);
  errors(1);
  assert.deepEqual(troubleOf(handle, 'Errors'), {
    level: 'warn', problem: 'There are many unexpected errors: 20 in the last minutes.', since: startedAt, href: '/admin/errors',
  });
  hub.passTime(HOUR);
  assert.equal(of(handle, 'Errors').state, 'none recently');
  hub.passTime(-HOUR / 2 - FINE);
  assert.equal(of(handle, 'Errors').level, 'good', 'what lies ahead since the clock was is not of late');
});

test('an alert that reached nobody is told until one arrives', async (t) => {
  const { hub, receiver, tell, tellFor } = await hubWithReceiver(t);
  assert.equal(of(hub.handle, 'Alerts').state, 'none sent yet');
  receiver.answerWith(answering(500));
  raise(hub, 'sync-failed', 'one');
  await tell();
  assert.equal(of(hub.handle, 'Alerts').level, 'warn');
  await tellFor(3 * DAY, HOUR);
  assert.equal(of(hub.handle, 'Alerts').problem, 'The last alert was lost.');
  assert.deepEqual(conditionsOn(hub.handle, 'Alerts'), ['alert-undelivered']);
  receiver.take();
  raise(hub, 'sync-failed', 'two');
  await tell();
  assert.equal(of(hub.handle, 'Alerts').level, 'good');
});
