// Protects own posts by the API: who may write, change and delete them, and every mistake named at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addFeed, itemsAt, pointersOf, publicTitles } from '../../support/accounts.ts';
import type { Answer } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { formWith, hubWithWriter, sendForm, writer, type PostAnswer } from '../../support/uploads.ts';

type FullPost = PostAnswer & Record<string, unknown>;

function titlesIn(answer: Answer): string[] {
  return answer.json<{ items: { title: string }[] }>().items.map(({ title }) => title);
}

test('a post written as JSON is answered whole, and is where its Location says', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const answer = await client.post('/api/posts', {
    sourceId, title: ' Owls ', contentType: 'text/plain',
    content: 'They see\nin the dark.\n\nA <b>second</b> paragraph & more',
    url: 'HTTPS://Example.org/owls', publishedAt: '2030-01-14T13:30:00+01:00',
  });

  assert.equal(answer.status, 201, answer.text);
  const post = answer.json<FullPost>();
  assert.deepEqual(post, {
    id: post.id,
    source: { id: sourceId, title: 'Notes', kind: 'native' },
    title: 'Owls',
    url: 'https://example.org/owls',
    author: null,
    contentHtml: '<p>They see<br>in the dark.</p>\n<p>A &lt;b&gt;second&lt;/b&gt; paragraph &amp; more</p>',
    summary: post['summary'],
    publishedAt: '2030-01-14T12:30:00.000Z',
    updatedAt: '2030-01-15T12:00:00.000Z',
    visibility: 'public',
    attachments: [],
  });
  assert.match(String(post['summary']), /^They see\sin the dark\.\sA <b>second<\/b> paragraph & more$/);
  const location = new URL(answer.headers.get('location') ?? '');
  assert.deepEqual((await hub.anybody.get(location.pathname)).json(), post);
  assert.equal((await itemsAt(client, '/api/admin/audit?act=post.created')).length, 1);
});

test('markup is sanitised, and what is left out has its default', async (t) => {
  const { ada: { client, sourceId } } = await hubWithWriter(t);
  const content = '<p onclick="x()">Hi <a href="javascript:x()">a</a> <a href="/b">b</a></p><script>steal()</script>';
  const answer = await client.post('/api/posts', { sourceId, title: 'T', content, contentType: 'text/html' });
  const post = answer.json<FullPost>();

  assert.match(post.contentHtml, /^<p>Hi /);
  assert.doesNotMatch(post.contentHtml, /script|onclick|steal|href="\/b"/);
  assert.deepEqual([post['url'], post['publishedAt']], [null, '2030-01-15T12:00:00.000Z']);
});

test('the same fields come as multipart/form-data', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const fields = {
    sourceId: String(sourceId), title: 'Fëdern', content: '<em>x</em>', contentType: 'text/html',
    url: 'https://a.test/', publishedAt: '2029-12-31T00:00:00Z',
  };
  const answer = await sendForm(hub, client, '/api/posts', formWith(fields));

  assert.equal(answer.status, 201, answer.text);
  const { title, url, contentHtml, publishedAt } = answer.json<FullPost>();
  assert.deepEqual([title, url, contentHtml, publishedAt],
    ['Fëdern', 'https://a.test/', '<em>x</em>', '2029-12-31T00:00:00.000Z']);
});

test('every mistake is named at once, in JSON and in a form, and nothing is written', async (t) => {
  const hub = await startHub(t);
  const { client } = await writer(hub, 'ada');
  const wrong = {
    sourceId: 'three', title: '', content: 'x'.repeat(400_001), contentType: 'text/rtf',
    url: 'ftp://a.test/', publishedAt: '2030-01-15T12:00:01Z',
  };
  const all = ['/content', '/contentType', '/publishedAt', '/sourceId', '/title', '/url'];

  const answer = await client.post('/api/posts', wrong);
  assert.deepEqual([answer.status, answer.headers.get('content-type')], [422, 'application/problem+json']);
  assert.deepEqual(pointersOf(answer).sort(), all);
  assert.deepEqual(pointersOf(await sendForm(hub, client, '/api/posts', formWith(wrong))).sort(), all);
  assert.deepEqual(pointersOf(await client.post('/api/posts', {})).sort(), ['/sourceId', '/title']);
  assert.deepEqual(pointersOf(await sendForm(hub, client, '/api/posts', formWith({ sourceId: '', title: ' ' }))).sort(),
    ['/sourceId', '/title']);
  assert.deepEqual(await publicTitles(hub), []);
});

test('each single mistake in a post is refused at its field', async (t) => {
  const { ada: { client, sourceId } } = await hubWithWriter(t);
  for (const [what, pointer, value] of [
    ['a title of 501 characters', '/title', 'x'.repeat(501)], ['a title with a line end', '/title', 'a\nb'],
    ['content that is null', '/content', null], ['a script as address', '/url', 'javascript:alert(1)'],
    ['an address with a password', '/url', 'https://a:b@c.test/'], ['a relative address', '/url', '/owls'],
    ['a day without a time', '/publishedAt', '2030-01-01'], ['a time without a zone', '/publishedAt', '2030-01-01T00:00:00'],
    ['a day that does not exist', '/publishedAt', '2029-02-31T12:00:00Z'], ['a source below one', '/sourceId', 0],
  ] as const) {
    const answer = await client.post('/api/posts', { sourceId, title: 'T', content: 'c', [pointer.slice(1)]: value });
    assert.deepEqual([answer.status, pointersOf(answer)], [422, [pointer]], what);
  }
});

