// Protects a restore that is killed before any change to files: recovery gives all old or all new.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isRestoreUnderWay, readRestoreState, statePath } from '../../src/features/backups/restore-state.ts';
import { finishRestore, openRestored, swapRestored, undoRestore } from '../../src/features/backups/restore-steps.ts';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import {
  assertOldIsSomewhere, begin, copyData, keptIn, leftovers, restorableHub, type RestorableHub, worldIn,
} from '../support/restore-hub.ts';
import { retitlePosts } from '../support/stored-posts.ts';

/** What restore.sh does after the backup was laid ready; `isHealthy` is what it finds when the hub has been started. */
async function carryThrough(dataDir: string, isHealthy: boolean): Promise<void> {
  await swapRestored(dataDir);
  await openRestored(dataDir);
  if (isHealthy) await finishRestore(dataDir);
  else await undoRestore(dataDir);
}

/** What restore.sh --recover does. */
async function recover(dataDir: string, isHealthy: boolean): Promise<void> {
  const phase = readRestoreState(dataDir)?.phase;
  if (phase === undefined) return;
  if (phase === 'swapping' || phase === 'swapped') return carryThrough(dataDir, isHealthy);
  if (phase === 'probation' && isHealthy) await finishRestore(dataDir);
  else await undoRestore(dataDir);
}

/** Each with a restore that was begun; the clean-up does not wait for the end of the test. */
async function begunRestore(t: TestContext): Promise<RestorableHub & { attempt(): { dataDir: string; remove(): void } }> {
  const hub = await restorableHub(t);
  await begin(hub.dataDir, hub.backup);
  return { ...hub, attempt: () => copyData(t, hub.dataDir) };
}

/** Whatever the phase, while the new data may not be used, or has not proved itself, a file says so. */
function assertGuarded(hub: RestorableHub, dataDir: string): void {
  assertOldIsSomewhere(dataDir, hub);
  if (isRestoreUnderWay(dataDir) || readRestoreState(dataDir)?.phase === 'probation') return;
  assert.match(worldIn(dataDir, hub), /^(old|new)$/, 'nothing keeps the hub from starting');
}

/** Of the changes of a recovery every fourth is tried, other ones for each change before it; RESTORE_KILLS=all tries all. */
const STRIDE = process.env['RESTORE_KILLS'] === 'all' ? 1 : 4;
const OFFSET = randomInt(STRIDE);

for (const isHealthy of [true, false]) {
  const end = isHealthy ? 'the hub becomes healthy' : 'the hub does not become healthy';
  test(`case 62: a restore killed before each change to files, and again before changes of its recovery, leaves all the old data or all the new data (${end})`,
    async (t) => {
      const hub = await begunRestore(t);
      const ends = new Set<string>();
      let combinations = 0;
      for (let n = 1, more = true; more; n++) {
        for (let m = 1 + (n + OFFSET) % STRIDE, again = true; again; m += STRIDE) {
          const { dataDir, remove } = hub.attempt();
          more = await stopBefore(n, () => carryThrough(dataDir, isHealthy));
          assertGuarded(hub, dataDir);
          again = await stopBefore(m, () => recover(dataDir, isHealthy));
          assertGuarded(hub, dataDir);
          await recover(dataDir, isHealthy);

          const world = worldIn(dataDir, hub);
          const what = `change ${n}, then ${m}: ${world}`;
          assert.ok(world === 'old' || (world === 'new' && isHealthy), what);
          assertOldIsSomewhere(dataDir, hub);
          assert.deepEqual(leftovers(dataDir), [], what);
          assert.equal(existsSync(join(dataDir, 'run/restore-state.json')), false, what);
          ends.add(world);
          combinations++;
          remove();
        }
      }
      t.diagnostic(`${combinations} combinations, offset ${OFFSET}`);
      assert.ok(combinations > 300 / STRIDE);
      assert.deepEqual([...ends].sort(), isHealthy ? ['new', 'old'] : ['old']);
    });
}

