// Protects the hub and its copies from drills that are killed: nothing changes, and the next drill cleans up.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Destination } from '../../src/features/backups/offsite-status.ts';
import { addPost } from '../support/backup-hub.ts';
import { drilledHub, processesWith, type DrilledHub } from '../support/drills.ts';
import { randomBelow } from '../support/random.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { countRows } from '../support/stored-rows.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('rclone', 'restic');

/** DRILL_KILLS=60 kills twenty drills at each destination: about ten minutes. */
const KILLS = Math.ceil(Number(process.env['DRILL_KILLS'] ?? 3) / 3);

const PATIENCE = 600_000; // ms, for a machine on which much else runs

for (const destination of ['dir', 'rclone', 'restic'] as const) {
  test(`drills at the off-site destination ${destination}, killed at random moments while the hub writes, lose and change no data, and the next drill removes their leftovers`,
    (t) => changeNothing(t, destination));
}

async function changeNothing(t: TestContext, destination: Destination): Promise<void> {
  const hub = drilledHub(t, destination);
  hub.upload(Buffer.alloc(3_000_000, 'a large file'));
  await hub.sent();
  const before = stateBesideDatabase(hub);
  let stored = countRows(hub, 'posts');
  const writing = setInterval(() => addPost(hub.db, ++stored, `post ${stored}`), 20);
  t.after(() => clearInterval(writing));
  const seed = randomInt(2 ** 31);
  const below = randomBelow(seed);
  const began = performance.now();
  assert.equal((await hub.drill()).status, 0);
  let span = performance.now() - began;
  const proven = hub.recorded();

  let killed = 0;
  for (let n = 0; killed < KILLS && n < 3 * KILLS; n++) {
    if (await killDrill(hub, below(1_001) / 1_000 * span, n % 2 === 0)) killed++;
    else span *= 0.8; // the machine is less busy than it was
    assert.deepEqual(stateBesideDatabase(hub), before, `seed ${seed}, kill ${n}`);
    assert.equal(countRows(hub, 'posts'), stored, `seed ${seed}, kill ${n}`);
  }
  assert.equal(killed, KILLS, 'they end before they are killed');
  t.diagnostic(`seed ${seed}: ${killed} kills, each within ${Math.round(span)} ms`);
  await waitUntil('what the killed drills started has ended, but for a temporary hub',
    () => processesWith(`${hub.dataDir}/tmp/`).every((one) => one.includes('web.ts')), PATIENCE);

  const { status, stdout, stderr } = await hub.drill();
  clearInterval(writing);
  assert.equal(status, 0, stdout + stderr);
  assert.ok((hub.recorded().lastProven?.at ?? 0) > (proven.lastProven?.at ?? 0));
  assert.deepEqual(stateBesideDatabase(hub), before);
  assert.deepEqual([hub.db.pragma('integrity_check'), countRows(hub, 'posts')], ['ok', stored]);
  assert.deepEqual(hub.leftovers(), []);
  assert.deepEqual(processesWith(`${hub.dataDir}/tmp/`), []);
}

/** The database is written to meanwhile. */
function stateBesideDatabase(hub: DrilledHub): Record<string, string> {
  return Object.fromEntries(Object.entries(hub.state()).filter(([path]) => !path.startsWith('hub.db')));
}

/** Kills a drill after that time, with all that it runs or alone. False if it had ended before. */
async function killDrill(hub: DrilledHub, afterMs: number, isPowerCut: boolean): Promise<boolean> {
  const lock = join(hub.dataDir, 'run/drill.lock');
  await waitUntil('no part of an earlier drill holds the lock', () => spawnSync('flock', ['-n', lock, 'true']).status === 0, PATIENCE);
  const drill = [join(PROJECT_ROOT, 'scripts/drill.sh'), hub.destination];
  const child = spawn('sh', drill, { env: hub.env, cwd: '/', stdio: 'ignore', detached: true });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await Promise.race([sleep(afterMs), ended]);
  if (child.exitCode !== null) return false;
  child.kill('SIGKILL');
  // All of the session that the script began; timeout gives restic a process group of its own.
  while (isPowerCut && spawnSync('pkill', ['-KILL', '-s', String(child.pid)]).status === 0) await sleep(5);
  await ended;
  return true;
}
