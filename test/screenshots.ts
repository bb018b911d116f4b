// Every page of the hub in every state, at two widths, light and dark, as pictures in the folder `screenshots`, which
// git ignores. `npm run screenshots -- settings` makes those with that word in their names.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBrowser } from './support/browser.ts';
import { EVERY_PAGE, visit } from './support/every-page.ts';
import { livedInHub } from './support/lived-in-hub.ts';
import { PROJECT_ROOT } from './support/run-program.ts';
import { wellHub } from './support/well-hub.ts';

const FOLDER = join(PROJECT_ROOT, 'screenshots');
const WIDTHS = [390, 1280];
const HEIGHT = 900;
const wanted = (process.env['SCREENSHOTS'] ?? '').split(' ').filter(Boolean);

test('every page is shown', async (t) => {
  if (wanted.includes('overview-well')) return;
  mkdirSync(FOLDER, { recursive: true });
  const [lived, browser] = [await livedInHub(t), await openBrowser(t)];
  const states = EVERY_PAGE.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)));
  for (const state of states) {
    await browser.setWindowSize(1280, HEIGHT);
    await visit(browser, lived, state);
    for (const scheme of ['light', 'dark'] as const) {
      await browser.setColorScheme(scheme);
      for (const width of WIDTHS) {
        await browser.wholePage(join(FOLDER, `${state.name}-${width}-${scheme}.png`), width, HEIGHT);
      }
    }
  }
});

test('the overview of a hub in which all is well is shown as far as a large window shows it', async (t) => {
  if (wanted.length > 0 && !wanted.includes('overview-well')) return;
  mkdirSync(FOLDER, { recursive: true });
  const [{ hub, ada }, browser] = [await wellHub(t), await openBrowser(t)];
  await browser.setWindowSize(1250, 1066);
  await browser.become(hub.address, ada.cookies);
  await browser.goto(`${hub.address}/admin`);
  assert.match(await browser.text('.verdict'), /^All is well\./);
  await browser.screenshot(join(FOLDER, 'overview-well.png'));
});
