// Protects the plots and the calendar of the overview: they show what is known, tell it in words, and leave gaps as gaps.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { alertEvents } from '../../../src/features/alerts/alert-store.ts';
import { backupName } from '../../../src/features/backups/backup-name.ts';
import { noteVerdict } from '../../../src/features/backups/note-run.ts';
import { ANSWERS, backupRuns, FINE, history, type BackupRun, type Figures } from '../../../src/features/history/history-store.ts';
import { NIGHTS, readNights } from '../../../src/features/history/nights.ts';
import { BYTES, COUNT, PERCENT, TIME, type Unit } from '../../../src/features/history/plot-views.ts';
import { answerTime, readDays, readSlots, sum } from '../../../src/features/history/read-history.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { hubWith, startHub, type Hub } from '../../support/hub.ts';
import { makeUpHistory } from '../../support/made-up-history.ts';

/** What was known of the five minutes that began so long ago. */
function known(hub: Hub, ago: number, figures: Figures): void {
  hub.db.write('test', () => history(hub.handle).add(hub.now() - hub.now() % FINE - ago, { worker_memory: 1, ...figures }));
}

/** The page with its plots by title: what stands beside it, what its steps say, and its rows. */
async function plotsOf(hub: Hub, path = '/admin') {
  const { status, text } = await (await hub.person('ada')).page(path);
  assert.equal(status, 200, text);
  const sections = [...text.matchAll(/<section class="plot"[^]*?<\/section>/g)].map(([section]) => section);
  return new Map(sections.map((section) => {
    const [, title = '', now = ''] = /<h3[^>]*>(.*?)<span class="now">(.*?)</.exec(section) ?? [];
    const steps = [...section.matchAll(/<rect [^>]*><title>(.*?)<\/title>/g)].map(([, words = '']) => words);
    const paths = [...section.matchAll(/<path class="(?:bars|lines) \w+" d="([^"]*)"/g)].map(([, d = '']) => d);
    const desc = /<desc[^>]*>([^]*?)<\/desc>/.exec(section)?.[1] ?? '';
    return [title, { now, steps, paths, desc, rows: section.split('<th scope="row">').slice(1) }];
  }));
}

test('a plot tells each step where one points at it and in its table, and what nobody saw is a gap and not nothing', async (t) => {
  const hub = await startHub(t);
  known(hub, 2 * HOUR, { 'answers_0.005': 40, answer_errors: 3, web_memory_max: 2 ** 20 });
  known(hub, 2 * HOUR - FINE, { 'answers_0.005': 10 });
  known(hub, HOUR, { 'answers_0.005': 5, web_memory_max: 3 * 2 ** 20 });
  known(hub, 30 * MINUTE, { web_memory_max: 2 ** 21 });
  const plots = await plotsOf(hub);

  assert.equal(plots.size, 12);
  const requests = plots.get('Requests');
  assert.equal(requests?.now, '55, 3 errors');
  assert.deepEqual(requests?.steps.slice(-5), ['15 Jan, 10:00: 47 answered, 3 errors', '15 Jan, 10:30: no data',
    '15 Jan, 11:00: 5 answered', '15 Jan, 11:30: no data', '15 Jan, 12:00: no data']);
  assert.equal(requests?.steps.length, 48);
  assert.match(requests?.rows[4] ?? '', /^15 Jan, 10:00<\/th><td>47<\/td><td>3<\/td>/, 'the last comes first');
  assert.equal(requests?.paths[0]?.match(/M/g)?.length, 2, 'two bars');
  const nows = ['Unexpected errors', 'Fetches of sources', 'Webhook events', 'Posts a day'].map((title) => plots.get(title)?.now);
  assert.deepEqual(nows, ['', '', '', ''], 'what nobody counted is not 0');
  assert.equal(plots.get('Memory')?.desc, 'web: lowest 1.0 MiB, highest 3.0 MiB, last 2.0 MiB. worker: no data.');
  assert.match(plots.get('Memory')?.paths[0] ?? '', /^M43\.5 75h\.01M45\.5 25L46\.5 50$/, 'a dot, a gap, a line');
});

