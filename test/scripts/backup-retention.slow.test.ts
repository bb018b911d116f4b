// Protects the removal of old backups: never the last good ones, and never anything else.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync, utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { DAY } from '../../src/platform/clock.ts';
import { applyRetention, backupFolder, planRetention } from '../../src/features/backups/backup-folder.ts';
import { backupName, timeOfBackup } from '../../src/features/backups/backup-name.ts';
import type { RunResult } from '../../src/features/backups/backup-status.ts';
import { noteVerdict } from '../../src/features/backups/note-run.ts';
import { isFileLocked, lockForRemoving, lockForVerifying } from '../../src/features/hub/data-locks.ts';
import { backupHub, verify, type BackupHub } from '../support/backup-hub.ts';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { hideTable } from '../support/stored-rows.ts';
import { waitUntil } from '../support/wait-until.ts';

const NOW = Date.UTC(2030, 5, 30, 3, 15);

/** Names of backups made that many days before now. */
function madeBefore(...days: number[]): string[] {
  return days.map((count) => backupName(NOW - count * DAY));
}

function plan(names: string[], days: number, now = NOW, complete: string | null = backupName(now)) {
  return planRetention({ names, made: backupName(now), complete, days, now });
}

test('what is older than its days goes, oldest first; what is just that old stays', () => {
  const names = madeBefore(0, 1, 2, 6, 7, 7.00002, 8, 30);
  assert.deepEqual(plan(names, 7), { remove: madeBefore(30, 8, 7.00002), refusal: null });
  assert.deepEqual(plan([...names].reverse(), 7).remove.length, 3, 'in whatever order they are listed');
  assert.deepEqual(plan(names, 30).remove, []);
});

test('case 79, 81: three are always kept, however old', () => {
  assert.deepEqual(plan(madeBefore(0, 10, 20), 1), { remove: [], refusal: null });
  assert.deepEqual(plan(madeBefore(0, 10, 20, 30), 1).remove, madeBefore(30));
});

test('case 81: nothing goes when a name lies after this backup, or in the future', () => {
  const names = madeBefore(0, 10, 20, 30, 40);
  assert.match(plan([...names, backupName(NOW + 1_000)], 1).refusal ?? '', /newer than this backup: the clock/);
  assert.match(plan([...names, ...madeBefore(-365)], 1).refusal ?? '', /newer than this backup/);
  const future = planRetention({ names, made: backupName(NOW), complete: backupName(NOW), days: 1, now: NOW - 2 * DAY });
  assert.deepEqual([future.remove, /lies in the future/.test(future.refusal ?? '')], [[], true]);
});

test('case 81: nothing goes when the clock has jumped a year, or to 1970', () => {
  const names = madeBefore(1, 2, 3, 4, 5, 6);
  const ahead = NOW + 365 * DAY;
  assert.match(plan([...names, backupName(ahead)], 7, ahead).refusal ?? '', /366 days older: the clock may be wrong/);
  assert.deepEqual(plan([...names, backupName(0)], 7, 0), { remove: [], refusal: null });
  assert.match(plan([...names, ...madeBefore(4_000), backupName(DAY)], 7, DAY).refusal ?? '', /^$/);
});

test('case 83: only real dates in that exact form are names', () => {
  for (const name of ['20300115-031500', '20240229-235959', '19700101-000000']) {
    assert.equal(backupName(timeOfBackup(name) ?? NaN), name);
  }
  for (const name of ['20261332-256199', '20230229-000000', '20300115-240000', '20300115-031560', '2030115-031500', '', '..',
    '20300115-031500 ', '20300115-031500.old', '.20300115-031500', '20300115_031500', '20300115-031500\n', '٢٠300115-031500']) {
    assert.equal(timeOfBackup(name), undefined, name);
  }
});

/** Folders under DATA_DIR/backups as earlier runs would have left them. */
function place(hub: BackupHub, names: string[]): void {
  for (const name of names) {
    mkdirSync(join(hub.dataDir, 'backups', name));
    writeFileSync(join(hub.dataDir, 'backups', name, 'hub.db'), name);
  }
}

