import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDatabase } from '../src/platform/db/open-database.ts';
import { startHubProcess, temporaryDataDir } from './support/hub-process.ts';
import { fillWithOldHistory } from './support/old-history.ts';
import { waitUntil } from './support/wait-until.ts';

const ROWS = 1_000_000;

test('while a million old rows go, web answers and others write as if nothing was', async (t) => {
  const dataDir = temporaryDataDir(t);
  const path = join(dataDir, 'hub.db');
  fillWithOldHistory(path, ROWS);
  const web = startHubProcess(t, 'web', dataDir);
  const address = await web.address();
  const db = openDatabase(path);
  t.after(() => db.close());
  const countOld = db.prepare<[], { n: number }>('count', 'SELECT COUNT(*) AS n FROM reading_history');
  const touch = db.prepare<[number]>('touch', `
    INSERT INTO rate_limits (key, arrives_at) VALUES ('test', ?) ON CONFLICT DO UPDATE SET arrives_at = excluded.arrives_at`);

  const worker = startHubProcess(t, 'worker', dataDir);
  const statuses = new Map<number, number>();
  let writes = 0;
  await waitUntil('some thousands of rows are removed', async () => {
    for (const page of ['/', '/api/posts', '/posts/7', '/api/health']) {
      const { status } = await fetch(address + page).then(async (answer) => (await answer.text(), answer));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    touch.run(Date.now()); // throws when it has to wait for too long
    writes++;
    return (countOld.get()?.n ?? 0) < ROWS - 20_000;
  }, 60_000);

  assert.deepEqual([...statuses.keys()], [200]);
  assert.ok(writes > 20, `${writes} writes in between`);
  const ended = await worker.end('SIGTERM');
  assert.equal(ended, 0, 'it stops in the middle of the work');
  const left = countOld.get()?.n ?? 0;
  const run = db.prepare<[], { removed: string; finishedAt: number | null }>('run',
    'SELECT removed, finished_at AS finishedAt FROM retention_runs').get();
  assert.equal(run?.finishedAt, null);
  assert.deepEqual(JSON.parse(run?.removed ?? ''), { readingHistory: ROWS - left }, 'what it did is known to the row');
  assert.equal(db.pragma('quick_check(1)'), 'ok');
});
