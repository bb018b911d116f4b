// Protects the verification of backups: every kind of damage is found, and a sound backup is called good.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync, chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync,
  symlinkSync, truncateSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { type PackedMember, packTar } from '../../../src/platform/archive/tar-file.ts';
import { requireAnotherUser } from '../../support/another-user.ts';
import {
  addPost, backupHub, changeDatabase, copyOf, memberOf100, renewHashes, rewriteSums, verify,
} from '../../support/backup-hub.ts';
import { hubctl } from '../../support/hubctl.ts';
import { hubEnvironment } from '../../support/hub-process.ts';
import { migratedDatabase, MIGRATIONS } from '../../support/migrated-database.ts';
import { PROJECT_ROOT } from '../../support/run-program.ts';
import { losePost } from '../../support/stored-posts.ts';
import { addLaterMigration, removeRows } from '../../support/stored-rows.ts';
import { copyFolder, temporaryFolder, UNTIL_EXIT } from '../../support/temporary-project.ts';
import { migrate, schemaGaps } from '../../../src/platform/db/migrate.ts';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { verifyBackup } from '../../../src/features/backups/verify-backup.ts';

const FILES = ['SHA256SUMS', 'hub.db', 'uploads.tar.gz'];

/** A backup with two uploads, of which copies can be made and harmed. */
async function madeBackup(t: TestContext) {
  const { name, uploads, dataDir: original } = await (ready ??= makeReady());
  const dataDir = join(temporaryFolder(t), 'data');
  copyFolder(original, dataDir);
  const path = join(dataDir, 'backups', name);
  let copies = 0;
  const copy = (): string => copyOf(path, String(++copies));
  const assertRefused = async (harm: (db: Db) => void, message: RegExp): Promise<void> => {
    const folder = copy();
    changeDatabase(folder, harm);
    await assertFailed(folder, message);
  };
  return { hub: { dataDir }, path, uploads, copy, assertRefused };
}

let ready: ReturnType<typeof makeReady> | undefined;

async function makeReady() {
  const hub = backupHub(UNTIL_EXIT);
  const uploads = [hub.upload('the first file'), hub.upload('the second file, which is longer')];
  for (let id = 2; id < 30; id++) addPost(hub.db, id, `Some text about owls, number ${id}. `.repeat(10));
  const { name } = await hub.backup();
  hub.db.close();
  return { dataDir: hub.dataDir, name, uploads };
}

async function assertFailed(folder: string, message?: RegExp): Promise<void> {
  const { verdict, problem } = await verify(folder);
  assert.equal(verdict, 'failed', `the checker is broken: it found nothing in ${folder}`);
  if (message) assert.match(problem ?? '', message);
}

/** A generator of numbers below `limit` that are the same in each run. */
function draws(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => (state = (state * 48_271) % 2_147_483_647) % limit;
}

for (const name of FILES) {
  test(`case 43: each of 100 flipped bits in ${name} is found`, async (t) => {
    const { path } = await madeBackup(t);
    const draw = draws(4_711);
    const good = readFileSync(join(path, name));
    for (let n = 0; n < 100; n++) {
      const bytes = Buffer.from(good);
      const at = draw(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << draw(8));
      writeFileSync(join(path, name), bytes);
      const { verdict } = await verify(path);
      assert.equal(verdict, 'failed', `byte ${at}: the checker is broken`);
    }
    writeFileSync(join(path, name), good);
    assert.equal((await verify(path)).verdict, 'verified');
  });

  test(`case 44: ${name} without its last byte, half of it, or nothing of it is found`, async (t) => {
    const { path, copy } = await madeBackup(t);
    const { size } = statSync(join(path, name));
    for (const length of [size - 1, Math.floor(size / 2), 0]) {
      const folder = copy();
      truncateSync(join(folder, name), length);
      await assertFailed(folder);
    }
  });
}

