// Protects backups in a folder of their own, which may lie on another disk.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openHubDatabase } from '../../src/app/processes/open-hub.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { readBackupStatus } from '../../src/features/backups/backup-status.ts';
import { DAY } from '../../src/platform/clock.ts';
import { backupHub } from '../support/backup-hub.ts';
import { hubEnvironment, startHubProcess, temporaryDataDir } from '../support/hub-process.ts';
import { compiledIn, PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { temporaryFolder } from '../support/temporary-project.ts';

test('with BACKUP_DIR backups are made, verified, shown and removed there, by confined processes', async (t) => {
  const dataDir = temporaryDataDir(t);
  openHubDatabase(loadConfig(hubEnvironment(dataDir))).close();
  const backupDir = join(temporaryFolder(t), 'another disk');
  const env = { ...hubEnvironment(dataDir), PATH: process.env['PATH'] ?? '', BACKUP_DIR: backupDir, BACKUP_RETENTION_DAYS: '1' };
  const launch = (...args: string[]) =>
    runProgram(process.execPath, [join(PROJECT_ROOT, 'src/bin/launch.ts'), 'hubctl', ...args], { env });

  const unplugged = await launch('backup');
  assert.equal(unplugged.status, 1);
  assert.match(unplugged.stderr, /FAILED: BACKUP_DIR .*another disk is not there: mount or make it\n$/);
  assert.ok(!existsSync(backupDir), 'nothing is put below a mount point that is bare');

  const web = startHubProcess(t, 'web', dataDir, { BACKUP_DIR: backupDir, PORT: '0' });
  const address = await web.address();
  mkdirSync(backupDir);
  const [first = '', ...older] = [5, 4, 3].map((days) => backupName(Date.now() - days * DAY));
  for (const name of [first, ...older]) mkdirSync(join(backupDir, name));
  const made = await launch('backup');
  assert.equal(made.status, 0, made.stderr);
  const [, name = '', removed = '', dir = ''] = /name=(\S+) .*removed=(\d) dir=(.*)\n$/.exec(made.stdout) ?? [];
  assert.deepEqual([dir, removed], [join(backupDir, name), '1']);
  assert.deepEqual(readdirSync(backupDir).sort(), [...older, name]);
  assert.deepEqual(readdirSync(join(dataDir, 'backups')), []);

  assert.equal((await launch('verify', dir)).status, 0);
  const status = readBackupStatus({ config: loadConfig(env), clock: Date.now });
  assert.deepEqual([status.newestVerified?.name, status.lastVerification?.name], [name, name]);
  assert.equal((await launch('backup', 'due')).stdout, `${name}\n${older[0]}\n`);
  const health = await (await fetch(`${address}/api/health`)).json() as { lastBackup: unknown };
  assert.deepEqual(health.lastBackup, { ageSeconds: (health.lastBackup as { ageSeconds: number }).ageSeconds, verified: true });
  rmSync(backupDir, { recursive: true });
  const gone = await (await fetch(`${address}/api/health`)).json() as { lastBackup: { verified: boolean }; degraded: string[] };
  assert.deepEqual([gone.lastBackup.verified, gone.degraded], [true, ['backup-dir']], 'there were backups, and what is wrong is said');
});

test('a mount point without its disk gets no nightly and no interim backup, and backup.sh begins on a new disk', async (t) => {
  const { dataDir, db } = backupHub(t);
  db.close();
  const backupDir = join(temporaryFolder(t), 'another disk');
  const env = {
    ...hubEnvironment(dataDir, compiledIn(dataDir)), PATH: process.env['PATH'] ?? '', HUB_NODE: process.execPath, BACKUP_DIR: backupDir,
  };
  const run = (script: string, ...args: string[]) => runProgram('sh', [join(PROJECT_ROOT, 'scripts', script), ...args], { env });
  mkdirSync(backupDir);
  assert.equal((await run('nightly-backup.sh')).status, 0);
  renameSync(backupDir, `${backupDir}, unmounted`);
  mkdirSync(backupDir);

  for (const script of ['nightly-backup.sh', 'interim-backup.sh']) {
    const { status, stderr } = await run(script);
    assert.equal(status, 1, stderr);
    assert.match(stderr, /BACKUP_DIR .*another disk holds none of the backups that were made in it: mount its disk, or run .*backup\.sh once if BACKUP_DIR is on a new disk/);
    assert.deepEqual(readdirSync(backupDir), []);
    assert.equal(readBackupStatus({ config: loadConfig(env), clock: Date.now }).lost, 'empty');
  }
  assert.equal((await run('backup.sh')).status, 0);
  assert.equal((await run('nightly-backup.sh')).status, 0);
  assert.equal(readBackupStatus({ config: loadConfig(env), clock: Date.now }).lost, null);
});
