// Protects the memory of backups, which alerts, health and metrics repeat.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RunResult } from '../../../src/features/backups/backup-status.ts';
import { noteRun } from '../../../src/features/backups/note-run.ts';
import { timeOfBackup } from '../../../src/features/backups/backup-name.ts';
import { backupHub, statusOf, type BackupHub } from '../../support/backup-hub.ts';
import { dropTable } from '../../support/stored-rows.ts';

const NOTHING = {
  lastBackup: null, lastVerification: null, lastSuccessAt: null, lastVerifiedAt: null, lastBackupFailed: false,
  lost: null, damaged: null, newest: null, newestVerified: null, ahead: [], newestComplete: null, byVerification: [],
  wereEverMade: false,
};

async function made(hub: BackupHub): Promise<{ name: string; path: string }> {
  const { status, stdout, stderr } = await hub.hubctl('backup', '--json');
  assert.equal(status, 0, stderr);
  const { name, dir } = JSON.parse(stdout);
  return { name, path: dir };
}

test('a hub that never had a backup, or has no folders yet, has nothing to say', async (t) => {
  const hub = backupHub(t);
  assert.deepEqual(statusOf(hub.dataDir), NOTHING);
  assert.deepEqual(statusOf(join(hub.dataDir, 'nowhere')), NOTHING);
});

test('a backup that went well is the newest, verified, and known with time and size', async (t) => {
  const hub = backupHub(t);
  const before = Date.now();
  const { name } = await made(hub);

  const status = statusOf(hub.dataDir);

  const createdAt = timeOfBackup(name);
  assert.deepEqual([status.newest, status.newestVerified], [{ name, createdAt, verified: true }, { name, createdAt }]);
  assert.ok((status.lastSuccessAt ?? 0) >= before && status.lastVerifiedAt === status.lastSuccessAt);
  const { at, bytes, seconds, ...rest } = status.lastBackup ?? assert.fail();
  assert.deepEqual(rest, { name, ok: true, verdict: 'verified', problem: null });
  assert.ok((bytes ?? 0) > 100_000 && seconds > 0 && at <= Date.now());
  assert.deepEqual([status.lastBackupFailed, status.damaged, status.lastVerification], [false, null, null]);
  assert.deepEqual(readdirSync(join(hub.dataDir, 'run')).sort(), ['backup-lock.db', 'backup-verdicts.json', 'last-backup.json']);
});

test('case 105: a failed backup is known, and the last good one with it', async (t) => {
  const hub = backupHub(t);
  const { name } = await made(hub);
  const good = statusOf(hub.dataDir);
  dropTable(hub, 'jobs');

  assert.equal((await hub.hubctl('backup')).status, 1);

  const status = statusOf(hub.dataDir);
  assert.deepEqual([status.lastBackupFailed, status.lastSuccessAt], [true, good.lastSuccessAt]);
  assert.deepEqual([status.lastBackup?.name, status.lastBackup?.verdict], [null, 'failed']);
  assert.match(status.lastBackup?.problem ?? '', /lacks jobs/);
  assert.equal(status.newestVerified?.name, name);
});

test('a verification of a backup elsewhere says nothing about the hub\'s own', async (t) => {
  const hub = backupHub(t);
  const elsewhere = join(hub.dataDir, '../20300115-031500');
  mkdirSync(elsewhere);
  assert.equal((await hub.hubctl('verify', elsewhere)).status, 1);
  assert.equal(statusOf(hub.dataDir).lastVerification, null);
});

test('a good backup that somebody removed no longer counts', async (t) => {
  const hub = backupHub(t);
  const { path } = await made(hub);
  rmSync(path, { recursive: true });
  const { newest, newestVerified, lastSuccessAt } = statusOf(hub.dataDir);
  assert.deepEqual([newest, newestVerified], [null, null]);
  assert.ok(lastSuccessAt);
});

test('status files that are damaged, or of another kind, are as none', async (t) => {
  const hub = backupHub(t);
  const path = join(hub.dataDir, 'run/last-backup.json');
  for (const text of ['', '{', 'null', '[]', '{"last":3}', '{"last":{"at":"x","ok":true},"lastGood":{"ok":1,"at":2}}']) {
    writeFileSync(path, text);
    assert.deepEqual(statusOf(hub.dataDir), NOTHING, text);
  }
});

test('a run is noted in one step, whatever had been there, or not at all', async (t) => {
  const hub = backupHub(t);
  const run: RunResult = { name: null, at: 5, ok: false, verdict: 'failed', bytes: null, seconds: 1, problem: 'p' };
  await noteRun(hub.dataDir, 'verification', run);
  await noteRun(hub.dataDir, 'verification', { ...run, ok: true, at: 6 });
  await noteRun(hub.dataDir, 'verification', { ...run, at: 7 });
  const { lastVerification, lastVerifiedAt } = statusOf(hub.dataDir);
  assert.deepEqual([lastVerification?.at, lastVerifiedAt], [7, 6]);
  assert.deepEqual(readdirSync(join(hub.dataDir, 'run')), ['last-verification.json']);
  await assert.rejects(noteRun(join(hub.dataDir, 'nowhere'), 'backup', run), /ENOENT/);
});
