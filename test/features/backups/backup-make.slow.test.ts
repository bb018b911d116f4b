// Protects the making of a backup: whole, private, readable by common tools, or refused with a reason and no trace.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { requireSpace, reserveIn } from '../../../src/features/backups/backup-folder.ts';
import { BackupBusy } from '../../../src/features/backups/backup-name.ts';
import { backupLock, takeFileLock } from '../../../src/features/hub/data-locks.ts';
import { makeBackup } from '../../../src/features/backups/make-backup.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { addPost, assertNoBackup, backupHub, optionsFor, verify } from '../../support/backup-hub.ts';
import { losePost } from '../../support/stored-posts.ts';
import { countRows } from '../../support/stored-rows.ts';
import { setUploadBytes } from '../../support/stored-uploads.ts';
import { watchSyncs } from '../../support/watched-syncs.ts';

const AT = Date.UTC(2030, 0, 15, 3, 15);

test('a backup has exactly three files, private ones, which sha256sum, tar and SQLite can read', async (t) => {
  const hub = backupHub(t);
  const { sha256 } = hub.upload('attached');

  const { name, path, verification } = await hub.backup({ clock: () => AT });

  assert.equal(name, '20300115-031500');
  assert.equal(verification.verdict, 'verified');
  assert.deepEqual(readdirSync(path).sort(), ['SHA256SUMS', 'hub.db', 'uploads.tar.gz']);
  const said = execFileSync('sha256sum', ['-c', '--strict', 'SHA256SUMS'], { cwd: path, stdio: 'pipe' }).toString();
  assert.equal(said, 'hub.db: OK\nuploads.tar.gz: OK\n');
  const members = execFileSync('tar', ['-tzf', 'uploads.tar.gz'], { cwd: path, stdio: 'pipe' }).toString();
  assert.equal(members, `uploads/\nuploads/${sha256.slice(0, 2)}/${sha256}\n`);
  const copy = openDatabase(join(path, 'hub.db'), { readonly: true });
  assert.deepEqual(accounts({ db: copy, clock: Date.now }).list(0, 9).map(({ username }) => username), ['ada']);
  copy.close();
});

test('a backup is written through to the disk, each file and its folder, before it has its name', async (t) => {
  const hub = backupHub(t);
  hub.upload();
  const synced: { path: string; hasName: boolean }[] = [];
  await watchSyncs(t, (path) => synced.push({ path, hasName: hub.backups().includes('20300115-031500') }));

  await hub.backup({ clock: () => AT });

  const before = synced.filter(({ hasName }) => !hasName).map(({ path }) => path);
  const partial = join(hub.dataDir, `backups/.tmp-20300115-031500-${process.pid}`);
  const parts = ['', 'hub.db', 'uploads.tar.gz', 'SHA256SUMS'].map((name) => join(partial, name));
  assert.deepEqual(parts.filter((path) => !before.includes(path)), []);
  assert.deepEqual(synced.at(-1), { path: join(hub.dataDir, 'backups'), hasName: true });
});

test('case 26: folders are 0700 and files 0600 whatever the caller\'s umask is', async (t) => {
  const hub = backupHub(t);
  hub.upload();
  for (const mask of [0o022, 0o000]) {
    const before = process.umask(mask);
    const { path } = await hub.backup().finally(() => process.umask(before));
    assert.equal(statSync(path).mode & 0o777, 0o700);
    for (const file of readdirSync(path)) assert.equal(statSync(join(path, file)).mode & 0o777, 0o600, file);
  }
});

test('case 24: the copy needs no write-ahead log, and nothing lies beside it, before and after verification', async (t) => {
  const { path } = await backupHub(t).backup();
  for (let round = 0; round < 2; round++) {
    assert.deepEqual([...readFileSync(join(path, 'hub.db')).subarray(18, 20)], [1, 1]);
    assert.equal((await verify(path)).verdict, 'verified');
    assert.equal(readdirSync(path).length, 3);
  }
});

test('case 28: what had been deleted before is not in the copy, not even in its free pages', async (t) => {
  const hub = backupHub(t);
  const secret = 'ada@erased.example'.repeat(20);
  for (const name of [secret, 'Ada']) accounts({ db: hub.db, clock: Date.now }).setDisplayName(1, name);
  addPost(hub.db, 2, `erased ${secret}`);
  losePost(hub, 2);

  const { path } = await hub.backup();

  assert.ok(readFileSync(hub.databasePath).includes('erased') || readFileSync(`${hub.databasePath}-wal`).includes('erased'));
  assert.ok(!readFileSync(join(path, 'hub.db')).includes('ada@erased.example'));
});

