// Protects the probes and the metrics endpoint: what they answer and who may read them.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newDatabaseNote, writeDatabaseNote } from '../../../src/features/hub/database-note.ts';
import { schemaVersion } from '../../../src/platform/db/migrate.ts';
import { createJobQueue } from '../../../src/platform/jobs/job-queue.ts';
import { createHeartbeats } from '../../../src/platform/jobs/scheduler.ts';
import { startHub } from '../../support/hub.ts';
import { addJob } from '../../support/stored-jobs.ts';
import { dropTable } from '../../support/stored-rows.ts';

const TOKEN = 'scrape-token-0123456789';

async function getHealth(address: string, query = ''): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${address}/api/health${query}`);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  return { status: response.status, body: await response.json() as Record<string, unknown> };
}

test('a fresh hub is ready, with nothing failed and a worker that was never seen', async (t) => {
  const { address, db } = await startHub(t);

  assert.deepEqual(await getHealth(address), {
    status: 200,
    body: {
      ok: true,
      failedJobs: 0,
      database: 'ok',
      worker: { ok: false, lastSeenSeconds: null },
      schemaVersion: schemaVersion(db),
      oldestDueJobSeconds: 0,
      lastBackup: null,
      lastVerifiedBackup: null,
      offsite: [],
      recoveryKit: null,
      lastProvenRestore: [],
      degraded: [],
    },
  });
  assert.deepEqual(await getHealth(address, '?probe=ready'), await getHealth(address));
});

test('a worker that was seen 30 seconds ago is well, after that it is not, and the hub stays ready', async (t) => {
  const { address, db, now, passTime } = await startHub(t);
  createHeartbeats(db, now).beat('worker');

  passTime(30_000);
  assert.deepEqual((await getHealth(address)).body['worker'], { ok: true, lastSeenSeconds: 30 });
  passTime(1_000);
  const late = await getHealth(address);

  assert.deepEqual(late.body['worker'], { ok: false, lastSeenSeconds: 31 });
  assert.deepEqual([late.status, late.body['ok']], [200, true]);
});

test('a database that is removed under the hub turns readiness to 503 and says not to stop the hub, nor to restore', async (t) => {
  const { address, config: { databasePath: path } } = await startHub(t);
  assert.equal((await getHealth(address)).status, 200);
  renameSync(path, `${path}-aside`);

  const { status, body } = await getHealth(address);

  assert.deepEqual([status, body['ok'], body['error']], [503, false, 'database-gone']);
  assert.match(String(body['problem']), /^hub\.db was removed while the hub runs\. Only the running hub still has what can be saved/);
  assert.match(String(body['whatToDo']), /^Do not stop the hub and do not restore a backup before the copy is verified\./);
  assert.equal((await getHealth(address, '?probe=live')).status, 200);
  copyFileSync(`${path}-aside`, path);
  assert.equal((await getHealth(address)).status, 503, 'another file does not end it');
});

test('why a lost database could not be saved is told to everybody without the path of DATA_DIR', async (t) => {
  const { address, dataDir, now } = await startHub(t);
  mkdirSync(join(dataDir, 'run'), { recursive: true });
  const problem = `EACCES: permission denied, open '${dataDir}/.rescue-1'`;
  writeDatabaseNote(dataDir, { ...newDatabaseNote('removed', now()), problem });

  const { status, body } = await getHealth(address);
  assert.equal(status, 503);
  assert.match(String(body['problem']), /could not be written yet: EACCES: permission denied, open 'DATA_DIR\/\.rescue-1'/);
  assert.ok(!JSON.stringify(body).includes(dataDir));
});

test('failed synchronisations are counted, other failed jobs are not', async (t) => {
  const { address, db, now } = await startHub(t);
  const failed = addJob({ db }, { state: 'failed' });
  for (const state of ['failed', 'done'] as const) addJob({ db }, { state });
  addJob({ db }, { kind: 'clean-up', state: 'failed' });
  assert.equal((await getHealth(address)).body['failedJobs'], 2);

  createJobQueue(db, now).retry(failed);

  assert.equal((await getHealth(address)).body['failedJobs'], 1);
});

test('the oldest due job may be of any kind', async (t) => {
  const { address, db, now } = await startHub(t);
  for (const late of [5_000, -90_000]) addJob({ db }, { runAt: now() - late });
  addJob({ db }, { kind: 'clean-up', runAt: now() - 70_000 });

  assert.equal((await getHealth(address)).body['oldestDueJobSeconds'], 70);
});

test('a database that cannot be read is 503, and the reason goes to the log and not to the client', async (t) => {
  const { address, db, logged } = await startHub(t);
  dropTable({ db }, 'heartbeats');

  const { status, body } = await getHealth(address);

  assert.equal(status, 503);
  assert.deepEqual(body, { ok: false, database: 'unreadable', error: 'The database is not readable.' });
  const [line] = logged().filter(({ level }) => level === 'error');
  assert.match(JSON.stringify(line), /heartbeats/);
});

test('liveness does not read the database, and an unknown probe is refused', async (t) => {
  const { address, db } = await startHub(t);
  for (const table of ['heartbeats', 'jobs', 'schema_migrations']) dropTable({ db }, table);

  assert.deepEqual(await getHealth(address, '?probe=live'), { status: 200, body: { ok: true } });
  assert.equal((await getHealth(address, '?probe=ready')).status, 503);
  assert.equal((await getHealth(address, '?probe=startup')).status, 400);
});

test('metrics need the whole token, and only when one is set', async (t) => {
  const open = await startHub(t);
  const closed = await startHub(t, { METRICS_TOKEN: TOKEN });
  const ask = (address: string, headers: Record<string, string>): Promise<Response> =>
    fetch(`${address}/api/metrics`, { headers });

  assert.equal((await ask(open.address, {})).status, 200);
  assert.equal((await ask(closed.address, { authorization: `Bearer ${TOKEN}` })).status, 200);
  assert.equal((await ask(closed.address, { authorization: `bearer ${TOKEN}` })).status, 200);
  const wrong = ['', TOKEN, `Basic ${TOKEN}`, 'Bearer', 'Bearer ', `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`];
  for (const authorization of wrong) {
    const refused = await ask(closed.address, authorization ? { authorization } : {});
    assert.equal(refused.status, 401, authorization);
    assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer realm=/);
    assert.doesNotMatch(await refused.text(), /service_/);
  }
});
