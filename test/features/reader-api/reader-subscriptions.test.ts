// Protects subscriptions of apps: they are the follows of the pages, and folders are the pages' folders.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addFeed, addFollow, addNotes, itemsAt } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { appOf } from '../../support/reader-app.ts';

/** Ada and bob, bob's app, and a web server with a feed. */
async function hubWithFeed(t: TestContext) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const origin = await startOrigin(t, serving(() => rss('Owls', [{ guid: 'a' }])));
  return { hub, ada, bob, app: appOf(hub, 'bob'), url: `${origin.url}/feed` };
}

type Folders = { folders: { name: string | null; sources: { id: number; title: string }[] }[] };

/** The titles of the followed sources, with their folders. */
async function followed(client: Client): Promise<string[]> {
  const { folders } = (await client.get('/api/reading')).json<Folders>();
  return folders.flatMap(({ name, sources }) => sources.map(({ title }) => (name === null ? title : `${name}/${title}`)));
}

test('quickadd adds a feed, names a feed that is there already, and says what is wrong with an address', async (t) => {
  const { bob, app, url } = await hubWithFeed(t);
  const added = (await app.post(`subscription/quickadd?quickadd=${encodeURIComponent(url)}`)).json();
  const [source] = await itemsAt<{ id: number }>(bob, '/api/sources');
  assert.deepEqual(added, { numResults: 1, query: url, streamId: `feed/${source?.id}`, streamName: 'Owls' });
  assert.deepEqual((await app.post('subscription/quickadd', `quickadd=feed/${url}`)).json()['streamId'], `feed/${source?.id}`);
  assert.deepEqual(await followed(bob), ['Owls']);

  for (const wrong of ['nonsense', 'http://127.0.0.1:1/', 'feed/999']) {
    const answer = await app.post('subscription/quickadd', `quickadd=${wrong}`);
    const { numResults, error } = answer.json<{ numResults: number; error: string }>();
    assert.deepEqual([answer.status, numResults], [200, 0], wrong);
    assert.match(error, /^[A-Z].*\.$/);
  }
});

test('an app subscribes by address or id, moves, names for its account alone, and unsubscribes', async (t) => {
  const { ada, bob, app, url } = await hubWithFeed(t);
  const news = await addNotes(ada, 'News');
  await addFeed(ada, url);
  const edit = async (body: string): Promise<number> => (await app.post('subscription/edit', body)).status;
  assert.equal(await edit(`ac=subscribe&s=feed/${url}&a=user/-/label/Birds & more&t=Other`.replace('& m', '%26 m')), 200);
  assert.equal(await edit(`ac=subscribe&s=feed/${news}&t=Mine`), 200);
  assert.deepEqual(await followed(bob), ['Birds & more/Other', 'Mine']);

  assert.equal(await edit(`ac=edit&s=feed/${url}&t=Owls again`), 200);
  assert.equal(await edit(`ac=edit&s=feed/${news}&a=user/-/label/Comics/Daily`), 200);
  assert.deepEqual(await followed(bob), ['Birds & more/Owls again', 'Comics/Daily/Mine']);
  assert.equal(await edit(`ac=edit&s=feed/${news}&r=user/-/label/Comics/Daily`), 200);
  assert.equal(await edit(`ac=edit&s=feed/${news}&t=News`), 200);
  assert.deepEqual(await followed(bob), ['Birds & more/Owls again', 'News']);
  await ada.patch(`/api/sources/${news}`, { title: 'World news' });
  assert.deepEqual(await followed(bob), ['Birds & more/Owls again', 'World news'], 'a repeated title is no own name');
  const shared = await itemsAt<{ title: string }>(ada, '/api/sources');
  assert.deepEqual(shared.map(({ title }) => title).sort(), ['Owls', 'World news'], 'nobody else sees the names');
  assert.equal(await edit(`ac=unsubscribe&s=feed/${news}&s=feed/${url}`), 200);
  assert.equal(await edit(`ac=unsubscribe&s=feed/${news}`), 200, 'apps repeat what they do not know to be done');
  assert.deepEqual(await followed(bob), []);
  assert.equal((await itemsAt(ada, '/api/sources')).length, 2, 'the sources are still there');
  const refusals: [body: string, status: number, text: string][] = [
    ['ac=edit&s=feed/999', 400, 'You do not follow this source.'],
    ['ac=edit&s=nonsense', 400, 's must be feed/ and the id or address of a source.'],
    ['ac=dance', 400, 'ac must be subscribe, unsubscribe or edit.'],
    [`ac=edit&s=feed/${news}&a=user/-/label/${'x'.repeat(101)}`, 422, 'Folder must have 1 to 100 characters.'],
    [`ac=subscribe&s=feed/${news}&t=${'x'.repeat(201)}`, 422, 'Title must have 1 to 200 characters.'],
    [`ac=unsubscribe${'&s=feed/1'.repeat(101)}`, 400, 'A request may have s at most 100 times.'],
  ];
  for (const [body, status, text] of refusals) {
    const answer = await app.post('subscription/edit', body);
    assert.deepEqual([answer.status, answer.text], [status, `${text}\n`], body);
  }
});

