// Protects uploads on a full disk: refused without a trace, and taken again when there is space.
import assert from 'node:assert/strict';
import { readFileSync, rmSync, truncateSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { addNotes } from '../../support/accounts.ts';
import { sha256 } from '../../support/sha256.ts';
import { copyDatabase, fillDisk, startOnSmallDisk } from '../../support/small-disk.ts';
import { failWrites } from '../../support/stored-rows.ts';
import {
  addFiles, assertFilesMatchRows, assertNothingKept, filesIn, hubWithWriter, uploadPath, uploadRows, writePost,
} from '../../support/uploads.ts';

const MEGABYTE = 1_000_000;

test('on a full disk uploads are refused without a trace, reading goes on, and with space they work', async (t) => {
  const hub = await startOnSmallDisk(t, 16, { DISK_RESERVE_BYTES: '800000' });
  if (!hub) return;
  const { client, folder } = hub;
  const sourceId = await addNotes(client);
  const kept = { filename: 'kept.txt', data: 'k'.repeat(MEGABYTE) };
  const post = await writePost(hub, { client, sourceId }, [kept]);
  const path = new URL(post.attachments[0]?.url ?? '').pathname;
  const filler = join(folder, 'filler');
  fillDisk(filler);

  // Nothing is free, then there is room for a part of a file, and for one file of two.
  for (const free of [0, MEGABYTE, 3 * MEGABYTE]) {
    truncateSync(filler, statSync(filler).size - free);
    const files = ['a', 'b'].map((letter) => ({ filename: `${letter}.txt`, data: letter.repeat(2 * MEGABYTE) }));
    const refused = await addFiles(hub, client, post.id, files);
    assert.equal(refused.status, 507, refused.text);
    assert.equal(refused.headers.get('content-type'), 'application/problem+json');
    assert.match(refused.text, /no space left|disk is full/);
    assert.deepEqual(filesIn(folder), { uploads: [sha256(kept.data)], tmp: [] });
    assert.deepEqual(uploadRows(copyDatabase(t, folder)).map(({ sha256 }) => sha256), [sha256(kept.data)]);
    assert.equal((await client.get(path)).text.length, MEGABYTE);
    assert.equal((await client.get('/api/health')).json()['ok'], true);
    fillDisk(filler);
  }

  const small = [{ filename: 'small.txt', data: 'small' }];
  assert.equal((await addFiles(hub, client, post.id, small)).status, 507);
  truncateSync(filler, statSync(filler).size - 500_000); // which is kept for the database
  assert.equal((await addFiles(hub, client, post.id, small)).status, 507);
  assert.deepEqual(filesIn(folder), { uploads: [sha256(kept.data)], tmp: [] });

  rmSync(filler);
  assert.equal((await addFiles(hub, client, post.id, small)).status, 201);
  const files = [sha256(kept.data), sha256('small')].sort();
  assert.deepEqual(filesIn(folder), { uploads: files, tmp: [] });
  assert.deepEqual(uploadRows(copyDatabase(t, folder)).map(({ sha256 }) => sha256), files);
  assert.equal(readFileSync(uploadPath(folder, sha256('small')), 'utf8'), 'small');
  assert.equal(await hub.web.end('SIGTERM'), 0);
});

test('uploads leave the database room on a disk that they would fill', async (t) => {
  const hub = await startOnSmallDisk(t, 32);
  if (!hub) return;
  const writer = { client: hub.client, sourceId: await addNotes(hub.client) };
  const { id } = await writePost(hub, writer);
  const statuses: number[] = [];
  for (let n = 0; n < 20 && statuses.at(-1) !== 507; n++) {
    const file = { filename: `${n}.txt`, data: `${n}`.padStart(4 * MEGABYTE, '.') };
    statuses.push((await addFiles(hub, hub.client, id, [file])).status);
  }
  assert.ok(statuses.length > 3 && statuses.at(-1) === 507, statuses.join());
  assert.deepEqual(filesIn(hub.folder).tmp, []);
  for (let n = 0; n < 5; n++) await writePost(hub, writer); // which must be taken
});

test('when the database cannot grow, an upload is refused with 503 and its file does not stay', async (t) => {
  const { hub, ada } = await hubWithWriter(t);
  const { id } = await writePost(hub, ada);
  const mend = failWrites(hub, 'INSERT', 'attachments');
  assert.equal((await addFiles(hub, ada.client, id, [{ filename: 'a.txt', data: 'a' }])).status, 500);
  assertNothingKept(hub, 1);
  mend();

  hub.db.pragma(`max_page_count = ${Number(hub.db.pragma('page_count'))}`);
  let refusals = 0;
  for (let n = 0; n < 200 && refusals < 3; n++) {
    const file = { filename: `${n}.txt`, data: `${n}`.repeat(200) };
    const { status, headers } = await addFiles(hub, ada.client, id, [file]);
    if (status === 201) continue;
    refusals++;
    assert.deepEqual([status, headers.has('retry-after')], [503, true]);
    assertFilesMatchRows(hub);
    assert.deepEqual(filesIn(hub.dataDir).tmp, []);
  }
  assert.equal(refusals, 3);

  hub.db.pragma('max_page_count = 1000000');
  assert.equal((await addFiles(hub, ada.client, id, [{ filename: 'b.txt', data: 'b' }])).status, 201);
  assertFilesMatchRows(hub);
});
