// Protects the reader's work in a worker that is killed or restored: imports, icons, marks, removal of old posts.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { kindsToRunAgain } from '../../../src/app/job-kinds.ts';
import { sourceIcons } from '../../../src/features/attachments/icon-store.ts';
import { auditRecords } from '../../../src/features/audit/audit-store.ts';
import { finishRestore, openRestored, swapRestored } from '../../../src/features/backups/restore-steps.ts';
import { asking, follows } from '../../../src/features/follows/follow-store.ts';
import { imports } from '../../../src/features/manage-sources/import-store.ts';
import { posts } from '../../../src/features/posts/post-store.ts';
import { LIST_ORDERS, startOf } from '../../../src/features/reading/list-orders.ts';
import { searchDrift } from '../../../src/features/posts/saved-posts-store.ts';
import { entries } from '../../../src/features/reading/entry-store.ts';
import { lists } from '../../../src/features/reading/list-store.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { DAY } from '../../../src/platform/clock.ts';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { backupHub } from '../../support/backup-hub.ts';
import { rss } from '../../support/feeds.ts';
import { killAt, startWorker } from '../../support/killed-worker.ts';
import { addJob, storedJobs } from '../../support/stored-jobs.ts';
import { addPosts, indexPosts } from '../../support/stored-posts.ts';
import { countRows } from '../../support/stored-rows.ts';
import { startOrigin } from '../../support/origin.ts';
import { begin, query } from '../../support/restore-hub.ts';
import { png } from '../../support/sample-files.ts';
import { waitUntil } from '../../support/wait-until.ts';

const LINES = 900;

/** An import of feeds that are not fetched, as web leaves it to the worker. */
function beginImport(db: Db): void {
  const store = imports(handleOf(db));
  db.write('begin import', () => {
    store.begin(1, 'private', []);
    for (let n = 1; n <= LINES; n++) {
      store.addLine(1, n, { url: `http://127.0.0.1:9/${n}`, title: `Feed ${n}`, folder: `Folder ${n % 7}` });
    }
    addJob({ db }, { kind: 'import-feeds', payload: { importId: 1 }, dedupeKey: '1' });
  });
}

const handleOf = (db: Db) => ({ db, clock: Date.now });
const settled = (db: Db) => LINES - imports(handleOf(db)).waiting(1, LINES).length;
const isDone = (db: Db) => (imports(handleOf(db)).find(1)?.doneAt ?? null) !== null;

/** Each line added one source, which is there, is followed and lies in its folder; the import is on record once. */
function assertComplete(db: Db): void {
  const hub = handleOf(db);
  const lines = imports(hub).lines(1, 0, LINES + 1).filter(({ url, folder, outcome, sourceId }) =>
    outcome === 'added' && sources(hub).find(sourceId ?? 0)?.feedUrl === url && follows(hub).find(1, sourceId ?? 0)?.folder === folder);
  const [record, ...more] = auditRecords(hub).list({ act: 'sources.imported' }, undefined, 2);
  assert.deepEqual(more, []);
  assert.deepEqual([countRows({ db }, 'feeds'), new Set(lines.map(({ sourceId }) => sourceId)).size], [LINES, LINES]);
  assert.equal((JSON.parse(record?.detail ?? '{}') as { added?: number }).added, LINES);
  assert.ok(storedJobs({ db }, 'import-feeds').every(({ state }) => state === 'done'));
}

test('an import whose worker is killed again and again is through in the end, each line once', async (t) => {
  const { db, dataDir } = backupHub(t);
  beginImport(db);
  await killAt(t, db, dataDir, [1, 300, 600, LINES].map((n) => () => settled(db) >= n));
  startWorker(t, dataDir);
  await waitUntil('the import is through', () => isDone(db));
  assertComplete(db);
});

test('an import goes on in a hub that is restored from a backup made while it ran', async (t) => {
  const hub = backupHub(t);
  const { db, dataDir } = hub;
  beginImport(db);
  const first = startWorker(t, dataDir);
  await waitUntil('a part is done', () => settled(db) > 100);
  const { name } = await hub.backup();
  await waitUntil('the import is through', () => isDone(db));
  await first.end('SIGTERM');
  db.close();

  await begin(dataDir, join(dataDir, 'backups', name), { runAgain: kindsToRunAgain() });
  await swapRestored(dataDir);
  await openRestored(dataDir);
  await finishRestore(dataDir);
  assert.ok(query(dataDir, settled) < LINES, 'it was made meanwhile');
  startWorker(t, dataDir);
  await waitUntil('the import is through again', () => query(dataDir, isDone));
  query(dataDir, assertComplete);
});

test('icons, marks and old posts come to the same end however often their worker is killed', async (t) => {
  const { db, dataDir } = backupHub(t);
  const origin = await startOrigin(t, (request, response) => {
    const isIcon = request.path.endsWith('.ico');
    response.writeHead(200, { 'content-type': isIcon ? 'image/png' : 'application/rss+xml' });
    setTimeout(() => response.end(isIcon ? png({ width: 16, height: 16 }) : rss('Feed', [])), isIcon ? 100 : 0);
  });
  const later = Date.now() + DAY;
  const hub = { db, clock: () => 1 };
  const feeds = Array.from({ length: 12 }, (_, n) => sources(hub).create(
    { ownerId: 1, kind: 'feed', title: 'F', titleIsOwn: false, visibility: 'public' },
    { url: `${origin.url}/${n}/feed`, nextSyncAt: later }));
  for (const id of feeds) sourceIcons(hub).noteNamed(id, null);
  addPosts(hub, 1, 11_999, (n) => ({ title: 'Old', leftAt: n < 2_000 ? 1 : null }));
  follows(hub).follow(1, 1, 12_000);
  indexPosts(hub);
  entries(hub).setRead(1, [700], false);
  entries(hub).star(1, [800]);
  const env = { POST_RETENTION_DAYS: '30' };
  const listed = () => countRows(hub, 'entries');
  const left = () => countRows(hub, 'posts');
  const icons = () => sourceIcons(hub).listOf(feeds).size;

  await killAt(t, db, dataDir, [
    () => listed() > 1_000, () => left() < 11_990, () => left() < 11_000, () => icons() > 2,
  ], env);
  startWorker(t, dataDir, env);
  await waitUntil('all is done', () => listed() === 10_003 && left() === 10_003 && icons() === 12);
  assert.deepEqual(searchDrift({ db }), { unindexed: 0, stray: 0 });
  assert.equal(countRows(hub, 'icons'), 1);
  const unread = lists(hub).by.published.down.unread({ ...asking({ id: 1, role: 'admin' }), ...startOf(LIST_ORDERS.newest), folder: null, joined: 1, limit: 2 }).map(({ id }) => id);
  assert.deepEqual(unread, [700], 'the only one that is unread');
  assert.ok(posts(hub).exists(700) && posts(hub).exists(800), 'unread and starred ones stay');
  assert.ok(storedJobs(hub).every(({ state }) => state !== 'failed'));
  assert.equal(db.pragma('integrity_check'), 'ok');
});
