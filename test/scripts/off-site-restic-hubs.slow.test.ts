// Protects the backups that hubs of one origin have in one restic repository: each removes what it sent, or was told to.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { noteRun } from '../../src/features/backups/note-run.ts';
import { originOf } from '../../src/features/backups/offsite-hub.ts';
import { readHubSeed } from '../../src/features/hub/hub-row-store.ts';
import { DAY, MINUTE } from '../../src/platform/clock.ts';
import { contents } from '../support/off-site.ts';
import { freePort } from '../support/ports.ts';
import { restoreEnvironment, RESTORE } from '../support/restore-script.ts';
import { runProgram, type Outcome } from '../support/run-program.ts';
import { olderSnapshots, resticHub, type Listed, type ResticHub } from '../support/restic.ts';
import { copyFolder } from '../support/temporary-project.ts';
import { testWith } from '../support/tools.ts';

const test = testWith('restic');
const KEEP_ONE = { BACKUP_RESTIC_KEEP: 'last=1' };
const QUESTION = 'Older backups in restic';

/** The same settings on another DATA_DIR. */
type Place = { dataDir: string; env?: Record<string, string> };

/** Makes, as of that time, the backup `from` once more in that DATA_DIR, and sends it. */
async function sendFrom(hub: ResticHub, { dataDir, env }: Place, from: string, at: number): Promise<Outcome & { name: string }> {
  const name = backupName(at);
  const path = join(dataDir, 'backups', name);
  copyFolder(from, path);
  const run = { name, at, ok: true, verdict: 'verified', bytes: 1, seconds: 1, problem: null } as const;
  await noteRun(dataDir, 'backup', run);
  const outcome = await hub.run('off-site.sh', ['send', path, 'restic'], { DATA_DIR: dataDir, ...KEEP_ONE, ...env });
  return { ...outcome, name };
}

/** What `hubctl status` asks about the old backups: a problem and what to do, or nothing. */
async function asked(hub: ResticHub, dataDir: string): Promise<string | undefined> {
  const { stdout } = await hub.run('hubctl', ['status', '--json'], { DATA_DIR: dataDir });
  const { findings } = JSON.parse(stdout) as { findings: { subject: string; level: string; problem: string; whatToDo: string }[] };
  const found = findings.find(({ subject }) => subject === QUESTION);
  return found && `${found.level}: ${found.problem} ${found.whatToDo}`;
}

async function adopt(hub: ResticHub, dataDir: string, ...args: string[]): Promise<Outcome> {
  return hub.run('hubctl', ['offsite', 'adopt', ...args], { DATA_DIR: dataDir });
}

const idOf = (dataDir: string): string => JSON.parse(readFileSync(join(dataDir, 'offsite-hub.json'), 'utf8')).id;
const namesOf = (list: Listed[], id: string): string[] => list.filter(({ hub }) => hub === id).map(({ name }) => name);

/** A hub that has sent three backups, all of them kept. */
async function production(t: TestContext) {
  const hub = resticHub(t);
  hub.upload('an upload');
  const now = Date.now();
  const name = await hub.verified(now - DAY);
  const { status, stderr } = await hub.send(name);
  assert.equal(status, 0, stderr);
  const id = idOf(hub.dataDir);
  const older = olderSnapshots(hub, id, now, [3, 2], `verified=20260101-000000,origin=${originOf(readHubSeed(hub) ?? '')}`);
  return { hub, now, sent: [...older, name], backup: join(hub.dataDir, 'backups', name), id };
}

test('a copy of a hub with the same settings lists and restores the backups of the first hub, and removes no backup', async (t) => {
  const made = await production(t);
  const { hub, now, sent, backup, id } = made;
  const staging = join(hub.folder, 'staging');
  copyFolder(hub.dataDir, staging);
  assert.match(await asked(hub, staging) ?? '', /^warn: .*hubctl offsite adopt/, 'before it has sent anything, too');

  const first = await sendFrom(hub, { dataDir: staging }, backup, now);
  const second = await sendFrom(hub, { dataDir: staging }, backup, now + MINUTE);

  for (const { status, stderr } of [first, second]) assert.equal(status, 0, stderr);
  const list = await hub.list();
  const its = idOf(staging);
  assert.notEqual(its, id);
  assert.deepEqual([namesOf(list, id), namesOf(list, its)], [sent, [second.name]], 'of its own it keeps one');
  const fetched = await hub.run('restic-backups.sh', ['fetch', `${id}/${sent[2]}`], { DATA_DIR: join(hub.folder, 'new') });
  assert.equal(fetched.status, 0, fetched.stderr);
  assert.deepEqual(contents(join(hub.folder, 'new/backups', String(sent[2]))), contents(backup));
  assert.match(await asked(hub, staging) ?? '', new RegExp(`^warn: .*3 of hub ${id}.*newest.*${sent[2]}.*adopt --no`));
  assert.equal(await asked(hub, hub.dataDir), undefined, 'the first one is not asked because there is a copy');
  assert.equal(idOf(hub.dataDir), id);

  const { status, stdout } = await adopt(hub, staging, '--no');
  assert.deepEqual([status, stdout], [0, `left alone: 3 backups of hub ${id} (newest ${sent[2]})\n`]);
  assert.equal(await asked(hub, staging), undefined);
  const third = await sendFrom(hub, { dataDir: staging }, backup, now + 2 * MINUTE);
  assert.equal(third.status, 0, third.stderr);
  assert.deepEqual(namesOf(await hub.list(), id), sent);
  assert.equal(await asked(hub, staging), undefined, 'and it is not asked again');
});

