// Protects the list of tables: each bound is met by filling the table, and export, leaving and restore do what it says.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { JOB_KINDS } from '../../src/app/job-kinds.ts';
import { accounts } from '../../src/features/accounts/account-store.ts';
import { apiTokens, sessions, signInNetworks } from '../../src/features/accounts/credential-store.ts';
import { makeInvitation } from '../../src/features/accounts/join-hub.ts';
import { makeBackup } from '../../src/features/backups/make-backup.ts';
import { follows } from '../../src/features/follows/follow-store.ts';
import { heartbeats } from '../../src/features/hub/hub.ts';
import { TABLES, type TableName } from '../../src/features/hub/tables.ts';
import { notifications } from '../../src/features/notifications/notification-store.ts';
import { listChoices } from '../../src/features/reading/list-choice-store.ts';
import { contentUsage } from '../../src/features/sources/content-usage-store.ts';
import { noteRuns } from '../../src/features/sources/note-runs.ts';
import { DAY, MINUTE } from '../../src/platform/clock.ts';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { addNotes, addPost, leave, offerTo, sendJson } from '../support/accounts.ts';
import { submitForm } from '../support/own-posts.ts';
import { optionsFor } from '../support/backup-hub.ts';
import { createClient, type Client } from '../support/client.ts';
import { hubWith, startHub, type Hub } from '../support/hub.ts';
import { STORED_DATA } from '../support/stored-data.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { begin } from '../support/restore-hub.ts';
import { addJob } from '../support/stored-jobs.ts';
import { newestId } from '../support/stored-rows.ts';
import { addFiles } from '../support/uploads.ts';
import { eventOf, makeWebhook, metric, sendEvent } from '../support/webhooks.ts';

type Entry = (typeof TABLES)[TableName];
const ENTRIES = Object.entries(TABLES) as [TableName, Entry][];

function tablesOf(db: Db): string[] {
  return db.prepare<[], { name: string }>('tables', `SELECT name FROM pragma_table_list
    WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`).all().map(({ name }) => name);
}

/** Columns that say whose a row is. */
const WHOSE = ['account_id', 'owner_id', 'actor_id', 'created_by', 'sender_id', 'owner', 'author_id'];

function rowsWhere(db: Db, table: string, column: string, id: number): number {
  return db.prepare<[number], { n: number }>('rows', `SELECT COUNT(*) AS n FROM ${table} WHERE ${column} = ?`).get(id)?.n ?? NaN;
}

function rowsOf(db: Db, accountId: number): Map<string, number> {
  const columns = db.prepare<[string], { table: string; name: string }>('columns of persons', `
    SELECT t.name AS "table", c.name FROM pragma_table_list t, pragma_table_info(t.name) c
     WHERE t.schema = 'main' AND t.type = 'table' AND c.name IN (SELECT value FROM json_each(?))`).all(JSON.stringify(WHOSE));
  const found = new Map([['accounts', rowsWhere(db, 'accounts', 'id', accountId)]]);
  for (const { table, name } of columns) {
    found.set(table, (found.get(table) ?? 0) + rowsWhere(db, table, name, accountId));
  }
  return found;
}

test('every table of the schema has its entry, and one with a column of persons says what leaving does', (t) => {
  const { db } = migratedDatabase(t);

  assert.deepEqual(Object.keys(TABLES).toSorted(), tablesOf(db).toSorted());
  const personal = [...rowsOf(db, 0).keys()].filter((name) => name !== 'jobs');
  assert.deepEqual(personal.filter((name) => TABLES[name as TableName].leaving === 'none'), []);
  assert.deepEqual(personal.filter((name) => STORED_DATA[name as TableName].about === 'the hub'), [], 'in src/LEDGER.md');
  assert.ok(personal.length > 15);
});