test('case 82, 83: a backup removes old ones by their names alone, and touches nothing else, through no link', async (t) => {
  const hub = backupHub(t);
  const backups = join(hub.dataDir, 'backups');
  place(hub, madeBefore(1, 2, 40, 50));
  place(hub, ['keep-me', '20261332-256199', '20200101-000000.old', 'x20200101-000000']);
  writeFileSync(join(backups, '20200102-000000'), 'a file');
  mkdirSync(join(hub.dataDir, 'precious'));
  writeFileSync(join(hub.dataDir, 'precious/file'), '');
  symlinkSync(join(hub.dataDir, 'precious'), join(backups, '20200103-000000'));
  utimesSync(join(backups, madeBefore(1)[0] ?? ''), 1, 1);
  const [old = '', older = ''] = madeBefore(40, 50);
  utimesSync(join(backups, old), NOW / 1_000, NOW / 1_000);

  const { name, retention } = await hub.backup({ clock: () => NOW, retentionDays: 30 });

  assert.deepEqual(retention, { removed: [older, old], problems: [] });
  assert.deepEqual(hub.backups(), ['20200101-000000.old', '20200102-000000', '20200103-000000', '20261332-256199', 'keep-me',
    'x20200101-000000', ...madeBefore(2, 1), name].sort());
  assert.ok(existsSync(join(hub.dataDir, 'precious/file')));
});

test('case 78: without BACKUP_RETENTION_DAYS nothing is ever removed', async (t) => {
  const hub = backupHub(t);
  place(hub, madeBefore(1, 2, 3, 4_000));
  assert.deepEqual((await hub.backup({ clock: () => NOW })).retention, { removed: [], problems: [] });
  assert.equal(hub.backups().length, 5);
});

test('the newest backup that lacks nothing is kept, however old, and where none is known nothing goes', () => {
  const names = madeBefore(0, 1, 2, 30, 40, 50, 60);
  const [complete = ''] = madeBefore(40);
  assert.deepEqual(plan(names, 7, NOW, complete), { remove: madeBefore(60, 50, 30), refusal: null });
  assert.deepEqual(plan(names, 7, NOW, null), { remove: [], refusal: 'no backup is known to be complete' });
  assert.deepEqual(plan(madeBefore(0, 1, 2, 3), 7, NOW, null), { remove: [], refusal: null }, 'nothing is due');
});

test('a lost upload does not end retention: it is named, older backups go, and the newest complete one stays', async (t) => {
  const hub = backupHub(t);
  place(hub, madeBefore(1, 2, 3, 40, 50, 60));
  const upload = hub.upload();
  rmSync(upload.path);
  const backup = (at: number) => hub.backup({ clock: () => at, retentionDays: 7 });
  const unknown = await backup(NOW);
  assert.deepEqual(unknown.verification.absent, [{ sha256: upload.sha256, why: 'missing' }]);
  assert.deepEqual(unknown.retention, { removed: [], problems: ['no old backup was removed: no backup is known to be complete'] });

  const [complete = '', damaged = ''] = madeBefore(50, 40);
  for (const [name, verdict] of [[complete, 'verified'], [damaged, 'failed']] as const) {
    const run: RunResult = { name, at: NOW, ok: verdict === 'verified', verdict, bytes: 1, seconds: 1, problem: null };
    await noteVerdict({ dataDir: hub.dataDir, backupDir: join(hub.dataDir, 'backups') }, run);
  }
  const { verification, retention } = await backup(NOW + 60_000);
  assert.deepEqual([verification.verdict, retention], ['degraded', { removed: madeBefore(60, 40), problems: [] }]);
  assert.deepEqual(hub.backups(), [complete, ...madeBefore(3, 2, 1, 0), backupName(NOW + 60_000)]);

  writeFileSync(upload.path, 'x');
  hub.forgetUploads();
  const whole = await backup(NOW + 120_000);
  assert.deepEqual([whole.verification.verdict, whole.retention.removed], ['verified', [complete]]);
});

