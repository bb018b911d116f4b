// Protects uploads with a scanner: infected files are refused, and where scanning is required nothing goes unscanned.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubWith, startHub } from '../../support/hub.ts';
import { reply, type OriginHandler } from '../../support/origin.ts';
import { freePort } from '../../support/ports.ts';
import { CLEAN, fileActs, INFECTED, scanCounts, startScanner } from '../../support/scanner.ts';
import { sha256 } from '../../support/sha256.ts';
import {
  addFiles, assertFilesMatchRows, assertNothingKept, filesIn, formWith, hubWithWriter, sendForm, writePost, writer,
  type Attachment,
} from '../../support/uploads.ts';

const FILE = { filename: 'a report.txt', data: 'Nothing but words.' };
const OTHER = { filename: 'other.txt', data: 'Other words.' };

test('the scanner gets each file as it was sent; what it calls clean is taken and shown as clean', async (t) => {
  const scanner = await startScanner(t, CLEAN);
  const hub = await startHub(t, { VIRUS_SCAN_URL: `${scanner.url}/scan` });
  const post = await writePost(hub, await writer(hub, 'ada'), [FILE, OTHER]);

  assert.deepEqual(post.attachments.map(({ scan }) => scan), ['clean', 'clean']);
  const sent = scanner.requests.map(({ path, headers, body }) => [path, headers['content-disposition'], `${body}`]);
  assert.deepEqual(sent, [FILE, OTHER].map(({ filename, data }) => ['/scan', `attachment; filename="${filename}"`, data]));
  assert.deepEqual(await scanCounts(hub), { clean: 2, infected: 0, unavailable: 0 });
  assert.equal(await hub.countJobs('scan-upload'), 0);
});

test('an infected file is refused with its whole request, recorded and counted; nothing is kept', async (t) => {
  const scanner = await startScanner(t, (request, response) =>
    (request.body.includes('Other') ? INFECTED : CLEAN)(request, response));
  const { hub, ada } = await hubWithWriter(t, { VIRUS_SCAN_URL: scanner.url });
  const fields = { sourceId: String(ada.sourceId), title: 'T' };
  const answer = await sendForm(hub, ada.client, '/api/posts', formWith(fields, [FILE, OTHER]));

  assert.equal(answer.status, 422, answer.text);
  const detail = 'The file other.txt is infected and was rejected.';
  assert.deepEqual(answer.json()['errors'], [{ pointer: '/attachments', detail }]);
  assertNothingKept(hub);
  assert.deepEqual(fileActs(hub), [{
    act: 'attachment.refused', actor: 'ada', name: 'other.txt',
    detail: { sha256: sha256(OTHER.data), signature: 'Test.Virus' },
  }]);
  assert.deepEqual(await scanCounts(hub), { clean: 1, infected: 1, unavailable: 0 });
  assert.deepEqual((await ada.client.get('/api/notifications')).json()['items'], []); // who uploads has the answer
});

for (const [what, answers] of [
  ['500', reply(500, {}, '{"clean":true}')],
  ['nobody listens', undefined],
] as [string, OriginHandler | undefined][]) {
  test(`a scanner without a verdict (${what}): refused where it is required, else taken without one`, async (t) => {
    const url = answers ? (await startScanner(t, answers)).url : `http://127.0.0.1:${await freePort()}`;
    const env = { VIRUS_SCAN_URL: url, VIRUS_SCAN_TIMEOUT_SECONDS: '1' };

    const strict = await startHub(t, { ...env, VIRUS_SCAN_REQUIRED: '1' });
    const ada = await writer(strict, 'ada');
    const { id } = await writePost(strict, ada);
    const refused = await addFiles(strict, ada.client, id, [FILE]);
    assert.equal(refused.status, 503, refused.text);
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
    assertNothingKept(strict, 1);
    assert.deepEqual(await scanCounts(strict), { clean: 0, infected: 0, unavailable: 1 });
    assert.equal(await strict.countJobs('scan-upload'), 0); // no job for what was not taken

    const lenient = await startHub(t, env);
    const bob = await writer(lenient, 'bob');
    const post = await writePost(lenient, bob);
    const taken = await addFiles(lenient, bob.client, post.id, [FILE]);
    assert.equal(taken.status, 201, taken.text);
    const [attachment] = taken.json<{ items: Attachment[] }>().items;
    assert.equal(attachment?.scan, 'unscanned');
    assert.equal((await lenient.anybody.get(new URL(attachment.url).pathname)).text, FILE.data);
    assert.deepEqual(await scanCounts(lenient), { clean: 0, infected: 0, unavailable: 1 });
    const warned = lenient.logged().filter(({ event }) => event === 'file not scanned');
    assert.equal(warned.length, 1);
    assert.equal(typeof warned[0]?.['reason'], 'string');
    assertFilesMatchRows(lenient);
  });
}

test('where a required scanner misses one file of two, neither is kept', async (t) => {
  const scanner = await startScanner(t, (request, response) =>
    (request.body.includes('Other') ? reply(503, {}) : CLEAN)(request, response));
  const { hub, ada } = await hubWithWriter(t, { VIRUS_SCAN_URL: scanner.url, VIRUS_SCAN_REQUIRED: '1' });
  const { id } = await writePost(hub, ada);

  assert.equal((await addFiles(hub, ada.client, id, [FILE, OTHER])).status, 503);
  assertNothingKept(hub, 1);
  scanner.answers = CLEAN;
  assert.equal((await addFiles(hub, ada.client, id, [FILE, OTHER])).status, 201);
});

test('without a scanner files are taken unscanned, and no job waits for one', async (t) => {
  const hub = await startHub(t);
  const post = await writePost(hub, await writer(hub, 'ada'), [FILE]);
  assert.equal(post.attachments[0]?.scan, 'unscanned');
  assert.equal(await hub.countJobs('scan-upload'), 0);
  assert.deepEqual(await scanCounts(hub), { clean: 0, infected: 0, unavailable: 0 });
});

test('a file that is refused by its type, or has no room, is not shown to the scanner', async (t) => {
  const scanner = await startScanner(t, CLEAN);
  const { hub } = await hubWith(t, ['root'], { VIRUS_SCAN_URL: scanner.url, UPLOAD_QUOTA_BYTES: '100' });
  const ada = await writer(hub, 'ada');
  const { id } = await writePost(hub, ada);

  assert.equal((await addFiles(hub, ada.client, id, [FILE, { filename: 'a.exe', data: 'MZ' }])).status, 415);
  assert.equal((await addFiles(hub, ada.client, id, [FILE, { filename: 'a.txt', data: 'x'.repeat(100) }])).status, 422);
  assert.deepEqual([scanner.requests.length, filesIn(hub.dataDir).tmp], [0, []]);
});

test('a new verdict counts for the same bytes that were taken before', async (t) => {
  const scanner = await startScanner(t, CLEAN);
  const hub = await startHub(t, { VIRUS_SCAN_URL: scanner.url });
  const [ada, bob] = [await writer(hub, 'ada'), await writer(hub, 'bob')];
  const post = await writePost(hub, ada, [FILE]);
  scanner.answers = INFECTED; // it has learnt something
  const { id } = await writePost(hub, bob);

  assert.equal((await addFiles(hub, bob.client, id, [FILE])).status, 422);
  assert.equal((await hub.anybody.get(new URL(post.attachments[0]?.url ?? '').pathname)).status, 410);
  assert.deepEqual(fileActs(hub).map(({ act }) => act), ['attachment.quarantined', 'attachment.refused']);
  assert.equal((await ada.client.get('/api/notifications')).json<{ items: unknown[] }>().items.length, 1);
});