test('after a restore the hub has a new id, and once told so it takes the place of the old one: what is kept counts over both', async (t) => {
  const made = await production(t);
  const { hub, now, sent, backup, id } = made;
  hub.db.close();
  const env = { ...hub.env, ...restoreEnvironment(hub.dataDir, await freePort()), PATH: String(hub.env['PATH']) };
  const restored = await runProgram(RESTORE, [backup], { env, cwd: '/' });
  assert.equal(restored.status, 0, restored.stderr);
  assert.match(restored.stdout, /hubctl offsite adopt/);
  assert.match(await asked(hub, hub.dataDir) ?? '', /^warn: .*hubctl offsite adopt/);

  const first = await sendFrom(hub, hub, backup, now);
  assert.equal(first.status, 0, first.stderr);
  assert.match(first.stderr, /hubctl offsite adopt/);
  assert.notEqual(idOf(hub.dataDir), id);
  assert.deepEqual(namesOf(await hub.list(), id), sent);

  const { status, stdout, stderr } = await adopt(hub, hub.dataDir);
  assert.deepEqual([status, stdout], [0, `taken over: 3 backups of hub ${id} (newest ${sent[2]})\n`], stderr);
  assert.equal(await asked(hub, hub.dataDir), undefined);
  assert.deepEqual(namesOf(await hub.list(), id), sent, 'nothing is removed until the next backup');
  const second = await sendFrom(hub, { ...hub, env: { BACKUP_RESTIC_KEEP: 'daily=3' } }, backup, now + MINUTE);
  assert.equal(second.status, 0, second.stderr);
  const left = await hub.list();
  assert.deepEqual(left.map(({ name }) => name), [sent[1], sent[2], second.name]);
});

test('a restore that is taken back brings the old id back', async (t) => {
  const made = await production(t);
  const { hub, now, backup, id } = made;
  hub.db.close();
  const env = { ...hub.env, ...restoreEnvironment(hub.dataDir, await freePort()), HUB_STOP_COMMAND: 'true', HUB_START_COMMAND: 'false' };
  const failed = await runProgram(RESTORE, [backup], { env, cwd: '/' });
  assert.equal(failed.status, 1, failed.stderr);
  assert.equal(idOf(hub.dataDir), id);
  const { status, stderr } = await sendFrom(hub, hub, backup, now);
  assert.equal(status, 0, stderr);
  assert.deepEqual([(await hub.list()).length, await asked(hub, hub.dataDir)], [1, undefined]);
});

test('the first run after the upgrade from 1.0.0 removes no snapshot that was there, whoever sent it, and asks', async (t) => {
  const hub = resticHub(t);
  const now = Date.now();
  const backup = join(hub.dataDir, 'backups', await hub.verified(now - DAY));
  const legacy = originOf(readHubSeed(hub) ?? '');
  const old = olderSnapshots(hub, legacy, now, [5, 4, 3, 2]);
  const others = olderSnapshots(hub, '0'.repeat(16), now, [6]);
  await noteRun(hub.dataDir, 'offsite-restic', { name: null, at: now - DAY, ok: true, bytes: 1, seconds: 1, problem: null, place: 'x', unsent: null });
  assert.match(await asked(hub, hub.dataDir) ?? '', /^warn: .*1\.0\.0.*hubctl offsite adopt/);

  const first = await sendFrom(hub, hub, backup, now);
  assert.equal(first.status, 0, first.stderr);
  assert.deepEqual((await hub.list()).map(({ name }) => name), [...others, ...old, first.name]);
  assert.match(await asked(hub, hub.dataDir) ?? '', new RegExp(`4 of hub ${legacy}`));

  assert.equal((await adopt(hub, hub.dataDir)).stdout, `taken over: 4 backups of hub ${legacy} (newest ${old.at(-1)})\n`);
  const second = await sendFrom(hub, hub, backup, now + MINUTE);
  assert.equal(second.status, 0, second.stderr);
  assert.deepEqual((await hub.list()).map(({ name }) => name), [...others, second.name]);
});

test('the id stays when DATA_DIR is moved on its disk or run in a container, and is new on another disk or machine', async (t) => {
  const hub = resticHub(t);
  /** The id of the hub in that DATA_DIR where /etc/machine-id says so (null: it is missing), on that file system. */
  const idOn = async (machineId: string | null, dataDir: string, fileSystem = ''): Promise<string> => {
    const says = machineId === null ? 'exit 1' : `echo ${machineId}; exit`;
    hub.replace('cat', `case $1 in /etc/machine-id) ${says} ;; esac; exec REAL "$@"`);
    hub.replace('stat', `case "$1 $2" in '-f -c') [ -z '${fileSystem}' ] || { echo ${fileSystem}; exit; } ;; esac; exec REAL "$@"`);
    const { status, stdout, stderr } = await adopt(hub, dataDir);
    assert.deepEqual([status, stdout.split(':')[0]], [0, 'there is nothing to decide'], stderr);
    return idOf(dataDir);
  };
  const mistyped = await adopt(hub, join(hub.folder, 'mistyped'));
  assert.deepEqual([mistyped.status, existsSync(join(hub.folder, 'mistyped'))], [1, false], mistyped.stderr);
  const [here, there] = ['a'.repeat(32), 'b'.repeat(32)];
  const own = await idOn(null, hub.dataDir);
  const moved = join(hub.folder, 'moved');
  renameSync(hub.dataDir, moved);
  const stays = [await idOn('', moved), await idOn(here, moved), await idOn(null, moved), await idOn(here, moved)];
  assert.deepEqual(stays, Array(4).fill(own), 'a container has no id, and from when one is known it counts');
  const other = await idOn(there, moved);
  assert.notEqual(other, own);
  assert.equal(await idOn(there, moved), other);
  const disk = await idOn(there, moved, 'abcdef0123456789');
  assert.notEqual(disk, other);
  assert.equal(await idOn(there, moved, 'abcdef0123456789'), disk);
});
