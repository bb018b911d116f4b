// Protects the index that the worker makes anew after an upgrade from kills: the next worker goes on where it was.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { searchDrift } from '../../../src/features/posts/saved-posts-store.ts';
import { indexedFrom } from '../../../src/features/posts/search-index-store.ts';
import { openToLook } from '../../../src/platform/db/open-database.ts';
import { backupHub } from '../../support/backup-hub.ts';
import { killAt, startWorker } from '../../support/killed-worker.ts';
import { oldIndex, oldRows, waitingPosts } from '../../support/old-index.ts';
import { waitUntil } from '../../support/wait-until.ts';

const POSTS = 400;

/** A connection of its own: FTS5 keeps what it knows of an index that another process has changed. */
function soundness(dataDir: string): unknown {
  const db = openToLook(join(dataDir, 'hub.db'));
  try {
    return db.pragma('integrity_check');
  } finally {
    db.close();
  }
}

test('an index whose worker is killed while it is made anew is sound at each kill, and whole in the end', async (t) => {
  const { db, dataDir } = backupHub(t);
  oldIndex({ db }, 1, POSTS);
  const before = oldRows({ db });
  const waited: number[] = [];
  const reached = (isReached: () => boolean) => () => isReached() && waited.push(waitingPosts({ db })) > 0;
  await killAt(t, db, dataDir, [
    reached(() => oldRows({ db }) < before),
    ...[POSTS / 2, POSTS / 5].map((most) => reached(() => waitingPosts({ db }) <= most)),
  ]);
  assert.deepEqual([soundness(dataDir), searchDrift({ db })], ['ok', { unindexed: 0, stray: 0 }]);
  assert.ok((waited.at(-1) ?? 0) > 0 && waitingPosts({ db }) <= POSTS / 5, `${waited.join(' ')}: killed in the middle`);

  const worker = startWorker(t, dataDir);
  await waitUntil('all is indexed', () => indexedFrom({ db, clock: Date.now }) === -Number.MAX_SAFE_INTEGER, 60_000);
  await worker.end('SIGTERM');
  assert.deepEqual([oldRows({ db }), searchDrift({ db })], [0, { unindexed: 0, stray: 0 }]);
  assert.equal(soundness(dataDir), 'ok');
});
