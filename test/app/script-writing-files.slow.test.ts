// Protects writing with pictures by keyboard in a real browser: files go up at once and stand in the text, keys write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemsAt } from '../support/accounts.ts';
import { openBrowser } from '../support/browser.ts';
import { filesToChoose } from '../support/chosen-files.ts';
import { hubWithOwnPosts } from '../support/own-posts.ts';
import { path, signIn } from '../support/page-visits.ts';
import { pdf, png } from '../support/sample-files.ts';
import { requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const [CTRL, SHIFT, END, ENTER, TAB] = ['\ue009', '\ue008', '\ue010', '\ue007', '\ue004'];

/** Pastes a picture as a browser does when somebody presses Ctrl+V. */
const PASTE = `
  const bytes = Uint8Array.from(atob(arguments[0]), (character) => character.charCodeAt(0));
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([bytes], 'image.png', { type: 'image/png' }));
  const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
  document.querySelector('[name=content]').dispatchEvent(event);`;

test('a post with two pictures is written, previewed and published by keyboard; a refused file takes nothing with it', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada } = await hubWithOwnPosts(t);
  const { choose } = filesToChoose(t, { 'paper.pdf': pdf(), 'not.png': 'no picture' });
  const browser = await openBrowser(t);
  await signIn(browser, hub.address, 'ada', hub.password, '/write');
  const text = () => browser.run<string>(`return document.querySelector('[name=content]').value`);
  const names = () => browser.run<string[]>(`return [...document.querySelectorAll('.files li[data-name]:not(:has(progress)) .name')].map((one) => one.textContent)`);
  const keys = (...pressed: string[]) => browser.type('[name=content]', pressed.join(''));

  assert.equal(await browser.run('return document.activeElement.name'), 'title');
  await browser.press(...'Owls at dusk', TAB);
  assert.equal(await browser.run('return document.activeElement.name'), 'content');
  await keys('Five ', CTRL, 'b', CTRL, 'owls', END, '.', ENTER, ENTER);
  for (const width of [40, 50]) await browser.run(PASTE, png({ width, height: 30 }).toString('base64'));
  await waitUntil('both pictures are there', async () => (await names()).length === 2);
  assert.deepEqual(await names(), ['image.png', 'image-2.png']);
  assert.equal(await text(), 'Five **owls**.\n\n![](image.png)\n![](image-2.png)\n');
  await browser.type('.files li:nth-child(2) [data-alt]', 'Two [young] owls');
  assert.equal(await text(), 'Five **owls**.\n\n![](image.png)\n![Two \\[young\\] owls](image-2.png)\n');

  await choose(browser, 'not.png', 'paper.pdf');
  await waitUntil('the paper is there', async () => (await names()).length === 3);
  assert.match(await browser.text('.files li .fault:not([hidden])'), /not\.png/);
  assert.match(await text(), /\[paper\.pdf\]\(paper\.pdf\)$/);
  assert.doesNotMatch(await text(), /not\.png/);
  assert.match(await text(), /owls\]\(image-2\.png\)/);

  await keys(CTRL, SHIFT, 'p', SHIFT, CTRL);
  await waitUntil('the preview shows both pictures', () =>
    browser.run<boolean>(`const all = [...document.querySelectorAll('.preview img')]; return all.length === 2 && all.every((image) => image.naturalWidth > 0)`));
  assert.equal(await browser.text('.preview h3'), 'Owls at dusk');
  assert.deepEqual((await browser.complaints()).filter((line) => !/favicon|415/.test(line)), []);

  await keys(CTRL, ENTER, CTRL);
  await waitUntil('the post is published', async () => (await path(browser)).startsWith('/posts/1'));
  const [post] = await itemsAt<{ contentHtml: string; attachments: { filename: string }[] }>(ada, '/api/posts');
  assert.deepEqual(post?.attachments.map(({ filename }) => filename), ['image.png', 'image-2.png', 'paper.pdf']);
  assert.match(post?.contentHtml ?? '', /<strong>owls<\/strong>[^]*alt="Two \[young\] owls"[^]*<a href="[^"]*paper\.pdf">paper\.pdf<\/a>/);

  await browser.press('e');
  await waitUntil('the text is being edited', () => browser.run<boolean>(`return document.activeElement.name === 'content'`));
  await browser.press('!');
  assert.match(await text(), /paper\.pdf\)!$/);
  await browser.type('.files li:nth-child(1) [data-alt]', 'Five owls');
  await keys(CTRL, ENTER, CTRL);
  await waitUntil('the post is saved', async () => (await path(browser)).endsWith('said=post-saved'));
  assert.match((await itemsAt<{ contentHtml: string }>(ada, '/api/posts'))[0]?.contentHtml ?? '', /alt="Five owls"[^]*<\/a>!/);
});
