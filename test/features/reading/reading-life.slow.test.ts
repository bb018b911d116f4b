// Protects a person's whole life with the hub in a browser: by keyboard with the script, by pointing without it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeSetUpLink } from '../../../src/features/accounts/join-hub.ts';
import { filesToChoose } from '../../support/chosen-files.ts';
import {
  back, focused, go, heads, newBrowser, rows, states, tabTo, toggle, unread, ENTER, ESCAPE, type Life,
} from '../../support/hands.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { POSTS_OF_EACH, startHundredFeeds } from '../../support/hundred-feeds.ts';
import { follow, leave, path, submit } from '../../support/page-visits.ts';
import { pdf, png } from '../../support/sample-files.ts';
import { requireTool } from '../../support/tools.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PASSWORD = 'a good long password';
const PAGE = 30;

/** How far things have moved on the page that is shown, without anybody doing anything (CLS). */
const SHIFTS = `
  return await new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) sum += value;
    }).observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => done(sum), 100);
  });`;

for (const scripts of [true, false]) {
  test(`a life with the hub, ${scripts ? 'read by keyboard alone' : 'without the script'}`, async (t) => {
    if (!requireTool(t, 'chromedriver')) return;
    const hub = await startHub(t);
    const life = { hub, scripts, feeds: await startHundredFeeds(t, hub.now()), browser: await newBrowser(t, scripts) };
    const files = filesToChoose(t, {
      'feeds.opml': life.feeds.opml, 'owl.png': png({ width: 40, height: 30 }), 'paper.pdf': pdf(),
    });

    await joinAndImport(life, () => files.choose(life.browser, 'feeds.opml'));
    await readThirty(life);
    await backToThePlace(life);
    await search(life);
    await markAllAndUndo(life);
    await write(life, () => files.choose(life.browser, 'owl.png', 'paper.pdf'));
    const invitation = await invite(life);
    const other = { ...life, browser: await newBrowser(t, scripts) };
    await secondPerson(other, invitation);
    await onThePhone(other);

    // No page could reach another machine, and would have complained; of this one, publishers know who has asked them.
    for (const { browser } of [life, other]) assert.deepEqual(await browser.complaints(), []);
    const byBrowsers = life.feeds.origin.requests.filter(({ headers }) => headers['user-agent'] !== 'ContentHub/test');
    assert.deepEqual(new Set(byBrowsers.map((one) => one.path)), new Set(['/stories/29-0']), 'opened on purpose');
  });
}

/** The first account is made, and a hundred feeds come along: pages say how far that is, and what became of each. */
async function joinAndImport({ hub, feeds, browser }: Life, chooseFile: () => Promise<void>): Promise<void> {
  await browser.goto(`${hub.address}/join/${makeSetUpLink(hub.handle)}`);
  await submit(browser, { username: 'ada', password: PASSWORD });
  await browser.goto(`${hub.address}/sources`);
  await follow(browser, 'a[href="/sources/import"]');
  await chooseFile();
  await browser.click('[value=public]');
  await follow(browser, 'form[action="/sources/import"] .actions button');
  assert.equal(await heads(browser), 'Feeds are being imported');
  assert.match(await browser.text('main'), /1 of 104 lines of the file/);

  const isSeen = async (words: RegExp): Promise<boolean> => words.test(await browser.text('main').catch(() => ''));
  const isDone = new AbortController();
  const working = workUntil(hub, isDone.signal);
  try {
    await waitUntil('progress is seen', () => isSeen(/\d+ of 102 new feeds fetched for the first time/));
    feeds.release();
    await waitUntil('the page says by itself that all is done', async () =>
      await heads(browser).catch(() => '') === 'Feeds imported', 60_000);
  } finally {
    isDone.abort();
    await working;
  }
  assert.match(await browser.text('.lead'), /^102 added, 1 already in your list, 1 not added\. 2 added feeds cannot be fetched: see below\.$/);
  const report = await browser.text('main');
  assert.match(report, /Gone\n.*\nAdded, but it cannot be fetched: .*404/);
  assert.match(report, /A bookmarklet\n.*\nNot added: the address is not an http or https address/);
  assert.match(report, /in News \/ Local/);
  assert.equal(report.match(/^Added$/gm)?.length, feeds.titles.length);
}

async function workUntil(hub: Hub, isDone: AbortSignal): Promise<void> {
  while (!isDone.aborted) {
    await hub.work(1_000);
    await new Promise(setImmediate);
  }
}

