// Protects how a person wants pages to be: kept for every device, in their time zone, refused where it makes no sense.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { dayName, showTime, type Times } from '../../../src/platform/http/times.ts';
import { addNotes, addPost, itemsAt } from '../../support/accounts.ts';
import { hubWith } from '../../support/hub.ts';

const NOW = Date.UTC(2026, 10, 21, 22, 2);
const FORM = {
  density: 'compact', textSize: 'larger', theme: 'dark', typeface: 'sans', measure: 'wide', sourcesBy: 'unread',
  timeZone: 'Asia/Tokyo', marksOpened: '1', marksScrolled: '1',
};

const inUtc: Times = { now: NOW, zone: 'UTC' };

/** The words of a time, without its element. */
function told(times: Times, at: number, form?: 'ago' | 'row' | 'exact'): string {
  return showTime(times, at, form).markup.replace(/<[^>]*>/g, '');
}

test('density, size of text, keys and time zone are chosen once, and are so on every page of that person alone', async (t) => {
  const { ada, bob } = await hubWith(t, ['ada', 'bob']);
  assert.match((await bob.page('/settings')).text, /<html lang="en" data-density="comfortable" data-text="normal" data-theme="system" data-typeface="serif"\s+data-measure="normal">/);
  assert.match((await bob.page('/settings')).text, /<body data-keys="on" data-zone="unknown">/);

  const saved = await bob.form('/settings/preferences', FORM);

  assert.deepEqual([saved.status, saved.headers.get('location')], [303, '/settings?said=preferences-saved']);
  const page = (await bob.page('/settings')).text;
  assert.match(page, /<html lang="en" data-density="compact" data-text="larger" data-theme="dark" data-typeface="sans"\s+data-measure="wide">/);
  assert.match(page, /<meta name="color-scheme" content="dark">\s+<meta name="theme-color"\s+content="#15171b">/);
  assert.match(page, /<body data-keys="off" data-scroll="on" >/);
  assert.match(page, /<option value="Asia\/Tokyo" selected>Tokyo<\/option>/);
  assert.match(page, /title="15 January 2030 at 21:00 GMT\+9"/);
  assert.match((await ada.page('/settings')).text, /data-density="comfortable"/);
  const own = JSON.parse((await bob.get('/api/account/export')).text) as { preferences: object };
  assert.deepEqual(own.preferences, {
    timeZone: 'Asia/Tokyo', density: 'compact', textSize: 'larger', theme: 'dark', typeface: 'sans', measure: 'wide',
    sourcesBy: 'unread', keys: false, marksOpened: true, marksScrolled: true, joinsDoubles: false, nextSteps: false,
  });
});

test('the browser tells the time zone once, where none was chosen', async (t) => {
  const { bob } = await hubWith(t, ['bob']);
  const tell = (timeZone: string) => bob.send('POST', '/settings/time-zone', {
    body: new URLSearchParams({ timeZone }), headers: { accept: 'application/json' },
  });

  assert.equal((await tell('Nowhere')).status, 422);
  assert.equal((await tell('Europe/Stockholm')).status, 204);

  const page = (await bob.page('/settings')).text;
  assert.match(page, /<option value="Europe\/Stockholm" selected>/);
  assert.doesNotMatch(page, /data-zone/);
});

test('opening a post marks it as read, unless its reader does not want that; the history has it all the same', async (t) => {
  const { ada, bob } = await hubWith(t, ['ada', 'bob']);
  const notes = await addNotes(ada);
  const [first, second] = [await addPost(ada, notes, 'First'), await addPost(ada, notes, 'Second')];
  const isRead = async (id: number) => (await bob.get(`/api/posts/${id}`)).json()['read'];

  await bob.page(`/posts/${first}`);
  await bob.form('/settings/preferences', { density: 'comfortable', textSize: 'normal', timeZone: '', keys: '1' });
  await bob.page(`/posts/${second}`);

  assert.deepEqual([await isRead(first), await isRead(second)], [true, false]);
  assert.deepEqual((await itemsAt<{ title: string }>(bob, '/api/history')).map(({ title }) => title).sort(), ['First', 'Second']);
});

test('times are told as long ago, by the calendar of the person\'s zone, with the exact one beside them', () => {
  const stockholm: Times = { now: NOW, zone: 'Europe/Stockholm' };
  const cases: [number, string, string][] = [
    [NOW - 20_000, 'just now', 'now'], [NOW - 57 * MINUTE, '57 min ago', '57 min'], [NOW - 4 * HOUR, '4 h ago', '4 h'],
    [NOW - DAY, 'yesterday, 22:02', '22:02'], [NOW - 3 * DAY, '18 November', '22:02'],
    [Date.UTC(2025, 0, 2, 3), '2 January 2025', '03:00'],
    [NOW + 3 * HOUR, 'tomorrow, 01:02', '22 November'], [NOW + 90 * MINUTE, 'in 1 h', '23:32'],
    [NOW + 30_000, 'just now', 'now'],
    [NOW + 5 * DAY, '26 November', '26 November'], [NOW + 400 * DAY, '26 December 2027', '26 December'],
  ];
  for (const [at, ago, row] of cases) {
    assert.deepEqual([told(inUtc, at), told(inUtc, at, 'row')], [ago, row], new Date(at).toISOString());
  }
  assert.equal(told(inUtc, NOW, 'exact'), '21 November 2026 at 22:02');
  assert.equal(told(stockholm, NOW - 22.5 * HOUR, 'ago'), '22 h ago', 'it is the same day there still');
  assert.match(showTime(stockholm, NOW).markup,
    /^<time datetime="2026-11-21T22:02:00\.000Z" title="21 November 2026 at 23:02 CET" dir="ltr">just now<\/time>$/);
  assert.equal(told({ now: NOW, zone: 'Not/There' }, NOW - HOUR), '1 h ago', 'a zone that is gone is no error');
});

test('pages that are kept for everybody tell days, whenever they are read', () => {
  const kept: Times = { now: null, zone: 'UTC' };
  assert.equal(told(kept, NOW), '21 November 2026');
  assert.equal(told(kept, NOW, 'row'), '21 November');
  assert.equal(dayName(kept, NOW), 'Saturday 21 November 2026');
});

test('headings call days today, yesterday, and by their names', () => {
  assert.deepEqual([0, 1, 2, 330].map((days) => dayName(inUtc, NOW - days * DAY)),
    ['Today', 'Yesterday', 'Thursday 19 November', 'Friday 26 December 2025']);
  assert.equal(dayName({ now: NOW, zone: 'Asia/Tokyo' }, NOW), 'Today');
  assert.equal(dayName({ now: NOW, zone: 'Asia/Tokyo' }, NOW - 8 * HOUR), 'Yesterday', 'there it is the 22nd by now');
  for (const zone of ['Asia/Kathmandu', 'Asia/Kolkata']) {
    const midnight = new Date('2026-11-22T00:00:00' + (zone === 'Asia/Kolkata' ? '+05:30' : '+05:45')).getTime();
    const days = [midnight - 1, midnight].map((at) => dayName({ now: midnight, zone }, at));
    assert.deepEqual(days, ['Yesterday', 'Today'], `midnight stands at a quarter of an hour: ${zone}`);
  }
});
