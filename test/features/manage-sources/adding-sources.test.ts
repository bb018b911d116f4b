// Protects how sources are added: what is found is shown first, who may read it is asked, nothing private is revealed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addFeed, foldersOf, itemsAt } from '../../support/accounts.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { reply, startOrigin } from '../../support/origin.ts';

const OWLS = rss('Owls', [
  { guid: 'old', title: 'An old post', date: 'Mon, 01 Jan 2029 12:00:00 GMT' },
  { guid: 'new', title: 'A new post', date: 'Mon, 14 Jan 2030 12:00:00 GMT' },
]);

test('what is at an address is shown before anything is saved: title, newest posts, other feeds of the page', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, {
    '/blog': reply(200, { 'content-type': 'text/html' }, `<title>Blog</title>
      <link rel="alternate" type="application/rss+xml" title="Posts" href="/feed">
      <link rel="alternate" type="application/atom+xml" title="Comments &amp; more" href="/comments">`),
    '/feed': serving(() => OWLS),
  });

  const page = await ada.page('/sources/add');
  assert.equal(page.status, 200);
  assert.deepEqual(page.text.match(/value="\w+" required\s+checked/g)?.map((chosen) => /\w+/.exec(chosen.slice(7))?.[0]),
    ['private', 'private', 'private'], 'nobody publishes without having chosen to');
  const looked = await ada.form('/sources/add', { url: `${origin.url}/blog`, visibility: 'private', folder: 'Birds' });
  assert.equal(looked.status, 200);
  assert.match(looked.text, /Owls[^]*A new post[^]*yesterday[^]*An old post[^]*1 January 2029/);
  assert.match(looked.text, /Comments &amp; more/);
  assert.ok(looked.text.includes(`value="${origin.url}/comments"`));
  assert.deepEqual(await itemsAt(ada, '/api/sources'), []);

  const saved = await ada.form('/sources', { url: `${origin.url}/feed`, visibility: 'private', folder: 'Birds' });
  assert.deepEqual([saved.status, saved.headers.get('location')], [303, '/sources/1?said=source-added']);
  assert.match((await ada.page('/sources/1?said=source-added')).text, /role="status"[^>]*><span>Added: it is in your list/);
  assert.deepEqual(await foldersOf(ada), [['Birds', ['Owls']]]);
  assert.equal((await hub.anybody.get('/api/sources')).json<{ items: unknown[] }>().items.length, 0);
});

test('a look at what is no feed says so at the field, and a look at one that one has leads there', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, { '/feed': serving(() => OWLS), '/page': reply(200, {}, 'hello') });
  const id = await addFeed(ada, `${origin.url}/feed`);

  const byScheme = await ada.form('/sources/add', { url: origin.url.replace('http:', 'feed:') + '/feed', visibility: 'public' });
  assert.match(byScheme.text, /You already have this feed/, 'feed:// means http');
  const refused = await ada.form('/sources/add', { url: `${origin.url}/page`, visibility: 'public' });
  assert.equal(refused.status, 422);
  assert.match(refused.text, /name="url"[^>]*aria-invalid="true" aria-describedby="fault-url"/);
  const own = await ada.form('/sources/add', { url: `${origin.url}/feed`, visibility: 'public' });
  assert.match(own.text, new RegExp(`You already have this feed\\. <a href="/sources/${id}">`));
});

test('a feed that is public here is followed as it is; a private one of somebody else is as if it were not there', async (t) => {
  const { ada, bob } = await hubWith(t, ['ada', 'bob']);
  const origin = await startOrigin(t, { '/open': serving(() => OWLS), '/closed': serving(() => rss('Closed', [])) });
  const open = await addFeed(ada, `${origin.url}/open`);
  await addFeed(ada, `${origin.url}/closed`, { visibility: 'private', title: 'A secret name' });

  const shared = await bob.form('/sources/add', { url: `${origin.url}/open`, visibility: 'private' });
  assert.match(shared.text, /Somebody here follows it already/);
  const followed = await bob.form('/sources', { url: `${origin.url}/open`, visibility: 'private', folder: 'Mine' });
  assert.equal(followed.headers.get('location'), `/sources/${open}?said=source-followed`);
  const looked = await bob.form('/sources/add', { url: `${origin.url}/closed`, visibility: 'private' });
  assert.doesNotMatch(looked.text, /already|secret name/);
  const added = await bob.form('/sources', { url: `${origin.url}/closed`, visibility: 'private' });
  assert.match(added.headers.get('location') ?? '', /^\/sources\/3\?said=source-added$/);
  assert.equal((await itemsAt(bob, '/api/sources')).length, 2);
});
