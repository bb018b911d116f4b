// Protects the writing of own posts in a browser without scripts, refusals included.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addNotes } from '../../support/accounts.ts';
import { openBrowser, type Browser } from '../../support/browser.ts';
import { filesToChoose } from '../../support/chosen-files.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { hubWithOwnPosts, type ShownPost } from '../../support/own-posts.ts';
import { follow, path, signIn } from '../../support/page-visits.ts';
import { jpeg, pdf, png } from '../../support/sample-files.ts';
import { requireTool } from '../../support/tools.ts';

const OWN_POSTS = 'form:has([name=kind][value=native])';
const SEND = '.bar .primary';
const TEXT = 'First line\nsecond <b>line</b> & more\n\nAnother paragraph';

async function clear(browser: Browser, name: string): Promise<void> {
  await browser.run(`document.querySelector('main [name=' + arguments[0] + ']').value = ''`, name);
}

async function valueOf(browser: Browser, name: string): Promise<string> {
  return browser.run(`return document.querySelector('main [name=' + arguments[0] + ']').value`, name);
}

async function choose(browser: Browser, name: string, value: string): Promise<void> {
  await browser.click(`main [name=${name}] option[value="${value}"]`);
}

/** A browser without scripts whose person `ada` is signed in, on the page with that path. */
async function browserOf(t: TestContext, hub: Hub, page: string): Promise<Browser> {
  const browser = await openBrowser(t);
  await browser.disableScripts();
  await signIn(browser, hub.address, 'ada', hub.password, page);
  return browser;
}

test('a person makes a source for their own posts, writes a post with files, changes the post and deletes it, all without scripts', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub } = await hubWith(t, ['ada']);
  const { choose: chooseFiles } = filesToChoose(t, {
    'owl.png': png({ width: 40, height: 30 }), 'paper.pdf': pdf(), 'vole.jpg': jpeg({ width: 16, height: 8 }),
  });
  const browser = await browserOf(t, hub, '/sources/add');

  await browser.click('details.panel summary');
  await browser.type(`${OWN_POSTS} [name=title]`, 'Field notes');
  await browser.click(`${OWN_POSTS} [value=public]`);
  await follow(browser, `${OWN_POSTS} button`);
  assert.equal(await browser.text('h1'), 'Field notes');

  await follow(browser, 'a[href="/write?source=1"]');
  await browser.type('[name=title]', 'Owls at dusk');
  await browser.type('[name=content]', TEXT);
  await chooseFiles(browser, 'owl.png', 'paper.pdf');
  await follow(browser, SEND);
  assert.equal(await path(browser), '/posts/1?said=post-published');
  assert.equal(await browser.text('h1'), 'Owls at dusk');
  assert.equal(await browser.text('.prose'), 'First line second line & more\nAnother paragraph');
  assert.equal(await browser.run('return document.images[0].complete && document.images[0].naturalWidth'), 40);
  const image = await browser.run<string>('return new URL(document.images[0].src).pathname');
  const files = `return [...document.querySelectorAll('.files a')].map((link) => link.textContent)`;
  assert.deepEqual(await browser.run(files), ['owl.png', 'paper.pdf']);

  await browser.click('.bar .drop summary');
  await follow(browser, 'a[href="/posts/1/edit"]');
  assert.equal(await valueOf(browser, 'title'), 'Owls at dusk');
  assert.equal(await valueOf(browser, 'content'), TEXT);
  await browser.type('[name=title]', ', and at dawn');
  await chooseFiles(browser, 'vole.jpg');
  await follow(browser, SEND);
  assert.equal(await browser.text('h1'), 'Owls at dusk, and at dawn');
  assert.deepEqual(await browser.run(files), ['owl.png', 'paper.pdf', 'vole.jpg']);

  await browser.click('.bar .drop summary');
  await follow(browser, 'a[href="/posts/1/edit"]');
  await browser.type('[name=title]', ' too');
  await follow(browser, '.files li:nth-child(2) button');
  assert.equal(await path(browser), '/posts/1/edit?said=deleted');
  assert.equal(await valueOf(browser, 'title'), 'Owls at dusk, and at dawn too');
  await follow(browser, SEND);
  assert.deepEqual(await browser.run(files), ['owl.png', 'vole.jpg']);
  await browser.click('.bar .drop summary');
  await follow(browser, 'a[href="/posts/1/delete"]');
  await follow(browser, 'button.danger');
  assert.equal(await path(browser), '/sources/1?said=post-deleted');
  assert.match(await browser.text('main'), /This source has no posts yet/);
  assert.equal((await hub.anybody.get(image)).status, 404);
});

