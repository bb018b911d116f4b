// Protects the repair of a full disk: one member fills it, and an administrator makes room from within the hub.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { addNotes, itemsAt } from '../../support/accounts.ts';
import { createClient, type Answer, type Client } from '../../support/client.ts';
import { hubEnvironment, watchHubProcess, type HubProcess } from '../../support/hub-process.ts';
import { fillDisk, startOnSmallDisk, type HubOnSmallDisk } from '../../support/small-disk.ts';
import { PROJECT_ROOT } from '../../support/run-program.ts';
import { standardEvent } from '../../support/signed-events.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { makeWebhook, sendEvent } from '../../support/webhooks.ts';

const MEGABYTES = 64;
const PASSWORD = 'correct horse battery';

/** Characters of the posts that fill the disk, in turn. */
const LENGTHS = [400_000, 800, 5_000, 60_000, 2_000];

let made = 0;

/** Words that no other post has, so that the search index grows too. */
function words(length: number): string {
  let text = '';
  while (text.length < length) text += `${(made++ * 7_919).toString(36)}ö `;
  return text.slice(0, length);
}

function write(client: Client, sourceId: number, length: number): Promise<Answer> {
  return client.post('/api/posts', { sourceId, title: `${made}`, content: words(length), contentType: 'text/plain' });
}

/**
 * Posts until the hub refuses with an empty log, and returns how many posts it took and its refusal. The hub also
 * refuses while a reader keeps the log from being emptied, which ends by itself.
 */
async function postUntilRefused(hub: HubOnSmallDisk, client: Client, sourceId: number): Promise<{ taken: number; refusal: Answer }> {
  let isLogEmpty: unknown = false;
  for (let taken = 0; taken < 20_000;) {
    const answer = await write(client, sourceId, LENGTHS[taken % LENGTHS.length] ?? 0);
    if (answer.status === 201) taken++;
    else if (isLogEmpty) return { taken, refusal: answer };
    isLogEmpty = answer.status !== 201 && ask(hub, 'empty log');
  }
  throw new Error('the disk is never full');
}

/**
 * Stops the worker when some of the source's posts are gone. On a full disk each step of the worker changes the file of
 * the database, which is seen at once; the posts are counted while the worker is stopped.
 */
async function stopHalfWay(hub: HubOnSmallDisk, worker: HubProcess, sourceId: number, posts: number): Promise<void> {
  const changedAt = (): number => statSync(join(hub.folder, 'hub.db')).mtimeMs;
  for (;;) {
    const before = changedAt();
    await waitUntil('the worker changes the database', () => changedAt() !== before);
    worker.child.kill('SIGSTOP');
    if (postsOf(hub, sourceId) < posts - 5) return;
    worker.child.kill('SIGCONT');
  }
}

/** Another browser, in which somebody signs in. */
async function signIn(address: string, username: string): Promise<Client> {
  const client = createClient(address);
  const answer = await client.post('/api/session', { username, password: PASSWORD });
  assert.equal(answer.status, 200, answer.text);
  return client;
}

/** Somebody who joins by an invitation of the administrator's. */
async function joinHub(address: string, ada: Client, username: string): Promise<Client> {
  const invited = await ada.post('/api/invitations', { role: 'member', currentPassword: PASSWORD });
  const { url } = invited.json<{ url: string }>();
  const client = createClient(address);
  const joined = await client.post('/api/accounts', { invitation: url.split('/').at(-1), username, password: PASSWORD });
  assert.equal(joined.status, 201, joined.text);
  return client;
}

/** A worker that sees the same disk. */
function startWorker(t: TestContext, { web, dataDir }: HubOnSmallDisk): HubProcess {
  const env = { ...hubEnvironment(dataDir), PATH: process.env.PATH ?? '' };
  const launch = [process.execPath, join(PROJECT_ROOT, 'src/bin/launch.ts'), 'worker'];
  return watchHubProcess(t, spawn('nsenter', ['-m', '-t', String(web.child.pid), ...launch], { env, stdio: 'pipe' }));
}

/** Asks the hub's database, where its processes see it, one of the questions of that program. */
function ask({ web, dataDir }: HubOnSmallDisk, ...question: string[]): unknown {
  const program = [process.execPath, join(PROJECT_ROOT, 'test/support/ask-database.ts'), join(dataDir, 'hub.db'), ...question];
  const { status, stdout, stderr } = spawnSync('nsenter', ['-m', '-t', String(web.child.pid), ...program]);
  assert.equal(status, 0, stderr.toString());
  return JSON.parse(stdout.toString());
}

