// Protects an upgrade that is killed at any moment: the old version on its data, or the new one.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { killableUpgrade, type Killable } from '../support/killed-upgrade.ts';
import { runProgram } from '../support/run-program.ts';
import { copyFolder } from '../support/temporary-project.ts';
import { testWith } from '../support/tools.ts';

const test = testWith('git');

const LAST_FILE = 10; // of those that the new version adds and changes

/** What holds right after a kill, and after what it left was recovered. */
async function assertWhole(hub: Killable, what: string, isFit: boolean): Promise<string> {
  if (hub.mayStart()) assert.match(hub.versions(), /^(1 1 1|2 2 2)$/, `${what}: what may start is whole`);
  let recovered = await hub.run('--recover');
  // What the killed run had started holds its lock until it has ended.
  while (recovered.status === 75) recovered = await hub.run('--recover');
  const { status, stdout, stderr } = recovered;
  // On trial, a version that is no good fails a second time.
  assert.ok(status === 0 || (status === 1 && !isFit && /in the phase 'trial'/.test(stderr)), `${what}: ${stdout}${stderr}`);
  const versions = hub.versions();
  assert.match(versions, /^(1 1 1|2 2 2)$/, `${what}: ${stderr}`);
  const [version = ''] = versions;
  assert.match(hub.running(), new RegExp(`^${version}${version}migrated to 1\n`), `${what}: that version runs`);
  assert.equal(hub.running().includes('migrated to 2'), version === '2', what);
  assert.deepEqual([hub.leftovers(), hub.git('world/hub', 'status', '--short')], [[], ''], what);
  assert.equal(hub.git('world/hub', 'rev-parse', 'main'), hub.commits[Number(version) - 1], what);
  assert.equal(hub.git('world/hub', 'branch', '--show-current'), 'main', what);
  assert.deepEqual(hub.tree(), hub.treeOf(Number(version)), `${what}: no file or folder of the other version`);
  return version;
}

/** Kills git, too, at each of its changes of files, once for each of its commands: what it leaves is made whole. */
async function assertTornWhole(hub: Killable, torn: Set<string>, what: string, isFit: boolean): Promise<number> {
  const command = hub.command();
  if (torn.size === torn.add(command).size) return 0;
  hub.save();
  let n = 0;
  for (; hub.tear(n); hub.load()) await assertWhole(hub, `${what}, at the change ${n++} of ${command}`, isFit);
  hub.load();
  return n;
}

/** Kills an upgrade and its git when this has written all files but the last. */
async function killedAtSwitch(hub: Killable): Promise<void> {
  hub.begin();
  await hub.run('');
  const switching = hub.untilSwitch();
  hub.begin();
  await hub.run('', switching);
  assert.ok(hub.tear(LAST_FILE));
}

for (const isFit of [true, false]) {
  const what = isFit ? 'an upgrade' : 'a rollback from a faulty version';
  test(`${what} killed before each of its changes leaves the old or the new version, each on its own data`, async (t) => {
    const hub = killableUpgrade(t, isFit);
    hub.begin();
    const whole = await hub.run('');
    assert.equal(whole.status, isFit ? 0 : 1, whole.stderr);
    const [version] = isFit ? '2' : '1';
    assert.deepEqual([hub.versions(), hub.leftovers()], [`${version} ${version} ${version}`, []]);
    assert.equal(hub.running(), isFit ? '22migrated to 1\nmigrated to 2\n' : '11migrated to 1\n');

    const ends = new Set<string>();
    const last = hub.changes();
    const seen = new Set<string>();
    let torn = 0;
    for (let n = isFit ? 1 : hub.untilProof() + 1; n <= last; n++) {
      hub.begin();
      const { status, stderr } = await hub.run('', n);
      assert.equal(status, null, `killed before change ${n}: ${stderr}`);
      torn += await assertTornWhole(hub, seen, `killed before change ${n}`, isFit);
      ends.add(await assertWhole(hub, `killed before change ${n}`, isFit));
    }
    t.diagnostic(`${last} changes, and ${torn} within git`);
    assert.ok(torn > 10, 'git changes more than ten files');
    assert.deepEqual([...ends].sort(), isFit ? ['1', '2'] : ['1']);
  });
}

test('what a killed upgrade left is made whole by a recovery that is killed before each of its changes, too', async (t) => {
  const hub = killableUpgrade(t, true);
  await killedAtSwitch(hub);
  const setUp = await runProgram('/bin/sh', [hub.at('world/hub/scripts/set-up.sh')], { env: hub.env });
  assert.deepEqual([setUp.status, hub.versions().split(' ')[1]], [1, '1'], 'no packages are installed for a mixture');
  assert.match(setUp.stderr, /an upgrade was interrupted, .*: run \.\/scripts\/upgrade\.sh --recover\n$/);
  const begun = hub.changes();
  const mixture = hub.at('mixture');
  copyFolder(hub.at('world'), mixture);
  const seen = new Set<string>();
  let torn = 0;
  for (let n = 1; ; n++) {
    rmSync(hub.at('world'), { recursive: true });
    copyFolder(mixture, hub.at('world'));
    const { status, stderr } = await hub.run('--recover', begun + n);
    if (status === 0) break;
    assert.equal(status, null, `${n}: ${stderr}`);
    torn += await assertTornWhole(hub, seen, `recovery killed before change ${n}`, true);
    assert.equal(await assertWhole(hub, `recovery killed before change ${n}`, true), '1');
  }
  assert.ok(torn > 10, `${torn}`);
});

test('where git alone is killed, the upgrade goes back by itself, and leaves nothing of the new version', async (t) => {
  const hub = killableUpgrade(t, true);
  for (const killed of [1, 2, 6, 12]) {
    hub.begin();
    hub.env['KILL_GIT'] = String(killed);
    const { status, stderr } = await hub.run('');
    hub.env['KILL_GIT'] = '0';
    assert.match(stderr, /the upgrade failed: going back to 1\.0\.0/);
    assert.deepEqual([status, hub.versions(), hub.leftovers(), hub.running()], [1, '1 1 1', [], '11migrated to 1\n'], `${killed}: ${stderr}`);
    assert.deepEqual([hub.tree(), hub.git('world/hub', 'status', '--short')], [hub.treeOf(1), ''], `${killed}`);
  }
});
