// Protects the reader's work in a worker that is killed or restored: imports, icons, marks, removal of old posts.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { kindsToRunAgain } from '../../../src/app/job-kinds.ts';
import { finishRestore, openRestored, swapRestored } from '../../../src/features/backups/restore-steps.ts';
import { searchDrift } from '../../../src/features/posts/saved-posts-store.ts';
import { DAY } from '../../../src/platform/clock.ts';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { backupHub } from '../../support/backup-hub.ts';
import { rss } from '../../support/feeds.ts';
import { hubEnvironment, watchHubProcess, type HubProcess } from '../../support/hub-process.ts';
import { number } from '../../support/migrated-database.ts';
import { startOrigin } from '../../support/origin.ts';
import { begin, query } from '../../support/restore-hub.ts';
import { PROJECT_ROOT } from '../../support/run-program.ts';
import { png } from '../../support/sample-files.ts';
import { waitUntil } from '../../support/wait-until.ts';

const LINES = 900;

function startWorker(t: TestContext, dataDir: string, env: Record<string, string> = {}): HubProcess {
  const file = join(PROJECT_ROOT, 'src/bin/worker.ts');
  return watchHubProcess(t, spawn(process.execPath, [file], { env: hubEnvironment(dataDir, env), stdio: 'pipe' }));
}

/** Kills the worker at each of these moments, and starts another; its jobs are free as after their lease, with tries left. */
async function killAt(
  t: TestContext, db: Db, dataDir: string, moments: (() => boolean)[], env: Record<string, string> = {},
): Promise<void> {
  for (const isReached of moments) {
    const worker = startWorker(t, dataDir, env);
    await waitUntil('it is time', isReached, 30_000);
    await worker.end('SIGKILL');
    db.exec("UPDATE jobs SET lease_expires_at = 0, attempts = 1 WHERE state = 'running'");
  }
}

/** An import of feeds that are not fetched, as web leaves it to the worker. */
function beginImport(db: Db): void {
  db.exec(`
    INSERT INTO imports (id, account_id, visibility, made_at) VALUES (1, 1, 'private', 1);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${LINES})
      INSERT INTO import_lines (import_id, line, url, title, folder)
      SELECT 1, i, 'http://127.0.0.1:9/' || i, 'Feed ' || i, 'Folder ' || i % 7 FROM n;
    INSERT INTO jobs (kind, payload, dedupe_key, state, attempts, max_attempts, run_at, created_at)
      VALUES ('import-feeds', '{"importId":1}', '1', 'queued', 0, 5, 1, 1)`);
}

const settled = (db: Db) => number(db, 'SELECT COUNT(*) FROM import_lines WHERE outcome IS NOT NULL');
const isDone = (db: Db) => number(db, 'SELECT COUNT(*) FROM imports WHERE done_at IS NOT NULL') === 1;

/** Each line added one source, which is there, is followed and lies in its folder; the import is on record once. */
function assertComplete(db: Db): void {
  const [sources, ...rest] = [
    'SELECT COUNT(*) FROM feeds', `SELECT COUNT(*) FROM import_lines WHERE outcome = 'added'`,
    `SELECT COUNT(DISTINCT l.source_id) FROM import_lines l JOIN feeds f ON f.source_id = l.source_id AND f.url = l.url
       JOIN follows o ON o.account_id = 1 AND o.source_id = l.source_id JOIN folders d ON d.id = o.folder_id
      WHERE d.name = l.folder`,
    `SELECT SUM(json_extract(detail, '$.added')) FROM audit_records WHERE act = 'sources.imported'`,
  ].map((sql) => number(db, sql));
  assert.deepEqual([sources, ...rest], [LINES, LINES, LINES, LINES]);
  assert.equal(number(db, `SELECT COUNT(*) FROM jobs WHERE kind = 'import-feeds' AND state <> 'done'`), 0);
}

