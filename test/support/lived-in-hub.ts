import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { deflateSync } from 'node:zlib';
import { makeInvitation } from '../../src/features/accounts/join-hub.ts';
import { COMMAND_LINE } from '../../src/features/audit/audit.ts';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { noteOffsite, noteRun } from '../../src/features/backups/note-run.ts';
import { noteError } from '../../src/features/errors/error-store.ts';
import { fullTexts } from '../../src/features/full-text/full-text-store.ts';
import { sourceFullTexts } from '../../src/features/full-text/source-full-text-store.ts';
import { posts } from '../../src/features/posts/post-store.ts';
import { sourceRuns } from '../../src/features/sources/run-store.ts';
import { HOUR } from '../../src/platform/clock.ts';
import { addFeed, addFollow, addNotes, giveTo, offerTo } from './accounts.ts';
import type { Client } from './client.ts';
import { rss, serving, type Item } from './feeds.ts';
import { startHub, type Hub } from './hub.ts';
import { makeUpHistory } from './made-up-history.ts';
import { reply, startOrigin, type OriginHandler } from './origin.ts';
import { writePost } from './uploads.ts';
import { pdf, pngChunk, pngHeader } from './sample-files.ts';
import { eventOf, makeWebhook, sendEvent } from './webhooks.ts';

/** What the feeds of the hub have: titles of several scripts, with the language's first sentence. */
const FEEDS: Record<string, [title: string, summary: string][]> = {
  'Kernel Notes': [
    ['A scheduler that forgets: six months of tail latencies, before and after',
      'We measured eleven machines for half a year. The median did not move; the hundredth request did, by a third.'],
    ['Why your cron job runs twice', 'Daylight saving time is only half of the answer. The other half is in your locale.'],
    ['Reading a flame graph from the left', 'A short tour with three real ones.'],
  ],
  'Tidvattnet': [
    ['Isen lägger sig tidigare än på tio år i de inre vikarna',
      'Isbrytaren Ale ligger klar i Luleå. För fritidsbåtar gäller nya råd från och med måndag.'],
    ['Höststormen drog förbi', 'Inga skador i hamnen, men två bojar saknas.'],
  ],
  'التيار اليومي': [
    ['عودة العبّارات إلى خط الميناء القديم بعد ثلاثين عاماً',
      'الرحلة الأولى صباح السبت، والتذاكر مجانية حتى نهاية الشهر.'],
  ],
  '雨の日記': [
    ['港町の古い時計店が、静かに百年目を迎える', '店主の祖父が横浜で仕入れた一台の時計から、すべてが始まった。'],
    ['朝の市場で', '傘をさして歩く人々の声。'],
  ],
  'Moss & Lichen Quarterly': [
    ['The lichens on your roof are older than your mortgage',
      'A beginner’s key to the nine species you can tell apart with a hand lens and some patience.'],
    ['Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'.repeat(2), 'A long name.'],
  ],
};

const ARTICLE = `<p>In May we changed <b>one line</b> in the configuration and promised ourselves not to look for half a
year.<sup><a href="#f1">1</a></sup> The line told the scheduler to forget.</p><h2>What forgetting means here</h2>
<p>Set <code>sched_forget_ms</code> and the credit fades:</p>
<pre><code># /etc/sysctl.d/60-forget.conf
kernel.sched_forget_ms = 1000     # 0 keeps everything, as before, which is what most of us want on a Sunday evening
</code></pre><table><tr><th>Percentile</th><th>Before</th><th>After</th></tr>
<tr><td>p50</td><td>2.1</td><td>2.1</td></tr><tr><td>p99.9</td><td>212.5</td><td>96.8</td></tr></table>
<blockquote><p>A queue is a promise with a length.</p></blockquote>
<ul><li>The slowest disk gained most.</li><li>Power fell by four per cent.</li></ul>
<p dir="rtl">لا يكفي أن يكون الخادم سريعاً في المتوسط.</p>`;

