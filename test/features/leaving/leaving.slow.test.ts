// Protects those who leave: nothing of them stays readable, nothing of others is lost, and the export holds all of it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { ClientRequest } from 'node:http';
import { test } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { auditRecords } from '../../../src/features/audit/audit-store.ts';
import { exportAccount } from '../../../src/features/leaving/export-account.ts';
import { notifications } from '../../../src/features/notifications/notification-store.ts';
import { alertDeliveries, alertEvents } from '../../../src/features/alerts/alert-store.ts';
import { raiseAlert } from '../../../src/features/alerts/raise-alerts.ts';
import { tellOperator } from '../../../src/features/health/watch-conditions.ts';
import { audit } from '../../../src/features/audit/audit.ts';
import { MINUTE } from '../../../src/platform/clock.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { addNotes, addPost, leave, pointersOf, sendJson } from '../../support/accounts.ts';
import { createClient, type Client } from '../../support/client.ts';
import { DEFAULT_PREFERENCES } from '../../../src/features/hub/preferences.ts';
import type { Viewer } from '../../../src/platform/http/router.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { storeNotifications } from '../../support/stored-notifications.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { storedJobs } from '../../support/stored-jobs.ts';
import { addPosts } from '../../support/stored-posts.ts';
import { failWrites, countRows } from '../../support/stored-rows.ts';
import { begin, end } from '../../support/slow-request.ts';

/** A name that nothing else in a database holds. */
const NAME = 'zebulonquux';

/** Somebody with something of every kind that the hub keeps of a person. */
async function personWithEverything(hub: Hub): Promise<{ bob: Client; token: string; elsewhere: Client }> {
  const bob = await hub.newcomer(NAME);
  await bob.patch('/api/account', { displayName: `Dr. ${NAME}` });
  await bob.patch('/api/account', { displayName: `Prof. ${NAME}` });
  const { token } = (await bob.post('/api/tokens', { name: `${NAME}’s phone`, currentPassword: hub.password })).json<{ token: string }>();
  const elsewhere = createClient(hub.address);
  await elsewhere.post('/api/session', { username: NAME, password: hub.password });
  const sourceId = await addNotes(bob, `Diary of ${NAME}`);
  const postId = await addPost(bob, sourceId, `On ${NAME}`, `Words by ${NAME} himself`);
  await sendJson(bob, 'PUT', `/api/sources/${sourceId}/follow`, {});
  await sendJson(bob, 'PUT', `/api/posts/${postId}/read`, {});
  await bob.patch(`/api/sources/${sourceId}`, { title: `More of ${NAME}` });
  notifications(hub.handle).add({ accountId: 2, kind: 'test', title: `For ${NAME}`, path: '/' });
  assert.equal((await bob.delete(`/api/sources/${sourceId}`)).status, 204);
  return { bob, token, elsewhere };
}

/** Whether the name stands anywhere in the database's files. */
function isInFiles(hub: Hub, name: string): boolean {
  hub.db.pragma('wal_checkpoint(TRUNCATE)');
  const files = ['', '-wal'].map((suffix) => readFileSync(hub.config.databasePath + suffix, 'latin1'));
  return files.join('\n').toLowerCase().includes(name);
}

test('leaving needs the password and the word DELETE, each told apart', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);

  assert.equal((await leave(hub, bob, { password: 'not the password' })).status, 403);
  for (const confirmation of ['delete', ' DELETE', '']) {
    assert.deepEqual(pointersOf(await leave(hub, bob, { confirmation })), ['/confirmation']);
  }
  const lastAdmin = await leave(hub, ada);
  assert.equal(lastAdmin.status, 409);
  assert.equal(lastAdmin.json()['sources'], undefined);
  assert.equal((await bob.get('/api/account')).status, 200);

  const left = await leave(hub, bob);

  assert.equal(left.status, 204);
  assert.match(left.headers.get('set-cookie') ?? '', /hub_session=; .*Max-Age=0/);
});

