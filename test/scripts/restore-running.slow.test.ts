// Protects a restore of a hub that runs: npm start makes way, and goes on with data that works.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { backupLock, takeFileLock } from '../../src/features/hub/data-locks.ts';
import { isRestoreOpen, isRestoreUnderWay, readRestoreState, readTrial } from '../../src/features/backups/restore-state.ts';
import { openRestored, swapRestored, undoRestore } from '../../src/features/backups/restore-steps.ts';
import { runAroundRestores } from '../../src/app/processes/run-hub.ts';
import { harmUnseen } from '../support/backup-hub.ts';
import { freePort } from '../support/ports.ts';
import { begin, keptIn, leftovers, restorableHub, worldIn, type RestorableHub } from '../support/restore-hub.ts';
import { isHealthy, runRestore, startHub, startRestore } from '../support/restore-script.ts';
import { isRunning } from '../support/run-program.ts';
import { waitUntil } from '../support/wait-until.ts';

test('npm start makes way for a restore and runs on the restored data, in the same process', async (t) => {
  const hub = await restorableHub(t);
  const port = await freePort();
  const running = await startHub(t, hub.dataDir, port);

  const { status, stderr } = await runRestore(hub.dataDir, port, [hub.backup]);

  assert.equal(status, 0, stderr);
  assert.ok(isRunning(running.child.pid ?? 0));
  assert.match(running.stderr(), /the hub pauses; waiting for the restore or the upgrade\n/);
  assert.ok(await isHealthy(running.url));
  assert.deepEqual(await postsOf(running.url), 1);
  assert.equal(await running.end('SIGTERM'), 0);
  assert.deepEqual([worldIn(hub.dataDir, hub), worldIn(keptIn(hub.dataDir), hub)], ['new', 'old']);
});

async function postsOf(url: string): Promise<number> {
  const answer = await (await fetch(`${url}/api/posts`)).json() as { items: unknown[] };
  return answer.items.length;
}

test('after kill -9 of restore.sh on trial the hub ends the trial by itself and keeps the restored data', async (t) => {
  const hub = await restorableHub(t);
  const port = await freePort();
  const running = await startHub(t, hub.dataDir, port, { RESTORE_HEALTH_SECONDS: '8' });
  const run = startRestore(t, hub.dataDir, port, [hub.backup]);
  await waitUntil('the backup is on trial', () => readTrial(hub.dataDir)?.what === 'restore');
  run.signalGroup('SIGKILL');
  await run.ended;
  const write = (): Promise<number> =>
    fetch(`${running.url}/api/session`, { method: 'POST', body: '{}' }).then(({ status }) => status, () => 0);

  await waitUntil('it answers', async () => await write() !== 0);
  assert.deepEqual([await write(), await isHealthy(running.url)], [503, true]);
  await waitUntil('writes are taken again', async () => await write() !== 503);

  assert.equal(isRestoreOpen(hub.dataDir), false);
  assert.match(running.stderr(), /the trial was not ended in time by the script that began it/);
  const recovered = await runRestore(hub.dataDir, port, ['--recover']);
  assert.deepEqual([recovered.status, recovered.stdout], [0, 'no interrupted restore found\n']);
  assert.equal(await running.end('SIGTERM'), 0);
  assert.deepEqual([worldIn(hub.dataDir, hub), leftovers(hub.dataDir)], ['new', []]);
});

// Nobody waits for a hub that has ended: with a limit of an hour, this would not end.
const AT_ONCE = { RESTORE_HEALTH_SECONDS: '3600' };

test('case 65: restored data with which the hub does not start gives way to the old at once, and npm start runs on', { timeout: 180_000 }, async (t) => {
  const hub = await restorableHub(t);
  harmUnseen(hub.backup);
  const port = await freePort();
  const running = await startHub(t, hub.dataDir, port);

  for (const round of ['first', 'second']) {
    const { status, stdout, stderr } = await runRestore(hub.dataDir, port, [hub.backup], AT_ONCE);

    assert.equal(status, 1, round);
    assert.match(stdout, /ROLLED BACK: the previous data is in place again\n$/);
    assert.match(stderr, /^(web|worker) ended by itself \(exit code 1\); the hub has stopped\n/m);
    assert.match(stderr, /restore: the restore failed; rolling back to the previous data\n/);
    assert.ok(await isHealthy(running.url), running.stderr());
    assert.equal(await postsOf(running.url), 2);
  }
  assert.deepEqual([leftovers(hub.dataDir), isRestoreOpen(hub.dataDir)], [[], false]);
  assert.ok(!readdirSync(hub.dataDir).some((name) => name.startsWith('pre-restore-')));
  assert.ok(!existsSync(join(hub.dataDir, 'run/hub.failed')));
  assert.equal(await running.end('SIGTERM'), 0);
  assert.equal(worldIn(hub.dataDir, hub), 'old');
});

