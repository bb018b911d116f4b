// Protects rules: what fits is acted on when it arrives, for its owner alone, and what a rule would do is shown before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preparePosts } from '../../../src/features/posts/ingest-posts.ts';
import { matchRules } from '../../../src/features/rules/apply-rules.ts';
import { MINUTE } from '../../../src/platform/clock.ts';
import { addFeed, addFollow, addNotes, addPost, foundTitles, itemsAt, pointersOf, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { eventOf, makeWebhook, metric, sendEvent } from '../../support/webhooks.ts';

type Rule = { id: number; match: string; act: string; sourceId: number | null; folder: string | null; applied: number; lastAppliedAt: string | null };
type Listed = { id: number; title: string; read: boolean; starred: boolean };

async function addRule(client: Client, rule: Partial<Rule>): Promise<number> {
  const answer = await client.post('/api/rules', { act: 'read', ...rule });
  assert.equal(answer.status, 201, answer.text);
  return answer.json<Rule>().id;
}

const listed = (client: Client) => itemsAt<Listed>(client, '/api/posts?view=list');
const readTitles = async (client: Client) => (await listed(client)).filter(({ read }) => read).map(({ title }) => title).toSorted();

test('a rule acts on posts that arrive by feed, by webhook and by hand, in its source or folder, for its owner alone', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const items = [{ guid: 'a', title: 'Owls at dusk' }];
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Birds', items)) });
  const hook = await makeWebhook(ada);
  const [notes, feed] = [await addNotes(ada, 'Notes', 'public'), await addFeed(ada, `${origin.url}/feed`)];
  for (const id of [feed, notes, hook.id]) await addFollow(bob, id, { folder: id === notes ? 'Ada' : null });
  await addRule(bob, { match: 'owl*', act: 'star' });
  await addRule(bob, { match: 'title:owls', act: 'read', folder: 'Ada' });
  await addRule(bob, { match: 'owls -dusk', act: 'notify', sourceId: feed });
  await addRule(ada, { match: 'nothing', act: 'star' });

  items.push({ guid: 'b', title: 'Owls at dawn' }, { guid: 'c', title: 'Owls at noon' }, { guid: 'd', title: 'Newts' });
  await ada.post(`/api/sources/${feed}/sync`, {});
  await hub.work();
  await sendEvent(hub.address, hook.id, eventOf(hub, hook.secret, 'post.published', { id: 'x', title: 'Owls by hook', content_html: 'x' }));
  for (const title of ['Owls by hand', 'Owl by hand', 'Newt by hand']) await addPost(ada, notes, title);

  const starred = (await itemsAt<Listed>(bob, '/api/posts?view=starred')).map(({ title }) => title).toSorted();
  assert.deepEqual(starred, ['Owl by hand', 'Owls at dawn', 'Owls at noon', 'Owls by hand', 'Owls by hook'], 'not what was there before');
  assert.deepEqual(await readTitles(bob), ['Owls by hand']);
  assert.deepEqual(await itemsAt(ada, '/api/posts?view=starred'), []);
  const told = (await itemsAt<{ kind: string; title: string; path: string }>(bob, '/api/notifications')).map(({ kind, title, path }) => ({ kind, title, path }));
  assert.deepEqual(told, [{ kind: 'rule.posts', title: '2 new posts for your rule “owls -dusk”', path: `/sources/${feed}?q=owls+-dusk` }]);
  const rules = await itemsAt<Rule>(bob, '/api/rules');
  assert.deepEqual(rules.map(({ applied, lastAppliedAt }) => [applied, lastAppliedAt !== null]), [[5, true], [1, true], [2, true]]);
  assert.deepEqual((await itemsAt<Rule>(ada, '/api/rules')).map(({ applied, lastAppliedAt }) => [applied, lastAppliedAt]), [[0, null]]);
  const acts = await Promise.all(['mute', 'read', 'star', 'notify'].map((act) => metric(hub, `service_rules_applied_total{act="${act}"}`)));
  assert.deepEqual(acts, [0, 1, 5, 2]);
});

test('a private post meets its owner’s rules alone, also while an administrator follows its source', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  const diary = await addNotes(ben, 'Diary', 'private');
  await addFollow(ada, diary);
  for (const client of [ada, ben]) await addRule(client, { match: 'owl', act: 'star' });

  await addPost(ben, diary, 'Owl');
  assert.equal((await itemsAt(ben, '/api/posts?view=starred')).length, 1);
  assert.deepEqual(await itemsAt(ada, '/api/posts?view=starred'), []);
  assert.equal((await itemsAt<Rule>(ada, '/api/rules'))[0]?.applied, 0, 'not even the count tells');
});

