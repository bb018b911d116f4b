// Protects the reading list from outside: following, lists, counts, stars, marking and undo, by the API and by forms.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { follows } from '../../../src/features/follows/follow-store.ts';
import { posts } from '../../../src/features/posts/post-store.ts';
import { markRead, undoMark } from '../../../src/features/reading/mark-read.ts';
import { readingHistory } from '../../../src/features/reading/reading-history-store.ts';
import { listView, type View } from '../../../src/features/reading/reading-list.ts';
import { readMarks } from '../../../src/features/reading/reading-store.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { DAY, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import type { Viewer } from '../../../src/platform/http/router.ts';
import { pagesRead } from '../../support/pages-read.ts';
import { addFeed, addFollow, addNotes, addPost, itemsAt, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { type Hub, startHub } from '../../support/hub.ts';
import { addPosts } from '../../support/stored-posts.ts';
import { countRows } from '../../support/stored-rows.ts';
import { hubWithReader, submitForm } from '../../support/own-posts.ts';
import { startOrigin } from '../../support/origin.ts';

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

/** Exceptions of bob. */
function marksOf({ handle }: Hub): number {
  return readMarks(handle).listOf(2, undefined, 100_000).length;
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
  for (const folder of ['x'.repeat(101), 7]) {
    assert.equal((await sendJson(bob, 'PUT', `/api/sources/${sourceId}/follow`, { folder })).status, 422);
  }
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
  assert.equal(countRows(hub, 'read_undo'), 0);
});

test('what was read anew after a marking stays read when that is undone', async (t) => {
  const { hub, bob, posts: [early, late] } = await readingHub(t, 2);
  const { undo } = await mark(bob, { posts: [early, late] });
  hub.passTime(SECOND);
  await bob.delete(`/api/posts/${late}/read`);
  await sendJson(bob, 'PUT', `/api/posts/${late}/read`, {});
  await bob.post('/api/reading/undo', { undo });
  assert.deepEqual(await ids(bob, 'unread'), [early]);
});

