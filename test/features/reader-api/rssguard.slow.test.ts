// Protects a real app: Debian's RSS Guard reads a hub completely, and its marks and the hub's are the same.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addNotes, itemsAt } from '../../support/accounts.ts';
import { statementCounter } from '../../support/count-statements.ts';
import { hubWith } from '../../support/hub.ts';
import { appPassword } from '../../support/reader-app.ts';
import { restartRestored } from '../../support/restore-hub.ts';
import { startRssGuard } from '../../support/rssguard.ts';
import { addPosts } from '../../support/stored-posts.ts';
import { requireTool } from '../../support/tools.ts';
import { waitUntil } from '../../support/wait-until.ts';

const TOOLS = ['rssguard', 'Xvfb', 'xdotool', 'dbus-daemon'] as const;
const SOURCES = 20;
const POSTS = 50;

/** Statements for all 1,000 articles at once, and for what an app asks besides. */
const FEW_STATEMENTS = 2_000;

test('RSS Guard gets 1,000 articles of 20 sources, and marks as read or starred pass between RSS Guard and the hub both ways', async (t) => {
  if (!TOOLS.every((tool) => requireTool(t, tool))) return;
  const { hub, ada, titles, ids } = await filledHub(t);
  const account = { address: hub.address, username: 'ada', password: appPassword(hub, 'ada') };
  const app = await startRssGuard(t, account);
  await app.fetchAll('1,000 articles', () => app.articles().length === SOURCES * POSTS);
  assert.deepEqual(app.feeds(), titles);
  assert.equal(new Set(app.articles().map(({ id }) => id)).size, ids.length);
  assert.ok(app.articles().every(({ isRead, isStarred }) => !isRead && !isStarred));

  await app.key('s', 'w'); // chooses the account, then opens its first article, which marks the article as read
  await waitUntil('the app to mark an article', () => app.articles().some(({ isRead }) => isRead));
  await app.key('F8', 's');
  await waitUntil('the app to star an article', () => app.articles().some(({ isStarred }) => isStarred));
  const [elsewhere] = ids;
  assert.equal((await ada.send('PUT', `/api/posts/${elsewhere}/star`)).status, 204);
  const stateInApp = (id: number) => app.articles().find((article) => article.title === titleOf(id));
  const titleOf = (id: number): string => `${titles[Math.floor(ids.indexOf(id) / POSTS)]}, post ${ids.indexOf(id) % POSTS + 1}`;
  await app.fetchAll('the star of the hub', () => elsewhere !== undefined && stateInApp(elsewhere)?.isStarred === true);

  const marked = app.articles().filter(({ isRead }) => isRead).map(({ title }) => title);
  const starred = app.articles().filter(({ isStarred }) => isStarred).map(({ title }) => title).sort();
  const inHub = await itemsAt<{ title: string; read: boolean }>(ada, '/api/posts?view=starred');
  assert.deepEqual(inHub.map(({ title }) => title).sort(), starred);
  assert.equal(starred.length, 2, 'a star of the app and a star of the hub');
  const { unread } = (await ada.get('/api/reading')).json<{ unread: number }>();
  assert.equal(unread, SOURCES * POSTS - marked.length);
});

test('RSS Guard gets 1,000 articles from a restored hub with as few statements as from any other', async (t) => {
  if (!TOOLS.every((tool) => requireTool(t, tool))) return;
  const hub = await restartRestored(t, (await filledHub(t)).hub);
  addPosts(hub, 1, 1, () => ({ title: 'New', createdAt: hub.now() }));
  const app = await startRssGuard(t, { address: hub.address, username: 'ada', password: appPassword(hub, 'ada') });
  const count = statementCounter(t, FEW_STATEMENTS);
  await count(() => app.fetchAll('1,001 articles', () => app.articles().length === SOURCES * POSTS + 1));
});

/** A hub with so many posts, which arrived today: the app asks for what arrived during the last year of its own clock. */
async function filledHub(t: TestContext) {
  const { hub, ada } = await hubWith(t, ['ada']);
  hub.passTime(Date.now() - hub.now());
  const titles = Array.from({ length: SOURCES }, (_, n) => `Source ${String(n).padStart(2, '0')}`);
  const ids: number[] = [];
  for (const title of titles) {
    ids.push(...addPosts(hub, await addNotes(ada, title), POSTS, (n) => ({ title: `${title}, post ${n}`, createdAt: hub.now() })));
  }
  return { hub, ada, titles, ids };
}
