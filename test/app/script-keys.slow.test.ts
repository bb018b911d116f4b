// Protects the script of members' pages by itself: keys, focus, reading and starring in place, and what comes anew.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { path } from '../support/page-visits.ts';
import { startScriptPages } from '../support/script-pages.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('chromedriver');
const ESCAPE = '\ue00c';
const ENTER = '\ue007';

/** The pages in a browser, on the list. `press` sends keys to what has the focus. */
async function openPages(t: TestContext) {
  const pages = await startScriptPages(t);
  const browser = await openBrowser(t);
  await browser.goto(`${pages.address}/`);
  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) {
      const isSomewhere = await browser.run<boolean>('return document.activeElement !== document.body');
      await browser.type(isSomewhere ? ':focus' : 'body', key);
    }
  };
  const arrive = (at: string): Promise<void> => waitUntil(at, async () =>
    await path(browser) === at && browser.run<boolean>('return document.readyState === "complete"'));
  return { pages, browser, press, arrive, row: () => rowOf(browser) };
}

function rowOf(browser: Browser): Promise<string | null> {
  return browser.run(`return document.activeElement.closest('.row')?.dataset.id ?? null`);
}

const state = (browser: Browser, id: number): Promise<unknown[]> => browser.run(`
  const row = document.querySelector('.row[data-id="${id}"]');
  const [seen, star] = row.querySelectorAll('button');
  const [isRead, isStarred] = ['read', 'starred'].map((name) => row.classList.contains(name));
  return [isRead, seen.ariaPressed, isStarred, star.ariaPressed, seen.value, star.value];`);

const UNREAD = [false, 'false', false, 'false', '1', '1'];

test('a member reads a list by keys alone, and the keyboard focus follows', async (t) => {
  const { browser, press, arrive, row } = await openPages(t);

  await press('j');
  assert.equal(await row(), '1', 'the first in sight');
  await press('j', 'j', 'n', 'k', 'p');
  assert.equal(await row(), '2');
  await press('A');
  assert.equal(await row(), null);
  await press(ESCAPE);
  assert.equal(await row(), '2', 'back where it was when the menu was asked for');
  await press('k', 'k', 'k');
  assert.equal(await row(), '1', 'there is none above');
  for (let n = 0; n < 34; n++) await press('j');
  assert.equal(await row(), '30', 'nor below the last');
  assert.equal(await browser.run(`
    const { top, bottom } = document.activeElement.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;`), true, 'in sight');
  await press('o');
  await arrive('/unread/posts/30');
  await press('k');
  await arrive('/unread/posts/29');
  await press('j');
  await arrive('/unread/posts/30');
  await press(ESCAPE);
  await arrive('/');
  assert.equal(await row(), '30', 'back at the post that was left');
  await press('k', ENTER);
  await arrive('/unread/posts/29');
  await press(ESCAPE);
  await arrive('/');
  await press('-');
  await arrive('/settings/rules/new?post=29');
  await press('g', 'a');
  await arrive('/all');
  await press('g', 's');
  await arrive('/starred');
  await press('g', 'w');
  await arrive('/write');
  await press('g', 'u');
  await arrive('/');
  assert.deepEqual(await browser.complaints(), []);
});

test('what could not be stored is put back, and the page says so', async (t) => {
  const { pages, browser, press } = await openPages(t);
  pages.answers.status = 503;

  await press('j', 'm');
  const isTold = () => browser.run<boolean>(`return document.querySelector('#failed').matches(':popover-open')`);
  await waitUntil('the page says so', isTold);
  assert.deepEqual(await state(browser, 1), UNREAD);
  await press(ESCAPE);
  assert.equal(await isTold(), false);
  pages.answers.status = 204;
  await press('m');
  await waitUntil('the next time works', () => pages.read.has(1));
});

test('what is pressed again before the hub has answered is sent after the answer', async (t) => {
  const { pages, browser, press } = await openPages(t);
  let answer = () => {};
  pages.answers.held = new Promise((resolve) => answer = resolve);

  await press('j', 'm', 's', 'm', 's', 's');
  assert.deepEqual(await state(browser, 1), [false, 'false', true, 'true', '1', '0']);
  assert.deepEqual(pages.sent, ['POST /posts/1/read read=1', 'POST /posts/1/star star=1'], 'one request at a time for each');
  answer();
  await waitUntil('the last state of each is stored', () => !pages.read.has(1) && pages.starred.has(1));
  assert.deepEqual(pages.sent.filter((line) => line.startsWith('POST')),
    ['POST /posts/1/read read=1', 'POST /posts/1/star star=1', 'POST /posts/1/read read=0']);
});

test('space goes down a post and at its end to the next unread one', async (t) => {
  const { pages, browser, press, arrive } = await openPages(t);
  await browser.goto(`${pages.address}/unread/posts/5`);

  await press(' ');
  await waitUntil('it is scrolled', async () => await browser.run<number>('return scrollY') > 0);
  assert.equal(await path(browser), '/unread/posts/5');
  await browser.run('scrollTo(0, document.documentElement.scrollHeight)');
  await press(' ');
  await arrive('/unread/posts/6');
  const isRead = (): Promise<boolean> => browser.run(`return document.querySelector('button.seen').ariaPressed === 'true'`);
  await press('m');
  await waitUntil('the post is unread again', async () => !await isRead());
  await press('v');
  await waitUntil('the original is opened beside it', () => pages.sent.includes('GET /original/6'));
  await waitUntil('the post is read', isRead);
  assert.equal(await path(browser), '/unread/posts/6');
});

