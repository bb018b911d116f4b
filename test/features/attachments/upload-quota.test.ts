// Protects the quota for files: exact to the byte, also with many uploads at once.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { uploads } from '../../../src/features/attachments/attachment-store.ts';
import { bytesInFlight, openShare } from '../../../src/features/attachments/receive-upload.ts';
import { addNotes } from '../../support/accounts.ts';
import type { Answer, Client } from '../../support/client.ts';
import { cookieOf } from '../../support/client.ts';
import { rawConnection } from '../../support/raw-exchange.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { countRows } from '../../support/stored-rows.ts';
import { assertUsageIsRight, setUsage } from '../../support/stored-uploads.ts';
import {
  addFiles, assertFilesMatchRows, assertNothingKept, filesIn, FORM_TYPE, formWith, hubWithWriter, sendForm, writePost,
  writer,
} from '../../support/uploads.ts';
import { waitUntil } from '../../support/wait-until.ts';

const QUOTA = 100_000;
const hubWithQuota = { UPLOAD_QUOTA_BYTES: String(QUOTA) };

/** A hub whose administrator is root, and ada with a post. */
async function hubOfTwo(t: TestContext, env: Record<string, string> = hubWithQuota) {
  const hub = await startHub(t, env);
  const [root, ada] = [await writer(hub, 'root'), await writer(hub, 'ada')];
  return { hub, root, ada, id: (await writePost(hub, ada)).id };
}

function text(filename: string, bytes: number) {
  return { filename, data: filename.slice(0, 1).repeat(bytes) };
}

function usage({ handle }: Hub, username: string): number {
  return uploads(handle).usageOf(accounts(handle).findByName(username)?.id ?? NaN);
}

function assertOverQuota(answer: Answer, bytesLeft: number): void {
  assert.equal(answer.status, 422, answer.text);
  const problem = answer.json<{ bytesLeft: number; errors: { pointer: string }[] }>();
  assert.equal(problem.bytesLeft, bytesLeft);
  assert.deepEqual(problem.errors.map(({ pointer }) => pointer), ['/attachments']);
}

test('an account may fill its quota to the last byte; one more is refused with what is left', async (t) => {
  const { hub, ada, id } = await hubOfTwo(t);
  assertOverQuota(await addFiles(hub, ada.client, id, [text('a.txt', QUOTA + 1)]), QUOTA);
  assertOverQuota(await addFiles(hub, ada.client, id, [text('a.txt', 60_000), text('b.txt', 40_001)]), QUOTA);
  assertNothingKept(hub, 1);
  assert.equal((await addFiles(hub, ada.client, id, [text('a.txt', 60_000), text('b.txt', 39_999)])).status, 201);
  assertOverQuota(await addFiles(hub, ada.client, id, [text('c.txt', 2)]), 1);
  assert.equal((await addFiles(hub, ada.client, id, [text('c.txt', 1)])).status, 201);
  assertOverQuota(await addFiles(hub, ada.client, id, [text('d.txt', 1)]), 0);
  assert.equal(usage(hub, 'ada'), QUOTA);
  assertUsageIsRight(hub);
  assertFilesMatchRows(hub);
});

test('the same bytes count each time they are attached, though they are stored once', async (t) => {
  const { hub, ada } = await hubOfTwo(t);
  const file = text('a.txt', 40_000);
  await writePost(hub, ada, [file, file]);

  assert.deepEqual([usage(hub, 'ada'), filesIn(hub.dataDir).uploads.length], [80_000, 1]);
  const { id } = await writePost(hub, ada);
  assertOverQuota(await addFiles(hub, ada.client, id, [file]), 20_000);
  assert.equal(filesIn(hub.dataDir).uploads.length, 1); // the one that others name stays
});

test('what is deleted is free again: a file, a post, a source', async (t) => {
  const { hub, ada } = await hubOfTwo(t);
  const other = { client: ada.client, sourceId: await addNotes(ada.client) };
  const post = await writePost(hub, ada, [text('a.txt', 10_000), text('b.txt', 20_000)]);
  await writePost(hub, other, [text('c.txt', 30_000)]);
  assert.equal(usage(hub, 'ada'), 60_000);

  await ada.client.delete(`/api/attachments/${post.attachments[0]?.id}`);
  assert.equal(usage(hub, 'ada'), 50_000);
  await ada.client.delete(`/api/posts/${post.id}`);
  assert.equal(usage(hub, 'ada'), 30_000);
  await ada.client.delete(`/api/sources/${other.sourceId}`);
  await hub.work();
  assert.equal(usage(hub, 'ada'), 0);
  assertUsageIsRight(hub);
  await writePost(hub, ada, [text('d.txt', QUOTA)]);
});

test('of uploads at once that fit one by one but not together one is taken, and nothing else stays', async (t) => {
  const { hub, ada, id } = await hubOfTwo(t);
  for (let round = 0; round < 5; round++) {
    const names = ['a.txt', 'b.txt', 'c.txt'];
    const answers = await Promise.all(names.map((name) => addFiles(hub, ada.client, id, [text(name, 60_000)])));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 422, 422]);
    for (const answer of answers) if (answer.status === 422) assertOverQuota(answer, 40_000);
    assertFilesMatchRows(hub);
    assertUsageIsRight(hub);
    const good = answers.find(({ status }) => status === 201);
    const [taken] = good?.json<{ items: { id: number; sha256: string }[] }>().items ?? [];
    assert.deepEqual(filesIn(hub.dataDir), { uploads: [taken?.sha256], tmp: [] });
    await ada.client.delete(`/api/attachments/${taken?.id}`);
    await hub.work(25 * 3_600_000);
    await hub.work(25 * 3_600_000);
    assert.deepEqual(filesIn(hub.dataDir).uploads, []);
  }
});

