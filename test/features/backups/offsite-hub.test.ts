// Protects who a hub is in a restic repository: random, bound to its place, new after a restore; and what it then asks.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { findings } from '../../../src/features/health/findings.ts';
import {
  answerAbout, OFFSITE_HUB, originOf, locateHub, readOffsiteHub, readOffsiteQuestion, settleOffsiteHub, stageOffsiteHub,
  withOlder, writeOffsiteHub, type OffsiteHub,
} from '../../../src/features/backups/offsite-hub.ts';
import { noteOffsite } from '../../../src/features/backups/note-run.ts';
import { destinationKey } from '../../../src/features/backups/offsite-status.ts';
import { hubSeed } from '../../../src/features/hub/hub-row-store.ts';
import { conditionsOn } from '../../support/conditions.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';

const [MACHINE, OTHER_MACHINE] = ['a'.repeat(32), 'b'.repeat(32)];
const [DISK, OTHER_DISK] = ['68acd98f24f59378', 'd6c2334dac7fbc0f'];
const RESTIC = { BACKUP_RESTIC_REPOSITORY: '/mnt/restic', BACKUP_RESTIC_PASSWORD_FILE: '/etc/password' };
const SUBJECT = 'Older backups in restic';
const OLDER = { id: '0123456789abcdef', backups: 3, newest: '20260131-031500' };

function dataDirOf(t: TestContext): string {
  const dataDir = join(temporaryFolder(t), 'data');
  mkdirSync(join(dataDir, 'run'), { recursive: true });
  return dataDir;
}

function settle(dataDir: string, machineId = MACHINE, fileSystem = DISK): Promise<OffsiteHub> {
  return settleOffsiteHub(dataDir, locateHub(dataDir, machineId, fileSystem));
}

/** What a hub with a restic repository asks, and what the overview then says. */
function asked({ handle }: Hub) {
  const found = findings(handle).find(({ subject }) => subject === SUBJECT);
  const question = readOffsiteQuestion(handle.config);
  assert.equal(found === undefined, question === null);
  assert.deepEqual(conditionsOn(handle, SUBJECT), question ? ['restic-undecided'] : []);
  return question && { ...question, level: found?.level, says: `${found?.problem} ${found?.whatToDo}` };
}

test('the id is random, stays, and says nothing of the machine', async (t) => {
  const dataDir = dataDirOf(t);
  const { id } = await settle(dataDir);
  assert.match(id, /^[0-9a-f]{16}$/);
  assert.deepEqual(await settle(dataDir), await settle(dataDir));
  assert.equal((await settle(dataDir)).id, id);
  assert.notEqual((await settle(dataDirOf(t))).id, id);
  assert.ok(!readFileSync(join(dataDir, OFFSITE_HUB), 'utf8').includes(MACHINE));
});

test('it stays in a DATA_DIR that is moved; a copy of that, another machine and another file system have another', async (t) => {
  const dataDir = dataDirOf(t);
  const { id } = await settle(dataDir);
  const moved = `${dataDir} moved`;
  renameSync(dataDir, moved);
  assert.equal((await settle(moved)).id, id);
  cpSync(moved, dataDir, { recursive: true });
  const copy = await settle(dataDir);
  assert.notEqual(copy.id, id);
  assert.equal((await settle(dataDir)).id, copy.id);
  assert.equal((await settle(moved)).id, id, 'the first one stays what it is');
  for (const place of [[OTHER_MACHINE, DISK], [MACHINE, OTHER_DISK]] as const) {
    const before = await settle(moved);
    const after = await settle(moved, ...place);
    assert.notEqual(after.id, before.id);
    assert.deepEqual([after.adopted, after.left, after.older], [[], [], []]);
  }
});

test('what is not known of machine or file system, as in a container, makes no other hub; once known it counts', async (t) => {
  const dataDir = dataDirOf(t);
  const { id } = await settle(dataDir, 'unknown', 'unknown');
  for (const unknown of ['', 'uninitialized\n', 'unknown']) assert.equal((await settle(dataDir, unknown, '0')).id, id);
  for (let time = 0; time < 2; time++) {
    assert.equal((await settle(dataDir)).id, id);
    assert.equal((await settle(dataDir, 'unknown', 'unknown')).id, id, 'on the machine and in a container of it by turns');
  }
  assert.notEqual((await settle(dataDir, OTHER_MACHINE)).id, id);
});

