// Protects the page of all sources: filter, order, several at once, folders, and what others follow.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessions } from '../../../src/features/accounts/credential-store.ts';
import { follows } from '../../../src/features/follows/follow-store.ts';
import { stepsOf } from '../../support/steps.ts';
import { pagesRead } from '../../support/pages-read.ts';
import { addFeed, addNotes, addPost, foldersOf, itemsAt, notificationTitles } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { opml, rss, serving } from '../../support/feeds.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { reply, startOrigin } from '../../support/origin.ts';

async function titlesOn(client: Client, path: string): Promise<string[]> {
  const page = await client.page(path);
  assert.equal(page.status, 200, page.text);
  return [...page.text.matchAll(/class="title"[^>]*><span\s+dir="auto">([^<]*)</g)].map(([, title = '']) => title);
}

async function several(client: Client, act: string, sources: number[], more: Record<string, string> = {}) {
  const body = new URLSearchParams({ act, back: '/sources?sort=name', ...more });
  for (const id of sources) body.append('source', String(id));
  return client.send('POST', '/sources/several', { body, headers: { accept: 'text/html' } });
}

test('the page finds, orders and counts one’s own and followed sources, and says in words how each goes', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  let isUp = true;
  const origin = await startOrigin(t, {
    '/feed': (request, response) => (isUp ? serving(() => rss('Zebras', []))(request, response)
      : reply(503, {}, 'down')(request, response)),
  });
  const zebras = await addFeed(bob, `${origin.url}/feed`);
  const [alpha, cafe] = [await addNotes(bob, 'Alpha'), await addNotes(bob, 'Café notes')];
  const hers = await addNotes(ada, 'Of Ada');
  await addPost(bob, cafe);
  hub.passTime(3_600_000);
  await addPost(bob, alpha);
  isUp = false;
  for (let n = 0; n < 8; n++) {
    await hub.work(24 * 3_600_000);
  }

  assert.deepEqual(await titlesOn(bob, '/sources'), ['Zebras', 'Alpha', 'Café notes'], 'what fails stands first');
  assert.deepEqual(await titlesOn(bob, '/sources?sort=name'), ['Alpha', 'Café notes', 'Zebras']);
  assert.deepEqual(await titlesOn(bob, '/sources?sort=newest'), ['Alpha', 'Café notes', 'Zebras']);
  assert.deepEqual(await titlesOn(bob, '/sources?q=CAFE'), ['Café notes']);
  assert.deepEqual(await titlesOn(bob, '/sources?show=failing'), ['Zebras']);
  assert.deepEqual(await titlesOn(bob, '/sources?show=others'), ['Of Ada']);
  assert.equal((await bob.page('/sources?sort=upwards')).status, 400);
  const { text } = await bob.page('/sources');
  assert.match(text, /Failing since <time[^>]*>[^<]+<\/time>: [^<]* answered 503: the server is temporarily unavailable</);
  assert.match(text, /Posts written on this hub/);
  assert.match(text, /Failing\s+<span class="count">1</);

  await several(bob, 'follow', [hers, 99], { back: '/sources?show=others' });
  assert.deepEqual(await titlesOn(bob, '/sources?sort=name'), ['Alpha', 'Café notes', 'Of Ada', 'Zebras']);
  assert.deepEqual(await titlesOn(bob, '/sources?show=mine&sort=name'), ['Alpha', 'Café notes', 'Zebras']);
  await ada.patch(`/api/sources/${hers}`, { visibility: 'private' });
  assert.deepEqual(await titlesOn(bob, '/sources?sort=name'), ['Alpha', 'Café notes', 'Zebras'], 'hidden is hidden');
  assert.ok(zebras);
});

test('the address of a feed finds it for who manages it alone: it may hold a secret', async (t) => {
  const { ada, bob } = await hubWith(t, ['ada', 'bob']);
  const origin = await startOrigin(t, (request, response) => serving(() => rss('Owls', []))(request, response));
  const id = await addFeed(ada, `${origin.url}/feed?token=s3cret`);
  await several(bob, 'follow', [id]);

  assert.deepEqual(await titlesOn(ada, '/sources?q=s3cret'), ['Owls']);
  assert.deepEqual(await titlesOn(bob, '/sources?q=s3cret'), []);
  assert.deepEqual(await titlesOn(bob, '/sources'), ['Owls']);
});