function postsOf(hub: HubOnSmallDisk, sourceId: number): number {
  return Number(ask(hub, 'posts', String(sourceId)));
}

function assertSound(hub: HubOnSmallDisk): void {
  assert.deepEqual(ask(hub, 'soundness'), { file: 'ok', orphan: null, search: { unindexed: 0, stray: 0 } });
}

async function degraded(client: Client): Promise<unknown> {
  const { ok, degraded } = (await client.get('/api/health')).json();
  assert.equal(ok, true);
  return degraded;
}

test('a member fills the disk; an administrator signs in, disables the member and deletes the largest source, and other members write again', async (t) => {
  const hub = await startOnSmallDisk(t, MEGABYTES);
  if (!hub) return;
  const { web, client: ada, address } = hub;
  const bob = await joinHub(address, ada, 'bob');
  const first = startWorker(t, hub);
  await first.logged('working');
  const [large, small] = [await addNotes(bob, 'Large'), await addNotes(ada, 'Small')];
  const hook = await makeWebhook(ada);
  await ada.send('PUT', `/api/sources/${large}/follow`);
  const last = (await write(bob, large, 10)).json<{ id: number }>().id;
  assert.deepEqual(await degraded(ada), []);

  const { taken, refusal } = await postUntilRefused(hub, bob, large);
  assert.equal(refusal.status, 507, refusal.text);
  assert.match(refusal.text, /The hub’s disk is full: nothing was stored/);
  assert.ok(taken > 50, `${taken} posts`);
  assert.deepEqual(await degraded(ada), ['disk']);
  const page = await bob.form('/sources', { kind: 'native', title: 'More' });
  assert.deepEqual([page.status, page.headers.get('content-type')], [507, 'text/html; charset=utf-8']);
  assert.equal((await sendEvent(address, hook.id, standardEvent(hook.secret))).status, 507);
  const unread = async () => (await ada.get('/api/reading')).json()['unread'];
  const before = await unread();
  assert.deepEqual([(await ada.page(`/posts/${last}`)).status, await unread()], [200, before]);

  const admin = await signIn(address, 'ada');
  assert.match((await admin.page('/admin')).text, /The disk is full: members can store nothing\./);
  const disabled = { disabled: true, currentPassword: PASSWORD };
  const body = { body: JSON.stringify(disabled), headers: { 'content-type': 'application/json' } };
  assert.equal((await admin.send('PATCH', '/api/admin/accounts/2', body)).status, 200);
  assert.equal((await bob.get('/api/account')).status, 401);
  assert.equal((await admin.delete(`/api/sources/${large}`)).status, 204);

  await stopHalfWay(hub, first, large, taken);
  await first.end('SIGKILL');
  const left = postsOf(hub, large);
  assert.ok(left > 0, 'the worker was killed in the midst of it');
  ask(hub, 'end leases');
  const second = startWorker(t, hub);
  await waitUntil('all of it is removed', () => postsOf(hub, large) === 0);
  await waitUntil('the disk has room', async () => JSON.stringify(await degraded(ada)) === '[]');

  const carol = await joinHub(address, admin, 'carol');
  const notes = await addNotes(carol, 'Notes');
  for (let n = 0; n < 20; n++) assert.equal((await write(carol, notes, 100_000)).status, 201);
  assert.equal((await write(admin, small, 100)).status, 201);
  assert.deepEqual(await itemsAt(admin, '/api/admin/errors'), []);
  assertSound(hub);
  for (const program of [second, web]) assert.equal(await program.end('SIGTERM'), 0);
});

test('also where other files take a third of the reserve, the largest source can be removed, and with their space members write', async (t) => {
  const hub = await startOnSmallDisk(t, MEGABYTES);
  if (!hub) return;
  const { client: ada, folder, address } = hub;
  const bob = await joinHub(address, ada, 'bob');
  const worker = startWorker(t, hub);
  await worker.logged('working');
  const large = await addNotes(bob, 'Large');
  await postUntilRefused(hub, bob, large);
  const filler = join(folder, 'filler');
  fillDisk(filler);
  truncateSync(filler, statSync(filler).size - 20 * 1024 * 1024);

  assert.equal((await write(bob, large, 10)).status, 507);
  const admin = await signIn(address, 'ada');
  assert.equal((await admin.delete(`/api/sources/${large}`)).status, 204);
  await waitUntil('all of it is removed', () => postsOf(hub, large) === 0);
  assertSound(hub);
  rmSync(filler);
  await waitUntil('the disk has room', async () => JSON.stringify(await degraded(ada)) === '[]');
  assert.equal((await write(bob, await addNotes(bob, 'Notes'), 100_000)).status, 201);
});
