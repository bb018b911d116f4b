// Protects the promise of backups: known data, everything destroyed, and all of it is back.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sources } from '../../src/features/sources/source-store.ts';
import { addNotes } from '../support/accounts.ts';
import { createClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/hub-process.ts';
import { retitlePosts } from '../support/stored-posts.ts';
import { namesOf, rowsOf } from '../support/stored-rows.ts';
import { freePort } from '../support/ports.ts';
import { query, uploadsIn } from '../support/restore-hub.ts';
import { restoreEnvironment, runRestore, startHub } from '../support/restore-script.ts';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { sha256 } from '../support/sha256.ts';
import { waitUntil } from '../support/wait-until.ts';
import { writePost } from '../support/uploads.ts';

/** What a restore changes by itself, and what the hub that runs then notes of itself. */
const CHANGED = new Set(['sessions', 'audit_records', 'jobs', 'heartbeats', 'counts', 'rate_limits', 'history',
  'history_figures', 'history_readings', 'backup_runs', 'certificates']);

/** Every row of every table that a restore has to bring back as it was, but for what signing in afterwards changes. */
function dumpOf(dataDir: string): Record<string, unknown[]> {
  return query(dataDir, (db) => {
    const tables = namesOf({ db }, 'table').filter((name) => !CHANGED.has(name) && !name.startsWith('sqlite_'));
    const shown = (name: string, row: object): string =>
      JSON.stringify(name === 'sign_in_networks' ? { ...row, seen_at: 'when signing in' } : row);
    return Object.fromEntries(tables.map((name) => [name, rowsOf({ db }, name).flat().map((row) => shown(name, row)).sort()]));
  });
}

/** The administrator, who joins by the link that the hub prints. */
async function joinFirst(url: string, link: string): Promise<Client> {
  const client = createClient(url);
  const invitation = link.split('/').at(-1) ?? '';
  const joined = await client.post('/api/accounts', { invitation, username: 'ada', password: 'correct horse battery' });
  assert.equal(joined.status, 201, joined.text);
  return client;
}

test('case 77: after a backup, the loss of everything and a restore, all known data is back', async (t) => {
  const dataDir = temporaryDataDir(t);
  const port = await freePort();
  const running = await startHub(t, dataDir, port);
  await waitUntil('the link is printed', () => running.stdout().includes('/join/'));
  const [link = ''] = /http\S+\/join\/\S+/.exec(running.stdout()) ?? [];
  const client = await joinFirst(running.url, link);
  const sourceId = await addNotes(client);
  const files = Array.from({ length: 4 }, (_, n) => ({ filename: `file ${n}.txt`, data: `text ${randomBytes(20_000).toString('hex')}` }));
  const written = await writePost({ address: running.url }, { client, sourceId }, files);
  await writePost({ address: running.url }, { client, sourceId });

  const made = await runProgram(join(PROJECT_ROOT, 'scripts/backup.sh'), [], { env: restoreEnvironment(dataDir, port) });
  assert.equal(made.status, 0, made.stderr);
  const [, backup = ''] = /dir=(.*)\n$/.exec(made.stdout) ?? [];
  const copy = join(dataDir, 'tmp/copy');
  mkdirSync(copy); // opening the backup itself would change it
  copyFileSync(join(backup, 'hub.db'), join(copy, 'hub.db'));
  const dump = dumpOf(copy);
  const hashes = files.map(({ data }) => sha256(data)).sort();
  assert.deepEqual(uploadsIn(dataDir), hashes);

  // Everything is changed or deleted, by the hub, past it, and on the disk.
  await writePost({ address: running.url }, { client, sourceId }, [{ filename: 'later.txt', data: 'written later' }]);
  assert.equal((await client.delete(`/api/posts/${written.id}`)).status, 204);
  assert.equal((await client.patch('/api/account', { currentPassword: 'correct horse battery', newPassword: 'another one entirely' })).status, 200);
  query(dataDir, (db) => retitlePosts({ db }, 'changed'));
  query(dataDir, (db) => sources({ db, clock: Date.now }).setTitle(sourceId, 'changed'));
  rmSync(join(dataDir, 'uploads'), { recursive: true });

  const { status, stderr } = await runRestore(dataDir, port, [backup]);
  assert.equal(status, 0, stderr);

  assert.equal((await client.get('/api/account')).status, 401, 'sessions have ended');
  const signedIn = createClient(running.url);
  assert.equal((await signedIn.post('/api/session', { username: 'ada', password: 'correct horse battery' })).status, 200);
  const post = (await signedIn.get(`/api/posts/${written.id}`)).json<typeof written>();
  assert.equal(post.attachments.length, files.length);
  for (const { url, ...attachment } of post.attachments) {
    const bytes = Buffer.from(await (await fetch(new URL(url, running.url))).arrayBuffer());
    assert.equal(sha256(bytes), attachment.sha256);
  }
  assert.match((await createClient(running.url).page('/')).text, /A post/);

  assert.equal(await running.end('SIGTERM'), 0);
  assert.deepEqual(dumpOf(dataDir), dump);
  assert.deepEqual(uploadsIn(dataDir), hashes);
});
