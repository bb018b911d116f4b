// Protects a restore on a booted system: units stop and start, and keep off half-restored data.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { isRestoreUnderWay, readRestoreState } from '../../src/features/backups/restore-state.ts';
import { harmUnseen } from '../support/backup-hub.ts';
import { AT, copyProject, installedHub } from '../support/booted-system.ts';
import { keptIn, leftovers, restorableHub, worldIn } from '../support/restore-hub.ts';
import type { Outcome } from '../support/run-program.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('root', 'systemd-nspawn', 'age', 'rclone');

const DAEMON = 1; // its uid, and that of its group

/** The hub of restorableHub, run by the units of a booted system; `harm` is done to its backup before. */
async function restorable(t: TestContext, harm: (backup: string) => void = () => {}) {
  const world = await restorableHub(t);
  harm(world.backup);
  const hub = await installedHub(t, (project) => {
    cpSync(world.dataDir, join(project, 'data'), { recursive: true });
    mkdirSync(join(project, 'second'));
    copyProject(join(project, 'second'));
    cpSync(world.dataDir, join(project, 'second/data'), { recursive: true });
  });
  const dataDir = join(hub.project, 'data');
  const restore = (args: string, env = '', scripts = `${AT}/scripts`): Promise<Outcome> =>
    hub.sh(`CONFIRM_RESTORE=YES ${env} '${scripts}/restore.sh' ${args}`);
  const each = (property: string): Promise<string[]> =>
    Promise.all(['web', 'worker'].map((unit) => hub.show(unit, property)));
  /** Adds to a unit; lines of its section Service. */
  const addTo = async (unit: string, lines: string): Promise<void> => {
    const folder = `/run/systemd/system/content-hub-${unit}.service.d`;
    const { status, stderr } = await hub.sh(`mkdir -p ${folder} && cat >${folder}/test.conf <<'END' && systemctl daemon-reload
[Service]
${lines}
END`);
    assert.equal(status, 0, stderr);
  };
  return {
    ...hub, dataDir, restore, each, addTo, name: world.name,
    backup: `'${AT}/data/backups/${world.name}'`,
    world: (folder = dataDir): string => worldIn(folder, world),
    isReady: async (): Promise<boolean> => (await hub.sh(`'${AT}/scripts/healthcheck.sh'`)).status === 0,
  };
}

test('restore.sh stops the units, starts them on the restored data, and everything belongs to their account', async (t) => {
  const hub = await restorable(t);
  const before = await hub.each('InvocationID');
  const made = await hub.sh(`'${AT}/scripts/backup.sh'`);
  const [, own = ''] = / dir=(.+)\n$/.exec(made.stdout) ?? assert.fail(made.stdout + made.stderr);

  const { status, stdout, stderr } = await hub.restore(hub.backup);

  assert.equal(status, 0, stderr);
  assert.match(stdout, /^RESTORED /m);
  assert.deepEqual([await hub.isReady(), await hub.each('ActiveState')], [true, ['active', 'active']]);
  const after = await hub.each('InvocationID');
  assert.ok(after.every((id, index) => id !== '' && id !== before[index]), 'both were started anew');
  assert.deepEqual([hub.world(), hub.world(keptIn(hub.dataDir)), leftovers(hub.dataDir)], ['new', 'old', []]);
  assert.deepEqual(ofOthers(hub.dataDir), []);

  const back = await hub.restore(`'${own}'`);
  assert.equal(back.status, 0, back.stderr);
  assert.deepEqual([await hub.isReady(), hub.world()], [true, 'old']);
});

test('root restores an encrypted copy, a folder of its own and one on a remote as they are typed: nothing is left of them', async (t) => {
  const hub = await restorable(t);
  const place = `cp -r ${hub.backup} /root/ && cd /root && age-keygen -o key 2>/dev/null && ` +
    `tar cz ${hub.name} | age -r "$(age-keygen -y key)" -o sealed.age && ` +
    "mkdir -p .config/rclone && printf '[box]\\ntype = alias\\nremote = /root\\n' >.config/rclone/rclone.conf";
  const laid = await hub.sh(place);
  assert.equal(laid.status, 0, laid.stderr);
  const data = hub.dataDir;
  for (const typed of [`./${hub.name}`, 'sealed.age --identity key', `box:${hub.name}`, `'${AT}/data/backups/${hub.name}'`]) {
    const { status, stdout, stderr } = await hub.sh(`cd /root && CONFIRM_RESTORE=YES '${AT}/scripts/restore.sh' ${typed}`);
    assert.equal(status, 0, `${typed}\n${stderr}`);
    assert.match(stdout, /^RESTORED (?:\/|box:)/m);
    assert.deepEqual([await hub.isReady(), hub.world(), leftovers(data)], [true, 'new', []], typed);
    assert.deepEqual([readdirSync(join(data, 'tmp')), ofOthers(data)], [[], []]);
  }
});