test('one writes from anywhere, on a phone and without scripts too; the first time a place for it is made on the way', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada } = await hubWith(t, ['ada']);
  const browser = await browserOf(t, hub, '/');
  await browser.setWindowSize(390, 844);
  await browser.click('.menu-button');
  await follow(browser, '.rail a[href="/write"]');
  await browser.type('[name=title]', '   ');
  await browser.click('[value=private]');
  await follow(browser, 'main form button');
  assert.equal(await browser.run('return document.activeElement.name'), 'title');
  assert.match(await browser.text('[role=alert]'), /[Tt]itle/);
  await browser.type('[name=title]', 'Field notes');
  await follow(browser, 'main form button');
  assert.equal(await path(browser), '/write?source=1&said=own-source-made');
  assert.match(await browser.text('.places'), /Field notes\s+Only you can read it/);

  await browser.type('[name=title]', 'Owls at dusk');
  await browser.type('[name=content]', TEXT);
  await follow(browser, '.bar [name=preview]');
  assert.match(await browser.text('.preview'), /Owls at dusk\s+First line/);
  assert.match(await browser.text('.side'), /Saved, with its files, just now/);
  await follow(browser, SEND);
  assert.equal(await path(browser), '/posts/1?said=post-published');
  assert.equal((await hub.anybody.get('/posts/1')).status, 404);

  await browser.click('.bar .drop summary');
  await follow(browser, '.bar a[href="/write"]');
  assert.equal(await browser.run('return document.querySelector("[name=sourceId]").checked'), true);
  await addNotes(ada, 'For all');
  await browser.goto(`${hub.address}/write`);
  assert.match(await browser.text('.places'), /Field notes\s+Only you can read it.\s+For all\s+Everyone can read it/);
  assert.equal(await browser.run('return document.querySelector("[name=sourceId]:checked").value'), '1');
  await browser.type('[name=title]', 'Two places');
  await browser.click('[name=sourceId][value="2"]');
  await follow(browser, '.bar [name=preview]');
  assert.equal(await browser.run('return document.querySelector("[name=sourceId]:checked").value'), '2');
  await browser.goto(`${hub.address}/public`);
  await follow(browser, 'a[href="/write"]');
  assert.equal(await valueOf(browser, 'title'), '', 'a new post');
  await follow(browser, '.drafts .name');
  assert.equal(await valueOf(browser, 'title'), 'Two places', 'the draft');
});

test('a refusal says what is wrong, keeps all that was typed, and the form can be sent again', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const env = { UPLOAD_MAX_BYTES: '20000', UPLOAD_QUOTA_BYTES: '30000' };
  const { hub } = await hubWithOwnPosts(t, env);
  const { choose: chooseFiles } = filesToChoose(t, {
    'page.html': '<p>x</p>', 'text.png': 'no image', 'broken.png': png({ width: 9, height: 9 }).subarray(0, 60),
    'large.txt': 'x'.repeat(20_001), 'huge.txt': 'x'.repeat(100_000), 'a.txt': 'a'.repeat(19_000),
    'b.txt': 'b'.repeat(19_000), 'good.txt': 'good', 'empty.txt': '',
  });
  const browser = await browserOf(t, hub, '/write');
  await browser.type('[name=title]', 'Kept "title" <b>');
  await browser.type('[name=content]', `\n\n${TEXT}`);
  await browser.run(`document.querySelector('main details').open = true`);
  await browser.type('[name=url]', 'https://x.test/a?b=1&c');
  const cases: [files: string[], message: RegExp][] = [
    [['page.html'], /Files of this type are not accepted\. The name must end in one of: \.png/],
    [['good.txt', 'text.png'], /The name says that the file is a PNG image, but the file’s content is something else/],
    [['broken.png'], /damaged|not whole|breaks off|ends/],
    [['empty.txt'], /The file is empty/],
    [['large.txt'], /at most (20000 bytes|20 KiB|19\.5 KiB)/],
    [['huge.txt'], /at most/],
    [['a.txt', 'b.txt'], /exceed the file quota of the account: \d+ KiB are left/],
  ];
  for (const [files, message] of cases) {
    await chooseFiles(browser, ...files);
    await follow(browser, SEND);
    assert.match(await browser.text('[role=alert]'), message, files.join());
    assert.match(await browser.text('.hint'), /choose the files again/);
    assert.equal(await valueOf(browser, 'title'), 'Kept "title" <b>', files.join());
    assert.equal(await valueOf(browser, 'content'), `\n\n${TEXT}`, files.join());
    assert.equal(await valueOf(browser, 'url'), 'https://x.test/a?b=1&c', files.join());
    assert.equal(await browser.run(`return document.querySelector('main details').open`), true);
  }
  await chooseFiles(browser, 'good.txt');
  await clear(browser, 'title');
  await browser.type('[name=title]', '   ');
  await follow(browser, SEND);
  assert.match(await browser.text('[role=alert]'), /[Tt]itle/);
  assert.equal(await valueOf(browser, 'content'), `\n\n${TEXT}`);

  assert.equal((await hub.anybody.get('/api/posts')).json<{ items: unknown[] }>().items.length, 0);
  await clear(browser, 'title');
  await browser.type('[name=title]', 'At last');
  await chooseFiles(browser, 'good.txt');
  await follow(browser, SEND);
  assert.equal(await browser.text('h1'), 'At last');
});

