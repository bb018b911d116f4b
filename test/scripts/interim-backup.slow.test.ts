// Protects backups between the nights: made beside nightly ones, restored by the same commands, and in nobody's way.
import assert from 'node:assert/strict';
import {
  chmodSync, chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readInterim } from '../../src/features/backups/backup-status.ts';
import { backupLock, takeFileLock } from '../../src/features/hub/data-locks.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { HOUR } from '../../src/platform/clock.ts';
import { NOBODY, requireAnotherUser } from '../support/another-user.ts';
import { hubEnvironment } from '../support/hub-process.ts';
import { otherDisk } from '../support/other-disk.ts';
import { freePort } from '../support/ports.ts';
import { restorableHub, worldIn } from '../support/restore-hub.ts';
import { restoreEnvironment, runRestore } from '../support/restore-script.ts';
import { withoutNodesWarning } from '../support/restic.ts';
import { PROJECT_ROOT, runProgram, type Outcome } from '../support/run-program.ts';
import { temporaryFolder } from '../support/temporary-project.ts';

/** A hub that nobody runs, without a backup, and its scripts. */
async function interimHub(t: TestContext, settings: Record<string, string> = {}) {
  const hub = await restorableHub(t);
  rmSync(join(hub.dataDir, 'backups'), { recursive: true });
  const env = restoreEnvironment(hub.dataDir, await freePort(), settings);
  const backupDir = settings['BACKUP_DIR'] ?? join(hub.dataDir, 'backups');
  return {
    ...hub, env, backupDir,
    async run(script: string, ...args: string[]): Promise<Outcome> {
      const outcome = await runProgram('sh', [join(PROJECT_ROOT, 'scripts', script), ...args], { cwd: '/', env });
      return { ...outcome, stderr: withoutNodesWarning(outcome.stderr) };
    },
    made: (): string[] => namesIn(join(backupDir, 'interim')),
    log: (): string => readFileSync(join(hub.dataDir, 'backups/interim.log'), 'utf8'),
    status: () => readInterim({ config: loadConfig({ ...hubEnvironment(hub.dataDir), ...settings }), clock: Date.now }),
  };
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

test('an interim backup is made silently, listed apart, verified, read and restored by the same commands', async (t) => {
  const hub = await interimHub(t);

  assert.deepEqual(await hub.run('interim-backup.sh', '--every', '2'), { status: 0, stdout: '', stderr: '' });

  const [name = '', ...others] = hub.made();
  const folder = join(hub.backupDir, 'interim', name);
  assert.deepEqual(others, []);
  assert.match(hub.log(), new RegExp(`interim backup\n[^]*result=verified off-site=none name=${name} .*dir=${folder}\n.*exit code 0\n$`));
  assert.deepEqual([hub.status().everyHours, hub.status().newestAt !== null, hub.status().kept], [2, true, 1]);

  await hub.run('backup.sh');
  const { stdout } = await hub.run('restore.sh', '--list');
  assert.match(stdout, new RegExp(
    `^On this machine, restored by: .*/backups'?/NAME\n  \\d{8}-\\d{6} .*verified.*\n` +
    `Interim backups on this machine, restored by: restore\\.sh .*/backups/interim'?/NAME\n  ${name} +[\\d.]+ KiB  schema \\d+ +verified .* UTC\n$`));
  const verified = await hub.run('verify-backup.sh', folder);
  assert.equal(verified.status, 0, verified.stderr);
  assert.match(verified.stdout, new RegExp(`^Interim backup ${name} [^]*VERIFIED: this backup can be restored\\.\n$`));
  const shown = await hub.hubctl('backup', 'extract', name, 'upload', hub.since);
  assert.deepEqual([shown.status, shown.stdout], [0, 'uploaded after the backup']);
});

test('the restore of an interim backup brings everything back, as files of the hub’s own', async (t) => {
  const hub = await interimHub(t);
  await hub.run('backup.sh', '--interim');
  const folder = join(hub.backupDir, 'interim', hub.made()[0] ?? '');
  rmSync(join(hub.dataDir, 'uploads'), { recursive: true });
  rmSync(join(hub.dataDir, 'hub.db'));

  const { status, stdout, stderr } = await runRestore(hub.dataDir, 0, [folder], { PORT: String(await freePort()) });

  assert.equal(status, 0, stderr);
  assert.match(stdout, /RESTORED .*\/interim\//);
  assert.equal(worldIn(hub.dataDir, hub), 'old');
  const path = `uploads/${hub.since.slice(0, 2)}/${hub.since}`;
  assert.notEqual(statSync(join(hub.dataDir, path)).ino, statSync(join(folder, path)).ino);
  assert.equal((await hub.run('verify-backup.sh', '--rehearse', folder)).status, 0);
});

test('an interim backup that only root may read is restored by root for the account of the hub, but not with a link in it', async (t) => {
  if (!requireAnotherUser(t)) return;
  const hub = await interimHub(t);
  await hub.run('backup.sh', '--interim');
  const mine = join(temporaryFolder(t), hub.made()[0] ?? '');
  cpSync(join(hub.backupDir, 'interim', hub.made()[0] ?? ''), mine, { recursive: true });
  for (const folder of [mine, join(mine, '..')]) chmodSync(folder, 0o700);
  for (const name of ['', ...readdirSync(hub.dataDir, { recursive: true })]) chownSync(join(hub.dataDir, String(name)), NOBODY, NOBODY);
  for (const above of ['..', '../..']) chmodSync(join(hub.dataDir, above), 0o755);
  rmSync(join(hub.dataDir, 'uploads'), { recursive: true });
  symlinkSync('/etc/shadow', join(mine, 'uploads/00'));

  const port = await freePort();
  const refused = await runRestore(hub.dataDir, port, [mine]);
  rmSync(join(mine, 'uploads/00'));
  const { status, stderr } = await runRestore(hub.dataDir, port, [mine]);

  assert.deepEqual([refused.status, /is not a backup: it must hold/.test(refused.stderr)], [1, true], refused.stderr);
  assert.equal(status, 0, stderr);
  assert.deepEqual([worldIn(hub.dataDir, hub), readdirSync(join(hub.dataDir, 'tmp'))], ['old', []]);
});

test('with BACKUP_DIR on another disk uploads are copied there once, by confined processes', async (t) => {
  const scratch = await restorableHub(t);
  const backupDir = otherDisk(t, scratch.dataDir);
  if (backupDir === undefined) return;
  const hub = await interimHub(t, { BACKUP_DIR: backupDir });
  const file = (name: string): number => statSync(join(backupDir, 'interim', name, 'uploads', hub.since.slice(0, 2), hub.since)).ino;

  for (const name of ['first', 'second']) {
    const { status, stderr } = await hub.run('interim-backup.sh');
    assert.equal(status, 0, `${name}: ${stderr}`);
  }

  const [first = '', second = '', ...others] = hub.made();
  assert.deepEqual(others, []);
  assert.equal(file(first), file(second));
  assert.equal((await hub.run('verify-backup.sh', join(backupDir, 'interim', second))).status, 0);
});

test('no interim backup is made just after a nightly one or while another backup runs, and both end well', async (t) => {
  const hub = await interimHub(t);
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  const lock = takeFileLock(backupLock(hub.dataDir));
  const busy = await hub.run('interim-backup.sh', '--every', '1');
  lock?.release();
  assert.deepEqual(busy, { status: 0, stdout: '', stderr: '' });
  assert.match(hub.log(), /BUSY[^]*result=busy off-site=none\n.*exit code 75\n$/);

  assert.equal((await hub.run('backup.sh')).status, 0);
  assert.deepEqual(await hub.run('interim-backup.sh', '--every', '1'), { status: 0, stdout: '', stderr: '' });
  assert.match(hub.log(), /result=skipped off-site=none\n.*exit code 0\n$/);
  assert.deepEqual([hub.made(), hub.status().last], [[], null]);
});

test('the nightly run waits for an interim backup that still runs; a backup by hand is told that it is busy', async (t) => {
  const hub = await interimHub(t);
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  const held = runProgram('flock', [join(hub.dataDir, 'run/backup.flock'), 'sh', '-c', 'echo held; sleep 3'], { env: hub.env });
  const byHand = async (): Promise<Outcome> => {
    const tried = await hub.run('backup.sh');
    return tried.status === 75 ? tried : byHand();
  };

  assert.match((await byHand()).stderr, /BUSY/);
  const night = await hub.run('nightly-backup.sh');

  assert.deepEqual([night.status, night.stderr, (await held).status], [0, '', 0]);
});

test('a run that fails is told, repeats its report, and leaves nothing; so is one that did not take place', async (t) => {
  const hub = await interimHub(t, {});
  assert.equal((await hub.run('interim-backup.sh', '--every', '3')).status, 0);
  writeFileSync(join(hub.dataDir, 'hub.db'), 'no database');
  rmSync(join(hub.dataDir, 'hub.db-wal'), { force: true });

  const { status, stderr } = await hub.run('interim-backup.sh', '--every', '3');

  assert.equal(status, 1);
  assert.match(stderr, /backup: FAILED: .*damaged[^]*ended with exit code 1\n$/);
  assert.equal(hub.made().length, 1);
  const { last, everyHours, isLate } = hub.status();
  assert.deepEqual([last?.ok, everyHours, isLate], [false, 3, false]);
  const clock = (): number => Date.now() + 9 * HOUR + 1;
  assert.equal(readInterim({ config: { dataDir: hub.dataDir, backupDir: hub.backupDir }, clock }).isLate, true);
});

test('wrong usage of the scripts ends with 2: 5 hours do not divide the day', async (t) => {
  const hub = await interimHub(t);
  for (const [script, ...args] of [
    ['interim-backup.sh', '--every', '5'], ['interim-backup.sh', '--every', '24'], ['interim-backup.sh', '1'], ['interim-backup.sh', '--every'],
    ['backup.sh', '--interim', '--every', '5'], ['backup.sh', '--every', '1'], ['backup.sh', '--wait', '--interim'],
  ] as const) {
    const { status, stdout, stderr } = await hub.run(script, ...args);
    assert.deepEqual([status, stdout], [2, ''], args.join(' '));
    assert.match(stderr, /^Usage: /);
  }
  assert.deepEqual(hub.made(), []);
  assert.match((await hub.hubctl('backup', '--interim', '--every', '5')).stderr, /one of 1, 2, 3, 4, 6, 8, 12/);
});
