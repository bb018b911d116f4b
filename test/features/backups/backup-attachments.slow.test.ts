// Protects the files of a backup: exactly those that its rows name, and each one lost or changed is told.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openUpload } from '../../../src/features/backups/upload-archive.ts';
import { backupHub, verify, type BackupHub } from '../../support/backup-hub.ts';
import { removeRows } from '../../support/stored-rows.ts';

function members(backup: string): string[] {
  return execFileSync('tar', ['-tzf', join(backup, 'uploads.tar.gz')]).toString().trim().split('\n');
}

/** Makes a backup of a hub that has lost the named uploads, and asserts that it says exactly that. */
async function assertDegraded(hub: BackupHub, absent: { sha256: string; why: string }[]): Promise<string> {
  const { path, verification } = await hub.backup();
  const sorted = [...absent].sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
  assert.deepEqual([verification.verdict, verification.absent], ['degraded', sorted]);
  const again = await verify(path);
  assert.deepEqual([again.verdict, again.absent, again.problem], ['degraded', sorted, null]);
  const lost = new Set(absent.map(({ sha256 }) => sha256));
  assert.ok(members(path).every((name) => !lost.has(name.slice(-64))));
  return path;
}

test('case 32: a file that is missing on disk is told and the rest is saved', async (t) => {
  const hub = backupHub(t);
  const [kept, lost] = [hub.upload(), hub.upload()];
  rmSync(lost.path);

  const path = await assertDegraded(hub, [{ sha256: lost.sha256, why: 'missing' }]);

  assert.ok(members(path).some((name) => name.endsWith(kept.sha256)));
  const { status, stdout, stderr } = await hub.hubctl('backup');
  assert.equal(status, 1);
  assert.match(stdout, /^result=degraded name=/);
  assert.match(stderr, new RegExp(`DEGRADED[^]*${lost.sha256} is missing\n`));
  const report = await hub.hubctl('verify', path);
  assert.equal(report.status, 1);
  assert.match(report.stdout, new RegExp(`${lost.sha256} is missing\nDEGRADED: [^\n]+\n$`));
});

test('case 33: one changed bit in a file on disk is found', async (t) => {
  const hub = backupHub(t);
  hub.upload();
  const rotten = hub.upload(randomBytes(700_000));
  const bytes = readFileSync(rotten.path);
  bytes[500_000] = (bytes[500_000] ?? 0) ^ 1;
  writeFileSync(rotten.path, bytes);

  await assertDegraded(hub, [{ sha256: rotten.sha256, why: 'damaged' }]);
});

test('case 33: many changed files of many are found in one further pass', async (t) => {
  const hub = backupHub(t);
  const all = Array.from({ length: 30 }, () => hub.upload());
  const rotten = all.filter((_, n) => n % 3 === 0);
  for (const { path } of rotten) writeFileSync(path, randomBytes(100));

  await assertDegraded(hub, rotten.map(({ sha256 }) => ({ sha256, why: 'damaged' })));
});

test('case 34: a file that is shorter or longer than its row is found', async (t) => {
  const hub = backupHub(t);
  const [shorter, longer] = [hub.upload(), hub.upload()];
  truncateSync(shorter.path, 40);
  truncateSync(longer.path, 400);

  await assertDegraded(hub, [shorter, longer].map(({ sha256 }) => ({ sha256, why: 'damaged' })));
});

test('case 34: a file that shrinks while it is read is found, and fills up with zeros only in a draft', async (t) => {
  const hub = backupHub(t);
  const { sha256, path } = hub.upload(randomBytes(600_000));
  const upload = openUpload(hub.dataDir, { sha256, bytes: 600_000, createdAt: 1 });
  assert.ok(typeof upload === 'object');
  let length = 0;
  for (const chunk of upload.content()) {
    length += chunk.length;
    truncateSync(path, 300_000);
  }
  upload.close();
  assert.deepEqual([length, upload.isSound()], [600_000, false]);
});

test('case 34: files that go on changing while they are archived fail the backup', async (t) => {
  const hub = backupHub(t);
  const uploads = Array.from({ length: 8 }, () => hub.upload()).sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
  const rot = (n: number): void => writeFileSync(uploads[n]?.path ?? '', randomBytes(100));
  rot(0);
  let read = 0;
  const onProgress = (): void => {
    read++;
    if (read === 8) rot(1); // after the first pass had found it whole
    if (read === 15) rot(2);
  };
  await assert.rejects(hub.backup({ onProgress }), /uploaded files changed while they were being copied/);
  assert.deepEqual(hub.backups(), []);
});

