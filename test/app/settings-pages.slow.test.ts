// Protects the pages of settings, notifications, leaving and administration in a browser without scripts.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { DAY } from '../../src/platform/clock.ts';
import { jobs } from '../../src/features/hub/hub.ts';
import { workerQueue } from '../../src/features/hub/worker-jobs.ts';
import { addNotes, addPost, itemsAt } from '../support/accounts.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { createClient } from '../support/client.ts';
import { hubWith, type Hub } from '../support/hub.ts';
import { follow, path, signIn, submit } from '../support/page-visits.ts';
import { countRows } from '../support/stored-rows.ts';
import { testWith } from '../support/tools.ts';

const test = testWith('chromedriver');

async function openSettings(browser: Browser, hub: Hub, username: string): Promise<void> {
  await signIn(browser, hub.address, username, hub.password, '/settings');
  assert.equal(await path(browser), '/settings');
}

/** A hub with an administrator and bob, and a browser that runs no scripts. */
async function visit(t: TestContext) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const browser = await openBrowser(t);
  await browser.disableScripts();
  return { hub, ada, bob, browser };
}

test('a person changes name and password, makes and revokes a token, and signs out elsewhere, all without scripts', async (t) => {
  const { hub, bob, browser } = await visit(t);
  await openSettings(browser, hub, 'bob');

  await browser.run(`document.querySelector('[name=displayName]').value = ''`);
  await submit(browser, { displayName: 'Bob B.' }, 'form[action="/settings/name"] button');
  assert.match(await browser.text('nav.rail'), /Bob B\./);

  const form = 'form[action="/settings/tokens"]';
  await browser.type(`${form} [name=currentPassword]`, hub.password);
  await submit(browser, { name: 'my phone' }, `${form} button`);
  const token = await browser.text('code.secret');
  assert.equal((await hub.anybody.get('/api/account', { authorization: `Bearer ${token}` })).status, 200);
  await browser.goto(`${hub.address}/settings`);
  assert.doesNotMatch(await browser.text(), /hub_/, 'it was shown once');
  await follow(browser, 'form[action$="/revoke"] button');
  assert.equal((await hub.anybody.get('/api/account', { authorization: `Bearer ${token}` })).status, 401);

  assert.match(await browser.text('#sessions'), /This browser[^]*Another browser or app/);
  await browser.type('#sessions [name=currentPassword]', hub.password);
  await follow(browser, '#sessions .items button');
  assert.equal((await bob.get('/api/account')).status, 401);
  assert.doesNotMatch(await browser.text('#sessions'), /Another browser/);

  const change = 'form[action="/settings/password"] button';
  await submit(browser, { currentPassword: hub.password, newPassword: 'a new long password' }, change);
  assert.equal(await path(browser), '/settings?said=password-changed');
  assert.match(await browser.text('[role=status]'), /Password changed/);
  const again = createClient(hub.address);
  assert.equal((await again.post('/api/session', { username: 'bob', password: 'a new long password' })).status, 200);
});

test('a person follows a source, is notified, reads, finds it in the history and clears that, without scripts', async (t) => {
  const { hub, ada, browser } = await visit(t);
  const sourceId = await addNotes(ada, 'Owls');
  await openSettings(browser, hub, 'bob');

  await browser.goto(`${hub.address}/sources/${sourceId}`);
  await follow(browser, 'form[action$="/follow"] button');
  assert.match(await browser.text('[role=status]'), /added to your list/);
  await follow(browser, '.actions a[href$="/settings"]');
  await browser.click('#list [type=checkbox]');
  await follow(browser, '#list form button');
  for (const title of ['Barn owls', 'Tawny owls']) await addPost(ada, sourceId, title);
  await browser.goto(`${hub.address}/`);
  assert.match(await browser.text('nav.rail a[href="/notifications"] .count'), /^1/);
  await follow(browser, 'nav.rail a[href="/notifications"]');
  await follow(browser, 'main .title');
  assert.equal(await path(browser), `/sources/${sourceId}`);

  await follow(browser, '.rows li:last-child h3 a');
  assert.equal(await browser.text('h1'), 'Barn owls');
  await browser.goto(`${hub.address}/`);
  assert.doesNotMatch(await browser.text('main'), /Barn owls/);
  await follow(browser, 'nav.rail a[href="/all"]');
  assert.match(await browser.text('.row.read'), /Barn owls/);
  await follow(browser, 'a[href="/history"]');
  assert.match(await browser.text('main .items'), /Barn owls/);
  await follow(browser, 'form[action$="/forget"] button');
  assert.match(await browser.text('main'), /You have not read anything yet/);
  await browser.goto(`${hub.address}/posts/1`);
  await browser.goto(`${hub.address}/history`);
  await follow(browser, 'form[action="/history/clear"] button');
  assert.match(await browser.text('main'), /You have not read anything yet/);
});

