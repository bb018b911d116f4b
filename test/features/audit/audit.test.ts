// Protects the audit: every act that matters is on record, together with the act, without secrets, and can be found.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { makeInvitation } from '../../../src/features/accounts/join-hub.ts';
import { auditRecords } from '../../../src/features/audit/audit-store.ts';
import { audit, AUDIT_EVENTS, COMMAND_LINE } from '../../../src/features/audit/audit.ts';
import { jobs } from '../../../src/features/hub/hub.ts';
import { HOUR, MINUTE } from '../../../src/platform/clock.ts';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { addNotes, addPost, itemsAt } from '../../support/accounts.ts';
import { createClient } from '../../support/client.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { addAccount, storedActs } from '../../support/stored-accounts.ts';
import { countRows, failWrites, rowsOf } from '../../support/stored-rows.ts';

type Audited = {
  id: number;
  at: string;
  act: string;
  actor: { id: number | null; name: string };
  target: { kind: string; id: number | null; name: string | null } | null;
  address: string | null;
  detail: Record<string, unknown>;
  count: number;
};

/** A hub in which much has been done, and every secret that went through it. */
async function busyHub(t: TestContext) {
  const hub = await startHub(t);
  const ada = await hub.newcomer('ada');
  const bob = await hub.newcomer('bob');
  const secrets: string[] = [hub.password, 'another long password'];

  const { id: invitation, url } = (await ada.post('/api/invitations', { currentPassword: hub.password })).json<{ id: number; url: string }>();
  secrets.push(url.slice(url.lastIndexOf('/') + 1));
  await ada.delete(`/api/invitations/${invitation}`);
  const made = (await bob.post('/api/tokens', { name: 'phone', currentPassword: hub.password })).json<{ id: number; token: string }>();
  secrets.push(made.token);
  await bob.delete(`/api/tokens/${made.id}`);
  await bob.patch('/api/account', { displayName: 'Bobby' });
  await bob.patch('/api/account', { currentPassword: hub.password, newPassword: 'another long password' });
  const elsewhere = createClient(hub.address);
  await elsewhere.post('/api/session', { username: 'bob', password: 'another long password' });
  secrets.push(...elsewhere.cookies.values(), ...bob.cookies.values());
  await bob.form('/settings/sessions', { session: 'others', currentPassword: 'another long password' });
  const sourceId = await addNotes(bob);
  await bob.patch(`/api/sources/${sourceId}`, { title: 'New title', visibility: 'private', paused: true });
  await bob.patch(`/api/sources/${sourceId}`, { paused: false });
  const postId = await addPost(bob, sourceId);
  await bob.patch(`/api/posts/${postId}`, { title: 'Changed' });
  await bob.delete(`/api/posts/${postId}`);
  await bob.post(`/api/sources/${sourceId}/transfer`, { username: 'ada' });
  await ada.delete(`/api/sources/${sourceId}`);
  const hook = (await bob.post('/api/sources', { kind: 'webhook', title: 'Hook' })).json<{
    id: number; webhook: { secret: string };
  }>();
  secrets.push(hook.webhook.secret);
  const rotated = (await bob.post(`/api/sources/${hook.id}/webhook/rotate`)).json<{ secret?: string }>();
  if (rotated.secret) secrets.push(rotated.secret);
  await bob.delete(`/api/sources/${hook.id}`);
  await bob.get('/api/account/export');
  jobs(hub.handle).enqueue({ kind: 'sync-source', payload: { sourceId: 99 } });
  await ada.delete('/api/admin/jobs/1');
  await bob.delete('/api/session');
  return { hub, ada, secrets };
}

