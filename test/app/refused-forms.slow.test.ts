// Protects whoever a form refuses, in a browser without scripts: the focus is on the field that says why.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { hubWithOwnPosts } from '../support/own-posts.ts';
import { follow, signIn } from '../support/page-visits.ts';
import { requireTool } from '../support/tools.ts';

/** A page, its form, what is typed there, and the field in which that is wrong; browsers' own checks are off. */
const FORMS: [page: string, form: string, typed: Record<string, string>, field: string, said: RegExp][] = [
  ['/sources/add', 'form[action="/sources/add"]', { url: 'ftp://owls.test/' }, 'url', /must be the http or https address/],
  ['/sources/add', 'details form:has([value=native])', { title: 'Owls', visibility: 'friends' }, 'visibility', /one of/],
  ['/sources?folder=Birds', 'form[action="/sources/folders"]', { name: 'x'.repeat(101) }, 'name', /1 to 100 characters/],
  ['/sources/1/settings', 'form[action="/sources/1/follow"]', { folder: 'x'.repeat(101) }, 'folder', /1 to 100 characters/],
  ['/sources/1/settings', 'form[action="/sources/1"]', { title: ' ' }, 'title', /1 to 200 characters/],
  ['/settings', 'form[action="/settings/tokens"]', { name: 'p', currentPassword: 'wrong' }, 'currentPassword', /is wrong/],
  ['/admin/invitations', 'main form.panel', { hours: '0', currentPassword: 'x' }, 'hours', /from 1 to/],
  ['/admin/hub', 'form[action="/admin/hub"]', { name: ' ' }, 'name', /1 to/],
  ['/admin/audit', 'form.filter', { target: 'source:x' }, 'target', /must be a kind/],
  ['/write', '#post', { title: ' ' }, 'title', /1 to 500 characters/],
];

/** The field with the focus, what describes it, and whether that is seen. */
const FOCUSED = `
  const field = document.activeElement;
  const fault = document.getElementById(field.getAttribute('aria-describedby'));
  const { top, bottom } = field.getBoundingClientRect();
  const bar = document.querySelector('.bar')?.getBoundingClientRect().bottom ?? 0;
  return { name: field.name, invalid: field.ariaInvalid, said: fault?.textContent ?? '',
    isSeen: fault?.checkVisibility() === true && top >= bar && bottom <= innerHeight };`;

async function send(browser: Browser, form: string, typed: Record<string, string>): Promise<void> {
  await browser.run(`
    const form = document.querySelector(arguments[0]);
    form.noValidate = true;
    for (const [name, value] of Object.entries(arguments[1])) {
      const field = form.elements[name][0] ?? form.elements[name];
      Object.assign(field, field.type === 'radio' ? { value, checked: true } : { value });
    }
    for (const details of document.querySelectorAll('details')) details.open = true;`, form, typed);
  const button = form === '#post' ? '.bar .primary' : `${form} button:not(.link)`;
  await follow(browser, button);
}

test('the field that was refused has the focus, is in sight on a phone, and is described by the reason', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada } = await hubWithOwnPosts(t);
  await ada.form('/sources/1/follow', { folder: 'Birds' });
  const browser = await openBrowser(t);
  await browser.disableScripts();
  await browser.setWindowSize(390, 844);
  await signIn(browser, hub.address, 'ada', hub.password);
  for (const [page, form, typed, field, said] of FORMS) {
    await browser.goto(hub.address + page);
    await send(browser, form, typed);
    const found = await browser.run<{ name: string; invalid: string; said: string; isSeen: boolean }>(FOCUSED);
    assert.deepEqual([found.name, found.invalid, found.isSeen], [field, 'true', true], `${page} ${form}`);
    assert.match(found.said, said);
  }
});
