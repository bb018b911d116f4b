// Protects the one reading state: random acts on pages, in the API and in an app change what all three tell.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { addNotes, itemsAt, sendJson } from '../../support/accounts.ts';
import type { Answer, Client } from '../../support/client.ts';
import { hubWith } from '../../support/hub.ts';
import { randomBelow } from '../../support/random.ts';
import { appOf, itemId, itemIds, STATE } from '../../support/reader-app.ts';
import { addPosts } from '../../support/stored-posts.ts';
import { assertUnreadCounted } from '../../support/unread-counts.ts';

/** `RANDOM_SEED=7 RANDOM_STEPS=100000 node --test …` tries other acts, and more. */
const SEED = Number(process.env['RANDOM_SEED'] ?? 1);
const STEPS = Number(process.env['RANDOM_STEPS'] ?? 1_000);

const UNREAD = `s=${STATE}reading-list&xt=${STATE}read`;
const FOLDERS = ['A/B', '50% & more', 'Ж', null];

/** The model. `at`: the time of arrival. */
type Source = { id: number; folder: string | null; isFollowed: boolean; isShown: boolean; owner: Client };
type Post = { id: number; at: number; publishedAt: number; source: Source; isRead: boolean; isStarred: boolean };

/** Bob, who reads two sources of Ada and his own private one. Ada hides and shows her second source. */
async function startReading(t: TestContext) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const hidden = addPosts(hub, await addNotes(ada, 'Secret', 'private'), 2);
  const made = [[ada, await addNotes(ada)], [ada, await addNotes(ada)], [bob, await addNotes(bob, 'Own', 'private')]] as const;
  const sources = made.map(([owner, id]): Source => ({ id, owner, folder: null, isFollowed: true, isShown: true }));
  for (const { id } of sources) await done(sendJson(bob, 'PUT', `/api/sources/${id}/follow`, {}));
  const reading = { hub, ada, bob, app: appOf(hub, 'bob'), sources, posts: [] as Post[], hidden, below: randomBelow(SEED) };
  for (const source of sources) arrive(reading, source, 8);
  return reading;
}

type Reading = Awaited<ReturnType<typeof startReading>>;

function arrive({ hub, posts, below }: Pick<Reading, 'hub' | 'posts' | 'below'>, source: Source, count: number): void {
  hub.passTime(SECOND);
  const at = hub.now();
  for (let n = 0; n < count; n++) {
    const publishedAt = at - below(900) * SECOND;
    const [id = NaN] = addPosts(hub, source.id, 1, () => ({ createdAt: at, publishedAt }));
    posts.push({ id, at, publishedAt, source, isRead: false, isStarred: false });
  }
}

async function done(answer: Promise<Answer>): Promise<Answer> {
  const { status, text } = await answer;
  assert.ok([200, 204, 303].includes(status), `${status} ${text.slice(0, 300)}`);
  return answer;
}

const isListed = ({ source }: Post): boolean => source.isFollowed && source.isShown;
const isUnread = (post: Post): boolean => isListed(post) && !post.isRead;
const idsOf = (posts: Post[]): number[] => posts.map(({ id }) => id).sort((a, b) => b - a);
const label = (folder: string | null): string => `user/-/label/${encodeURIComponent(folder ?? 'none')}`;

/** Does an act in one of several ways. */
const inSomeWay = async ({ below }: Reading, ways: (() => Promise<Answer>)[]): Promise<void> =>
  void await done(ways[below(ways.length)]?.() ?? assert.fail());

/** Edits of an app also name posts that Bob may not see, and a post that does not exist. */
function edit({ app, hidden }: Reading, posts: Post[], change: string): Promise<Answer> {
  return app.post('edit-tag', `${change}&${[...idsOf(posts), ...hidden, 10 ** 7].map((id) => `i=${itemId(id)}`).join('&')}`);
}

function visiblePosts({ posts, below }: Reading): { one: Post; several: Post[] } {
  const visible = posts.filter(({ source }) => source.isShown);
  return { one: visible[below(visible.length)] ?? assert.fail(), several: visible.filter(() => below(3) === 0) };
}

async function markOne(reading: Reading): Promise<void> {
  const { one } = visiblePosts(reading);
  one.isRead = reading.below(2) === 0;
  const { bob } = reading;
  await inSomeWay(reading, [
    () => edit(reading, [one], one.isRead ? `a=${STATE}read` : `r=${STATE}read&a=${STATE}kept-unread`),
    () => bob.send(one.isRead ? 'PUT' : 'DELETE', `/api/posts/${one.id}/read`),
    () => bob.form(`/posts/${one.id}/read`, { read: one.isRead ? '1' : '0' }),
  ]);
}