test('the owner of a source and administrators write, change and delete its posts; other members do none of it', async (t) => {
  const { hub, root: admin } = await hubWith(t, ['root']);
  const { client: ada, sourceId } = await writer(hub, 'ada');
  const eve = await hub.person('eve');
  const write = (client: typeof ada) => client.post('/api/posts', { sourceId, title: 'T', content: 'c' });
  const { id } = (await write(ada)).json<FullPost>();

  const tried = [await write(eve), await eve.patch(`/api/posts/${id}`, { title: 'Mine' }),
    await sendForm(hub, eve, `/api/posts/${id}/attachments`, formWith({})), await eve.delete(`/api/posts/${id}`),
    await eve.form(`/posts/${id}/delete`), await eve.page(`/posts/${id}/delete`), await eve.page(`/posts/${id}/edit`)];
  assert.deepEqual(tried.map(({ status }) => status), Array(7).fill(403));
  assert.equal((await write(admin)).status, 201);
  assert.equal((await admin.patch(`/api/posts/${id}`, { title: 'By the house' })).status, 200);
  assert.equal((await ada.delete(`/api/posts/${id}`)).status, 204);
  for (const gone of [await ada.delete(`/api/posts/${id}`), await hub.anybody.get(`/api/posts/${id}`)]) assert.equal(gone.status, 404);
});

test('posts are written for sources of own posts alone', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const feed = await startOrigin(t, { '/feed': serving(() => rss('Owls', [{ guid: '1', title: 'Hoot' }])) });
  const sourceId = await addFeed(ada, `${feed.url}/feed`);
  const postId = (await ada.get('/api/posts')).json<{ items: FullPost[] }>().items[0]?.id;

  const created = await ada.post('/api/posts', { sourceId, title: 'T', content: 'c' });
  assert.equal(created.status, 409, created.text);
  assert.equal((await ada.patch(`/api/posts/${postId}`, { title: 'Mine' })).status, 409);
  assert.equal((await sendForm(hub, ada, `/api/posts/${postId}/attachments`, formWith({}))).status, 409);
});

test('PATCH changes what it names and leaves the rest, and says when', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const written = {
    sourceId, title: 'Before', content: 'old words', url: 'https://a.test/', publishedAt: '2030-01-01T00:00:00Z',
  };
  const before = (await client.post('/api/posts', written)).json<FullPost>();
  hub.passTime(60_000);

  const renamed = await client.patch(`/api/posts/${before.id}`, { title: 'After' });
  assert.equal(renamed.status, 200, renamed.text);
  assert.deepEqual(renamed.json(), { ...before, title: 'After', updatedAt: '2030-01-15T12:01:00.000Z' });
  const rewritten = await client.patch(`/api/posts/${before.id}`, { content: 'new words', url: null });
  const { title, url, contentHtml, publishedAt } = rewritten.json<FullPost>();
  assert.deepEqual([title, url, contentHtml, publishedAt], ['After', null, '<p>new words</p>', before['publishedAt']]);
  assert.deepEqual(titlesIn(await hub.anybody.get('/api/posts?q=new')), ['After']);
  assert.deepEqual(titlesIn(await hub.anybody.get('/api/posts?q=old')), []);

  const wrong = await client.patch(`/api/posts/${before.id}`, { title: '', url: 'x', contentType: 'a' });
  assert.deepEqual([wrong.status, pointersOf(wrong).sort()], [422, ['/contentType', '/title', '/url']]);
});

test('a post is at once in timeline, search, source and feeds, and out of them when it is deleted', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const places = [
    '/api/posts', '/api/posts?q=nightjar', `/api/posts?source=${sourceId}`, '/', '/posts.atom', '/posts.json',
    `/sources/${sourceId}.atom`, `/sources/${sourceId}.json`,
  ];
  const showing = async (words: RegExp): Promise<boolean[]> => {
    const pages = await Promise.all(places.map((path) => hub.anybody.send('GET', path)));
    return pages.map(({ text }) => words.test(text));
  };
  assert.deepEqual(await showing(/Churring/), places.map(() => false));

  const written = await client.post('/api/posts', { sourceId, title: 'Churring', content: 'A nightjar sings.' });
  const { id } = written.json<FullPost>();
  assert.deepEqual(await showing(/Churring/), places.map(() => true));
  await client.patch(`/api/posts/${id}`, { title: 'Purring' });
  assert.deepEqual(await showing(/Purring/), places.map(() => true));
  await client.delete(`/api/posts/${id}`);
  assert.deepEqual(await showing(/urring/), places.map(() => false));
});
