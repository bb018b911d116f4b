// Protects files without a verdict: scanned again until there is one, and quarantined for all when infected.
import assert from 'node:assert/strict';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { addNotes } from '../../support/accounts.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { reply } from '../../support/origin.ts';
import { CLEAN, fileActs, INFECTED, scanCounts, startScanner } from '../../support/scanner.ts';
import { sha256 } from '../../support/sha256.ts';
import { storedJobs } from '../../support/stored-jobs.ts';
import {
  addFiles, filesIn, hubWithWriter, uploadPath, uploadRows, writePost, writer, type PostAnswer,
} from '../../support/uploads.ts';

const FILE = { filename: 'report.txt', data: 'Words of which nobody knows yet.' };
const AWAY = reply(503, {}, '{"detail":"starting"}');

/** A hub with a post whose file was taken while the scanner was away. */
async function hubWithUnscanned(t: TestContext) {
  const scanner = await startScanner(t, AWAY);
  const { hub, ada } = await hubWithWriter(t, { VIRUS_SCAN_URL: scanner.url });
  const post = await writePost(hub, ada, [FILE]);
  const path = new URL(post.attachments[0]?.url ?? '').pathname;
  return { hub, scanner, ada, post, path };
}

async function shownScan(hub: Hub, { id }: PostAnswer): Promise<(string | undefined)[]> {
  return (await hub.anybody.get(`/api/posts/${id}`)).json<PostAnswer>().attachments.map(({ scan }) => scan);
}

test('a file without a verdict is scanned again, more and more slowly, until there is one', async (t) => {
  const { hub, scanner, post, path } = await hubWithUnscanned(t);
  const tries: number[] = [];
  for (let elapsed = 0; elapsed < 3 * HOUR; elapsed += 10 * SECOND) {
    const before = scanner.requests.length;
    await hub.work();
    if (scanner.requests.length > before) tries.push(elapsed);
    hub.passTime(10 * SECOND);
  }
  const pauses = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
  assert.ok(tries.length >= 5 && tries.length <= 9, tries.join());
  assert.deepEqual(pauses, pauses.toSorted((a, b) => a - b));
  assert.ok(Math.max(...pauses) <= HOUR + 10 * SECOND, 'at the latest every hour');
  assert.deepEqual(await scanCounts(hub), { clean: 0, infected: 0, unavailable: 1 + tries.length });
  assert.deepEqual([await shownScan(hub, post), (await hub.anybody.get(path)).status], [['unscanned'], 200]);

  scanner.answers = CLEAN;
  await hub.work(HOUR + MINUTE);
  assert.deepEqual(await shownScan(hub, post), ['clean']);
  assert.equal((await scanCounts(hub))['clean'], 1);
  const asked = scanner.requests.length;
  await hub.work(5 * HOUR);
  assert.equal(scanner.requests.length, asked, 'nothing is scanned twice');
});

test('a late verdict of infected quarantines the file for everybody and tells its owners', async (t) => {
  const { hub, scanner, ada, post, path } = await hubWithUnscanned(t);
  const admin = ada.client; // who joins first
  const bob = await writer(hub, 'bob');
  const his = await writePost(hub, { client: bob.client, sourceId: await addNotes(bob.client, 'Notes', 'private') },
    [{ ...FILE, filename: 'copy.txt' }]);
  assert.match((await hub.anybody.get('/posts.json')).text, /report\.txt/);
  const cached = (await hub.anybody.get(path)).headers.get('etag') ?? '';

  scanner.answers = INFECTED;
  await hub.work(HOUR);

  for (const client of [hub.anybody, admin, bob.client]) {
    assert.equal((await client.get(path)).status, 410);
    assert.equal((await client.get(path, { 'if-none-match': cached })).status, 410);
    assert.equal((await client.get(path, { range: 'bytes=0-1' })).status, 410);
    assert.deepEqual((await client.get(`/api/posts/${post.id}`)).json<PostAnswer>().attachments, []);
  }
  assert.deepEqual((await bob.client.get(`/api/posts/${his.id}`)).json<PostAnswer>().attachments, []);
  const places = ['/', `/posts/${post.id}`, '/posts.atom', '/posts.json', '/api/posts',
    `/sources/${ada.sourceId}.atom`];
  for (const place of places) {
    assert.doesNotMatch((await hub.anybody.send('GET', place)).text, /report\.txt/, place);
  }
  assert.deepEqual(fileActs(hub).map(({ act, actor, name }) => [act, actor, name]),
    [['attachment.quarantined', 'hub', 'report.txt'], ['attachment.quarantined', 'hub', 'copy.txt']]);
  const told = [[ada.client, post.id, 'report.txt'], [bob.client, his.id, 'copy.txt']] as const;
  for (const [client, postId, name] of told) {
    const { items } = (await client.get('/api/notifications')).json<{ items: Record<string, unknown>[] }>();
    assert.equal(items.length, 1);
    assert.deepEqual([items[0]?.['kind'], items[0]?.['path']], ['attachment.quarantined', `/posts/${postId}`]);
    assert.match(String(items[0]?.['title']), new RegExp(name));
  }
  assert.equal((await scanCounts(hub))['infected'], 1);
  // What was found is kept for whoever looks into it, and still counts and can be removed.
  assert.deepEqual(filesIn(hub.dataDir).uploads, [sha256(FILE.data)]);
  assert.equal((await ada.client.delete(`/api/attachments/${post.attachments[0]?.id}`)).status, 204);
});