test('what a hub that was killed said of another restore does not end the next one', async (t) => {
  const hub = await restorableHub(t);
  const port = await freePort();
  const failure = join(hub.dataDir, 'run/hub.failed');
  writeFileSync(failure, 'of another restore\n');
  const running = await startHub(t, hub.dataDir, port);
  assert.ok(!existsSync(failure));
  writeFileSync(failure, 'of another restore\n');

  const { status, stderr } = await runRestore(hub.dataDir, port, [hub.backup]);

  assert.equal(status, 0, stderr);
  assert.ok(!existsSync(failure));
  assert.equal(await running.end('SIGTERM'), 0);
});

test('case 63, 65: a full disk that does not take why the hub failed keeps nobody from running the old data again', async (t) => {
  const hub = await restorableHub(t);
  await begin(hub.dataDir, hub.backup);
  await swapRestored(hub.dataDir);
  await openRestored(hub.dataDir);
  symlinkSync('/dev/full', join(hub.dataDir, 'run/hub.failed')); // a write to it says ENOSPC
  const worlds: string[] = [];
  const run = async (): Promise<string | null> =>
    worlds.push(worldIn(hub.dataDir, hub)) === 1 ? 'web ended by itself' : null;
  const beginAnew = (): Promise<string | null> => runAroundRestores(hub.dataDir, run, beginAnew);
  const running = beginAnew();

  await undoRestore(hub.dataDir);

  assert.equal(await running, null);
  assert.deepEqual(worlds, ['new', 'old']);
});

test('case 65: the same where nobody runs the hub', { timeout: 180_000 }, async (t) => {
  const hub = await restorableHub(t);
  harmUnseen(hub.backup);
  const { status, stdout } = await runRestore(hub.dataDir, await freePort(), [hub.backup], AT_ONCE);
  assert.equal(status, 1);
  assert.match(stdout, /ROLLED BACK/);
  assert.deepEqual([worldIn(hub.dataDir, hub), leftovers(hub.dataDir)], ['old', []]);
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} ends an npm start that waits for a restore`, async (t) => {
    const hub = await restorableHub(t);
    const port = await freePort();
    const running = await startHub(t, hub.dataDir, port);
    await hub.hubctlWith({ CONFIRM_RESTORE: 'YES' }, 'restore', 'begin', hub.backup);
    running.child.kill('SIGUSR2');
    await waitUntil('it waits', () => running.stderr().includes('waiting for the restore'));
    running.child.kill('SIGUSR2'); // once more does no harm
    assert.notEqual(await running.end(signal), null);
    assert.ok(isRestoreUnderWay(hub.dataDir));

    const recovered = await runRestore(hub.dataDir, port, ['--recover']);
    assert.equal(recovered.status, 0, recovered.stderr);
    assert.equal(worldIn(hub.dataDir, hub), 'old');
  });
}

test('health answers 503 and says why while a restore is under way', async (t) => {
  const hub = await restorableHub(t);
  const running = await startHub(t, hub.dataDir, await freePort());
  await hub.hubctlWith({ CONFIRM_RESTORE: 'YES' }, 'restore', 'begin', hub.backup);

  const answer = await fetch(`${running.url}/api/health`);
  assert.equal(answer.status, 503);
  assert.deepEqual(await answer.json(),
    { ok: false, database: 'unreadable', error: 'A backup is being restored, or a restore was interrupted.' });
  assert.equal((await fetch(`${running.url}/api/health?probe=live`)).status, 200);

  assert.equal((await hub.hubctl('restore', 'undo')).status, 0);
  assert.ok(await isHealthy(running.url));
});

test('a number that another process has by now is not taken for npm start', async (t) => {
  const hub = await restorableHub(t);
  for (const text of [`${process.pid}\n`, '1\n', '-1\n', 'x\n', '', '99999999\n']) {
    writeFileSync(join(hub.dataDir, 'run/hub.pid'), text);
    const { status, stderr } = await runRestore(hub.dataDir, 1, ['--recover']);
    assert.equal(status, 0, stderr);
  }
  writeFileSync(join(hub.dataDir, 'run/hub.pid'), `${process.pid}\n`);
  const { status, stderr } = await runRestore(hub.dataDir, await freePort(), [hub.backup]);
  assert.equal(status, 0, stderr);
  assert.match(stderr, /the hub was not running before/);
});

/** A restore that stays at the moment in which its backup was laid ready and the hub is not stopped yet. */
async function laidReady(t: TestContext, hub: RestorableHub, port: number) {
  const lingering = `echo "$*" >>'${join(hub.dataDir, '../calls')}'; "${process.execPath}" "$@" || exit; case "$*" in *'restore begin'*) exec sleep 60 ;; esac`;
  writeFileSync(join(hub.dataDir, '../node'), `#!/bin/sh\n${lingering}\n`, { mode: 0o755 });
  const restoring = startRestore(t, hub.dataDir, port, [hub.backup], { HUB_NODE: join(hub.dataDir, '../node') });
  await waitUntil('it is laid ready', () => isRestoreUnderWay(hub.dataDir));
  return restoring;
}

