// Protects web and worker side by side: starting together, writing together, and stopping without loss.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { invitations as invitationsOf } from '../../../src/features/accounts/account-store.ts';
import { HOUR } from '../../../src/platform/clock.ts';
import { readMigrations } from '../../../src/platform/db/migration-files.ts';
import { openDatabase, type Db } from '../../../src/platform/db/open-database.ts';
import { createClient, type Answer, type Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { startHubProcess, temporaryDataDir, type HubProcess } from '../../support/hub-process.ts';
import { number } from '../../support/migrated-database.ts';
import { startOrigin, startRawOrigin } from '../../support/origin.ts';
import { PROJECT_ROOT } from '../../support/run-program.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PASSWORD = 'correct horse battery';
const SHUTDOWN = 10_000; // ms within which a process must have stopped

/** Lines that must not be there however many write at once. */
const LOCK_TROUBLE = /locked|SQLITE_|busy|trouble|unexpected|cannot use/i;

function connect(t: TestContext, dataDir: string): Db {
  const db = openDatabase(join(dataDir, 'hub.db'));
  t.after(() => db.close());
  return db;
}

function rows<Row>(db: Db, sql: string): Row[] {
  return db.prepare<[], Row>('rows', sql).all();
}

function newInvitation(db: Db): string {
  const invitations = invitationsOf({ db: db, clock: Date.now });
  return invitations.create({ role: 'member', purpose: 'invite', createdBy: null, lifetime: HOUR }).token;
}

async function joinAs(address: string, db: Db, username: string): Promise<Client> {
  const client = createClient(address);
  const person = { invitation: newInvitation(db), username, password: PASSWORD };
  const { status, text } = await client.post('/api/accounts', person);
  assert.equal(status, 201, text);
  return client;
}

test('web and worker that start at the same moment on a new folder both come up, every time', async (t) => {
  const versions = readMigrations(join(PROJECT_ROOT, 'migrations')).map(({ version }) => ({ version }));

  for (let round = 0; round < 10; round++) {
    const dataDir = temporaryDataDir(t);
    const [web, worker] = [startHubProcess(t, 'web', dataDir), startHubProcess(t, 'worker', dataDir)];
    await Promise.all([web.logged('listening'), worker.logged('working')]);
    await Promise.all([web.end('SIGKILL'), worker.end('SIGKILL')]);

    assert.doesNotMatch(web.stderr() + worker.stderr(), LOCK_TROUBLE);
    const db = openDatabase(join(dataDir, 'hub.db'));
    assert.deepEqual(rows(db, 'SELECT version FROM schema_migrations'), versions);
    assert.equal(db.pragma('integrity_check'), 'ok');
    db.close();
  }
});

/** Feeds on several hosts, since a host is never asked twice at once; each request finds a further post. */
async function startFeeds(t: TestContext): Promise<{ urls: string[]; served(): number }> {
  const items = new Map<string, number>();
  const feed = (path: string): string => {
    const count = (items.get(path) ?? 0) + 1;
    items.set(path, count);
    const guids = Array.from({ length: Math.min(count, 20) }, (_, n) => ({ guid: `${path}-${count - n}` }));
    return rss(`Feed ${path}`, guids);
  };
  const origins = await Promise.all(Array.from({ length: 6 }, () => startOrigin(t, (request, response) =>
    serving(() => feed(`${request.headers.host}${request.path}`))(request, response))));
  const urls = origins.flatMap(({ url }) => Array.from({ length: 5 }, (_, n) => `${url}/${n}`));
  return { urls, served: () => origins.reduce((sum, { requests }) => sum + requests.length, 0) };
}

/** Signs in, fails to, adds and changes sources until told to stop. Returns how often each was answered how. */
async function writeOnWeb(address: string, client: Client, done: () => boolean): Promise<Record<string, number>> {
  const answers: Record<string, number> = {};
  const note = (what: string, { status }: Answer): void => {
    const key = `${what} ${status}`;
    answers[key] = (answers[key] ?? 0) + 1;
  };
  const signIn = (username: string) => createClient(address).post('/api/session', { username, password: PASSWORD });
  for (let n = 0; !done(); n++) {
    const added = await client.post('/api/sources', { kind: 'native', title: `Source ${n}` });
    note('add', added);
    note('change', await client.patch(`/api/sources/${added.json<{ id: number }>().id}`, { visibility: 'private' }));
    if (n % 20 === 0) note('sign in', await signIn('ada'));
    if (n % 100 === 50 && n < 600) note('fail', await signIn('nobody'));
  }
  return answers;
}

function assertCountsTrue(db: Db): void {
  for (const [metric, sql] of [
    ['sources', `SELECT kind || ',' || state AS label, count(*) AS value FROM sources GROUP BY 1`],
    ['jobs', `SELECT kind || ',' || state AS label, count(*) AS value FROM jobs GROUP BY 1`],
    ['public_posts', `SELECT '' AS label, count(*) AS value FROM posts WHERE is_public = 1`],
  ]) {
    const kept = rows(db, `SELECT label, value FROM counts WHERE metric = '${metric}' AND value <> 0 ORDER BY label`);
    assert.deepEqual(kept, rows(db, `${sql} ORDER BY label`), metric);
  }
}

test('web and two workers write together under load without a lock in the way, and all counts stay true', async (t) => {
  const dataDir = temporaryDataDir(t);
  const { urls, served } = await startFeeds(t);
  const web = startHubProcess(t, 'web', dataDir);
  const address = await web.address();
  const workers = [startHubProcess(t, 'worker', dataDir), startHubProcess(t, 'worker', dataDir)];
  await Promise.all(workers.map((worker) => worker.logged('working')));
  const db = connect(t, dataDir);
  const ada = await joinAs(address, db, 'ada');
  for (const url of urls) assert.equal((await ada.post('/api/sources', { kind: 'feed', url })).status, 201);

  const goal = served() + 4 * urls.length;
  const due = `UPDATE sources SET next_sync_at = 0 WHERE kind = 'feed' AND next_sync_at > 0`;
  const makeDue = setInterval(() => db.exec(due), 300);
  t.after(() => clearInterval(makeDue));
  const answers = await writeOnWeb(address, ada, () => served() >= goal);
  clearInterval(makeDue);
  await waitUntil('nothing is left to do', () => number(db, `
    SELECT (SELECT count(*) FROM jobs WHERE state NOT IN ('done', 'discarded'))
         + (SELECT count(*) FROM sources WHERE next_sync_at = 0)`) === 0);
  const health = (await ada.get('/api/health')).json<{ ok: boolean; failedJobs: number; worker: { ok: boolean } }>();
  assert.deepEqual(await Promise.all([web, ...workers].map((one) => one.end('SIGTERM'))), [0, 0, 0]);

  t.diagnostic(`${served()} syncs, ${JSON.stringify(answers)}`);
  assert.deepEqual(Object.keys(answers).sort(), ['add 201', 'change 200', 'fail 401', 'sign in 200']);
  for (const one of [web, ...workers]) assert.doesNotMatch(one.stderr(), LOCK_TROUBLE);
  assert.deepEqual([health.ok, health.failedJobs, health.worker.ok], [true, 0, true]);
  assertCountsTrue(db);
  assert.equal(number(db, 'SELECT count(*) FROM posts'), served(), 'each sync found one more post, none twice');
  assert.equal(number(db, 'SELECT count(*) FROM jobs WHERE attempts > 1'), 0);
  assert.equal(db.pragma('integrity_check'), 'ok');
});

/** What was sent before this has reached web. */
async function untilHeard(address: string): Promise<void> {
  assert.equal((await createClient(address).get('/api/health')).status, 200);
}

/** A POST whose body is sent in two parts. */
function slowPost(url: string, body: string): { answer: Promise<IncomingMessage>; rest(): void } {
  const headers = { 'content-type': 'application/json', 'content-length': body.length, 'sec-fetch-site': 'same-origin' };
  const post = request(url, { method: 'POST', headers });
  const answer = once(post, 'response').then(([response]: IncomingMessage[]) => {
    if (!response) throw new Error('no response');
    return response.resume();
  });
  post.write(body.slice(0, 10));
  return { answer, rest: () => void post.end(body.slice(10)) };
}

test('SIGTERM lets web finish the request in hand, and then it ends', async (t) => {
  const dataDir = temporaryDataDir(t);
  const web = startHubProcess(t, 'web', dataDir);
  const address = await web.address();
  const db = connect(t, dataDir);
  const body = JSON.stringify({ invitation: newInvitation(db), username: 'ada', password: PASSWORD });
  const { answer, rest } = slowPost(`${address}/api/accounts`, body);
  await untilHeard(address);

  const start = performance.now();
  web.child.kill('SIGTERM');
  await web.logged('stopping');
  await assert.rejects(createClient(address).get('/api/health'), 'nothing new is taken');
  rest();
  assert.equal((await answer).statusCode, 201);
  assert.equal(await web.ended, 0);

  assert.ok(performance.now() - start < SHUTDOWN);
  assert.equal(number(db, `SELECT count(*) FROM accounts WHERE username = 'ada'`), 1);
});

test('SIGTERM cuts a request that never ends, and web still ends in time', async (t) => {
  const web = startHubProcess(t, 'web', temporaryDataDir(t));
  const address = await web.address();
  const { answer } = slowPost(`${address}/api/session`, JSON.stringify({ username: 'ada', password: PASSWORD }));
  const cut = assert.rejects(answer);
  await untilHeard(address);

  const start = performance.now();
  web.child.kill('SIGTERM');
  assert.equal(await web.ended, 0);
  await cut;
  assert.ok(performance.now() - start < SHUTDOWN);
});

/** A feed that nobody answers for, due at once. */
async function addSilentFeed(t: TestContext, db: Db): Promise<{ connections(): number }> {
  const origin = await startRawOrigin(t, () => {});
  db.exec(`
    INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
      VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0);
    INSERT INTO sources (id, owner_id, kind, title, next_sync_at, created_at, updated_at)
      VALUES (1, 1, 'feed', 'Silent', 0, 0, 0);
    INSERT INTO feeds (source_id, url, host) VALUES (1, '${origin.url}/feed', '127.0.0.1');
  `);
  return origin;
}

test('SIGTERM makes the worker give back a sync that hangs, the attempt not counted, and end', async (t) => {
  const dataDir = temporaryDataDir(t);
  const worker = startHubProcess(t, 'worker', dataDir);
  await worker.logged('working');
  const db = connect(t, dataDir);
  const { connections } = await addSilentFeed(t, db);
  await waitUntil('the sync hangs', () => connections() === 1);
  assert.deepEqual(rows(db, 'SELECT state, attempts FROM jobs'), [{ state: 'running', attempts: 1 }]);

  const start = performance.now();
  assert.equal(await worker.end('SIGTERM'), 0);

  assert.ok(performance.now() - start < SHUTDOWN);
  assert.deepEqual(rows(db, 'SELECT state, attempts FROM jobs'), [{ state: 'queued', attempts: 0 }]);
  assert.equal(worker.lines('job released').length, 1);
});

async function startWhole(t: TestContext): Promise<{ hub: HubProcess; db: Db; connections(): number }> {
  const dataDir = temporaryDataDir(t);
  const hub = startHubProcess(t, 'start', dataDir);
  await Promise.all([hub.logged('listening'), hub.logged('working')]);
  const db = connect(t, dataDir);
  return { hub, db, ...(await addSilentFeed(t, db)) };
}

test('when the supervisor is killed, web and worker stop by themselves and give back what they had in hand', async (t) => {
  const { hub, db, connections } = await startWhole(t);
  await waitUntil('a sync hangs', () => connections() === 1);

  const start = performance.now();
  assert.equal(await hub.end('SIGKILL'), 'SIGKILL', 'seen when the last of them has let go of its streams');

  assert.ok(performance.now() - start < SHUTDOWN);
  assert.deepEqual(hub.lines('stopped').map(({ program }) => program).sort(), ['web', 'worker']);
  assert.deepEqual(rows(db, 'SELECT state, attempts FROM jobs'), [{ state: 'queued', attempts: 0 }]);
});
