// Protects the administrators' pages: for administrators alone, and what they show and do there is true and on record.
import assert from 'node:assert/strict';
import { ADMIN_LISTS } from '../../../src/app/frame/admin-lists.ts';
import { noteError } from '../../../src/features/errors/error-store.ts';
import { audit, type AuditEvent } from '../../../src/features/audit/audit.ts';
import { jobs } from '../../../src/features/hub/hub.ts';
import { workerQueue } from '../../../src/features/hub/worker-jobs.ts';
import { test, type TestContext } from 'node:test';
import { addNotes, itemsAt } from '../../support/accounts.ts';
import { conditionsOn } from '../../support/conditions.ts';
import { hubWith } from '../../support/hub.ts';
import { overviewOf } from '../../support/overview.ts';
import { addFailedJob } from '../../support/stored-jobs.ts';

type Job = { id: number; state: string; kind: string; subject: string | null; attempts: number; lastError: string | null };

const PAGES = ['', '/jobs', '/errors', '/alerts', '/webhooks', '/audit', '/accounts', '/invitations'];

/** A hub with an administrator, a member, and a synchronisation that has failed for good. */
async function hubWithFailedJob(t: TestContext) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const jobId = addFailedJob(workerQueue(hub.handle), '1', 'it answered <b>500</b>');
  return { hub, ada, bob, jobId };
}

test('each list stands at its own address, under the name by which the navigation leads to it', async (t) => {
  const { ada } = await hubWith(t, ['ada']);

  for (const { page, title } of ADMIN_LISTS) {
    const { text } = await ada.page(page);
    assert.ok(text.includes(`<h1>${title}</h1>`), page);
    assert.ok(text.includes(`<a href="${page}" aria-current="page">${title}</a>`), page);
  }
});

test('the navigation names admin to administrators only', async (t) => {
  const { hub, ada, bob } = await hubWithFailedJob(t);

  assert.match((await ada.page('/')).text, /href="\/admin"/);
  assert.doesNotMatch((await bob.page('/')).text, /\/admin/);
  assert.doesNotMatch((await hub.anybody.page('/')).text, /\/admin/);
});

test('a failed job is run again by an administrator, once, and that is on record', async (t) => {
  const { hub, ada, jobId } = await hubWithFailedJob(t);
  assert.equal((await hub.anybody.get('/api/health')).json()['failedJobs'], 1);
  const [listed] = await itemsAt<Job>(ada, '/api/admin/jobs?state=failed');
  assert.deepEqual([listed?.id, listed?.subject, listed?.lastError], [jobId, '1', 'it answered <b>500</b>']);

  const retried = await ada.post(`/api/admin/jobs/${jobId}/retry`);

  assert.equal(retried.status, 200);
  assert.deepEqual([retried.json<Job>().state, retried.json<Job>().attempts], ['queued', 0]);
  assert.equal((await ada.post(`/api/admin/jobs/${jobId}/retry`)).status, 409);
  assert.equal((await hub.anybody.get('/api/health')).json()['failedJobs'], 0);
  const records = await itemsAt(ada, '/api/admin/audit?act=job.retried');
  assert.deepEqual(records.map(({ target }) => target), [{ kind: 'job', id: jobId, name: 'sync-source' }]);
});

test('a job is given up by an administrator unless it runs', async (t) => {
  const { hub, ada, jobId } = await hubWithFailedJob(t);
  jobs(hub.handle).enqueue({ kind: 'sync-source', payload: { sourceId: 2 }, dedupeKey: '2' });
  const [running] = workerQueue(hub.handle).claim('sync-source', 1);
  assert.ok(running);

  assert.equal((await ada.delete(`/api/admin/jobs/${jobId}`)).status, 204);
  assert.equal((await ada.delete(`/api/admin/jobs/${jobId}`)).status, 409);
  assert.equal((await ada.delete(`/api/admin/jobs/${running.id}`)).status, 409);
  assert.deepEqual((await itemsAt<Job>(ada, '/api/admin/jobs')).map(({ state }) => state), ['running', 'discarded']);
});

test('accounts are listed with what they own, and never their passwords', async (t) => {
  const { ada, bob } = await hubWith(t, ['ada', 'bob']);
  await addNotes(bob);
  await bob.delete(`/api/sources/${await addNotes(bob, 'Gone')}`);

  const accounts = await itemsAt(ada, '/api/admin/accounts');

  assert.deepEqual(accounts.map(({ username, role, sources }) => [username, role, sources]), [['ada', 'admin', 0], ['bob', 'member', 1]]);
  assert.doesNotMatch(JSON.stringify(accounts), /argon2|hash/i);
  const { text } = await ada.page('/admin/accounts');
  assert.match(text, /<td>bob<\/td><td>member<\/td>/);
  assert.match(text, /<td>ada<\/td><td>administrator<\/td>/);
});

test('the pages show what publishers and errors say as text, never as markup', async (t) => {
  const { hub, ada } = await hubWithFailedJob(t);
  noteError(hub.handle, new Error('<script>alert(1)</script>'));
  audit(hub.handle, '<i>act</i>' as AuditEvent, { id: null, name: '<img src=x>', address: null }, { kind: 'x', id: 1, name: '<b>b</b>' }, { '<u>': '<s>' });

  for (const page of PAGES) {
    const answer = await ada.page(`/admin${page}`);
    assert.equal(answer.status, 200, page);
    assert.doesNotMatch(answer.text, /<script(?! src="\/assets\/)|<img|<b>|<i>|<s>|<u>/, page);
    assert.equal(answer.headers.get('cache-control'), 'private, no-cache', page);
  }
  assert.match((await ada.page('/admin/jobs')).text, /it answered &lt;b&gt;500/);
});

test('the overview tells what needs attention', async (t) => {
  const { hub, ada } = await hubWithFailedJob(t);
  const before = await overviewOf(ada);
  assert.match(before.verdict, /^The worker is not running: sources are not synchronised\. One more thing needs attention\./);
  assert.deepEqual(before.tiles.get('Worker'), { level: 'bad', state: 'not running', more: 'never seen' });
  assert.deepEqual(before.tiles.get('Queue'), { level: 'good', state: '0 waiting', more: 'oldest due job 0 s' }, 'a failed sync is news for its owner');
  assert.deepEqual(before.tiles.get('Backup here'), { level: 'warn', state: 'none yet', more: '' });
  assert.deepEqual(conditionsOn(hub.handle, 'Backup here'), ['backup-none']);

  await hub.work();
  await ada.delete('/api/admin/jobs/1');

  const after = await overviewOf(ada);
  assert.match(after.verdict, /^The hub works, but no backup has been made yet\. Run /);
  assert.deepEqual(after.tiles.get('Worker'), { level: 'good', state: 'running', more: 'last seen 0 s ago' });
  assert.deepEqual(after.tiles.get('Queue'), { level: 'good', state: '0 waiting', more: 'oldest due job 0 s' });
  assert.match(after.tiles.get('Disk')?.state ?? '', /^\d.* (GiB|MiB) free$/);
});