test('an import whose worker is killed again and again is through in the end, each line once', async (t) => {
  const { db, dataDir } = backupHub(t);
  beginImport(db);
  await killAt(t, db, dataDir, [1, 300, 600, LINES].map((n) => () => settled(db) >= n));
  startWorker(t, dataDir);
  await waitUntil('the import is through', () => isDone(db), 30_000);
  assertComplete(db);
});

test('an import goes on in a hub that is restored from a backup made while it ran', async (t) => {
  const hub = backupHub(t);
  const { db, dataDir } = hub;
  beginImport(db);
  const first = startWorker(t, dataDir);
  await waitUntil('a part is done', () => settled(db) > 100, 30_000);
  const { name } = await hub.backup();
  await waitUntil('the import is through', () => isDone(db), 30_000);
  await first.end('SIGTERM');
  db.close();

  await begin(dataDir, join(dataDir, 'backups', name), { runAgain: kindsToRunAgain() });
  await swapRestored(dataDir);
  await openRestored(dataDir);
  await finishRestore(dataDir);
  assert.ok(query(dataDir, settled) < LINES, 'it was made meanwhile');
  startWorker(t, dataDir);
  await waitUntil('the import is through again', () => query(dataDir, isDone), 30_000);
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
  db.exec(`
    WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 13)
      INSERT INTO sources (id, owner_id, kind, title, visibility, next_sync_at, created_at, updated_at)
      SELECT i, 1, 'feed', 'F', 'public', ${later}, 1, 1 FROM n;
    INSERT INTO feeds (source_id, url, host) SELECT id, '${origin.url}/' || id || '/feed', 'h' || id FROM sources WHERE id > 1;
    INSERT INTO source_icons (source_id, due_at) SELECT source_id, 1 FROM feeds;
    INSERT INTO follows (account_id, source_id, read_up_to, created_at) VALUES (1, 1, 0, 1);
    WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
      INSERT INTO posts (id, source_id, guid, is_public, owner_id, title, content_html, summary, content_hash,
                         published_at, updated_at, created_at, search_key)
      SELECT i, 1, 'g' || i, 1, 1, 'Old', '', '', '', i, i, i, i FROM n;
    INSERT INTO posts_search (rowid, title, body, source) SELECT search_key, 'Old', '', '1' FROM posts WHERE id > 1;
    INSERT INTO read_marks (account_id, source_id, post_id, is_read, marked_at)
      SELECT 1, 1, id, 1, 1 FROM posts WHERE id <> 700;
    INSERT INTO stars (account_id, post_id, source_id, published_at, starred_at) VALUES (1, 800, 1, 800, 1);
    UPDATE posts SET left_at = 1 WHERE id BETWEEN 2 AND 2000`);
  const env = { POST_RETENTION_DAYS: '30' };
  const marks = () => number(db, 'SELECT COUNT(*) FROM read_marks');
  const left = () => number(db, 'SELECT COUNT(*) FROM posts');
  const icons = () => number(db, 'SELECT COUNT(*) FROM source_icons WHERE sha256 IS NOT NULL');

  await killAt(t, db, dataDir, [
    () => marks() < 12_000 - 1, () => left() < 11_990, () => marks() < 6_000, () => left() < 11_000, () => icons() > 2,
  ], env);
  startWorker(t, dataDir, env);
  await waitUntil('all is done', () => marks() === 1 && left() === 10_003 && icons() === 12, 60_000);
  assert.deepEqual(searchDrift({ db }), { unindexed: 0, stray: 0 });
  assert.equal(number(db, 'SELECT COUNT(*) FROM icons'), 1);
  assert.equal(number(db, 'SELECT read_up_to FROM follows WHERE source_id = 1'), 12_000);
  assert.equal(number(db, 'SELECT post_id FROM read_marks WHERE is_read = 0'), 700, 'the only one that is unread');
  assert.equal(number(db, 'SELECT COUNT(*) FROM posts WHERE id IN (700, 800)'), 2, 'unread and starred ones stay');
  assert.equal(number(db, `SELECT COUNT(*) FROM jobs WHERE state = 'failed'`), 0);
  assert.equal(db.pragma('integrity_check'), 'ok');
});
