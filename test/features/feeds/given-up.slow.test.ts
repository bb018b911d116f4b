// Protects the limits of what is waited for: a hub that never answers, a database that is never free.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { assertNoBackup, backupHub } from '../../support/backup-hub.ts';
import { hubctl } from '../../support/hubctl.ts';
import { listen } from '../../support/ports.ts';
import { PROJECT_ROOT, runProgram } from '../../support/run-program.ts';
import { retitlePosts } from '../../support/stored-posts.ts';
import { countRows } from '../../support/stored-rows.ts';

test('the health check gives up on a hub that accepts and never answers', async (t) => {
  const port = await listen(t, createServer(() => undefined));

  const { status, stderr } = await runProgram(join(PROJECT_ROOT, 'scripts/healthcheck.sh'), [], {
    env: { PATH: '/usr/bin:/bin', HUB_NODE: process.execPath, PORT: String(port) },
  });

  assert.equal(status, 1);
  assert.match(stderr, /did not answer in time/);
});

test('a lock that another process holds too long ends hubctl with 75, and nothing was done', async (t) => {
  const { dataDir, db } = backupHub(t);
  const other = openDatabase(join(dataDir, 'hub.db'));
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');

  const busy = { status: 75, stdout: '', stderr: 'hubctl: the database is busy; try again\n' };
  assert.deepEqual(await hubctl(dataDir, 'invite'), busy);

  other.exec('ROLLBACK');
  assert.equal(countRows({ db }, 'invitations'), 0);
  assert.equal((await hubctl(dataDir, 'invite')).status, 0);
});

test('case 4: a database that another program keeps to itself cannot be backed up, and that is said', async (t) => {
  const hub = backupHub(t);
  hub.db.pragma('locking_mode = EXCLUSIVE');
  retitlePosts(hub, 'Owls', 1); // takes the lock

  await assertNoBackup(hub, /holds a lock on the database/);
});