test('several sources are paused, resumed, moved and let go of by one form; deleting asks first', async (t) => {
  const { ada, bob } = await hubWith(t, ['ada', 'bob']);
  const [one, two] = [await addNotes(bob, 'One'), await addNotes(bob, 'Two')];
  const hers = await addNotes(ada, 'Hers');
  await several(bob, 'follow', [hers]);

  const paused = await several(bob, 'pause', [one, two, hers]);
  assert.equal(paused.headers.get('location'), '/sources?sort=name&said=sources-paused&count=2', 'hers is not his');
  assert.match((await bob.page('/sources?said=sources-paused&count=2')).text, /2 sources paused\./);
  assert.deepEqual((await itemsAt(bob, '/api/sources')).map(({ state }) => state), ['paused', 'paused', 'active']);
  await several(bob, 'resume', [one, two]);
  await several(bob, 'move', [one, hers], { folder: ' Boats ' });
  assert.deepEqual(await foldersOf(bob), [['Boats', ['Hers', 'One']], [null, ['Two']]]);
  assert.deepEqual(await titlesOn(bob, '/sources?folder=Boats'), ['Hers', 'One']);
  await several(bob, 'unfollow', [hers]);
  assert.deepEqual(await titlesOn(bob, '/sources'), ['One', 'Two']);

  const nothing = await several(bob, 'pause', [], { back: 'https://evil.test/' });
  assert.equal(nothing.headers.get('location'), '/sources?said=nothing-chosen');
  const asked = await several(bob, 'delete', [one, two, hers]);
  assert.equal(asked.status, 200);
  assert.match(asked.text, /Delete these 2 sources\?[^]*One[^]*Two/);
  assert.equal((await itemsAt(bob, '/api/sources')).length, 3, 'it only asks');
  const deleted = await several(bob, 'delete', [one, two, hers], { sure: '1' });
  assert.equal(deleted.headers.get('location'), '/sources?sort=name&said=sources-deleted&count=2');
  assert.deepEqual((await itemsAt(bob, '/api/sources')).map(({ title }) => title), ['Hers']);
});

test('a folder is renamed, joined with another and deleted; its sources stay', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const [one, two] = [await addNotes(ada, 'One'), await addNotes(ada, 'Two')];
  await several(ada, 'move', [one], { folder: 'Boats' });
  await several(ada, 'move', [two], { folder: 'Ships' });

  assert.equal((await bob.form('/sources/folders', { folder: 'Boats', act: 'delete' })).status, 404);
  const renamed = await ada.form('/sources/folders', { folder: 'Boats', act: 'rename', name: 'Rafts' });
  assert.equal(renamed.headers.get('location'), '/sources?folder=Rafts&said=folder-renamed');
  assert.deepEqual(await foldersOf(ada), [['Rafts', ['One']], ['Ships', ['Two']]]);
  await ada.form('/sources/folders', { folder: 'Rafts', act: 'rename', name: 'Ships' });
  assert.deepEqual(await foldersOf(ada), [['Ships', ['One', 'Two']]]);
  await ada.form('/sources/folders', { folder: 'Ships', act: 'delete' });
  assert.deepEqual(await foldersOf(ada), [[null, ['One', 'Two']]]);
  assert.deepEqual(follows(hub.handle).folderNames(1), []);
});

test('folder, bell and title are set on a page of their own, and the bell in the list too', async (t) => {
  const { ada, bob } = await hubWith(t, ['ada', 'bob']);
  const id = await addNotes(ada, 'Notes');
  await several(bob, 'follow', [id]);

  await bob.form(`/sources/${id}/follow`, { folder: 'Boats', notify: '1' });
  assert.match((await bob.page(`/sources/${id}/settings`)).text, /name="folder" value="Boats"[^]*name="notify"[^>]*checked/);
  assert.doesNotMatch((await bob.page(`/sources/${id}/settings`)).text, new RegExp(`action="/sources/${id}"`), 'the title is not his');
  const rung = await several(bob, '', [], { bell: String(id) });
  assert.equal(rung.headers.get('location'), '/sources?sort=name&said=bell-off');
  assert.equal((await several(bob, '', [], { bell: '99' })).status, 404);
  assert.match((await ada.page(`/sources/${id}/settings`)).text, /name="title" value="Notes"[^]*Besides its owner, one person/);
});

test('a program hands a source over as its owner does by the form', async (t) => {
  const { hub, ada, bob, carol } = await hubWith(t, ['ada', 'bob', 'carol']);
  const id = await addNotes(bob, 'Kept');
  assert.equal((await bob.post(`/api/sources/${id}/hand-over`)).status, 409, 'nobody follows it');
  await several(carol, 'follow', [id]);
  hub.passTime(1_000);
  await several(ada, 'follow', [id]);
  assert.equal((await carol.post(`/api/sources/${id}/hand-over`)).status, 403);
  const { status, text } = await bob.post(`/api/sources/${id}/hand-over`);
  assert.equal(status, 202, text);
  const { offer } = JSON.parse(text);
  assert.deepEqual([offer.source, offer.to], [{ id, title: 'Kept' }, null], 'what carol reads is her business');
  assert.doesNotMatch((await bob.get('/api/offers')).text + (await bob.page(`/sources/${id}`)).text, /carol/);
  assert.doesNotMatch((await bob.page('/offers')).text + (await bob.get('/api/account/export')).text, /carol|"to":3/);
  assert.deepEqual(await notificationTitles(carol), ['“Kept” is offered to you']);
  assert.equal((await carol.post(`/api/offers/${offer.id}/decline`)).status, 204);
  const given = await bob.post(`/api/sources/${id}/hand-over`);
  assert.deepEqual([given.status, given.json<{ owner: unknown }>().owner], [200, { id: 1, displayName: 'ada' }],
    'the next one, and an administrator at once');
});

