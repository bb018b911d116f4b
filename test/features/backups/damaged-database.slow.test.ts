// Protects what can be read of a damaged database: it is saved table by table, and what could not be read is named.
import assert from 'node:assert/strict';
import { closeSync, copyFileSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkChangedPages, rescueDatabase } from '../../../src/features/backups/rescue-database.ts';
import { checkDatabase, copyTo, damagedIndices } from '../../../src/features/backups/snapshot-store.ts';
import { findings } from '../../../src/features/health/findings.ts';
import { lockForRunning } from '../../../src/features/hub/data-locks.ts';
import { guardDatabase, isDatabaseGone } from '../../../src/features/hub/database-file.ts';
import { newDatabaseNote, readDatabaseNote, writeDatabaseNote } from '../../../src/features/hub/database-note.ts';
import { searchSavedPosts } from '../../../src/features/posts/saved-posts-store.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { addPost } from '../../support/accounts.ts';
import { conditionsOn } from '../../support/conditions.ts';
import { hubctl } from '../../support/hubctl.ts';
import { MIGRATIONS } from '../../support/migrated-database.ts';
import { mergeSearchIndex } from '../../support/old-index.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { answering, hubWithReceiver } from '../../support/receiver.ts';

const PAGE = 4096; // bytes

/** Noise in place of a quarter of the pages: from the middle on, or the last quarter. */
function overwrite(path: string, quarter = 2): void {
  const pages = Math.floor(statSync(path).size / PAGE / 4);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(pages * PAGE, 0xa5), 0, pages * PAGE, quarter * pages * PAGE);
  closeSync(file);
}

/** `isForgotten`: the hub has no page in memory, as after many others. `isInLog`: the last posts are in the log alone. */
type Damage = { damage(path: string): void; fault: string; isForgotten?: boolean; isInLog?: boolean };

const DAMAGES: Record<string, Damage> = {
  'cut off at its beginning': { damage: (path) => truncateSync(path, 0), fault: 'cut', isInLog: true },
  'cut off in the middle': { damage: (path) => truncateSync(path, 64 * PAGE), fault: 'cut', isInLog: true },
  'cut off before the row of the hub': { damage: (path) => truncateSync(path, 4 * PAGE), fault: 'cut', isForgotten: true },
  'overwritten by cp of a backup': { damage: (path) => copyFileSync(`${path}.older`, path), fault: 'overwritten', isInLog: true },
  'overwritten in the middle': { damage: (path) => overwrite(path), fault: 'damaged' },
  'overwritten in the middle, with nothing of it in memory': { damage: (path) => overwrite(path), fault: 'damaged', isForgotten: true },
  'overwritten and then removed': { damage: (path) => (overwrite(path, 3), rmSync(path)), fault: 'removed', isForgotten: true },
};

for (const [how, { damage, fault, isForgotten, isInLog }] of Object.entries(DAMAGES)) {
  test(`of a database that is ${how}, all that can be read is saved, and the rest is named`, async (t) => {
    const { hub, ada, sourceId } = await hubWithOwnPosts(t);
    const { handle, db, dataDir, config: { databasePath: path } } = hub;
    guardDatabase(handle);
    checkChangedPages(handle);
    for (let n = 0; n < 20; n++) await addPost(ada, sourceId, `Early ${n}`, `Words ${n}. `.repeat(400));
    copyTo(db, `${path}.older`);
    db.pragma('wal_checkpoint(TRUNCATE)');
    for (let n = 0; n < 20; n++) await addPost(ada, sourceId, `Late ${n}`, `Words ${n}. `.repeat(400));
    if (!isInLog) db.pragma('wal_checkpoint(TRUNCATE)');
    damage(path);
    if (isForgotten) db.pragma('shrink_memory');
    hub.passTime(60_000);
    if (!isDatabaseGone(handle)) checkChangedPages(handle);
    const refused = await ada.post('/api/posts', { sourceId, title: 'Too late', content: '-', contentType: 'text/plain' });
    assert.equal(refused.status, 503);
    const tile = findings(handle).find(({ subject }) => subject === 'Database'); // of the condition 'database-gone'
    assert.equal(tile?.state, 'lost or damaged');

    await rescueDatabase(handle);

    const note = readDatabaseNote(dataDir);
    assert.deepEqual([note?.fault, note?.problem], [fault, null]);
    const { file = '', lost = [] } = note?.rescue ?? {};
    const { schema } = await checkDatabase(join(dataDir, file), MIGRATIONS);
    assert.equal(schema, 'same');
    const copy = openDatabase(join(dataDir, file), { readonly: true });
    const [early, late] = ['Early', 'Late'].map((title) => searchSavedPosts(copy, title, 100).length);
    copy.close();
    if (isInLog) assert.equal(late, 20);
    assert.ok((early === 20 && late === 20) || lost.some((what) => what.startsWith('posts: ')), lost.join());
    if (isForgotten) assert.ok(lost.length > 1);
    const health = (await hub.anybody.get('/api/health')).json<{ error: string; rescue: object; problem: string }>();
    assert.deepEqual([health.error, health.rescue], ['database-gone' as string, { file, verified: true }]);
    for (const what of lost) assert.ok(health.problem.includes(what));
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true }); // nothing may checkpoint into a wrong file
  });
}