/** Thirty posts, one after the other, in the ways in which one goes on; some are starred. */
async function readThirty(life: Life): Promise<void> {
  const { hub, browser, scripts, feeds } = life;
  await follow(browser, '.rail a[href="/"]');
  assert.equal(await unread(browser), String(feeds.titles.length * POSTS_OF_EACH));
  assert.equal(await rows(browser), PAGE);
  if (scripts) {
    await browser.press('j', 'j', 'k');
    assert.equal(await focused(browser), 'Story 0-0');
  }
  await toggle(life, 'm', '.row:first-child button.seen');
  await toggle(life, 'm', '.row button.seen');
  await toggle(life, 's', '.row button.star');
  await go(life, ['o'], '.row h3 a');

  for (let n = 0; n < 30; n++) {
    assert.equal(await heads(browser), `Story ${n}-0`);
    assert.match(await path(browser), new RegExp(`^/unread/posts/\\d+`));
    if (n % 10 === 9) await toggle(life, n % 20 === 9 ? 's' : 'f', 'button.star');
    if (n === 29) break;
    hub.passTime(1_000);
    if (n % 3 === 0) await go(life, ['j'], '.bar [rel=next]');
    else if (!scripts) await follow(browser, '[data-next-unread]');
    else await leave(browser, 'space', () => browser.press(' '), true);
  }
  assert.ok(!scripts || await browser.run<number>(SHIFTS) < 0.001, 'nothing moves');

  if (scripts) await browser.press('v');
  else await follow(browser, '[data-original]');
  await waitUntil('the original is shown', () => feeds.origin.requests.some((one) => one.path === '/stories/29-0'));
  if (scripts) await waitUntil('in a window of its own', async () => await browser.closeOthers() === 1);
  else await back(browser, /^\/unread\/posts/);
  await go(life, ['k'], '.bar [rel=prev]');
  assert.equal(await heads(browser), 'Story 28-0', 'what was just read is still in the list');
  await go(life, [ESCAPE], '[rel=up]');
  assert.deepEqual(await states(browser), { rows: PAGE, read: 30, starred: 4 });
  assert.equal(await unread(browser), '270');
  if (scripts) assert.equal(await focused(browser), 'Story 28-0', 'where one was');
}

/** Down on the next page, a post is opened, starred, and left by the browser's own button. */
async function backToThePlace(life: Life): Promise<void> {
  const { browser, scripts } = life;
  const link = '.row:nth-child(20 of .row) h3 a';
  if (scripts) await tabTo(browser, '.more a');
  await go(life, [ENTER], '.more a');
  if (scripts) await browser.press(...'j'.repeat(20));
  else await browser.run(`document.querySelector('${link}').scrollIntoView({ block: 'center' })`);
  assert.equal(scripts ? await focused(browser) : await browser.text(link), 'Story 49-0');
  const place = await browser.run<number>('return scrollY');
  assert.ok(place > 300);

  await go(life, ['o'], link);
  assert.equal(await heads(browser), 'Story 49-0');
  await toggle(life, 's', 'button.star');
  if (scripts) {
    await back(browser, /^\/\?since=/);
    await waitUntil('what was done since is shown', async () => await rows(browser, '.row.starred') === 1);
    assert.equal(await focused(browser), 'Story 49-0');
    assert.equal(await browser.run('return scrollY'), place);
  } else {
    await follow(browser, '[rel=up]');
    assert.ok(await browser.run(`
      const { top, bottom } = document.querySelector('${link}').getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight`), 'the row is in sight');
  }
  assert.deepEqual(await states(browser), { rows: PAGE, read: 1, starred: 1 });
}

async function search(life: Life): Promise<void> {
  const { browser, scripts } = life;
  await go(life, ['g', 'a'], '.rail a[href="/all"]');
  assert.match(await heads(browser), /^All posts/);
  if (scripts) await browser.press('/');
  else await browser.click('.find [name=q]');
  await leave(browser, 'search', () => browser.press(...'word42x1', ENTER));
  assert.deepEqual([await rows(browser), await browser.text('.row h3')], [1, 'Story 42-1']);
  assert.equal(await browser.text('.row mark'), 'word42x1');
  if (scripts) await browser.press('j');
  await go(life, ['o'], '.row h3 a');
  assert.equal(await heads(browser), 'Story 42-1');
  await go(life, [ESCAPE], '[rel=up]');
  assert.match(await path(browser), /^\/all\?.*q=word42x1/);
  await go(life, [ESCAPE], '[rel=up]');
  assert.match(await heads(browser), /^All posts/);
}

