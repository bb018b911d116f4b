// Protects one calm way through the operator's scripts; the files beside it break each of them.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { addPost, backupHub } from '../support/backup-hub.ts';
import { temporaryDataDir } from '../support/hub-process.ts';
import { storedPosts } from '../support/stored-posts.ts';
import { freePort } from '../support/ports.ts';
import { query } from '../support/restore-hub.ts';
import { restoreEnvironment } from '../support/restore-script.ts';
import { NOT_COMPILED, PROJECT_ROOT, runProgram } from '../support/run-program.ts';

const SCRIPTS = join(PROJECT_ROOT, 'scripts');

/** What an operator calls by name; the others are parts of them. */
const CALLED = [
  'backup.sh', 'verify-backup.sh', 'restore.sh', 'install-backup-cron.sh', 'install-systemd.sh', 'healthcheck.sh', 'hubctl',
];

test('a backup with a copy elsewhere is made, verified and restored', async (t) => {
  const hub = backupHub(t);
  const { sha256 } = hub.upload();
  const far = join(hub.dataDir, '../far');
  mkdirSync(far);
  const env = { ...restoreEnvironment(hub.dataDir, await freePort()), BACKUP_OFFSITE_DIR: far };
  const run = (script: string, ...args: string[]) => runProgram(join(SCRIPTS, script), args, { env, cwd: '/' });

  const made = await run('backup.sh');
  assert.equal(made.status, 0, made.stderr);
  const [, name = ''] = /^result=verified off-site=done name=(\S+) /.exec(made.stdout) ?? assert.fail(made.stdout);
  assert.deepEqual(readdirSync(join(far, name)).sort(), ['SHA256SUMS', 'hub.db', 'uploads.tar.gz']);
  const verified = await run('verify-backup.sh', join(far, name));
  assert.match(verified.stdout, /VERIFIED: this backup can be restored\.\n$/);

  addPost(hub.db, 2, 'Written after the backup.');
  hub.db.close();
  const restored = await run('restore.sh', join(far, name));
  assert.equal(restored.status, 0, restored.stderr);
  assert.deepEqual(query(hub.dataDir, (db) => storedPosts({ db }).map(({ id }) => id)), [1]);
  assert.ok(readdirSync(join(hub.dataDir, 'uploads', sha256.slice(0, 2))).includes(sha256));
});

for (const script of CALLED) {
  test(`${script} --help says how it is called`, async () => {
    const env = { PATH: '/usr/bin:/bin', HUB_NODE: process.execPath };
    const { status, stdout, stderr } = await runProgram('sh', [join(SCRIPTS, script), '--help'], { env });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /usage: /i);
  });
}

test('a DATA_DIR that was mistyped is neither recovered nor called a hub by the recovery kit, and stays as it is', async (t) => {
  const folder = temporaryDataDir(t);
  mkdirSync(join(folder, 'of something else'));
  for (const dataDir of [join(folder, 'missing'), join(folder, 'of something else')]) {
    const env = restoreEnvironment(dataDir, await freePort(), NOT_COMPILED);
    for (const [script = '', ...args] of [['restore.sh', '--recover'], ['hubctl', 'recovery-kit']]) {
      const { status, stdout, stderr } = await runProgram(join(SCRIPTS, script), args, { env, cwd: '/' });
      assert.deepEqual([status, stdout], [1, ''], script);
      assert.match(stderr, /^no hub is in DATA_DIR yet \(\/.*hub\.db is missing\): check DATA_DIR, or run npm start\n$/, script);
    }
  }
  assert.deepEqual(readdirSync(folder, { recursive: true }), ['of something else']);
});
