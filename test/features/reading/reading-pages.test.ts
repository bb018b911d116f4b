// Protects the pages of the reading list without the script: what is on them, where they lead, what their forms do.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { UNDO_MS } from '../../../src/features/reading/entry-store.ts';
import { DAY, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { addFollow, addNotes, addPost, itemsAt, sendJson, tokenOf } from '../../support/accounts.ts';
import type { Answer, Client } from '../../support/client.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { hubWithReader } from '../../support/own-posts.ts';
import { png } from '../../support/sample-files.ts';
import { writePost } from '../../support/uploads.ts';

/** Ada's notes with so many posts, one a minute, and bob, who follows them. */
async function readingHub(t: TestContext, count: number, folder?: string) {
  const made = await hubWithReader(t, count);
  await addFollow(made.bob, made.sourceId, folder === undefined ? {} : { folder });
  made.hub.passTime(SECOND);
  return made;
}

/** The posts of a list in their order, those that are read with a minus. */
function rowsOf({ text }: Answer): number[] {
  const rows = text.matchAll(/<li class="row([^"]*)" id="post-(\d+)"/g);
  return Array.from(rows, ([, state = '', id]) => state.includes('read') ? -Number(id) : Number(id));
}

function downFrom(highest: number, count: number): number[] {
  return Array.from({ length: count }, (_, below) => highest - below);
}

function linkOf({ text }: Answer, pattern: RegExp): string {
  return unescaped(pattern.exec(text)?.[1] ?? 'no link');
}

function unescaped(value: string): string {
  return value.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}

const toPost = (id: number): RegExp => new RegExp(`<h3[^>]*><a href="([^"]*/posts/${id}(?:[?][^"]*)?)"`);
const UP = /rel="up" href="([^"]+)"/;
const PREVIOUS = /rel="prev" href="([^"]+)"/;
const NEXT = /rel="next"\s+href="([^"]+)"/;
const NEXT_UNREAD = /data-next-unread href="([^"]+)"/;

/** Sends a form and reads the page that it leads to. */
async function sent(client: Client, action: string, fields: Record<string, string>): Promise<Answer & { at: string }> {
  const answer = await client.form(action, fields);
  assert.equal(answer.status, 303, answer.text);
  const at = answer.headers.get('location') ?? '';
  return { ...await client.page(at.split('#')[0] ?? ''), at };
}

function said({ text }: Answer): string | undefined {
  return /role="status"><span>([^<]*)/.exec(text)?.[1];
}

/** The hidden fields of the form that marks several posts. */
function marking({ text }: Answer): Record<string, string> {
  const form = /<form class="sheet" id="mark"[^]*?<\/form>/.exec(text)?.[0] ?? '';
  const fields = form.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g);
  return Object.fromEntries(Array.from(fields, ([, name = '', value = '']) => [name, unescaped(value)]));
}

test('what is unread stands under its days, newest first, and what is opened leaves the list when it is opened anew', async (t) => {
  const { hub, ada, bob, sourceId } = await readingHub(t, 2);
  hub.passTime(DAY);
  await addPost(ada, sourceId, 'Post 3');

  const list = await bob.page('/');
  assert.deepEqual(rowsOf(list), [3, 2, 1]);
  assert.deepEqual([...list.text.matchAll(/class="day"[^>]*>([^<]+)/g)].map(([, day]) => day), ['Today', 'Yesterday']);
  assert.match(list.text, /data-count="unread" >3</);
  await bob.page(linkOf(list, toPost(2)));

  assert.deepEqual(rowsOf(await bob.page('/')), [3, 1]);
  assert.deepEqual(rowsOf(await bob.page('/all')), [3, -2, 1]);
});