/** Uploads that were begun and never end, of so many bytes each. */
async function leaveOpen({ address }: Hub, client: Client, sourceId: number, many: number, bytes: number) {
  const form = formWith({ sourceId: String(sourceId), title: 'x' }, [text('a.txt', bytes)]);
  const head = [`Content-Type: ${FORM_TYPE}`, `Content-Length: ${form.length + 1}`, `Cookie: ${cookieOf(client)}`,
    'Sec-Fetch-Site: same-origin', 'Host: localhost'];
  const connections = await Promise.all(Array.from({ length: many }, () => rawConnection(address)));
  for (const { write } of connections) {
    write(`POST /api/posts HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
    write(form.subarray(0, -20)); // so that the last file is still coming
  }
  return connections;
}

test('what comes in counts before it has come: uploads left open take no more than the quota', async (t) => {
  const { hub, root, ada } = await hubOfTwo(t);
  const taken = () => filesIn(hub.dataDir).tmp.map((name) => statSync(join(hub.dataDir, 'tmp', name)).size);
  const open = await leaveOpen(hub, ada.client, ada.sourceId, 4, 40_000);
  const refused = await Promise.race(open.map(({ answer }) => answer()));
  assert.equal(refused.status, 422);
  assert.match(refused.body, /would exceed the file quota/);
  await waitUntil('two are left', () => taken().length === 2);
  assert.ok(taken().reduce((sum, bytes) => sum + bytes, 0) <= QUOTA);
  assertOverQuota(await addFiles(hub, ada.client, (await writePost(hub, ada)).id, [text('b.txt', 40_000)]), 20_000);
  await writePost(hub, root, [text('c.txt', QUOTA)]);

  for (const { socket } of open) socket.destroy();
  await waitUntil('they are gone', () => taken().length === 0);
  await writePost(hub, ada, [text('d.txt', QUOTA)]);
});

test('six uploads of an account may come in at once; another one is told to come again, those of others are taken', async (t) => {
  const { hub, ada, root: bob, id } = await hubOfTwo(t, {});
  const open = await leaveOpen(hub, ada.client, ada.sourceId, 6, 1_000);
  await waitUntil('all are coming', () => filesIn(hub.dataDir).tmp.length === 6);
  const refused = await addFiles(hub, ada.client, id, [text('a.txt', 1)]);
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5']);
  await writePost(hub, bob, [text('b.txt', 1)]);

  open[0]?.socket.destroy();
  await waitUntil('one is gone', () => filesIn(hub.dataDir).tmp.length === 5);
  await waitUntil('its place is free', async () => (await addFiles(hub, ada.client, id, [text('a.txt', 1)])).status === 201);
});

test('a post has a hundred files at most', async (t) => {
  const { hub, ada, id } = await hubOfTwo(t, {});
  const ten = Array.from({ length: 10 }, (_, n) => text(`${n}.txt`, 1));
  for (let n = 0; n < 10; n++) assert.equal((await addFiles(hub, ada.client, id, ten)).status, 201);

  const refused = await addFiles(hub, ada.client, id, [text('x.txt', 1)]);
  assert.deepEqual([refused.status, refused.json<{ detail: string }>().detail], [422, 'A post may have at most 100 files.']);
  assert.equal(countRows(hub, 'attachments'), 100);
  assertFilesMatchRows(hub);
});

test('files that an administrator adds count for the owner of the source', async (t) => {
  const { hub, root, ada } = await hubOfTwo(t);
  await writePost(hub, root, [text('a.txt', QUOTA)]);
  const { id } = await writePost(hub, ada, [text('b.txt', 70_000)]);

  assertOverQuota(await addFiles(hub, root.client, id, [text('c.txt', 30_001)]), 30_000);
  assert.deepEqual(filesIn(hub.dataDir).tmp, []);
  assertFilesMatchRows(hub);
  assert.equal((await addFiles(hub, root.client, id, [text('c.txt', 30_000)])).status, 201);
  assert.deepEqual([usage(hub, 'root'), usage(hub, 'ada')], [QUOTA, QUOTA]);
  assertUsageIsRight(hub);
});

test('who is over the quota, since it was lowered, goes on writing without files', async (t) => {
  const { hub, ada } = await hubWithWriter(t, hubWithQuota);
  const { id } = await writePost(hub, ada, [text('a.txt', 5_000)]);
  setUsage(hub, 200_000);

  assert.equal((await ada.client.patch(`/api/posts/${id}`, { title: 'Changed' })).status, 200);
  assert.equal((await ada.client.post('/api/posts', { sourceId: ada.sourceId, title: 'T', content: 'c' })).status, 201);
  assert.equal((await sendForm(hub, ada.client, '/api/posts',
    formWith({ sourceId: String(ada.sourceId), title: 'T' }))).status, 201);
  assertOverQuota(await addFiles(hub, ada.client, id, [text('b.txt', 1)]), 0);
});

test('an upload that is released twice takes along none that began in between', async (t) => {
  const { handle } = await startHub(t);
  const first = openShare(handle, 1);
  first.release();
  openShare(handle, 1).take(1_000);
  first.release();
  assert.equal(bytesInFlight(handle, 1), 1_000);
});