/** A PNG with something to see on it. */
function picture(width: number, height: number): Buffer {
  const rows = Buffer.alloc(height * (1 + 3 * width));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const sun = (x - width * 0.7) ** 2 + (y - height * 0.35) ** 2 < (height * 0.16) ** 2;
      const hill = y > height * (0.62 - 0.12 * Math.sin((x / width) * 7));
      const color = sun ? [217, 98, 56] : hill ? [46, 86, 105] : [232, 216, 190];
      rows.set(color, y * (1 + 3 * width) + 1 + 3 * x);
    }
  }
  const header = pngHeader({ width, height }, [8, 2, 0, 0, 0]);
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([signature, header, pngChunk('IDAT', deflateSync(rows)), pngChunk('IEND')]);
}

export type LivedInHub = {
  hub: Hub; ada: Client; bob: Client; notes: number; webhook: number; ownPost: number; invitation: string;
  /** Of a feed that is there publicly. */
  feedUrl: string;
};

/**
 * A hub as it is after some time: `ada` administers it, `bob` is a member; feeds in several scripts, one that fails and
 * one that is paused, a webhook, posts with files, notifications, tokens, invitations, failed jobs, errors.
 */
export async function livedInHub(t: TestContext): Promise<LivedInHub> {
  const hub = await startHub(t, { BACKUP_OFFSITE_DIR: '/mnt/boathouse' });
  const routes: Record<string, OriginHandler> = {
    '/picture.png': reply(200, { 'content-type': 'image/png' }, picture(640, 360)),
    '/gone': reply(503, {}, 'not now'),
  };
  const origin = await startOrigin(t, routes);
  const [ada, bob] = [await hub.person('ada'), await hub.person('bob')];
  const ids: number[] = [];
  for (const [title, posts] of Object.entries(FEEDS)) {
    const path = `/${ids.length}.xml`;
    const items = posts.map(([name, summary], index) => itemOf(hub, origin.url, { name, summary }, ids.length, index));
    routes[path] = serving(() => rss(title.replace('&', '&amp;'), items));
    ids.push(await addFeed(ids.length % 2 ? bob : ada, origin.url + path));
  }
  await addFeed(ada, `${origin.url}/0.xml?private`, { visibility: 'private', title: 'For Ada alone' }).catch(() => 0);
  const notes = await addNotes(ada, 'Harbour log');
  const hook = await makeWebhook(ada, 'Deployments');
  await happenings(hub, ada, bob, { ids, notes, hook, routes });
  const post = await writePost(hub, { client: ada, sourceId: notes }, [
    { filename: 'east-steps.png', data: picture(320, 180) }, { filename: 'gauge-readings.pdf', data: pdf() },
  ], { title: 'Low water at the east steps', content: 'They sit on mud from four until half past six.' });
  makeUpFullTexts(hub);
  makeUpHistory(hub.handle);
  await lastNight(hub);
  const invitation = makeInvitation(hub.handle, 'member', 30 * 24 * HOUR, COMMAND_LINE).token;
  return { hub, ada, bob, notes, webhook: hook.id, ownPost: post.id, invitation, feedUrl: `${origin.url}/0.xml` };
}

/** Post 2 has a full text, and post 4 has none; the source of post 4 is one whose owner is offered full texts. */
function makeUpFullTexts({ handle }: Hub): void {
  const how = { state: 'refused', reason: 'paywall', detail: null, failures: 0, dueAt: null } as const;
  for (const postId of [2, 4]) fullTexts(handle).ask(postId);
  fullTexts(handle).keep({ postId: 2, version: 1 }, { isCut: 1, bytes: 1_000, contentHtml: '<p>The whole story of the harbour.</p>'.repeat(20) });
  fullTexts(handle).settle({ postId: 4, version: 1 }, how);
  const sourceId = posts(handle).accessOf(4)?.sourceId ?? NaN;
  for (let uses = 0; uses < 5; uses++) sourceFullTexts(handle).addUse(sourceId);
  for (const reason of ['ready', 'ready', 'paywall']) sourceFullTexts(handle).addResult(sourceId, reason);
}