test('what was asked for before leaving, and comes to be done after it, is not done', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const zeb = await hub.person(NAME);
  accounts(hub.handle).setState(2, 'admin', null);
  const { token } = (await zeb.post('/api/tokens', { name: 'phone', scope: 'admin', currentPassword: hub.password })).json<{ token: string }>();
  const later: [ClientRequest, object][] = [
    [await begin(hub, 'POST', '/api/invitations', token), { role: 'admin' }],
    [await begin(hub, 'POST', '/api/tokens', token), { name: 'another' }],
    [await begin(hub, 'PATCH', '/api/account', token), { displayName: `Dr. ${NAME}` }],
    [await begin(hub, 'POST', '/api/sources', token), { kind: 'native', title: `Notes of ${NAME}` }],
  ];

  assert.equal((await leave(hub, zeb)).status, 204);
  for (const [begun, body] of later.slice(0, 2)) assert.equal((await end(begun, body)).status, 401);
  await hub.work();
  for (const [begun, body] of later.slice(2)) assert.equal((await end(begun, body)).status, 401);

  assert.deepEqual((await ada.get('/api/invitations')).json()['items'], []);
  assert.equal(countRows(hub, 'api_tokens'), 0);
  assert.equal(countRows(hub, 'sources'), 0);
  assert.deepEqual(auditRecords(hub.handle).list({ actor: NAME }, undefined, 1), []);
});

test('nothing is recorded under the name of somebody who has left, nor once the account is gone altogether', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const record = () => audit(hub.handle, 'attachment.refused', { id: 2, name: NAME, address: null });
  const zeb = await hub.person(NAME);
  record();
  assert.equal((await leave(hub, zeb)).status, 204);

  assert.throws(record, { status: 401 });
  await hub.work();
  assert.equal(countRows(hub, 'accounts'), 1);
  assert.throws(record, { status: 401 });
  assert.deepEqual(auditRecords(hub.handle).list({ actor: NAME }, undefined, 1), []);
});

test('who owns sources is told which, and leaves once they are deleted or transferred', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob']);
  const [first, second] = [await addNotes(bob, 'One'), await addNotes(bob, 'Two')];

  const refused = await leave(hub, bob);
  assert.equal(refused.status, 409);
  assert.deepEqual(refused.json()['sources'], [{ id: first, title: 'One' }, { id: second, title: 'Two' }]);

  await bob.delete(`/api/sources/${first}`);
  await bob.post(`/api/sources/${second}/transfer`, { username: 'ada' });
  assert.equal((await leave(hub, bob)).status, 204);
});

test('sessions and tokens end at once, and the name is free again', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const { bob, token, elsewhere } = await personWithEverything(hub);
  assert.equal((await elsewhere.get('/api/account')).status, 200);

  assert.equal((await leave(hub, bob)).status, 204);

  assert.equal((await bob.get('/api/account')).status, 401);
  assert.equal((await elsewhere.get('/api/account')).status, 401);
  assert.equal((await hub.anybody.get('/api/account', { authorization: `Bearer ${token}` })).status, 401);
  assert.equal((await hub.anybody.post('/api/session', { username: NAME, password: hub.password })).status, 401);
  const again = await hub.person(NAME);
  assert.deepEqual((await again.get('/api/history')).json()['items'], []);
  assert.deepEqual((await again.get('/api/notifications')).json()['items'], []);
  await hub.work();
  assert.equal((await again.get('/api/account')).status, 200, 'the removal is about another account');
});

test('nothing of the name is left in the database, and what was done stays under a made-up one', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const { bob } = await personWithEverything(hub);
  assert.equal(isInFiles(hub, NAME), true);

  assert.equal((await leave(hub, bob)).status, 204);
  await hub.work();
  hub.db.exec('VACUUM');

  assert.equal(isInFiles(hub, NAME), false);
  assert.equal(isInFiles(hub, 'command line'), true, 'it would be found');
  assert.equal(countRows(hub, 'accounts'), 1);
  assert.equal(countRows(hub, 'sessions'), 1, 'ada’s');
  for (const table of ['api_tokens', 'notifications', 'reading_history', 'follows']) assert.equal(countRows(hub, table), 0, table);
  const { items } = (await ada.get('/api/admin/audit?limit=100')).json<{
    items: { act: string; actor: { id: number | null; name: string }; address: string | null; target: unknown }[];
  }>();
  const theirs = items.filter(({ actor }) => actor.name.startsWith('left:'));
  assert.equal(new Set(theirs.map(({ actor }) => actor.name)).size, 1, 'one name for all that one person did');
  assert.deepEqual(theirs.filter(({ actor, address }) => actor.id !== null || address !== null), []);
  const acts = theirs.map(({ act }) => act);
  for (const act of ['account.joined', 'token.created', 'source.created', 'source.renamed', 'source.deleted', 'account.deleted']) {
    assert.ok(acts.includes(act), act);
  }
});

