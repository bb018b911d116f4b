// Every page of the hub in every state, at two widths, light and dark, as pictures in the folder `screenshots`, which
// git ignores. `npm run screenshots -- settings` makes those with that word in their names.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { backupName } from '../src/features/backups/backup-name.ts';
import type { RunResult } from '../src/features/backups/backup-status.ts';
import { noteDrill, noteOffsite, noteRun, noteVerdict } from '../src/features/backups/note-run.ts';
import { heartbeats } from '../src/features/hub/hub.ts';
import { DAY, HOUR, MINUTE } from '../src/platform/clock.ts';
import { addFeed, addNotes } from './support/accounts.ts';
import { openBrowser } from './support/browser.ts';
import type { Client } from './support/client.ts';
import { EVERY_PAGE, visit } from './support/every-page.ts';
import { rss, serving } from './support/feeds.ts';
import type { Hub } from './support/hub.ts';
import { livedInHub } from './support/lived-in-hub.ts';
import { makeUpHistory } from './support/made-up-history.ts';
import { startOrigin } from './support/origin.ts';
import { hubWithReceiver, raise } from './support/receiver.ts';
import { PROJECT_ROOT } from './support/run-program.ts';
import { setCount } from './support/stored-rows.ts';
import { eventOf, makeWebhook, sendEvent } from './support/webhooks.ts';

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

const BYTES = 432_000_000;
const FEEDS = ['Kernel Notes', 'Tidvattnet', 'The Ferry Timetable'];

/** A hub that has run for 60 days and is well in every respect, with backups on two disks, as its administrator sees it. */
async function wellHub(t: TestContext): Promise<{ hub: Hub; ada: Client }> {
  const { hub, tell } = await hubWithReceiver(t, { BACKUP_OFFSITE_DIR: '/mnt/second-disk' });
  const ada = await hub.person('ada');
  await ada.form('/settings/next-steps', { from: '/admin' });
  const routes = FEEDS.map((title, index) => [`/${index}.xml`, serving(() => rss(title, []))] as const);
  const { url } = await startOrigin(t, Object.fromEntries(routes));
  for (const [path] of routes) await addFeed(ada, url + path);
  await addNotes(ada, 'Harbour log');
  for (const program of ['web', 'worker'] as const) heartbeats(hub.handle).beat(program);
  await hub.work();
  raise(hub, 'backup-stale', 'the last one');
  await tell();
  hub.passTime(HOUR);
  await backUp(hub, hub.now() - MINUTE);
  await hub.work();
  await tell();
  hub.passTime(12 * DAY);
  setCount(hub, 'uploads_bytes', BYTES);
  setCount(hub, 'attachment_cache_bytes', BYTES / 3);
  makeUpHistory(hub.handle, 60, 'well');
  const hook = await makeWebhook(ada, 'Deployments');
  await sendEvent(hub.address, hook.id, eventOf(hub, hook.secret, 'post.published', { id: 'd1', title: 'Build 1013' }));
  for (let nights = 6; nights >= 0; nights--) await backUp(hub, hub.now() - nights * DAY - 9 * HOUR);
  const drilledAt = hub.now() - 6 * DAY;
  const drill = { outcome: 'proven', name: backupName(drilledAt), at: drilledAt, seconds: 51, problem: null } as const;
  await noteDrill(hub.config, 'dir', drill);
  writeFileSync(join(hub.dataDir, 'run/recovery-kit.json'), JSON.stringify({ at: hub.now() - 12 * DAY }));
  await hub.work();
  await hub.work();
  heartbeats(hub.handle).beat('worker');
  return { hub, ada };
}

/** What a night leaves behind: a backup that was verified, and a copy of it elsewhere. */
async function backUp(hub: Hub, at: number): Promise<void> {
  const name = backupName(at);
  for (const folder of ['run', join('backups', name)]) mkdirSync(join(hub.dataDir, folder), { recursive: true });
  const run: RunResult = { name, at, ok: true, verdict: 'verified', bytes: BYTES, seconds: 41, problem: null };
  await noteRun(hub.dataDir, 'backup', run);
  await noteRun(hub.dataDir, 'verification', { ...run, at: at + MINUTE });
  await noteVerdict(hub.config, { ...run, at: at + MINUTE });
  await noteOffsite(hub.config, 'dir', { name, at: at + 2 * MINUTE, ok: true, bytes: BYTES, seconds: 12, problem: null, unsent: null });
}
