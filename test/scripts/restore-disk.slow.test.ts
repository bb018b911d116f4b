// Protects a restore from full disks, other disks and other accounts: it ends in the old data or in the new.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { NOBODY, requireAnotherUser } from '../support/another-user.ts';
import { backupHub } from '../support/backup-hub.ts';
import { hubEnvironment } from '../support/hub-process.ts';
import { freePort } from '../support/ports.ts';
import { canMount, mayMountSmallDisk } from '../support/private-mounts.ts';
import {
  assertOldIsSomewhere, keptIn, leftovers, restorableHub, stateOf, worldIn, type RestorableHub,
} from '../support/restore-hub.ts';
import { RESTORE, restoreEnvironment, runRestore } from '../support/restore-script.ts';
import { NOT_COMPILED, PROJECT_ROOT, runProgram } from '../support/run-program.ts';

const HUBCTL = [process.execPath, join(PROJECT_ROOT, 'src/bin/launch.ts'), 'hubctl'];

test('case 63: a file that cannot grow ends the staging, and nothing is touched or left', async (t) => {
  const hub = backupHub(t);
  hub.upload(randomBytes(2_000_000));
  const { path } = await hub.backup();
  hub.db.close();
  const before = stateOf(hub.dataDir);
  const database = statSync(join(path, 'hub.db')).size;
  for (const bytes of [database / 2, database * 2]) {
    const script = `trap '' XFSZ; ulimit -f ${Math.floor(bytes / 512)}; "$@"`;
    const env = hubEnvironment(hub.dataDir, { CONFIRM_RESTORE: 'YES', PATH: process.env.PATH ?? '' });
    const run = spawnSync('sh', ['-c', script, 'sh', ...HUBCTL, 'restore', 'begin', path], { env, cwd: join(hub.dataDir, '..') });
    assert.equal(run.status, 1);
    assert.match(run.stderr.toString(), /EFBIG|disk I\/O error/);
    assert.deepEqual(stateOf(hub.dataDir), before);
  }
});

/** Runs restore.sh on a copy of the hub's data in a file system that only it sees; what it left is printed. */
function restoreMounted(dataDir: string, backup: string, size: string, more: string) {
  const script = `set -e; mkdir -p "$TMP_DATA"; mount -t tmpfs -o size=${size},mode=0700 tmpfs "$TMP_DATA"
    cp -a "$DATA_DIR"/hub.db "$DATA_DIR"/uploads "$TMP_DATA"; DATA_DIR=$TMP_DATA; cd "$TMP_DATA"; ${more}
    set +e; "$@"; status=$?; cd "$TMP_DATA"; ls -A | tr '\\n' ' '; ls -A run; ls uploads/*; exit $status`;
  const env = { ...restoreEnvironment(dataDir, 1), PATH: process.env.PATH ?? '', TMP_DATA: join(dataDir, '../small') };
  const run = spawnSync('unshare', ['-m', 'sh', '-c', script, 'sh', RESTORE, backup], { env });
  return { status: run.status, stdout: run.stdout.toString(), stderr: run.stderr.toString() };
}

test('case 63: on a disk with too little space nothing is staged', async (t) => {
  const hub = await restorableHub(t);
  if (!mayMountSmallDisk(t, join(hub.dataDir, 'tmp'))) return;
  const { status, stdout, stderr } = restoreMounted(hub.dataDir, hub.backup, '40m', ':');
  assert.equal(status, 1);
  assert.match(stderr, /restore: not enough disk space: the restore may need 0\.06 GiB, 0\.04 GiB is free/);
  assert.match(stdout, /^hub\.db run uploads /);
  assert.ok(stdout.includes(hub.since));
});

test('case 64: uploads that are a mount of their own are refused up front, even of the same disk', async (t) => {
  const hub = await restorableHub(t);
  if (!mayMountSmallDisk(t, join(hub.dataDir, 'tmp'))) return;
  for (const mount of ['mount --bind uploads uploads', 'mount -t tmpfs tmpfs uploads']) {
    const { status, stdout, stderr } = restoreMounted(hub.dataDir, hub.backup, '200m', mount);
    assert.equal(status, 1, mount);
    assert.match(stderr, /DATA_DIR\/uploads is a symbolic link or a mount point/);
    assert.match(stdout, /^hub\.db run uploads /);
  }
});