test('what is older than a time, above or below a post, or named, is marked and nothing else', async (t) => {
  const { hub, bob, posts } = await readingHub(t, 9);
  const [a, b, c, d, e, f, g, h, i] = posts;

  const at = new Date(hub.now() - 6 * SECOND).toISOString();
  assert.equal((await mark(bob, { all: true, before: at })).marked, 2);
  assert.deepEqual(await ids(bob, 'unread'), [i, h, g, f, e, d, c]);
  assert.equal((await mark(bob, { all: true, below: e })).marked, 2);
  assert.equal((await mark(bob, { source: 1, above: h })).marked, 1);
  assert.deepEqual(await ids(bob, 'unread'), [h, g, f, e]);
  assert.equal((await mark(bob, { posts: [g, a, b, 999] })).marked, 1);
  assert.deepEqual([await ids(bob, 'unread'), d, c], [[h, f, e], d, c]);
  for (const wrong of [{}, { all: true, source: 1 }, { posts: ['1'] }, { all: false }, { all: true, before: 'today' }]) {
    assert.equal((await bob.post('/api/reading/mark-read', wrong)).status, 422, JSON.stringify(wrong));
  }
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

test('forms mark, star and undo without a script, and lead back to the page that they were on', async (t) => {
  const { bob, posts } = await readingHub(t, 3);
  const [first] = posts;
  const read = await bob.form(`/posts/${first}/read`, { read: '1', from: '/?unread=1' });
  assert.deepEqual([read.status, read.headers.get('location')], [303, '/?unread=1&said=post-read']);
  assert.deepEqual(await ids(bob, 'unread'), [posts[2], posts[1]]);
  await bob.form(`/posts/${first}/read`, { read: '0', from: '/' });
  await bob.form(`/posts/${first}/star`, { star: '1', from: '/' });
  assert.deepEqual([await ids(bob, 'unread'), await ids(bob, 'starred')], [posts.toReversed(), [first]]);

  const marked = await bob.form('/reading/mark-read', { posts: `${posts[0]},${posts[1]}`, from: '/all?said=read' });
  assert.equal(marked.headers.get('location'), '/all?said=posts-marked&count=2&undo=1');
  const undone = await bob.form('/reading/undo', { undo: '1', from: '/all' });
  assert.equal(undone.headers.get('location'), '/all?said=undone');
  assert.equal((await ids(bob, 'unread')).length, 3);
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

test('of a part of a list a thousand posts are marked at once, all of it by one row; either is undone exactly', async (t) => {
  const { hub, bob } = await readingHub(t, 1);
  const middle = addPosts(hub, 1, 3_000)[1_499];
  const part = await mark(bob, { source: 1, above: middle });
  assert.deepEqual([part.marked, marksOf(hub)], [1_001, 1_000], 'the first is passed by the source’s mark');
  assert.equal((await mark(bob, { source: 1, above: middle })).marked, 500);

  const all = await mark(bob, { all: true });
  assert.deepEqual([all.marked, marksOf(hub)], [1_500, 1_500]);
  addPosts(hub, 1, 3);
  await mark(bob, { all: true });
  await bob.post('/api/reading/undo', { undo: all.undo });
  assert.deepEqual([(await counts(bob)).unread, marksOf(hub)], [1_000, 1_503], 'what came after that stays read');
  const after = follows(hub.handle).find(2, 1)?.readUpTo ?? NaN;
  assert.equal(readMarks(hub.handle).countUnread({ accountId: 2, sourceId: 1, after, upTo: posts(hub.handle).lastId() }), 1_500);
});

test('counts stop at a thousand, on pages at 999+, however many posts are marked beside that', async (t) => {
  const { hub, bob } = await readingHub(t, 1);
  addPosts(hub, 1, 6_000);
  assert.equal((await counts(bob)).unread, 1000);
  assert.deepEqual((await bob.get('/reading/now')).json()['counts'], { 'unread': '999+', 'all': '999+', 'source:1': '999+' });
  for (const list of ['', '&source=1']) assert.deepEqual((await bob.get(`/reading/fresh?newest=1${list}`)).json(), { fresh: 1000 });
  const all = async (): Promise<string> => /<button><span>(All [^]*?)<\/span><\/button>/.exec((await bob.page('/')).text)?.[1] ?? '';
  assert.match(await all(), /^All <span class="count" data-count="unread" hidden>/, 'it would mark more than 999');
  readMarks(hub.handle).putRange({ accountId: 2, sourceId: 1, after: 0, upTo: 5_500, isRead: 1 });
  assert.equal((await counts(bob)).unread, 501);
  assert.match(await all(), /^All <span class="count" data-count="unread" >501</);
});

test('what a marking undoes stays small: where its source was read far beyond it, the less is marked, or nothing', async (t) => {
  const { hub, bob } = await readingHub(t, 1);
  addPosts(hub, 1, 2_499);
  const [little, much] = [await mark(bob, { source: 1, upTo: 100 }), await mark(bob, { source: 1, upTo: 1_200 })];
  assert.deepEqual([little.marked, much.marked, (await mark(bob, { all: true })).marked], [100, 1_100, 1_300]);

  assert.equal((await bob.post('/api/reading/undo', { undo: little.undo })).status, 204);
  assert.deepEqual([(await counts(bob)).unread, marksOf(hub)], [100, 100], 'of those after it there are too many');
  assert.equal((await bob.post('/api/reading/undo', { undo: much.undo })).status, 204);
  assert.deepEqual([(await counts(bob)).unread, marksOf(hub)], [100, 100], 'of both');
});

test('of many sources some are marked and undone at once, between which others have their turn', async (t) => {
  const { hub } = await readingHub(t, 0);
  const source = { ownerId: 1, kind: 'native', title: 'S', titleIsOwn: true, visibility: 'public' } as const;
  addPosts(hub, 1, 1);
  for (let n = 2; n <= 250; n++) {
    const id = sources(hub.handle).create(source, null);
    follows(hub.handle).follow(2, id, 0);
    addPosts(hub, id, 1);
  }
  const viewer = { id: 2, role: 'member' } as Viewer;
  const read = () => follows(hub.handle).listOf(2, 0, 1_000).filter(({ readUpTo }) => readUpTo > 0).length;

  const marking = markRead(hub.handle, viewer, { all: true });
  assert.equal(read(), 50);
  const { marked, undo } = await marking;
  assert.deepEqual([marked, read()], [250, 250]);
  const undoing = undoMark(hub.handle, viewer, undo);
  assert.equal(read(), 200);
  await undoing;
  assert.equal(read(), 0);
  await assert.rejects(undoMark(hub.handle, viewer, undo), { status: 410 });
});

test('an account has so many marks of single posts, and can read on; of its markings the last can be undone', async (t) => {
  const { hub, bob } = await readingHub(t, 1);
  addPosts(hub, 1, 20_010);
  const first = await mark(bob, { posts: [1] });
  for (let n = 2; n <= 21; n++) await mark(bob, { posts: [n] });
  assert.equal(countRows(hub, 'read_undo'), 20);
  assert.equal((await bob.post('/api/reading/undo', { undo: first.undo })).status, 410);

  readMarks(hub.handle).putRange({ accountId: 2, sourceId: 1, after: 21, upTo: 19_999, isRead: 1 });
  assert.equal((await mark(bob, { posts: [20_000] })).marked, 1, 'the last one');
  const last = 20_001;
  for (const refused of [
    await bob.post('/api/reading/mark-read', { posts: [last] }), await bob.post('/api/reading/mark-read', { all: true, below: last }),
    await bob.form(`/posts/${last}/read`, { read: '1' }),
  ]) assert.equal(refused.status, 422, refused.text);
  assert.equal((await bob.page(`/posts/${last}`)).status, 200);
  assert.equal((await itemsAt(bob, '/api/history')).length, 1);
  await addPost(bob, await addNotes(bob), 'One can write on');
  assert.equal((await bob.form('/posts/5/read', { read: '0' })).status, 303, 'a mark that is there can change');
  assert.equal((await mark(bob, { all: true })).marked, 13, 'whole sources go on');
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
  follows(hub.handle).setReadUpTo(2, 1, 59_990);
  readMarks(hub.handle).putRange({ accountId: 2, sourceId: 1, after: 1, upTo: 6, isRead: 0 });
  readMarks(hub.handle).put({ accountId: 2, sourceId: 1, postId: 59_995, isRead: 1, now: 0 });
  const unread = [...Array.from({ length: 11 }, (_, n) => 60_001 - n).filter((id) => id !== 59_995), 6, 5, 4, 3, 2];
  assert.deepEqual(await ids(bob, 'unread&source=1'), unread);
  assert.deepEqual(await ids(bob, 'unread'), unread);

  const viewer = { id: 2, role: 'member' } as Viewer;
  const pagesOf = (view: View): Promise<number> =>
    pagesRead(hub, () => listView(hub.handle, viewer, view, { limit: 30 }));
  const [all, few] = [await pagesOf({ kind: 'all', sourceId: 1 }), await pagesOf({ kind: 'unread', sourceId: 1 })];
  assert.ok(few < 3 * all, `${few} pages beside ${all}`);
});
