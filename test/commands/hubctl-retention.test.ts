// Protects `hubctl retention`: a preview removes nothing, a run removes at once and is on record.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { DAY } from '../../src/platform/clock.ts';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { hubctl } from '../support/hubctl.ts';
import { hubEnvironment, temporaryDataDir } from '../support/hub-process.ts';
import { putDatabase } from '../support/migrated-database.ts';

/** The command on a hub in a temporary folder with notifications that are 80 and 100 days old. */
async function hubWithNotifications(t: TestContext, env: Record<string, string> = {}) {
  const dataDir = temporaryDataDir(t);
  const run = (...args: string[]) => hubctl(hubEnvironment(dataDir, env), 'retention', ...args);
  putDatabase(`${dataDir}/hub.db`);
  const db = openDatabase(`${dataDir}/hub.db`);
  t.after(() => db.close());
  db.exec(`INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
    VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0)`);
  for (const age of [80, 100]) {
    db.exec(`INSERT INTO notifications (account_id, kind, title, path, created_at)
      VALUES (1, 'test', 'x', '/', ${Date.now() - age * DAY})`);
  }
  const count = () => db.prepare<[], { n: number }>('count', 'SELECT COUNT(*) AS n FROM notifications').get()?.n;
  return { run, count, db };
}

test('retention --dry-run tells what would go and removes nothing', async (t) => {
  const { run, count } = await hubWithNotifications(t, { AUDIT_RETENTION_DAYS: '0' });

  const { status, stdout } = await run('--dry-run');

  assert.equal(status, 0);
  assert.match(stdout, /^notifications\t1\tolder than \d{4}-\d\d-\d\dT/m);
  assert.match(stdout, /^auditRecords\t0\tkept for ever$/m);
  assert.equal(count(), 2);
  const [first] = JSON.parse((await run('--dry-run', '--json')).stdout) as Record<string, unknown>[];
  assert.deepEqual([first?.['kind'], first?.['keptDays'], first?.['rows']], ['notifications', 90, 1]);
});

test('retention removes at once, says how much, and leaves a record of the command line', async (t) => {
  const { run, count, db } = await hubWithNotifications(t);

  assert.match((await run()).stdout, /^notifications\t1\t/m);

  assert.equal(count(), 1);
  const record = db.prepare<[], { name: string; detail: string }>('record', `
    SELECT actor_name AS name, detail FROM audit_records WHERE act = 'retention.applied'`).get();
  assert.deepEqual({ ...record }, { name: 'command line', detail: '{"notifications":1}' });
  assert.match((await run()).stdout, /^notifications\t0\t/m);
});

test('retention refuses what it does not know', async (t) => {
  const { run } = await hubWithNotifications(t);
  for (const args of [['now'], ['--all']]) assert.equal((await run(...args)).status, 2, args.join());
});