test('each range has steps of its own, another one is refused, and before anything is known the page says so', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  assert.match((await ada.page('/admin')).text, /No data for this time/);
  makeUpHistory(hub.handle, 31);
  for (const [range, steps] of [['24h', 48], ['7d', 56], ['30d', 60]] as const) {
    const { text } = await ada.page(`/admin?range=${range}`);
    const requests = /id="requests"[^]*?<\/section>/.exec(text)?.[0] ?? '';
    assert.equal(requests.match(/<rect /g)?.length, steps, range);
    assert.match(text, new RegExp(`range=${range}#plots" aria-current="true"`));
    assert.doesNotMatch(text, /NaN|Infinity|undefined|null/);
  }
  assert.equal((await ada.page('/admin?range=1y')).status, 400);
});

test('the time that a share of the answers took lies in the bucket of the histogram in which that share is reached', async (t) => {
  const hub = await startHub(t);
  known(hub, FINE, { 'answers_0.001': 90, 'answers_0.5': 10 });
  const slots = readSlots(hub.handle, '24h');
  assert.equal(sum(slots.flatMap(({ figures }) => ANSWERS.map((name) => figures[name]))), 100);
  assert.equal(answerTime(slots, 0.45), 0.0005);
  assert.equal(answerTime(slots, 0.95)?.toFixed(3), '0.375');
  known(hub, FINE, { [ANSWERS.at(-1) ?? '']: 100 });
  assert.equal(answerTime(readSlots(hub.handle, '24h'), 0.99), 10, 'no more is known than that it took longer');
  assert.equal(answerTime([], 0.5), undefined);
});

test('an axis ends at a round number that holds what is drawn, in a unit that suits it', () => {
  const axis = (unit: Unit, most: number): string => `${unit.mark(unit.top(most))} ${unit.mark(unit.top(most) / 2)}`;
  assert.deepEqual([0, 1, 3, 7, 9.5, 11, 1_900, 36_000].map((most) => axis(COUNT, most)),
    ['2 1', '2 1', '4 2', '8 4', '10 5', '20 10', '2k 1k', '40k 20k']);
  assert.deepEqual([0, 3, 70, 900, 4_200, 61_000, 5e6].map((most) => axis(TIME, most)),
    ['10 ms 5 ms', '10 ms 5 ms', '80 ms 40 ms', '1 s 500 ms', '6 s 3 s', '2 min 1 min', '2 h 1 h']);
  assert.deepEqual([0, 700, 3e6, 38 * 2 ** 30].map((most) => axis(BYTES, most)),
    ['1 KiB 512 bytes', '1 KiB 512 bytes', '4 MiB 2 MiB', '40 GiB 20 GiB']);
  assert.equal(axis(PERCENT, 0.4), '10 % 5 %');
  assert.deepEqual([COUNT.say(12_345), TIME.say(13.46), TIME.say(90_000), PERCENT.say(8)], ['12,345', '13.5 ms', '1.5 min', '8 %']);
});

test('posts are counted by the days of whoever looks', async (t) => {
  const hub = await startHub(t);
  hub.passTime(-2 * HOUR); // 10:00 in UTC
  for (const [ago, posts] of [[HOUR, 1], [9 * HOUR, 2], [11 * HOUR, 4], [40 * HOUR, 8]] as const) known(hub, ago, { posts });
  const inZone = (hours: number) => readDays(hub.handle, 3, (at) => Math.floor((at + hours * HOUR) / DAY), 'posts');
  assert.deepEqual(inZone(0), [8, 4, 3]);
  assert.deepEqual(inZone(2), [8, undefined, 7]);
});

test('when all is well the page says what was over last, and before the first backup there is no calendar', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  assert.doesNotMatch((await ada.page('/admin')).text, /<ol class="nights">/);
  await hub.work();
  const name = backupName(hub.now() - HOUR);
  for (const folder of ['run', `backups/${name}`]) mkdirSync(join(hub.dataDir, folder), { recursive: true });
  const run = { name, at: hub.now(), ok: true, verdict: 'verified', bytes: 1, seconds: 1, problem: null } as const;
  await noteVerdict(hub.config, run);
  assert.match((await ada.page('/admin')).text, /<h2>All is well\.<\/h2><\/div>[^]*<ol class="nights">/);
  const over = (event: string, ago: number): void => alertEvents(hub.handle).put({
    event, isOpen: 0, isTold: 0, isUnsent: 0, untold: 0, subjects: [], raisedAt: null, toldAt: null, overToldAt: hub.now() - ago,
  });
  over('backup-failed', 3 * HOUR);
  over('sync-failed', DAY);
  over('of an older hub', HOUR);
  assert.match((await ada.page('/admin')).text, /<p>Backups succeed again, since <time [^>]*>09:00<\/time>\.<\/p>/);
});

