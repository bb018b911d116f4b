// Protects counters that are kept in memory: none is lost or counted twice, and reading files writes nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBufferedCounters, createCounters } from '../../../src/platform/metrics/counters.ts';
import { startHub } from '../../support/hub.ts';
import { startHubProcess } from '../../support/hub-process.ts';
import { failWrites, writesOf as changesMade } from '../../support/stored-rows.ts';
import { getFile } from '../../support/own-posts.ts';
import { hubWithFiles, image } from '../../support/remote-files.ts';
import { png } from '../../support/sample-files.ts';

test('counts are written when they are flushed, all that came together in one, and once', async (t) => {
  const { db } = await startHub(t);
  const kept = createCounters(db);
  const counts = createBufferedCounters(kept);
  const changes = () => changesMade({ db });

  const before = changes();
  for (let n = 0; n < 1_000; n++) counts.add('owls', n % 4 === 0 ? 'barn' : 'tawny');
  counts.add('voles', '');
  assert.equal(changes(), before, 'nothing is written yet');
  counts.flush();
  assert.equal(changes() - before, 3);
  counts.flush();
  assert.equal(changes() - before, 3);
  const { value } = kept.read();
  assert.deepEqual([value('owls', 'barn'), value('owls', 'tawny'), value('voles')], [250, 750, 1]);
});

test('counts of two processes add up', async (t) => {
  const { db } = await startHub(t);
  const kept = createCounters(db);
  const [one, other] = [createBufferedCounters(kept), createBufferedCounters(kept)];

  for (let n = 0; n < 3; n++) [one, other].forEach((counts) => counts.add('owls', ''));
  one.flush();
  one.add('owls', '');
  [other, one].forEach((counts) => counts.flush());
  assert.equal(kept.read().value('owls'), 7);
});

test('what cannot be written on a full disk waits, and is not counted twice', async (t) => {
  const { db } = await startHub(t);
  const kept = createCounters(db);
  const counts = createBufferedCounters(kept);
  const label = (n: number): string => `${n} ${'x'.repeat(500)}`;

  db.pragma(`max_page_count = ${Number(db.pragma('page_count'))}`);
  for (let n = 0; n < 200; n++) counts.add('owls', label(n));
  assert.doesNotThrow(() => counts.flush());
  assert.ok(kept.read().labels('owls').length < 200, 'the disk was full');
  counts.add('owls', label(0));
  db.pragma('max_page_count = 1000000');
  counts.flush();

  const reading = kept.read();
  const values = Array.from({ length: 200 }, (_, n) => reading.value('owls', label(n)));
  assert.deepEqual(values, [2, ...Array.from({ length: 199 }, () => 1)]);
});

test('any other error of the database is no secret', async (t) => {
  const { db } = await startHub(t);
  const counts = createBufferedCounters(createCounters(db));

  failWrites({ db }, 'INSERT', 'counts');
  counts.add('owls', '');
  assert.throws(() => counts.flush(), /made to fail/);
});

test('a scrape writes what was counted until then, reading files does not', async (t) => {
  const { hub, at } = await hubWithFiles(t, { '/i.png': image(png({ width: 1, height: 1 })) });
  const kept = createCounters(hub.db);
  const written = () => ['hit', 'miss'].map((result) => kept.read().value('attachment_cache_requests_total', result));

  await getFile(hub, at('/i.png'));
  const before = changesMade(hub);
  for (let n = 0; n < 20; n++) await getFile(hub, at('/i.png'));
  assert.equal(changesMade(hub), before, 'a hit writes nothing');
  assert.deepEqual(written(), [0, 0]);
  assert.match((await hub.anybody.get('/api/metrics')).text, /_cache_requests_total\{result="hit"\} 20\n/);
  assert.deepEqual(written(), [20, 1]);
});

test('a web process that is asked to stop writes what it counted', async (t) => {
  const { hub, at } = await hubWithFiles(t, { '/i.png': image(png({ width: 1, height: 1 })) });
  const web = startHubProcess(t, 'web', hub.dataDir);
  const address = await web.address();

  for (let n = 0; n < 3; n++) assert.equal((await fetch(address + at('/i.png'))).status, 200);
  assert.equal(await web.end('SIGTERM'), 0);
  assert.match((await hub.anybody.get('/api/metrics')).text, /_cache_requests_total\{result="hit"\} 2\n/);
});