test('every act that changes rights, sources, accounts, invitations, tokens, passwords or secrets is on record, without secrets', async (t) => {
  const { hub, ada, secrets } = await busyHub(t);
  const records = await itemsAt<Audited>(ada, '/api/admin/audit?limit=100');
  const byAct = Map.groupBy(records, ({ act }) => act);

  for (const act of [
    'account.joined', 'invitation.created', 'invitation.withdrawn', 'token.created', 'token.revoked',
    'account.renamed', 'account.password-changed', 'session.created', 'session.others-ended', 'session.ended',
    'source.created', 'source.renamed', 'source.visibility-changed', 'source.paused', 'source.resumed',
    'source.transferred', 'source.deleted', 'post.created', 'post.changed', 'post.deleted', 'account.exported',
    'job.discarded',
  ]) {
    assert.ok(byAct.has(act), act);
  }
  assert.ok(records.some(({ act }) => /secret|webhook/.test(act)), 'a secret was changed');
  for (const { act, at, actor, address } of records) {
    assert.match(at, /^2030-01-15T12:/, act);
    assert.ok(actor.name, act);
    assert.equal(address, actor.id === null ? null : '127.0.0.1', act);
  }
  assert.deepEqual(byAct.get('token.revoked')?.[0]?.target, { kind: 'token', id: 1, name: 'phone' });

  const text = JSON.stringify(storedActs(hub));
  assert.ok(secrets.length >= 7);
  for (const secret of secrets) assert.ok(!text.includes(secret), `${secret.slice(0, 8)}…`);
  assert.doesNotMatch(text, /argon2|whsec_|hub_/);
});

test('an act and its record are written together or not at all', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const { token: invitation } = makeInvitation(hub.handle, 'member', HOUR, COMMAND_LINE);
  const mend = failWrites(hub, 'INSERT', 'audit_records');

  assert.equal((await ada.post('/api/tokens', { name: 'phone', currentPassword: hub.password })).status, 500);
  assert.equal((await ada.post('/api/invitations', { currentPassword: hub.password })).status, 500);
  assert.equal((await ada.post('/api/sources', { kind: 'native', title: 'Notes' })).status, 500);
  assert.equal((await ada.patch('/api/account', { displayName: 'Eve' })).status, 500);
  const join = { invitation, username: 'eve', password: hub.password };
  assert.equal((await hub.anybody.post('/api/accounts', join)).status, 500);

  assert.deepEqual(rowsOf(hub, 'api_tokens', 'sources'), [[], []]);
  assert.deepEqual([countRows(hub, 'invitations'), countRows(hub, 'accounts')], [1, 1]);
  mend();
  assert.equal((await hub.anybody.post('/api/accounts', join)).status, 201);
  assert.equal(accounts(hub.handle).find(1)?.displayName, 'ada');
});

/** A hub with records of two people on three days. */
async function hubWithRecords(t: TestContext) {
  const { hub, ada } = await hubWith(t, ['ada']);
  const record = audit.bind(null, hub.handle);
  for (const username of ['second', 'third']) addAccount(hub, username);
  for (let n = 0; n < 12; n++) {
    const actor = { id: n % 2 === 0 ? 2 : 3, name: n % 2 === 0 ? 'bob' : 'carol', address: '192.0.2.1' };
    record(n % 3 === 0 ? 'source.paused' : 'post.created', actor, { kind: n % 3 === 0 ? 'source' : 'post', id: n, name: `“${n}”, a=b` });
    hub.passTime(6 * HOUR);
  }
  return { hub, ada };
}