test('what others did to things that are gone with their owner, and were told of them, names them no more', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const bob = await hub.person(NAME);
  const [deleted, given] = [await addNotes(bob, `Diary of ${NAME}`), await addNotes(bob, 'Given away')];
  for (const id of [deleted, given]) await sendJson(ada, 'PUT', `/api/sources/${id}/follow`, { notify: true });
  for (const sourceId of [deleted, given]) await ada.delete(`/api/posts/${await addPost(bob, sourceId, `On ${NAME}`)}`);
  for (const sourceId of [deleted, given]) await ada.patch(`/api/sources/${sourceId}`, { paused: true });
  await ada.patch(`/api/sources/${deleted}`, { title: `The diary of ${NAME}` });
  await bob.delete(`/api/sources/${deleted}`);
  await bob.post(`/api/sources/${given}/transfer`, { username: 'ada' });

  assert.equal((await leave(hub, bob)).status, 204);
  await hub.work();
  hub.db.exec('VACUUM');

  assert.equal(isInFiles(hub, NAME), false);
  const { items } = (await ada.get('/api/admin/audit?actor=ada&limit=100')).json<{
    items: { act: string; target: { kind: string; id: number; name: string | null } | null }[];
  }>();
  assert.deepEqual(items.filter(({ act }) => /^(source|post)\./.test(act)).map(({ act, target }) => [act, target?.name]), [
    ['source.renamed', null], ['source.paused', 'Given away'], ['source.paused', null],
    ['post.deleted', null], ['post.deleted', null],
  ]);
  const told = (await ada.get('/api/notifications')).json<{ items: { path: string }[] }>().items.map(({ path }) => path);
  assert.deepEqual(told, [`/sources/${given}`, `/sources/${given}`], 'of new posts, and that it is hers now');
});

test('what an administrator who left did to things of those who stay keeps its titles', async (t) => {
  const { hub, ada, bob, carl } = await hubWith(t, ['ada', 'bob', 'carl']);
  accounts(hub.handle).setState(3, 'admin', null);
  const sourceId = await addNotes(bob, 'Owls');
  assert.equal((await carl.patch(`/api/sources/${sourceId}`, { paused: true })).status, 200);
  await bob.delete(`/api/sources/${sourceId}`);
  assert.equal((await leave(hub, carl)).status, 204);
  await hub.work();

  const acts = (await ada.get('/api/admin/audit?actor=bob')).json<{ items: { act: string; target: { name: string | null } }[] }>();
  assert.deepEqual(acts.items.filter(({ act }) => act.startsWith('source.')).map(({ act, target }) => [act, target.name]),
    [['source.deleted', 'Owls'], ['source.created', 'Owls']]);
});

/** How often the name stands in each of the database's files as they lie on the disk, with nothing done to them first. */
function occurrences(hub: Hub, name: string): number[] {
  return ['', '-wal'].map((suffix) =>
    readFileSync(hub.config.databasePath + suffix, 'latin1').toLowerCase().split(name).length - 1);
}

test('the job that removes an account ends only when the database’s files no longer contain the account’s name, also while another process reads the database', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  await addPost(ada, await addNotes(ada), 'Barn owls');
  const { bob } = await personWithEverything(hub);
  for (let n = 0; n < 25; n++) {
    const { id } = (await bob.post('/api/tokens', { name: `${NAME} ${n}` })).json<{ id: number }>();
    await bob.delete(`/api/tokens/${id}`);
    notifications(hub.handle).add({ accountId: 2, kind: 'test', title: `For ${NAME} ${n}`, path: '/' });
    await bob.patch('/api/account', { displayName: `${NAME} the ${n}th` });
  }
  const reader = openDatabase(hub.config.databasePath, { readonly: true });
  t.after(() => reader.close());
  const stateOf = (): string | undefined => storedJobs(hub, 'remove-account')[0]?.state;
  reader.exec('BEGIN');
  assert.equal(countRows({ db: reader }, 'accounts'), 2);

  assert.equal((await leave(hub, bob)).status, 204);
  await hub.work();
  assert.equal(stateOf(), 'retrying', 'an old snapshot is still read');
  assert.notDeepEqual(occurrences(hub, NAME), [0, 0]);

  reader.exec('COMMIT');
  hub.passTime(MINUTE);
  const reading = Array.from({ length: 5 }, () => ada.get('/api/posts'));
  await hub.work();
  assert.deepEqual((await Promise.all(reading)).map(({ status }) => status), [200, 200, 200, 200, 200]);
  assert.equal(stateOf(), 'done');
  assert.deepEqual(occurrences(hub, NAME), [0, 0]);
});

