// Protects interim backups in a restic repository: there they are backups like any other, and the night cares for it.
import assert from 'node:assert/strict';
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readOffsite, type OffsiteStatus } from '../../src/features/backups/offsite-status.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { HOUR } from '../../src/platform/clock.ts';
import { flipBit, packsOf, resticHub, type ResticHub } from '../support/restic.ts';
import type { Outcome } from '../support/run-program.ts';
import { testWith } from '../support/tools.ts';

const test = testWith('restic');
const statusOf = (hub: ResticHub): OffsiteStatus | undefined => readOffsite({ config: loadConfig(hub.env), clock: Date.now })[0];

async function interim(hub: ResticHub): Promise<Outcome & { name: string; sent: string }> {
  const outcome = await hub.run('backup.sh', ['--interim', '--every', '1']);
  const name = / name=(\S+)/.exec(outcome.stdout)?.[1] ?? '';
  return { ...outcome, name, sent: name.replaceAll('-', '').replace('T', '-').replace('Z', '') };
}

test('an interim backup is sent to restic at once, listed under its time, and restored from there', async (t) => {
  const hub = resticHub(t);
  const { sha256 } = hub.upload('an owl');

  const { status, stdout, stderr, name, sent } = await interim(hub);

  assert.equal(status, 0, stderr);
  assert.match(stdout, /^result=verified off-site=done name=\S+ /);
  const [listed, ...others] = await hub.list();
  assert.deepEqual([listed?.name, listed?.verified, others], [sent, 'checking', []]);
  assert.equal(hub.restic('dump', 'latest', `/uploads/${sha256.slice(0, 2)}/${sha256}`), 'an owl');
  assert.deepEqual([statusOf(hub)?.hasFailed, statusOf(hub)?.lastGood?.name], [false, sent]);
  rmSync(join(hub.dataDir, 'backups/interim', name), { recursive: true });
  const fetched = await hub.run('restic-backups.sh', ['fetch', sent]);
  assert.equal(fetched.stdout, `${join(hub.dataDir, 'backups', sent)}\n`, fetched.stderr);
  assert.equal((await hub.run('verify-backup.sh', [join(hub.dataDir, 'backups', sent)])).status, 0);
});

test('an upload that the hub has removed comes from the interim backup itself; other destinations get none', async (t) => {
  const hub = resticHub(t);
  const { sha256, path } = hub.upload('an owl');
  const { name } = await interim(hub);
  rmSync(path);
  const again = await hub.run('off-site.sh', ['send', join(hub.dataDir, 'backups/interim', name), 'restic']);
  assert.match(again.stdout, /already there and complete/, again.stderr);
  assert.equal(hub.restic('dump', 'latest', `/uploads/${sha256.slice(0, 2)}/${sha256}`), 'an owl');

  const refused = await hub.run('off-site.sh', ['send', join(hub.dataDir, 'backups/interim', name)]);
  assert.deepEqual([refused.status, refused.stderr], [2, 'off-site: an interim backup is sent to restic only\n']);
});

test('an interim backup brings along the nightly one that restic has missed, and only then all is well', async (t) => {
  const hub = resticHub(t);
  const night = await hub.verified(Date.now() - 2 * HOUR);
  renameSync(hub.repository, `${hub.repository} away`);
  assert.equal((await hub.send(night)).status, 1);
  assert.equal(statusOf(hub)?.last?.unsent, night);
  renameSync(`${hub.repository} away`, hub.repository);

  const { status, sent } = await interim(hub);

  assert.equal(status, 0);
  assert.deepEqual((await hub.list()).map(({ name }) => name), [night, sent]);
  assert.deepEqual([statusOf(hub)?.hasFailed, statusOf(hub)?.last?.unsent], [false, null]);
});

test('between the nights nothing is read back or removed; the damage that a night found is told until it is repaired', async (t) => {
  const hub = resticHub(t);
  const calls = join(hub.folder, 'calls');
  hub.replace('restic', `echo "$1" >>'${calls}'; exec REAL "$@"`);
  await interim(hub);
  assert.doesNotMatch(readFileSync(calls, 'utf8'), /^(check|forget|prune)$/m);

  for (const pack of packsOf(hub)) flipBit(pack);
  assert.equal((await hub.send(await hub.verified(Date.now() - 2 * HOUR))).status, 1);
  const night = statusOf(hub);
  assert.deepEqual([night?.hasFailed, night?.last?.isDamaged], [true, true]);
  const { status, stdout } = await interim(hub);

  assert.deepEqual([status, / off-site=done /.test(stdout)], [0, true]);

  assert.deepEqual([statusOf(hub)?.hasFailed, statusOf(hub)?.last?.isDamaged], [true, true]);
});
