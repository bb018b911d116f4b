// Protects writing by keyboard alone: a post with two pictures takes no more steps than in GitHub’s comment box.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemsAt } from '../support/accounts.ts';
import { openBrowser } from '../support/browser.ts';
import { hubWithOwnPosts, type ShownPost } from '../support/own-posts.ts';
import { path, signIn } from '../support/page-visits.ts';
import { png } from '../support/sample-files.ts';
import { requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const [CTRL, SHIFT, ENTER, TAB] = ['\ue009', '\ue008', '\ue007', '\ue004'];

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
  if (!requireTool(t, 'chromedriver')) return;
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