test('case 25: every page size is copied', async (t) => {
  for (const size of [512, 1_024, 8_192, 65_536]) {
    const hub = backupHub(t);
    hub.db.pragma('journal_mode = DELETE');
    hub.db.pragma(`page_size = ${size}`);
    hub.db.exec('VACUUM');
    assert.equal(hub.db.pragma('page_size'), size);

    const { path, verification } = await hub.backup();

    assert.equal(verification.verdict, 'verified', String(verification.problem));
    const copy = openDatabase(join(path, 'hub.db'), { readonly: true });
    assert.equal(copy.pragma('page_size'), size);
    copy.close();
  }
});

test('case 5: neither a reader who holds an old state open nor a writer in a transaction hinders a backup', async (t) => {
  const hub = backupHub(t);
  const reader = openDatabase(hub.databasePath, { readonly: true });
  t.after(() => reader.close());
  reader.exec('BEGIN');
  countRows({ db: reader }, 'posts');
  addPost(hub.db, 2, 'Later than the reader.');
  hub.db.exec('BEGIN IMMEDIATE');
  addPost(hub.db, 3, 'Not committed.');

  const { verification } = await hub.backup();

  hub.db.exec('ROLLBACK');
  assert.deepEqual([verification.verdict, verification.counts?.posts], ['verified', 2]);
});

test('case 7, 8, 9: no database, an empty file, a text, a folder, a dead link and the database of another program are refused', async (t) => {
  const places: [(path: string) => void, RegExp][] = [
    [() => {}, /there is no database at .*hub\.db/],
    [(path) => writeFileSync(path, ''), /not the database of a hub|is not an SQLite database/],
    [(path) => writeFileSync(path, 'no database '.repeat(1_000)), /damaged or cannot be read/],
    [(path) => mkdirSync(path), /damaged or cannot be read/],
    [(path) => symlinkSync('nowhere', path), /no database/],
    [makeForeignDatabase, /not the database of a hub/],
  ];
  for (const [make, message] of places) {
    const hub = backupHub(t);
    hub.db.close();
    for (const file of ['hub.db', 'hub.db-wal', 'hub.db-shm']) rmSync(join(hub.dataDir, file), { force: true });
    make(hub.databasePath);
    const isThere = existsSync(hub.databasePath);
    await assertNoBackup(hub, message);
    assert.equal(existsSync(hub.databasePath), isThere);
  }
});

function makeForeignDatabase(path: string): void {
  const db = openDatabase(path);
  db.exec('CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES (1)');
  db.close();
}

/** The file without its log, with a change to its bytes. */
function damage(hub: ReturnType<typeof backupHub>, change: (bytes: Buffer, rootPageOf: (name: string) => number) => void): void {
  const root = (name: string): number => hub.db.prepare<[string], { page: number }>('root page',
    'SELECT rootpage AS page FROM sqlite_schema WHERE name = ?').get(name)?.page ?? 0;
  const pages = new Map(['posts', 'posts_public', 'accounts'].map((name) => [name, root(name)]));
  hub.db.pragma('wal_checkpoint(TRUNCATE)');
  hub.db.close();
  const bytes = readFileSync(hub.databasePath);
  change(bytes, (name) => ((pages.get(name) ?? 0) - 1) * 4_096);
  writeFileSync(hub.databasePath, bytes);
}

