// Protects backups that are made while others write: whole, in time, and of one moment.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { addPost, backupHub, type BackupHub } from '../../support/backup-hub.ts';
import { moneyIn } from '../../support/stored-posts.ts';
import { newestId, type Stored } from '../../support/stored-rows.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** A process that changes the hub all the time; gives what it said. */
async function keepBusy(t: TestContext, hub: BackupHub): Promise<() => string> {
  const program = join(import.meta.dirname, '../../support/writing-to-backup.ts');
  const child = spawn(process.execPath, [program, hub.dataDir], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stdout.on('data', (text) => (said += text));
  child.stderr.on('data', (text) => (said += text));
  const ended = new Promise((resolve) => child.once('close', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await waitUntil('the writer has begun', () => said !== '');
  return () => said;
}

const movesIn = (hub: Stored): number => newestId(hub, 'attachments');

test('case 1, 2, 3, 29: while a process writes all the time, every backup is whole, in time, and of one moment', async (t) => {
  const hub = backupHub(t);
  for (let id = 2; id <= 2_000; id++) addPost(hub.db, id, 'Owls hunt at night. '.repeat(200));
  for (let n = 0; n < 20; n++) hub.upload(`${n}`);
  const sum = moneyIn(hub);
  const said = await keepBusy(t, hub);

  for (let round = 0; round < 5; round++) {
    const before = movesIn(hub);
    const { path, verification } = await hub.backup();

    assert.deepEqual([verification.verdict, verification.problem], ['verified', null]);
    const copy = openDatabase(join(path, 'hub.db'), { readonly: true });
    assert.equal(moneyIn({ db: copy }), sum);
    assert.ok(movesIn({ db: copy }) >= before && movesIn({ db: copy }) <= movesIn(hub));
    copy.close();
  }

  assert.equal(said(), 'busy\n', 'the writer neither failed nor waited for over four seconds');
});

test('case 6: what was committed before a process was killed, and lies in the log only, is in the backup', async (t) => {
  const hub = backupHub(t);
  for (let n = 0; n < 20; n++) hub.upload(`${n}`);
  for (let id = 2; id <= 20; id++) addPost(hub.db, id, 'text');
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../support/writing-to-backup.ts'), hub.dataDir]);
  const ended = new Promise((resolve) => child.once('close', resolve));
  const start = movesIn(hub);
  await waitUntil('some writes', () => movesIn(hub) > start + 50);
  child.kill('SIGKILL');
  await ended;
  const committed = movesIn(hub);

  const { path, verification } = await hub.backup();

  assert.equal(verification.verdict, 'verified');
  const copy = openDatabase(join(path, 'hub.db'), { readonly: true });
  assert.equal(movesIn({ db: copy }), committed);
  copy.close();
});
