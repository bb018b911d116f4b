// Protects interim backups: whole without copying what is there already, verified like nightly ones, and few.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { interimName, timeOfInterim } from '../../../src/features/backups/backup-name.ts';
import type { MadeBackup } from '../../../src/features/backups/make-backup.ts';
import { INTERIM_KEPT, makeInterim } from '../../../src/features/backups/make-interim.ts';
import { noteVerdict } from '../../../src/features/backups/note-run.ts';
import { HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { backupHub, copyOf, optionsFor, verify, type BackupHub } from '../../support/backup-hub.ts';
import { otherDisk } from '../../support/other-disk.ts';

const NOW = Date.UTC(2026, 0, 31, 14, 15);

async function interim(hub: BackupHub, at = NOW, backupDir?: string): Promise<MadeBackup> {
  const made = await makeInterim({ ...optionsFor(hub.dataDir), clock: () => at, ...(backupDir && { backupDir }) });
  assert.ok(made, 'it was not skipped');
  return made;
}

const inode = (path: string): number => statSync(path).ino;
const fileIn = (backup: string, sha256: string): string => join(backup, 'uploads', sha256.slice(0, 2), sha256);

test('an interim backup has its own name and form, and its uploads are the hub’s own files', async (t) => {
  const hub = backupHub(t);
  const { sha256, path } = hub.upload('an owl');

  const { name, path: made, verification } = await interim(hub);

  assert.deepEqual([name, made], ['2026-01-31T141500Z', join(hub.dataDir, 'backups/interim', name)]);
  assert.deepEqual(readdirSync(made).sort(), ['SHA256SUMS', 'hub.db', 'uploads']);
  assert.doesNotMatch(readFileSync(join(made, 'SHA256SUMS'), 'utf8'), /uploads\.tar\.gz/);
  assert.equal(inode(fileIn(made, sha256)), inode(path));
  assert.deepEqual([verification.verdict, verification.isInterim], ['verified', true]);
  rmSync(path);
  assert.equal((await verify(made)).verdict, 'verified', 'a file that the hub removes stays');
});

test('on another disk the first interim backup copies the uploads, and the next one links to those of the first', async (t) => {
  const hub = backupHub(t);
  const backupDir = otherDisk(t, hub.dataDir);
  if (backupDir === undefined) return;
  const { sha256 } = hub.upload('an owl');

  const first = await interim(hub, NOW, backupDir);
  const added = hub.upload('another owl');
  const second = await interim(hub, NOW + HOUR, backupDir);

  assert.deepEqual([first, second].map(({ verification }) => verification.verdict), ['verified', 'verified']);
  assert.equal(inode(fileIn(first.path, sha256)), inode(fileIn(second.path, sha256)));
  assert.equal(statSync(fileIn(second.path, added.sha256)).nlink, 1);
});

test('a file that is damaged in the previous interim backup is copied anew, one that the hub has lost is kept', async (t) => {
  const hub = backupHub(t);
  const backupDir = otherDisk(t, hub.dataDir);
  if (backupDir === undefined) return;
  const [damaged, lost] = [hub.upload('an owl'), hub.upload('a lost owl')];
  const first = await interim(hub, NOW, backupDir);
  writeFileSync(fileIn(first.path, damaged.sha256), 'an OWL');
  rmSync(lost.path);

  const { path, verification } = await interim(hub, NOW + HOUR, backupDir);

  assert.equal(verification.verdict, 'verified');
  assert.equal(readFileSync(fileIn(path, damaged.sha256), 'utf8'), 'an owl');
});

test('an upload that the hub has lost or damaged is left out and named: the interim backup is degraded', async (t) => {
  const hub = backupHub(t);
  const [lost, damaged, linked] = [hub.upload('one'), hub.upload('two'), hub.upload('three')];
  rmSync(lost.path);
  writeFileSync(damaged.path, 'TWO');
  renameSync(linked.path, join(hub.dataDir, 'elsewhere'));
  symlinkSync(join(hub.dataDir, 'elsewhere'), linked.path);

  const { path, verification } = await interim(hub);

  assert.equal(verification.verdict, 'degraded');
  assert.deepEqual(verification.absent.map(({ sha256, why }) => [sha256, why]).sort(),
    [[lost.sha256, 'missing'], [damaged.sha256, 'damaged'], [linked.sha256, 'missing']].sort());
  assert.equal((await verify(path)).verdict, 'degraded');
});

test('the newest 24 are kept, the new one among them, and what killed runs left is removed', async (t) => {
  const hub = backupHub(t);
  const folder = join(hub.dataDir, 'backups/interim');
  for (let n = 1; n <= INTERIM_KEPT + 2; n++) mkdirSync(join(folder, interimName(NOW - n * HOUR)), { recursive: true });
  for (const left of ['.tmp-2026-01-01T000000Z-12', '.del-2026-01-01T000000Z']) mkdirSync(join(folder, left));
  mkdirSync(join(folder, '20260101-000000'));

  const { name, retention } = await interim(hub);

  const others = Array.from({ length: INTERIM_KEPT - 1 }, (_, n) => interimName(NOW - (n + 1) * HOUR)).reverse();
  assert.deepEqual(readdirSync(folder).sort(), [...others, name, '20260101-000000']);
  assert.deepEqual([retention.removed.length, retention.problems], [3, []]);
});

test('incomplete interim backups never push out the last complete one', async (t) => {
  const hub = backupHub(t);
  const { path } = hub.upload();
  const complete = await interim(hub);
  await noteVerdict(optionsFor(hub.dataDir), { name: complete.name, at: NOW, ok: true, verdict: 'verified', bytes: 1, seconds: 1, problem: null });
  rmSync(path);
  const folder = join(hub.dataDir, 'backups/interim');
  for (let n = 1; n <= INTERIM_KEPT; n++) mkdirSync(join(folder, interimName(NOW + n * HOUR)), { recursive: true });

  const made = await makeInterim({ ...optionsFor(hub.dataDir), clock: () => NOW + 30 * HOUR });

  assert.equal(made?.verification.verdict, 'degraded');
  assert.ok(readdirSync(folder).includes(complete.name));
  assert.equal(readdirSync(folder).length, INTERIM_KEPT);
});

test('no interim backup is made within 50 minutes after a nightly one, which removes none; an hour later one is due', async (t) => {
  const hub = backupHub(t);
  await interim(hub);
  const night = NOW + HOUR + 20_000; // cron starts it at the full minute
  await hub.backup({ clock: () => night, retentionDays: 1 });
  const at = (now: number) => makeInterim({ ...optionsFor(hub.dataDir), clock: () => now });

  assert.equal(await at(night), null);
  assert.equal(await at(night + 50 * MINUTE - 1), null);
  assert.equal((await at(NOW + 2 * HOUR))?.name, '2026-01-31T161500Z');
  assert.deepEqual(hub.backups(), ['20260131-151520', 'interim']);
});

const HARM: Record<string, [(backup: string, sha256: string) => void, RegExp]> = {
  'a byte of an upload': [(backup, sha256) => replace(fileIn(backup, sha256), 'an OWL'), /uploads holds .* with other content$/],
  'a longer upload': [(backup, sha256) => replace(fileIn(backup, sha256), 'an owl!'), /with 7 bytes instead of 6$/],
  'a missing upload': [(backup, sha256) => rmSync(fileIn(backup, sha256)), /uploads lacks uploads\/.*, which hub\.db references$/],
  'a file that no row names': [(backup, sha256) => replace(fileIn(backup, `${sha256.slice(0, 63)}x`), ''), /hub\.db does not reference$/],
  'a link for an upload': [(backup, sha256) => (rmSync(fileIn(backup, sha256)), symlinkSync('/etc/passwd', fileIn(backup, sha256))),
    /which is not a plain file$/],
  'a file among the folders': [(backup) => replace(join(backup, 'uploads/note'), ''), /holds "note", which is no folder$/],
  'another folder': [(backup) => mkdirSync(join(backup, 'uploads/zz')), /holds the folder "uploads\/zz"$/],
  'a file beside': [(backup) => replace(join(backup, 'hub.db-wal'), ''), /"hub\.db-wal" does not belong to a backup$/],
  'a link for the folder': [(backup) => (rmSync(join(backup, 'uploads'), { recursive: true }), symlinkSync('/etc', join(backup, 'uploads'))),
    /uploads is not a folder$/],
  'a hash of an archive': [(backup) => writeFileSync(join(backup, 'SHA256SUMS'), `${'0'.repeat(64)}  uploads.tar.gz\n`, { flag: 'a' }),
    /SHA256SUMS is damaged/],
  'no folder': [(backup) => rmSync(join(backup, 'uploads'), { recursive: true }), /uploads\.tar\.gz is missing$/],
};

/** Another file of that name: a link would change the hub's own. */
function replace(path: string, content: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, content);
}

for (const [what, [harm, problem]] of Object.entries(HARM)) {
  test(`the verification of an interim backup finds ${what}`, async (t) => {
    const hub = backupHub(t);
    const { sha256 } = hub.upload('an owl');
    const { path } = await interim(hub);
    const copy = copyOf(join(path, '..'), basename(path));
    harm(join(copy, basename(path)), sha256);

    const found = await verify(join(copy, basename(path)));

    assert.equal(found.verdict, 'failed');
    assert.match(found.problem ?? '', problem);
  });
}

test('no other text is taken for the name of an interim backup', () => {
  const wrong = ['20260131-141500', '2026-01-31T141500', '2026-02-30T141500Z', '2026-01-31T141500Zx', '2026-01-31T14:15:00Z', ''];
  assert.deepEqual(wrong.map(timeOfInterim), wrong.map(() => undefined));
  assert.equal(timeOfInterim('2026-01-31T141500Z'), NOW);
});
