// Protects the meaning of ids: one that left the hub never means something else, not after a deletion nor a restore.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { attachments } from '../../../src/features/attachments/attachment-store.ts';
import { swapRestored } from '../../../src/features/backups/restore-steps.ts';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { addNotes } from '../../support/accounts.ts';
import { addPost } from '../../support/backup-hub.ts';
import type { Client } from '../../support/client.ts';
import { hubWith } from '../../support/hub.ts';
import { migratedDatabase } from '../../support/migrated-database.ts';
import { begin, query, restorableHub, restore } from '../../support/restore-hub.ts';
import { addPosts, losePost } from '../../support/stored-posts.ts';
import { removeRows } from '../../support/stored-rows.ts';
import { addFiles, hubWithWriter, writePost, type Attachment } from '../../support/uploads.ts';

const START_OF_2026 = Date.UTC(2026, 0);

test('whatever its rows are numbered by, a table of which ids leave the process gives none twice', (t) => {
  const { db } = migratedDatabase(t);
  const tables = db.prepare<[], { name: string; sql: string }>('tables with ids', `
    SELECT t.name, t.sql FROM sqlite_schema t, pragma_table_info(t.name) c
     WHERE t.type = 'table' AND c.name = 'id' AND c.pk = 1 AND t.name NOT LIKE '%\\_search\\_%' ESCAPE '\\'
       AND t.name NOT LIKE '%\\_words\\_%' ESCAPE '\\'`).all();

  assert.ok(tables.length > 10);
  const reusing = tables.filter(({ sql }) => !/\bid +INTEGER PRIMARY KEY (AUTOINCREMENT|CHECK \(id = 1\))/.test(sql));
  assert.deepEqual(reusing.map(({ name }) => name), []);
});

test('after the newest source, post and attachment were deleted, later sources, posts and attachments get new ids', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const post = await writePost(hub, { client, sourceId }, [{ filename: 'a.txt', data: 'first' }]);
  const [first = assert.fail()] = post.attachments;

  assert.equal((await client.delete(`/api/attachments/${first.id}`)).status, 204);
  const [second = assert.fail()] = (await addFiles(hub, client, post.id, [{ filename: 'a.txt', data: 'second' }]))
    .json<{ items: Attachment[] }>().items;
  assert.ok(second.id > first.id);

  assert.equal((await client.delete(`/api/posts/${post.id}`)).status, 204);
  const next = await writePost(hub, { client, sourceId }, [{ filename: 'a.txt', data: 'third' }]);
  assert.ok(next.id > post.id);
  assert.ok((next.attachments[0]?.id ?? 0) > second.id);

  assert.equal((await client.delete(`/api/sources/${sourceId}`)).status, 204);
  await hub.work();
  assert.ok(await addNotes(client) > sourceId);
});

test('accounts, tokens and invitations have new ids after a deletion as well', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const made = async (client: Client): Promise<number[]> => [
    (await client.post('/api/tokens', { name: 'a', password: hub.password })).json<{ id: number }>().id,
    (await client.post('/api/invitations', { currentPassword: hub.password })).json<{ id: number }>().id,
  ];
  const [token = NaN, invitation = NaN] = await made(ada);
  assert.equal((await ada.delete(`/api/tokens/${token}`)).status, 204);
  assert.equal((await ada.delete(`/api/invitations/${invitation}`)).status, 204);
  const again = await made(ada);
  assert.ok((again[0] ?? 0) > token && (again[1] ?? 0) > invitation, `${again}`);

  const idOf = (name: string): number | undefined =>
    accounts(hub.handle).findByName(name)?.id;
  const bob = await hub.person('bob');
  const before = idOf('bob') ?? NaN;
  const left = await bob.send('DELETE', '/api/account', {
    body: JSON.stringify({ password: hub.password, confirmation: 'DELETE' }), headers: { 'content-type': 'application/json' },
  });
  assert.equal(left.status, 204, left.text);
  await hub.work();
  await hub.person('carl');
  assert.ok((idOf('carl') ?? NaN) > before);
});

/** The id that the next post gets. */
function nextPost(db: Db): number {
  return addPosts({ db }, 1, 1)[0] ?? NaN;
}

test('after a restore of an older backup, new ids are above all ids that the hub gave before the restore, also to deleted rows', async (t) => {
  const hub = await restorableHub(t);
  const high = 5_000_000_000;
  query(hub.dataDir, (db) => {
    addPost(db, high, 'The newest one');
    losePost({ db }, high);
    removeRows({ db }, 'attachments');
    db.exec(`UPDATE sqlite_sequence SET seq = ${high + 7} WHERE name = 'attachments'`);
  });
  await restore(hub.dataDir, hub.backup);

  query(hub.dataDir, (db) => {
    assert.equal(nextPost(db), high + 1);
    const file = { sha256: 'a', bytes: 1, mediaType: 'text/plain', width: null, height: null, filename: 'a' };
    const { attach } = attachments({ db, clock: Date.now });
    assert.deepEqual(attach(1, 1, [{ ...file, scan: 'clean' }]), [high + 8]);
  });
});

test('what the hub gives after the backup was laid ready, before it was stopped, counts too', async (t) => {
  const hub = await restorableHub(t);
  await begin(hub.dataDir, hub.backup);
  query(hub.dataDir, (db) => addPost(db, 6_000_000_000, 'Written while the backup was unpacked'));
  await swapRestored(hub.dataDir);
  assert.equal(query(hub.dataDir, nextPost), 6_000_000_001);
});

test('where the replaced database cannot be read, ids go on above a number made from the time', async (t) => {
  const hub = await restorableHub(t);
  for (const content of ['', 'no database '.repeat(900)]) {
    writeFileSync(join(hub.dataDir, 'hub.db'), content);
    const before = Date.now();
    await restore(hub.dataDir, hub.backup);

    query(hub.dataDir, (db) => {
      const floor = Math.floor((before - START_OF_2026) / 10);
      const id = nextPost(db);
      assert.ok(id > floor && id < floor + 60_000, `${id}`);
      const rows = db.prepare<[], { name: string; seq: number }>('sequences', 'SELECT name, seq FROM sqlite_sequence').all();
      assert.deepEqual(rows.filter(({ seq }) => seq < floor), []);
      assert.ok(rows.some(({ name }) => name === 'alert_deliveries'), 'those that had no row yet as well');
    });
  }
});

test('a number in a damaged database that no hub has given is not believed', async (t) => {
  const hub = await restorableHub(t);
  query(hub.dataDir, (db) => db.exec(`UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'posts'`));
  await restore(hub.dataDir, hub.backup);
  assert.ok(query(hub.dataDir, nextPost) < 1e12);
});
