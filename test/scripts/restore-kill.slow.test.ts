// Protects a restore whose processes are killed at any moment, recovery included.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isRestoreOpen, readRestoreState } from '../../src/features/backups/restore-state.ts';
import { hubEnvironment } from '../support/hub-process.ts';
import { freePort } from '../support/ports.ts';
import { assertOldIsSomewhere, begin, copyData, leftovers, restorableHub, worldIn, type RestorableHub } from '../support/restore-hub.ts';
import { runRestore, startRestore } from '../support/restore-script.ts';
import { compiledIn, PROJECT_ROOT } from '../support/run-program.ts';
import { waitUntil } from '../support/wait-until.ts';

type Running = { kill(): void; ended: Promise<unknown>; isOver(): boolean; said(): string };

/** One step of a restore in a process of its own. */
function startStep(t: TestContext, dataDir: string, args: string[]): Running {
  const command = [join(PROJECT_ROOT, 'src/bin/launch.ts'), 'hubctl', 'restore', ...args];
  const env = hubEnvironment(dataDir, { ...compiledIn(dataDir), CONFIRM_RESTORE: 'YES' });
  const child = spawn(process.execPath, command, { env, cwd: join(dataDir, '..') });
  let said = '';
  child.stderr.on('data', (text) => (said += String(text)));
  const ended = new Promise((resolve) => child.once('close', resolve));
  t.after(() => child.kill('SIGKILL'));
  return { kill: () => void child.kill('SIGKILL'), ended, isOver: () => child.exitCode !== null, said: () => said };
}

/** Whatever happened: either the old data, untouched, or what restore.sh --recover makes of it. */
async function assertRecovers(hub: RestorableHub, dataDir: string, port: number): Promise<string> {
  assertOldIsSomewhere(dataDir, hub);
  const { status, stderr } = await runRestore(dataDir, port, ['--recover']);
  assert.equal(status, 0, stderr);
  assert.deepEqual([leftovers(dataDir), isRestoreOpen(dataDir)], [[], false]);
  assertOldIsSomewhere(dataDir, hub);
  const world = worldIn(dataDir, hub);
  assert.match(world, /^(old|new)$/);
  return world;
}

const BEGIN_MOMENTS: Record<string, (dataDir: string, run: Running) => boolean> = {
  'before it does anything': () => true,
  'as it verifies the backup': (_, run) => run.said().includes('checking the content'),
  'as its folder appears': (dataDir) => staged(dataDir).length > 0,
  'as it unpacks the attachments': (dataDir) => staged(dataDir).includes('uploads'),
  'as it checks what was unpacked': (_, run) => run.said().includes('checking the unpacked files'),
  'as it opens the copied database': (dataDir) => staged(dataDir).includes('hub.db-wal'),
  'as it leaves its state': (dataDir) => isRestoreOpen(dataDir),
};

/** What lies in the folder of a staging. */
function staged(dataDir: string): string[] {
  const name = readdirSync(dataDir).find((one) => one.startsWith('.restore-'));
  return name === undefined ? [] : ['', ...readdirSync(join(dataDir, name))];
}

for (const [moment, isReached] of Object.entries(BEGIN_MOMENTS)) {
  test(`case 62: killed ${moment}, the staging has touched nothing and is cleared away`, async (t) => {
    const hub = await restorableHub(t);
    const run = startStep(t, hub.dataDir, ['begin', hub.backup]);
    await waitUntil(moment, () => run.isOver() || isReached(hub.dataDir, run));
    run.kill();
    await run.ended;
    assert.equal(await assertRecovers(hub, hub.dataDir, await freePort()), 'old');
  });
}

test('case 62: swap and undo killed at any moment, and undo again, always end in all of the old data', async (t) => {
  const hub = await restorableHub(t);
  await begin(hub.dataDir, hub.backup);
  const reached = new Set<string | undefined>();
  for (let round = 0; round < 10; round++) {
    const { dataDir, remove } = copyData(t, hub.dataDir);
    for (const step of ['swap', 'undo', 'undo']) {
      const run = startStep(t, dataDir, [step]);
      const look = (): string => JSON.stringify([readRestoreState(dataDir)?.phase, readdirSync(dataDir)]);
      const seen = new Set([look()]);
      // At the first thing it changes, or after one change more than in the round before.
      await waitUntil(step, () => run.isOver() || seen.add(look()).size > 1 + round % 5);
      run.kill();
      await run.ended;
      reached.add(readRestoreState(dataDir)?.phase);
      assertOldIsSomewhere(dataDir, hub);
    }
    if (isRestoreOpen(dataDir)) await startStep(t, dataDir, ['undo']).ended;
    assert.equal(worldIn(dataDir, hub), 'old');
    assert.deepEqual(leftovers(dataDir), []);
    remove();
  }
  assert.ok(reached.size > 2, [...reached].join());
});

const MOMENTS: [moment: string, isReached: (dataDir: string, said: string) => boolean][] = [
  ['as it verifies', (_, said) => said.includes('checking the')],
  ['when it is staged', (dataDir) => readRestoreState(dataDir)?.phase === 'staged'],
  ['when old data goes aside', (dataDir) => readdirSync(dataDir).some((name) => name.startsWith('pre-restore-'))],
  ['when it is swapped', (_, said) => said.includes('new data in place')],
  ['when the hub is on trial', (dataDir) => readRestoreState(dataDir)?.phase === 'probation'],
  ['at its end', (_, said) => said.includes('RESTORED')],
];

for (const [moment, isReached] of MOMENTS) {
  test(`case 62: restore.sh killed with its whole group ${moment} is recovered, killed as well, and recovered again`, async (t) => {
    const hub = await restorableHub(t);
    const { dataDir } = hub;
    const port = await freePort();
    const run = startRestore(t, dataDir, port, [hub.backup]);
    let isOver = false;
    void run.ended.then(() => (isOver = true));
    await waitUntil(moment, () => isOver || isReached(dataDir, run.said()));
    run.signalGroup('SIGKILL');
    await run.ended;

    for (let attempt = 0; attempt < 2 && isRestoreOpen(dataDir); attempt++) {
      const phase = readRestoreState(dataDir)?.phase;
      const recovering = startRestore(t, dataDir, port, ['--recover']);
      let isEnded = false;
      void recovering.ended.then(() => (isEnded = true));
      await waitUntil('it goes on', () => isEnded || readRestoreState(dataDir)?.phase !== phase);
      recovering.signalGroup('SIGKILL');
      await recovering.ended;
      assertOldIsSomewhere(dataDir, hub);
    }
    // A step that was cut loose by the kill ends by itself and holds the lock until then.
    await waitUntil('the data is free', async () => (await hub.hubctl('restore', 'state')).status === 0);
    const world = await assertRecovers(hub, dataDir, port);
    t.diagnostic(world);
    assert.equal(existsSync(join(dataDir, 'run/restore-state.json')), false);
  });
}