test('case 35: links, pipes and folders in the place of a file are not followed, and a pipe holds nobody up', async (t) => {
  const hub = backupHub(t);
  const [link, pipe, folder, dangling] = [hub.upload('the same text'), hub.upload(), hub.upload(), hub.upload()];
  const elsewhere = join(hub.dataDir, 'elsewhere');
  writeFileSync(elsewhere, 'the same text');
  for (const { path } of [link, pipe, folder, dangling]) rmSync(path);
  symlinkSync(elsewhere, link.path);
  execFileSync('mkfifo', [pipe.path]);
  mkdirSync(folder.path);
  symlinkSync('nowhere', dangling.path);

  await assertDegraded(hub, [link, pipe, folder, dangling].map(({ sha256 }) => ({ sha256, why: 'missing' })));
});

test('case 36, 31, 37: what no row names never enters the archive, whatever its name', async (t) => {
  const hub = backupHub(t);
  const { sha256 } = hub.upload();
  const uploads = join(hub.dataDir, 'uploads');
  symlinkSync('/etc/passwd', join(uploads, 'x'));
  for (const name of ['.tmp-half', '--checkpoint-action=exec=sh', 'a\nb', 'A', 'y'.repeat(255), '-rf']) {
    writeFileSync(join(uploads, name), 'secret');
  }
  writeFileSync(Buffer.concat([Buffer.from(`${uploads}/`), Buffer.from([0xff, 0xfe])]), 'secret');
  writeFileSync(join(uploads, sha256.slice(0, 2), 'f'.repeat(64)), 'no row');

  const { path, verification } = await hub.backup();

  assert.equal(verification.verdict, 'verified');
  assert.deepEqual(members(path), ['uploads/', `uploads/${sha256.slice(0, 2)}/${sha256}`]);
});

test('case 30: a file whose row was deleted after the snapshot is still in the backup', async (t) => {
  const hub = backupHub(t);
  const { sha256 } = hub.upload();
  const onStep = (what: string): void => {
    if (what.startsWith('archiving')) removeRows(hub, 'attachments', 'uploads');
  };

  const { path, verification } = await hub.backup({ onStep });

  assert.equal(verification.verdict, 'verified');
  assert.ok(members(path).some((name) => name.endsWith(sha256)));
});

test('case 38: without attachments, or without their folder, the archive is empty and valid', async (t) => {
  const hub = backupHub(t);
  rmSync(join(hub.dataDir, 'uploads'), { recursive: true });

  const { path, verification } = await hub.backup();

  assert.equal(verification.verdict, 'verified');
  assert.deepEqual(members(path), ['uploads/']);
});

test('an empty file and one of exactly a block are files like others', async (t) => {
  const hub = backupHub(t);
  hub.upload('');
  hub.upload(randomBytes(512));
  hub.upload(randomBytes(256 * 1_024));
  assert.equal((await hub.backup()).verification.verdict, 'verified');
});

test('case 40: two names for one file on disk become two plain members', async (t) => {
  const hub = backupHub(t);
  const { path } = hub.upload();
  linkSync(path, join(hub.dataDir, 'another name'));

  const { path: backup, verification } = await hub.backup();

  assert.equal(verification.verdict, 'verified');
  const listed = execFileSync('tar', ['-tvzf', join(backup, 'uploads.tar.gz')]).toString().trim().split('\n');
  assert.deepEqual(listed.map((line) => line[0]), ['d', '-']);
});

test('case 41: uploads may lie on another disk, behind a link', async (t) => {
  const hub = backupHub(t);
  hub.upload();
  renameSync(join(hub.dataDir, 'uploads'), join(hub.dataDir, '../other disk'));
  symlinkSync('../other disk', join(hub.dataDir, 'uploads'));
  assert.equal((await hub.backup()).verification.verdict, 'verified');
});

test('case 39: thousands of small files', async (t) => {
  const hub = backupHub(t);
  hub.uploadMany(Array.from({ length: 5_000 }, (_, n) => `file ${n}`));

  const { path, verification } = await hub.backup();

  assert.deepEqual([verification.verdict, verification.counts?.uploads], ['verified', 5_000]);
  assert.equal(members(path).length, 5_001);
});
