// Protects the hub on a full disk: writes are refused, reads go on, and it recovers by itself.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { auditRecords } from '../../../src/features/audit/audit-store.ts';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { createCounters } from '../../../src/platform/metrics/counters.ts';
import type { Answer, Client } from '../../support/client.ts';
import { hubWith } from '../../support/hub.ts';
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

function manyFeeds(): string {
  const outline = (n: number): string => `<outline xmlUrl="https://blog${n}.test/" text="${LONG_TITLE}"/>`;
  const outlines = Array.from({ length: 100 }, (_, n) => outline(n));
  return `<opml version="2.0"><body>${outlines.join('')}</body></opml>`;
}

/** Every source with its record and its count, and a sound file. */
function assertWhole(db: Db, sources: number): void {
  assert.equal(countRows({ db }, 'sources'), sources);
  assert.equal(auditRecords({ db, clock: Date.now }).list({ act: 'source.created' }, undefined, sources + 1).length, sources);
  assert.equal(createCounters(db).value('sources', 'native,active'), sources);
  assert.equal(db.pragma('integrity_check'), 'ok');
  assert.equal(db.pragma('foreign_key_check'), undefined);
}

test('when the database cannot grow, writes are refused with 503, reads go on, and nothing is half-written', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  hub.db.pragma(`max_page_count = ${Number(hub.db.pragma('page_count')) + 4}`);

  const { added, refusal } = await addUntilRefused(ada);
  assert.ok(added > 0);
  assertStorageRefusal(refusal);
  const page = await ada.form('/sources/import', { opml: manyFeeds(), visibility: 'public' });
  assert.deepEqual([page.status, page.headers.get('content-type')], [503, 'text/html; charset=utf-8']);

  assertWhole(hub.db, added);
  assert.equal((await ada.get('/api/sources')).json<{ items: unknown[] }>().items.length, Math.min(added, 30));
  assert.deepEqual([(await ada.get('/api/account')).status, (await hub.anybody.page('/')).status], [200, 200]);
  const health = await hub.anybody.get('/api/health');
  assert.deepEqual([health.status, health.json()['ok']], [200, true]);
  const failures = hub.logged().filter(({ event }) => event === 'request failed');
  assert.ok(failures.length > 0);
  for (const { error } of failures) assert.match(String(error), /disk is full/);

  hub.db.pragma('max_page_count = 1000000');
  assert.equal((await addSource(ada, added)).status, 201);
  assertWhole(hub.db, added + 1);
});

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