test('case 70, 22: root restores for the account that owns the data: all of it stays that account’s', async (t) => {
  if (!requireAnotherUser(t)) return;
  const hub = await restorableHub(t);
  for (const name of ['', ...readdirSync(hub.dataDir, { recursive: true })]) {
    chownSync(join(hub.dataDir, String(name)), NOBODY, NOBODY);
  }
  for (const above of ['..', '../..']) chmodSync(join(hub.dataDir, above), 0o755);
  const port = await freePort();
  const { status, stderr } = await runRestore(hub.dataDir, port, [hub.backup], NOT_COMPILED);
  assert.equal(status, 0, stderr);
  const owned = readdirSync(hub.dataDir, { recursive: true }).map((name) => join(hub.dataDir, String(name)));
  assert.deepEqual(owned.filter((path) => statSync(path).uid !== NOBODY || statSync(path).gid !== NOBODY), []);
  assert.deepEqual([worldIn(keptIn(hub.dataDir), hub), leftovers(hub.dataDir)], ['old', []]);

  const backup = await runProgram('setpriv', [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--',
    join(PROJECT_ROOT, 'scripts/backup.sh')], { env: restoreEnvironment(hub.dataDir, port), cwd: '/' });
  assert.equal(backup.status, 0, backup.stderr);
});

/** Shell: one step of a restore, whose status it prints; the disk filled but for so many KiB; no more files on it. */
const WORDS = `
  try() { "$NODE" "$LAUNCH" hubctl restore "$1" >>"$SAID" 2>&1; echo "$1 $?"; }
  fill() {
    dd if=/dev/zero of=room bs=1k count="$1" status=none
    for size in 64k 4k 512; do dd if=/dev/zero of="filler$size" bs="$size" status=none 2>/dev/null; done
    rm room
  }
  use_up_files() { mkdir many && while touch "many/$((n += 1))" 2>/dev/null; do :; done; }
  id() { ls -d .restore-* | sed s/.restore-//; }
`;

/**
 * Stages the backup for a copy of the hub on a file system of its own, then runs lines of shell there. Gives what they
 * printed, what the steps said, and where the data lies as they left it. Undefined where the system does not allow it.
 */
async function onOwnDisk(t: TestContext, hub: RestorableHub, lines: string, options = 'size=80m') {
  if (!(await canMount(t))) return undefined;
  const [disk, dataDir, log] = ['disk', 'afterwards', 'said'].map((name) => join(hub.dataDir, '..', name)) as
    [string, string, string];
  for (const path of [dataDir, log]) rmSync(path, { recursive: true, force: true });
  const script = `${WORDS} mkdir -p "$DISK" "$LEFT" && mount -t tmpfs -o mode=0700,${options} tmpfs "$DISK" &&
    cp -a "$DATA_DIR"/hub.db "$DATA_DIR"/uploads "$DISK" && cd "$DISK" && export DATA_DIR="$DISK" &&
    "$NODE" "$LAUNCH" hubctl restore begin "$BACKUP" >"$SAID" 2>&1 || exit
    ${lines}
    rm -rf filler* many && cp -a . "$LEFT"`;
  const env = {
    ...hubEnvironment(hub.dataDir), CONFIRM_RESTORE: 'YES', PATH: '/usr/bin:/bin', NODE: process.execPath,
    LAUNCH: join(PROJECT_ROOT, 'src/bin/launch.ts'), BACKUP: hub.backup, DISK: disk, LEFT: dataDir, SAID: log,
  };
  const run = await runProgram('unshare', ['-rm', 'sh', '-c', script], { env, cwd: '/' });
  const said = existsSync(log) ? readFileSync(log, 'utf8') : '';
  assert.equal(run.status, 0, run.stderr + said);
  return { printed: run.stdout.trim().split('\n'), said, dataDir };
}

const NO_ROOM = [
  'fill 0; try swap; try undo', 'fill 40; try swap; try undo', 'fill 48; try swap; try undo', 'fill 72; try swap; try undo',
  'try swap; fill 0; try open; try undo', 'try swap; try open; fill 0; try undo',
];

