import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { NOBODY, requireAnotherUser } from './support/another-user.ts';
import { backupHub } from './support/backup-hub.ts';
import { hubEnvironment } from './support/hub-process.ts';
import { keptIn, leftovers, restorableHub, stateOf, worldIn } from './support/restore-hub.ts';
import { freePort, RESTORE, restoreEnvironment, runRestore } from './support/restore-script.ts';
import { PROJECT_ROOT, runProgram } from './support/run-program.ts';

const HUBCTL = [process.execPath, join(PROJECT_ROOT, 'src/bin/launch.ts'), 'hubctl'];

function mayMount(t: TestContext, folder: string): boolean {
  if (spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status === 0) return true;
  t.skip('file systems can only be mounted by root, with unshare and mount of util-linux');
  return false;
}

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
  if (!mayMount(t, join(hub.dataDir, 'tmp'))) return;
  const { status, stdout, stderr } = restoreMounted(hub.dataDir, hub.backup, '40m', ':');
  assert.equal(status, 1);
  assert.match(stderr, /restore: there is too little space: the restore may take 0\.06 GiB, 0\.04 GiB are free/);
  assert.match(stdout, /^hub\.db run uploads /);
  assert.ok(stdout.includes(hub.since));
});

test('case 64: uploads that are a mount of their own are refused up front, even of the same disk', async (t) => {
  const hub = await restorableHub(t);
  if (!mayMount(t, join(hub.dataDir, 'tmp'))) return;
  for (const mount of ['mount --bind uploads uploads', 'mount -t tmpfs tmpfs uploads']) {
    const { status, stdout, stderr } = restoreMounted(hub.dataDir, hub.backup, '200m', mount);
    assert.equal(status, 1, mount);
    assert.match(stderr, /DATA_DIR\/uploads is a link or a disk of its own/);
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
  const { status, stderr } = await runRestore(hub.dataDir, port, [hub.backup]);
  assert.equal(status, 0, stderr);
  const owned = readdirSync(hub.dataDir, { recursive: true }).map((name) => join(hub.dataDir, String(name)));
  assert.deepEqual(owned.filter((path) => statSync(path).uid !== NOBODY || statSync(path).gid !== NOBODY), []);
  assert.deepEqual([worldIn(keptIn(hub.dataDir), hub), leftovers(hub.dataDir)], ['old', []]);

  const backup = await runProgram('setpriv', [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--',
    join(PROJECT_ROOT, 'scripts/backup.sh')], { env: restoreEnvironment(hub.dataDir, port), cwd: '/' });
  assert.equal(backup.status, 0, backup.stderr);
});