test('space starts and stops a player at the end of a post, and leads nowhere', async (t) => {
  const { pages, browser, press } = await openPages(t);
  await browser.goto(`${pages.address}/unread/posts/5`);
  await browser.run(`
    const player = document.querySelector('main').appendChild(document.createElement('audio'));
    player.controls = true;
    player.focus({ preventScroll: true });
    scrollTo(0, document.documentElement.scrollHeight);
    addEventListener('keydown', (event) => document.body.dataset.wasTaken = event.defaultPrevented);`);

  await press(' ');
  assert.equal(await browser.run('return document.activeElement.localName'), 'audio');
  assert.equal(await browser.run('return document.body.dataset.wasTaken'), 'false');
  await press('v'); // which is struck after it
  await waitUntil('the original is opened beside it', () => pages.sent.includes('GET /original/5'));
  assert.equal(await path(browser), '/unread/posts/5');
});

test('keys are not taken from who types, uses a menu, has a dialog open or has switched them off', async (t) => {
  const { pages, browser, press, row } = await openPages(t);
  const strike = (init: object) => browser.run(`document.activeElement.dispatchEvent(
    new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...arguments[0] }))`, init);

  await press('/');
  await press('jjmA?');
  assert.equal(await browser.run(`return document.querySelector('[name=q]').value`), 'jjmA?');
  assert.equal(await row(), null);
  await press(ESCAPE);
  for (const held of ['ctrlKey', 'metaKey', 'altKey', 'isComposing']) {
    await strike({ key: 'j', code: 'KeyJ', [held]: true });
  }
  assert.equal(await row(), null);
  await press('A');
  const isOpen = (selector: string) => browser.run(`return document.querySelector('${selector}').open`);
  assert.equal(await isOpen('details'), true);
  assert.equal(await browser.run('return document.activeElement.textContent'), 'All');
  await press(ESCAPE);
  assert.equal(await isOpen('details'), false);
  assert.equal(await browser.run('return document.activeElement.textContent'), 'Mark read');
  await press('?');
  assert.equal(await isOpen('#help'), true);
  await press('j');
  assert.equal(await row(), null);
  await press(ESCAPE);
  assert.equal(await isOpen('#help'), false);

  await strike({ key: 'о', code: 'KeyJ' });
  assert.equal(await row(), '1', 'by its place where letters are Cyrillic');
  await strike({ key: 'J', code: 'KeyC' });
  assert.equal(await row(), '2', 'by its letter where they are Latin, with Caps Lock too');
  await strike({ key: 'é', code: 'Digit2' });
  assert.equal(await row(), '2');

  pages.answers.keys = 'off';
  await browser.goto(`${pages.address}/`);
  await press('j', '/', '?');
  assert.equal(await row(), null);
  assert.equal(await browser.run('return document.activeElement.localName'), 'body');
});

test('new posts are told of, asked for more and more seldom, and only while the page is looked at', async (t) => {
  const { pages, browser } = await openPages(t);
  await browser.runFirst(`
    window.wait = window.setTimeout;
    window.waits = [];
    window.setTimeout = (act, ms) => waits.push(ms / 1000) && wait(act, ms / 1000);`);
  await browser.goto(`${pages.address}/`);
  const asked = () => pages.sent.filter((line) => line.startsWith('GET /reading/fresh')).length;
  const shown = () => browser.run<string | null>(`
    const line = document.querySelector('.fresh');
    return line.hidden ? null : line.innerText;`);
  const look = (isHidden: boolean) => browser.run(`
    Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));`);

  await waitUntil('it asks, and again', () => asked() >= 4);
  assert.equal(pages.sent.find((line) => line.includes('fresh')), 'GET /reading/fresh?kind=unread&newest=30');
  assert.deepEqual(await browser.run('return waits.slice(0, 4)'), [60, 120, 240, 480]);
  assert.equal(await shown(), null);
  pages.answers.fresh = 1;
  await waitUntil('one is told of', async () => await shown() === 'One new post.');
  pages.answers.fresh = 12;
  await waitUntil('more are told of', async () => await shown() === '12 new posts.');
  pages.answers.status = 503;
  const before = asked();
  await waitUntil('it asks again where that fails', () => asked() > before + 1);
  assert.equal(await shown(), '12 new posts.');
  assert.ok(await browser.run<number>('return Math.max(...waits)') <= 900, 'every quarter of an hour at least');

  await look(true);
  await browser.run('return new Promise((done) => wait(done, 100))'); // for what is under way
  const asBefore = asked();
  await browser.run('return new Promise((done) => wait(done, 1_500))');
  assert.equal(asked(), asBefore);
  await look(false);
  await waitUntil('it asks again', () => asked() > asBefore);
});
