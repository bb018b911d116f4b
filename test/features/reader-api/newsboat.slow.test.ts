// Protects a real app: Debian's newsboat 2.21 reads a hub, a restored one too, and its marks are the hub's.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addFollow, addNotes } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { statementCounter } from '../../support/count-statements.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { newsboat } from '../../support/newsboat.ts';
import { appPassword, hexItemId } from '../../support/reader-app.ts';
import { restartRestored } from '../../support/restore-hub.ts';
import { addPosts } from '../../support/stored-posts.ts';
import { requireTool } from '../../support/tools.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** For two sources, their posts and a sign-in. */
const FEW_STATEMENTS = 300;

async function filledHub(t: TestContext): Promise<{ hub: Hub; ada: Client }> {
  const { hub, ada } = await hubWith(t, ['ada']);
  for (const [title, folder] of [['Owls & bats', null], ['漢字', 'Far']] as const) {
    const source = await addNotes(ada, title);
    await addFollow(ada, source, { folder });
    addPosts(hub, source, 40, (n) => ({ title: `${title} ${n} <b>`, content: '<p>Text</p>', createdAt: hub.now() }));
  }
  return { hub, ada };
}

const accountIn = (hub: Hub) => ({ address: hub.address, username: 'ada', password: appPassword(hub, 'ada') });

test('newsboat gets all articles with their states, and marks a source as read', async (t) => {
  if (!requireTool(t, 'newsboat') || !requireTool(t, 'script')) return;
  const { hub, ada } = await filledHub(t);
  const app = newsboat(t, accountIn(hub));
  const unreadIn = async (): Promise<number> => (await ada.get('/api/reading')).json<{ unread: number }>().unread;
  assert.equal((await app.reload()).status, 0);
  const articles = app.articles();
  assert.deepEqual(articles.map(({ guid }) => guid), Array.from({ length: 80 }, (_, n) => `tag:google.com,2005:reader/item/${hexItemId(n + 1)}`));
  assert.deepEqual([articles[0]?.title, articles[79]?.title], ['Owls & bats 1 <b>', '漢字 40 <b>']);
  assert.ok(articles.every(({ unread }) => unread === 1));

  await ada.send('PUT', '/api/posts/41/read');
  await app.reload();
  const isUnread = (): Map<number, number> => new Map(app.articles().map(({ unread }, index) => [index + 1, unread]));
  assert.deepEqual([isUnread().get(41), isUnread().get(42)], [0, 1]);
  await ada.send('DELETE', '/api/posts/41/read');
  await app.reload();
  assert.equal(isUnread().get(41), 1, 'and back');

  await app.press('A', waitUntil('newsboat to mark a source as read', async () => await unreadIn() === 40, 60_000));
  const { folders } = (await ada.get('/api/reading')).json<{ folders: { unread: number }[] }>();
  assert.deepEqual(folders.map(({ unread }) => unread).sort(), [0, 40]);
});

test('newsboat reads a restored hub with as few statements as any other', async (t) => {
  if (!requireTool(t, 'newsboat')) return;
  const hub = await restartRestored(t, (await filledHub(t)).hub);
  addPosts(hub, 1, 1, () => ({ title: 'New', createdAt: hub.now() }));
  const app = newsboat(t, accountIn(hub));
  const count = statementCounter(t, FEW_STATEMENTS);
  await count(() => app.reload());
  assert.equal(app.articles().length, 81);
});