test('leaving by the page: sources first, then password and DELETE, and nobody is signed in any more', async (t) => {
  const { hub, ada, bob, browser } = await visit(t);
  await addNotes(bob, 'To give');
  await addNotes(bob, 'To delete');
  await openSettings(browser, hub, 'bob');
  await follow(browser, 'a[href="/settings/delete"]');
  assert.match(await browser.text('main'), /You own sources[^]*To give[^]*To delete/);
  assert.equal(await browser.run('return document.querySelectorAll("main form").length'), 0);

  await follow(browser, 'a[href="/sources/1/transfer"]');
  await submit(browser, { username: 'ada' }, 'main form button');
  assert.equal(await path(browser), '/sources/1?said=source-transferred', 'it is public still');
  await browser.goto(`${hub.address}/settings/delete`);
  await follow(browser, 'a[href="/sources/2/delete"]');
  await follow(browser, 'button.danger');

  await browser.goto(`${hub.address}/settings/delete`);
  assert.match(await browser.text('main'), /Backups still contain your data/);
  await submit(browser, { currentPassword: 'not the password', confirmation: 'DELETE' }, 'button.danger');
  assert.match(await browser.text('[role=alert]'), /password is wrong/);
  await submit(browser, { currentPassword: hub.password, confirmation: 'DELETE' }, 'button.danger');

  assert.equal(await path(browser), '/goodbye');
  assert.doesNotMatch(await browser.text(), /Sign out/);
  await browser.goto(`${hub.address}/settings`);
  assert.equal(await path(browser), `/sign-in?next=${encodeURIComponent('/settings')}`);
  await hub.work();
  assert.equal(countRows(hub, 'accounts'), 1);
  assert.equal((await itemsAt(ada, '/api/notifications')).length, 1);
});

test('a person whose session ended gets the text back, and a link leads to a new password, without scripts', async (t) => {
  const { hub, ada, bob, browser } = await visit(t);
  await addNotes(bob);
  await openSettings(browser, hub, 'bob');
  await browser.goto(`${hub.address}/write`);
  hub.passTime(31 * DAY);
  await submit(browser, { title: 'Owls at dusk', content: 'Five of them.' }, '.bar .primary');
  assert.equal(await browser.text('h1'), 'Your session has ended');
  assert.match(await browser.text('[role=status]'), /choose the files again/);
  await submit(browser, { username: 'bob', password: hub.password }, 'main form button');
  assert.match(await path(browser), /^\/write/);
  assert.equal(await browser.run('return document.querySelector("[name=title]").value'), 'Owls at dusk');
  await follow(browser, '.bar .primary');
  assert.match(await path(browser), /^\/posts\//);

  await ada.post('/api/session', { username: 'ada', password: hub.password });
  const reset = { currentPassword: hub.password };
  const { url } = (await ada.post('/api/admin/accounts/2/reset-password', reset)).json<{ url: string }>();
  await browser.goto(hub.address + new URL(url).pathname);
  await submit(browser, { password: 'a new long password' }, 'main form button');
  assert.equal(await path(browser), '/');
  assert.match(await browser.text('nav.rail'), /bob/);
});

test('an administrator invites, retries a job and looks through the audit, without scripts', async (t) => {
  const { hub, browser } = await visit(t);
  jobs(hub.handle).enqueue({ kind: 'sync-source', payload: { sourceId: 1 }, dedupeKey: '1', maxAttempts: 1 });
  const [job] = workerQueue(hub.handle).claim('sync-source', 1);
  assert.ok(job);
  workerQueue(hub.handle).fail(job, new Error('it answered 500'));
  await openSettings(browser, hub, 'ada');

  await follow(browser, 'a[href="/admin"]');
  await follow(browser, 'nav.tabs a[href="/admin/jobs"]');
  assert.match(await browser.text('main .items'), /it answered 500/);
  await follow(browser, 'form[action$="/retry"] button');
  assert.match(await browser.text('main'), /No jobs in this state/);
  await follow(browser, 'nav.tabs a[href="/admin/invitations"]');
  await submit(browser, { currentPassword: hub.password }, 'main form button');
  assert.match(await browser.text('code.secret'), /\/join\//);
  await follow(browser, 'form[action$="/withdraw"] button');
  await follow(browser, 'nav.tabs a[href="/admin/audit"]');
  await browser.click('summary');
  await submit(browser, { actor: 'ada', target: 'invitation' }, '.filter button');
  assert.equal(await browser.run('return document.querySelectorAll("tbody tr").length'), 2);
  assert.match(await browser.text('tbody'), /invitation\.withdrawn[^]*invitation\.created/);
});