test('case 85: an old backup that cannot be removed is told; the new one stands and the others go', async (t) => {
  const hub = backupHub(t);
  place(hub, madeBefore(1, 2, 40, 50));
  const [old = '', older = ''] = madeBefore(40, 50);
  writeFileSync(join(hub.dataDir, 'backups', `.del-${older}`), 'in the way');

  const { verification, retention } = await hub.backup({ clock: () => NOW, retentionDays: 30 });

  assert.equal(verification.verdict, 'verified');
  assert.deepEqual(retention.removed, [old]);
  assert.match(retention.problems.join(), new RegExp(`^${older} could not be removed: .*ENOTDIR`));
  assert.equal(readFileSync(join(hub.dataDir, 'backups', older, 'hub.db'), 'utf8'), older, 'and it is whole');
});

test('case 86: it is asked before each removal whether one is being verified', async (t) => {
  const hub = backupHub(t);
  mkdirSync(join(hub.dataDir, 'backups'), { recursive: true });
  place(hub, madeBefore(0, 1, 2, 40, 50, 60));
  const folder = backupFolder(join(hub.dataDir, 'backups'));
  const begun: Promise<{ release(): void }>[] = [];
  const beginningMeanwhile = {
    ...folder,
    async removeWithdrawn(name: string) {
      await folder.removeWithdrawn(name);
      begun.push(lockForVerifying(hub.dataDir));
      await begun.at(-1);
    },
  };

  const { removed, problems } = await applyRetention(beginningMeanwhile,
    { made: backupName(NOW), complete: backupName(NOW), days: 30, now: NOW }, hub.dataDir);

  assert.deepEqual([removed, problems.length, begun.length], [madeBefore(60), 2, 1]);
  assert.deepEqual(hub.backups(), madeBefore(50, 40, 2, 1, 0));
  (await begun[0])?.release();
});

test('case 86: a verification does not begin while a backup is taken away, and does so then', async (t) => {
  const hub = backupHub(t);
  const removing = lockForRemoving(hub.dataDir);
  assert.ok(removing);
  let hasBegun = false;
  const beginning = lockForVerifying(hub.dataDir).finally(() => (hasBegun = true));
  await new Promise((resolve) => setTimeout(resolve, 500)); // longer than it tries at once
  assert.equal(hasBegun, false);
  removing.release();
  (await beginning).release();
  const again = lockForRemoving(hub.dataDir);
  assert.ok(again, 'and nothing is left of it');
  again.release();
});

/** hubctl verify, stopped by a signal as soon as it holds the lock of that place. */
async function verifierHeldAt(t: TestContext, hub: BackupHub, backup: string, place: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(PROJECT_ROOT, 'src/bin/hubctl.ts'), 'verify', backup],
    { env: { DATA_DIR: hub.dataDir }, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const [gate, lock] = ['', `-${place}`].map((of) => join(hub.dataDir, `run/verify-lock${of}.db`)) as [string, string];
  await waitUntil('it verifies', () => existsSync(lock) && isFileLocked(lock) && !isFileLocked(gate));
  child.kill('SIGSTOP');
  return child;
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('exit', resolve));
}

test('case 86: two who verify the same old backup: it stays until the second of them has ended, and is found whole', async (t) => {
  const hub = backupHub(t);
  hub.upload(randomBytes(60_000_000)); // takes long enough to be met in the middle
  const old = await hub.backup({ clock: () => NOW - 40 * DAY });
  hub.forgetUploads();
  place(hub, madeBefore(1, 2, 3));
  const [first, second] = [await verifierHeldAt(t, hub, old.path, 1), await verifierHeldAt(t, hub, old.path, 2)];
  const problem = [`${old.name} was not removed: a backup is being verified`];

  assert.deepEqual((await hub.backup({ clock: () => NOW, retentionDays: 30 })).retention.problems, problem);
  const killed = exitOf(first);
  first.kill('SIGKILL');
  await killed;
  assert.deepEqual((await hub.backup({ clock: () => NOW + 60_000, retentionDays: 30 })).retention.problems, problem);
  const ended = exitOf(second);
  second.kill('SIGCONT');
  assert.equal(await ended, 0);

  assert.deepEqual((await hub.backup({ clock: () => NOW + 120_000, retentionDays: 30 })).retention.removed, [old.name]);
});

