// Protects whoever uses the pages: names, contrast, targets, order, narrow windows, on every page in every state.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { noteRun } from '../../src/features/backups/note-run.ts';
import { noteError } from '../../src/features/errors/error-store.ts';
import { beatOfWorker } from '../../src/features/history/record-history.ts';
import { jobs } from '../../src/features/hub/hub.ts';
import { notifications } from '../../src/features/notifications/notification-store.ts';
import { noteRuns } from '../../src/features/sources/note-runs.ts';
import { syncState } from '../../src/features/sources/sync-state-store.ts';
import { DAY, MINUTE } from '../../src/platform/clock.ts';
import { openBrowser } from '../support/browser.ts';
import { EVERY_PAGE, visit } from '../support/every-page.ts';
import { startHub } from '../support/hub.ts';
import { livedInHub } from '../support/lived-in-hub.ts';
import {
  FIND_FAINT_INPUTS, FIND_FAINT_TEXT, FIND_FAULTS, FIND_LOOSE_ENDS, FIND_SMALL_TARGETS,
} from '../support/page-visits.ts';
import { addFeedDueAt } from '../support/stored-sources.ts';
import { testWith } from '../support/tools.ts';

const test = testWith('chromedriver');
const WIDE = [1280, 900] as const;
const NARROW = [320, 700] as const;
const HALF = [640, 900] as const;

/** What browsers complain of where an answer is an error, or a publisher's image cannot be had. */
const EXPECTED = /Failed to load resource: the server responded with a status of (4\d\d|5\d\d)/;

const UNFOLD = `for (const part of document.querySelectorAll('main details')) part.open = true`;
const ENLARGE = `
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('html { font-size: 200% !important }');
  document.adoptedStyleSheets = [sheet];
`;
const WIDTHS = 'return [innerWidth, document.documentElement.scrollWidth]';
/** Words of what a page is called that are broken into pieces below one another. */
const FIND_BROKEN_HEADS = `return [...document.querySelectorAll('.bar > h1')].flatMap(({ firstChild: text }) =>
  [...(text.data ?? '').matchAll(/\\S+/g)].filter(({ 0: word, index }) => {
    const range = new Range();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    return range.getClientRects().length > 1;
  }).map(([word]) => word))`;
const ELSEWHERE = `return performance.getEntriesByType('resource').map(({ name }) => name)
  .filter((name) => !name.startsWith(location.origin + '/'))`;

/** Selectors of work.css that something on the page has, if the page does not load work.css. */
const FIND_MISSING_RULES = `
  if ([...document.styleSheets].some(({ href }) => href?.endsWith('/work.css'))) return [];
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(arguments[0]);
  const selectorsOf = (rules) => [...rules].flatMap((rule) => rule.selectorText ? [rule.selectorText] : selectorsOf(rule.cssRules ?? []));
  return selectorsOf(sheet.cssRules).filter((selector) => document.querySelector(selector.replace(/::[a-z-]+/g, '')))`;
const WORK_STYLES = readFileSync('src/app/frame/assets/work.css', 'utf8');