const dayOf = (at: number): number => Math.floor(at / DAY);

test('the calendar says of each night what came of it here and elsewhere, and nothing of nights before the first', async (t) => {
  const hub = await startHub(t, { BACKUP_OFFSITE_DIR: '/mnt/disk' });
  const run = (nights: number, place: string, result: BackupRun['result'], later = 0): void => hub.db.write('test', () =>
    backupRuns(hub.handle).note({ place, result, at: hub.now() - nights * DAY - 9 * HOUR + later, bytes: 1, seconds: 1,
      problem: result === 'good' ? null : 'why' }));
  run(6, 'here', 'good');
  run(5, 'here', 'failed');
  run(4, 'here', 'failed');
  run(4, 'here', 'good', HOUR);
  run(2, 'here', 'degraded');
  run(1, 'here', 'good');
  run(2, 'dir', 'good');
  run(1, 'dir', 'failed');
  const nights = readNights(hub.handle, dayOf);
  assert.equal(nights.length, NIGHTS);
  assert.deepEqual(nights.slice(-8).map(({ here, elsewhere }) => [here, elsewhere]), [
    ['unknown', 'unknown'], ['good', 'unknown'], ['failed', 'unknown'], ['late', 'unknown'], ['none', 'unknown'],
    ['degraded', 'good'], ['good', 'failed'], ['unknown', 'unknown'],
  ]);
  assert.deepEqual(nights.at(-2)?.problems, ['dir: why']);

  const { text } = await (await hub.person('ada')).page('/admin');
  assert.match(text, /<li title="14 Jan: here made and verified; elsewhere failed\ndir: why">/);
  assert.match(text, /<li title="11 Jan: here made after a failure; elsewhere no data\nwhy">/);
});

test('a night of very many failures names each reason once and few of them, and hostile words stay words', async (t) => {
  const hub = await startHub(t);
  const note = (place: string, problem: string, n: number): void => hub.db.write('test', () => backupRuns(hub.handle).note(
    { place, result: 'failed', at: hub.now() - HOUR - n, bytes: null, seconds: 1, problem }));
  for (let n = 0; n < 200; n++) for (const place of ['here', 'dir']) note(place, 'no room', n);
  for (let n = 200; n < 300; n++) note('here', `${n}"><script>${'x'.repeat(5_000)}</script>`, n);
  let asked = 0;
  const problems = readNights(hub.handle, (at) => (asked++, dayOf(at))).at(-1)?.problems ?? [];
  assert.ok(asked <= 500 + 1, `${asked} times: asking for the day of a time takes long`);
  assert.deepEqual([problems.length, problems.includes('no room')], [3, true]);
  assert.ok(problems.every((problem) => problem.length <= 200));
  const { text } = await (await hub.person('ada')).page('/admin');
  assert.match(text, /\n\d+&quot;&gt;&lt;script&gt;x/);
  assert.doesNotMatch(text, /<script>x/);
});

test('backups that are there count though their runs are forgotten, and a damaged one is no good night', async (t) => {
  const hub = await startHub(t);
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  const names = [2, 1].map((nights) => backupName(hub.now() - nights * DAY - HOUR));
  for (const name of names) mkdirSync(join(hub.dataDir, 'backups', name), { recursive: true });
  const here = () => readNights(hub.handle, dayOf).slice(-4).map((night) => night.here);
  assert.deepEqual(here(), ['unknown', 'good', 'good', 'unknown']);
  await noteVerdict(hub.config, { name: names[1] ?? '', at: hub.now(), ok: false, verdict: 'failed', bytes: 1, seconds: 1,
    problem: 'a byte differs' });
  assert.deepEqual(here(), ['unknown', 'good', 'failed', 'unknown']);
});