test('case 80: while the newest backups are damaged, the newest that was verified is kept, until a new one is', async (t) => {
  const hub = backupHub(t);
  const good = await hub.backup({ clock: () => NOW - 40 * DAY });
  for (const days of [34, 33, 32]) {
    const { path } = await hub.backup({ clock: () => NOW - days * DAY });
    truncateSync(join(path, 'uploads.tar.gz'), 20);
    assert.equal((await verify(path)).verdict, 'failed');
  }
  const file = hub.upload();
  renameSync(file.path, `${file.path}.away`);

  const degraded = await hub.backup({ clock: () => NOW, retentionDays: 7 });
  assert.deepEqual([degraded.verification.verdict, degraded.retention.removed], ['degraded', []]);
  const showJobs = hideTable(hub, 'jobs');
  await assert.rejects(hub.backup({ clock: () => NOW + 60_000, retentionDays: 7 }));
  assert.equal((await verify(good.path)).verdict, 'verified', 'it is there after runs that made no good one');

  showJobs();
  renameSync(`${file.path}.away`, file.path);
  const made = await hub.backup({ clock: () => NOW + 120_000, retentionDays: 7 });
  assert.ok(made.retention.removed.includes(good.name), made.retention.problems.join());
  assert.equal((await verify(made.path)).verdict, 'verified');
});

test('case 87: what is removed here stays elsewhere', async (t) => {
  const hub = backupHub(t);
  const far = join(hub.dataDir, '../far');
  mkdirSync(far);
  const names = [1, 2, 40, 50].map((days) => backupName(Date.now() - days * DAY));
  mkdirSync(join(hub.dataDir, 'backups'), { recursive: true });
  place(hub, names);
  for (const name of names) cpSync(join(hub.dataDir, 'backups', name), join(far, name), { recursive: true });
  const sent = names.map((name) => `${'0'.repeat(64)}  ${far}/${name}/hub.db\n`).sort().join('');
  writeFileSync(join(hub.dataDir, 'backups/off-site.sent'), sent);

  const { status, stdout, stderr } = await runProgram(join(PROJECT_ROOT, 'scripts/backup.sh'), [], {
    env: {
      PATH: '/usr/bin:/bin', HUB_NODE: process.execPath, DATA_DIR: hub.dataDir, BACKUP_RETENTION_DAYS: '30',
      BACKUP_OFFSITE_DIR: far,
    },
  });

  assert.equal(status, 0, stderr);
  const made = /^result=verified off-site=done name=(\S+) .* removed=2 /.exec(stdout)?.[1] ?? assert.fail(stdout);
  assert.deepEqual(hub.backups().filter((name) => timeOfBackup(name)), [...names.slice(0, 2), made].sort());
  assert.deepEqual(readdirSync(far).filter((name) => timeOfBackup(name)), [...names, made].sort());
  for (const name of names) assert.equal(readFileSync(join(far, name, 'hub.db'), 'utf8'), name);
});

test('case 84: folders that cannot be listed are a problem that is told, not a failure', async (t) => {
  const hub = backupHub(t);
  const folder = backupFolder(join(hub.dataDir, 'nowhere'));
  const { removed, problems } = await applyRetention(folder, { made: 'x', complete: 'x', days: 1, now: NOW }, hub.dataDir);
  assert.deepEqual(removed, []);
  assert.match(problems.join(), /could not be listed: ENOENT/);
});
