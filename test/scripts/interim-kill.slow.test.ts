// Protects interim backups from being killed while others write: what is there is whole and of one moment, or not there.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { INTERIM_KEPT } from '../../src/features/backups/make-interim.ts';
import { backupLock, isFileLocked } from '../../src/features/hub/data-locks.ts';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { addPost, backupHub, verify, type BackupHub } from '../support/backup-hub.ts';
import { startProgram } from '../support/child-program.ts';
import { hubEnvironment } from '../support/hub-process.ts';
import { otherDisk } from '../support/other-disk.ts';
import { randomBelow } from '../support/random.ts';
import { compiledIn, PROJECT_ROOT } from '../support/run-program.ts';
import { moneyIn } from '../support/stored-posts.ts';
import { newestId } from '../support/stored-rows.ts';
import { waitUntil } from '../support/wait-until.ts';

/** INTERIM_KILLS=60 is how many it was tried with. */
const KILLS = Number(process.env['INTERIM_KILLS'] ?? 8);

const LAUNCH = join(PROJECT_ROOT, 'src/bin/launch.ts');

function start(t: TestContext, hub: BackupHub, backupDir: string) {
  const env = hubEnvironment(hub.dataDir, { ...compiledIn(hub.dataDir), BACKUP_DIR: backupDir });
  const child = spawn(process.execPath, [LAUNCH, 'hubctl', 'backup', '--interim'], { env, stdio: 'ignore' });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  t.after(() => child.kill('SIGKILL'));
  return { child, ended };
}

/** A hub in which another process moves money between posts, and adds and removes uploads, all the time. */
async function busyHub(t: TestContext): Promise<BackupHub> {
  const hub = backupHub(t);
  for (let id = 2; id <= 400; id++) addPost(hub.db, id, 'Owls hunt at night. '.repeat(100));
  for (let n = 0; n < 200; n++) hub.upload(`${n}`);
  const before = newestId(hub, 'attachments');
  startProgram(t, 'writing-to-backup.ts', hub.dataDir);
  await waitUntil('the writer has begun', () => newestId(hub, 'attachments') > before);
  return hub;
}

function finishedIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('.')).sort() : [];
}

/** Every finished backup is whole, and of one moment: whatever was moved, the sum is the same. */
async function assertWhole(folder: string, names: string[], sum: number): Promise<void> {
  for (const name of names) {
    const { verdict, problem } = await verify(join(folder, name));
    assert.deepEqual([verdict, problem], ['verified', null], name);
    const copy = openDatabase(join(folder, name, 'hub.db'), { readonly: true });
    assert.equal(moneyIn({ db: copy }), sum, name);
    copy.close();
  }
}

for (const place of ['on the disk of DATA_DIR', 'on another disk']) {
  test(`killed at ${KILLS} moments under writes, interim backups ${place} are whole or not there, and none is lost`, async (t) => {
    const hub = await busyHub(t);
    const sum = moneyIn(hub);
    const backupDir = place === 'on another disk' ? otherDisk(t, hub.dataDir) : join(hub.dataDir, 'backups');
    if (backupDir === undefined) return;
    const folder = join(backupDir, 'interim');
    const seed = randomInt(2 ** 31);
    const below = randomBelow(seed);
    const began = performance.now();
    assert.equal(await start(t, hub, backupDir).ended, 0);
    const span = performance.now() - began;
    let finished = finishedIn(folder);
    let killed = 0;

    for (let run = 0; killed < KILLS; run++) {
      assert.ok(run < 4 * KILLS, `they end before they are killed; seed ${seed}`);
      const { child, ended } = start(t, hub, backupDir);
      await Promise.race([sleep((below(1_001) / 1_000) * span * 1.1), ended]);
      if (child.kill('SIGKILL')) killed++;
      await ended;
      const now = finishedIn(folder);
      const kept = finished.slice(1 - INTERIM_KEPT); // a run may remove older ones
      assert.deepEqual(kept.filter((name) => !now.includes(name)), [], `none is lost; seed ${seed}, run ${run}`);
      assert.ok(!isFileLocked(backupLock(hub.dataDir)), `seed ${seed}, run ${run}`);
      await assertWhole(folder, now.filter((name) => !finished.includes(name)), sum);
      finished = now;
    }

    assert.equal(await start(t, hub, backupDir).ended, 0, 'the next run works');
    assert.deepEqual(readdirSync(folder).filter((name) => name.startsWith('.')), [], 'and removes what the dead left');
    await assertWhole(folder, finishedIn(folder), sum);
    t.diagnostic(`seed ${seed}: ${killed} kills, ${finished.length} finished, ${statSync(folder).nlink - 2} folders`);
  });
}