test('while a required scanner is away files are refused for now, what was typed stays, and posts without files go on', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub } = await hubWithOwnPosts(t, { VIRUS_SCAN_URL: 'http://127.0.0.1:8/', VIRUS_SCAN_REQUIRED: '1' });
  const { choose: chooseFiles } = filesToChoose(t, { 'a.txt': 'a' });
  const browser = await browserOf(t, hub, '/write');

  await browser.type('[name=title]', 'Kept');
  await browser.type('[name=content]', TEXT);
  await chooseFiles(browser, 'a.txt');
  await follow(browser, SEND);
  assert.match(await browser.text('[role=alert]'), /so the hub accepts no files now\. Try again in a minute/);
  assert.equal(await valueOf(browser, 'content'), TEXT);
  await follow(browser, SEND);
  assert.equal(await browser.text('h1'), 'Kept', 'without the file');
});

test('a post is changed in the form in which it was written, and what is not touched stays as it is', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const write = async (content: string, contentType: string): Promise<ShownPost> => {
    const answer = await ada.post('/api/posts', { sourceId, title: 'T', content, contentType, url: 'https://x.test/' });
    assert.equal(answer.status, 201, answer.text);
    return answer.json();
  };
  const written: [content: string, contentType: string][] = [
    [TEXT, 'text/plain'], ['', 'text/plain'], ['one\ntwo\n\nthree', 'text/plain'], ['&amp; <i>"\'', 'text/plain'],
    ['<h2>Head</h2><p>Some <b>bold</b> &amp; <a href="https://x.test/">link</a></p>', 'text/html'],
    ['<ul><li>one</li><li>two</li></ul>', 'text/html'],
    ['<p>See <img src="https://x.test/owl.png" alt="An &quot;owl&quot;"> here</p>', 'text/html'],
  ];
  const browser = await browserOf(t, hub, '/sources');
  for (const [content, contentType] of written) {
    const { id, contentHtml } = await write(content, contentType);
    await browser.goto(`${hub.address}/posts/${id}/edit`);
    assert.equal(await valueOf(browser, 'contentType'), contentType, content);
    if (contentType === 'text/plain') assert.equal(await valueOf(browser, 'content'), content);
    await browser.type('[name=title]', '!');
    await follow(browser, SEND);

    const after = (await ada.get(`/api/posts/${id}`)).json<ShownPost & { url: string }>();
    assert.deepEqual([after.title, after.contentHtml, after.url], ['T!', contentHtml, 'https://x.test/'], content);
  }

  const { id } = await write('plain', 'text/plain');
  await browser.goto(`${hub.address}/posts/${id}/edit`);
  await browser.run(`document.querySelector('main details').open = true`);
  await choose(browser, 'contentType', 'text/html');
  await clear(browser, 'content');
  await browser.type('[name=content]', '<em>markup</em><script>alert(1)</script>');
  await clear(browser, 'url');
  await follow(browser, SEND);
  const after = (await ada.get(`/api/posts/${id}`)).json<ShownPost & { url: string | null }>();
  assert.deepEqual([after.contentHtml, after.url], ['<em>markup</em>', null]);
});

test('a form for own posts that is refused stays open with what was typed; forms of others are for their owners only', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  const browser = await browserOf(t, hub, '/sources/add');

  await browser.click('details.panel summary');
  await browser.type(`${OWN_POSTS} [name=title]`, '   ');
  await browser.click(`${OWN_POSTS} [value=private]`);
  await follow(browser, `${OWN_POSTS} button`);
  assert.match(await browser.text(`${OWN_POSTS} [role=alert]`), /[Tt]itle/);
  const chosen = await browser.run(`return document.querySelector(arguments[0] + ' :checked').value`, OWN_POSTS);
  assert.equal(chosen, 'private');
  assert.equal(await browser.run('return document.querySelectorAll("[role=alert]").length'), 1);

  await ada.post('/api/posts', { sourceId: 1, title: 'T', content: 'x' });
  for (const page of ['/write?source=1', '/posts/1/edit']) {
    assert.equal((await ada.page(page)).status, 200);
    assert.equal((await bob.page(page)).status, 403, page);
    assert.equal((await hub.anybody.page(page)).status, 303, page);
  }
  for (const page of ['/write?source=9', '/posts/9/edit']) assert.equal((await ada.page(page)).status, 404);
});