/** Bob, an administrator as well, with rows in every table that has any of a person. */
async function hubWithEverything(t: TestContext) {
  const hub = await startHub(t);
  const ada = await hub.newcomer('ada');
  await hub.person('somebody');
  const bob = await hub.newcomer('bob');
  const confirmed = { currentPassword: hub.password };
  const id = accounts(hub.handle).findByName('bob')?.id ?? NaN;
  await ada.patch(`/api/admin/accounts/${id}`, { role: 'admin', ...confirmed });
  await ada.post(`/api/admin/accounts/${id}/reset-password`, confirmed);
  await bob.post('/api/tokens', { name: 'phone', ...confirmed });
  await bob.post('/api/invitations', confirmed);
  await bob.form('/settings/preferences', { density: 'compact', textSize: 'normal' });
  const [hers, his] = [await addNotes(ada, 'Hers'), await addNotes(bob, 'His')];
  assert.ok(await offerTo(bob, await addNotes(bob, 'Offered'), 'somebody'));
  const hook = await makeWebhook(bob);
  await sendEvent(hub.address, hook.id, eventOf(hub, hook.secret, 'post.published', { id: 'a', content_html: 'x' }));
  await sendEvent(hub.address, hook.id, eventOf(hub, hook.secret, 'post.deleted', { id: 'b' }));
  const [post, own] = [await addPost(ada, hers), await addPost(bob, his)];
  await bob.post('/api/rules', { match: 'post*', act: 'mute' });
  await bob.post('/api/searches', { q: 'post' });
  await addFiles(hub, bob, own, [{ filename: 'a.txt', data: 'of bob' }]);
  await sendJson(bob, 'PUT', `/api/sources/${hers}/follow`, { folder: 'Friends', notify: true });
  await sendJson(ada, 'PUT', `/api/sources/${his}/follow`, { notify: true });
  for (const [client, sourceId] of [[ada, hers], [bob, his]] as const) await addPost(client, sourceId);
  await sendJson(bob, 'PUT', `/api/posts/${post}/star`, {});
  await sendJson(bob, 'PUT', `/api/posts/${post}/read`, {});
  const taken = await addPost(ada, hers);
  await sendJson(bob, 'PUT', `/api/posts/${taken}/star`, {});
  assert.equal((await ada.form(`/posts/${taken}/withdraw`)).status, 303);
  await bob.post('/api/reading/mark-read', { source: hers });
  await bob.form('/reading/choice', { list: 'starred', choice: 'oldest all' });
  await bob.form('/write', { sourceId: String(his), title: '', content: 'not yet' });
  const file = { filename: 'b.txt', data: 'of a draft' };
  assert.equal((await submitForm(hub, bob, '/write', { title: 'A draft', content: 'x', save: '1' }, [file])).status, 303);
  const later = { sourceId: his, title: 'Later', content: 'x', publishAt: '2030-06-01T00:00:00Z' };
  assert.equal((await bob.post('/api/posts', later)).status, 201);
  const document = '<opml version="2.0"><body><outline xmlUrl="http://127.0.0.1:1/"/></body></opml>';
  await bob.form('/sources/import', { opml: document, visibility: 'private' });
  follows(hub.handle).follow(id, await addNotes(ada, 'More'), 0); // its entries are still to be settled
  return { hub, bob, id };
}

test('the export has the parts that the list names, and rows in each', async (t) => {
  const { bob } = await hubWithEverything(t);
  const { exportedAt, ...parts } = (await bob.get('/api/account/export')).json<Record<string, object>>();

  const named = new Set(ENTRIES.flatMap(([, { export: part }]) => part ?? []));
  assert.deepEqual(Object.keys(parts).toSorted(), [...named].toSorted());
  for (const [part, rows] of Object.entries(parts)) assert.ok(Object.keys(rows).length > 0, part);
  assert.ok(exportedAt);
});

test('leaving removes what the list says, from every table in which the account had rows', async (t) => {
  const { hub, bob, id } = await hubWithEverything(t);
  const before = rowsOf(hub.db, id);
  const isOld = (entry: Entry): boolean => 'bounded' in entry && entry.bounded.startsWith('empty since');
  const untouched = ENTRIES.filter(([name, entry]) => entry.leaving !== 'none' && !isOld(entry) && before.get(name) === 0);
  assert.deepEqual(untouched.map(([name]) => name), [], 'bob has rows in all of them');

  await hub.work();
  const all = (await bob.get('/api/sources')).json<{ items: { id: number; owner: { id: number } }[] }>().items;
  for (const source of all) if (source.owner.id === id) await bob.delete(`/api/sources/${source.id}`);
  assert.equal((await leave(hub, bob)).status, 204);
  const atOnce = rowsOf(hub.db, id);
  for (const [name, { leaving }] of ENTRIES) if (leaving === 'at once') assert.equal(atOnce.get(name), 0, name);
  const isPseudonym = (name: unknown): boolean => /^left:[0-9a-f]{8}$/.test(String(name));
  const row = storedRows(hub, 'accounts').find((one) => one['id'] === id);
  assert.ok(row && isPseudonym(row['username']) && isPseudonym(row['display_name']) && row['password_hash'] === '');
  for (let days = 0; days < 3; days++) {
    await hub.work(DAY);
  }
  for (const [name, rows] of rowsOf(hub.db, id)) assert.equal(rows, 0, name);
  const [renamed] = ENTRIES.filter(([, { leaving }]) => leaving === 'renamed').map(([name]) => name);
  assert.equal(renamed, 'audit_records');
  const theirs = storedRows(hub, 'audit_records').filter((one) => isPseudonym(one['actor_name']));
  assert.ok(theirs.length >= (before.get('audit_records') ?? NaN), 'every act stays');
  for (const one of theirs) assert.deepEqual([one['actor_id'], one['address']], [null, null]);
  const told = theirs.map((one) => JSON.stringify(one)).join();
  for (const word of ['bob', 'phone', 'His', 'Offered', '127.0.0.1']) assert.ok(!told.includes(word), word);
});

