// Protects the restic repository from runs that are killed: what was sent stays whole, and the next run goes on.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { noteRun } from '../../src/features/backups/note-run.ts';
import { MINUTE } from '../../src/platform/clock.ts';
import { contents } from '../support/off-site.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { resticHub, type ResticHub } from '../support/restic.ts';
import { copyFolder } from '../support/temporary-project.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('restic', 'rclone');
const PHASES = ['backup', 'forget', 'backup', 'prune', 'backup', 'check'];
const LOCKING = ['forget', 'check'];
/** RESTIC_KILL_PARTS=4 makes sixty and fifteen. */
const PARTS = Number(process.env['RESTIC_KILL_PARTS'] ?? 1);
const [KILLS, KILLS_THROUGH_RCLONE] = PARTS > 1 ? [15, 15] : [9, 6];
const LONGEST_DELAY = 120; // ms after the beginning of the phase

const shown = (hub: ResticHub): string[] => readdirSync(join(hub.repository, 'snapshots'));
const locks = (hub: ResticHub): string[] => readdirSync(join(hub.repository, 'locks'));

/** Ids of the snapshots that were called done, the oldest first. */
function acknowledged(hub: ResticHub): string[] {
  const ledger = join(hub.dataDir, 'backups/off-site.sent');
  return existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').filter(Boolean).map((line) => line.slice(0, 64)) : [];
}

/** Sends the backup; with `phase`, kills everything at some moment after that part of the work has begun. */
async function send(hub: ResticHub, name: string, phase?: string, delay = 0): Promise<{ said: string; killed: boolean }> {
  for (const file of readdirSync(join(hub.dataDir, 'run'))) {
    if (file.startsWith('restic-reading.')) rmSync(join(hub.dataDir, 'run', file)); // pruning is due
  }
  const at = join(hub.folder, 'phase');
  writeFileSync(at, '');
  const args = [join(PROJECT_ROOT, 'scripts/off-site.sh'), 'send', join(hub.dataDir, 'backups', name)];
  const before = locks(hub);
  const env = { ...hub.env, BACKUP_RESTIC_KEEP: 'last=3' };
  const child = spawn('sh', args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += String(text)));
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let isOver = false;
  void ended.then(() => (isOver = true));
  if (phase === undefined) return await ended, { said, killed: false };
  await waitUntil(phase, () => isOver || readFileSync(at, 'utf8').split('\n').includes(phase));
  // Of these a dead lock is to stay: how long restic takes to make one depends on the machine.
  const isLocked = (): boolean => locks(hub).some((id) => !before.includes(id));
  if (LOCKING.includes(phase)) await waitUntil('a lock', () => isOver || isLocked());
  else if (!isOver) await sleep(delay);
  const killed = !isOver;
  // All of the session that the script began; timeout gives restic a process group of its own.
  while (spawnSync('pkill', ['-KILL', '-s', String(child.pid)]).status === 0) await sleep(5);
  await ended;
  return { said, killed };
}

let said = '';

for (let part = 1; part <= PARTS; part++) {
  test(`killed at ${KILLS} moments of sending, forgetting, pruning and checking, nothing that was sent is lost: part ${part}`,
    (t) => loseNothing(t, KILLS));
}

test(`the same with a repository that restic reaches through rclone, at ${KILLS_THROUGH_RCLONE} moments`, (t) =>
  loseNothing(t, KILLS_THROUGH_RCLONE, 'rclone:box:the repository'));

test('of all these kills some left a lock, which the next run removed and said so', () =>
  assert.match(said, /removed a lock that nobody held/));

async function loseNothing(t: TestContext, kills: number, repository?: string): Promise<void> {
  const hub = resticHub(t);
  if (repository !== undefined) {
    const config = join(hub.folder, 'rclone.conf');
    writeFileSync(config, `[box]\ntype = alias\nremote = ${hub.folder}\n`);
    Object.assign(hub.env, { BACKUP_RESTIC_REPOSITORY: repository, RCLONE_CONFIG: config });
  }
  hub.upload(Buffer.alloc(300_000, 'an upload'));
  hub.replace('restic', `echo "$1" >>'${join(hub.folder, 'phase')}'; exec REAL "$@"`);
  const began = Date.now() - 3 * kills * MINUTE;
  const first = await hub.verified(began);
  const path = (name: string): string => join(hub.dataDir, 'backups', name);
  let killed = 0;

  for (let n = 0; killed < kills && n < 2 * kills; n++) {
    const name = backupName(began + (n + 1) * MINUTE);
    copyFolder(path(first), path(name));
    const run = { name, at: began, ok: true, verdict: 'verified', bytes: 1, seconds: 1, problem: null } as const;
    await noteRun(hub.dataDir, 'backup', run);
    const outcome = await send(hub, name, PHASES[n % PHASES.length], Math.random() * LONGEST_DELAY);
    said += outcome.said;
    if (outcome.killed) killed++;
    const newest = acknowledged(hub).at(-1);
    if (newest !== undefined) assert.ok(shown(hub).includes(newest), `${newest} was lost after ${outcome.said}`);
    if (n > 0) rmSync(path(name), { recursive: true });
  }
  assert.ok(killed >= kills, `${killed} kills`);

  const last = await hub.verified();
  const { said: end } = await send(hub, last);
  assert.match(end, new RegExp(`${last}: done, listed back and compared`), said + end);
  assert.doesNotMatch(end, /FAILED|could not/);
  hub.restic('check', '--read-data');
  const list = await hub.list();
  assert.deepEqual(list.slice(-1).map(({ name, id }) => [name, id]), [[last, acknowledged(hub).at(-1)]]);
  assert.deepEqual(hub.leftovers(), []);
  const before = contents(path(last));
  rmSync(path(last), { recursive: true });
  assert.equal((await hub.run('restic-backups.sh', ['fetch', last])).status, 0);
  assert.deepEqual(contents(path(last)), before);
}
