// Protects the quota for files: exact to the byte, also with many uploads at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from './support/client.ts';
import { startHub, type Hub } from './support/hub.ts';
import {
  addFiles, addNativeSource, assertFilesMatchRows, assertNothingKept, filesIn, formWith, numberOf, sendForm,
  writePost, writer,
} from './support/uploads.ts';

const QUOTA = 100_000;
const hubWithQuota = { UPLOAD_QUOTA_BYTES: String(QUOTA) };

function text(filename: string, bytes: number) {
  return { filename, data: filename.slice(0, 1).repeat(bytes) };
}

function usage({ db }: Hub, username: string): number {
  return numberOf(db, `SELECT COALESCE(SUM(bytes), 0) FROM upload_usage WHERE account_id =
    (SELECT id FROM accounts WHERE username = '${username}')`);
}

/** The usage that is kept is the sum of what the rows say. */
function assertUsageIsRight({ db }: Hub): void {
  const wrong = `SELECT COUNT(*) FROM accounts a WHERE
    COALESCE((SELECT bytes FROM upload_usage WHERE account_id = a.id), 0) <>
    COALESCE((SELECT SUM(bytes) FROM attachments WHERE owner_id = a.id), 0)`;
  assert.equal(numberOf(db, wrong), 0);
}

function assertOverQuota(answer: Answer, bytesLeft: number): void {
  assert.equal(answer.status, 422, answer.text);
  const problem = answer.json<{ bytesLeft: number; errors: { pointer: string }[] }>();
  assert.equal(problem.bytesLeft, bytesLeft);
  assert.deepEqual(problem.errors.map(({ pointer }) => pointer), ['/attachments']);
}

test('an account may fill its quota to the last byte; one more is refused with what is left', async (t) => {
  const hub = await startHub(t, hubWithQuota);
  await hub.person('root');
  const ada = await writer(hub, 'ada');
  const { id } = await writePost(hub, ada);

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
  const hub = await startHub(t, hubWithQuota);
  await hub.person('root');
  const ada = await writer(hub, 'ada');
  const file = text('a.txt', 40_000);
  await writePost(hub, ada, [file, file]);

  assert.deepEqual([usage(hub, 'ada'), filesIn(hub.dataDir).uploads.length], [80_000, 1]);
  const { id } = await writePost(hub, ada);
  assertOverQuota(await addFiles(hub, ada.client, id, [file]), 20_000);
  assert.equal(filesIn(hub.dataDir).uploads.length, 1); // the one that others name stays
});

test('what is deleted is free again: a file, a post, a source', async (t) => {
  const hub = await startHub(t, hubWithQuota);
  await hub.person('root');
  const ada = await writer(hub, 'ada');
  const other = { client: ada.client, sourceId: await addNativeSource(ada.client) };
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
  const hub = await startHub(t, hubWithQuota);
  await hub.person('root');
  const ada = await writer(hub, 'ada');
  const { id } = await writePost(hub, ada);

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
    hub.passTime(25 * 3_600_000);
    await hub.work();
    hub.passTime(25 * 3_600_000);
    await hub.work();
    assert.deepEqual(filesIn(hub.dataDir).uploads, []);
  }
});

test('files that an administrator adds count for the owner of the source', async (t) => {
  const hub = await startHub(t, hubWithQuota);
  const root = await writer(hub, 'root');
  const ada = await writer(hub, 'ada');
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
  const hub = await startHub(t, hubWithQuota);
  const ada = await writer(hub, 'ada');
  const { id } = await writePost(hub, ada, [text('a.txt', 5_000)]);
  hub.db.exec('UPDATE upload_usage SET bytes = 200000');

  assert.equal((await ada.client.patch(`/api/posts/${id}`, { title: 'Changed' })).status, 200);
  assert.equal((await ada.client.post('/api/posts', { sourceId: ada.sourceId, title: 'T', content: 'c' })).status, 201);
  assert.equal((await sendForm(hub, ada.client, '/api/posts',
    formWith({ sourceId: String(ada.sourceId), title: 'T' }))).status, 201);
  assertOverQuota(await addFiles(hub, ada.client, id, [text('b.txt', 1)]), 0);
});

test('a quota of nothing takes no file', async (t) => {
  const hub = await startHub(t, { UPLOAD_QUOTA_BYTES: '0' });
  await hub.person('root');
  const ada = await writer(hub, 'ada');
  const answer = await sendForm(hub, ada.client, '/api/posts',
    formWith({ sourceId: String(ada.sourceId), title: 'T' }, [text('a.txt', 1)]));
  assertOverQuota(answer, 0);
  assertNothingKept(hub);
});
