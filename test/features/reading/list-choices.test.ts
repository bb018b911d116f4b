// Protects what members choose for each list: its order, its posts, and one post of each source.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { addFollow, addNotes, addPost, sendJson } from '../../support/accounts.ts';
import type { Answer, Client } from '../../support/client.ts';
import { hubWith } from '../../support/hub.ts';
import { listChoices } from '../../../src/features/reading/list-choice-store.ts';

/** Ada's sources with so many posts, one post a minute in turn, and bob, who follows the sources in the folder Birds. */
async function hubWithLists(t: TestContext, count: number, sourceCount = 1) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const sources: number[] = [];
  for (let n = 0; n < sourceCount; n++) sources.push(await addNotes(ada, `Notes ${n}`));
  for (const id of sources) await addFollow(bob, id, { folder: 'Birds' });
  const add = async (n: number): Promise<number> => {
    hub.passTime(MINUTE);
    return addPost(ada, sources[n % sourceCount] ?? NaN, `Post ${n + 1}`);
  };
  for (let n = 0; n < count; n++) await add(n);
  hub.passTime(SECOND);
  return { hub, ada, bob, sources, add };
}

async function choose(client: Client, list: string, choice: string): Promise<string> {
  const answer = await client.form('/reading/choice', { list, choice });
  assert.equal(answer.status, 303, answer.text);
  return answer.headers.get('location') ?? '';
}

const idsIn = ({ text }: Answer): number[] => Array.from(text.matchAll(/<li class="row[^"]*" id="post-(\d+)"/g), ([, id]) => Number(id));
const upFrom = (lowest: number, count: number): number[] => Array.from({ length: count }, (_, above) => lowest + above);
const linkIn = ({ text }: Answer, pattern: RegExp): string => (pattern.exec(text)?.[1] ?? 'no link').replaceAll('&amp;', '&');
const page = (client: Client, path: string): Promise<Answer> => client.page(path.split('#')[0] ?? '');
const [PREVIOUS, NEXT, UP] = [/rel="prev" href="([^"]+)"/, /rel="next"\s+href="([^"]+)"/, /rel="up" href="([^"]+)"/];
const toPost = (id: number): RegExp => new RegExp(`<h3[^>]*><a href="([^"]*/posts/${id}(?:[?][^"]*)?)"`);

