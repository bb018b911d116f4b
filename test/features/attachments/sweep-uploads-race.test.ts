// Protects uploads that meet the sweep of files: never a row without its file.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { sweepUploads, uploadFiles } from '../../../src/features/attachments/upload-files.ts';
import { HOUR } from '../../../src/platform/clock.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { sha256 } from '../../support/sha256.ts';
import { failWrites } from '../../support/stored-rows.ts';
import {
  addFiles, assertFilesMatchRows, filesIn, uploadPath, uploadRows, writePost, writer,
} from '../../support/uploads.ts';

const FILE = { filename: 'a.txt', data: 'Bytes that come twice.' };
const DAY_AND_HOUR = 25 * HOUR;

/** A hub with a post without files, and a file that the next sweep will remove. */
async function hubWithUnnamed(t: TestContext) {
  const hub = await startHub(t, { UPLOAD_QUOTA_BYTES: '1000' });
  const root = await writer(hub, 'root');
  const ada = await writer(hub, 'ada');
  const old = await writePost(hub, ada, [FILE]);
  await ada.client.delete(`/api/posts/${old.id}`);
  await hub.work(DAY_AND_HOUR);
  hub.passTime(DAY_AND_HOUR);
  assert.equal(uploadRows(hub.db)[0]?.attachments, 0);
  const { id } = await writePost(hub, ada);
  return { hub, root, ada, id, sweep: () => sweepUploads(hub.handle) };
}

/** Has that done when the next upload's file has just been put in its place, or just before. */
function onKeep(hub: Hub, when: 'before' | 'after', act: () => Promise<unknown>): void {
  const files = uploadFiles(hub.handle);
  const { keep } = files;
  files.keep = async (received) => {
    files.keep = keep;
    if (when === 'before') await act();
    await keep(received);
    if (when === 'after') await act();
  };
}

test('a sweep between file and row of an upload with the same bytes: 503, and the next try succeeds', async (t) => {
  const { hub, ada, id, sweep } = await hubWithUnnamed(t);
  onKeep(hub, 'after', sweep);

  const refused = await addFiles(hub, ada.client, id, [FILE]);
  assert.equal(refused.status, 503, refused.text);
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.deepEqual([uploadRows(hub.db), filesIn(hub.dataDir)], [[], { uploads: [], tmp: [] }]);
  assert.equal((await addFiles(hub, ada.client, id, [FILE])).status, 201);
  assertFilesMatchRows(hub);
});

test('a sweep just before the file of an upload is put in its place does not take it', async (t) => {
  const { hub, ada, id, sweep } = await hubWithUnnamed(t);
  onKeep(hub, 'before', async () => {
    await sweep();
    assert.deepEqual(filesIn(hub.dataDir).uploads, []);
  });

  assert.equal((await addFiles(hub, ada.client, id, [FILE])).status, 201);
  assertFilesMatchRows(hub);
  assert.equal(uploadRows(hub.db).length, 1);
});

test('a sweep that takes a kept file without a row for an old stray: 503, never a row without its file', async (t) => {
  const { hub, ada, id, sweep } = await hubWithUnnamed(t);
  // The hub's clock is years ahead of the file system's, as one that was set wrong would be.
  onKeep(hub, 'after', sweep);
  const fresh = { filename: 'b.txt', data: 'Bytes that come once.' };

  assert.equal((await addFiles(hub, ada.client, id, [fresh])).status, 503);
  assert.deepEqual([uploadRows(hub.db), filesIn(hub.dataDir)], [[], { uploads: [], tmp: [] }]);
});

test('an upload that is refused late takes no file from another one that was just kept', async (t) => {
  const { hub, root, ada, id } = await hubWithUnnamed(t);
  await writePost(hub, ada, [{ filename: 'c.txt', data: 'c'.repeat(990) }]);
  const his = await writePost(hub, root);
  const same = { filename: 'd.txt', data: 'd'.repeat(100) };
  onKeep(hub, 'after', async () => {
    const overQuota = await addFiles(hub, root.client, id, [same]); // ada's, who has 10 bytes left
    assert.equal(overQuota.status, 422, overQuota.text);
  });

  const answer = await addFiles(hub, root.client, his.id, [same]);
  assert.ok(answer.status === 201 || answer.status === 503, answer.text);
  for (const { sha256 } of uploadRows(hub.db)) assert.ok(filesIn(hub.dataDir).uploads.includes(sha256));
  assert.equal((await addFiles(hub, root.client, his.id, [same])).status, 201);
  assert.ok(filesIn(hub.dataDir).uploads.includes(sha256(same.data)));
});

test('a sweep that cannot write removes no file whose row stays named', async (t) => {
  const { hub, ada, id, sweep } = await hubWithUnnamed(t);
  const mend = failWrites(hub, 'DELETE', 'uploads');
  await assert.rejects(sweep());
  assert.deepEqual(filesIn(hub.dataDir).uploads, [sha256(FILE.data)]);
  mend();
  assert.equal((await addFiles(hub, ada.client, id, [FILE])).status, 201);
  assertFilesMatchRows(hub);
});

test('a row whose file went before a crash undid its removal is taken by the next sweep', async (t) => {
  const { hub, ada, id, sweep } = await hubWithUnnamed(t);
  rmSync(uploadPath(hub.dataDir, sha256(FILE.data)));
  await sweep();
  assert.deepEqual(uploadRows(hub.db), []);
  assert.deepEqual(hub.logged().filter(({ event }) => event === 'uploads missing'), []);
  assert.equal((await addFiles(hub, ada.client, id, [FILE])).status, 201);
  assertFilesMatchRows(hub);
});
