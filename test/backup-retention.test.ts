import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { takeFileLock } from '../src/platform/db/file-lock.ts';
import { DAY } from '../src/platform/clock.ts';
import { applyRetention } from '../src/features/backups/apply-retention.ts';
import { backupFolder } from '../src/features/backups/backup-folder.ts';
import { verifyLock } from '../src/features/backups/backup-locks.ts';
import { backupName, timeOfBackup } from '../src/features/backups/backup-name.ts';
import { planRetention } from '../src/features/backups/plan-retention.ts';
import { backupHub, type BackupHub } from './support/backup-hub.ts';

const NOW = Date.UTC(2030, 5, 30, 3, 15);

/** Names of backups made that many days before now. */
function madeBefore(...days: number[]): string[] {
  return days.map((count) => backupName(NOW - count * DAY));
}

function plan(names: string[], days: number, now = NOW) {
  return planRetention({ names, made: backupName(now), days, now });
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
  const future = planRetention({ names, made: backupName(NOW), days: 1, now: NOW - 2 * DAY });
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

test('case 79: a run that fails, or finds the hub not whole, removes nothing', async (t) => {
  const hub = backupHub(t);
  place(hub, madeBefore(1, 2, 3, 40, 50));
  const { path } = hub.upload();
  rmSync(path);
  const { verification } = await hub.backup({ clock: () => NOW, retentionDays: 7 });
  assert.equal(verification.verdict, 'degraded');
  assert.equal(hub.backups().length, 6);

  hub.db.exec('DROP TABLE jobs');
  await assert.rejects(hub.backup({ clock: () => NOW + 60_000, retentionDays: 7 }));
  assert.equal(hub.backups().length, 6);
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

test('case 86: while a backup is being verified none is removed', async (t) => {
  const hub = backupHub(t);
  place(hub, madeBefore(1, 2, 40, 50));
  const lock = takeFileLock(verifyLock(hub.dataDir));
  const held = await hub.backup({ clock: () => NOW, retentionDays: 30 });
  assert.deepEqual(held.retention, { removed: [], problems: ['no old backup was removed: one is being verified'] });
  lock?.release();
  const free = await hub.backup({ clock: () => NOW + 60_000, retentionDays: 30 });
  assert.equal(free.retention.removed.length, 2);
});

test('case 84: folders that cannot be listed are a problem that is told, not a failure', async (t) => {
  const hub = backupHub(t);
  const folder = backupFolder(join(hub.dataDir, 'nowhere'));
  const { removed, problems } = await applyRetention(folder, { made: 'x', days: 1, now: NOW }, () => false);
  assert.deepEqual(removed, []);
  assert.match(problems.join(), /could not be listed: ENOENT/);
});

test('case 78: BACKUP_RETENTION_DAYS that is no number of days stops a backup before it begins', async (t) => {
  const hub = backupHub(t);
  for (const days of ['0', '-1', 'abc', '7d', '08', '1e3', '1'.repeat(20), '']) {
    const env = { DATA_DIR: hub.dataDir, BACKUP_RETENTION_DAYS: days };
    const child = (): string => execFileSync(process.execPath, ['src/bin/hubctl.ts', 'backup'], { env, stdio: 'pipe' }).toString();
    if (days === '') continue;
    assert.throws(child, (error: unknown) => (error as { status: number }).status === 2, days);
  }
  assert.deepEqual(hub.backups(), []);
});