test('what alerts said of a source goes with it; of others in the same message it stays', async (t) => {
  const { hub } = await hubWith(t, ['ada'], { ALERT_WEBHOOK_URL: 'http://127.0.0.1:8/' });
  const bob = await hub.person(NAME);
  const title = `Letters to ${NAME}`;
  const [gone = 0, other = 0] = [await addNotes(bob, title), await addNotes(bob, 'Owls')];
  const raise = (id: number, name: string): void => hub.db.write('test', () =>
    raiseAlert(hub.handle, { event: 'webhook-silent', source: { id, title: name }, problem: 'no events' }));
  raise(gone, title);
  raise(other, 'Owls');
  tellOperator(hub.handle);
  raise(gone, title);
  assert.equal((await bob.delete(`/api/sources/${gone}`)).status, 204);
  assert.match(alertDeliveries(hub.handle).list({ limit: 1 })[0]?.body ?? '', /^A source that has been deleted had the problem of this alert\.\n“Owls” \(/);
  assert.deepEqual(alertEvents(hub.handle).find('webhook-silent')?.subjects, ['A source that has been deleted had the problem of this alert.']);
});

test('without a VACUUM, too, what leaving removes and what was deleted in order to leave is overwritten', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const bob = await hub.person(NAME);
  const sourceId = await addNotes(bob, `Letters to ${NAME}`);
  await sendJson(ada, 'PUT', `/api/sources/${sourceId}/follow`, {});
  await bob.delete(`/api/posts/${await addPost(bob, sourceId, `To ${NAME}`)}`);
  await addPost(bob, sourceId, `To ${NAME} again`, `Dear ${NAME}`);
  assert.equal(isInFiles(hub, NAME), true);
  assert.equal((await bob.delete(`/api/sources/${sourceId}`)).status, 204);

  await leave(hub, bob);
  await hub.work();

  assert.equal(isInFiles(hub, NAME), false);
});

test('the words of hundreds of posts leave the file with their source', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob']);
  const kept = await addNotes(bob, 'Kept');
  const sources = [await addNotes(bob, 'Some'), await addNotes(bob, 'Many')];
  const numbers = [60, 400];
  const write = (sourceId: number, index: number, word: string): Promise<number> =>
    addPost(bob, sourceId, `Post ${index}`, `${word}${index} `.repeat(20));
  for (let index = 0; index < 400; index++) {
    await write(kept, index, 'common');
    for (const [which, sourceId] of sources.entries()) {
      if (index < (numbers[which] ?? 0)) await write(sourceId, index, NAME);
    }
  }
  assert.equal(isInFiles(hub, NAME), true);
  for (const sourceId of [...sources, kept]) assert.equal((await bob.delete(`/api/sources/${sourceId}`)).status, 204);

  await leave(hub, bob);
  await hub.work();
  await hub.work();
  assert.equal(countRows(hub, 'posts'), 0);
  assert.equal(isInFiles(hub, NAME), false);
});

test('much is removed in small steps, and a step that fails is done again later', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const sourceId = await addNotes(ada);
  await addPost(ada, sourceId);
  storeNotifications(hub, 2, 1_000);

  await leave(hub, bob);

  const left = countRows(hub, 'notifications');
  assert.ok(left > 0 && left < 1000, `${left} are still to be removed`);
  const repair = failWrites(hub, 'DELETE', 'notifications', 700);
  await hub.work();
  assert.ok(countRows(hub, 'notifications') > 0);
  assert.notEqual(accounts(hub.handle).pseudonymOf(2), undefined);
  repair();
  await hub.work(10 * MINUTE);
  assert.equal(countRows(hub, 'notifications'), 0);
  assert.equal(accounts(hub.handle).pseudonymOf(2), undefined);
});

