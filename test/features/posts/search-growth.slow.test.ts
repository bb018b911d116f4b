// Protects web from searches of an old hub: however many posts there are, a search asks as much of the database.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fillSearch, searches } from '../../bench/fill-search.ts';
import { statementCounter } from '../../support/count-statements.ts';
import { startHub } from '../../support/hub.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';

/** Statements of a page with a search: 3 steps of a member's, each of some stretches, and what each page asks. */
const MOST = 400;

/** For each search, the statements of a visitor's page and of a member's, among so many posts. */
async function countsAmong(t: TestContext, posts: number): Promise<Map<string, number>> {
  const folder = temporaryFolder(t);
  fillSearch(join(folder, 'hub.db'), posts);
  const hub = await startHub(t, { DATA_DIR: folder, DISK_RESERVE_BYTES: '1' });
  const ada = await hub.person('ada');
  const counting = statementCounter(t, 20 * MOST);
  const counts = new Map<string, number>();
  for (const q of searches()) {
    for (const [client, path] of [[hub.anybody, '/public'], [ada, '/all'], [ada, '/']] as const) {
      const page = async (): Promise<void> => assert.equal((await client.page(`${path}?q=${encodeURIComponent(q)}`)).status, 200);
      counts.set(`${path}?q=${q}`, await counting(page));
    }
  }
  return counts;
}

for (const posts of [4_000, 40_000]) {
  test(`whatever is searched among ${posts} posts, a page asks the database no more often`, async (t) => {
    const counts = [...await countsAmong(t, posts)].sort(([, one], [, other]) => other - one);
    t.diagnostic(counts.slice(0, 5).map(([what, count]) => `${what} ${count}`).join(', '));
    assert.deepEqual(counts.filter(([, count]) => count > MOST), []);
  });
}
