// Protects the lock of backups: one runs at a time, and one that was killed does not block the next.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isFileLocked, takeFileLock } from '../../../src/features/hub/data-locks.ts';
import { PROJECT_ROOT } from '../../support/run-program.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Another process that takes the lock, says whether it got it, and keeps it until it is killed. */
async function holder(t: TestContext, path: string) {
  const code = `
    import { takeFileLock } from ${JSON.stringify(join(PROJECT_ROOT, 'src/features/hub/data-locks.ts'))};
    globalThis.lock = takeFileLock(process.argv[1]);
    process.stdout.write(globalThis.lock ? 'taken' : 'refused');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (text) => (said += text));
  const ended = new Promise((resolve) => child.once('close', resolve));
  const end = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(end);
  await waitUntil('the other process has tried', () => said !== '');
  return { said, end };
}

test('a lock is had by one, and free again when released; asking makes no file', (t) => {
  const path = join(temporaryFolder(t), 'lock.db');
  assert.equal(isFileLocked(path), false);
  assert.equal(existsSync(path), false);

  const lock = takeFileLock(path);
  assert.ok(lock);
  assert.equal(takeFileLock(path), undefined);
  assert.equal(isFileLocked(path), true);

  lock.release();
  assert.equal(isFileLocked(path), false);
  const again = takeFileLock(path);
  assert.ok(again);
  again.release();
});

test('case 21: the lock of a process that was killed is free at once', async (t) => {
  const path = join(temporaryFolder(t), 'lock.db');
  const other = await holder(t, path);
  assert.equal(other.said, 'taken');
  assert.deepEqual([isFileLocked(path), takeFileLock(path)], [true, undefined]);

  await other.end();

  assert.equal(isFileLocked(path), false);
  const mine = takeFileLock(path);
  assert.ok(mine);
  assert.equal((await holder(t, path)).said, 'refused');
  mine.release();
});

test('case 21: what the lock file holds does not matter to whether it is locked, unless it is no such file', (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'empty'), '');
  const lock = takeFileLock(join(folder, 'empty'));
  assert.ok(lock);
  lock.release();

  writeFileSync(join(folder, 'text'), 'pid 4711 '.repeat(1_000));
  assert.throws(() => takeFileLock(join(folder, 'text')), /not a database/);
});

test('many who ask whether it is locked do not keep anybody from taking it', async (t) => {
  const path = join(temporaryFolder(t), 'lock.db');
  takeFileLock(path)?.release();
  const code = `
    import { writeSync } from 'node:fs';
    import { isFileLocked } from ${JSON.stringify(join(PROJECT_ROOT, 'src/features/hub/data-locks.ts'))};
    writeSync(1, 'asking'); // now: this process never comes to its event loop
    for (;;) isFileLocked(process.argv[1]);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, path], { stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));

  for (let n = 0; n < 40; n++) {
    const lock = takeFileLock(path);
    assert.ok(lock, `attempt ${n}`);
    lock.release();
  }
});
