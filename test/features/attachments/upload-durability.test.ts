// Protects acknowledged uploads: on the disk before anybody is told so.
import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { uploadFiles } from '../../../src/features/attachments/upload-files.ts';
import { pdf } from '../../support/sample-files.ts';
import { countRows, rowsOf } from '../../support/stored-rows.ts';
import { formWith, hubWithWriter, sendForm, uploadRows } from '../../support/uploads.ts';
import { watchSyncs } from '../../support/watched-syncs.ts';

test('a file is on the disk before it gets its name, is named before its row is written, and has its row before the answer', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const uploads = join(hub.dataDir, 'uploads');
  const steps: { place: string; bytes: number; rows: number }[] = [];
  await watchSyncs(t, (path) => void steps.push(
    { place: path.replace(hub.dataDir, ''), bytes: statSync(path).size, rows: countRows(hub, 'uploads') }));

  const form = formWith({ sourceId: String(sourceId), title: 'One' }, [{ filename: 'a.pdf', data: pdf() }]);
  const answer = await sendForm(hub, client, '/api/posts', form);
  assert.equal(answer.status, 201, answer.text);

  const { sha256 = '' } = uploadRows(hub.db)[0] ?? {};
  const folder = `/uploads/${sha256.slice(0, 2)}`;
  const places = steps.map(({ place }) => place);
  const written = places.findLastIndex((place) => place.startsWith('/tmp/upload-'));
  const named = places.indexOf(folder);
  assert.ok(written >= 0 && named > written, places.join(' '));
  assert.equal(steps[written]?.bytes, pdf().length, 'the whole of it, not only the beginning');
  assert.ok(places.indexOf('/uploads') > named, 'a new folder is synced into its own');
  assert.deepEqual(steps.map((step) => step.rows), steps.map(() => 0), 'no row before everything else is on the disk');
  assert.ok(existsSync(join(uploads, sha256.slice(0, 2), sha256)));
  assert.equal(hub.db.pragma('synchronous'), 2, 'FULL: the row is on the disk when it is committed');
});

test('a file that the disk does not confirm is refused, and nothing of it stays', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  let failing = '';
  await watchSyncs(t, (path) => {
    if (failing && path.includes(failing)) throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
  });

  for (failing of ['/tmp/upload-', '/uploads/']) {
    const form = formWith({ sourceId: String(sourceId), title: 'One' }, [{ filename: 'a.pdf', data: pdf() }]);
    const answer = await sendForm(hub, client, '/api/posts', form);
    assert.equal(answer.status, 500, `${failing}: ${answer.text}`);
    assert.deepEqual(rowsOf(hub, 'uploads', 'attachments', 'posts'), [[], [], []], failing);
    assert.deepEqual(await filesOf(uploadFiles(hub.handle).list()), [], failing);
  }
});

async function filesOf(names: AsyncIterable<string>): Promise<string[]> {
  const found = [];
  for await (const name of names) found.push(name);
  return found;
}
