// Protects the data from a second hub, and a hub from data that changes under it.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isHubRunning, lockForRunning } from '../../../src/features/hub/data-locks.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { type Migration } from '../../../src/platform/db/migration-files.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { MIGRATIONS } from '../../support/migrated-database.ts';

test('a second web on the same data is refused with 75 while the first runs, however that ends', async (t) => {
  const dataDir = temporaryDataDir(t);
  const first = startHubProcess(t, 'web', dataDir);
  const address = await first.address();
  assert.ok(isHubRunning(dataDir));

  const second = startHubProcess(t, 'web', dataDir);

  const { error } = await second.logged('cannot use the database');
  assert.equal(await second.ended, 75);
  assert.match(String(error), /^another hub runs on \/.*: stop it/);
  assert.equal((await fetch(`${address}/api/health`)).status, 200);

  await first.end('SIGKILL');
  assert.ok(!isHubRunning(dataDir));
  assert.ok(lockForRunning(dataDir, 'web'));
});

for (const name of ['web', 'worker'] as const) {
  test(`${name} stops and logs the reason when another program changes the schema`, async (t) => {
    const dataDir = temporaryDataDir(t);
    const program = startHubProcess(t, name, dataDir);
    await program.logged(name === 'web' ? 'listening' : 'working');
    const db = openDatabase(join(dataDir, 'hub.db'));
    t.after(() => db.close());

    const newer = { ...MIGRATIONS[0], version: MIGRATIONS.length + 1, name: 'newer', sql: '' } as Migration;
    migrate(db, [...MIGRATIONS, newer], Date.now);

    const { error } = await program.logged('stopping');
    assert.equal(await program.ended, 1);
    assert.match(String(error), /^schema version \d+ became \d+ while this program ran$/);
    assert.equal(program.lines('stopped').length, 1);
  });
}

test('a database that was lost is not replaced by an empty one, under which all uploads would be removed', async (t) => {
  const dataDir = temporaryDataDir(t);
  mkdirSync(join(dataDir, 'uploads', 'ab'), { recursive: true });
  for (const lost of ['uploads', 'hub.db-wal']) {
    const web = startHubProcess(t, 'web', dataDir);

    const { error } = await web.logged('cannot use the database');
    assert.equal(await web.ended, 1);
    assert.match(String(error), /^there is no .*hub\.db, but other files of a hub are beside it: restore a backup/, lost);
    assert.ok(!existsSync(join(dataDir, 'hub.db')));
    rmSync(join(dataDir, 'uploads', 'ab'), { recursive: true, force: true });
    writeFileSync(join(dataDir, 'hub.db-wal'), 'transactions that are in no file yet');
  }
});

test('several workers share the data, and a hub runs until the last of them has ended', (t) => {
  const dataDir = temporaryDataDir(t);
  mkdirSync(join(dataDir, 'run'));
  const locks = [1, 2, 3].map(() => lockForRunning(dataDir, 'worker'));
  for (const lock of locks) {
    assert.ok(isHubRunning(dataDir));
    lock?.release();
  }
  assert.ok(!isHubRunning(dataDir));
});
