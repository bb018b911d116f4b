// Protects the hub on a full disk: writes are refused, reads go on, and it recovers by itself.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { auditRecords } from '../../../src/features/audit/audit-store.ts';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { createCounters } from '../../../src/platform/metrics/counters.ts';
import type { Answer, Client } from '../../support/client.ts';
import { countRows } from '../../support/stored-rows.ts';
import { copyDatabase, fillDisk, startOnSmallDisk } from '../../support/small-disk.ts';

const LONG_TITLE = 'A title of some length. '.repeat(8);

function addSource(client: Client, n: number): Promise<Answer> {
  return client.post('/api/sources', { kind: 'native', title: `${n} ${LONG_TITLE}` });
}

/** Adds sources until one is refused. Returns how many went well, and the refusal. */
async function addUntilRefused(client: Client): Promise<{ added: number; refusal: Answer }> {
  for (let added = 0; added < 5_000; added++) {
    const answer = await addSource(client, added);
    if (answer.status !== 201) return { added, refusal: answer };
  }
  throw new Error('the disk is never full');
}

function assertStorageRefusal({ status, headers, text }: Answer): void {
  assert.equal(status, 503, text);
  assert.equal(headers.get('content-type'), 'application/problem+json');
  assert.match(headers.get('retry-after') ?? '', /^\d+$/);
  assert.match(text, /cannot store or read its data right now/);
}

/** Every source with its record and its count, and a sound file. */
function assertWhole(db: Db, sources: number): void {
  assert.equal(countRows({ db }, 'sources'), sources);
  assert.equal(auditRecords({ db, clock: Date.now }).list({ act: 'source.created' }, undefined, sources + 1).length, sources);
  assert.equal(createCounters(db).value('sources', 'native,active'), sources);
  assert.equal(db.pragma('integrity_check'), 'ok');
  assert.equal(db.pragma('foreign_key_check'), undefined);
}

test('on a real full disk without a reserve web refuses writes with 503, goes on reading, and works again when there is space', async (t) => {
  const hub = await startOnSmallDisk(t, 6, { DISK_RESERVE_BYTES: '0' });
  if (!hub) return;
  const { web, client: ada, folder } = hub;
  for (let n = 0; n < 3; n++) assert.equal((await addSource(ada, n)).status, 201);
  fillDisk(join(folder, 'filler'));

  const { added, refusal } = await addUntilRefused(ada);
  assertStorageRefusal(refusal);
  assert.equal((await ada.get('/api/account')).status, 200);
  assert.equal((await ada.page('/')).status, 200);
  assert.equal((await ada.get('/api/health')).json()['ok'], true);
  assertWhole(copyDatabase(t, folder), 3 + added);

  rmSync(join(folder, 'filler'));
  assert.equal((await addSource(ada, added)).status, 201);
  assertWhole(copyDatabase(t, folder), 3 + added + 1);
  assert.equal(await web.end('SIGTERM'), 0);
});