async function markAllAndUndo(life: Life): Promise<void> {
  const { browser, scripts } = life;
  if (scripts) {
    await browser.press('?');
    await waitUntil('the keys are shown', () => browser.run<boolean>(`return document.querySelector('#help').open`));
    await browser.press(ESCAPE);
  }
  await go(life, ['g', 'u'], '.rail a[href="/"]');
  assert.equal(await unread(browser), '268');
  if (scripts) {
    await browser.press('A');
    await tabTo(browser, '#mark button:not([name])');
    await leave(browser, 'all', () => browser.press(ENTER));
  } else {
    await browser.click('.bar .drop:has(#mark) summary');
    await follow(browser, '#mark button:not([name])');
  }
  assert.equal(await browser.text('.said span'), '268 posts marked as read.');
  assert.deepEqual([await rows(browser), await unread(browser)], [0, '0']);
  assert.match(await browser.text('main'), /You have read everything/);
  if (scripts) {
    await tabTo(browser, '.skip');
    await browser.press(ENTER);
    await tabTo(browser, '.said button');
  }
  await go(life, [ENTER], '.said button');
  assert.deepEqual([await rows(browser), await unread(browser)], [PAGE, '268']);
  await go(life, ['g', 's'], '.rail a[href="/starred"]');
  assert.equal(await rows(browser), 5);
}

async function write({ hub, browser, scripts }: Life, chooseFiles: () => Promise<void>): Promise<void> {
  await browser.goto(`${hub.address}/sources/add`);
  const form = 'form:has([name=kind][value=native])';
  await browser.click('details.panel summary');
  await browser.type(`${form} [name=title]`, 'Harbour log');
  await browser.click(`${form} [value=public]`);
  await follow(browser, `${form} button`);
  await follow(browser, 'main a[href*="/write"]');
  await browser.type('main [name=title]', 'Low water');
  await browser.type('main [name=content]', 'They sit on mud until six: https://tides.test/east');
  await chooseFiles();
  await browser.run(`
    const buttons = [...document.querySelectorAll('button')];
    buttons.find((button) => button.textContent.trim() === 'Publish').id = 'publish';`);
  await follow(browser, '#publish');
  assert.equal(await heads(browser), 'Low water');
  assert.match(await browser.text('[role=status]'), /Your post is published\./);
  // The script puts a link to the PDF into the text, beside the address that was typed.
  assert.equal(await browser.run(`return document.querySelectorAll('.prose a').length`), scripts ? 2 : 1);
  const images = `return [...document.images].filter((image) => image.complete && image.naturalWidth === 40).length`;
  assert.equal(await browser.run(images), 1);
  assert.match(await browser.text('main'), /paper\.pdf/);
}

async function invite({ hub, browser }: Life): Promise<string> {
  await browser.goto(`${hub.address}/admin/invitations`);
  await submit(browser, { currentPassword: PASSWORD }, 'main form:has([name=currentPassword]) button');
  return browser.run<string>(`return /\\/join\\/[\\w-]+/.exec(document.querySelector('main').innerHTML)[0]`);
}

/** Follows what the first person has, and has states of their own. */
async function secondPerson({ hub, browser }: Life, invitation: string): Promise<void> {
  await browser.goto(hub.address + invitation);
  await submit(browser, { username: 'bob', password: PASSWORD });
  await browser.goto(`${hub.address}/`);
  assert.match(await browser.text('main'), /You have read everything|Follow a source/);
  await browser.goto(`${hub.address}/sources/1`);
  await follow(browser, 'form[action="/sources/1/follow"] button');
  await follow(browser, '.rail a[href="/"]');
  assert.equal(await unread(browser), '3');
  assert.deepEqual(await states(browser), { rows: 3, read: 0, starred: 0 });
  await browser.goto(`${hub.address}/starred`);
  assert.equal(await rows(browser), 0, 'stars are one’s own');
}

async function onThePhone({ hub, browser }: Life): Promise<void> {
  await browser.setPageWidth(390);
  const fits = async (): Promise<void> =>
    assert.equal(await browser.run('return document.documentElement.scrollWidth'), 390, await path(browser));
  await browser.goto(`${hub.address}/`);
  await fits();
  await browser.click('.menu-button');
  await follow(browser, '.rail a[href="/all"]');
  await fits();
  await browser.click('.menu-button');
  await follow(browser, '.rail a[href="/"]');
  await follow(browser, '.row h3 a');
  await fits();
  const takesRoom = `return document.querySelector('#state').checkVisibility()`;
  assert.equal(await browser.run(takesRoom), false, 'the form of the buttons, between the ends of the bar');
  const star = () => browser.run<string>(`return document.querySelector('button.star').ariaPressed`);
  assert.equal(await star(), 'false');
  await browser.click('button.star');
  await waitUntil('it is starred', async () => await star() === 'true');
  await follow(browser, '[rel=up]');
  assert.deepEqual(await states(browser), { rows: 3, read: 1, starred: 1 });
  for (const page of ['/starred', '/sources', '/sources/1', '/sources/add', '/settings', '/public']) {
    await browser.goto(hub.address + page);
    await fits();
  }
}
