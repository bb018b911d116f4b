// Protects what a member chooses for reading: colours, typeface and length of lines, marks by scrolling, and the keys.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { addNotes, addPost, sendJson } from '../support/accounts.ts';
import { openBrowser } from '../support/browser.ts';
import { hubWith } from '../support/hub.ts';
import { follow, path } from '../support/page-visits.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('chromedriver');

/** A member with three sources in a folder: one has 40 unread posts, one none, and one a single unread post. */
async function openReading(t: TestContext, chosen: Record<string, string>) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const ids = [];
  for (const [title, count] of [['A', 40], ['B', 0], ['C', 1]] as const) {
    const id = await addNotes(ada, title);
    await sendJson(bob, 'PUT', `/api/sources/${id}/follow`, {});
    for (let n = 0; n < count; n++) await addPost(ada, id, `${title}${n}`, 'Words of a post. '.repeat(100));
    ids.push(id);
  }
  await bob.form('/settings/preferences', { timeZone: 'UTC', keys: '1', ...chosen });
  const browser = await openBrowser(t);
  await browser.setWindowSize(1280, 700);
  await browser.become(hub.address, bob.cookies);
  return { hub, bob, ids, browser, go: (to: string): Promise<void> => browser.goto(hub.address + to) };
}

test('a member reads in the chosen colours, typeface and length of lines, whatever the system asks for', async (t) => {
  const { browser, go } = await openReading(t, { theme: 'dark', typeface: 'sans', measure: 'narrow' });
  await browser.setColorScheme('light');
  await go('/posts/1');
  const look = () => browser.run<{ paper: string; face: string; width: number }>(`
    const [paper, prose] = ['html', '.prose'].map((one) => document.querySelector(one));
    const faces = [prose, prose.appendChild(document.createElement('h2'))].map((one) => getComputedStyle(one).fontFamily);
    return { paper: getComputedStyle(paper).backgroundColor, face: faces.join(), width: prose.clientWidth };`);
  const { paper, face, width } = await look();
  assert.equal(paper, 'rgb(21, 23, 27)');
  assert.match(face, /system-ui|sans-serif/);
  assert.doesNotMatch(face, /Palatino|Georgia/);
  assert.equal(width, 29 * 16);
});

test('scrolling marks the posts as read that it has passed, and no post without scrolling or after a mark by hand', async (t) => {
  const { bob, browser, go } = await openReading(t, { marksScrolled: '1' });
  const unread = async () => (await bob.get('/api/reading')).json<{ unread: number }>().unread;
  await go('/');
  await browser.click('.row:nth-of-type(1) button.seen');
  await waitUntil('the first post is read', async () => await unread() === 40);
  await browser.click('.row:nth-of-type(1) button.seen');
  await waitUntil('the first post is unread again', async () => await unread() === 41);
  const passed = await browser.run<number>(`scrollTo(0, 600);
    return [...document.querySelectorAll('.row')].filter((row) => row.getBoundingClientRect().bottom < 0).length`);
  assert.ok(passed > 3, `${passed} rows were passed`);
  await waitUntil('the passed posts are read', async () => await unread() === 41 - (passed - 1));
  await browser.run(`sessionStorage.post = [...document.querySelectorAll('.row')].at(-1).id.slice(5)`);
  await go('/');
  await waitUntil('the page has moved to the last post', () => browser.run<boolean>('return scrollY > 600'));
  const before = await unread();
  const further = await browser.run<number>(`const top = [...document.querySelectorAll('.row')]
      .filter((row) => row.getBoundingClientRect().bottom < 0).length;
    await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
    scrollBy(0, 200);
    return [...document.querySelectorAll('.row')].filter((row) => row.getBoundingClientRect().bottom < 0).length - top`);
  await waitUntil('posts are read that the member passed', async () => await unread() < before);
  assert.equal(await unread(), before - further, 'not the posts that the page passed by itself');
});

test('keys lead to the next page of a list and to the next source with unread posts, past the end of either', async (t) => {
  const { ids: [a, , c], browser, go } = await openReading(t, {});
  const arrive = (at: RegExp): Promise<void> => waitUntil(String(at), async () =>
    at.test(await path(browser)) && browser.run<boolean>('return document.readyState === "complete"'));
  await go(`/sources/${a}`);
  for (const choice of ['newest unread', 'oldest unread']) {
    await browser.click('.drop:has(.choices) summary');
    await follow(browser, `.choices [value="${choice}"]`);
  }
  assert.equal(await browser.text('.row h3'), 'A0');
  await browser.run(`[...document.querySelectorAll('.row h3 a')].at(-1).focus()`);
  await browser.type(':focus', 'j');
  await arrive(/cursor=/);
  assert.equal(await browser.run(`return document.activeElement.closest('.row') === document.querySelector('.row')`), true);
  await browser.type('body', 'J');
  await arrive(new RegExp(`/sources/${c}$`));
  await browser.type('body', 'K');
  await arrive(new RegExp(`/sources/${a}$`));
  await browser.type('body', 'l');
  await arrive(/cursor=/);
});