test('a rule that is changed or removed between matching and storing does not act', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const [removed, changed] = [await addRule(ada, { match: 'owl', act: 'star' }), await addRule(ada, { match: 'owl', act: 'star' })];
  await addRule(ada, { match: 'owl', act: 'notify' });
  const post = await addPost(ada, sourceId, 'Newt');
  const incoming = { guid: 'x', title: 'Owl', contentHtml: '', url: null, author: null, language: null, baseUrl: '', summary: null, publishedAt: 0, updatedAt: 0, attachments: [] };
  const prepared = await preparePosts(hub.handle, null, [incoming]);

  const { arrived } = await matchRules(hub.handle, { id: sourceId }, prepared);
  await ada.delete(`/api/rules/${removed}`);
  await ada.patch(`/api/rules/${changed}`, { match: 'toad' });
  hub.db.write('store', () => arrived(sourceId, prepared.map((item) => ({ id: post, ...item }))));

  assert.deepEqual((await listed(ada)).map(({ starred }) => starred), [false]);
  assert.deepEqual((await itemsAt<Rule>(ada, '/api/rules')).map(({ applied }) => applied), [0, 1]);
});

test('rules are checked when they are made, with the place of a mistake, and changed and removed by their owner alone', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  const faults = async (rule: object) => {
    const { status, text, json } = await ada.post('/api/rules', rule);
    assert.equal(status, 422, text);
    return json<{ errors: { pointer: string; at?: number }[] }>().errors.map(({ pointer, at }) => (at === undefined ? pointer : [pointer, at]));
  };
  assert.deepEqual(await faults({}), ['/match', '/act']);
  assert.deepEqual(await faults({ match: 'owl before:x', act: 'mute' }), [['/match', 4]]);
  assert.deepEqual(await faults({ match: 'owl is:unread', act: 'mute' }), [['/match', 4]]);
  assert.deepEqual(await faults({ match: 'owl', act: 'delete', sourceId: 99, folder: 'None' }), ['/act', '/sourceId', '/folder', '/folder']);
  assert.deepEqual(await faults({ match: 'x'.repeat(501), act: 'mute' }), ['/match']);
  const id = await addRule(ada, { match: 'owl', sourceId });
  const path = `/api/rules/${id}`;
  assert.equal((await ben.patch(path, { match: 'newt' })).status, 404);
  assert.equal((await ben.delete(path)).status, 404);
  assert.equal((await ada.patch(path, { match: 'newt OR' })).status, 422);
  const { match, act, sourceId: source } = (await ada.patch(path, { match: 'newt', act: 'star' })).json<Rule>();
  assert.deepEqual([match, act, source], ['newt', 'star', sourceId]);
  await addFollow(ada, sourceId, { folder: 'Birds' });
  assert.deepEqual((await ada.patch(path, { folder: 'Birds' })).json<Rule>().folder, 'Birds');
  await ada.form('/sources/folders', { folder: 'Birds', name: 'Fowl', act: 'rename' });
  assert.equal((await itemsAt<Rule>(ada, '/api/rules'))[0]?.folder, 'Fowl');
  assert.equal((await ada.delete(path)).status, 204);
  assert.deepEqual(await itemsAt(ada, '/api/rules'), []);
});

test('a rule cannot name a source that has been hidden from its owner since they followed it', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  await addFollow(ben, sourceId, {});
  const id = await addRule(ben, { match: 'owl', sourceId });
  await ada.patch(`/api/sources/${sourceId}`, { visibility: 'private' });
  const rule = { match: 'newt', act: 'mute', sourceId };
  for (const answer of [
    await ben.post('/api/rules', rule), await ben.post('/api/rules/preview', rule), await ben.patch(`/api/rules/${id}`, { match: 'newt' }),
  ]) assert.deepEqual([answer.status, pointersOf(answer)], [422, ['/sourceId']]);
  const form = await ben.form('/settings/rules', { match: 'newt', act: 'mute', place: `source:${sourceId}`, preview: '1' });
  assert.deepEqual([form.status, form.text.includes('value="newt"')], [422, true], 'the form keeps what was typed');
});