test('case 10: a damaged page of the source is found while it is copied; the last good backup stays', async (t) => {
  const hub = backupHub(t);
  for (let id = 2; id < 200; id++) addPost(hub.db, id, 'Some text. '.repeat(50));
  await hub.backup();
  damage(hub, (bytes, root) => bytes.writeUInt8(0x77, root('posts')));

  await assertNoBackup(hub, /the hub's own database is damaged/);

  assert.equal(hub.backups().length, 1);
});

test('case 11: a damaged index of the source is found by the check of the copy', async (t) => {
  const hub = backupHub(t);
  for (let id = 2; id < 20; id++) addPost(hub.db, id, 'Some text.');
  damage(hub, (bytes, root) => {
    const page = root('posts_public');
    const cell = bytes.readUInt16BE(page + 8);
    bytes.writeUInt8(99, page + cell + 4); // published_at or id of one entry
  });

  await assertNoBackup(hub, /hub\.db is damaged: .*posts_public/);
});

test('case 12: rows without their parent are saved, but such a backup never counts as good', async (t) => {
  const hub = backupHub(t);
  hub.db.pragma('foreign_keys = OFF');
  hub.db.exec('UPDATE posts SET source_id = 77');

  const { path, verification } = await hub.backup();

  assert.equal(verification.verdict, 'degraded');
  assert.match(verification.defects.join(), /1 row of posts without a parent row/);
  assert.deepEqual([(await verify(path)).verdict, (await hub.hubctl('backup')).status], ['degraded', 1]);
});

test('case 13: a search index that has drifted from its posts is told, both ways', async (t) => {
  const hub = backupHub(t);
  addPost(hub.db, 2, 'Second.');
  hub.db.exec(`DELETE FROM posts_words WHERE rowid = 2; INSERT INTO posts_words (rowid, title) VALUES (99, 'stray')`);

  const { verification } = await hub.backup();

  assert.equal(verification.verdict, 'degraded');
  assert.match(verification.defects.join('\n'), /1 post cannot be found by search\n1 row of the search index without a post/);
});

test('case 15: too little space is found before anything is copied', async (t) => {
  const hub = backupHub(t);
  await assert.rejects(requireSpace(hub.dataDir, 2 ** 60, 'a backup', 0), /not enough disk space: a backup may need 1073741824\.00 GiB/);

  setUploadBytes(hub, hub.upload().sha256, 2 ** 52);
  await assertNoBackup(hub, /not enough disk space/);
});

test('case 15: a backup leaves the reserve of the disk that DATA_DIR lies on, and another disk has none', async (t) => {
  const hub = backupHub(t);
  await assertNoBackup(hub, /a backup may need 0\.06 GiB beside the 1048576\.00 GiB that the hub keeps free/, {
    diskReserveBytes: 2 ** 50,
  });
  assert.equal(reserveIn(hub.dataDir, { dataDir: hub.dataDir, diskReserveBytes: 7 }), 7);
  assert.equal(reserveIn('/proc', { dataDir: hub.dataDir, diskReserveBytes: 7 }), 0);
});

test('case 18: while a backup is made, a second one is turned away and disturbs nothing', async (t) => {
  const hub = backupHub(t);
  const lock = takeFileLock(backupLock(hub.dataDir));
  await assert.rejects(hub.backup(), BackupBusy);
  assert.deepEqual(await hub.hubctl('backup'), { status: 75, stdout: 'result=busy\n',
    stderr: 'backup: BUSY: another backup is being made, or a backup is being restored\n' });
  lock?.release();

  const both = await Promise.allSettled([hub.backup(), hub.backup()]);
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  assert.equal(hub.backups().length, 1);
});

test('case 19: a second backup of the same second gets the next name; nothing is overwritten or nested', async (t) => {
  const hub = backupHub(t);
  const names = [];
  for (let n = 0; n < 3; n++) names.push((await hub.backup({ clock: () => AT })).name);
  mkdirSync(join(hub.dataDir, 'backups/20300115-031503'));
  writeFileSync(join(hub.dataDir, 'backups/20300115-031504'), 'in the way');
  names.push((await hub.backup({ clock: () => AT })).name);

  assert.deepEqual(names, ['20300115-031500', '20300115-031501', '20300115-031502', '20300115-031505']);
  assert.equal(readFileSync(join(hub.dataDir, 'backups/20300115-031504'), 'utf8'), 'in the way');
  assert.deepEqual(readdirSync(join(hub.dataDir, 'backups/20300115-031503')), []);
});

test('case 16: what dead runs left is removed by the next one, and only that', async (t) => {
  const hub = backupHub(t);
  const backups = join(hub.dataDir, 'backups');
  const kept = ['.tmp-mine', '.tmp-20300115-031500', 'keep-me', 'off-site.sent', '.tmp-20300115-031500-12.old'];
  for (const name of ['.tmp-20300115-031500-123', '.del-20290115-031500', ...kept]) mkdirSync(join(backups, name));
  mkdirSync(join(hub.dataDir, 'elsewhere'));
  symlinkSync(join(hub.dataDir, 'elsewhere'), join(backups, '.tmp-20300115-031500-124'));
  writeFileSync(join(hub.dataDir, 'elsewhere/file'), '');

  const { name } = await hub.backup();

  assert.deepEqual(hub.backups(), [...kept, '.tmp-20300115-031500-124', name].sort());
  assert.ok(existsSync(join(hub.dataDir, 'elsewhere/file')));
});

test('case 27: a path with quotes, percent signs and letters of all kinds is a path like another', async (t) => {
  const hub = backupHub(t);
  hub.upload();
  hub.db.close();
  const odd = join(hub.dataDir, `../-d'at"a %s; ü 漢 $(x)`);
  renameSync(hub.dataDir, odd);

  const { path, verification } = await makeBackup(optionsFor(odd));
  assert.equal(verification.verdict, 'verified');
  assert.equal((await verify(path)).verdict, 'verified');
});