test('an app subscribes by the address that the hub has shown to another app, in any spelling', async (t) => {
  const { hub, ada, bob, app } = await hubWithFeed(t);
  const [news, diary] = [await addNotes(ada, 'News'), await addNotes(ada, 'Diary', 'private')];
  const { host } = new URL(hub.config.baseUrl);
  for (const url of [`${hub.config.baseUrl}/sources/${news}.atom`, `http://${host.toUpperCase()}/sources/${news}.json?x=1`]) {
    const { streamId } = (await app.post('subscription/quickadd', `quickadd=${url}`)).json();
    assert.equal(streamId, `feed/${news}`, url);
    assert.equal((await app.get(`stream/items/ids?s=feed/${encodeURIComponent(url)}`)).status, 200, url);
    assert.deepEqual(await followed(bob), ['News'], url);
    assert.equal((await app.post('subscription/edit', `ac=unsubscribe&s=feed/${url}`)).text, 'OK', url);
    assert.deepEqual(await followed(bob), [], url);
  }
  assert.equal((await app.post('subscription/edit', `ac=subscribe&s=feed/${hub.config.baseUrl}/sources/${diary}.atom`)).status, 404);
  assert.deepEqual(await followed(bob), []);
});

test('sources that apps add are private; an app follows a public source of the same address', async (t) => {
  const { hub, ada, bob, app, url } = await hubWithFeed(t);
  const { headers, anybody } = { ...app, ...hub };
  const opml = (feed: string) => ({ headers: { ...headers, 'content-type': 'text/xml' },
    body: `<opml version="2.0"><body><outline text="Owls" xmlUrl="${feed}"/></body></opml>` });
  await app.post('subscription/quickadd', `quickadd=${url}?1`);
  await app.post('subscription/edit', `ac=subscribe&s=feed/${url}?2`);
  await anybody.send('POST', '/reader/api/0/subscription/import', opml(`${url}?3`));
  assert.equal((await followed(bob)).length, 3);
  assert.deepEqual(await itemsAt(ada, '/api/sources'), [], 'ada sees none of them');
  await addFeed(ada, `${url}?4`);
  await app.post('subscription/quickadd', `quickadd=${url}?4`);
  await addFeed(ada, `${url}?5`);
  await anybody.send('POST', '/reader/api/0/subscription/import', opml(`${url}?5`));
  assert.equal((await followed(bob)).length, 5);
  const all = await itemsAt<{ visibility: string }>(bob, '/api/sources');
  assert.deepEqual(all.map(({ visibility }) => visibility).sort(), ['private', 'private', 'private', 'public', 'public']);
});

test('a folder whose name has any white space of Unicode is a stream of its own', async (t) => {
  const { ada, bob, app } = await hubWithFeed(t);
  const news = await addNotes(ada, 'News');
  await addFollow(bob, news, { folder: 'Owls\u2028and more' });
  const { tags } = (await app.get('tag/list')).json<{ tags: { id: string }[] }>();
  const label = encodeURIComponent(tags.at(-1)?.id ?? '');
  assert.equal((await app.get(`stream/items/ids?s=${label}`)).status, 200);
  assert.equal((await app.post('disable-tag', `s=${label}`)).text, 'OK');
  assert.deepEqual(await followed(bob), ['News']);
});

test('an app renames and deletes folders', async (t) => {
  const { bob, app, url } = await hubWithFeed(t);
  await app.post('subscription/edit', `ac=subscribe&s=feed/${url}&a=user/-/label/Birds`);
  assert.equal((await app.post('rename-tag', 's=user/-/label/Birds&dest=user/-/label/Big Birds')).text, 'OK');
  assert.deepEqual(await followed(bob), ['Big Birds/Owls']);
  assert.equal((await app.post('rename-tag', 's=user/-/label/None&dest=user/-/label/Other')).status, 400);
  assert.equal((await app.post('disable-tag', 's=user/-/label/Big Birds&s=user/-/label/None&T=x\n')).text, 'OK');
  assert.deepEqual(await followed(bob), ['Owls']);
});

test('an app imports and exports OPML, and needs its header for the import', async (t) => {
  const { hub, bob, app, url } = await hubWithFeed(t);
  const body = `<opml version="2.0"><body><outline text="Owls" xmlUrl="${url}"/></body></opml>`;
  const headers = { 'content-type': 'text/xml' };
  const path = '/reader/api/0/subscription/import';
  assert.equal((await hub.anybody.send('POST', `${path}?T=${app.password}`, { body, headers })).status, 401);
  assert.equal((await hub.anybody.send('POST', path, { body, headers: { ...headers, ...app.headers } })).text, 'OK');
  assert.equal((await followed(bob)).length, 1);
  await app.post('subscription/edit', `ac=edit&s=feed/${url}&t=My owls`);
  assert.match((await app.get('subscription/export')).text, new RegExp(`title="My owls" xmlUrl="${url}"`));
  const wrong = await hub.anybody.send('POST', path, { body: 'no OPML', headers: { ...headers, ...app.headers } });
  assert.equal(wrong.status, 422);
  assert.match(wrong.text, /^[^<\n]+\n$/);
});
