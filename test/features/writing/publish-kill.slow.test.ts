// Protects posts that are published later: a worker killed again and again publishes each once, as it was scheduled.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drafts } from '../../../src/features/writing/draft-store.ts';
import { backupHub } from '../../support/backup-hub.ts';
import { killAt, startWorker } from '../../support/killed-worker.ts';
import { storedActs } from '../../support/stored-accounts.ts';
import { storedPosts } from '../../support/stored-posts.ts';
import { waitUntil } from '../../support/wait-until.ts';

const SCHEDULED = 100;

test('each scheduled post is published once by a worker that is killed again and again', async (t) => {
  const { db, dataDir } = backupHub(t);
  const store = drafts({ db, clock: Date.now });
  const before = storedPosts({ db }).length;
  const published = (): number => storedPosts({ db }).length - before;
  db.write('schedule posts', () => {
    for (let n = 0; n < SCHEDULED; n++) {
      const fields = { sourceId: '1', title: `Owl ${n}`, content: `*${'x'.repeat(5_000)}*`, contentType: 'text/markdown', url: '' };
      const form = `/write/${String(n).padStart(16, '0')}`;
      store.schedule(store.save(1, form, fields).id, Date.now());
      if (n % 2 === 0) store.save(1, form, { ...fields, title: 'Newer' });
    }
  });
  const moments: number[] = [];
  await killAt(t, db, dataDir, [1, 25, 50, 75].map((n) => () => published() >= n && moments.push(published()) > 0));
  startWorker(t, dataDir);
  await waitUntil('all are published', () => published() >= SCHEDULED && store.due(Date.now(), 1).length === 0);

  assert.ok(moments.some((n) => n < SCHEDULED), `killed in the midst of it: ${moments.join()}`);
  assert.equal(published(), SCHEDULED);
  const newer = store.listOf(1, 0, 2 * SCHEDULED).map(({ form, fields }) => [form.replace(/\d+/, ''), fields['title']]);
  assert.deepEqual(newer, Array(SCHEDULED / 2).fill(['/posts//edit', 'Newer']));
  const names = storedActs({ db }).filter(({ act }) => act === 'post.created').map(({ targetName }) => targetName);
  assert.deepEqual(names.toSorted(), Array.from({ length: SCHEDULED }, (_, n) => `Owl ${n}`).toSorted(), 'one record each');
});
