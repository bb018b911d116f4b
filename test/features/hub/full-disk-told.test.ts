// Protects what is told of a full disk, and the small steps in which posts are removed.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { findings } from '../../../src/features/health/findings.ts';
import { diskUsage } from '../../../src/features/hub/disk-space.ts';
import { counts } from '../../../src/features/hub/hub.ts';
import { sourcePosts } from '../../../src/features/posts/source-posts-store.ts';
import { indexBytes as measured, searchIndex } from '../../../src/features/posts/search-index-store.ts';
import { emptyLog, openDatabase } from '../../../src/platform/db/open-database.ts';
import { MINUTE } from '../../../src/platform/clock.ts';
import { addPost } from '../../support/accounts.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { indexBytes } from '../../support/stored-posts.ts';
import { addBallast, countRows, rowsOf } from '../../support/stored-rows.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { hubWithFiles, image } from '../../support/remote-files.ts';
import { png } from '../../support/sample-files.ts';
import { empty, fill, setRoom } from '../../support/small-room.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Words that no other text has. */
function words(length: number, from: number): string {
  return Array.from({ length: length / 8 }, (_, n) => (1e9 + from * length + n).toString(36).padStart(7, 'q')).join(' ');
}

function diskOf({ handle }: Hub) {
  const { level, state, headline, problem, detail, since } = findings(handle).find(({ subject }) => subject === 'Disk') ?? {};
  return { level, state, headline, problem, detail, since };
}

test('the finding of a full disk says what takes the space, how much is kept, and since when', async (t) => {
  const { hub } = await hubWithOwnPosts(t);
  counts(hub.handle).add('uploads_bytes', '', 3_145_728);
  assert.equal(diskOf(hub).problem, null);
  fill(hub);
  const disk = diskOf(hub);
  assert.deepEqual([disk.level, disk.state, disk.headline], ['bad', 'full', 'The disk is full: members can store nothing.']);
  assert.match(disk.problem ?? '', /^The disk is full: members can store nothing\. 63 MiB are free, 64 MiB are kept for repairs\. The space is taken by: uploads 3\.0 MiB, database \d\.\d MiB\.$/);
  assert.equal(disk.detail, '63 MiB are free, 64 MiB are kept for repairs');
  assert.ok(disk.since);
  assert.equal(diskOf(hub).since, disk.since);
  setRoom(hub, 10, 20);
  assert.match(diskOf(hub).problem ?? '', /database \(20 MiB of it empty\)/);
  empty(hub);
  assert.notEqual(diskOf(hub).state, 'full');
});

test('no copy of a publisher’s file is made on a full disk; one that is there is shown, and its use is not noted', async (t) => {
  const files = { '/1.png': image(png({ width: 3, height: 2 })), '/2.png': image(png({ width: 4, height: 2 })) };
  const { hub, at, publisher } = await hubWithFiles(t, files);
  assert.equal((await hub.anybody.get(at('/1.png'))).status, 200);
  fill(hub);
  hub.passTime(24 * 60 * MINUTE);
  const before = rowsOf(hub, 'cached_files');
  const refused = await hub.anybody.get(at('/2.png'));
  assert.deepEqual([refused.status, publisher.requests.length], [507, 1], 'its publisher is not asked');
  assert.deepEqual([(await hub.anybody.get(at('/1.png'))).status, rowsOf(hub, 'cached_files')], [200, before]);
  empty(hub);
  assert.equal((await hub.anybody.get(at('/2.png'))).status, 200, 'nothing was remembered against it');
});

test('long posts are removed a few at a time, short ones many, and the log grows by little each time', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  for (let n = 0; n < 6; n++) await addPost(ada, sourceId, `Long ${n}`, words(300_000, n));
  for (let n = 0; n < 30; n++) await addPost(ada, sourceId, `Short ${n}`, 'Text');
  const steps: { removed: number; isMore: boolean }[] = [];
  while (steps.at(-1)?.isMore !== false) {
    emptyLog(hub.db);
    steps.push(hub.db.write('a step', () => sourcePosts(hub.handle).remove(sourceId, 10)));
    assert.ok(statSync(`${hub.config.databasePath}-wal`).size < 6 * 1024 * 1024);
  }
  assert.equal(steps.reduce((sum, { removed }) => sum + removed, 0), 36);
  assert.ok(steps.some(({ removed }) => removed === 10) && steps.some(({ removed }) => removed === 2), JSON.stringify(steps));
  assert.ok(steps.every(({ removed }) => removed <= 10));
});

test('the size of the search index is about that of its pages, also after it has merged', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const index = searchIndex(hub.handle);
  const bytes = (): number => measured(hub.db);
  assert.ok(bytes() < 10_000);
  for (let n = 0; n < 40; n++) await addPost(ada, sourceId, `Post ${n}`, words(40_000, n));
  assert.ok(indexBytes(hub) > 1_000_000);
  assert.ok(Math.abs(bytes() - indexBytes(hub)) < indexBytes(hub) / 5, `${bytes()} for ${indexBytes(hub)}`);
  hub.db.write('remove', () => sourcePosts(hub.handle).remove(sourceId, 30));
  while (index.forgetRemoved(false)) continue;
  assert.ok(Math.abs(bytes() - indexBytes(hub)) < indexBytes(hub) / 5 + 20_000, `${bytes()} for ${indexBytes(hub)}`);
});

test('a log that a reader keeps from being emptied does not count as free', async (t) => {
  const hub = await startHub(t, { DISK_RESERVE_BYTES: '4000000000000' }); // each look is a new one
  const write = (): void => hub.db.write('fill the log', () => addBallast(hub, 16_000_000)());
  const freeOnDisk = (): number => diskUsage(hub.dataDir).free;
  write();
  assert.ok(hub.handle.disk.space().free <= freeOnDisk() + 8_000_000, 'the log was emptied');
  assert.equal(statSync(`${hub.config.databasePath}-wal`).size, 0);

  const reader = openDatabase(hub.config.databasePath, { readonly: true });
  t.after(() => reader.close());
  reader.exec('BEGIN');
  assert.equal(countRows({ db: reader }, 'accounts'), 0);
  write();
  await waitUntil('the log is tried again', () => hub.handle.disk.space().free < freeOnDisk() + 8_000_000);
  assert.ok(statSync(`${hub.config.databasePath}-wal`).size > 10_000_000);
});