test('case 62, 67: a database too damaged to be opened comes back with its log as they were, killed before every change', async (t) => {
  const hub = await restorableHub(t);
  const old: Record<string, string> = { 'hub.db': `no database at all, ${'x'.repeat(5_000)}`, 'hub.db-wal': logOf(hub) };
  for (const [name, text] of Object.entries(old)) writeFileSync(join(hub.dataDir, name), text, 'latin1');
  await begin(hub.dataDir, hub.backup);
  const bytesIn = (folder: string): Record<string, string> => Object.fromEntries(Object.keys(old)
    .filter((name) => existsSync(join(folder, name)))
    .map((name) => [name, readFileSync(join(folder, name), 'latin1')]));

  for (let n = 1, more = true; more; n++) {
    const { dataDir, remove } = copyData(t, hub.dataDir);
    more = await stopBefore(n, () => carryThrough(dataDir, false));

    await recover(dataDir, false);
    assert.deepEqual(bytesIn(dataDir), old, `killed before change ${n}`);
    assert.deepEqual(leftovers(dataDir), []);
    remove();
  }

  await carryThrough(hub.dataDir, true);
  assert.equal(worldIn(hub.dataDir, hub), 'new');
  assert.deepEqual(bytesIn(keptIn(hub.dataDir)), old);
});

/** The log of a database like the backup's, such as a crash leaves it: one that SQLite would believe. */
function logOf({ dataDir }: RestorableHub): string {
  const db = openDatabase(join(dataDir, 'hub.db'));
  retitlePosts({ db }, 'of the log');
  const log = readFileSync(join(dataDir, 'hub.db-wal'), 'latin1');
  db.close();
  assert.ok(log.includes('of the log'));
  return log;
}

test('a state file that says nothing usable stops everything, and says which it is', async (t) => {
  const hub = await restorableHub(t);
  for (const text of ['', '{', 'null', '[]', '{"phase":"later","id":"20300101-000000","backup":"/x","startedAt":1,"old":[]}']) {
    writeFileSync(statePath(hub.dataDir), text);
    for (const work of [swapRestored, openRestored, finishRestore, undoRestore]) {
      await assert.rejects(work(hub.dataDir), /restore-state\.json does not contain a valid restore state/, text);
    }
    await assert.rejects(begin(hub.dataDir, hub.backup), /does not contain a valid restore state/);
  }
  assert.equal(worldIn(hub.dataDir, hub), 'old');
});

const CHANGES = ['chmod', 'copyFile', 'mkdir', 'open', 'rename', 'rm', 'rmdir'] as const;

type Run = { left: number; stopped: () => void };

let run: Run | undefined;
let isHooked = false;

/**
 * Does the work until just before its n-th change to files (from 1) and leaves it there for ever, as kill -9 does to a
 * process: nothing that would come after, no `catch` and no `finally`, is done. Resolves to whether it was stopped.
 */
async function stopBefore(n: number, work: () => Promise<unknown>): Promise<boolean> {
  hookOnce();
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const mine: Run = { left: n, stopped: resolve };
  run = mine;
  const ended = work().then(() => false);
  return Promise.race([ended, stopped.then(() => true)]).finally(() => (run = undefined));
}

/** Named imports of node:fs/promises follow its default export when told to. */
function hookOnce(): void {
  if (isHooked) return;
  isHooked = true;
  for (const name of CHANGES) hook(name);
  syncBuiltinESMExports();
}

function hook(name: (typeof CHANGES)[number]): void {
  const real: (...args: never[]) => Promise<unknown> = files[name];
  const stoppable = (...args: never[]): Promise<unknown> => (isOver() ? new Promise(() => {}) : real(...args));
  Object.assign(files, { [name]: stoppable });
}

function isOver(): boolean {
  if (!run || --run.left > 0) return false;
  run.stopped();
  return true;
}
