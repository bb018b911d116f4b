// Protects web and worker side by side: starting together, writing together, and stopping without loss.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { accounts, invitations as invitationsOf } from '../../../src/features/accounts/account-store.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { syncState } from '../../../src/features/sources/sync-state-store.ts';
import { HOUR } from '../../../src/platform/clock.ts';
import { pendingMigrations } from '../../../src/platform/db/migrate.ts';
import { openDatabase, type Db } from '../../../src/platform/db/open-database.ts';
import type { JobRow } from '../../../src/platform/jobs/job-records.ts';
import { addFeed } from '../../support/accounts.ts';
import { createClient, type Answer, type Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { startHubProcess, temporaryDataDir, type HubProcess } from '../../support/hub-process.ts';
import { MIGRATIONS } from '../../support/migrated-database.ts';
import { startOrigin, startRawOrigin } from '../../support/origin.ts';
import { assertCountsAreTrue } from '../../support/queue.ts';
import { addAccount } from '../../support/stored-accounts.ts';
import { storedJobs } from '../../support/stored-jobs.ts';
import { countRows } from '../../support/stored-rows.ts';
import { addFeedDueAt } from '../../support/stored-sources.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PASSWORD = 'correct horse battery';

/** Lines that must not be there however many write at once. */
const LOCK_TROUBLE = /locked|SQLITE_|busy|trouble|unexpected|cannot use/i;

function connect(t: TestContext, dataDir: string): Db {
  const db = openDatabase(join(dataDir, 'hub.db'));
  t.after(() => db.close());
  return db;
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
  for (let round = 0; round < 10; round++) {
    const dataDir = temporaryDataDir(t);
    const [web, worker] = [startHubProcess(t, 'web', dataDir), startHubProcess(t, 'worker', dataDir)];
    await Promise.all([web.logged('listening'), worker.logged('working')]);
    await Promise.all([web.end('SIGKILL'), worker.end('SIGKILL')]);

    assert.doesNotMatch(web.stderr() + worker.stderr(), LOCK_TROUBLE);
    const db = openDatabase(join(dataDir, 'hub.db'));
    assert.equal(countRows({ db }, 'schema_migrations'), MIGRATIONS.length);
    assert.deepEqual(pendingMigrations(db, MIGRATIONS), []);
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

/**
 * Signs in, fails to, adds and changes sources until told to stop, however slow web is each at least once. Returns how
 * often each was answered how.
 */
async function writeOnWeb(address: string, client: Client, done: () => boolean): Promise<Record<string, number>> {
  const answers: Record<string, number> = {};
  const note = (what: string, { status }: Answer): void => {
    const key = `${what} ${status}`;
    answers[key] = (answers[key] ?? 0) + 1;
  };
  const signIn = (username: string) => createClient(address).post('/api/session', { username, password: PASSWORD });
  for (let n = 0; n <= 50 || !done(); n++) {
    const added = await client.post('/api/sources', { kind: 'native', title: `Source ${n}` });
    note('add', added);
    note('change', await client.patch(`/api/sources/${added.json<{ id: number }>().id}`, { visibility: 'private' }));
    if (n % 20 === 0) note('sign in', await signIn('ada'));
    if (n % 100 === 50 && n < 600) note('fail', await signIn('nobody'));
  }
  return answers;
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
  const feeds: number[] = [];
  for (const url of urls) feeds.push(await addFeed(ada, url));

  const goal = served() + 4 * urls.length;
  const stores = { db, clock: Date.now };
  const allDue = (): void => feeds.forEach((id) => syncState(stores).planNext(id, 0));
  const makeDue = setInterval(() => db.write('all are due', allDue), 300);
  t.after(() => clearInterval(makeDue));
  const answers = await writeOnWeb(address, ada, () => served() >= goal);
  clearInterval(makeDue);
  const hasEnded = ({ state }: JobRow): boolean => state === 'done' || state === 'discarded';
  const isDue = (id: number): boolean => sources(stores).find(id)?.nextSyncAt === 0;
  await waitUntil('nothing is left to do', () => !feeds.some(isDue) && storedJobs({ db }).every(hasEnded));
  const health = (await ada.get('/api/health')).json<{ ok: boolean; failedJobs: number; worker: { ok: boolean } }>();
  assert.deepEqual(await Promise.all([web, ...workers].map((one) => one.end('SIGTERM'))), [0, 0, 0]);

  t.diagnostic(`${served()} syncs, ${JSON.stringify(answers)}`);
  assert.deepEqual(Object.keys(answers).sort(), ['add 201', 'change 200', 'fail 401', 'sign in 200']);
  for (const one of [web, ...workers]) assert.doesNotMatch(one.stderr(), LOCK_TROUBLE);
  assert.deepEqual([health.ok, health.failedJobs, health.worker.ok], [true, 0, true]);
  assertCountsAreTrue(db);
  assert.equal(countRows({ db }, 'posts'), served(), 'each sync found one more post, none twice');
  assert.deepEqual(storedJobs({ db }).filter(({ attempts }) => attempts > 1), []);
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

  web.child.kill('SIGTERM');
  await web.logged('stopping');
  await assert.rejects(createClient(address).get('/api/health'), 'nothing new is taken');
  rest();
  assert.equal((await answer).statusCode, 201);
  assert.equal(await web.ended, 0);

  assert.equal(accounts({ db, clock: Date.now }).findByName('ada')?.id, 1);
});

/** A feed that nobody answers for, due at once. */
async function addSilentFeed(t: TestContext, db: Db): Promise<{ connections(): number }> {
  const origin = await startRawOrigin(t, () => {});
  addAccount({ db }, 'ada', 'admin');
  addFeedDueAt({ db }, 0, `${origin.url}/feed`);
  return origin;
}

function jobsOf(db: Db): Pick<JobRow, 'state' | 'attempts'>[] {
  return storedJobs({ db }).map(({ state, attempts }) => ({ state, attempts }));
}

test('SIGTERM makes the worker give back a sync that hangs, the attempt not counted, and end', async (t) => {
  const dataDir = temporaryDataDir(t);
  const worker = startHubProcess(t, 'worker', dataDir);
  await worker.logged('working');
  const db = connect(t, dataDir);
  const { connections } = await addSilentFeed(t, db);
  await waitUntil('the sync hangs', () => connections() === 1);
  assert.deepEqual(jobsOf(db), [{ state: 'running', attempts: 1 }]);

  assert.equal(await worker.end('SIGTERM'), 0);

  assert.deepEqual(jobsOf(db), [{ state: 'queued', attempts: 0 }]);
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

  assert.equal(await hub.end('SIGKILL'), 'SIGKILL', 'seen when the last of them has let go of its streams');

  assert.deepEqual(hub.lines('stopped').map(({ program }) => program).sort(), ['web', 'worker']);
  assert.deepEqual(jobsOf(db), [{ state: 'queued', attempts: 0 }]);
});
