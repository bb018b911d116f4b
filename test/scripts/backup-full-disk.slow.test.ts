// Protects the disk and the data from backups for which there is no room.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { filledHub, type BackupHub } from '../support/backup-hub.ts';
import { hubEnvironment } from '../support/hub-process.ts';
import { mayMountSmallDisk } from '../support/private-mounts.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';

const HUBCTL = [process.execPath, join(PROJECT_ROOT, 'src/bin/launch.ts'), 'hubctl'];

/** A hub of about 3 MB of database and that many MB of uploads. */
function largeHub(t: TestContext, megabytes: number): BackupHub {
  const hub = filledHub(t, 300, 3);
  for (let n = 3; n < megabytes; n++) hub.upload(randomBytes(1_000_000));
  return hub;
}

/** The command with its folder prepared by the shell words before it, in a mount space of its own. */
function runMounted(hub: BackupHub, prepare: string, ...command: string[]) {
  const script = `set -e; cd "$DATA_DIR"; ${prepare}; cd ..; set +e; "$@"; status=$?; ls -A "$DATA_DIR/backups"; exit $status`;
  const env = { ...hubEnvironment(hub.dataDir), PATH: process.env.PATH ?? '' };
  const { status, stdout, stderr } = spawnSync('unshare', ['-m', 'sh', '-c', script, 'sh', ...command], { env });
  return { status, lines: stdout.toString().trim().split('\n'), stderr: stderr.toString() };
}

test('case 14: a file that cannot grow ends the backup, whichever it is, and nothing is left', async (t) => {
  const hub = largeHub(t, 6);
  const { path, name } = await hub.backup();
  const size = (file: string): number => statSync(join(path, file)).size;
  assert.ok(size('hub.db') * 1.5 < size('uploads.tar.gz'));
  const limits: [bytes: number, said: RegExp][] = [
    [size('hub.db') / 2, /FAILED: the copy could not be written: disk I\/O error/],
    [size('hub.db') * 1.4, /FAILED: EFBIG: file too large/],
  ];
  for (const [bytes, said] of limits) {
    const limited = `trap '' XFSZ; ulimit -f ${Math.floor(bytes / 512)}; "$@"`;
    const env = { ...hubEnvironment(hub.dataDir), PATH: process.env.PATH ?? '' };
    const run = spawnSync('sh', ['-c', limited, 'sh', ...HUBCTL, 'backup'], { env, cwd: join(hub.dataDir, '..') });
    assert.equal(run.status, 1);
    assert.match(run.stderr.toString(), said);
    assert.deepEqual(hub.backups(), [name]);
  }
});

test('case 14: a disk that another program fills meanwhile ends the backup, and nothing is left', async (t) => {
  const hub = largeHub(t, 40);
  if (!mayMountSmallDisk(t, join(hub.dataDir, 'backups'))) return;
  const fill = 'while ! ls -d backups/.tmp-*/hub.db; do :; done; cat /dev/zero >backups/filler';
  const prepare = `mount -t tmpfs -o size=112m tmpfs backups; { ${fill}; } >/dev/null 2>&1 & true`;

  const full = runMounted(hub, prepare, ...HUBCTL, 'backup');

  assert.deepEqual([full.status, full.lines], [1, ['result=failed', 'filler']], full.stderr);
  assert.match(full.stderr, /FAILED: (the copy could not be written: .*full|ENOSPC)/);
});
