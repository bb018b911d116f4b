// Protects posts written in Markdown: shown as HTML, stored and exported as they were written, previewed as they will be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemsAt, pointersOf } from '../../support/accounts.ts';
import { formOn, hubWithOwnPosts, submitForm } from '../../support/own-posts.ts';
import { forgetTexts } from '../../support/stored-posts.ts';

type Shown = { id: number; title: string; contentHtml: string; content?: string; contentType?: string };

const MARKDOWN = '# Owls\n\n**Five** of them, see https://owls.test/a_(b)?x=1&y=2.\n\n- `https://code.test`\n- [x](https://x.test) <b onclick="x()">raw</b><script>alert(1)</script>';
const HTML = /<h1[^>]*>Owls<\/h1>\s*<p[^>]*><(?:strong|b)>Five<\/(?:strong|b)> of them, see <a href="https:\/\/owls\.test\/a_\(b\)\?x=1&amp;y=2"[^>]*>https:\/\/owls\.test\/a_\(b\)\?x=1&amp;y=2<\/a>\.<\/p>\s*<ul>\s*<li><code>https:\/\/code\.test<\/code><\/li>\s*<li><a href="https:\/\/x\.test\/"[^>]*>x<\/a> <b>raw<\/b><\/li>\s*<\/ul>/;

test('a post in Markdown is shown as HTML, and its author gets the text back as it was written', async (t) => {
  const { ada, hub, sourceId } = await hubWithOwnPosts(t);
  const made = await ada.post('/api/posts', { sourceId, title: 'Owls', content: MARKDOWN, contentType: 'text/markdown' });
  assert.equal(made.status, 201, made.text);
  const { id, contentHtml } = made.json<Shown>();
  assert.match(contentHtml.replace(/<h2/, '<h1').replace(/<\/h2/, '</h1'), HTML);
  const own = (await ada.get(`/api/posts/${id}`)).json<Shown>();
  assert.deepEqual([own.content, own.contentType], [MARKDOWN, 'text/markdown']);
  assert.equal((await hub.anybody.get(`/api/posts/${id}`)).json<Shown>().content, undefined);
  assert.match((await ada.page(`/posts/${id}/edit`)).text, /\*\*Five\*\* of them[^]*value="text\/markdown" selected/);
  const { posts } = (await ada.get('/api/account/export')).json<{ posts: Shown[] }>();
  assert.deepEqual(posts.map((post) => [post.contentHtml, post.content, post.contentType]), [[contentHtml, MARKDOWN, 'text/markdown']]);
});

test('each format is stored as it was written, and a change without a text keeps the text', async (t) => {
  const { ada, sourceId } = await hubWithOwnPosts(t);
  const texts = { 'text/plain': 'a\r\n**b** <i>', 'text/html': '<p>a<script>b</script>', 'text/markdown': '**a' };
  for (const [contentType, content] of Object.entries(texts)) {
    const { id, contentHtml } = (await ada.post('/api/posts', { sourceId, title: 'x', content, contentType })).json<Shown>();
    await ada.patch(`/api/posts/${id}`, { title: 'y' });
    const post = (await ada.get(`/api/posts/${id}`)).json<Shown>();
    assert.deepEqual([post.title, post.content, post.contentType, post.contentHtml], ['y', content, contentType, contentHtml]);
    await ada.patch(`/api/posts/${id}`, { content: '*c*', contentType: 'text/markdown' });
    const changed = (await ada.get(`/api/posts/${id}`)).json<Shown>();
    assert.deepEqual([changed.content, changed.contentHtml], ['*c*', '<p><em>c</em></p>\n']);
  }
});

test('the API previews a text in each format as a post would show it, for members only, and stores nothing', async (t) => {
  const { ada, hub, sourceId } = await hubWithOwnPosts(t);
  const preview = (content: string, contentType?: string) => ada.post('/api/preview', { content, contentType });
  assert.match((await preview('**a** <script>b</script>', 'text/markdown')).json<Shown>().contentHtml, /^<p><strong>a<\/strong> *<\/p>\s*$/);
  assert.equal((await preview('**a**')).json<Shown>().contentHtml, '<p>**a**</p>');
  assert.equal((await preview('<b>a', 'text/html')).json<Shown>().contentHtml, '<b>a</b>');
  const named = '![An owl](owl.png) [owl](owl.png)';
  const post = await ada.post('/api/posts', { sourceId, title: 'x', content: named, contentType: 'text/markdown' });
  assert.equal((await preview(named, 'text/markdown')).json<Shown>().contentHtml, post.json<Shown>().contentHtml);
  const refused = await preview('a', 'text/rtf');
  assert.deepEqual([refused.status, pointersOf(refused)], [422, ['/contentType']]);
  assert.equal((await preview('x'.repeat(400_001), 'text/markdown')).status, 422);
  assert.equal((await hub.anybody.post('/api/preview', { content: 'a' })).status, 401);
  assert.equal((await itemsAt(ada, '/api/posts')).length, 1);
});

test('the form offers Markdown first, and its preview and the preview beside the text show what will be published', async (t) => {
  const { ada, hub, sourceId } = await hubWithOwnPosts(t);
  const form = (await ada.page('/write')).text;
  assert.match(form, /<option value="text\/markdown" selected>Markdown/);
  const { path } = formOn(form);
  const fields = { sourceId: String(sourceId), title: 'Owls', content: MARKDOWN, contentType: 'text/markdown' };
  const shown = await submitForm(hub, ada, path, { ...fields, preview: '1' }, []);
  const beside = (await ada.post(`${path}/draft`, { ...fields, preview: '1' })).json<{ preview: string }>().preview;
  assert.ok(beside.includes('<strong>Five</strong>'), beside);
  assert.ok(shown.text.includes(beside), 'both previews are the same');
  const published = await submitForm(hub, ada, path, fields, []);
  const page = await ada.page(published.headers.get('location') ?? '');
  assert.ok(page.text.includes(beside), 'and so is the post');
});

test('a post that an earlier version stored without its text is edited as the text that its HTML shows', async (t) => {
  const { ada, hub, sourceId } = await hubWithOwnPosts(t);
  await ada.post('/api/posts', { sourceId, title: 'x', content: `See https://owls.test/.\n\n"Five" & '<&lt;>'.` });
  await ada.post('/api/posts', { sourceId, title: 'x', content: '<h2>Owls</h2>', contentType: 'text/html' });
  forgetTexts(hub);
  assert.match((await ada.page('/posts/1/edit')).text, /See https:\/\/owls\.test\/\.\n\n"Five" &amp; '&lt;&amp;lt;&gt;'\.<[^]*value="text\/plain" selected/);
  assert.match((await ada.page('/posts/2/edit')).text, /&lt;h2(?:&gt;|>)Owls[^]*value="text\/html" selected/);
  assert.equal((await ada.get('/api/posts/1')).json<Shown>().content, undefined);
});