test('case 44: a byte or a page too many in the database is found although SQLite does not mind', async (t) => {
  const { copy } = await madeBackup(t);
  for (const extra of [1, 4_096]) {
    const folder = copy();
    appendFileSync(join(folder, 'hub.db'), Buffer.alloc(extra));
    renewHashes(folder);
    await assertFailed(folder, /size of hub\.db differs/);
  }
});

const HASH = 'a'.repeat(64);
const SUMS: Record<string, (text: string) => string> = {
  'nothing': () => '',
  'only a line break': () => '\n',
  'CRLF': (text) => text.replaceAll('\n', '\r\n'),
  'a line of garbage': (text) => `${text}garbage\n`,
  'an empty line': (text) => `${text}\n`,
  'a cut line': (text) => text.slice(0, -5),
  'a cut line that ends': (text) => `${text.slice(0, -5)}\n`,
  'only the database': (text) => text.replace(/^.*uploads\.tar\.gz\n/m, ''),
  'only the archive': (text) => text.replace(/^.*hub\.db\n/m, ''),
  'another file': (text) => `${text}${HASH}  evil.sh\n`,
  'one file twice': (text) => `${text}${HASH}  hub.db\n`,
  'an absolute path': (text) => text.replace('  hub.db', '  /etc/hub.db'),
  'a path upwards': (text) => text.replace('  hub.db', '  ../hub.db'),
  'standard input': (text) => text.replace('  hub.db', '  -'),
  'a binary mark': (text) => text.replace('  hub.db', ' *hub.db'),
  'an MD5 sum': (text) => text.replace(/^[0-9a-f]{64}(?=  hub\.db)/m, 'a'.repeat(32)),
  'upper case': (text) => text.replace(/^[0-9a-f]{64}/gm, (hash) => hash.toUpperCase()),
  'BSD style': (text) => text.replace(/^([0-9a-f]{64})  (.*)$/gm, 'SHA256 ($2) = $1'),
  'an indented line': (text) => text.replace(/^(?=[0-9a-f]{64})/m, ' '),
  'a byte order mark': (text) => `\ufeff${text}`,
  'no counts': (text) => text.replace(/^# posts.*\n/m, ''),
  'a count twice': (text) => text.replace(/^# posts.*\n/m, (line) => line + line),
  'a count in words': (text) => text.replace(/^# posts.*$/m, '# posts many'),
  'no time': (text) => text.replace(/^# created.*\n/m, ''),
  'an absent file that no row names': (text) => `# absent ${HASH} missing\n${text}`,
  'an absence without reason': (text) => `# absent ${HASH}\n${text}`,
  'an absence of what is there': (text) => `# absent ${text.slice(0, 64)} missing\n${text}`,
};

test('case 45: SHA256SUMS is understood in one form only, even where its own hash fits', async (t) => {
  const { copy } = await madeBackup(t);
  for (const [what, change] of Object.entries(SUMS)) {
    const [plain, fitting] = [copy(), copy()];
    const path = join(plain, 'SHA256SUMS');
    writeFileSync(path, change(readFileSync(path, 'utf8')));
    rewriteSums(fitting, change);
    for (const folder of [plain, fitting]) {
      const { verdict } = await verify(folder);
      assert.equal(verdict, 'failed', `the checker is broken: SHA256SUMS with ${what}`);
    }
  }
});

test('case 45: the same lines with a hash that fits them are as good', async (t) => {
  const { copy } = await madeBackup(t);
  const folder = copy();
  rewriteSums(folder, (text) => text.replace('version 1.2.3', 'version 9'));
  const { verdict, version } = await verify(folder);
  assert.deepEqual([verdict, version], ['verified', '9']);
});

test('case 45: each of the three must be a plain file', async (t) => {
  const { copy } = await madeBackup(t);
  for (const name of FILES) {
    const [linked, folder, missing] = [copy(), copy(), copy()];
    renameSync(join(linked, name), join(linked, '..', `real ${name}`));
    symlinkSync(join(linked, '..', `real ${name}`), join(linked, name));
    rmSync(join(folder, name));
    mkdirSync(join(folder, name));
    rmSync(join(missing, name));
    await assertFailed(linked, /is not a plain file/);
    await assertFailed(folder, /is not a plain file/);
    await assertFailed(missing, new RegExp(`${name.replaceAll('.', '\\.')} is missing`));
  }
});

test('case 47: whatever else lies in the folder is refused', async (t) => {
  const { copy } = await madeBackup(t);
  for (const name of ['hub.db-wal', 'hub.db-journal', 'hub.db-shm', 'evil.sh', '.hidden', 'a\nb']) {
    const folder = copy();
    writeFileSync(join(folder, name), '');
    await assertFailed(folder, /does not belong to a backup/);
    assert.ok(existsSync(join(folder, name)));
  }
});

test('case 48: a sound but emptied database is refused, with and without recorded counts', async (t) => {
  const { copy } = await madeBackup(t);
  const folder = copy();
  changeDatabase(folder, (db) => removeRows({ db }, 'attachments', 'posts', 'sources', 'accounts', 'uploads'));
  await assertFailed(folder, /hub\.db has 0 accounts where 1 were recorded/);

  const sums = join(folder, 'SHA256SUMS');
  writeFileSync(sums, readFileSync(sums, 'utf8').replace(/^#.*\n/gm, ''));
  await assertFailed(folder, /no administrator/);
});

test('case 48: a database that lost one post, or its administrator, is refused', async (t) => {
  const { assertRefused } = await madeBackup(t);
  const demote = (db: Db): void => accounts({ db, clock: Date.now }).setState(1, 'member', null);
  for (const lose of [(db: Db) => losePost({ db }, 7), demote]) {
    await assertRefused(lose, /hub\.db has \d+ (posts|admins) where/);
  }
});

test('a backup of a hub that nobody has joined yet is a backup', async (t) => {
  const hub = backupHub(t);
  removeRows(hub, 'posts', 'sources', 'accounts');
  assert.equal((await hub.backup()).verification.verdict, 'verified');
});

test('SHA256SUMS that sha256sum wrote is enough, with a note', async (t) => {
  const { copy } = await madeBackup(t);
  const folder = copy();
  const sums = execFileSync('sha256sum', ['hub.db', 'uploads.tar.gz'], { cwd: folder });
  writeFileSync(join(folder, 'SHA256SUMS'), sums);

  const { verdict, notes } = await verify(folder);

  assert.equal(verdict, 'verified');
  assert.match(notes.join(), /records only hashes/);
});

const DATABASES: Record<string, [change: (path: string) => void, message: RegExp]> = {
  'a text': [(path) => writeFileSync(path, 'no database '.repeat(900)), /not an SQLite database/],
  'nothing': [(path) => writeFileSync(path, ''), /not an SQLite database/],
  'the mark of a write-ahead log': [(path) => {
    const bytes = readFileSync(path);
    bytes.fill(2, 18, 20);
    writeFileSync(path, bytes);
  }, /needs a write-ahead log/],
  'an unknown file format': [(path) => {
    const bytes = readFileSync(path);
    bytes.fill(3, 18, 20);
    writeFileSync(path, bytes);
  }, /not a finished copy/],
  'a damaged page': [(path) => {
    const bytes = readFileSync(path);
    bytes.fill(0xaa, 4_096 * 3, 4_096 * 3 + 40);
    writeFileSync(path, bytes);
  }, /is damaged/],
  'a missing page': [(path) => truncateSync(path, statSync(path).size - 4_096), /size of hub\.db differs|damaged/],
};

test('case 46: with hashes that fit, damage to the database is found by looking into it', async (t) => {
  const { copy } = await madeBackup(t);
  for (const [what, [change, message]] of Object.entries(DATABASES)) {
    const folder = copy();
    change(join(folder, 'hub.db'));
    renewHashes(folder);
    await assertFailed(folder, message);
    assert.deepEqual(readdirSync(folder).sort(), FILES, what);
  }
});

test('case 46: damage within the search index is found', async (t) => {
  const { copy } = await madeBackup(t);
  const folder = copy();
  const path = join(folder, 'hub.db');
  const bytes = readFileSync(path);
  const at = bytes.indexOf('\x06number'); // a term with its length, as only the index has them
  assert.ok(at > 0);
  bytes[at] = 0x7f;
  writeFileSync(path, bytes);
  renewHashes(folder);
  await assertFailed(folder, /is damaged: .*posts_words/);
});

/** Drops all objects of that type that have a statement of their own. */
function dropAll(db: Db, type: string): void {
  const found = db.prepare<[string], { name: string }>('objects',
    'SELECT name FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL').all(type);
  assert.ok(found.length > 5);
  for (const { name } of found) db.exec(`DROP ${type} ${name}`);
}

test('case 46: a hub\'s database without a table, its triggers, indices or identity, or with other ones of that name, is refused', async (t) => {
  const { assertRefused } = await madeBackup(t);
  const harms: [change: (db: Db) => void, message: RegExp][] = [
    [(db) => dropAll(db, 'trigger'), /it lacks the trigger jobs_count_insert, .* and \d+ more$/],
    [(db) => dropAll(db, 'index'), /it lacks the index jobs_due, .* and \d+ more$/],
    [(db) => db.exec('DROP TRIGGER sources_content_version'), /it lacks the trigger sources_content_version$/],
    [(db) => db.exec('DROP INDEX jobs_live; CREATE INDEX jobs_live ON jobs (kind)'), /it lacks the right index jobs_live$/],
    [(db) => removeRows({ db }, 'hub'), /it lacks the row of the table hub$/],
    [(db) => db.exec('DROP TABLE uploads'), /it lacks uploads$/],
    [(db) => db.exec('DROP TABLE schema_migrations'), /not the database of a hub/],
    [(db) => db.exec('ALTER TABLE follows DROP COLUMN created_at'), /it lacks the right table follows$/],
  ];
  for (const [change, message] of harms) await assertRefused(change, message);
});

test('case 46: a backup that lacks any single table, index or trigger of the migrations is refused', (t) => {
  const { db } = migratedDatabase(t);
  db.exec('PRAGMA foreign_keys = OFF');
  const objects = db.prepare<[], { type: string; name: string }>('all objects', `
    SELECT s.type, s.name FROM sqlite_schema s LEFT JOIN pragma_table_list l ON l.schema = 'main' AND l.name = s.name
     WHERE s.sql IS NOT NULL AND l.type IS NOT 'shadow' AND s.name NOT LIKE 'sqlite%'
       AND s.name <> 'schema_migrations'`).all();
  assert.ok(objects.length > 140, `${objects.length} objects`);
  assert.deepEqual(schemaGaps(db, MIGRATIONS), []);
  // Ten of a type at a time: what the schema should be is made anew for each comparison.
  for (const [type, names] of Map.groupBy(objects, (object) => object.type)) {
    for (let at = 0; at < names.length; at += 10) {
      const dropped = names.slice(at, at + 10).map(({ name }) => name);
      db.exec(`BEGIN; ${dropped.map((name) => `DROP ${type} "${name}"`).join(';')}`);
      const gaps = schemaGaps(db, MIGRATIONS);
      for (const name of dropped) assert.ok(gaps.includes(type === 'table' ? name : `the ${type} ${name}`), `${type} ${name}`);
      db.exec('ROLLBACK');
    }
  }
});

test('what an operator added to the database is no damage', async (t) => {
  const { copy } = await madeBackup(t);
  const folder = copy();
  changeDatabase(folder, (db) => db.exec(`CREATE TABLE notes (text TEXT); CREATE INDEX posts_by_title ON posts (title);
    CREATE VIEW latest AS SELECT max(id) FROM posts; ANALYZE; DROP TABLE sqlite_stat1`));
  assert.equal((await verify(folder)).verdict, 'verified', 'SQLite makes its statistics anew');
});

test('a schema that grew by later migrations is compared with what those make', async (t) => {
  const hub = backupHub(t);
  const added = 'ALTER TABLE posts ADD COLUMN mood TEXT; CREATE INDEX posts_mood ON posts (mood)';
  const more = [...MIGRATIONS, { version: MIGRATIONS.length + 1, name: 'more', sql: added, safe: true, checksum: 'x' }];
  migrate(hub.db, more, Date.now);
  const { path, verification } = await hub.backup({ migrations: more });
  assert.deepEqual([verification.verdict, verification.schema], ['verified', 'same']);

  changeDatabase(path, (db) => db.exec('DROP INDEX posts_mood'));
  const { problem } = await verifyBackup(path, { migrations: more, clock: Date.now });
  assert.match(problem ?? '', /it lacks the index posts_mood$/);
});

/** Replaces the archive, and makes its hash fit. */
function putArchive(folder: string, archive: Buffer): void {
  writeFileSync(join(folder, 'uploads.tar.gz'), archive);
  renewHashes(folder);
}

function packed(members: PackedMember[]): Buffer {
  return gzipSync(Buffer.concat([...packTar(members)]));
}

function member(name: string, text: string): PackedMember {
  return { kind: 'file', name, size: Buffer.byteLength(text), modifiedAt: 1e12, content: [Buffer.from(text)] };
}

test('case 46, 49, 50: even if all hashes match, the archive of uploads must have each file that the database names and no other file', async (t) => {
  const { copy, uploads } = await madeBackup(t);
  const [first, second] = uploads.map(({ sha256 }) => `uploads/${sha256.slice(0, 2)}/${sha256}`) as [string, string];
  const good = [member(first, 'the first file'), member(second, 'the second file, which is longer')];
  const archives: [PackedMember[], RegExp][] = [
    [[], /lacks uploads\/\S+ and 1 more/],
    [good.slice(1), /lacks uploads/],
    [[member(first, 'the worst file'), ...good.slice(1)], /with other content/],
    [[member(first, 'short'), ...good.slice(1)], /with 5 bytes instead of 14/],
    [[...good, ...good], /twice/],
    [[...good, member('hub.db', 'x')], /"hub\.db", which hub.db does not reference/],
    [[...good, member('.env', 'x')], /does not reference/],
    [[...good, member(`uploads/${'f'.repeat(64)}`, '')], /does not reference/],
    [[...good, { kind: 'folder', name: 'etc', size: 0, modifiedAt: 1 }], /the folder "etc"/],
    [[...good, { kind: 'folder', name: first.slice(0, 10) + '/x', size: 0, modifiedAt: 1 }], /the folder/],
  ];
  for (const [members, message] of archives) {
    const folder = copy();
    putArchive(folder, packed(members));
    await assertFailed(folder, message);
  }
  const folder = copy();
  putArchive(folder, packed([...good].reverse()));
  assert.equal((await verify(folder)).verdict, 'verified', 'their order is free');
});

test('an archive that tar and gzip made by hand, or version 1.0.0, is as good', async (t) => {
  const { hub, path, copy } = await madeBackup(t);
  const byHand = execFileSync('tar', ['-cz', 'uploads'], { cwd: hub.dataDir });
  const old = memberOf100(gunzipSync(readFileSync(join(path, 'uploads.tar.gz'))));
  for (const archive of [byHand, old]) {
    const folder = copy();
    putArchive(folder, archive);
    assert.equal((await verify(folder)).verdict, 'verified');
  }
});

test('case 49: a bomb is refused after little work, whatever it says about itself', async (t) => {
  const { copy, uploads } = await madeBackup(t);
  const [sha256 = ''] = uploads.map((upload) => upload.sha256);
  const name = `uploads/${sha256.slice(0, 2)}/${sha256}`;
  const zeros = gzipSync(Buffer.alloc(64 * 1_024 * 1_024), { level: 9 });
  const bombs = [
    zeros,
    gzipSync(Buffer.concat([[...packTar([{ ...member(name, ''), size: 0 }])][0] ?? Buffer.alloc(0), Buffer.alloc(64 * 1_024 * 1_024)])),
  ];
  for (const bomb of bombs) {
    const folder = copy();
    putArchive(folder, bomb);
    const before = process.memoryUsage().rss;
    await assertFailed(folder);
    assert.ok(process.memoryUsage().rss - before < 48 * 1_024 * 1_024);
  }
});

test('case 50: a compressed nothing, and an archive cut between two members, are refused', async (t) => {
  const { path, copy } = await madeBackup(t);
  const tar = gunzipSync(readFileSync(join(path, 'uploads.tar.gz')));
  const cuts = [Buffer.alloc(0), tar.subarray(0, 512), tar.subarray(0, 1_536), Buffer.concat([tar.subarray(0, 1_536), Buffer.alloc(1_024)])];
  for (const cut of cuts) {
    const folder = copy();
    putArchive(folder, gzipSync(cut));
    await assertFailed(folder, /cut off|lacks/);
  }
});

/** What find says about everything in the folder: names, sizes, times of change. */
function state(folder: string): string {
  return execFileSync('find', [folder, '-printf', '%p %m %s %T@ %C@\n']).toString();
}

test('case 51: on folders and files without any right to write, verification works and changes nothing', async (t) => {
  const { path } = await madeBackup(t);
  for (const file of FILES) chmodSync(join(path, file), 0o444);
  chmodSync(path, 0o555);
  const before = state(path);

  const { verdict } = await verify(path);

  const after = state(path);
  chmodSync(path, 0o755);
  assert.deepEqual([verdict, after], ['verified', before]);
});

test('case 51: another user, who may read the backup and nothing else, can verify it', async (t) => {
  if (!requireAnotherUser(t)) return;
  const { path, hub } = await madeBackup(t);
  const place = join('/tmp', `backup of others ${process.pid}`);
  cpSync(path, place, { recursive: true });
  t.after(() => rmSync(place, { recursive: true }));
  chmodSync(place, 0o555);
  for (const file of FILES) chmodSync(join(place, file), 0o444);
  const before = state(place);
  assert.equal(statSync(hub.dataDir).mode & 0o077, 0);

  const child = spawn('sh', [join(PROJECT_ROOT, 'scripts/verify-backup.sh'), place], {
    uid: 65_534, gid: 65_534, cwd: '/', stdio: 'pipe',
    env: { ...hubEnvironment(hub.dataDir), PATH: '/usr/bin:/bin', HUB_NODE: process.execPath },
  });
  let said = '';
  child.stdout.on('data', (text) => (said += text));
  child.stderr.on('data', (text) => (said += text));
  const status = await new Promise((resolve) => child.once('close', resolve));

  assert.match(said, /VERIFIED: this backup can be restored\.\n$/);
  assert.equal(status, 0);
  assert.equal(state(place), before);
});

test('case 52: verifications at the same time and one after the other say the same and leave nothing', async (t) => {
  const { path } = await madeBackup(t);
  const before = state(path);
  const clock = () => 1;
  const first = await verifyBackup(path, { migrations: MIGRATIONS, clock });
  const others = await Promise.all([1, 2, 3].map(() => verifyBackup(path, { migrations: MIGRATIONS, clock })));
  for (const other of others) assert.deepEqual(other, first);
  assert.equal(state(path), before);
});

test('case 53: what is no backup is said to be none', async (t) => {
  const { path, hub } = await madeBackup(t);
  const unfinished = join(hub.dataDir, 'backups/.tmp-20300115-031500-1');
  mkdirSync(unfinished);
  cpSync(join(path, 'hub.db'), join(unfinished, 'hub.db'));
  const wrong: [args: string[], status: number, said: RegExp][] = [
    [[], 2, /the folder of the backup is missing/],
    [[''], 2, /the folder of the backup is missing/],
    [[path, path], 2, /unexpected argument/],
    [['/'], 1, /may not read the folder|is missing/],
    [[join(path, 'hub.db')], 1, /is not the folder of a backup/],
    [[join(path, 'nowhere')], 1, /there is no folder .*nowhere/],
    [[unfinished], 1, /SHA256SUMS is missing/],
  ];
  for (const [args, status, said] of wrong) {
    const outcome = await hubctl(hub.dataDir, 'verify', ...args);
    assert.equal(outcome.status, status, args.join());
    assert.match(outcome.stdout + outcome.stderr, said);
  }
  const fine = await hubctl(hub.dataDir, 'verify', `${path}/`);
  assert.deepEqual([fine.status, fine.stderr], [0, '']);
});

test('case 55: a backup of a newer program is verified with a note; an older one needs none', async (t) => {
  const { copy } = await madeBackup(t);
  const newer = copy();
  changeDatabase(newer, (db) => addLaterMigration({ db }, 99));
  rewriteSums(newer, (text) => text.replace(/^# schema .*$/m, '# schema 99'));
  const outcome = await verify(newer);
  assert.deepEqual([outcome.verdict, outcome.schema, outcome.schemaVersion], ['verified', 'newer', 99]);
  assert.match(outcome.notes.join(), /newer than this program, which cannot restore it/);

  const later = [...MIGRATIONS, { version: MIGRATIONS.length + 1, name: 'more', sql: '', safe: true, checksum: 'x' }];
  const older = await verifyBackup(copy(), { migrations: later, clock: Date.now });
  assert.deepEqual([older.verdict, older.schema, older.notes], ['verified', 'older', []]);

  const foreign = await verifyBackup(copy(), { migrations: MIGRATIONS.map((one) => ({ ...one, checksum: 'x' })), clock: Date.now });
  assert.deepEqual([foreign.verdict, foreign.schema, foreign.notes.length], ['verified', 'foreign', 1]);
});

test('case 56: the report says what a person wants to know every morning, and ends with the verdict', async (t) => {
  const { path, hub } = await madeBackup(t);
  rmSync(join(hub.dataDir, 'hub.db'));

  const { status, stdout } = await hubctl(hub.dataDir, 'verify', path);

  assert.equal(status, 0);
  for (const line of [
    /^Backup \d{8}-\d{6} \(.*\)$/m, /made +\d{4}-\d\d-\d\d \d\d:\d\d UTC, \d+ (?:s|min) ago, by version 1\.2\.3$/m,
    /database +\d+\.\d KiB, schema \d+$/m, /content +1 account \(1 administrator\), 1 source, 29 posts$/m,
    /attachments +2 attachments in 2 files, 46 bytes: all present, sizes and SHA-256 match$/m, /archive +\d+ bytes$/m,
    /verified +.* UTC, in \d+\.\d s\nVERIFIED: this backup can be restored\.\n$/,
  ]) assert.match(stdout, line);

  truncateSync(join(path, 'hub.db'), 5_000);
  const failed = await hubctl(hub.dataDir, 'verify', path);
  assert.equal(failed.status, 1);
  assert.match(failed.stdout, /\nFAILED: hub\.db does not match SHA256SUMS: [^\n]+ Do not restore this backup\.\n$/);
  assert.match(failed.stdout, /^  examined +.* UTC, in \d+\.\d s$/m);
  assert.doesNotMatch(failed.stdout, /^ +verified /m);
});

test('case 53: a folder is found from the working folder, also one whose name begins like an option', async (t) => {
  const { path, copy } = await madeBackup(t);
  const folder = copy();
  const odd = join(folder, '..', '-x % é');
  renameSync(folder, odd);
  assert.ok(path);
  const launch = join(PROJECT_ROOT, 'src/bin/launch.ts');
  const said = execFileSync(process.execPath, [launch, 'hubctl', 'verify', './-x % é', '--json'], { cwd: join(odd, '..'), env: {} });
  assert.equal(JSON.parse(said.toString()).verdict, 'verified');
});