test('a post leads back to the list as it was, on to what comes next, and back to what was just read', async (t) => {
  const { hub, bob } = await readingHub(t, 3);
  const list = await bob.page('/');

  const second = await bob.page(linkOf(list, toPost(2)));
  assert.match(second.text, /Back to Unread 2 left/);
  hub.passTime(SECOND);
  const first = await bob.page(linkOf(second, NEXT));
  assert.match(first.text, /<h1 dir="auto" lang="">Post 1</);
  assert.match((await bob.page(linkOf(first, PREVIOUS))).text, /<h1 dir="auto" lang="">Post 2</);
  const third = await bob.page(linkOf(first, NEXT_UNREAD));
  assert.match(third.text, /<h1 dir="auto" lang="">Post 3</, 'the only one that is left, though it stands above');
  assert.doesNotMatch(third.text, NEXT_UNREAD);

  const up = linkOf(first, UP);
  assert.match(up, /#post-1$/);
  assert.deepEqual(rowsOf(await bob.page(up.split('#')[0] ?? '')), [-3, -2, -1]);
  assert.deepEqual(rowsOf(await bob.page('/')), []);
});

test("an administrator's history shows another's private post that they opened, as long as they may see it", async (t) => {
  const { hub, ada, bob } = await readingHub(t, 0);
  const id = await addPost(bob, await addNotes(bob, 'Diary', 'private'), 'Dear diary');
  await ada.page(`/posts/${id}`);
  const titles = async () => (await itemsAt<{ title: string }>(ada, '/api/history')).map(({ title }) => title);
  assert.deepEqual(await titles(), ['Dear diary']);
  assert.match((await ada.page('/history')).text, /Dear diary/);

  accounts(hub.handle).setState(1, 'member', null);
  assert.deepEqual(await titles(), []);
  assert.doesNotMatch((await ada.page('/history')).text, /Dear diary/);
});

test('beside a post stands what comes next in its list', async (t) => {
  const { bob } = await readingHub(t, 3);
  const post = await bob.page(linkOf(await bob.page('/'), toPost(3)));
  const beside = /<aside class="beside"[^]*<\/aside>/.exec(post.text)?.[0] ?? '';
  assert.match(beside, /Next in Unread/);
  assert.deepEqual([...beside.matchAll(/dir="auto" lang="">(Post \d)/g)].map(([, title]) => title), ['Post 2', 'Post 1']);
});

test('opening marks as read; looking ahead, asking for the head, reading for a program and the choice not to do not', async (t) => {
  const { hub, bob } = await readingHub(t, 2);
  const { token } = await tokenOf(hub, bob, { scope: 'read' });
  await bob.send('HEAD', '/unread/posts/2');
  await bob.get('/unread/posts/2', { 'sec-purpose': 'prefetch' });
  assert.equal((await hub.anybody.get('/unread/posts/2', { authorization: `Bearer ${token}` })).status, 200);
  assert.deepEqual(await itemsAt(bob, '/api/history'), []);
  await bob.form('/settings/preferences', { density: 'comfortable', textSize: 'normal', timeZone: '', keys: '1' });
  await bob.page('/unread/posts/2');
  assert.deepEqual(rowsOf(await bob.page('/')), [2, 1]);
  assert.match((await bob.page('/history')).text, /Post 2/, 'it was opened all the same');

  await bob.form('/settings/preferences', { density: 'comfortable', textSize: 'normal', timeZone: '', marksOpened: '1' });
  await bob.page('/posts/2');
  assert.deepEqual(rowsOf(await bob.page('/')), [1]);
});

test('a post is marked and starred from its row and from its page, which says so and stays where it was', async (t) => {
  const { bob } = await readingHub(t, 2);
  const from = linkOf(await bob.page('/'), /id="state" method="post"><input type="hidden" name="from" value="([^"]*)"/);
  assert.match(from, /^\/\?since=\d+#post-$/, 'for all rows');

  const read = await sent(bob, '/posts/2/read', { read: '1', from });
  assert.match(read.at, /^\/\?since=\d+&said=post-read#post-2$/);
  assert.equal(said(read), 'Marked as read.');
  assert.deepEqual(rowsOf(read), [-2, 1]);
  const starred = await sent(bob, '/posts/2/star', { star: '1', from });
  assert.equal(said(starred), 'Starred.');
  assert.match(starred.text, /class="row read starred" id="post-2"/);
  assert.deepEqual(rowsOf(await bob.page('/starred')), [-2]);

  const unread = await sent(bob, '/posts/2/read', { read: '0', from: '/unread/posts/2?since=1' });
  assert.equal(said(unread), 'Marked as unread.');
  assert.match(unread.text, /<h1 dir="auto" lang="">Post 2</);
  assert.deepEqual(rowsOf(await bob.page('/')), [2, 1], 'being told so does not open it again');

  const headers = { accept: 'application/json' };
  const body = new URLSearchParams({ star: '0' });
  assert.equal((await bob.send('POST', '/posts/2/star', { body, headers })).status, 204);
  assert.deepEqual(rowsOf(await bob.page('/starred')), []);
});

test('a form leads to pages of the hub alone, and a page says nothing but what the hub has words for', async (t) => {
  const { bob } = await readingHub(t, 1);
  for (const from of ['https://evil.test/', '//evil.test/', '/\\evil.test', 'javascript:alert(1)', 'x', '/a\nb']) {
    assert.equal((await bob.form('/posts/1/star', { star: '0', from })).headers.get('location'), '/?said=post-unstarred', from);
  }
  assert.equal(said(await bob.page('/?said=Your+password+is+wrong')), undefined);
});

test('all of a list is marked as read but for what has arrived since its page was made, and undone for as long as a page offers that', async (t) => {
  const { hub, ada, bob, sourceId } = await readingHub(t, 3);
  const list = await bob.page('/');
  await addPost(ada, sourceId, 'Too late for the page');

  const marked = await sent(bob, '/reading/mark-read', marking(list));
  assert.equal(said(marked), '3 posts marked as read.');
  assert.deepEqual(rowsOf(marked), [4]);
  const undo = linkOf(marked, /name="undo" value="(\d+)"/);
  const undone = await sent(bob, '/reading/undo', { undo, from: '/' });
  assert.equal(said(undone), 'Undone.');
  assert.deepEqual(rowsOf(undone), [4, 3, 2, 1]);

  const again = await sent(bob, '/reading/mark-read', marking(await bob.page('/')));
  hub.passTime(UNDO_MS - SECOND);
  const last = await bob.page(again.at.split('#')[0] ?? '');
  assert.equal(said(await sent(bob, '/reading/undo', { undo: linkOf(last, /name="undo" value="(\d+)"/), from: '/' })), said(undone));

  const third = await sent(bob, '/reading/mark-read', marking(await bob.page('/')));
  hub.passTime(UNDO_MS);
  assert.doesNotMatch((await bob.page(third.at.split('#')[0] ?? '')).text, /Undo/, 'a page that is loaded later offers no undo');
  const late = await sent(bob, '/reading/undo', { undo: linkOf(third, /name="undo" value="(\d+)"/), from: '/' });
  assert.match(said(late) ?? '', /^Too late: [^]* two minutes\.$/);
  const sheet = readFileSync('src/app/frame/assets/hub.css', 'utf8');
  assert.match(sheet, new RegExp(`too-late 0s ${UNDO_MS / SECOND}s forwards`), 'an open page offers it as long');
  assert.deepEqual(rowsOf(late), []);
});

test('of a list the page, what is older, and what stands above or below a post are marked by themselves', async (t) => {
  const { hub, ada, bob, sourceId } = await readingHub(t, 2);
  hub.passTime(2 * DAY);
  for (const title of ['Post 3', 'Post 4', 'Post 5']) {
    hub.passTime(MINUTE);
    await addPost(ada, sourceId, title);
  }
  const list = await bob.page('/');
  const act = async (fields: Record<string, string>): Promise<number[]> => {
    const done = await sent(bob, '/reading/mark-read', { ...marking(list), ...fields });
    await bob.form('/reading/undo', { undo: linkOf(done, /name="undo" value="(\d+)"/) });
    return rowsOf(done);
  };

  assert.deepEqual(await act({ before: linkOf(list, /name="before" value="([^"]+)">Older than a day/) }), [5, 4, 3]);
  assert.deepEqual(await act({ posts: linkOf(list, /name="posts" value="([^"]+)"/) }), []);
  assert.deepEqual(await act({ posts: '5 1' }), [4, 3, 2]);
  assert.match(list.text, /<button form="mark" name="above"\s+value="4">/);
  assert.deepEqual(await act({ above: '4' }), [4, 3, 2, 1]);
  assert.deepEqual(await act({ below: '4' }), [5, 4]);
  assert.deepEqual(rowsOf(await bob.page('/')), [5, 4, 3, 2, 1]);

  const post = await bob.page('/unread/posts/4');
  assert.match(post.text, /name="all" value="1"><input type="hidden" name="upTo"\s+value="5"><button\s+name="above" value="4">/);
  await addPost(ada, sourceId, 'Post 6');
  assert.deepEqual(rowsOf(await sent(bob, '/reading/mark-read', { all: '1', upTo: '5', above: '4', from: '/' })), [6, 3, 2, 1]);
});

test('the pages of a list are of the moment when it was opened', async (t) => {
  const { hub, ada, bob, sourceId } = await readingHub(t, 45);
  await sendJson(bob, 'PUT', '/api/posts/1/read', {}); // of what was there when it was followed 30 are unread
  for (const id of [1, 2, 3]) await sendJson(bob, 'DELETE', `/api/posts/${id}/read`, {});
  hub.passTime(SECOND);
  for (let n = 46; n <= 60; n++) await addPost(ada, sourceId, `Post ${n}`);
  const first = await bob.page('/');
  assert.deepEqual(rowsOf(first), downFrom(60, 30));
  const older = linkOf(first, NEXT);
  hub.passTime(SECOND);
  await bob.page(linkOf(first, toPost(60)));
  await addPost(ada, sourceId, 'Post 61');

  const second = await bob.page(older);
  assert.deepEqual(rowsOf(second), [...downFrom(30, 15), 3, 2, 1]);
  assert.equal(marking(second)['upTo'], '60');
  const post = await bob.page(linkOf(second, toPost(19)));
  assert.deepEqual(rowsOf(await bob.page(linkOf(post, UP).split('#')[0] ?? '')), [...downFrom(30, 15).map((id) => id === 19 ? -19 : id), 3, 2, 1]);
  assert.deepEqual(rowsOf(await sent(bob, '/reading/mark-read', marking(second))), [61]);
});

test('of many sources the rail shows folders as links, the one that is open, and of those in none what is unread', async (t) => {
  const { ada, bob, sourceId } = await readingHub(t, 1);
  const follow = (id: number, folder?: string) => addFollow(bob, id, { folder });
  const others: number[] = [];
  for (let n = 1; n <= 42; n++) others.push(await addNotes(ada, `Notes ${n}`, 'public'));
  const railOf = async (path: string) => /<nav class="rail".*?<\/nav>/s.exec((await bob.page(path)).text)?.[0] ?? '';
  const sourcesIn = (rail: string) => [...rail.matchAll(/href="\/sources\/(\d+)"/g)].map(([, id]) => Number(id));
  for (const id of others.slice(0, 39)) await follow(id);
  assert.deepEqual(sourcesIn(await railOf('/')).sort(), [sourceId, ...others.slice(0, 39)].sort(), 'about one screen');

  for (const id of others) await follow(id, id === others[0] ? 'Birds' : undefined);
  const rail = await railOf('/all');
  assert.deepEqual(sourcesIn(rail), [sourceId]);
  assert.match(rail, /href="\/folders\/Birds"/);
  assert.match(rail, /href="\/sources" >.*?All 42 sources/s);
  assert.doesNotMatch(rail, /<details/);
  assert.deepEqual(sourcesIn(await railOf('/folders/Birds')), [others[0], sourceId]);
  assert.match(await railOf('/folders/Birds'), /<details open>.*?href="\/folders\/Birds" aria-current="page"/s);
  assert.deepEqual(sourcesIn(await railOf(`/sources/${others[5]}`)), [sourceId, others[5]]);
});

test('a folder has a list of its own, whatever its name, and keeps to it in every link and form', async (t) => {
  const name = 'A / B? "C" & Ü';
  const { ada, bob, posts: [first = 0, second = 0] } = await readingHub(t, 2, name);
  const other = await addNotes(ada, 'Other');
  await addFollow(bob, other);
  await addPost(ada, other, 'In another');
  const at = `/folders/${encodeURIComponent(name)}`;

  const list = await bob.page(at);
  assert.deepEqual(rowsOf(list), [second, first]);
  assert.match(list.text, /<h1><span dir="auto">A \/ B\? &quot;C&quot; &amp; Ü</);
  const link = linkOf(list, toPost(second));
  assert.ok(link.startsWith(`${at}/posts/${second}`), link);
  const post = await bob.page(link);
  assert.deepEqual(rowsOf(await bob.page(linkOf(post, UP).split('#')[0] ?? '')), [-second, first]);
  assert.deepEqual(rowsOf(await bob.page(`${at}?show=all`)), [-second, first]);
  const ofAll = linkOf(await bob.page(`${at}?show=all`), toPost(first));
  assert.ok(ofAll.startsWith(`${at}/posts/${first}?show=all&since=`), ofAll);

  await sent(bob, '/reading/mark-read', marking(list));
  assert.deepEqual(rowsOf(await bob.page(at)), []);
  assert.equal(rowsOf(await bob.page('/')).length, 1);
  assert.equal((await bob.page('/folders/none')).status, 404);
  assert.equal((await ada.page(at)).status, 404, 'a folder of somebody else');
});

test('a source has a list too, of all or of what is unread; without following it nothing but the page is marked', async (t) => {
  const { hub, bob, sourceId } = await readingHub(t, 2);
  await bob.page(`/sources/${sourceId}/posts/1`);
  assert.deepEqual(rowsOf(await bob.page(`/sources/${sourceId}`)), [2, -1]);
  const unread = await bob.page(`/sources/${sourceId}?show=unread`);
  assert.deepEqual(rowsOf(unread), [2]);
  assert.match(linkOf(unread, toPost(2)), /^\/sources\/1\/posts\/2\?show=unread&since=\d+$/);

  const cleo = await hub.person('cleo');
  const list = await cleo.page(`/sources/${sourceId}`);
  assert.deepEqual(rowsOf(list), [2, 1]);
  assert.deepEqual(Object.keys(marking(list)), ['from']);
  await sent(cleo, '/reading/mark-read', { ...marking(list), posts: '1 2' });
  assert.deepEqual(rowsOf(await cleo.page(`/sources/${sourceId}`)), [-2, -1]);
});

test('empty lists say what they are for', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  for (const path of ['/', '/all']) assert.match((await ada.page(path)).text, /href="\/sources">Follow a source/);
  assert.match((await ada.page('/starred')).text, /Nothing is starred yet/);
  assert.match((await hub.anybody.page('/')).text, /Nothing is public here yet[^]*href="\/sign-in">Sign in/);
  assert.match((await ada.page('/public')).text, /Nothing is public yet[^]*href="\/write"/);
  assert.match((await (await startHub(t)).anybody.page('/')).text, /Nobody has an account here yet/);
  await addNotes(ada);
  assert.match((await ada.page('/')).text, /You have read everything[^]*href="\/all"/);
});

test('visitors see what is public and nothing that is done with a list; members see that at /public', async (t) => {
  const { hub, bob } = await readingHub(t, 5);
  for (const path of ['/', '/public', '/posts/1']) {
    const page = await hub.anybody.page(path);
    assert.equal(page.status, 200);
    assert.match(page.text, /Post 1/);
    assert.doesNotMatch(page.text, /class="row|class="seen|class="star|id="state"|mark-read|<script/, path);
  }
  assert.match((await bob.page('/public')).text, /Post 1/);
});

test('in lists the small picture of a post stands, on the public page the large one, and the newest post stands first', async (t) => {
  const { hub, ada, bob, sourceId } = await readingHub(t, 1);
  const image = (name: string, width: number, height: number) => ({ filename: name, data: png({ width, height }) });
  const small = await writePost(hub, { client: ada, sourceId }, [image('small.png', 120, 90)], { title: 'Small' });
  const large = await writePost(hub, { client: ada, sourceId }, [image('large.png', 640, 360)], { title: 'Large' });
  hub.passTime(SECOND);
  await addPost(ada, sourceId, 'Newest');

  const list = (await bob.page('/')).text;
  for (const { attachments: [file] } of [small, large]) {
    const path = new URL(file?.url ?? '').pathname;
    assert.match(list, new RegExp(`<img class="thumb" src="${path}" width="52" height="39" alt=""\\s+loading="lazy">`));
  }
  const front = (await hub.anybody.page('/')).text;
  const [, first = ''] = /<article class="story first"[^>]*>([^]*?)<\/article>/.exec(front) ?? [];
  assert.match(first, />Newest</);
  assert.doesNotMatch(first, /<img/);
  assert.doesNotMatch(front, /small\.png/);
  assert.match(front, /class="second">[^]*large\.png" width="16" height="9" alt="">[^]*>Large<[^]*>Small</);
});

test('opening a post in a list that is gone reads nothing', async (t) => {
  const { bob, sourceId } = await readingHub(t, 2, 'Harbour');
  await bob.form('/sources/folders', { folder: 'Harbour', act: 'delete' });
  for (const path of ['/folders/Harbour/posts/1', '/folders/Harbour/posts/1?q=post', `/sources/${sourceId + 7}/posts/1`]) {
    assert.equal((await bob.page(path)).status, 404, path);
  }
  assert.deepEqual(rowsOf(await bob.page('/')), [2, 1]);
  assert.equal((await bob.get('/api/history')).json<{ items: unknown[] }>().items.length, 0);
});
