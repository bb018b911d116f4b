// Protects the disk from refused uploads: each says why and leaves nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cookieOf } from '../../support/client.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { fieldHeaders, fileHeaders, writeForm } from '../../support/multipart.ts';
import { png, pngHeader } from '../../support/sample-files.ts';
import { countRows } from '../../support/stored-rows.ts';
import {
  addFiles, assertNothingKept, FORM_TYPE, formWith, hubWithWriter, sendForm, writePost, writer, type SentFile,
} from '../../support/uploads.ts';

const SIZE = { width: 3, height: 2 };
const GOOD: SentFile = { filename: 'good.png', data: png(SIZE) };

type Problem = { detail: string; errors?: { pointer: string; detail: string }[] };

/** A PNG of one pixel that says that it has 3.6 thousand million. */
function boastfulPng(): Buffer {
  const small = png({ width: 1, height: 1 });
  return Buffer.concat([small.subarray(0, 8), pngHeader({ width: 60_000, height: 60_000 }), small.subarray(33)]);
}

/** Both forms must be refused with that status, alone and behind a good file, and nothing may stay. */
async function assertRefused(
  hub: Hub, { client, sourceId }: Awaited<ReturnType<typeof writer>>, bad: SentFile, status: number,
): Promise<void> {
  const { id } = await writePost(hub, { client, sourceId });
  const posts = countRows(hub, 'posts');
  const fields = { sourceId: String(sourceId), title: 'T' };
  for (const files of [[bad], [GOOD, bad], [bad, GOOD]]) {
    for (const answer of [
      await sendForm(hub, client, '/api/posts', formWith(fields, files)),
      await addFiles(hub, client, id, files),
    ]) {
      assert.equal(answer.status, status, answer.text);
      assert.equal(answer.headers.get('content-type'), 'application/problem+json');
      const { detail, errors } = answer.json<Problem>();
      if (status !== 413) assert.deepEqual(errors, [{ pointer: '/attachments', detail }]);
      assertNothingKept(hub, posts);
    }
  }
}

test('415 or 422, and nothing stays: a file of another type, a damaged one, and one that claims to be vast', async (t) => {
  const hub = await startHub(t);
  const ada = await writer(hub, 'ada');
  for (const [filename, data, status] of [
    ['owl.exe', 'MZ', 415], ['owl.svg\u202e.', '<svg/>', 415], ['owl.png', '<!doctype html><script>alert(1)</script>', 415],
    ['owl.txt', '', 422], ['owl.png', png(SIZE).subarray(0, -5), 422], ['owl.png', boastfulPng(), 422],
  ] as const) {
    await assertRefused(hub, ada, { filename, data }, status);
  }
});

test('413, and nothing stays: one byte too many in a file; as many as are allowed are taken', async (t) => {
  const { hub, ada } = await hubWithWriter(t, { UPLOAD_MAX_BYTES: '100000' });
  await assertRefused(hub, ada, { filename: 'a.txt', data: 'x'.repeat(100_001) }, 413);
  await writePost(hub, ada, [{ filename: 'a.txt', data: 'x'.repeat(100_000) }]);
});

test('413, and nothing stays: more than four times a file in one request, told beforehand or not', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t, { UPLOAD_MAX_BYTES: '100000' });
  const files = Array.from({ length: 5 }, (_, n) => ({ filename: `${n}.txt`, data: `${n}`.repeat(90_000) }));
  const form = formWith({ sourceId: String(sourceId), title: 'T' }, files);
  const { id } = await writePost(hub, { client, sourceId });

  const told = await addFiles(hub, client, id, files);
  assert.equal(told.status, 413, told.text);
  const untold = await fetch(`${hub.address}/api/posts`, {
    method: 'POST',
    body: new Blob([new Uint8Array(form)]).stream(),
    headers: { 'content-type': FORM_TYPE, 'sec-fetch-site': 'same-origin', cookie: cookieOf(client) },
    duplex: 'half',
  } as RequestInit);
  assert.equal(untold.status, 413, await untold.text());
  assertNothingKept(hub, 1);
  assert.equal((await addFiles(hub, client, id, files.slice(0, 4))).status, 201);
});

test('413, and nothing stays: an eleventh file', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const { id } = await writePost(hub, { client, sourceId });
  const files = Array.from({ length: 11 }, (_, n) => ({ filename: `${n}.txt`, data: `${n}` }));

  assert.equal((await addFiles(hub, client, id, files)).status, 413);
  assertNothingKept(hub, 1);
  assert.equal((await addFiles(hub, client, id, files.slice(1))).status, 201);
});

test('400, and nothing stays: a form without its end, and one whose second part is malformed', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const { id } = await writePost(hub, { client, sourceId });
  const whole = writeForm([{ headers: fileHeaders('attachments', 'a.txt'), data: 'a' }]);
  const malformed = writeForm([
    { headers: fileHeaders('attachments', 'a.txt'), data: 'a' },
    { headers: [...fieldHeaders('title'), ...fieldHeaders('title')], data: 'b' },
  ]);
  for (const body of [whole.subarray(0, -4), malformed]) {
    assert.equal((await sendForm(hub, client, `/api/posts/${id}/attachments`, body)).status, 400);
    assertNothingKept(hub, 1);
  }
});

test('a post with a mistake in its words is refused with its files', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const answer = await sendForm(hub, client, '/api/posts', formWith({ sourceId: String(sourceId), title: '' }, [GOOD]));
  assert.equal(answer.status, 422, answer.text);
  assertNothingKept(hub);
});

test('files for a source of somebody else, or of none, are refused and leave nothing', async (t) => {
  const hub = await startHub(t);
  const { sourceId } = await writer(hub, 'ada');
  const eve = await hub.person('eve');
  for (const [id, status] of [[sourceId, 403], [999, 404]]) {
    const answer = await sendForm(hub, eve, '/api/posts', formWith({ sourceId: String(id), title: 'T' }, [GOOD]));
    assert.equal(answer.status, status, answer.text);
    assertNothingKept(hub);
  }
});
