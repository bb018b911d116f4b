import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFileLocked } from '../src/platform/db/file-lock.ts';
import { backupLock } from '../src/features/backups/backup-locks.ts';
import { readBackupStatus } from '../src/features/backups/backup-status.ts';
import { addPost, backupHub, verify, type BackupHub } from './support/backup-hub.ts';
import { hubEnvironment } from './support/hub-process.ts';
import { PROJECT_ROOT } from './support/run-program.ts';
import { waitUntil } from './support/wait-until.ts';

/** A hub whose backup takes about half a second. */
function largeHub(t: TestContext): BackupHub {
  const hub = backupHub(t);
  hub.db.transaction('posts', () => {
    for (let id = 2; id < 1_500; id++) addPost(hub.db, id, randomBytes(1_500).toString('hex'));
  })();
  for (let n = 0; n < 12; n++) hub.upload(randomBytes(1_000_000));
  return hub;
}

type Running = { child: ChildProcess; said(): string; ended: Promise<number | NodeJS.Signals | null> };

function startBackup(t: TestContext, hub: BackupHub): Running {
  const args = [join(PROJECT_ROOT, 'src/bin/launch.ts'), 'hubctl', 'backup'];
  const child = spawn(process.execPath, args, { env: hubEnvironment(hub.dataDir), cwd: join(hub.dataDir, '..') });
  let said = '';
  child.stderr.on('data', (text) => (said += text));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (status, signal) => resolve(status ?? signal));
  });
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, said: () => said, ended };
}

/** Whatever happened: finished names are good backups, a dead run's lock is free, the next run works and cleans up. */
async function assertUnharmed(hub: BackupHub, finished: number): Promise<void> {
  const names = hub.backups().filter((name) => !name.startsWith('.'));
  assert.ok(names.length === finished || names.length === finished + 1, names.join());
  for (const name of names) assert.equal((await verify(join(hub.dataDir, 'backups', name))).verdict, 'verified', name);
  assert.ok(!isFileLocked(backupLock(hub.dataDir)));
}

const STEPS: Record<string, (hub: BackupHub, run: Running) => boolean> = {
  'before it does anything': () => true,
  'as it takes the lock': (hub) => existsSync(backupLock(hub.dataDir)),
  'as its folder appears': (hub) => partial(hub).length > 0,
  'as it copies the database': (hub) => partial(hub).includes('hub.db'),
  'as the database is copied': (_, run) => run.said().includes('archiving'),
  'as it archives': (hub) => partial(hub).includes('uploads.tar.gz'),
  'as it writes the hashes': (hub) => partial(hub).includes('SHA256SUMS'),
  'as it checks the database': (_, run) => run.said().includes('content of the database'),
  'as it checks the archive': (_, run) => run.said().includes('checking the attachments'),
  'as it is published': (hub) => hub.backups().some((name) => !name.startsWith('.')),
};

/** The files of the backup that is being made. */
function partial(hub: BackupHub): string[] {
  const name = hub.backups().find((one) => one.startsWith('.tmp-'));
  if (name === undefined) return [];
  try {
    return ['', ...readdirSync(join(hub.dataDir, 'backups', name))];
  } catch {
    return []; // it has just been published
  }
}

for (const [step, isReached] of Object.entries(STEPS)) {
  test(`case 16, 21: killed ${step}, a backup leaves nothing that looks like one, and the next run is not hindered`, async (t) => {
    const hub = largeHub(t);
    const run = startBackup(t, hub);
    await waitUntil(step, () => run.child.exitCode !== null || isReached(hub, run));
    run.child.kill('SIGKILL');
    await run.ended;

    await assertUnharmed(hub, 0);
    const finished = hub.backups().filter((name) => !name.startsWith('.')).length;
    const { name } = await hub.backup();
    assert.equal(hub.backups().length, finished + 1, 'what the dead run left is gone');
    assert.ok(hub.backups().includes(name));
  });
}

test('case 16: killed at any moment', async (t) => {
  const hub = largeHub(t);
  let finished = 0;
  for (let n = 0; n < 12; n++) {
    const run = startBackup(t, hub);
    await sleep(150 + 50 * n);
    run.child.kill('SIGKILL');
    await run.ended;
    await assertUnharmed(hub, finished);
    finished = hub.backups().filter((name) => !name.startsWith('.')).length;
  }
});

for (const [signal, status] of [['SIGTERM', 143], ['SIGINT', 130], ['SIGHUP', 129]] as const) {
  test(`case 17: ${signal} ends a backup with ${status}; it leaves nothing and says so`, async (t) => {
    const hub = largeHub(t);
    for (const step of ['copying', 'archiving', 'checking the attachments']) {
      const run = startBackup(t, hub);
      await waitUntil(step, () => run.said().includes(step));
      run.child.kill(signal);

      assert.equal(await run.ended, status, step);
      assert.match(run.said(), new RegExp(`FAILED: stopped by ${signal}; nothing was kept of it\n$`));
      assert.deepEqual(hub.backups(), []);
    }
    const { lastBackup, lastSuccessAt } = readBackupStatus(hub.dataDir);
    assert.deepEqual([lastBackup?.ok, lastSuccessAt], [false, null]);
  });
}
