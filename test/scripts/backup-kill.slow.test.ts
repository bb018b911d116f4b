// Protects backups from being killed: at any moment whole ones stay or none, and the next run is not hindered.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { backupLock, isFileLocked } from '../../src/features/hub/data-locks.ts';
import { backupHub, filledHub, verify, type BackupHub, statusOf } from '../support/backup-hub.ts';
import { hubEnvironment } from '../support/hub-process.ts';
import { randomBelow } from '../support/random.ts';
import { compiledIn, PROJECT_ROOT } from '../support/run-program.ts';
import { sha256Of } from '../support/sha256.ts';
import { waitUntil } from '../support/wait-until.ts';

/** BACKUP_KILLS=100 is how many it was tried with. */
const KILLS = Number(process.env['BACKUP_KILLS'] ?? 30);

/** A hub whose backup takes about half a second. */
function largeHub(t: TestContext): BackupHub {
  return filledHub(t, 1_500, 12);
}

type Running = { child: ChildProcess; said(): string; ended: Promise<number | NodeJS.Signals | null> };

const BACKUP = [process.execPath, join(PROJECT_ROOT, 'src/bin/launch.ts'), 'hubctl', 'backup'];

/** Makes a backup, in a session of its own. */
function startBackup(t: TestContext, hub: BackupHub, command = BACKUP, env: Record<string, string> = {}): Running {
  const [file = '', ...args] = command;
  const all = hubEnvironment(hub.dataDir, { ...compiledIn(hub.dataDir), ...env });
  const child = spawn(file, args, { env: all, cwd: join(hub.dataDir, '..'), detached: true });
  let said = '';
  child.stderr.on('data', (text) => (said += String(text)));
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

/** A hub with three small files, whose backup takes as long as its programs take to start, and little more. */
function smallHub(t: TestContext): BackupHub {
  const hub = backupHub(t);
  for (let n = 0; n < 3; n++) hub.upload(randomBytes(20_000));
  return hub;
}

/** The finished backups in a folder: each has to be exactly its files, with the hashes that it says. */
function finishedIn(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => /^\d{8}-\d{6}$/.test(name)) : [];
  for (const name of names) {
    assert.deepEqual(readdirSync(join(folder, name)).sort(), ['SHA256SUMS', 'hub.db', 'uploads.tar.gz'], name);
    const sums = readFileSync(join(folder, name, 'SHA256SUMS'), 'utf8');
    for (const file of ['hub.db', 'uploads.tar.gz']) {
      assert.ok(sums.includes(`${sha256Of(join(folder, name, file))}  ${file}\n`), `${name}/${file}`);
    }
  }
  return names.sort();
}

/**
 * Kills so many backups that run, each at a random moment of what one takes; everything that has a final name has to be
 * whole. What one takes is measured again from time to time: others may use this machine.
 */
async function killAtRandom(t: TestContext, kills: number, hub: BackupHub, start: () => Running, folders: string[]) {
  const seed = randomInt(2 ** 31);
  const below = randomBelow(seed);
  let span = NaN;
  let finished = folders.map(finishedIn);
  let over = 0;
  for (let n = 0; n - over < kills; n++) {
    if (n % 10 === 0) span = await timeOf(start);
    const after = (below(1_001) / 1_000) * span * 1.1;
    const run = start();
    await Promise.race([sleep(after), run.ended]);
    if (run.child.exitCode !== null) over++;
    await killSession(run);
    const context = `seed ${seed}, run ${n}, after ${after.toFixed(1)} ms`;
    assert.ok(over <= 2 * kills, `they end before they are killed; ${context}`);
    assert.ok(!isFileLocked(backupLock(hub.dataDir)), context);
    const now = folders.map((folder) => finishedIn(folder));
    for (const [index, names] of finished.entries()) {
      assert.deepEqual(now[index]?.filter((name) => names.includes(name)), names, `none is lost; ${context}`);
    }
    finished = now;
  }
  t.diagnostic(`seed ${seed}: ${kills} kills, ${over} more came too late; ${finished[0]?.length} finished`);
  const sample = finished.flatMap((names, index) => names.slice(-5).map((name) => join(folders[index] ?? '', name)));
  for (const path of sample) assert.equal((await verify(path)).verdict, 'verified', path);
}

async function timeOf(start: () => Running): Promise<number> {
  const began = performance.now();
  const run = start();
  assert.equal(await run.ended, 0, run.said());
  return performance.now() - began;
}

/** Kills the run and all that it has started, as a power cut does: `timeout` makes process groups of its own. */
async function killSession({ child, ended }: Running): Promise<void> {
  const session = child.pid ?? -1;
  for (let left = membersOf(session); left.length > 0; left = membersOf(session)) {
    for (const pid of left) kill(pid);
    await sleep(1);
  }
  await ended;
}

/** Processes of a session that are not dead. */
function membersOf(session: number): number[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    const [state, , , ofSession] = statOf(pid);
    return Number(ofSession) === session && state !== 'Z' && state !== 'X';
  });
}

/** State, parent, process group, session and more, as proc(5) says; nothing of a process that is gone. */
function statOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  } catch {
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return; // it has just ended
  }
}

test('case 16: a backup killed at random moments leaves whole backups or no backup, and the next run works', async (t) => {
  const hub = smallHub(t);
  await killAtRandom(t, KILLS, hub, () => startBackup(t, hub), [join(hub.dataDir, 'backups')]);

  const { name } = await hub.backup();
  assert.deepEqual(hub.backups().filter((one) => one.startsWith('.')), [], 'nothing is left of the dead');
  assert.equal((await verify(join(hub.dataDir, 'backups', name))).verdict, 'verified');
});

test('case 16: backup.sh, killed with all that it runs while it makes and sends copies away, leaves no half of one', async (t) => {
  const hub = smallHub(t);
  const far = join(hub.dataDir, '../far');
  mkdirSync(far);
  const env = { BACKUP_OFFSITE_DIR: far, HUB_NODE: process.execPath, PATH: '/usr/bin:/bin' };
  const start = (): Running => startBackup(t, hub, [join(PROJECT_ROOT, 'scripts/backup.sh')], env);
  await killAtRandom(t, Math.ceil(KILLS / 6), hub, start, [join(hub.dataDir, 'backups'), far]);

  const last = start();
  assert.equal(await last.ended, 0, last.said());
  assert.deepEqual(hub.backups().filter((one) => one.startsWith('.')), []);
  assert.deepEqual(readdirSync(far, { recursive: true }).map(String).filter((name) => /tmp|partial/.test(name)), []);
  assert.deepEqual(readdirSync(join(hub.dataDir, 'tmp')), []);
});

for (const [signal, status] of [['SIGTERM', 143], ['SIGINT', 130], ['SIGHUP', 129]] as const) {
  test(`case 17: ${signal} ends a backup with ${status}; it leaves nothing and says so`, async (t) => {
    const hub = largeHub(t);
    for (const step of ['copying', 'archiving', 'checking the attachments']) {
      const run = startBackup(t, hub);
      await waitUntil(step, () => run.said().includes(step));
      run.child.kill(signal);

      assert.equal(await run.ended, status, step);
      assert.match(run.said(), new RegExp(`FAILED: stopped by ${signal}; the unfinished backup was removed\n$`));
      assert.deepEqual(hub.backups(), []);
    }
    const { lastBackup, lastSuccessAt } = statusOf(hub.dataDir);
    assert.deepEqual([lastBackup?.ok, lastSuccessAt], [false, null]);
  });
}