test('a visitor who reads leaves sums alone; one who tries a password leaves limits until they limit nobody; no log names a reader', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada', 'readerbob']);
  await addPost(ada, await addNotes(ada, 'Notes', 'public'), 'A post');
  const rows = () => new Map(tablesOf(hub.db).map((name) => [name, JSON.stringify(storedRows(hub, name))]));
  const changedSince = (before: Map<string, string>) => [...rows()].filter(([name, text]) => text !== before.get(name)).map(([name]) => name);
  let before = rows();
  for (const path of ['/', '/posts.atom', '/api/posts?q=post', '/api/posts/1', '/nowhere']) await hub.anybody.get(path);
  await hub.anybody.get('/api/metrics'); // stores the sums
  assert.deepEqual(changedSince(before).filter((name) => name !== 'counts'), []);

  before = rows();
  await hub.anybody.post('/api/session', { username: 'readerbob', password: 'a wrong password' });
  await hub.anybody.post('/api/accounts', { invitation: 'none', username: 'x', password: 'correct horse battery' });
  assert.deepEqual(changedSince(before).filter((name) => name !== 'counts'), ['rate_limits']);
  const kept = JSON.stringify(storedRows(hub, 'rate_limits'));
  assert.ok(kept.includes('127.0.0.1') && !kept.includes('readerbob'));
  await hub.work(20 * MINUTE);
  await hub.work(MINUTE);
  assert.deepEqual(storedRows(hub, 'rate_limits'), []);

  const log = JSON.stringify(hub.logged());
  assert.match(log, /"path":"\/posts.atom"/);
  for (const word of ['127.0.0.1', 'readerbob']) assert.ok(!log.includes(word), word);
});

function storedRows({ db }: Hub, table: string): Record<string, unknown>[] {
  return db.prepare<[], Record<string, unknown>>('rows', `SELECT * FROM ${table}`).all();
}

function contents(path: string): Map<string, Set<string>> {
  const db = openDatabase(path, { readonly: true });
  const rows = (name: string): Set<string> => new Set(db.prepare<[], object>('rows', `SELECT * FROM ${name}`).all()
    .map((row) => JSON.stringify(row, (_, value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value))));
  const all = new Map(tablesOf(db).map((name) => [name, rows(name)]));
  db.close();
  return all;
}

test('a restored backup keeps, empties and changes what the list says', async (t) => {
  const { hub } = await hubWithEverything(t);
  addJob(hub, { kind: 'deliver-alert' });
  heartbeats(hub.handle).beat('web');
  const { name } = await makeBackup({ ...optionsFor(hub.dataDir), clock: hub.now });
  const backup = join(hub.dataDir, 'backups', name);
  const runAgain = JOB_KINDS.filter(({ afterRestore }) => afterRestore === 'run').map((kind) => kind.name);
  const { state } = await begin(hub.dataDir, backup, { runAgain, clock: hub.now });

  const [before, after] = [contents(join(backup, 'hub.db')), contents(join(hub.dataDir, `.restore-${state.id}`, 'hub.db'))];
  for (const [table, { restore }] of ENTRIES) {
    const [had = assert.fail(), has = assert.fail()] = [before.get(table), after.get(table)];
    if (restore === 'emptied') assert.deepEqual([had.size > 0, has.size], [true, 0], table);
    else assert.equal([...had].every((row) => has.has(row)), restore === 'kept', table);
  }
});

const QUOTA = 30_000;
const LIMITS = { SOURCES_MAX: '3', CONTENT_QUOTA_BYTES: String(QUOTA), UPLOAD_QUOTA_BYTES: '1000', LOG_LEVEL: 'error' };