test('bytes known to be infected are refused also while the scanner is away', async (t) => {
  const { hub, scanner, ada, post } = await hubWithUnscanned(t);
  scanner.answers = INFECTED;
  await hub.work(HOUR);
  scanner.answers = AWAY;

  const again = await addFiles(hub, ada.client, post.id, [{ filename: 'good.txt', data: 'good' }, FILE]);
  assert.equal(again.status, 422, again.text);
  assert.deepEqual(uploadRows(hub.db), [
    { sha256: sha256(FILE.data), bytes: FILE.data.length, scan: 'infected', attachments: 1 },
  ]);
  assert.deepEqual(filesIn(hub.dataDir), { uploads: [sha256(FILE.data)], tmp: [] });
});

test('a quarantine stays, whatever the scanner says of the same bytes later, until nobody has named them for a day', async (t) => {
  const { hub, scanner, ada, post, path } = await hubWithUnscanned(t);
  scanner.answers = INFECTED;
  await hub.work(HOUR);
  scanner.answers = CLEAN;

  const again = await addFiles(hub, ada.client, post.id, [FILE]);
  assert.equal(again.status, 422, again.text);
  assert.equal((await hub.anybody.get(path)).status, 410);
  assert.deepEqual(uploadRows(hub.db).map(({ scan, attachments }) => [scan, attachments]), [['infected', 1]]);
  assert.deepEqual(fileActs(hub).map(({ act }) => act), ['attachment.quarantined']);

  await ada.client.delete(`/api/attachments/${post.attachments[0]?.id}`);
  for (let day = 0; day < 3; day++) {
    await hub.work(25 * HOUR);
  }
  assert.deepEqual(await shownScan(hub, await writePost(hub, ada, [FILE])), ['clean']);
});

test('a file that is cut off on the disk gets its verdict when it is whole again', async (t) => {
  const { hub, scanner, post } = await hubWithUnscanned(t);
  const onDisk = uploadPath(hub.dataDir, sha256(FILE.data));
  truncateSync(onDisk, 5);
  scanner.answers = CLEAN;
  const before = scanner.requests.length;
  await hub.work(HOUR);
  assert.deepEqual([scanner.requests.length, await shownScan(hub, post)], [before, ['unscanned']]);

  writeFileSync(onDisk, FILE.data);
  await hub.work(HOUR + MINUTE);
  assert.deepEqual(await shownScan(hub, post), ['clean']);
});

test('the same file in the hands of two people has one job and one verdict', async (t) => {
  const { hub, scanner, ada } = await hubWithUnscanned(t);
  const second = await writePost(hub, ada, [FILE]);
  assert.equal(storedJobs(hub, 'scan-upload').length, 1);
  scanner.answers = CLEAN;
  const before = scanner.requests.length;
  await hub.work(HOUR);
  assert.deepEqual([scanner.requests.length - before, await shownScan(hub, second)], [1, ['clean']]);
});

test('a clean verdict at a second upload spares the job its work', async (t) => {
  const { hub, scanner, ada, post } = await hubWithUnscanned(t);
  scanner.answers = CLEAN;
  await writePost(hub, ada, [FILE]);
  assert.deepEqual(await shownScan(hub, post), ['clean']);
  const before = scanner.requests.length;
  await hub.work(HOUR);
  assert.equal(scanner.requests.length, before);
});

test('a file that was deleted meanwhile is not scanned for ever', async (t) => {
  const { hub, scanner, ada, post } = await hubWithUnscanned(t);
  await ada.client.delete(`/api/posts/${post.id}`);
  for (let day = 0; day < 3; day++) {
    await hub.work(25 * HOUR);
  }
  assert.deepEqual(filesIn(hub.dataDir).uploads, []);
  const before = scanner.requests.length;
  await hub.work(25 * HOUR);
  assert.equal(scanner.requests.length, before);
  assert.ok(storedJobs(hub, 'scan-upload').every(({ state }) => state === 'done'));
});

test('files from before there was a scanner are scanned once there is one, all of them', async (t) => {
  const scanner = await startScanner(t, (request, response) =>
    (request.body.includes('7') ? INFECTED : CLEAN)(request, response));
  const old = await startHub(t);
  const ada = await writer(old, 'ada');
  const posts = [];
  for (let n = 0; n < 9; n++) posts.push(await writePost(old, ada, [{ filename: `${n}.txt`, data: `number ${n}` }]));
  const hub = await startHub(t, { VIRUS_SCAN_URL: scanner.url, DATA_DIR: old.dataDir });

  await hub.work();
  assert.equal(scanner.requests.length, 9);
  for (const [n, post] of posts.entries()) {
    assert.deepEqual(await shownScan(hub, post), n === 7 ? [] : ['clean'], `${n}`);
  }
  assert.equal(readFileSync(uploadPath(old.dataDir, sha256('number 7')), 'utf8'), 'number 7');
});
