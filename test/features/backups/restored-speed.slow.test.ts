// Protects the speed of a restored hub: the gap that a restore leaves in the ids costs no list, page, job or export work.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { hubRoutes } from '../../../src/app/routes.ts';
import { addFollow, addNotes } from '../../support/accounts.ts';
import { statementCounter } from '../../support/count-statements.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { appOf, itemId, STATE } from '../../support/reader-app.ts';
import { restartRestored } from '../../support/restore-hub.ts';
import { stopWatch } from '../../support/stopped-watch.ts';
import { addPosts, indexPosts, storedPosts } from '../../support/stored-posts.ts';

/** More than any request here needs: the export runs one for each mark. */
const MOST = 20_000;
/** A walk that meets the gap looks for the post on its other side, and begins a step of its own there. */
const OF_A_GAP = 4;

const STREAMS = [`${STATE}reading-list`, `${STATE}starred`, `${STATE}read`, `${STATE}unread`, 'user/-/label/Owls', 'feed/1'];
const FILTERS = ['', '&r=o', `&xt=${STATE}read`, `&xt=${STATE}starred&r=o`, `&it=${STATE}read`, '&c=1000000000000900', '&ot=TIME', '&nt=TIME&r=o'];

/** Ada's hub with 1,655 posts, 30 of them starred and 60 unread, and the same hub restored from its backup. Both then got 40 posts. */
async function beforeAndAfter(t: TestContext): Promise<Hub[]> {
  const { hub, ada } = await hubWith(t, ['ada']);
  for (const n of [1, 2, 3]) await addFollow(ada, await addNotes(ada, `Source ${n}`), n === 2 ? { folder: 'Owls' } : {});
  const posts = [1, 2, 3].flatMap((source) => addPosts(hub, source, source === 1 ? 655 : 500, () => ({ title: 'Owls', createdAt: hub.now() })));
  hub.passTime(60_000);
  await edit(hub, posts.slice(60), `a=${STATE}read`);
  await edit(hub, posts.slice(0, 30), `a=${STATE}starred`);
  indexPosts(hub.handle);
  const restored = await restartRestored(t, hub);
  for (const one of [hub, restored]) {
    addPosts(one, 1, 40, () => ({ title: 'New owls', createdAt: one.now() }));
    indexPosts(one.handle);
    await one.work();
  }
  return [hub, restored];
}

async function edit(hub: Hub, posts: number[], change: string): Promise<void> {
  const { text } = await appOf(hub, 'ada').post('edit-tag', `${change}&${posts.map((id) => `i=${itemId(id)}`).join('&')}`);
  assert.equal(text, 'OK');
}

/** What this hub is asked, by names that are the same in both. */
async function questions(hub: Hub): Promise<Map<string, () => Promise<unknown>>> {
  const [ada, app, newest] = [await hub.person('ada'), appOf(hub, 'ada'), storedPosts(hub).at(-1)?.id ?? NaN];
  const time = String(hub.now() / 1000 - 60);
  const pages = hubRoutes(hub.handle).filter(({ method }) => method === 'GET').map(({ path }) => path);
  const filled = (path: string): string => path.replace(/(posts\/):id/g, `$1${newest}`)
    .replace(':name', 'Owls').replace(/:[a-z]+\*?/g, '1');
  const reading = ['list', 'unread', 'starred', 'muted', 'public'].flatMap((view) => ['', '&q=owls', '&folder=Owls'].map((more) => `view=${view}${more}`));
  const calls = STREAMS.flatMap((stream) => FILTERS.flatMap((filter) => [
    `stream/items/ids?s=${stream}${filter}`, `stream/contents/${stream}?n=500${filter}`,
  ]));
  const acts: [string, () => Promise<unknown>][] = [
    ['mark as read', () => ada.post('/api/reading/mark-read', { folder: 'Owls' })],
    ['mark as read up to a post', () => ada.post('/api/reading/mark-read', { all: true, upTo: newest - 5 })],
    ['mark-all-as-read of the starred', () => app.post('mark-all-as-read', `s=${STATE}starred`)],
    ['mark-all-as-read until a time', () => app.post('mark-all-as-read', `s=${STATE}reading-list&ts=${time}000000`)],
    ['jobs of an hour', () => hub.work(3_600_000)],
    ['jobs of the next day', () => hub.work(86_400_000)],
  ];
  return new Map([
    ...pages.map((path) => [`GET ${path}`, () => ada.get(filled(path))] as const),
    ...reading.map((query) => [query, () => ada.get(`/api/posts?${query}&limit=100`)] as const),
    ...calls.map((call) => [call, () => app.get(call.replace('TIME', time))] as const),
    ...acts,
  ]);
}

test('after a restore, which raises ids by 10^9, no list, page, export, marking or job runs more statements than before', async (t) => {
  const hubs = await beforeAndAfter(t);
  const [newest, ofRestored] = hubs.map((hub) => storedPosts(hub).at(-1)?.id ?? NaN);
  assert.ok((ofRestored ?? NaN) > (newest ?? NaN) + 1e9, 'there is a gap');
  const [before = assert.fail(), after = assert.fail()] = await Promise.all(hubs.map(questions));
  stopWatch(t); // the room on the disk, which takes statements, is measured anew after a second
  const count = statementCounter(t, MOST);
  const slower: string[] = [];
  for (const [name, ask] of before) {
    const [had, has] = [await count(ask), await count(after.get(name) ?? assert.fail(name))];
    if (has > had + OF_A_GAP) slower.push(`${name}: ${has} statements, ${had} before`);
  }
  assert.deepEqual(slower, []);
});