type Person = { hub: Hub; client: Client; id: number; sign: () => Promise<Client> };

const refused: string[] = [];

/** Does it until the hub refuses, with this status and label; never more often than the bound allows. */
async function untilRefused(hub: Hub, most: number, [status, label]: [number, string], act: (n: number) => Promise<{ status: number }>): Promise<void> {
  const refusals = (): Promise<number> => metric(hub, `service_limits_refused_total{limit="${label}"}`);
  const before = await refusals();
  for (let n = 0; n <= most; n++) {
    const answer = await act(n);
    if (answer.status < 300) continue;
    assert.equal(answer.status, status);
    assert.notEqual(await refusals(), before, 'the refusal is counted');
    refused.push(label);
    return;
  }
  assert.fail(`${label} refuses nothing`);
}

/** Events of a webhook of that person until the quota refuses them. What is kept stays near the quota. */
async function fillContent({ hub, client, id }: Person, event: (n: number) => [type: string, data: object]): Promise<void> {
  const hook = await makeWebhook(client);
  await untilRefused(hub, 500, [507, 'content-quota'], (n) => sendEvent(hub.address, hook.id, eventOf(hub, hook.secret, ...event(n))));
  const { bytes = NaN } = contentUsage(hub.handle).of(id) ?? {};
  assert.ok(bytes >= QUOTA && bytes < QUOTA + 12_000, `${bytes} bytes`);
}

const text = (n: number): [string, object] => ['post.published', { id: `p${n}`, content_html: 'x'.repeat(5_000) }];

/** Tables whose entry has a number: each is filled as people can fill it. */
type CountedTable = { [Name in TableName]: (typeof TABLES)[Name] extends { most: unknown } ? Name : never }[TableName];