test('what others follow is not taken from them silently: the page says how many, they are told, and it can be handed over', async (t) => {
  const hub = await startHub(t);
  const [ada, bob, carol, dan] = [
    await hub.person('ada'), await hub.person('bob'), await hub.person('carol'), await hub.person('dan'),
  ];
  const [kept, hidden, deleted] = [await addNotes(ada, 'Kept'), await addNotes(ada, 'Hidden'), await addNotes(ada, 'Gone')];
  for (const client of [dan, carol]) {
    await several(client, 'follow', [kept, hidden, deleted]);
    hub.passTime(1_000);
  }

  const ask = await ada.page(`/sources/${kept}/delete`);
  assert.match(ask.text, /Besides its owner, 2 people follow this source\. They will/);
  assert.doesNotMatch(ask.text, /\bcarol\b|\bdan\b/, 'what people read is their business');
  const given = await ada.form(`/sources/${kept}/hand-over`);
  assert.equal(given.headers.get('location'), `/sources/${kept}?said=source-offered`);
  const [offered] = await itemsAt<{ id: number }>(dan, '/api/offers');
  assert.equal((await dan.form(`/offers/${offered?.id}/accept`)).headers.get('location'), `/sources/${kept}?said=offer-accepted`);
  const [source] = await itemsAt(bob, '/api/sources');
  assert.deepEqual(source?.['owner'], { id: 4, displayName: 'dan' }, 'who has followed it longest');
  assert.deepEqual(await notificationTitles(dan), ['“Kept” now belongs to you']);
  assert.deepEqual(await notificationTitles(carol), ['“Kept” has a new owner; you still follow it']);

  const hide = { title: 'Hidden', visibility: 'private' };
  const asked = await ada.form(`/sources/${hidden}`, hide);
  assert.match(asked.text, /besides its owner, 2 people follow this source[^]*name="visibility" value="private"/);
  assert.equal((await bob.page(`/sources/${hidden}`)).status, 200, 'it only asks');
  assert.equal((await ada.form(`/sources/${hidden}`, { ...hide, sure: '1' })).status, 303);
  assert.equal((await bob.page(`/sources/${hidden}`)).status, 404);
  await ada.delete(`/api/sources/${deleted}`);
  assert.deepEqual((await notificationTitles(carol)).slice(0, 2), [
    '“Gone” was deleted and is no longer in your list', '“Hidden” is now private and no longer in your list',
  ]);
  assert.equal((await ada.form(`/sources/${hidden}/hand-over`)).status, 409, 'nobody follows it now');
  await ada.delete(`/api/sources/${hidden}`);
  assert.equal((await notificationTitles(carol)).length, 3, 'who could not see it is not told that it is gone');
});

test('a page of a thousand sources takes bounded work, and leads on to the next', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada'], { SOURCES_MAX: '2000' });
  const outlines = Array.from({ length: 1_000 }, (_, n) => `<outline text="F ${n}" xmlUrl="https://f${n}.test/"/>`);
  const add = (some: string[]) => ada.send('POST', '/api/sources/import', {
    body: opml(some.join('')), headers: { 'content-type': 'text/x-opml' },
  });
  const work = async (): Promise<{ steps: number; pages: number }> => {
    const steps = await stepsOf(() => ada.page('/sources?sort=newest'));
    return { steps, pages: await pagesRead(hub, () => ada.page('/sources?sort=newest')) };
  };
  await add(outlines.slice(0, 200));
  await work();
  const few = await work();
  await add(outlines);

  const seen = new Set<string>();
  for (let path = '/sources?sort=name'; path; ) {
    const { text } = await ada.page(path);
    for (const [, id = ''] of text.matchAll(/name="source" value="(\d+)"/g)) seen.add(id);
    path = /rel="next" href="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  }
  assert.equal(seen.size, 1_000);
  const many = await work();
  assert.ok(many.steps < 3 * few.steps && many.pages < 6 * few.pages, JSON.stringify([few, many]));
});

test('what several sources are asked for ends with the session that asked', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const ids = [await addNotes(ada, 'One'), await addNotes(ada, 'Two'), await addNotes(ada, 'Three')];
  for (const id of ids) await bob.form(`/sources/${id}/follow`);
  const { unfollow } = follows(hub.handle);
  t.mock.method(follows(hub.handle), 'unfollow', (accountId: number, sourceId: number) => {
    unfollow(accountId, sourceId);
    sessions(hub.handle).endOthers(accountId, 0);
  });

  const fields = new URLSearchParams(`act=unfollow&${ids.map((id) => `source=${id}`).join('&')}`);
  const answer = await bob.send('POST', '/sources/several', { body: fields });
  assert.equal(answer.status, 401, answer.text);
  assert.equal(follows(hub.handle).listOf(2, 0, 10).length, 2);
});
