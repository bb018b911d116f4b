// Protects pages on paper, in colours that a system forces, and for whoever wants nothing to move.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openBrowser, type Browser } from '../../support/browser.ts';
import { EVERY_PAGE, visit } from '../../support/every-page.ts';
import { livedInHub, type LivedInHub } from '../../support/lived-in-hub.ts';
import { requireTool } from '../../support/tools.ts';

async function openHub(t: TestContext): Promise<[LivedInHub, Browser]> {
  return [await livedInHub(t), await openBrowser(t)];
}

/** In the page: the elements of a selector that are drawn. */
const SHOWN = `
  const shown = (selector) => [...document.querySelectorAll(selector)]
    .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }));`;

test('on paper pages are their words, whole, and the addresses that links lead to; nothing there is to be clicked', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const [lived, browser] = await openHub(t);
  await browser.emulate('print');
  await browser.setPageWidth(700);
  const clickable = `${SHOWN} return shown('button, select, textarea, input, summary, nav, .rail, .said')
    .map((element) => element.outerHTML.slice(0, 120));`;
  const cut = `${SHOWN} return shown('h1, h2, h3, p, pre, td, .title').filter(({ scrollWidth, clientWidth }) =>
    clientWidth > 1 && scrollWidth > clientWidth + 1).map((element) => element.outerHTML.slice(0, 120));`;

  for (const state of EVERY_PAGE.filter(({ name }) => /^(list|post|own-post$|public|source$|sources$|history)/.test(name))) {
    await visit(browser, lived, state);
    assert.deepEqual(await browser.run(clickable), [], state.name);
    assert.deepEqual(await browser.run(cut), [], state.name);
    assert.equal(await browser.run('return document.documentElement.scrollWidth'), 700, state.name);
    assert.equal(await browser.run(`${SHOWN} return shown('h1').length`), 1, state.name);
    assert.equal(await browser.run('return getComputedStyle(document.body).color'), 'rgb(0, 0, 0)', state.name);
  }
  await browser.become(lived.hub.address, lived.ada.cookies);
  await browser.goto(`${lived.hub.address}/posts/3`);
  const printed = (selector: string) =>
    browser.run<string>(`return getComputedStyle(document.querySelector('${selector}'), '::after').content`);
  assert.match(await printed('.bar [data-original]'), /^"https:\/\/blog\.test\//, 'where the post is from');
  assert.equal(await printed('.prose sup a'), 'none', 'a footnote leads nowhere else');
  await browser.run(`document.querySelector('.prose').innerHTML = '<p><a href="https://tides.test/east">tides</a></p>'`);
  assert.equal(await printed('.prose a'), '" (https://tides.test/east)"');
  assert.ok(await browser.printedPages() >= 1);
});

test('in forced colours one sees where the focus is, what is unread, starred, chosen and wrong', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const [lived, browser] = await openHub(t);
  for (const scheme of ['light', 'dark']) {
    await browser.emulate('screen', { 'forced-colors': 'active', 'prefers-color-scheme': scheme });
    const go = async (name: string): Promise<void> => {
      const state = EVERY_PAGE.find((one) => one.name === name);
      await visit(browser, lived, state ?? assert.fail(name));
    };
    const style = (selector: string, property: string, pseudo = '') => browser.run<string>(`
      return getComputedStyle(document.querySelector('${selector}'), '${pseudo}').${property}`);
    const ground = async (): Promise<string> => style('body', 'backgroundColor');

    await go('list-all');
    await browser.press('j');
    assert.equal(await style('.row:focus-within', 'outlineStyle'), 'solid');
    assert.notEqual(await style('.row:not(.read) .dot', 'backgroundColor'), await ground());
    assert.equal(await style('.row.read .dot', 'backgroundColor'), 'rgba(0, 0, 0, 0)');
    const stars = [await style('.row.starred .star .icon', 'fill'), await style('.row:not(.starred) .star .icon', 'fill')];
    assert.notEqual(stars[0], stars[1]);
    assert.equal(await style('.rail .item[aria-current]', 'outlineStyle'), 'solid');

    await go('admin');
    assert.notEqual(await style('.tile.good dt', 'backgroundColor', '::before'), await ground(), 'lamps are lit');
    assert.notEqual(await style('.tile.warn dt', 'clipPath', '::before'), await style('.tile.good dt', 'clipPath', '::before'));
    assert.notEqual(await style('.plot .lines.c1', 'stroke'), await style('.plot .lines.c4', 'stroke'), 'web and worker');
    await go('source-add-refused');
    assert.equal(await style('[aria-invalid=true]', 'borderTopWidth'), '2px');
    await go('notifications');
    assert.notEqual(await style('.items .new .title', 'backgroundColor', '::before'), await ground());
  }
});

test('for whoever wants nothing to move, nothing does, on any page', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const [lived, browser] = await openHub(t);
  await browser.emulate('screen', { 'prefers-reduced-motion': 'reduce' });
  const moving = `return [...document.querySelectorAll('*')].filter((element) => {
    const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(element);
    return transitionDuration !== '0s' || animationName !== 'none' || scrollBehavior !== 'auto';
  }).map((element) => element.outerHTML.slice(0, 120));`;

  for (const state of EVERY_PAGE.filter(({ act }) => act === undefined)) {
    await visit(browser, lived, state);
    assert.deepEqual(await browser.run(moving), [], state.name);
  }
});