test('every page in every state can be used, read and understood, loads nothing from elsewhere, and fits a phone', async (t) => {
  const [lived, browser] = [await livedInHub(t), await openBrowser(t)];
  const faults: string[] = [];

  for (const state of EVERY_PAGE) {
    const note = (what: string, found: string[]): void => void faults.push(...found.map((one) => `${state.name}, ${what}: ${one}`));
    await browser.setWindowSize(...WIDE);
    await browser.setColorScheme('light');
    await browser.complaints();
    await visit(browser, lived, state);
    note('console', (await browser.complaints()).filter((complaint) => !EXPECTED.test(complaint)));
    note('elsewhere', await browser.run(ELSEWHERE));
    await browser.run(UNFOLD);
    note('without work.css', await browser.run(FIND_MISSING_RULES, WORK_STYLES));
    for (const script of [FIND_FAULTS, FIND_LOOSE_ENDS, FIND_SMALL_TARGETS]) note('wide', await browser.run(script));
    const papers = new Set();
    for (const scheme of ['light', 'dark'] as const) {
      await browser.setColorScheme(scheme);
      papers.add(await browser.run('return getComputedStyle(document.documentElement).backgroundColor'));
      for (const script of [FIND_FAINT_TEXT, FIND_FAINT_INPUTS]) note(scheme, await browser.run(script));
    }
    if (papers.size < 2) note('dark', ['as light as by day']);
    await browser.setWindowSize(...NARROW);
    note('narrow', await browser.run(FIND_SMALL_TARGETS));
    note('narrow', await browser.run(FIND_BROKEN_HEADS));
    const [inner, content] = await browser.run<[number, number]>(WIDTHS);
    if (content > inner) note('narrow', [`${content} wide in a window of ${inner}`]);
    await browser.setWindowSize(...HALF);
    await browser.run(ENLARGE);
    const [room, large] = await browser.run<[number, number]>(WIDTHS);
    if (large > room) note('text of twice the size', [`${large} wide in a window of ${room}`]);
  }

  assert.deepEqual(faults, []);
  await visit(browser, lived, { name: 'a door', who: 'nobody', path: '/join/unknown' });
  await browser.run(
    `document.querySelector('main').innerHTML = '<h1></h1><h3>x</h3><input name=x><a href="/y"></a><img src=z>'`,
  );
  assert.equal((await browser.run<string[]>(FIND_FAULTS)).length, 4, 'faults would be found');
  await browser.setWindowSize(...HALF);
  await browser.run(ENLARGE);
  await browser.run(`document.querySelector('main').style.minWidth = '25rem'`);
  const [inner, content] = await browser.run<[number, number]>(WIDTHS);
  assert.ok(content > inner, 'text that is enlarged would be found');
});

test('in compact lists a title that is longer than its line is cut off, and nothing scrolls sideways', async (t) => {
  const [lived, browser] = [await livedInHub(t), await openBrowser(t)];

  for (const state of EVERY_PAGE.filter(({ name }) => /^list(-all|-search)?$/.test(name))) {
    for (const width of [1280, 700]) {
      await browser.setWindowSize(width, 900);
      await visit(browser, lived, state);
      await browser.run(`document.documentElement.dataset.density = 'compact'`);
      assert.deepEqual(await browser.run(WIDTHS), [width, width], state.name);
    }
  }
});

test('what went wrong fits a phone although it has no place where a line may end, and markup in it stays words', async (t) => {
  const [hub, browser] = [await startHub(t), await openBrowser(t)];
  const ada = await hub.person('ada');
  const id = addFeedDueAt(hub, hub.now() + DAY, `https://a.test/${'u'.repeat(500)}`, 'T'.repeat(190));
  const words = `"><script>document.title = 'hurt'</script><img src=x>${'R'.repeat(500)}`;
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  const failed = { name: null, at: hub.now(), ok: false, verdict: 'failed', bytes: null, seconds: 1, problem: words } as const;
  await noteRun(hub.dataDir, 'backup', failed);
  syncState(hub.handle).recordFailure(id, words, { isFinal: true, timedOut: false });
  hub.db.write('run', () => noteRuns(hub.handle, id, [{ failed: 1, note: words, event: 'e'.repeat(128), bytes: 1e15 }]));
  beatOfWorker(hub.handle);
  hub.passTime(5 * MINUTE);
  beatOfWorker(hub.handle);
  await ada.post('/api/tokens', { name: 'N'.repeat(80), currentPassword: hub.password });
  notifications(hub.handle).add({ accountId: 1, kind: 'test', title: 'N'.repeat(190), path: '/' });
  noteError(hub.handle, new Error(words));
  jobs(hub.handle).enqueue({ kind: 'sync-source', payload: {}, dedupeKey: 'k'.repeat(160), maxAttempts: 1 });

  await browser.become(hub.address, ada.cookies);
  await browser.setPageWidth(320);
  for (const path of ['/admin', '/sources', `/sources/${id}`, `/sources/${id}/settings`, '/settings', '/notifications',
    '/admin/jobs?state=all', '/admin/errors']) {
    await browser.goto(`${hub.address}${path}`);
    await browser.run(UNFOLD);
    assert.deepEqual(await browser.run(WIDTHS), [320, 320], path);
    assert.equal(await browser.run(`return document.querySelectorAll('main :is(script, img[src=x])').length`), 0);
    assert.deepEqual(await browser.complaints(), [], path);
  }
});
