// Protects the hub on a full disk: writes are refused, reads go on, and it recovers by itself.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { createClient, type Answer, type Client } from '../support/client.ts';
import { startHub } from '../support/hub.ts';
import { hubEnvironment, temporaryDataDir, watchHubProcess, type HubProcess } from '../support/hub-process.ts';
import { number } from '../support/migrated-database.ts';
import { mayMountSmallDisk } from '../support/private-mounts.ts';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { fillDisk } from '../support/small-disk.ts';

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
  assert.equal(number(db, 'SELECT count(*) FROM sources'), sources);
  assert.equal(number(db, `SELECT count(*) FROM audit_records WHERE act = 'source.created'`), sources);
  assert.equal(number(db, `SELECT value FROM counts WHERE metric = 'sources' AND label = 'native,active'`), sources);
  assert.equal(db.pragma('integrity_check'), 'ok');
  assert.equal(number(db, 'SELECT count(*) FROM pragma_foreign_key_check'), 0);
}

test('when the database cannot grow, writes are refused with 503, reads go on, and nothing is half-written', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.person('ada');
  hub.db.pragma(`max_page_count = ${Number(hub.db.pragma('page_count')) + 4}`);

  const { added, refusal } = await addUntilRefused(ada);
  assert.ok(added > 0);
  assertStorageRefusal(refusal);
  const page = await ada.form('/sources/import', { opml: manyFeeds() });
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

const LAUNCH = join(PROJECT_ROOT, 'src/bin/launch.ts');

/** A web process whose data are on a file system of 6 MB that only it has. */
function startOnSmallDisk(t: TestContext, env: Record<string, string>): HubProcess {
  const become = 'mount -t tmpfs -o size=6m tmpfs "$DATA_DIR" && exec "$0" "$@"';
  const child = spawn('unshare', ['-m', 'sh', '-c', become, process.execPath, LAUNCH, 'web'], { env, stdio: 'pipe' });
  return watchHubProcess(t, child);
}

/** The token of an invitation, made by the command line beside that process. */
async function inviteBeside(web: HubProcess, env: Record<string, string>): Promise<string> {
  const args = ['-m', '-t', String(web.child.pid), process.execPath, LAUNCH, 'hubctl', 'invite'];
  const { stdout } = await runProgram('nsenter', args, { env });
  return stdout.trim();
}

/** A copy of the database, taken while nobody writes, with its log. */
function copyDatabase(t: TestContext, from: string): Db {
  const folder = temporaryDataDir(t);
  for (const file of ['hub.db', 'hub.db-wal']) copyFileSync(join(from, file), join(folder, file));
  const db = openDatabase(join(folder, 'hub.db'));
  t.after(() => db.close());
  return db;
}

test('on a real full disk web refuses writes with 503, goes on reading, and works again when there is space', async (t) => {
  const dataDir = join(temporaryDataDir(t), 'data');
  mkdirSync(dataDir);
  if (!mayMountSmallDisk(t, dataDir)) return;
  const env = { ...hubEnvironment(dataDir), PATH: process.env.PATH ?? '' };
  const web = startOnSmallDisk(t, env);
  const ada = createClient(await web.address());
  const invitation = await inviteBeside(web, env);
  const person = { invitation, username: 'ada', password: 'correct horse battery' };
  assert.equal((await ada.post('/api/accounts', person)).status, 201);
  const seen = `/proc/${web.child.pid}/root${dataDir}`; // its folder as this process can see it
  for (let n = 0; n < 3; n++) assert.equal((await addSource(ada, n)).status, 201);
  fillDisk(join(seen, 'filler'));

  const { added, refusal } = await addUntilRefused(ada);
  assertStorageRefusal(refusal);
  assert.equal((await ada.get('/api/account')).status, 200);
  assert.equal((await ada.page('/')).status, 200);
  assert.equal((await ada.get('/api/health')).json()['ok'], true);
  assertWhole(copyDatabase(t, seen), 3 + added);

  rmSync(join(seen, 'filler'));
  assert.equal((await addSource(ada, added)).status, 201);
  assertWhole(copyDatabase(t, seen), 3 + added + 1);
  assert.equal(await web.end('SIGTERM'), 0);
});