const FILL: Record<CountedTable, (person: Person) => Promise<void>> = {
  async sessions({ hub, client, id, sign }) {
    for (let n = 0; n < TABLES.sessions.most - 1; n++) sessions(hub.handle).start(id);
    assert.equal((await client.get('/api/account')).status, 200);
    assert.equal((await (await sign()).get('/api/account')).status, 200);
    assert.equal((await client.get('/api/account')).status, 401, 'the oldest has ended');
  },
  async api_tokens({ hub, client, id }) {
    for (let n = 1; n < TABLES.api_tokens.most; n++) apiTokens(hub.handle).create(id, 'x', 'read', null);
    await untilRefused(hub, 1, [422, 'tokens-max'], () => client.post('/api/tokens', { name: 'x', currentPassword: hub.password }));
  },
  async sign_in_networks({ hub, id }) {
    for (let n = 0; n < 25; n++) signInNetworks(hub.handle).remember(id, `198.51.100.${n}`);
  },
  async invitations({ hub, id }) {
    const actor = { id, name: 'x', address: null };
    await untilRefused(hub, TABLES.invitations.most, [422, 'invitations-max'], async () => {
      try {
        makeInvitation(hub.handle, 'member', DAY, actor);
        return { status: 201 };
      } catch (error) {
        return error as { status: number };
      }
    });
  },
  async notifications({ hub, id }) {
    hub.db.write('tell much', () => {
      const add = (kind: string, n: number) =>
        notifications(hub.handle).add({ accountId: id, kind, title: String(n), path: '/' });
      for (let n = 0; n < 1_010; n++) ['news', 'account'].forEach((kind) => add(kind, n));
    });
  },
  sources: ({ hub, client }) => untilRefused(hub, 3, [422, 'sources-max'], () => client.post('/api/sources', { kind: 'native', title: 'x' })),
  source_days: async ({ hub, client }) => noteMany(hub, await addNotes(client)),
  source_runs: async ({ hub, client }) => noteMany(hub, await addNotes(client)),
  posts: (person) => fillContent(person, text),
  posts_words: (person) => fillContent(person, text),
  async post_texts({ hub, client }) {
    const sourceId = await addNotes(client);
    await untilRefused(hub, 20, [507, 'content-quota'], () =>
      client.post('/api/posts', { sourceId, title: 'x', content: 'x'.repeat(5_000) }));
  },
  post_tombstones: (person) => fillContent(person, (n) => ['post.deleted', { id: `${n}`.padEnd(1_000) }]),
  webhook_events: (person) => fillContent(person, () => ['ping', {}]),
  attachments: (person) => fillContent(person, (n) => ['post.published', {
    id: `a${n}`, attachments: Array.from({ length: 50 }, (_, m) => ({ url: `https://x.test/${m}`, mime_type: 'a/b' })),
  }]),
  async uploads({ hub, client }) {
    const post = await addPost(client, await addNotes(client));
    await untilRefused(hub, 2, [422, 'upload-quota'], (n) =>
      addFiles(hub, client, post, [{ filename: 'a.txt', data: String(n).repeat(400) }]));
  },
  async follows({ hub, client }) {
    const others = [await hub.person('first'), await hub.person('second')];
    const ids = (await Promise.all([0, 1, 2, 3].map((n) => addNotes(others[n % 2] ?? client, `Notes ${n}`))));
    await untilRefused(hub, 3, [422, 'follows-max'], (n) => sendJson(client, 'PUT', `/api/sources/${ids[n]}/follow`, {}));
  },
  async list_choices({ hub, client, id }) {
    for (let n = 1; n <= TABLES.list_choices.most; n++) listChoices(hub.handle).put(id, `source:${n}`, { order: 'oldest', show: 'all' });
    hub.passTime(1);
    await client.form('/reading/choice', { list: 'starred', choice: 'oldest all' });
    assert.deepEqual(listChoices(hub.handle).find(id, 'starred')?.order, 'oldest', 'the newest choice stays');
  },
  async read_acts({ hub, client }) {
    const sourceId = await addNotes(client);
    for (let n = 0; n < 22; n++) {
      await addPost(client, sourceId);
      await sendJson(client, 'DELETE', `/api/posts/${newestId(hub, 'posts')}/read`, {});
      assert.equal((await client.post('/api/reading/mark-read', { all: true })).status, 200);
    }
  },
  rules: ({ hub, client }) =>
    untilRefused(hub, TABLES.rules.most, [422, 'rules-max'], (n) => client.post('/api/rules', { match: `x${n}`, act: 'mute' })),
  saved_searches: ({ hub, client }) =>
    untilRefused(hub, TABLES.saved_searches.most, [422, 'searches-max'], (n) => client.post('/api/searches', { q: `x${n}` })),
  drafts: ({ hub, client }) => untilRefused(hub, TABLES.drafts.most, [422, 'drafts-max'], (n) =>
    client.post(`/write/${String(n).padEnd(16, 'x')}/draft`, { title: 'x' })),
  draft_files: ({ hub, client }) => untilRefused(hub, 2, [422, 'upload-quota'], async (n) => {
    const files = [{ filename: 'a.txt', data: String(n).repeat(400) }];
    const { status } = await submitForm(hub, client, `/write/${'x'.repeat(16)}`, { title: 'x', content: 'x', save: '1' }, files);
    return { status: status === 303 ? 200 : status };
  }),
  async imports({ hub, client }) {
    const opml = '<opml version="2.0"><body><outline xmlUrl="ftp://x.test/"/></body></opml>';
    for (let n = 0; n < 7; n++) {
      assert.equal((await client.form('/sources/import', { opml, visibility: 'private' })).status, 303);
      await hub.work();
    }
  },
};

function noteMany({ handle, passTime }: Hub, sourceId: number): void {
  for (let n = 0; n < 40; n++) {
    noteRuns(handle, sourceId, [{ added: n }]);
    passTime(DAY);
  }
}

test('each table with a number is filled until the hub refuses or the oldest row ends, and has no more rows', async (t) => {
  const { hub } = await hubWith(t, ['ada'], LIMITS);
  for (const [name, fill] of Object.entries(FILL)) {
    const username = name.replaceAll('_', '-');
    const client = await hub.person(username);
    const id = accounts(hub.handle).findByName(username)?.id ?? NaN;
    const sign = async (): Promise<Client> => {
      const other = createClient(hub.address);
      assert.equal((await other.post('/api/session', { username, password: hub.password })).status, 200);
      return other;
    };
    refused.length = 0;
    await fill({ hub, client, id, sign });
    const { most, of, then } = TABLES[name as CountedTable];
    const whose = of === 'source' ? 'source_id' : name === 'sources' ? 'owner_id' : name === 'invitations' ? 'created_by' : 'account_id';
    assert.equal(refused.length > 0, then === 'refused', name);
    if (typeof most === 'number') assert.equal(rowsWhere(hub.db, name, whose, of === 'source' ? newestId(hub, 'sources') : id), most, name);
    hub.passTime(MINUTE);
  }
});