test('records are narrowed down by act, actor, target and time, each and together', async (t) => {
  const { ada } = await hubWithRecords(t);
  const found = async (query: string): Promise<number[]> =>
    (await itemsAt<Audited>(ada, `/api/admin/audit?limit=100&${query}`)).flatMap(({ target, actor }) =>
      (actor.name === 'bob' || actor.name === 'carol') && target?.id !== null && target ? [target.id] : []);

  assert.deepEqual(await found('act=source.paused'), [9, 6, 3, 0]);
  assert.deepEqual(await found('actor=BOB'), [10, 8, 6, 4, 2, 0]);
  assert.deepEqual(await found('target=source'), [9, 6, 3, 0]);
  assert.deepEqual(await found('target=post:4'), [4]);
  assert.deepEqual(await found('from=2030-01-17'), [11, 10, 9, 8, 7, 6]);
  assert.deepEqual(await found('to=2030-01-15'), [1, 0], 'a day counts to its end');
  assert.deepEqual(await found('from=2030-01-16T00:00:00Z&to=2030-01-16T12:00:00Z'), [3, 2]);
  assert.deepEqual(await found('act=source.paused&actor=bob&from=2030-01-16'), [6]);
  assert.deepEqual(await found('actor=nobody'), []);
  for (const broken of ['from=yesterday', 'to=2030-02-31', 'target=source:x', 'target=a:1:2']) {
    assert.equal((await ada.get(`/api/admin/audit?${broken}`)).status, 400, broken);
  }
  assert.deepEqual(await found(`actor=${encodeURIComponent(`' OR 1=1 --`)}`), []);
});

test('records come page by page, those of one moment too, and new ones do not move the pages', async (t) => {
  const { hub, ada } = await hubWithRecords(t);
  for (let n = 0; n < 5; n++) audit(hub.handle, 'retention.applied', { id: null, name: 'hub', address: null });
  const total = countRows(hub, 'audit_records');
  const seen: number[] = [];
  for (let path: string | null = '/api/admin/audit?limit=3'; path;) {
    const answer = await ada.get(path);
    const { items, next } = answer.json<{ items: Audited[]; next: string | null }>();
    seen.push(...items.map(({ id }) => id));
    audit(hub.handle, 'job.retried', { id: null, name: 'hub', address: null });
    path = next && `/api/admin/audit?limit=3&cursor=${next}`;
    if (next) assert.match(answer.headers.get('link') ?? '', /rel="next"/);
  }

  assert.equal(seen.length, total);
  assert.equal(new Set(seen).size, total);
});

test('all that fits can be taken along as CSV and as JSON lines', async (t) => {
  const { hub, ada } = await hubWithRecords(t);
  for (let n = 0; n < 1200; n++) audit(hub.handle, 'post.files-added', { id: 2, name: '=HYPERLINK("x")', address: null }, { kind: 'post', id: n, name: 'a "quoted",\nname' });

  const lines = await ada.get('/api/admin/audit?format=jsonl&act=post.files-added');
  assert.match(lines.headers.get('content-type') ?? '', /ndjson/);
  assert.match(lines.headers.get('content-disposition') ?? '', /attachment; filename="audit.jsonl"/);
  const records = lines.text.trimEnd().split('\n').map((line) => JSON.parse(line) as Audited);
  assert.equal(records.length, 1200);
  assert.deepEqual(records.map(({ target }) => target?.id), Array.from({ length: 1200 }, (_, n) => 1199 - n));

  const csv = await ada.get('/api/admin/audit?format=csv&act=post.files-added');
  assert.equal(csv.headers.get('cache-control'), 'no-store');
  assert.ok(csv.text.startsWith('id,at,act,actor_id,actor,target_kind,target_id,target,address,detail,count\r\n'));
  assert.equal(csv.text.split('\r\n').length, 1200 + 2);
  assert.ok(csv.text.includes(`"'=HYPERLINK(""x"")"`), 'no spreadsheet takes it for a formula');
  assert.ok(csv.text.includes('"a ""quoted"",\nname"'));
});

test('a change repeated within a minute is one record with a count; what concerns rights never is', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const sourceId = await addNotes(ada, 'Called 0');
  const rename = async (n: number): Promise<void> =>
    assert.equal((await ada.patch(`/api/sources/${sourceId}`, { title: `Called ${n}` })).status, 200);
  const records = (act: string): Promise<Audited[]> => itemsAt<Audited>(ada, `/api/admin/audit?act=${act}`);

  for (let n = 1; n <= 20; n++) await rename(n);
  const [record, ...others] = await records('source.renamed');
  assert.deepEqual(others, []);
  assert.deepEqual([record?.count, record?.target?.name, record?.detail], [20, 'Called 0', { title: 'Called 20' }]);
  assert.match((await ada.page('/admin/audit?act=source.renamed')).text, /another title, 20 times within a minute/);

  hub.passTime(MINUTE - 1);
  await rename(21);
  hub.passTime(1);
  await rename(22);
  assert.deepEqual((await records('source.renamed')).map(({ count }) => count), [1, 21], 'a minute from the first one');

  for (let n = 0; n < 3; n++) {
    const { id } = (await ada.post('/api/tokens', { name: 'p', currentPassword: hub.password })).json<{ id: number }>();
    await ada.delete(`/api/tokens/${id}`);
    await ada.post('/api/session', { username: 'ada', password: hub.password });
  }
  for (const act of ['token.created', 'token.revoked', 'session.created']) assert.equal((await records(act)).length, 3);
});

test('its page narrows down by a form without scripts and leads to the downloads', async (t) => {
  const { ada } = await hubWithRecords(t);

  const page = (await ada.page('/admin/audit?act=source.paused&actor=bob&from=&to=&target=')).text;

  assert.equal(page.match(/<tr><td>/g)?.length, 2);
  assert.match(page, /<option value="source\.paused" selected>A source was paused<\/option>/);
  for (const [act, said] of Object.entries(AUDIT_EVENTS)) {
    assert.ok(page.includes(`<option value="${act}" ${act === 'source.paused' ? 'selected' : ''}>${said}</option>`), act);
  }
  assert.match(page, /href="\/api\/admin\/audit\?act=source\.paused&amp;actor=bob&amp;format=csv"/);
  assert.match((await ada.page('/admin/audit?limit=3')).text, /rel="next" href="\/admin\/audit\?limit=3&amp;cursor=/);
});

/** How SQLite would find the rows that `read` asks the database for; it gets none. */
function plansOf(db: Db, read: (db: Db) => unknown): string {
  const steps: string[] = [];
  const prepare: Db['prepare'] = (name, sql) => ({
    ...db.prepare(name, sql),
    all: (...params) => {
      const plan = db.prepare<unknown[], { detail: string }>('plan', `EXPLAIN QUERY PLAN ${sql}`).all(...params);
      steps.push(...plan.map(({ detail }) => detail));
      return [];
    },
  });
  read({ ...db, prepare });
  return steps.join('; ');
}

test('old records are found by indexes, whatever they are narrowed down by', async (t) => {
  const { hub } = await hubWithRecords(t);
  for (const filter of [{ act: 'x' }, { actor: 'x' }, { targetKind: 'x', targetId: 1 }, { from: 1 }]) {
    const plan = plansOf(hub.db, (db) => auditRecords({ db, clock: hub.now }).list(filter, { at: 9, id: 9 }, 9));
    assert.match(plan, /USING (COVERING )?INDEX/, JSON.stringify(filter));
    assert.doesNotMatch(plan, /SCAN|TEMP B-TREE/, JSON.stringify(filter));
  }
});

test('a token that has used up the acts of its account keeps nobody from signing in and revoking it', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.person('ada');
  const currentPassword = hub.password;
  const { id, token } = (await ada.post('/api/tokens', { name: 'stolen', currentPassword })).json<{ id: number; token: string }>();
  const actor = { id: 1, name: 'ada', address: null };
  hub.db.write('many acts', () => assert.throws(() => {
    for (;;) audit(hub.handle, 'source.renamed', actor, { kind: 'source', id: 1, name: 'News' });
  }, { status: 429 }));
  const byToken = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const source = JSON.stringify({ kind: 'native', title: 'Notes' });
  assert.equal((await createClient(hub.address).send('POST', '/api/sources', { body: source, headers: byToken })).status, 429);

  assert.equal((await ada.delete('/api/session')).status, 204);
  assert.equal((await ada.post('/api/session', { username: 'ada', password: currentPassword })).status, 200);
  assert.equal((await ada.delete(`/api/tokens/${id}`)).status, 204);
  assert.equal((await ada.patch('/api/account', { currentPassword, newPassword: 'another long password' })).status, 200);
});