for (const lines of NO_ROOM) {
  test(`case 63: on a disk that fills after the staging the old data comes back, which needs no space: ${lines}`, async (t) => {
    const hub = await restorableHub(t);
    const after = await onOwnDisk(t, hub, lines);
    if (!after) return;
    t.diagnostic(after.printed.join(', '));
    assert.equal(after.printed.at(-1), 'undo 0', after.said);
    if (lines.includes('fill 0; try swap')) assert.equal(after.printed[0], 'swap 1', 'there was no room at all');
    assert.deepEqual([worldIn(after.dataDir, hub), leftovers(after.dataDir)], ['old', []]);
  });
}

test('case 63: a disk that fills when the new data has proved itself does not keep the restore from its end', async (t) => {
  const hub = await restorableHub(t);
  const after = await onOwnDisk(t, hub, 'try swap; try open; fill 0; try finish');
  if (!after) return;
  assert.deepEqual(after.printed, ['swap 0', 'open 0', 'finish 0'], after.said);
  assert.deepEqual([worldIn(after.dataDir, hub), worldIn(keptIn(after.dataDir), hub)], ['new', 'old']);
  assert.deepEqual(leftovers(after.dataDir), []);
});

test('case 62, 63: a look at a restore that was cut off leaves the room for what ends it, also on a full disk', async (t) => {
  const hub = await restorableHub(t);
  const after = await onOwnDisk(t, hub, 'try swap; try open; fill 0; try state; fill 0; try undo');
  if (!after) return;
  assert.deepEqual(after.printed, ['swap 0', 'open 0', 'state 0', 'undo 0'], after.said);
  assert.match(after.said, /^probation\n/m);
  assert.deepEqual([worldIn(after.dataDir, hub), leftovers(after.dataDir)], ['old', []]);
});

test('case 63: on a disk that takes no more files it goes back as well', async (t) => {
  const hub = await restorableHub(t);
  for (const lines of ['use_up_files; try swap; try undo', 'try swap; try open; use_up_files; try undo']) {
    const after = await onOwnDisk(t, hub, lines, 'size=80m,nr_inodes=200');
    if (!after) return;
    assert.equal(after.printed.at(-1), 'undo 0', after.said);
    assert.deepEqual([worldIn(after.dataDir, hub), leftovers(after.dataDir)], ['old', []]);
  }
});

test('case 62, 63: a restore cut off by a full disk is recovered when the disk has space again', async (t) => {
  const hub = await restorableHub(t);
  for (const room of [0, 44, 52]) {
    const after = await onOwnDisk(t, hub, `fill ${room}; try swap`);
    if (!after) return;
    assertOldIsSomewhere(after.dataDir, hub);
    const { status, stderr } = await runRestore(after.dataDir, await freePort(), ['--recover']);
    assert.equal(status, 0, stderr);
    assert.deepEqual(leftovers(after.dataDir), []);
    const world = worldIn(after.dataDir, hub);
    assert.equal(after.printed[0] === 'swap 0' ? 'new' : world, world);
    assert.match(world, /^(old|new)$/);
  }
});

/** What is mounted between staging and swap, so that a move in the middle cannot be made, and how that is refused. */
const MOUNTS: [what: string, lines: string, refusal: RegExp, isAfterSome: boolean][] = [
  ['where the old data goes', 'P=pre-restore-$(id); mkdir $P; mount -t tmpfs tmpfs $P', /EXDEV: .*rename .*hub\.db/, false],
  ['the old attachments', 'mkdir ../far; cp -a uploads ../far; mount --bind ../far/uploads uploads',
    /EBUSY: .*rename .*uploads/, true],
  ['where the new data comes from', 'P=.restore-$(id); cp -a $P/. ../far; mount --bind ../far $P', /EXDEV: .*rename .*hub\.db/, true],
];

for (const [what, lines, refusal, isAfterSome] of MOUNTS) {
  test(`case 64: ${what} on another disk since the staging: the swap stops there, and goes back`, async (t) => {
    const hub = await restorableHub(t);
    const whole = `mkdir -p ../far && mount -t tmpfs tmpfs ../far; ${lines}; try swap; ls -d pre-restore-*/hub.db
      try undo; umount $P; try undo`;
    const after = await onOwnDisk(t, hub, whole);
    if (!after) return;
    assert.match(after.said, refusal);
    assert.equal(after.printed[0], 'swap 1');
    assert.equal(after.printed.some((line) => line.endsWith('/hub.db')), isAfterSome, 'how far it had come');
    assert.deepEqual([worldIn(after.dataDir, hub), leftovers(after.dataDir)], ['old', []]);
  });
}