test('an account whose deleted sources are still being removed leaves, and its row goes after them', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob']);
  const sourceId = await addNotes(bob);
  addPosts(hub, sourceId, 500);
  await bob.delete(`/api/sources/${sourceId}`);
  assert.ok(countRows(hub, 'posts') > 0, 'a job removes the rest');

  assert.equal((await leave(hub, bob)).status, 204);
  for (let round = 0; round < 3; round++) {
    await hub.work();
    hub.passTime(MINUTE);
  }

  assert.equal(countRows(hub, 'posts'), 0);
  assert.equal(countRows(hub, 'accounts'), 1);
});

test('a failure half-way leaves the account as it was', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob']);
  const repair = failWrites(hub, 'INSERT', 'audit_records');

  assert.equal((await leave(hub, bob)).status, 500);
  assert.equal((await bob.get('/api/account')).status, 200);
  assert.equal(countRows(hub, 'jobs'), 0);
  repair();
  assert.equal((await leave(hub, bob)).status, 204);
});

test('the export holds everything of a person, nothing of others, and no secrets', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  await addPost(ada, await addNotes(ada, 'Ada’s'), 'Ada wrote this');
  const token = (await bob.post('/api/tokens', { name: 'phone', currentPassword: hub.password })).json<{ token: string }>().token;
  const sourceId = await addNotes(bob, 'Bob’s', 'private');
  const postIds: number[] = [];
  for (let n = 0; n < 45; n++) postIds.push(await addPost(bob, sourceId, `Post ${n}`));
  await sendJson(bob, 'PUT', '/api/sources/1/follow', { folder: 'Friends', notify: true, title: 'My own', hideGlobally: true });
  for (const id of [1, ...postIds]) await sendJson(bob, 'PUT', `/api/posts/${id}/read`, {});
  await sendJson(bob, 'PUT', '/api/posts/1/star', {});
  await addPost(ada, 1, 'One more');
  await ada.post('/api/invitations', { role: 'admin', currentPassword: hub.password });

  const answer = await bob.get('/api/account/export');
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-disposition') ?? '', /attachment; filename=".+\.json"/);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  const data = answer.json<Record<string, Record<string, unknown>[]> & { account: Record<string, unknown> }>();

  assert.equal(data.account['username'], 'bob');
  assert.deepEqual(data['sources']?.map(({ title }) => title), ['Bob’s']);
  assert.equal(data['posts']?.length, 45);
  const followed = data['follows']?.map(({ readUpTo, since, title, ...rest }) => Object.values(rest));
  assert.deepEqual(followed, [[1, 'My own', 'Friends', true, true], [2, null, null, false, false]]);
  const counted = [data['stars'], data['readMarks'], data['history'], data['tokens']];
  assert.deepEqual(counted.map((rows) => rows?.length), [1, 46, 46, 1]);
  assert.deepEqual(data['invitations'], [], 'those that he made');
  assert.ok(data['acts']?.some(({ act }) => act === 'account.exported'));
  for (const secret of [token, hub.password, 'argon2', [...bob.cookies.values()].join()]) {
    assert.ok(!answer.text.includes(secret));
  }
  assert.ok(!answer.text.includes('One more'), 'what others wrote is theirs');
});

test('a long export goes out in chunks, between which others have their turn', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  for (let n = 0; n < 20; n++) await addPost(ada, sourceId, `Post ${n}`, 'x'.repeat(17_000));
  const viewer: Viewer = {
    id: 1, username: 'ada', displayName: 'ada', role: 'admin', via: 'session', credentialId: 1,
    preferences: DEFAULT_PREFERENCES,
  };
  const document = exportAccount(hub.handle, { viewer, address: '', recheck() {} });

  let length = 0;
  let loops = 0;
  const loop = (): void => {
    loops++;
    if (!document.readableEnded) setImmediate(loop);
  };
  setImmediate(loop);
  for await (const chunk of document) length += String(chunk).length;
  assert.ok(length > 300_000, String(length));
  assert.ok(loops >= 19, String(loops));
});

test('the page says for how long backups still hold what is removed', async (t) => {
  for (const [env, words] of [
    [{}, /until the operator removes them/],
    [{ BACKUP_RETENTION_DAYS: '30' }, /until they expire, after 30 days/],
  ] as const) {
    const { ada } = await hubWith(t, ['ada'], env);
    assert.match((await ada.page('/settings/delete')).text, words);
  }
});
