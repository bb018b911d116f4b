// Protects the writing of own posts in a browser without scripts, refusals included.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openBrowser, type Browser } from '../../support/browser.ts';
import { filesToChoose } from '../../support/chosen-files.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { follow, path, signIn } from '../../support/page-visits.ts';
import { jpeg, pdf, png } from '../../support/sample-files.ts';
import { requireTool } from '../../support/tools.ts';

const OWN_POSTS = 'form:has([name=kind][value=native])';
const SEND = '.bar .primary';
const TEXT = 'First line\nsecond <b>line</b> & more\n\nAnother paragraph';

async function valueOf(browser: Browser, name: string): Promise<string> {
  return browser.run(`return document.querySelector('main [name=' + arguments[0] + ']').value`, name);
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
