// Protects the page of a scheduled post in a browser: typing unschedules nothing, and the page says what is what.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drafts } from '../../src/features/writing/draft-store.ts';
import { HOUR } from '../../src/platform/clock.ts';
import { publicTitles } from '../support/accounts.ts';
import { openBrowser } from '../support/browser.ts';
import { hubWithOwnPosts, submitForm } from '../support/own-posts.ts';
import { signIn } from '../support/page-visits.ts';
import { requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const FORM = '/write/abcdefghijklmnop';
const TYPED = { sourceId: '1', title: 'Owls', content: 'Five.', contentType: 'text/markdown', url: '' };

test('typing on the page of a scheduled post makes a draft beside it; the page says which is which, and Unschedule ends it', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada } = await hubWithOwnPosts(t);
  await submitForm(hub, ada, FORM, { ...TYPED, publishAt: '2030-01-15T13:00' }, []);
  const browser = await openBrowser(t);
  await signIn(browser, hub.address, 'ada', hub.password, FORM);
  const note = () => browser.run<string>(`return document.querySelector('main .done').innerText`);
  assert.match(await note(), /Scheduled: goes out on[^]*What you change here becomes a draft/);
  assert.doesNotMatch(await note(), /newer draft/);
  await browser.type('[name=content]', ' Six.');
  await waitUntil('the page shows the newer draft', async () => /This is a newer draft, saved/.test(await note()));
  assert.match(await note(), /Scheduled: goes out on/);
  assert.deepEqual([drafts(hub.handle).scheduled(1, FORM)?.fields['content'], drafts(hub.handle).find(1, FORM)?.fields['content']], ['Five.', 'Five. Six.']);
  await browser.goto(hub.address + FORM);
  assert.match(await note(), /This is a newer draft, saved/);
  for (const width of [1280, 390]) {
    await browser.setPageWidth(width);
    assert.equal(await browser.run('return document.documentElement.scrollWidth'), width);
  }
  await browser.type('[name=content]', ' Seven.');
  await browser.click('[name=unschedule]');
  await waitUntil('the schedule has ended', async () => /Unscheduled/.test(await browser.text()));
  assert.equal(drafts(hub.handle).find(1, FORM)?.fields['content'], 'Five. Six. Seven.');
  await hub.work(2 * HOUR);
  assert.deepEqual(await publicTitles(hub), []);
});