test('rules and searches of an export are imported once, in another account or again; what fits nothing is left out', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  await addRule(ada, { match: 'owl', act: 'star', sourceId });
  await addRule(ada, { match: 'newt', act: 'mute' });
  await ada.post('/api/searches', { name: 'Owls', q: 'owl*' });
  const { rules, searches } = (await ada.get('/api/account/export')).json<{ rules: object[]; searches: object[] }>();

  assert.deepEqual((await ada.post('/api/rules/import', { rules, searches })).json(), { rules: 0, searches: 0, leftOut: 0 });
  const document = { rules: [...rules, { match: 'x is:y', act: 'mute' }, 7], searches };
  assert.deepEqual((await ben.post('/api/rules/import', document)).json(), { rules: 1, searches: 1, leftOut: 3 }, 'ben does not follow the source');
  const again = await ben.form('/settings/rules/import', { document: JSON.stringify({ ...document, searches: [{ q: 'toad' }] }) });
  assert.match((await ben.page(again.headers.get('location') ?? '')).text, /3 rules and searches left out: faulty/);
  const same = { rules: [{ match: ' newt ', act: 'mute', sourceId: null }, { match: 'newt', act: 'mute', folder: null }], searches: [{ q: ' toad ' }] };
  const once = await ben.form('/settings/rules/import', { document: JSON.stringify(same) });
  assert.match(once.headers.get('location') ?? '', /said=rules-imported&count=0/);
  assert.deepEqual((await itemsAt<Rule>(ben, '/api/rules')).map(({ match, applied }) => [match, applied]), [['newt', 0]]);
  assert.deepEqual((await itemsAt<{ name: string }>(ben, '/api/searches')).map(({ name }) => name), ['Owls', 'toad']);
  assert.equal((await ben.form('/settings/rules/import', { document: '[' })).status, 422);

  const odd = { rules: [{ match: 'eft', act: 'mute' }], searches: {} };
  assert.deepEqual(pointersOf(await ben.post('/api/rules/import', odd)), ['/searches']);
  const refused = await ben.form('/settings/rules/import', { document: JSON.stringify(odd) });
  assert.match(refused.text, /id="fault-document"[^>]*>Searches must be a list/);
  assert.equal((await itemsAt(ben, '/api/rules')).length, 1, 'a refused document adds nothing');
  const many = { rules: Array.from({ length: 300 }, (_, n) => ({ match: `eft${n}`, act: 'mute' })) };
  assert.deepEqual((await ben.post('/api/rules/import', many)).json(), { rules: 99, searches: 0, leftOut: 201 });
  assert.deepEqual((await ben.post('/api/rules/import', many)).json(), { rules: 0, searches: 0, leftOut: 201 }, 'again, with 100 rules');
});

test('the preview tells what a rule would have caught of the newest 500 posts, and words are proposed from a post', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  await addFollow(ben, sourceId);
  for (const title of ['Sponsored owls', 'Owls', 'Sponsored newts']) await addPost(ada, sourceId, title);
  await addPost(ada, await addNotes(ada, 'Diary', 'private'), 'Sponsored diary');

  const { count, among, items } = (await ben.post('/api/rules/preview', { match: 'sponsored' })).json<{ count: number; among: number; items: Listed[] }>();
  assert.deepEqual([count, among, items.map(({ title }) => title)], [2, 3, ['Sponsored newts', 'Sponsored owls']]);
  assert.equal((await ben.post('/api/rules/preview', { match: 'sponsore' })).json<{ count: number }>().count, 0, 'a rule needs a star');
  const form = (await ben.get('/settings/rules/new?post=1')).text;
  assert.match(form, /value="title:Sponsored"/);
  assert.match(form, new RegExp(`<option value="source:${sourceId}" selected`));
  assert.match(form, /It fits 2 posts of the newest 3 posts in your sources\./);
  assert.match((await ben.get('/settings/rules/new?post=1&word=owls')).text, /value="title:owls"/);
  const referer = `${hub.address}/folders/Birds?show=all`;
  const fromList = (await ben.get('/settings/rules/new?post=1', { referer })).text;
  assert.doesNotMatch((await ben.get('/settings/rules/new?post=1', { referer: 'https://other.test/all' })).text, /name="from"/);
  assert.equal(fromList.match(/name="from" value="\/folders\/Birds\?show=all"/g)?.length, 2);
  const fault = await ben.form('/settings/rules', { match: 'owl is:x', act: 'mute', place: '', preview: '1' });
  assert.equal(fault.status, 422);
  assert.match(fault.text, /<code>owl <mark>i<\/mark>s:x<\/code>/);
  const preview = await ben.form('/settings/rules', { match: 'owls', act: 'mute', place: '', preview: '1' });
  assert.match(preview.text, /It fits 2 posts/);
  assert.deepEqual(await itemsAt(ben, '/api/rules'), []);
  const added = await ben.form('/settings/rules', { match: 'owls', act: 'star', place: `source:${sourceId}`, from: '/all' });
  assert.equal(added.headers.get('location'), '/all?said=rule-added', 'back to the list');
  await addPost(ada, sourceId, 'More owls');
  const named = await addPost(ada, sourceId, 'Why ferries to Ghent cost more');
  assert.match((await ben.get(`/settings/rules/new?post=${named}`)).text, /value="title:Ghent"/, 'a likely name');
  const page = (await ben.get('/settings/rules')).text;
  assert.match(page, /Star: <code[^>]*>owls<\/code>.*in Notes.*acted on 1 post, last/s);
  await ben.form('/settings/rules/1', { match: 'newts', act: 'read', place: '' });
  assert.deepEqual((await itemsAt<Rule>(ben, '/api/rules')).map(({ match, act, sourceId: of }) => [match, act, of]), [['newts', 'read', null]]);
  await ben.form('/settings/rules/1/delete', {});
  assert.match((await ben.get('/settings/rules')).text, /You have no rules yet/);
});

