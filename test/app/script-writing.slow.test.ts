// Protects the script of the pages for writing in a real browser: what is typed is saved, and no tab loses its text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drafts } from '../../src/features/writing/draft-store.ts';
import { openBrowser } from '../support/browser.ts';
import { hubWithOwnPosts } from '../support/own-posts.ts';
import { path, signIn } from '../support/page-visits.ts';
import { requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

test('what is typed is saved while its author writes, and a text from another tab is replaced only when asked to', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada } = await hubWithOwnPosts(t);
  const browser = await openBrowser(t);
  await signIn(browser, hub.address, 'ada', hub.password, '/write');
  const signs = () => browser.run<string[]>(
    `return [...document.querySelectorAll('[data-sign]')].filter((sign) => !sign.hidden).map((sign) => sign.dataset.sign)`);
  const until = (sign: string) => waitUntil(`the page shows ${sign}`, async () => (await signs())[0] === sign);
  const saved = () => drafts(hub.handle).list(1).map(({ title, beginning }) => `${title}: ${beginning}`);

  await browser.type('[name=title]', 'Owls');
  await browser.type('[name=content]', 'Five.');
  await until('saved');
  assert.deepEqual(saved(), ['Owls: Five.']);
  await browser.type('[name=content]', ' Six.');
  await waitUntil('the draft is saved again', async () => saved().join() === 'Owls: Five. Six.');
  const form = drafts(hub.handle).list(1)[0]?.form ?? '';
  await browser.goto(`${hub.address}/write`);
  await browser.click('.drafts .name');
  await waitUntil('the draft is open', async () => await path(browser) === form);

  const { revision } = drafts(hub.handle).find(1, form) ?? assert.fail();
  const other = { title: 'Owls', content: 'Of another tab', tab: 'tab-of-somebody-', revision: String(revision) };
  assert.equal((await ada.post(`${form}/draft`, other)).status, 200);
  await browser.type('[name=content]', ' Seven.');
  await until('changed');
  assert.deepEqual(saved(), ['Owls: Of another tab']);
  await browser.click('[data-keep]');
  await until('saved');
  assert.deepEqual(saved(), ['Owls: Five. Six. Seven.']);

  await browser.run(`await fetch('/sign-out', { method: 'POST' })`.replace('await ', 'return '));
  await browser.type('[name=content]', ' Eight.');
  await until('ended');
  await browser.click('[name=save]');
  await waitUntil('the page asks to sign in', async () => /Your session has ended/.test(await browser.text()));
  await browser.type('[name=username]', 'ada');
  await browser.type('[name=password]', hub.password);
  await browser.click('main button');
  await waitUntil('the text is back', async () => (await path(browser)).startsWith(form));
  assert.equal(await browser.run('return document.querySelector("[name=content]").value'), 'Five. Six. Seven. Eight.');
});
