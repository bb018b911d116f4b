// Protects the reading list from outside: following, lists, counts, stars, marking and undo, by the API and by forms.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { markRead, undoMark } from '../../../src/features/reading/mark-read.ts';
import { readingHistory } from '../../../src/features/reading/reading-history-store.ts';
import { listView, type View } from '../../../src/features/reading/reading-list.ts';
import { entries } from '../../../src/features/reading/entry-store.ts';
import { DAY, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import type { Viewer } from '../../../src/platform/http/router.ts';
import { pagesRead } from '../../support/pages-read.ts';
import { addFeed, addFollow, addNotes, addPost, itemsAt, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { startHub } from '../../support/hub.ts';
import { addPosts } from '../../support/stored-posts.ts';
import { countRows } from '../../support/stored-rows.ts';
import { hubWithReader, submitForm } from '../../support/own-posts.ts';
import { startOrigin } from '../../support/origin.ts';

const BOB = { id: 2, role: 'member' } as Viewer;

type Listed = { id: number; title: string; read: boolean; starred: boolean };
type Counts = {
  unread: number; starred: number;
  folders: { name: string | null; unread: number; sources: { id: number; title: string; unread: number }[] }[];
};

/** Ada's notes with so many posts, and bob, who follows them. */
async function readingHub(t: TestContext, count: number) {
  const made = await hubWithReader(t, count, SECOND);
  await addFollow(made.bob, made.sourceId);
  return made;
}

async function ids(client: Client, view: string): Promise<number[]> {
  return (await itemsAt<Listed>(client, `/api/posts?view=${view}&limit=100`)).map(({ id }) => id);
}

async function counts(client: Client): Promise<Counts> {
  return (await client.get('/api/reading')).json<Counts>();
}

async function mark(client: Client, values: Record<string, unknown>): Promise<{ marked: number; undo: number }> {
  const answer = await client.post('/api/reading/mark-read', values);
  assert.equal(answer.status, 200, answer.text);
  return answer.json();
}

test('whoever follows a source that is there has its newest thirty posts to read, and whatever comes', async (t) => {
  const { ada, bob, sourceId, posts } = await readingHub(t, 33);
  assert.deepEqual(await ids(bob, 'unread'), posts.slice(3).toReversed());
  assert.deepEqual(await ids(bob, 'list'), posts.toReversed());

  const late = await addPost(ada, sourceId, 'Late');
  const old = await ada.post('/api/posts', {
    sourceId, title: 'Old', content: 'x', contentType: 'text/plain', publishedAt: '2020-01-01T00:00:00Z',
  });
  assert.deepEqual(await ids(bob, 'unread'), [late, ...posts.slice(3).toReversed(), old.json<Listed>().id]);
  assert.equal((await counts(bob)).unread, 32);
});

test('sources stand in folders of one’s own, which go with the last source in them', async (t) => {
  const { hub, ada, bob, sourceId } = await readingHub(t, 1);
  const other = await addNotes(ada, 'Another');
  await addFollow(bob, other, { folder: 'Harbour' });
  await addFollow(bob, sourceId, { folder: 'Harbour', notify: true });

  assert.deepEqual((await counts(bob)).folders, [{
    name: 'Harbour', unread: 1,
    sources: [
      { id: other, title: 'Another', unread: 0, notify: false, hideGlobally: false },
      { id: sourceId, title: 'Notes', unread: 1, notify: true, hideGlobally: false },
    ],
  }]);
  assert.deepEqual(await ids(bob, 'unread&folder=Harbour'), [1]);
  assert.equal((await ada.get('/api/posts?view=unread&folder=Harbour')).status, 404, 'it is his');
  await addFollow(bob, other, { folder: null });
  assert.deepEqual((await counts(bob)).folders.map(({ name }) => name), ['Harbour', null]);
  await addFollow(bob, sourceId, { notify: false });
  assert.equal((await counts(bob)).folders[0]?.name, 'Harbour', 'what is not named stays');
  await bob.delete(`/api/sources/${sourceId}/follow`);
  assert.equal(countRows(hub, 'folders'), 0);
});

test('the posts of a source that is hidden globally are only in the lists of the source, of its folder and of stars', async (t) => {
  const { hub, ada, bob, sourceId, posts } = await readingHub(t, 2);
  const other = await addNotes(ada, 'Another');
  await addFollow(bob, other);
  const shown = await addPost(ada, other, 'Shown');
  await sendJson(bob, 'PUT', `/api/posts/${posts[0]}/star`, {});
  await addFollow(bob, sourceId, { folder: 'Harbour', hideGlobally: true });

  for (const view of ['unread', 'list', 'unread&q=Shown', 'list&q=Shown']) assert.deepEqual(await ids(bob, view), [shown], view);
  for (const view of ['unread&q=Post', 'list&q=Post']) assert.deepEqual(await ids(bob, view), [], view);
  for (const list of [`source=${sourceId}`, 'folder=Harbour']) {
    for (const view of ['unread', 'list', 'list&q=Post']) {
      assert.deepEqual(await ids(bob, `${view}&${list}`), posts.toReversed(), `${view}&${list}`);
    }
  }
  for (const view of ['starred', 'starred&q=Post']) assert.deepEqual(await ids(bob, view), [posts[0]], view);
  const counted = await counts(bob);
  assert.deepEqual([counted.unread, counted.folders.map(({ unread }) => unread)], [1, [2, 1]]);
  const fresh = (list: string) => bob.get(`/reading/fresh?newest=0&${list}`).then((answer) => answer.json<{ fresh: number }>().fresh);
  assert.deepEqual([await fresh(''), await fresh('folder=Harbour')], [1, 2]);
  hub.passTime(MINUTE);
  assert.equal((await mark(bob, { all: true })).marked, 1, 'the hidden posts stay unread');
  assert.deepEqual(await ids(bob, 'unread&folder=Harbour'), posts.toReversed());
  await addFollow(bob, sourceId, { hideGlobally: false });
  assert.deepEqual(await ids(bob, 'unread'), posts.toReversed());
});

test('a star keeps a post in a list of its own, for one person, in the order of publishing', async (t) => {
  const { ada, bob, posts, sourceId } = await readingHub(t, 4);
  for (const id of [posts[2], posts[0], posts[2]]) {
    assert.equal((await sendJson(bob, 'PUT', `/api/posts/${id}/star`, {})).status, 204);
  }
  assert.deepEqual(await ids(bob, 'starred'), [posts[2], posts[0]]);
  assert.deepEqual(await ids(ada, 'starred'), []);
  const all = await itemsAt<Listed>(bob, '/api/posts?view=list');
  assert.deepEqual(all.map(({ starred }) => starred), [false, true, false, true]);
  await ada.patch(`/api/posts/${posts[0]}`, { publishedAt: '2030-01-15T11:00:00Z' });
  await ada.patch(`/api/posts/${posts[2]}`, { publishedAt: '2030-01-15T10:00:00Z' });
  assert.deepEqual(await ids(bob, 'starred'), [posts[0], posts[2]]);
  await bob.delete(`/api/posts/${posts[0]}/star`);
  assert.equal((await counts(bob)).starred, 1);
  await ada.patch(`/api/sources/${sourceId}`, { visibility: 'private' });
  assert.deepEqual([await ids(bob, 'starred'), (await counts(bob)).starred], [[], 0], 'what is hidden is not in it');
});

test('all is marked up to the newest post that was shown, and undone within two minutes', async (t) => {
  const { hub, ada, bob, sourceId, posts } = await readingHub(t, 5);
  await sendJson(bob, 'PUT', `/api/posts/${posts[1]}/read`, {});
  const shown = posts.at(-1);
  const late = await addPost(ada, sourceId, 'Late');

  const { marked, undo } = await mark(bob, { all: true, upTo: shown });
  assert.equal(marked, 4);
  assert.deepEqual(await ids(bob, 'unread'), [late]);
  hub.passTime(2 * MINUTE - SECOND);
  assert.equal((await ada.post('/api/reading/undo', { undo })).status, 410, 'it is bob’s');
  assert.equal((await bob.post('/api/reading/undo', { undo })).status, 204);
  assert.deepEqual(await ids(bob, 'unread'), [late, posts[4], posts[3], posts[2], posts[0]], 'what was read before stays so');
  assert.equal((await bob.post('/api/reading/undo', { undo })).status, 410);
  const again = await mark(bob, { source: sourceId });
  assert.equal(again.marked, 5);
  hub.passTime(2 * MINUTE);
  assert.equal((await bob.post('/api/reading/undo', { undo: again.undo })).status, 410, 'before it is tidied away, too');
  await mark(bob, { source: sourceId });
  await hub.work(2 * MINUTE);
  assert.equal(countRows(hub, 'read_acts'), 0);
});

test('what was read anew after a marking stays read when that is undone', async (t) => {
  const { hub, bob, posts: [early, late] } = await readingHub(t, 2);
  const { undo } = await mark(bob, { posts: [early, late] });
  hub.passTime(SECOND);
  await bob.delete(`/api/posts/${late}/read`);
  for (const id of [late, early]) await sendJson(bob, 'PUT', `/api/posts/${id}/read`, {}); // early is read already
  await bob.post('/api/reading/undo', { undo });
  assert.deepEqual(await ids(bob, 'unread'), [early]);
});

test('what is older than a time, above or below a post, or named, is marked and nothing else', async (t) => {
  const { hub, bob, posts } = await readingHub(t, 9);
  const [a, b, c, d, e, f, g, h, i] = posts;

  const at = new Date(hub.now() - 6 * SECOND).toISOString();
  assert.equal((await mark(bob, { all: true, before: at, below: i })).marked, 2, 'both count');
  assert.deepEqual(await ids(bob, 'unread'), [i, h, g, f, e, d, c]);
  assert.equal((await mark(bob, { all: true, below: e })).marked, 2);
  assert.equal((await mark(bob, { source: 1, above: h })).marked, 1);
  assert.deepEqual(await ids(bob, 'unread'), [h, g, f, e]);
  assert.equal((await mark(bob, { posts: [g, a, b, 999] })).marked, 1);
  assert.deepEqual([await ids(bob, 'unread'), d, c], [[h, f, e], d, c]);
  const empty = [{ folder: null }, { folder: '' }, { posts: null }, { source: null }, { all: null }];
  for (const wrong of [{}, ...empty, { all: true, source: 1 }, { posts: ['1'] }, { all: false }, { all: true, before: 'today' }]) {
    assert.equal((await bob.post('/api/reading/mark-read', wrong)).status, 422, JSON.stringify(wrong));
  }
  assert.deepEqual(await ids(bob, 'unread'), [h, f, e], 'an empty target does not mean all posts');
  assert.equal((await bob.post('/api/reading/mark-read', { folder: 'None' })).status, 404);
  assert.equal((await bob.post('/api/reading/mark-read', { source: 999 })).status, 404);
});

test('lists are for who is signed in; what is public is the same for all', async (t) => {
  const { hub, ada, bob, posts } = await readingHub(t, 1);
  await addPost(ada, await addNotes(ada, 'Diary', 'private'), 'Secret');
  for (const view of ['unread', 'list', 'starred']) {
    assert.equal((await hub.anybody.get(`/api/posts?view=${view}`)).status, 401);
  }
  for (const client of [hub.anybody, bob, ada]) assert.deepEqual(await ids(client, 'public'), posts);
  assert.equal((await bob.get('/api/posts?view=all')).status, 400);
  assert.equal((await bob.get('/api/posts?folder=x')).status, 400);
  assert.deepEqual((await itemsAt<Listed>(bob, '/api/posts?view=unread&q=post')).map(({ title }) => title), ['Post 1']);
  assert.deepEqual(await itemsAt(bob, '/api/posts?view=unread&q=secret'), []);
});

test('what was read stays read when the history is cleared or has run out', async (t) => {
  const { hub, bob, posts } = await readingHub(t, 3);
  for (const id of posts.slice(0, 2)) await bob.page(`/posts/${id}`);
  await bob.delete('/api/history');
  assert.deepEqual(await ids(bob, 'unread'), [posts[2]]);
  await bob.page(`/posts/${posts[2]}`);
  readingHistory(hub.handle).forget(2, posts[2] ?? NaN);
  readingHistory({ db: hub.db, clock: () => 0 }).note(2, posts[2] ?? NaN);
  await hub.work(DAY);
  assert.equal(countRows(hub, 'reading_history'), 0);
  assert.deepEqual(await ids(bob, 'unread'), []);
});

test('whoever adds a source follows it, with a feed all that it has is to be read', async (t) => {
  const hub = await startHub(t);
  const origin = await startOrigin(t, {
    '/feed': serving(() => rss('Owls', Array.from({ length: 40 }, (_, n) => ({ guid: `${n}` })))),
  });
  const ada = await hub.person('ada');
  await addFeed(ada, `${origin.url}/feed`);
  const [unsorted] = (await counts(ada)).folders;
  assert.deepEqual([unsorted?.name, unsorted?.sources[0]?.title, unsorted?.unread], [null, 'Owls', 40]);
});

test('what one writes oneself is read for oneself, and unread for everybody else who follows', async (t) => {
  const { hub, ada, bob, sourceId, posts } = await readingHub(t, 3);
  assert.deepEqual([(await counts(ada)).unread, (await ids(bob, 'unread')).length], [0, 3]);
  const notes = await addNotes(bob);
  await addFollow(ada, notes);
  const written = await submitForm(hub, bob, '/write', { sourceId: String(notes), title: 'By a form', content: 'x' }, []);
  assert.equal(written.status, 303);
  assert.deepEqual(await ids(ada, 'unread'), [4]);
  assert.deepEqual(await ids(bob, 'unread'), posts.toReversed());

  await ada.delete(`/api/posts/${posts[1]}/read`);
  await addPost(ada, sourceId, 'Another');
  assert.deepEqual(await ids(ada, 'unread'), [4, posts[1]], 'what was marked as unread stays so');
});

test('a part of a list and all of it are marked in steps of a thousand posts, and either is undone exactly', async (t) => {
  const { hub, bob } = await readingHub(t, 1);
  const middle = addPosts(hub, 1, 3_000)[1_499];
  const part = await mark(bob, { source: 1, above: middle });
  assert.equal(part.marked, 1_501);

  const all = await mark(bob, { all: true });
  assert.equal(all.marked, 1_500);
  addPosts(hub, 1, 3);
  await mark(bob, { all: true });
  await bob.post('/api/reading/undo', { undo: all.undo });
  const unread = () => entries(hub.handle).statesOf(BOB, [...Array(3_004).keys()]).filter(({ isRead }) => isRead === 0).length;
  assert.equal(unread(), 1_500, 'what came after that stays read');
  await bob.post('/api/reading/undo', { undo: part.undo });
  assert.equal(unread(), 3_001);
});

test('counts stop at a thousand, on pages at 999+, however many posts are marked beside that', async (t) => {
  const { hub, bob } = await readingHub(t, 1);
  addPosts(hub, 1, 6_000);
  assert.equal((await counts(bob)).unread, 1000);
  assert.deepEqual((await bob.get('/reading/now')).json()['counts'], { 'unread': '999+', 'all': '999+', 'source:1': '999+' });
  for (const list of ['', '&source=1']) assert.deepEqual((await bob.get(`/reading/fresh?newest=1${list}`)).json(), { fresh: 1000 });
  const all = async (): Promise<string> => /<button><span>(All [^]*?)<\/span><\/button>/.exec((await bob.page('/')).text)?.[1] ?? '';
  assert.match(await all(), /^All <span class="count" data-count="unread" hidden>/, 'it would mark more than 999');
  entries(hub.handle).setRead(2, Array.from({ length: 5_500 }, (_, n) => n + 1), true);
  assert.equal((await counts(bob)).unread, 501);
  assert.match(await all(), /^All <span class="count" data-count="unread" >501</);
});

test('of many posts some are marked and undone at once, between which others have their turn', async (t) => {
  const { hub } = await readingHub(t, 0);
  addPosts(hub, 1, 2_500);
  const read = () => entries(hub.handle).marksOf(2, 0, 10_000).length;

  const marking = markRead(hub.handle, BOB, { all: true });
  assert.equal(read(), 1_000);
  const { marked, undo } = await marking;
  assert.deepEqual([marked, read()], [2_500, 2_500]);
  const undoing = undoMark(hub.handle, BOB, undo);
  assert.equal(read(), 1_500);
  await undoing;
  assert.equal(read(), 0);
  await assert.rejects(undoMark(hub.handle, BOB, undo), { status: 410 });
});

test('an account may mark each of very many posts, and undo the last twenty markings', async (t) => {
  const { hub, bob } = await readingHub(t, 1);
  addPosts(hub, 1, 20_010);
  const first = await mark(bob, { posts: [1] });
  for (let n = 2; n <= 21; n++) await mark(bob, { posts: [n] });
  assert.equal(countRows(hub, 'read_acts'), 20);
  assert.equal((await bob.post('/api/reading/undo', { undo: first.undo })).status, 410);

  entries(hub.handle).setRead(2, Array.from({ length: 20_000 }, (_, n) => n + 1), true);
  assert.equal((await mark(bob, { posts: [20_001] })).marked, 1);
  assert.equal((await bob.form('/posts/20002/read', { read: '1' })).status, 303);
  assert.equal((await mark(bob, { all: true })).marked, 9);
  assert.equal((await counts(bob)).unread, 0);
});

test('two who mark and undo at once get what one after the other would; what was let go meanwhile is left alone', async (t) => {
  const { hub, ada, bob } = await readingHub(t, 3);
  const others: number[] = [];
  for (let n = 0; n < 4; n++) {
    const id = await addNotes(ada, `Another ${n}`);
    await addFollow(bob, id, { folder: 'Harbour' });
    others.push(id, await addPost(ada, id), await addPost(ada, id));
  }
  const before = await ids(bob, 'unread');
  for (let round = 0; round < 5; round++) {
    const made = await Promise.all([{ all: true }, { folder: 'Harbour' }, { source: 1 }, { posts: before }].map((what) => mark(bob, what)));
    assert.equal(made.reduce((sum, { marked }) => sum + marked, 0), before.length, 'each once');
    assert.deepEqual(await ids(bob, 'unread'), []);
    const undone = await Promise.all([...made, ...made].map(({ undo }) => bob.post('/api/reading/undo', { undo })));
    assert.equal(undone.filter(({ status }) => status === 204).length, made.length);
    assert.deepEqual(await ids(bob, 'unread'), before);
  }

  const [gone = 0, again = 0] = [others[0], others[3]];
  const { undo } = await mark(bob, { all: true });
  hub.passTime(SECOND);
  for (const id of [gone, again]) await bob.delete(`/api/sources/${id}/follow`);
  await addFollow(bob, again);
  await mark(bob, { source: again });
  assert.equal((await bob.post('/api/reading/undo', { undo })).status, 204);
  const kept = before.filter((id) => ![others[1], others[2], others[4], others[5]].includes(id));
  assert.deepEqual(await ids(bob, 'unread'), kept);
});

test('of a source with very many posts a few unread ones are found without looking at all of them', async (t) => {
  const { hub, bob } = await readingHub(t, 1);
  addPosts(hub, 1, 60_000);
  await mark(bob, { all: true, upTo: 59_990 });
  entries(hub.handle).setRead(2, [2, 3, 4, 5, 6], false);
  entries(hub.handle).setRead(2, [59_995], true);
  const unread = [...Array.from({ length: 11 }, (_, n) => 60_001 - n).filter((id) => id !== 59_995), 6, 5, 4, 3, 2];
  assert.deepEqual(await ids(bob, 'unread&source=1'), unread);
  assert.deepEqual(await ids(bob, 'unread'), unread);

  const viewer = BOB;
  const pagesOf = (view: View): Promise<number> =>
    pagesRead(hub, () => listView(hub.handle, viewer, view, { limit: 30 }));
  const [all, few] = [await pagesOf({ kind: 'all', sourceId: 1 }), await pagesOf({ kind: 'unread', sourceId: 1 })];
  assert.ok(few < 3 * all, `${few} pages beside ${all}`);
});