test('a damaged index loses nothing: doctor advises its own command, which mends it while the hub runs', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const { handle, db, dataDir } = hub;
  guardDatabase(handle);
  // An index that is not known while a post comes lacks the post.
  db.exec(`CREATE TEMP TABLE aside AS SELECT * FROM sqlite_schema WHERE name = 'posts_owner'`);
  const change = (sql: string): void => db.whileUnsafe(() => db.exec(`PRAGMA writable_schema = ON; ${sql};
    PRAGMA writable_schema = RESET`));
  change(`DELETE FROM sqlite_schema WHERE name = 'posts_owner'`);
  await addPost(ada, sourceId, 'In no index');
  change('INSERT INTO sqlite_schema SELECT * FROM aside');
  const lock = lockForRunning(dataDir, 'worker');
  t.after(() => lock?.release());

  const { status, stdout } = await hubctl(dataDir, 'doctor');

  assert.equal(status, 1);
  assert.match(stdout, /BAD  Integrity of the database: a damaged index\n +hub\.db has a damaged index \(posts_owner\)\. Nothing is lost/);
  assert.match(stdout, /\.\/scripts\/hubctl reindex/);
  assert.doesNotMatch(stdout.split('\n')[1] ?? '', /restore|stop the hub/i);
  assert.deepEqual([isDatabaseGone(handle), conditionsOn(handle, 'Database')], [false, ['index-damaged']]);
  await addPost(ada, sourceId, 'Writing goes on');
  const mended = await hubctl(dataDir, 'reindex');
  assert.deepEqual([mended.status, mended.stderr], [0, '']);
  assert.match((await hubctl(dataDir, 'doctor')).stdout, /ok   Integrity of the database: intact/);
  assert.deepEqual(conditionsOn(handle, 'Database'), []);
});

test('a hub that meets wrong entries of an index while it writes stops only until it knows that nothing is lost', async (t) => {
  const { hub } = await hubWithOwnPosts(t);
  const { handle, dataDir } = hub;
  guardDatabase(handle);
  writeDatabaseNote(dataDir, newDatabaseNote('damaged', hub.now()));
  assert.ok(isDatabaseGone(handle));
  writeDatabaseNote(dataDir, { ...newDatabaseNote('index', hub.now()), indices: ['posts_owner'] });
  const worker = lockForRunning(dataDir, 'worker');
  await rescueDatabase(handle);
  worker?.release();
  assert.ok(!isDatabaseGone(handle));
});

test('a hub that takes a sound database for damaged stores again once it has looked, and says nothing of an index', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  guardDatabase(hub.handle);
  writeDatabaseNote(hub.dataDir, newDatabaseNote('damaged', hub.now()));
  assert.ok(isDatabaseGone(hub.handle));
  await rescueDatabase(hub.handle);
  assert.deepEqual([isDatabaseGone(hub.handle), readDatabaseNote(hub.dataDir)], [false, null]);
  await addPost(ada, sourceId, 'Writing goes on');
});

test('pages that are damaged while the damage of an index is known are found, too', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const { handle, db, dataDir, config: { databasePath: path } } = hub;
  guardDatabase(handle);
  checkChangedPages(handle);
  for (let n = 0; n < 20; n++) await addPost(ada, sourceId, `Post ${n}`, `Words ${n}. `.repeat(400));
  db.pragma('wal_checkpoint(TRUNCATE)');
  writeDatabaseNote(dataDir, { ...newDatabaseNote('index', hub.now()), indices: ['posts_owner'] });
  overwrite(path);
  hub.passTime(60_000);
  checkChangedPages(handle);
  assert.deepEqual([isDatabaseGone(handle), readDatabaseNote(dataDir)?.fault], [true, 'damaged']);
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
});

test('a search index that another process changes between two looks is no damage', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const { handle, config: { databasePath: path } } = hub;
  guardDatabase(handle);
  checkChangedPages(handle);
  const other = openDatabase(path);
  t.after(() => other.close());
  for (let n = 0; n < 30; n++) {
    await addPost(ada, sourceId, `Post ${n}`, `Words ${n} ${n * 7}. `.repeat(400));
    mergeSearchIndex(other);
    other.pragma('wal_checkpoint(TRUNCATE)');
    hub.passTime(60_000);
    checkChangedPages(handle);
    assert.equal(readDatabaseNote(hub.dataDir), null, `after ${n} posts`);
  }
});

test('an alert of a lost database that its receiver refuses is tried five times, each after twice the wait', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t);
  guardDatabase(hub.handle);
  receiver.answerWith(answering(500));
  rmSync(hub.config.databasePath);
  assert.ok(isDatabaseGone(hub.handle));
  const tried: number[] = [];
  for (let second = 0; second <= 400; second += 10, hub.passTime(10_000)) {
    const before = receiver.alerts().length;
    await rescueDatabase(hub.handle);
    if (receiver.alerts().length > before) tried.push(second);
  }
  assert.deepEqual(tried, [0, 10, 30, 70, 150]);
  assert.deepEqual(new Set(receiver.alerts().map(({ event }) => event)), new Set(['database-gone']));
});

test('only wrong entries of indices are cured by REINDEX', () => {
  assert.deepEqual(damagedIndices(['row 7 missing from index a', 'wrong # of entries in index b', 'non-unique entry in index a']), ['a', 'b']);
  assert.equal(damagedIndices(['row 7 missing from index a', 'Tree 7 page 9: btreeInitPage() returns error code 11']), null);
});
