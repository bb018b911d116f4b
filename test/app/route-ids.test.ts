// Protects what is hidden: its id, in an address or in a body, is answered as one of nothing, and changes nothing.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { hubRoutes } from '../../src/app/routes.ts';
import { readingHistory } from '../../src/features/reading/reading-history-store.ts';
import { toHttpError } from '../../src/platform/http/answer-request.ts';
import type { Route } from '../../src/platform/http/router.ts';
import { addFollow, addNotes, addPost, itemsAt, offerTo, switchPreferences } from '../support/accounts.ts';
import type { Answer, Client } from '../support/client.ts';
import { hubWith, type Hub } from '../support/hub.ts';
import { begin, end } from '../support/slow-request.ts';
import { writesOf } from '../support/stored-rows.ts';
import { sendForm, formWith, writePost } from '../support/uploads.ts';

const MISSING = 4_000;
const FORM = 'application/x-www-form-urlencoded';

/** Bob has one of everything, all of it hidden; whoever else asks has nothing. By the part of the path that names it. */
async function hubOfBob(t: TestContext) {
  const { hub, ada, bob, cy, dan } = await hubWith(t, ['ada', 'bob', 'cy', 'dan']);
  const sourceId = await addNotes(bob, 'Hidden', 'private');
  const post = await writePost(hub, { client: bob, sourceId }, [{ filename: 'a.txt', data: 'hidden words' }]);
  const idOf = (answer: Answer): number => (assert.ok(answer.status < 300, answer.text), answer.json<{ id: number }>().id);
  await bob.page(`/posts/${post.id}`); // into bob's history
  await sendForm(hub, bob, '/write/a-draft-with-key', formWith({ title: 'Draft', save: '1' }, [{ filename: 'b.txt', data: 'b' }]));
  await bob.form('/sources/import', { opml: '<opml version="2.0"><body><outline xmlUrl="http://127.0.0.1:9/"/></body></opml>' });
  const token = idOf(await bob.post('/api/tokens', { name: 'script', currentPassword: hub.password }));
  const [file] = post.attachments;
  assert.ok(file);
  const ids: Record<string, string | number> = {
    posts: post.id, history: post.id, 'full-texts': post.id, sources: sourceId, 'attachments/:key': new URL(file.url).pathname.split('/')[2] ?? '',
    'attachments/:id': file.id, 'icons/:key': `${sourceId}-0123456789abcdef`, drafts: 1, offers: await offerTo(bob, sourceId, 'dan'), imports: 1,
    rules: idOf(await bob.post('/api/rules', { match: 'owls', act: 'mute' })),
    searches: idOf(await bob.post('/api/searches', { q: 'owls' })),
    sessions: (await itemsAt<{ id: number }>(bob, '/api/sessions'))[0]?.id ?? NaN, tokens: token, apps: token,
  };
  return { hub, ada, bob, cy, dan, sourceId, post, ids };
}

type Asked = { route: Route; hidden: string; missing: string };

/** Nothing there is hidden from who may ask: the sender of events proves to know a secret, administrators see all. */
const OPEN = /^\/api\/webhooks\/|^(?:\/api)?\/(?:admin|invitations)\//;

/** The routes with an id of something that can be hidden, each with the address of bob's and one of nothing. */
function idRoutes({ handle }: Hub, ids: Record<string, string | number>): Asked[] {
  return hubRoutes(handle).filter(({ path }) => /:(?:id|key|source)\b/.test(path) && !OPEN.test(path)).map((route) => {
    const at = (idIn: (name: string) => string | number): string => route.path.replace(/([\w-]+)\/:(\w+)/g, (part, place: string) => {
      if (place === 'folders') return 'folders/1';
      const name = part in ids ? part : place;
      assert.ok(name in ids, `a new kind of id stands in ${route.path}`);
      return `${place}/${idIn(name)}`;
    }).replace(/:\w+/, 'a.txt');
    const nothing = (name: string): string => (name.endsWith(':key') ? `${MISSING}-0123456789abcdef` : String(MISSING));
    return { route, hidden: at((name) => ids[name] ?? ''), missing: at(nothing) };
  });
}

async function assertHidden(hub: Hub, who: Client, { route: { method }, hidden, missing }: Asked): Promise<void> {
  const before = writesOf(hub);
  const send = (path: string): Promise<Answer> => who.send(method, path, { headers: { accept: 'application/json' } });
  const [ofHidden, ofMissing] = [await send(hidden), await send(missing)];
  assert.deepEqual([ofHidden.status, ofHidden.text], [404, ofMissing.text], `${method} ${hidden}`);
  assert.equal(ofMissing.status, 404, `${method} ${missing}`);
  assert.equal(writesOf(hub), before, `${method} ${hidden} wrote`);
}