test('the account of the hub restores what it may read by itself, also back, and other accounts are told at once', async (t) => {
  const hub = await restorable(t);
  const made = await hub.sh(`cd /var/tmp && age-keygen -o key 2>/dev/null && chown daemon key && tar -C '${AT}/data/backups' ` +
    `-cz ${hub.name} | age -r "$(age-keygen -y key)" -o sealed.age && ` +
    "printf '[box]\\ntype = alias\\nremote = /var/tmp\\n' >rclone.conf && chown daemon rclone.conf && " +
    `mkdir ${hub.name} && cp sealed.age ${hub.name}/backup.tar.gz.age`);
  assert.equal(made.status, 0, made.stderr);
  const as = (account: string, args: string): Promise<Outcome> =>
    hub.sh(`cd / && CONFIRM_RESTORE=YES RCLONE_CONFIG=/var/tmp/rclone.conf setpriv --reuid=${account} --regid=${account} --clear-groups ` +
      `'${AT}/scripts/restore.sh' ${args}`);
  const before = await hub.each('InvocationID');

  const stranger = await as('games', hub.backup);
  assert.equal(stranger.status, 1);
  assert.match(stranger.stderr, /belongs to daemon: run this as that account or as root/);
  assert.deepEqual([await hub.each('InvocationID'), hub.world()], [before, 'old']);

  const { status, stdout, stderr } = await as('daemon', '/var/tmp/sealed.age --identity /var/tmp/key');
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^RESTORED \/var\/tmp\/sealed\.age$/m);
  assert.deepEqual([await hub.isReady(), hub.world(), leftovers(hub.dataDir)], [true, 'new', []]);
  assert.deepEqual(await hub.each('ActiveState'), ['active', 'active']);
  const after = await hub.each('InvocationID');
  assert.ok(after.every((id, index) => id !== '' && id !== before[index]), 'both were started anew');

  const fromRemote = await as('daemon', `box:${hub.name} --identity /var/tmp/key`);
  assert.deepEqual([fromRemote.status, await hub.isReady(), hub.world()], [0, true, 'new'], fromRemote.stderr);

  harmUnseen(join(hub.dataDir, 'backups', hub.name));
  const failed = await as('daemon', hub.backup);
  assert.equal(failed.status, 1);
  assert.match(failed.stdout, /ROLLED BACK: the previous data is in place again\n$/);
  assert.doesNotMatch(failed.stderr, /could not be started|not healthy/);
  assert.deepEqual([await hub.isReady(), hub.world()], [true, 'new'], failed.stderr);

  await hub.sh('systemctl disable --now content-hub-restore.path');
  const refused = await as('daemon', hub.backup);
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /run by systemd units, which daemon may not stop: run this as root/);
  assert.doesNotMatch(refused.stderr, /Access denied|not healthy/);
  assert.deepEqual([await hub.isReady(), leftovers(hub.dataDir)], [true, []]);
});

/** What does not belong to the account of the units, but modules that tests have Node compile for root. */
function ofOthers(folder: string): string[] {
  return readdirSync(folder, { recursive: true }).map(String).filter((name) => {
    if (name.startsWith('run/compiled')) return false;
    const found = statSync(join(folder, name), { throwIfNoEntry: false }); // a running hub removes files too
    return found && (found.uid !== DAEMON || found.gid !== DAEMON);
  });
}

test('the restore of another clone on the same machine leaves the units alone', async (t) => {
  const hub = await restorable(t);
  writeFileSync(join(hub.project, 'second/.env'), 'PORT=8081\n');
  const state = async (): Promise<string[][]> =>
    Promise.all(['InvocationID', 'ActiveEnterTimestampMonotonic', 'MainPID', 'NRestarts'].map(hub.each));
  const before = await state();

  const backup = hub.backup.replace('/data/', '/second/data/');
  const { status, stderr } = await hub.restore(backup, '', `${AT}/second/scripts`);

  assert.equal(status, 0, stderr);
  assert.match(stderr, /the hub was not running before/);
  assert.deepEqual(await state(), before);
  assert.deepEqual([hub.world(), hub.world(join(hub.project, 'second/data'))], ['old', 'new']);
  assert.ok(!existsSync(join(hub.dataDir, 'run/restore-state.json')));
  assert.ok(await hub.isReady());
});

test('case 65: if web does not start on restored data, the old data comes back and the units run on the old data', async (t) => {
  const hub = await restorable(t, harmUnseen);

  const { status, stdout, stderr } = await hub.restore(hub.backup);

  assert.equal(status, 1);
  assert.match(stdout, /ROLLED BACK: the previous data is in place again\n$/);
  assert.match(stderr, /restore: the restore failed; rolling back to the previous data\n/);
  assert.deepEqual([await hub.isReady(), await hub.each('ActiveState')], [true, ['active', 'active']], stderr);
  assert.deepEqual([hub.world(), leftovers(hub.dataDir)], ['old', []]);
});