test('a file that says nothing usable makes another hub, and never an error', async (t) => {
  const dataDir = dataDirOf(t);
  const { id } = await settle(dataDir);
  for (const text of ['', 'null', '[]', '{"id":"short"}', JSON.stringify({ id, run: 7 })]) {
    writeFileSync(join(dataDir, OFFSITE_HUB), text);
    assert.equal(readOffsiteHub(dataDir), null, text);
    assert.notEqual((await settle(dataDir)).id, id, text);
  }
});

test('a hub that has sent nothing is asked nothing, and one that goes on after 1.0.0, a restore or a copy at once', async (t) => {
  const hub = await startHub(t, RESTIC);
  const { config } = hub.handle;
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  assert.equal(asked(hub), null);
  await noteOffsite(config, 'restic', { name: null, at: hub.now(), ok: true, bytes: 1, seconds: 1, problem: null, unsent: null });
  assert.match(asked(hub)?.says ?? '', /^Since the upgrade from 1\.0\.0 .* adopt: .* adopt --no\.$/);
  await settle(hub.dataDir);
  assert.equal(asked(hub), null, 'until the repository was searched');

  await stageOffsiteHub(`${hub.dataDir}/run`, hub.dataDir);
  renameSync(join(hub.dataDir, 'run', OFFSITE_HUB), join(hub.dataDir, OFFSITE_HUB));
  assert.deepEqual([asked(hub)?.level, asked(hub)?.reason], ['warn', 'restored']);
  const restored = await settle(hub.dataDir);
  assert.equal(restored.id, readOffsiteHub(hub.dataDir)?.id, 'the id that the restore has laid ready');
  await writeOffsiteHub(hub.dataDir, withOlder(restored, destinationKey(config, 'restic') ?? '', []));
  assert.equal(asked(hub), null, 'nobody else has backups there');

  renameSync(join(hub.dataDir, 'run'), join(hub.dataDir, 'run of the first'));
  cpSync(join(hub.dataDir, 'run of the first'), join(hub.dataDir, 'run'), { recursive: true });
  assert.deepEqual([asked(hub)?.level, asked(hub)?.reason], ['warn', 'copied']);
  const without = { ...config, backupResticRepository: null };
  assert.equal(readOffsiteQuestion(without), null, 'without a repository there is nothing to ask');
});

test('both answers end the question, and an answer may be changed; hubs decided about are not asked about again', async (t) => {
  const hub = await startHub(t, RESTIC);
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  const place = destinationKey(hub.handle.config, 'restic') ?? '';
  const other = { ...OLDER, id: 'fedcba9876543210' };
  const looked = await writeOffsiteHub(hub.dataDir, withOlder(await settle(hub.dataDir), place, [OLDER, other]));
  assert.match(asked(hub)?.says ?? '', /\(3 of hub 0123456789abcdef, the newest 20260131-031500; 3 of hub f/);

  const one = await writeOffsiteHub(hub.dataDir, answerAbout(looked, true, OLDER.id) ?? assert.fail());
  assert.deepEqual([one.adopted, asked(hub)?.older], [[OLDER.id], [other]]);
  const both = await writeOffsiteHub(hub.dataDir, answerAbout(one, false, null) ?? assert.fail());
  assert.deepEqual([both.adopted, both.left, asked(hub)], [[OLDER.id], [other.id], null]);
  assert.equal(answerAbout(both, true, null), null, 'nothing is left to decide');
  assert.equal(answerAbout(both, true, 'aaaaaaaaaaaaaaaa'), null);
  const changed = answerAbout(both, false, OLDER.id) ?? assert.fail();
  assert.deepEqual([changed.adopted, changed.left], [[], [other.id, OLDER.id]]);
  const again = withOlder(changed, 'another repository', [OLDER, other, { ...OLDER, id: both.id }]);
  assert.deepEqual(again.older, [], 'nor about itself');
});

test('hubs that came from one backup share their origin, which was their id in 1.0.0, and no id of their own', async (t) => {
  const seed = hubSeed((await startHub(t, RESTIC)).handle);
  assert.match(originOf(seed), /^[0-9a-f]{16}$/);
  assert.notEqual(originOf(seed), originOf(`${seed}x`));
  assert.notEqual((await settle(dataDirOf(t))).id, originOf(seed));
});