async function markSeveral(reading: Reading): Promise<void> {
  const { several } = visiblePosts(reading);
  const isRead = reading.below(3) > 0;
  await done(edit(reading, several, isRead ? `a=${STATE}read` : `r=${STATE}read`));
  for (const post of several) post.isRead = isRead;
}

async function starOne(reading: Reading): Promise<void> {
  const { one } = visiblePosts(reading);
  one.isStarred = reading.below(2) === 0;
  await inSomeWay(reading, [
    () => edit(reading, [one], `${one.isStarred ? 'a' : 'r'}=${STATE}starred`),
    () => reading.bob.send(one.isStarred ? 'PUT' : 'DELETE', `/api/posts/${one.id}/star`),
    () => reading.bob.form(`/posts/${one.id}/star`, { star: one.isStarred ? '1' : '0' }),
  ]);
}

/** Marks everything, a source or a folder as read; an app may also mark what arrived until a time. */
async function markMany(reading: Reading): Promise<void> {
  const { hub, bob, app, sources, posts, below } = reading;
  const source = sources.filter((one) => one.isFollowed && one.isShown)[below(3)];
  if (!source) return;
  hub.passTime(2 * MINUTE); // earlier markings can no longer be undone
  const { id, folder } = source;
  const { stream, named, fits } = [
    { stream: `${STATE}reading-list`, named: { all: true }, fits: () => true },
    { stream: `feed/${id}`, named: { source: id }, fits: (post: Post) => post.source === source },
    { stream: label(folder), named: { folder }, fits: (post: Post) => post.source.folder === folder },
  ][below(folder === null ? 2 : 3)] ?? assert.fail();
  const until = below(2) === 0 ? undefined : posts[below(posts.length)]?.at;
  const byApp = () => app.post('mark-all-as-read', `s=${stream}${until === undefined ? '' : `&ts=${until}000`}`);
  const fields = Object.fromEntries(Object.entries(named).map(([name, value]) => [name, value === true ? '1' : String(value)]));
  await inSomeWay(reading, until === undefined
    ? [byApp, () => bob.post('/api/reading/mark-read', named), () => bob.form('/reading/mark-read', fields)] : [byApp]);
  const isUndone = below(4) === 0 && await undoAll(bob);
  for (const post of posts) if (!isUndone && isListed(post) && fits(post) && post.at <= (until ?? Infinity)) post.isRead = true;
}

/** Undoes what the pages offer: what an app has marked. Returns whether there was anything. */
async function undoAll(bob: Client): Promise<boolean> {
  const offered = async () => /An app has marked[^]*?name="undo" value="(\d+)"/.exec((await bob.page('/')).text)?.[1];
  let undone = 0;
  for (let undo = await offered(); undo !== undefined; undo = await offered(), undone++) await done(bob.form('/reading/undo', { undo }));
  return undone > 0;
}

async function moveSource(reading: Reading): Promise<void> {
  const { bob, app, sources, below } = reading;
  const source = sources[below(3)] ?? assert.fail();
  if (!source.isFollowed || !source.isShown) return;
  const [before, { id }] = [source.folder, source];
  source.folder = FOLDERS[below(FOLDERS.length)] ?? null;
  const { folder } = source;
  await inSomeWay(reading, [
    () => app.post('subscription/edit', `ac=edit&s=feed/${id}&${folder === null ? `r=${label(before)}` : `a=${label(folder)}`}`),
    () => sendJson(bob, 'PUT', `/api/sources/${id}/follow`, { folder }),
    () => bob.form(`/sources/${id}/follow`, { folder: folder ?? '' }),
  ]);
}

/** Follows or unfollows a source. Which posts a new follower has to read is not the subject here: the pages tell. */
async function followOne(reading: Reading): Promise<void> {
  const { bob, app, sources, posts, below } = reading;
  const source = sources[below(3)] ?? assert.fail();
  if (!source.isShown) return;
  Object.assign(source, { isFollowed: !source.isFollowed, folder: null });
  const { id, isFollowed } = source;
  await inSomeWay(reading, [
    () => app.post('subscription/edit', `ac=${isFollowed ? 'subscribe' : 'unsubscribe'}&s=feed/${id}`),
    () => sendJson(bob, isFollowed ? 'PUT' : 'DELETE', `/api/sources/${id}/follow`, {}),
    () => bob.form(`/sources/${id}/${isFollowed ? 'follow' : 'unfollow'}`),
  ]);
  const { read } = (await bob.get(`/reading/now?posts=${idsOf(posts).join()}`)).json<{ read: number[] }>();
  for (const post of posts) if (post.source === source) post.isRead = read.includes(post.id);
}

async function hideOrShow({ ada, sources: [, source] }: Reading): Promise<void> {
  if (!source) return;
  source.isShown = !source.isShown;
  await done(ada.patch(`/api/sources/${source.id}`, { visibility: source.isShown ? 'public' : 'private' }));
}