test('a saved search stands in the sidebar with its unread posts, and its page says how many posts it finds, best or newest first', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  await addFollow(ben, sourceId);
  for (const [title, content] of [['Newts', 'an owl'], ['Owl', 'owl, owl'], ['Toads', 'an owl and more words than elsewhere']]) {
    await ada.post('/api/posts', { sourceId, title, content });
  }
  assert.equal((await ben.post('/api/searches', { name: 'Owls', q: 'owl OR' })).status, 422);
  assert.equal((await ben.form('/searches', { q: 'owl' })).status, 303);
  const [search] = await itemsAt<{ id: number; name: string; count: number }>(ben, '/api/searches');
  assert.deepEqual([search?.name, search?.count], ['owl', 3]);
  const page = async (query: string) => (await ben.get(`/all?${query}`)).text;
  assert.match(await page('q=owl'), /href="\/all\?q=owl" aria-current="page".*>owl<\/span><span class="count" data-count="search:1" *>3</s);
  assert.match(await page('q=owl'), /<span role="status">3 posts<\/span>.*Remove saved/s);
  const order = async (query: string) => [...(await page(query)).matchAll(/<h3 [^>]*><a [^>]*>(.*?)<\/a>/g)].map(([, title = '']) => title.replace(/<[^>]*>/g, ''));
  assert.deepEqual(await order('q=owl'), ['Toads', 'Owl', 'Newts']);
  assert.deepEqual((await order('q=owl&by=relevance'))[0], 'Owl');
  await sendJson(ben, 'PUT', '/api/posts/1/read', {});
  assert.equal((await ben.get('/reading/now?posts=')).json<{ counts: Record<string, string> }>().counts['search:1'], '2');
  assert.equal((await hub.anybody.get('/api/searches')).status, 401);
  assert.equal((await ada.delete('/api/searches/1')).status, 404);
  assert.equal((await ben.form('/searches/1/remove', {})).status, 303);
  assert.deepEqual(await itemsAt(ben, '/api/searches'), []);
  assert.deepEqual(await foundTitles(ben, 'owl', '&view=list'), ['Newts', 'Owl', 'Toads']);
});

test('the count of a saved search follows changes of sources, folders and rules, and later the texts of posts', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const [alpha, beta] = [await addNotes(ada, 'Alpha'), await addNotes(ada, 'Beta')];
  for (const id of [alpha, beta]) await addFollow(bob, id);
  for (const sourceId of [alpha, beta]) await ada.post('/api/posts', { sourceId, title: 'Owl', content: 'owl', url: 'https://a.test/owl' });
  for (const q of ['source:alpha', 'in:ponds', 'is:muted', 'newt']) assert.equal((await bob.post('/api/searches', { q })).status, 201);
  t.mock.method(process, 'threadCpuUsage', () => ({ user: 0, system: 0 })); // each request has time for all searches
  const found = async (): Promise<(number | null)[]> =>
    (await itemsAt<{ count: number | null }>(bob, '/api/searches')).map(({ count }) => count);
  assert.deepEqual(await found(), [1, 0, 0, 0]);
  await ada.patch(`/api/sources/${alpha}`, { visibility: 'private' });
  assert.deepEqual(await found(), [0, 0, 0, 0], 'the double in Beta keeps the number of unread posts at one');
  await addFollow(bob, beta, { folder: 'Ponds' });
  assert.deepEqual(await found(), [0, 1, 0, 0]);
  const id = await addRule(bob, { match: 'toad', act: 'mute' });
  await addPost(ada, beta, 'Toad');
  assert.deepEqual(await found(), [0, 1, 1, 0]);
  await sendJson(bob, 'PUT', '/api/posts/3/read', {});
  assert.deepEqual(await found(), [0, 1, 1, 0]);
  await bob.delete(`/api/rules/${id}`);
  assert.deepEqual(await found(), [0, 1, 0, 0], 'the post that came back is read');
  await ada.patch('/api/posts/2', { title: 'Newt' });
  hub.passTime(10 * MINUTE);
  assert.deepEqual(await found(), [0, 1, 0, 1]);
});
