// Protects writing by keyboard alone: no more steps than in GitHub’s comment box, and files stand in the text at once.
import assert from 'node:assert/strict';
import { itemsAt } from '../support/accounts.ts';
import { openBrowser } from '../support/browser.ts';
import { filesToChoose } from '../support/chosen-files.ts';
import { hubWithOwnPosts, type ShownPost } from '../support/own-posts.ts';
import { path, signIn } from '../support/page-visits.ts';
import { pdf, png } from '../support/sample-files.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('chromedriver');
const [CTRL, SHIFT, END, ENTER, TAB] = ['\ue009', '\ue008', '\ue010', '\ue007', '\ue004'];

/** The steps to the same result in GitHub’s form for an issue, as GitHub documents its keys. */
const ON_GITHUB = [
  'c: the form', 'type the title', 'Tab: to the text', 'type the text', 'paste a picture', 'paste a picture',
  'move the caret, type what the first picture shows', 'move the caret, type what the second picture shows',
  'Ctrl+Shift+P: preview', 'Ctrl+Enter: publish', 'open the menu, choose “Edit”', 'type the change', 'Ctrl+Enter: save',
];

/** Pastes a picture where the keyboard’s focus is, as a browser does when somebody presses Ctrl+V. */
const PASTE = `
  const bytes = Uint8Array.from(atob(arguments[0]), (character) => character.charCodeAt(0));
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([bytes], 'image.png', { type: 'image/png' }));
  document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));`;

test('a post with two pictures is written, published and mended by keyboard, in no more steps than in GitHub’s form', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const browser = await openBrowser(t);
  await signIn(browser, hub.address, 'ada', hub.password, '/');
  const is = (what: string, script: string) => waitUntil(what, () => browser.run<boolean>(`return ${script}`));
  const at = (start: string) => waitUntil(`the page ${start}`, async () => (await path(browser)).startsWith(start));
  const chord = (...keys: string[]) => browser.type(':focus', keys.join(''));
  const paste = async (width: number, count: number) => {
    await browser.run(PASTE, png({ width, height: 30 }).toString('base64'));
    await is('the picture is there', `document.querySelectorAll('.files li:not(:has(progress))').length === ${count}`);
  };
  let taken = 0;
  const step = async (act: Promise<unknown>): Promise<void> => {
    taken += 1;
    await act;
  };

  await step(browser.press('g', 'w'));
  await is('the title has the focus', `document.activeElement.name === 'title'`);
  await step(browser.press(...'Owls at dusk'));
  await step(browser.press(TAB));
  await step(browser.press(...'Five owls.', ENTER, ENTER));
  await step(paste(40, 1));
  await step(paste(50, 2));
  await step(browser.press(TAB, TAB, ...'Five owls'));
  await step(browser.press(TAB, TAB, ...'The moon'));
  await step(chord(CTRL, SHIFT, 'p', SHIFT, CTRL));
  await is('the preview shows both pictures', `document.querySelectorAll('.preview img[alt]:not([alt=""])').length === 2`);
  await step(chord(CTRL, ENTER, CTRL));
  await at('/posts/1?');
  await step(browser.press('e'));
  await is('the text has the focus', `document.activeElement.name === 'content'`);
  await step(browser.press(...'And a bat.'));
  await step(chord(CTRL, ENTER, CTRL));
  await at('/posts/1?said=post-saved');

  await browser.press('e');
  await is('the text has the focus', `document.activeElement.name === 'content'`);
  await browser.press(ENTER, ENTER, ...'9. Nine', ENTER, ...'Ten', ENTER, ENTER, ...'Here');
  await chord(SHIFT, '\ue011', SHIFT);
  await browser.run(`
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', 'https://owls.example/');
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));`);
  const text = await browser.run<string>(`return document.querySelector('[name=content]').value`);
  assert.ok(text.endsWith('9. Nine\n10. Ten\n[Here](https://owls.example/)'), text);

  assert.ok(taken <= ON_GITHUB.length, `${taken} steps here, ${ON_GITHUB.length} on GitHub`);
  const [post] = await itemsAt<ShownPost>(ada, '/api/posts');
  assert.match(post?.contentHtml ?? '', /Five owls\.<\/p>[^]*alt="Five owls"[^]*alt="The moon"[^]*And a bat\./);
});

test('pictures and papers stand in the text where they were put; a refused file takes nothing with it', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const { choose } = filesToChoose(t, { 'paper.pdf': pdf(), 'not.png': 'no picture' });
  const browser = await openBrowser(t);
  await signIn(browser, hub.address, 'ada', hub.password, '/write');
  const text = () => browser.run<string>(`return document.querySelector('[name=content]').value`);
  const names = () => browser.run<string[]>(`return [...document.querySelectorAll('.files li[data-name]:not(:has(progress)) .name')].map((one) => one.textContent)`);
  const keys = (...pressed: string[]) => browser.type('[name=content]', pressed.join(''));

  await browser.press(...'Owls at dusk', TAB);
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
});