async function removeOne({ posts, below }: Reading): Promise<void> {
  if (posts.length < 20) return;
  const [post] = posts.splice(below(posts.length), 1);
  if (post) await done(post.source.owner.delete(`/api/posts/${post.id}`));
}

async function addSome(reading: Reading): Promise<void> {
  if (reading.posts.length < 90) arrive(reading, reading.sources[reading.below(3)] ?? assert.fail(), 1 + reading.below(3));
}

const ACTS = [
  markOne, markOne, markOne, markOne, markSeveral, markSeveral, starOne, starOne, markMany, markMany, moveSource, followOne,
  hideOrShow, removeOne, addSome, addSome,
];

const idsAt = async ({ bob }: Reading, view: string): Promise<number[]> =>
  (await itemsAt<{ id: number }>(bob, `/api/posts?view=${view}&limit=100`)).map(({ id }) => id).sort((a, b) => b - a);

/** All pages of a list, in its order. */
async function pagesOf({ bob, below }: Reading, list: string): Promise<number[]> {
  const found: number[] = [];
  const limit = 1 + below(9);
  for (let next: string | null = ''; next !== null;) {
    const answer = await bob.get(`/api/posts?${list}&limit=${limit}${next && `&cursor=${next}`}`);
    const page = answer.json<{ items: { id: number }[]; next: string | null }>();
    found.push(...page.items.map(({ id }) => id));
    next = page.next;
  }
  return found;
}

const inOrder = (posts: Post[]): number[] =>
  posts.toSorted((a, b) => b.publishedAt - a.publishedAt || b.id - a.id).map(({ id }) => id);

/** What is told by one of the three, and what the model says. */
const CHECKS: ((reading: Reading) => Promise<[told: unknown, expected: unknown]>)[] = [
  async ({ app, posts }) => [await itemIds(app, UNREAD), idsOf(posts.filter(isUnread))],
  async (reading) => [await pagesOf(reading, 'view=unread'), inOrder(reading.posts.filter(isUnread))],
  async (reading) => {
    const source = reading.sources.find((one) => one.isFollowed && one.isShown);
    if (!source) return [[], []];
    const ofSource = reading.posts.filter((post) => post.source === source);
    return [await pagesOf(reading, `view=list&source=${source.id}`), inOrder(ofSource)];
  },
  async ({ app, posts }) => [await itemIds(app, `s=${STATE}starred`), starred(posts.filter(isListed))],
  async (reading) => [await idsAt(reading, 'starred'), starred(reading.posts)],
  async ({ app, posts }) => [await itemIds(app, `s=${STATE}read`), idsOf(posts.filter((post) => isListed(post) && post.isRead))],
  async (reading) => [await idsAt(reading, 'list'), idsOf(reading.posts.filter(isListed))],
  async ({ app, sources, posts }) => {
    const folder = sources.find((one) => one.isFollowed && one.isShown && one.folder !== null)?.folder;
    if (!folder) return [[], []];
    return [await itemIds(app, `s=${label(folder)}&xt=${STATE}read`), idsOf(posts.filter((post) => isUnread(post) && post.source.folder === folder))];
  },
  async ({ bob, posts }) => {
    const { read } = (await bob.get(`/reading/now?posts=${idsOf(posts).join()}`)).json<{ read: number[] }>();
    return [read.sort((a, b) => b - a), idsOf(posts.filter((post) => post.source.isShown && post.isRead))];
  },
  async ({ app, bob, posts }) => {
    const { unreadcounts } = (await app.get('unread-count')).json<{ unreadcounts: { id: string; count: number }[] }>();
    const byApp = unreadcounts.find(({ id }) => id === `${STATE}reading-list`)?.count ?? 0;
    const unread = posts.filter(isUnread).length;
    return [[byApp, (await bob.get('/api/reading')).json()['unread']], [unread, unread]];
  },
];

const starred = (posts: Post[]): number[] => idsOf(posts.filter((post) => post.isStarred && post.source.isShown));

test('pages, API and app tell what a simple model says, while all three act at random a thousand times', async (t) => {
  const reading = await startReading(t);
  const acts: string[] = [];
  for (let step = 0; step < STEPS; step++) {
    const act = ACTS[reading.below(ACTS.length)] ?? assert.fail();
    acts.push(act.name);
    await act(reading);
    const [told, expected] = await CHECKS[step % CHECKS.length]?.(reading) ?? assert.fail();
    const about = `seed ${SEED}, step ${step}, check ${step % CHECKS.length}, after ${acts.slice(-9).join(', ')}`;
    assert.deepEqual(told, expected, about);
    assertUnreadCounted(reading.hub);
  }
});
