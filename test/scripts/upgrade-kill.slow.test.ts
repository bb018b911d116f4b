// Protects an upgrade that is killed at any moment: the old version on its data, or the new one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killableUpgrade, type Killable } from '../support/killed-upgrade.ts';
import { requireTool } from '../support/tools.ts';

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
  return version;
}

for (const isFit of [true, false]) {
  const what = isFit ? 'an upgrade' : 'a rollback from a faulty version';
  test(`${what} killed before each of its changes leaves the old or the new version, each on its own data`, async (t) => {
    if (!requireTool(t, 'git')) return;
    const hub = killableUpgrade(t, isFit);
    hub.begin();
    const whole = await hub.run('');
    assert.equal(whole.status, isFit ? 0 : 1, whole.stderr);
    const [version] = isFit ? '2' : '1';
    assert.deepEqual([hub.versions(), hub.leftovers()], [`${version} ${version} ${version}`, []]);
    assert.equal(hub.running(), isFit ? '22migrated to 1\nmigrated to 2\n' : '11migrated to 1\n');

    const ends = new Set<string>();
    const last = hub.changes();
    for (let n = isFit ? 1 : hub.untilProof() + 1; n <= last; n++) {
      hub.begin();
      const { status, stderr } = await hub.run('', n);
      assert.equal(status, null, `killed before change ${n}: ${stderr}`);
      ends.add(await assertWhole(hub, `killed before change ${n}`, isFit));
    }
    t.diagnostic(`${last} changes`);
    assert.deepEqual([...ends].sort(), isFit ? ['1', '2'] : ['1']);
  });
}
