// Protects reading by keyboard on the hub's own pages, as a person does it: open, read, star, go on, come back.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { addNotes, addPost } from '../support/accounts.ts';
import { openBrowser } from '../support/browser.ts';
import { hubWith } from '../support/hub.ts';
import { path, signIn } from '../support/page-visits.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('chromedriver');
const ESCAPE = '\ue00c';
const POSTS = 30;

async function openList(t: TestContext) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const sourceId = await addNotes(ada, 'Notes $& (7)');
  await bob.send('PUT', `/api/sources/${sourceId}/follow`, {
    body: '{"folder":"Harbour"}', headers: { 'content-type': 'application/json' },
  });
  for (let n = 1; n <= POSTS; n++) {
    hub.passTime(1_000);
    await addPost(ada, sourceId, `Post ${n}`, 'A paragraph of this post.\n\n'.repeat(40));
  }
  const browser = await openBrowser(t);
  await signIn(browser, hub.address, 'bob', hub.password, '/');
  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) {
      const isSomewhere = await browser.run<boolean>('return document.activeElement !== document.body');
      await browser.type(isSomewhere ? ':focus' : 'body', key);
    }
  };
  const arrive = (at: RegExp): Promise<void> => waitUntil(String(at), async () =>
    at.test(await path(browser)) && browser.run<boolean>('return document.readyState === "complete"'));
  const reading = async () => (await bob.get('/api/reading')).json<{ unread: number; starred: number }>();
  const count = (name: string) => browser.run<string | null>(`
    const found = [...document.querySelectorAll('[data-count="${name}"]')].map((element) => element.hidden ? null : element.firstChild.data);
    if (new Set(found).size > 1) throw new Error(found.join());
    return found[0] ?? null;`);
  const counted = () => browser.run<string[]>(`
    const shown = [...document.querySelector('#mark button:not([name]) > span').childNodes].filter(({ hidden }) => !hidden);
    return [document.title, shown.map(({ textContent }) => textContent).join('').trim()]`);
  return { hub, ada, bob, sourceId, browser, press, arrive, reading, count, counted };
}

test('a list is marked and starred without leaving it, its counts follow, and back finds its place', async (t) => {
  const { browser, press, arrive, reading, count, counted } = await openList(t);
  const rowOf = () => browser.run<string | null>(`return document.activeElement.closest('.row')?.querySelector('h3').textContent ?? null`);
  const classOf = (title: string) => browser.run<string>(`
    return [...document.querySelectorAll('.row')].find((row) => row.querySelector('h3').textContent === '${title}').className;`);

  await press('j', 'j', 'm', 's');
  assert.equal(await rowOf(), 'Post 29');
  assert.equal(await classOf('Post 29'), 'row read starred');
  await waitUntil('both are stored', async () => (await reading()).unread === 29 && (await reading()).starred === 1);
  await waitUntil('the counts follow', async () => await count('unread') === '29');
  assert.deepEqual(await counted(), ['Unread (29) · Content Hub', 'All 29']);
  await press('m');
  await waitUntil('it is unread again', async () => (await reading()).unread === 30);

  for (let n = 0; n < 15; n++) await press('j');
  assert.equal(await rowOf(), 'Post 14');
  const place = await browser.run<number>('return scrollY');
  assert.ok(place > 0);
  await press('o');
  await arrive(/^\/unread\/posts\/14\b/);
  await browser.run('history.back()');
  await arrive(/^\/(?:\?|$)/);
  await waitUntil('it is shown as read', async () => (await classOf('Post 14')).includes('read'));
  assert.equal(await browser.run('return scrollY'), place);
  assert.equal(await rowOf(), 'Post 14');
  await press('o');
  await arrive(/^\/unread\/posts\/14\b/);
  await press('A');
  assert.equal(await browser.run('return document.activeElement.textContent.replace(/\\s+/g, " ")'), 'Mark all above as read');
  await press(ESCAPE);
  assert.equal(await browser.run('return document.activeElement.ariaLabel'), 'More');
  await press(ESCAPE);
  await arrive(/^\/(?:\?|$)/);
  assert.equal(await rowOf(), 'Post 14', 'also by the link to the list');
});

test('the title of the window and the menu say nothing of posts when none is left, and count again', async (t) => {
  const { hub, bob, sourceId, browser, press, count, counted } = await openList(t);
  for (const [path, name] of [['/', 'Unread'], ['/folders/Harbour', 'Harbour'], [`/sources/${sourceId}`, 'Notes $& (7)']]) {
    await browser.goto(`${hub.address}${path}`);
    await bob.post('/api/reading/mark-read', { all: true });
    await press('j', 'm');
    await waitUntil('no count is shown', async () => await count('unread') === null);
    assert.deepEqual(await counted(), [`${name} · Content Hub`, 'All']);
    await press('m');
    await waitUntil('one is shown again', async () => await count('unread') === '1');
    assert.deepEqual(await counted(), [`${name} (1) · Content Hub`, 'All 1']);
  }
});

test('without the script the link back to a list shows what was read, at its place', async (t) => {
  const { hub, browser, arrive } = await openList(t);
  await browser.disableScripts();
  await browser.goto(`${hub.address}/`);
  const isUnread = (id: number): Promise<boolean> =>
    browser.run(`return !document.querySelector('#post-${id}').classList.contains('read')`);
  assert.equal(await isUnread(14), true);
  await browser.click('#post-14 h3 a');
  await arrive(/^\/unread\/posts\/14\b/);
  await browser.click('a[rel=up]');
  await arrive(/^\/(?:\?|$)/);
  assert.equal(await isUnread(14), false);
  const isInSight = `const { top, bottom } = document.querySelector('#post-14').getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight`;
  assert.equal(await browser.run(isInSight), true);
  await browser.click('#post-14 button.seen');
  await arrive(/said=post-unread/);
  assert.equal(await isUnread(14), true);
});

test('a person\'s time zone is told by the browser once, and nothing else of the kind is asked', async (t) => {
  const { bob, browser } = await openList(t);
  const zone = await browser.run<string>('return Intl.DateTimeFormat().resolvedOptions().timeZone');

  await waitUntil('it is stored', async () => (await bob.page('/settings')).text.includes(`value="${zone}"`));
  assert.doesNotMatch((await bob.page('/')).text, /data-zone/);
});
