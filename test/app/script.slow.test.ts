// Protects the one script of members' pages in a real browser: it runs, nothing else does, and all works without it.
import assert from 'node:assert/strict';
import { openBrowser } from '../support/browser.ts';
import { hubWith } from '../support/hub.ts';
import { follow, path, signIn } from '../support/page-visits.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('chromedriver');

test('the script runs under every name of the hub, on members\' pages only, and no other script does', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const browser = await openBrowser(t);

  for (const address of [hub.address, hub.address.replace('127.0.0.1', 'localhost')]) {
    await browser.goto(`${address}/`);
    assert.equal(await browser.run('return document.scripts.length'), 0);
    await signIn(browser, address, 'ada', hub.password, '/');
    await browser.type('body', '/');
    assert.equal(await browser.run('return document.activeElement.name'), 'q', address);
    assert.deepEqual(await browser.complaints(), []);
    await browser.run(`
      const add = (fields) => document.head.append(Object.assign(document.createElement('script'), fields));
      add({ textContent: 'document.title = "inline"' });
      add({ src: document.scripts[0].src });
      add({ src: document.scripts[0].src.replace('hub.js', 'other.js') });`);
    const refused = async () => (await browser.complaints()).filter((line) => /Content Security Policy/.test(line)).length;
    let seen = 0;
    await waitUntil('three scripts are refused', async () => (seen += await refused()) === 3);
    assert.notEqual(await browser.run('return document.title'), 'inline');
  }
});

test('after signing out, back shows nothing of what was private', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const browser = await openBrowser(t);
  await signIn(browser, hub.address, 'ada', hub.password, '/settings');

  await follow(browser, 'form[action="/sign-out"] button');
  await browser.run('setTimeout(() => history.back())');
  await waitUntil('the page asks to sign in', async () => (await path(browser)).startsWith('/sign-in'));
  assert.match(await browser.text(), /Password/);
});