test('a list keeps the chosen order on its pages, from post to post, on the way back, and for its reader alone', async (t) => {
  const { ada, bob, add } = await hubWithLists(t, 45);
  assert.equal(await choose(bob, 'all', 'oldest all'), '/all');
  const first = await page(bob, '/all');
  assert.deepEqual(idsIn(first), upFrom(1, 30));
  assert.match(first.text, />Newer posts</);
  assert.doesNotMatch(first.text, /class="fresh"/, 'new posts come on a later page');
  assert.match(first.text, /iconic on" aria-label="View: oldest first"[^]*?<span class="choice-words">oldest first</);
  assert.match((await page(bob, '/')).text, /iconic" aria-label="View"/, 'the usual order and posts are not mentioned');

  const second = await page(bob, linkIn(first, NEXT));
  assert.deepEqual(idsIn(second), upFrom(31, 15));
  const post = await page(bob, linkIn(second, toPost(33)));
  assert.deepEqual([PREVIOUS, NEXT].map((side) => /posts\/(\d+)/.exec(linkIn(post, side))?.[1]), ['32', '34']);
  assert.match(linkIn(post, /data-next-unread href="([^"]+)"/), /posts\/34/);
  assert.deepEqual(idsIn(await page(bob, linkIn(post, UP))), upFrom(31, 15), 'the page of the list that the post was on');
  const fresh = linkIn(second, /class="fresh" href="([^"]+)"/);
  const late = await add(45);
  assert.deepEqual(idsIn(await page(bob, fresh)), [late], 'the line about new posts stands at the end and leads there');

  assert.equal(idsIn(await page(bob, '/'))[0], late, 'another list has its own order');
  assert.deepEqual(idsIn(await page(ada, '/all')), upFrom(17, 30).toReversed(), 'and so has another member');
  assert.deepEqual(idsIn(await page(bob, '/all?q=Post')), upFrom(17, 30).toReversed(), 'a search shows the newest first');
  await choose(bob, 'all', 'newest all');
  assert.deepEqual(idsIn(await page(bob, linkIn(first, NEXT))), upFrom(31, 16), 'a page that is open goes on in its order');
  const opened = await page(bob, '/all');
  await choose(bob, 'all', 'oldest all');
  assert.deepEqual(idsIn(await page(bob, linkIn(opened, NEXT))), upFrom(1, 16).toReversed(), 'and so does a page of the newest');
});

test('a list of unread posts with the oldest first marks what stands above and below a post on the page', async (t) => {
  const { bob, sources } = await hubWithLists(t, 6, 2);
  for (const list of ['unread', 'folder:Birds', `source:${sources[0]}`]) {
    const at = await choose(bob, list, 'oldest unread');
    const shown = list.startsWith('source') ? [1, 3, 5] : upFrom(1, 6);
    const opened = await page(bob, at);
    assert.deepEqual(idsIn(opened), shown, list);
    const post = await page(bob, linkIn(opened, toPost(3)));
    for (const { text } of [opened, post]) {
      assert.match(text, /name="below"\s+value="3">Mark all above as\s+read<\/button><button (form="mark" )?name="above"\s+value="3">Mark all below/);
    }
    assert.deepEqual(idsIn(await page(bob, linkIn(post, UP))), shown, 'read, and still in the list as it was opened');
    assert.deepEqual(idsIn(await page(bob, at)), shown.filter((id) => id !== 3));
    await sendJson(bob, 'DELETE', '/api/posts/3/read', {});
  }
});

test('a folder and a source show unread or all posts as last chosen, also under a new name of the folder', async (t) => {
  const { bob, sources } = await hubWithLists(t, 2);
  await sendJson(bob, 'PUT', '/api/posts/1/read', {});
  assert.deepEqual(idsIn(await page(bob, await choose(bob, 'folder:Birds', 'oldest all'))), [1, 2]);
  assert.deepEqual(idsIn(await page(bob, await choose(bob, `source:${sources[0]}`, 'newest unread'))), [2]);
  assert.deepEqual(idsIn(await page(bob, '/folders/Birds?show=unread')), [2], 'an address may say otherwise');
  await bob.form('/sources/folders', { act: 'rename', folder: 'Birds', name: 'Owls & more' });
  assert.deepEqual(idsIn(await page(bob, '/folders/Owls%20%26%20more')), [1, 2]);
  const { listChoices } = (await bob.get('/api/account/export')).json<{ listChoices: { list: string; order: string; show: string }[] }>();
  assert.deepEqual(listChoices.map(({ list, order, show }) => [list, order, show]),
    [['folder:Owls & more', 'oldest', 'all'], [`source:${sources[0]}`, 'newest', 'unread']]);
  for (const list of ['folder:Birds', 'source:999']) {
    assert.equal((await bob.form('/reading/choice', { list, choice: 'oldest all' })).status, 404, list);
  }
  for (const [list, choice] of [['unread', 'newest all'], ['source:1', 'newest each'], ['all', 'newest unread'], ['starred', 'x all']]) {
    assert.equal((await bob.form('/reading/choice', { list: list ?? '', choice: choice ?? '' })).status, 422, `${list} ${choice}`);
  }
});

test('a folder that another folder is moved into keeps its own choice, and a removed folder’s choice does not count', async (t) => {
  const { bob, sources } = await hubWithLists(t, 2, 2);
  const rename = (folder: string, name: string): Promise<Answer> => bob.form('/sources/folders', { act: 'rename', folder, name });
  await choose(bob, 'folder:Birds', 'oldest all');
  await addFollow(bob, sources[1] ?? NaN, { folder: 'Owls' });
  await choose(bob, 'folder:Owls', 'newest all');
  await rename('Birds', 'Owls');
  assert.deepEqual(idsIn(await page(bob, '/folders/Owls')), [2, 1]);
  await rename('Owls', 'Birds');
  assert.deepEqual(idsIn(await page(bob, '/folders/Birds')), [2, 1], 'the list of the folder that was renamed');
});

test('a list of unread posts that is empty leads to all posts, although the member chose unread posts', async (t) => {
  const { bob, sources } = await hubWithLists(t, 2);
  await bob.post('/api/reading/mark-read', { all: true });
  for (const list of [`source:${sources[0]}`, 'folder:Birds', 'unread']) {
    const empty = await page(bob, await choose(bob, list, 'newest unread'));
    assert.deepEqual(idsIn(empty), [], list);
    assert.deepEqual(idsIn(await page(bob, linkIn(empty, /href="([^"]+)">All posts<\/a><\/p>/))), [2, 1], list);
  }
});

test('posts that arrived before the next page was opened are not announced there, and are marked with the rest', async (t) => {
  const { bob, add } = await hubWithLists(t, 31);
  await choose(bob, 'unread', 'oldest unread');
  const first = await page(bob, '/');
  const late = await add(31);
  const second = await page(bob, linkIn(first, NEXT));
  assert.deepEqual(idsIn(second), [31, late]);
  const newest = linkIn(second, /data-newest="(\d+)"/);
  assert.deepEqual((await bob.get(`/reading/fresh?newest=${newest}`)).json(), { fresh: 0 });
  await add(32);
  await bob.form('/reading/mark-read', { all: '1', upTo: linkIn(second, /name="upTo" value="(\d+)"/) });
  assert.deepEqual(idsIn(await page(bob, '/')), [late + 1]);
});

test('a list of the newest unread post of each source goes from source to source, and on when it is opened anew', async (t) => {
  const { bob } = await hubWithLists(t, 7, 3);
  for (const [list, order, shown] of [['unread', 'newest', [7, 6, 5]], ['folder:Birds', 'oldest', [5, 6, 7]]] as const) {
    const at = await choose(bob, list, `${order} each`);
    const opened = await page(bob, at);
    assert.deepEqual(idsIn(opened), shown);
    assert.doesNotMatch(opened.text, /Mark all above/, 'posts that are not shown are not marked by their place');
    const post = await page(bob, linkIn(opened, toPost(6)));
    assert.deepEqual([PREVIOUS, NEXT].map((side) => Number(/posts\/(\d+)/.exec(linkIn(post, side))?.[1])), [shown[0], shown[2]]);
    const last = await page(bob, linkIn(post, NEXT));
    const unread = linkIn(last, /data-next-unread href="([^"]+)"/);
    assert.match(unread, new RegExp(`posts/${shown[0]}[?]show=each`), 'the unread post above, not an older one of a source');
    assert.deepEqual(idsIn(await page(bob, linkIn(last, UP))), shown);
    const rest = shown.map((id) => id === shown[0] ? id : id - 3);
    assert.deepEqual(idsIn(await page(bob, at)).toSorted(), rest.toSorted(), 'the next unread posts of two sources');
    for (const id of shown) await sendJson(bob, 'DELETE', `/api/posts/${id}/read`, {});
  }
});

test('folders with names that browsers take out of paths can be opened, and stay apart from similar names', async (t) => {
  const { bob, sources } = await hubWithLists(t, 4, 4);
  const names = ['.', '..', '~.', '~~..'];
  for (const [n, folder] of names.entries()) await addFollow(bob, sources[n] ?? NaN, { folder });

  const rail = (await page(bob, '/')).text;
  const paths = Array.from(rail.matchAll(/<a class="item" href="(\/folders\/[^"]+)"/g), ([, path = '']) => path);
  const opened = await Promise.all(paths.map(async (path) => {
    assert.equal(new URL(path, 'https://hub.test').pathname, path);
    const shown = await page(bob, path);
    return [/<h1><span dir="auto">([^<]+)</.exec(shown.text)?.[1], idsIn(shown)];
  }));
  assert.deepEqual(opened.toSorted(), names.map((name, n) => [name, [n + 1]]).toSorted());
});

test('an order that a later version stored is the usual one here, and can be chosen anew', async (t) => {
  const { hub, bob } = await hubWithLists(t, 3);
  listChoices(hub.handle).put(2, 'all', { order: 'longest' as never, show: 'all' });

  assert.deepEqual(idsIn(await page(bob, '/all')), [3, 2, 1]);
  await choose(bob, 'all', 'oldest all');
  assert.deepEqual(idsIn(await page(bob, '/all')), [1, 2, 3]);
});