test('Ctrl-C when a backup has just been laid ready takes that back; what another restore has laid ready stays', async (t) => {
  const hub = await restorableHub(t);
  const port = await freePort();
  const restoring = await laidReady(t, hub, port);
  restoring.signalGroup('SIGINT');

  assert.equal(await restoring.ended, 130, restoring.said());
  assert.match(restoring.said(), /ROLLED BACK: nothing had been changed\n/);
  assert.deepEqual([isRestoreOpen(hub.dataDir), leftovers(hub.dataDir), worldIn(hub.dataDir, hub)], [false, [], 'old']);

  await begin(hub.dataDir, hub.backup);
  const { status, stderr } = await runRestore(hub.dataDir, port, [hub.backup]);
  assert.deepEqual([status, isRestoreUnderWay(hub.dataDir)], [1, true]);
  assert.match(stderr, /run restore\.sh --recover first\n$/);
});

test('what Ctrl-C takes back may be in use for a moment; what cannot be taken back is said once', async (t) => {
  const hub = await restorableHub(t);
  const restoring = await laidReady(t, hub, await freePort());
  let inUse: ReturnType<typeof takeFileLock>;
  await waitUntil('it is in use', () => (inUse = takeFileLock(backupLock(hub.dataDir))) !== undefined);
  restoring.signalGroup('SIGINT');
  const calls = (): string => readFileSync(join(hub.dataDir, '../calls'), 'utf8');
  await waitUntil('it is asked again', () => calls().split('restore state').length > 2);
  inUse?.release();
  assert.equal(await restoring.ended, 130, restoring.said());
  assert.deepEqual([isRestoreOpen(hub.dataDir), worldIn(hub.dataDir, hub)], [false, 'old']);

  const damaged = await laidReady(t, hub, await freePort());
  writeFileSync(join(hub.dataDir, 'run/restore-state.json'), '{');
  damaged.signalGroup('SIGINT');
  assert.equal(await damaged.ended, 130, damaged.said());
  const said = damaged.said().match(/^restore: the staged data could not be removed: run restore\.sh --recover$/mg);
  assert.deepEqual([said?.length, worldIn(hub.dataDir, hub)], [1, 'old']);
});

for (const begun of ['laid ready', 'swapped in']) {
  test(`Ctrl-C again and again does not leave a restore half-way whose data is being ${begun}`, async (t) => {
    const hub = await restorableHub(t);
    const port = await freePort();
    const running = await startHub(t, hub.dataDir, port);
    const restoring = startRestore(t, hub.dataDir, port, [hub.backup]);
    const phases = begun === 'laid ready' ? ['staged', 'swapping'] : ['swapping', 'swapped', 'probation'];
    await waitUntil('it has begun', () => phases.includes(readRestoreState(hub.dataDir)?.phase ?? ''));

    const interrupting = setInterval(() => restoring.signalGroup('SIGINT'), 5);
    t.after(() => clearInterval(interrupting));
    const status = await restoring.ended;
    clearInterval(interrupting);

    assert.ok(status === 0 || (status === 130 && begun === 'laid ready'), restoring.said());
    assert.equal(isRestoreOpen(hub.dataDir), false);
    await waitUntil('the hub is healthy', () => isHealthy(running.url));
    assert.equal(await running.end('SIGTERM'), 0);
    assert.equal(worldIn(hub.dataDir, hub), status === 0 ? 'new' : 'old', restoring.said());
  });
}
