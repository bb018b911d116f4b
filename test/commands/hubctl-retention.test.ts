// Protects `hubctl retention`: a preview removes nothing, a run removes at once and is on record.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { notifications } from '../../src/features/notifications/notification-store.ts';
import { DAY } from '../../src/platform/clock.ts';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { hubctl } from '../support/hubctl.ts';
import { hubEnvironment, temporaryDataDir } from '../support/hub-process.ts';
import { putDatabase } from '../support/migrated-database.ts';
import { addAccount, storedActs } from '../support/stored-accounts.ts';
import { countRows } from '../support/stored-rows.ts';

/** The command on a hub in a temporary folder with notifications that are 80 and 100 days old. */
async function hubWithNotifications(t: TestContext, env: Record<string, string> = {}) {
  const dataDir = temporaryDataDir(t);
  const run = (...args: string[]) => hubctl(hubEnvironment(dataDir, env), 'retention', ...args);
  putDatabase(`${dataDir}/hub.db`);
  const db = openDatabase(`${dataDir}/hub.db`);
  t.after(() => db.close());
  const accountId = addAccount({ db }, 'ada', 'admin');
  for (const age of [80, 100]) {
    notifications({ db, clock: () => Date.now() - age * DAY }).add({ accountId, kind: 'test', title: `${age} days ago`, path: '/' });
  }
  return { run, count: () => countRows({ db }, 'notifications'), db };
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
  assert.deepEqual(storedActs({ db }).map(({ act, actorName, detail }) => [act, actorName, detail]),
    [['retention.applied', 'command line', '{"notifications":1}']]);
  assert.match((await run()).stdout, /^notifications\t0\t/m);
});

test('retention refuses what it does not know', async (t) => {
  const { run } = await hubWithNotifications(t);
  for (const args of [['now'], ['--all']]) assert.equal((await run(...args)).status, 2, args.join());
});