test('every route answers a hidden id as a missing one, with 404, to everybody and whatever they prefer, and writes nothing', async (t) => {
  const { hub, ada, cy, ids } = await hubOfBob(t);
  const routes = idRoutes(hub, ids);
  assert.deepEqual(routes.filter(({ route }) => !route.guard).map(({ route }) => route.path), [], 'the table names a guard');
  assert.ok(routes.length > 60, `${routes.length} routes`);
  for (const one of routes) {
    if (one.route.access === 'public') await assertHidden(hub, hub.anybody, one);
    await assertHidden(hub, cy, one);
    if (/\/(drafts|imports|rules|searches|sessions|tokens|apps)\//.test(one.route.path)) await assertHidden(hub, ada, one);
  }
  for (const isOn of [false, true]) {
    switchPreferences(hub, 3, isOn);
    for (const one of routes) await assertHidden(hub, cy, one);
  }
});

/** What waits for its body, and what takes away meanwhile what its address names. */
type Late = { path: string; method?: string; body: object | string };

const LATE: Late[] = [
  { method: 'PUT', path: '/api/sources/S/follow', body: { notify: true } },
  { method: 'PATCH', path: '/api/sources/S', body: { title: 'New' } },
  { path: '/api/sources/S/transfer', body: { username: 'dan' } },
  { path: '/sources/S', body: 'title=New' }, { path: '/sources/S/follow', body: 'folder=F' },
  { path: '/sources/S/transfer', body: 'username=dan' }, { path: '/sources/S/full-text', body: 'fullText=always' },
  { method: 'PATCH', path: '/api/posts/P', body: { title: 'New' } },
  { path: '/posts/P/read', body: 'read=1' }, { path: '/posts/P/star', body: 'star=1' },
  { path: '/posts/P/full-text', body: 'text=full' }, { path: '/posts/P/edit/draft', body: { content: 'New' } },
  { method: 'PATCH', path: '/api/rules/R', body: { match: 'new' } }, { path: '/settings/rules/R', body: 'match=new&act=mute' },
];

test('what is deleted while a request for it is still arriving is answered as what never was, without a write', async (t) => {
  const { hub, bob, sourceId, post, ids } = await hubOfBob(t);
  const begun = [];
  for (const { method = 'POST', path, body } of LATE) {
    const at = path.replace('S', String(sourceId)).replace('P', String(post.id)).replace('R', String(ids['rules']));
    const type = typeof body === 'string' ? { 'content-type': FORM } : {};
    begun.push({ body, path, request: await begin(hub, method, at, bob, type) });
  }
  for (const path of [`rules/${ids['rules']}`, `sources/${sourceId}`]) assert.equal((await bob.delete(`/api/${path}`)).status, 204);
  await hub.work();
  const before = writesOf(hub);
  for (const { path, body, request } of begun) assert.equal((await end(request, body)).status, 404, path);
  assert.equal(writesOf(hub), before);
});

test('an id in a body or a query is refused alike whether it is hidden or missing, and no error of the database shows', async (t) => {
  const { hub, cy, sourceId, post, ids } = await hubOfBob(t);
  const own = await addNotes(cy, 'Own');
  const ownPost = await addPost(cy, own);
  await addFollow(cy, own);
  const kinds: [hidden: number, ask: (id: number) => Promise<Answer>][] = [
    ...[
      ['/api/posts', (sourceId: number) => ({ sourceId, title: 'T', content: 'C' })],
      ['/api/rules', (sourceId: number) => ({ match: 'a', act: 'mute', sourceId })],
      ['/api/rules/preview', (sourceId: number) => ({ match: 'a', act: 'mute', sourceId })],
      ['/api/reading/mark-read', (source: number) => ({ source })],
    ].map(([path, body]): [number, (id: number) => Promise<Answer>] => [sourceId, (id) => cy.post(path as string, (body as (id: number) => object)(id))]),
    ...['/api/posts?source=', '/write?source=', '/reading/fresh?newest=1&source='].map((path): [number, (id: number) => Promise<Answer>] =>
      [sourceId, (id) => cy.get(path + String(id))]),
    [sourceId, (id) => cy.form('/sources/several', { source: String(id), act: 'follow' })],
    [sourceId, (id) => cy.form('/write/another-new-form', { sourceId: String(id), title: 'T', content: 'C' })],
    [post.id, (id) => cy.get(`/settings/rules/new?post=${id}`)],
    [post.id, (id) => cy.post('/api/reading/mark-read', { posts: [id] })],
    [post.id, (id) => cy.post('/api/reading/mark-read', { all: true, below: id })],
    [post.id, (id) => cy.form('/reading/mark-read', { posts: `${ownPost},${id}` })],
    [post.id, (id) => cy.get(`/reading/now?posts=${id}`)],
    [Number(ids['sessions']), (id) => cy.form('/settings/sessions', { session: String(id), currentPassword: hub.password })],
    [1, (id) => cy.post('/api/notifications/read', { ids: [id] })],
    [1, (id) => cy.post('/api/reading/undo', { undo: id + MISSING })],
  ];
  for (const [hidden, ask] of kinds) {
    const [ofHidden, ofMissing] = [await ask(hidden), await ask(MISSING)];
    const told = ({ status, headers, text }: Answer): unknown[] => [status, /html/.test(headers.get('content-type') ?? '') && status < 400 || text.replaceAll(String(hidden), 'ID').replaceAll(String(MISSING), 'ID').replace(/"undo":\w+/, '')];
    assert.deepEqual(told(ofHidden), told(ofMissing), `${ask}`);
    assert.ok(ofMissing.status < 500, `${ask} ${ofMissing.text}`);
  }
});

test('where a row goes between a check and a write, as the worker may remove it, the answer is 404 too', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  assert.throws(() => readingHistory(hub.handle).note(1, MISSING), (error) => toHttpError(error).status === 404);
});