/** The last backup was made, and the disk for its copy was not there. */
async function lastNight({ dataDir, config, now }: Hub): Promise<void> {
  const [name, at] = [backupName(now() - 9 * HOUR), now() - 9 * HOUR + 41_000];
  for (const folder of ['run', `backups/${name}`]) mkdirSync(join(dataDir, folder), { recursive: true });
  const run = { name, at, bytes: 432_000_000, seconds: 41, problem: null };
  await noteRun(dataDir, 'backup', { ...run, ok: true, verdict: 'verified' });
  const problem = '/mnt/boathouse does not exist: is the disk mounted?';
  await noteOffsite(config, 'dir', { ...run, ok: false, problem, unsent: name });
}

function itemOf(
  hub: Hub, url: string, { name, summary }: { name: string; summary: string }, feed: number, index: number,
): Item {
  const image = (feed + index) % 2 === 0 ? `<p><img src="${url}/picture.png" alt="A sun above hills"></p>` : '';
  const date = new Date(hub.now() - (feed + 1) * HOUR - index * 26 * HOUR).toUTCString();
  // The first of each feed has its summary apart from its text.
  const [content, text] = index === 0 ? [summary, `${image}${ARTICLE}`] : [`<p>${summary}</p>${image}`, ''];
  const whole = text && `<content:encoded><![CDATA[${text}]]></content:encoded>`;
  const extra = whole + (index === 1 ? `<enclosure url="${url}/episode.mp3" type="audio/mpeg" length="41234567"/>` : '');
  return { guid: `${feed}-${index}`, title: name.replace('&', '&amp;'), content, date, extra };
}

/** Of a source, up to yesterday: days with and without news, and some on which it failed now and then, or all day. */
function noteMonth(hub: Hub, id: number): void {
  const today = Math.floor(hub.now() / (24 * HOUR));
  for (let ago = 29 - id * 2; ago > 0; ago--) {
    const added = Math.max(0, Math.round(4 * Math.sin(ago * id * 1.7) + 2));
    const failed = ago % 11 === id ? 24 : ago % 9 === 1 ? 2 : 0;
    sourceRuns(hub.handle).noteDay(id, { day: today - ago, runs: 24, failed, added: failed === 24 ? 0 : added });
  }
}

type Made = { ids: number[]; notes: number; hook: Awaited<ReturnType<typeof makeWebhook>>; routes: Record<string, OriginHandler> };

async function happenings(hub: Hub, ada: Client, bob: Client, { ids, notes, hook, routes }: Made): Promise<void> {
  for (const id of ids.slice(0, 2)) await addFollow(ada, id, { folder: 'Harbour' });
  await ada.send('PUT', '/api/posts/3/star');
  await ada.post('/api/rules', { match: 'title:lichens OR sponsor*', act: 'star' });
  await ada.post('/api/rules', { match: '"high water" -ferry', act: 'notify', folder: 'Harbour' });
  await ada.post('/api/searches', { name: 'Lichens', q: 'lichen*' });
  await addFollow(bob, notes);
  const event = eventOf(hub, hook.secret, 'post.published', { id: 'd1', title: 'Deployed build 1013', content_text: 'Fine.' });
  await sendEvent(hub.address, hook.id, event);
  await ada.post('/api/tokens', { name: 'backup script', currentPassword: hub.password });
  await ada.post('/api/invitations', { role: 'member', hours: 48, currentPassword: hub.password });
  await ada.get('/api/posts/1');
  await ada.page('/posts/1');
  await ada.page('/posts/2');
  await giveTo(ada, ids[4] ?? 0, 'bob', bob);
  await offerTo(ada, ids[2] ?? 0, 'bob');
  noteError(hub.handle, new Error('the disk answered late'));
  routes['/2.xml'] = reply(503, {}, 'not now');
  for (const id of [...ids, hook.id]) noteMonth(hub, id);
  await ada.patch(`/api/sources/${ids[0]}`, { paused: true });
  for (let days = 0; days < 8; days++) {
    await hub.work(6 * HOUR);
    await hub.work();
  }
}