test('case 65: a web that hangs on the restored data has RESTORE_HEALTH_SECONDS, however long its unit would wait', async (t) => {
  const hub = await restorable(t);
  const hanging = '#!/bin/sh\n[ ! -e "$1/data/run/restore-probation.json" ] || exec sleep infinity\n' +
    'exec "$HUB_NODE" "$1/src/bin/launch.ts" web\n';
  writeFileSync(join(hub.project, 'scripts/hanging.sh'), hanging, { mode: 0o755 });
  const at = AT.replace('%', '%%');
  await hub.addTo('web', `TimeoutStartSec=infinity\nExecStart=\nExecStart=:"${at}/scripts/hanging.sh" "${at}"\n` +
    `ExecStartPost=\nExecStartPost=:"${at}/scripts/await-health.sh" 100000 1`);

  const { status, stdout, stderr } = await hub.restore(hub.backup, 'RESTORE_HEALTH_SECONDS=20');

  assert.equal(status, 1);
  assert.match(stderr, /restore: the hub did not become ready within 1[345] s\n/); // it decides before the hub would by itself, after 20 s
  assert.match(stdout, /ROLLED BACK/);
  assert.deepEqual([await hub.isReady(), hub.world(), leftovers(hub.dataDir)], [true, 'old', []], stderr);
});

test('case 61: after restore.sh was killed the units do not run on half a restore, until --recover ends it', async (t) => {
  const hub = await restorable(t);
  // In the moment in which web has stopped, or the trial begins.
  const kill = '#!/bin/sh\ngrep -qs "\\"$1\\"" "$2"/run/restore-*.json && kill -9 "$(cat /run/restoring)"\n';
  writeFileSync(join(hub.project, 'kill.sh'), kill, { mode: 0o755 });
  const at = AT.replace('%', '%%');
  const killAt = (moment: string, phase: string): Promise<void> =>
    hub.addTo('web', `${moment}=-+:"${at}/kill.sh" ${phase} "${at}/data"`);
  const killed = async (): Promise<void> => {
    const script = `echo $$ >/run/restoring; export CONFIRM_RESTORE=YES; exec '${AT}/scripts/restore.sh' ${hub.backup}`;
    const { status } = await hub.sh(`sh -c '${script.replaceAll("'", `'\\''`)}'`);
    assert.equal(status, 137);
    const isIdle = async (): Promise<boolean> => (await hub.sh('systemctl list-jobs --no-legend')).stdout === '';
    await waitUntil('what it had started has ended', isIdle); // the units have their own time limits
  };
  const refused = async (): Promise<void> => {
    assert.ok(isRestoreUnderWay(hub.dataDir));
    await hub.sh('systemctl start content-hub-web content-hub-worker content-hub-backup');
    assert.deepEqual(await hub.each('ActiveState'), ['inactive', 'inactive']);
    assert.equal((await hub.sh('systemctl show -p ConditionResult --value content-hub-backup')).stdout, 'no\n');
  };

  await killAt('ExecStopPost', 'staged');
  await killed();
  await refused();
  const undone = await hub.restore('--recover');
  assert.equal(undone.status, 0, undone.stderr + (await hub.sh('journalctl --no-pager -n 60 -u content-hub-web -u content-hub-worker')).stdout);
  assert.match(undone.stderr, /interrupted in phase 'staged': rolling back/);
  assert.deepEqual([await hub.isReady(), hub.world(), leftovers(hub.dataDir)], [true, 'old', []]);

  await killed();
  await hub.sh(`setpriv --reuid=${DAEMON} --regid=${DAEMON} --clear-groups '${AT}/scripts/hubctl' restore swap`);
  assert.equal(readRestoreState(hub.dataDir)?.phase, 'swapped');
  await refused();
  const done = await hub.restore('--recover');
  assert.equal(done.status, 0, done.stderr);
  assert.match(done.stderr, /interrupted in phase 'swapped': resuming/);
  assert.deepEqual([await hub.isReady(), hub.world(), leftovers(hub.dataDir)], [true, 'new', []]);

  await killAt('ExecStartPost', 'probation');
  await killed();
  assert.equal(readRestoreState(hub.dataDir)?.phase, 'probation');
  const proved = await hub.restore('--recover');
  assert.equal(proved.status, 0, proved.stderr);
  assert.deepEqual([await hub.isReady(), hub.world(), leftovers(hub.dataDir)], [true, 'new', []]);
  assert.deepEqual(await hub.each('ActiveState'), ['active', 'active']);
});
