// Protects whoever waits for a long command: it says how far it is, once and truly, and is silent where nobody looks.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { showProgress } from '../../../src/commands/command.ts';
import { verifyBackup } from '../../../src/features/backups/verify-backup.ts';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { enqueue, jobs } from '../../../src/features/hub/hub.ts';
import { workerQueue } from '../../../src/features/hub/worker-jobs.ts';
import { removeSource } from '../../../src/features/manage-sources/delete-source.ts';
import { notifications } from '../../../src/features/notifications/notification-store.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { DAY, SECOND } from '../../../src/platform/clock.ts';
import { addNotes, leave } from '../../support/accounts.ts';
import { addPost, backupHub } from '../../support/backup-hub.ts';
import { opml, rss, serving } from '../../support/feeds.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import { hubctl, hubctlOnTerminal } from '../../support/hubctl.ts';
import { watchProgress } from '../../support/stored-jobs.ts';
import { MIGRATIONS } from '../../support/migrated-database.ts';
import { begin, restorableHub } from '../../support/restore-hub.ts';

const MIB = 1024 * 1024;

/** What is written by a command of 8 MiB that reads 1 MiB in each of these seconds. */
function said(isTerminal: boolean, elsewhere: 'all' | 'steps' | 'nothing', seconds: number): string[] {
  let now = 0;
  const lines: string[] = [];
  const terminal = { env: {}, out: () => {}, err: (text: string) => void lines.push(text), isTerminal };
  const progress = showProgress(terminal, 'verify', elsewhere, () => now);
  progress.onStep('attachments');
  for (let second = 1; second <= 8; second++) {
    now += seconds * SECOND;
    progress.onProgress(second * MIB, 8 * MIB);
  }
  progress.end();
  return lines;
}

test('on a terminal a bar is drawn over again, with the share, the bytes and the time that is left, and cleared at the end', () => {
  const drawn = said(true, 'nothing', 1);

  assert.equal(drawn[0], '\r\x1b[Kverify: attachments …');
  assert.equal(drawn[1], '\r\x1b[Kverify: attachments [##..................] 12 %, 1.0 MiB of 8.0 MiB');
  assert.equal(drawn[6], '\r\x1b[Kverify: attachments [###############.....] 75 %, 6.0 MiB of 8.0 MiB, 2 s left');
  assert.equal(drawn.at(-1), '\r\x1b[K');
  assert.ok(drawn.every((line) => !line.includes('\n')));
  assert.equal(said(true, 'nothing', 0.01).length, 2 + 1, 'it is not drawn for each piece that is read');
});

test('elsewhere there is a line for each step and one now and then, or only the steps, or nothing', () => {
  assert.deepEqual(said(false, 'all', 8).map((line) => line.split(',')[0]),
    ['verify: attachments\n', 'verify: attachments: 25 %', 'verify: attachments: 50 %', 'verify: attachments: 75 %', 'verify: attachments: 100 %']);
  assert.deepEqual(said(false, 'all', 1), ['verify: attachments\n']);
  assert.deepEqual(said(false, 'steps', 60), ['verify: attachments\n']);
  assert.deepEqual(said(false, 'nothing', 60), []);
});

test('a verification tells of every byte that it reads, and ends with all of them', async (t) => {
  const hub = backupHub(t);
  hub.upload(randomBytes(1_000_000));
  const { path } = await hub.backup();
  const seen = new Map<string, [done: number, total: number][]>();
  let step = '';
  await verifyBackup(path, {
    migrations: MIGRATIONS, clock: Date.now, onStep: (what) => void (step = what),
    onProgress: (done, total) => seen.set(step, [...seen.get(step) ?? [], [done, total]]),
  });

  const sizes = { 'hash of the database': statSync(join(path, 'hub.db')).size, 'attachments': statSync(join(path, 'uploads.tar.gz')).size };
  assert.ok((seen.get('attachments') ?? []).length > 2);
  for (const [name, size] of Object.entries(sizes)) {
    const steps = seen.get(name) ?? [];
    assert.deepEqual(steps.at(-1), [size, size], name);
    assert.deepEqual(steps.map(([done]) => done), steps.map(([done]) => done).toSorted((a, b) => a - b));
  }
});

test('backup and verification draw on a terminal; elsewhere a verification says nothing but its report', async (t) => {
  const hub = backupHub(t);
  hub.upload('some words');
  const made = await hubctlOnTerminal(hub.dataDir, 'backup');
  assert.match(made.stderr, /\r\x1b\[Kbackup: copying the database …[^\n]*\r\x1b\[Kbackup: archiving 1 attachment [^\n]*\r\x1b\[K$/);
  const [name = ''] = readdirSync(join(hub.dataDir, 'backups'));
  const folder = join(hub.dataDir, 'backups', name);

  const shown = await hubctlOnTerminal(hub.dataDir, 'verify', folder);
  assert.match(shown.stderr, /verify: attachments \[[#.]{20}\] \d+ %/);
  assert.match(shown.stdout, /^Backup [^]*VERIFIED/);
  assert.equal((await hubctl(hub.dataDir, 'verify', folder)).stderr, '');
});

test('a restore tells how far it is while it checks, unpacks and compares', async (t) => {
  const hub = await restorableHub(t);
  const steps: string[] = [];
  const read = new Set<string>();
  await begin(hub.dataDir, hub.backup, {
    onStep: (what: string) => void steps.push(what),
    onProgress: (done: number, total: number) => void (done === total && read.add(steps.at(-1)?.replace(/\d+/, 'n') ?? '')),
  });

  assert.deepEqual([...read], ['checking the hash of the database', 'checking the attachments', 'unpacking n attachment',
    'checking the unpacked files']);
});

test('long jobs say in their own transactions how far they are: a large feed, an import, the removal of a source and of an account', async (t) => {
  const items = Array.from({ length: 120 }, (_, n) => ({ guid: `g${n}` }));
  const { hub, feed, ada, id } = await followedFeed(t);
  const said = watchProgress(hub);
  feed.handler = serving(() => rss('Owls', items));
  await hub.work(DAY);
  const stored = said('sync-source');
  assert.deepEqual(stored[0], [0, 120]);
  assert.ok(stored.length > 1 && stored.every(([done, total], n) => total === 120 && done >= (stored[n - 1]?.[0] ?? 0)));

  const outlines = Array.from({ length: 3 }, (_, n) => `<outline xmlUrl="https://b${n}.test/feed"/>`).join('');
  await ada.form('/sources/import', { opml: opml(outlines), visibility: 'private' });
  await hub.work();
  assert.deepEqual(said('import-feeds').at(-1), [3, 3]);

  hub.db.write('more posts', () => {
    for (let n = 0; n < 230; n++) addPost(hub.db, 1_000 + n, 'An owl');
  });
  await ada.delete(`/api/sources/${id}`);
  await hub.work();
  assert.deepEqual(said('remove-source'), [[100, 251], [200, 251]], '100 of the 351 were removed at once');

  const bob = await hub.person('bob');
  const accountId = accounts(hub.handle).findByName('bob')?.id ?? 0;
  for (let n = 0; n < 450; n++) {
    notifications(hub.handle).add({ accountId, kind: 'source.failing', title: `Owl ${n}`, path: '/' });
  }
  assert.equal((await leave(hub, bob)).status, 204);
  await hub.work();
  assert.deepEqual(said('remove-account').at(-1), [250, null], '200 were removed at once');
});

test('pages show it where it was asked for, and the list of jobs with what else is to be done', async (t) => {
  const { hub, ada, id, feed } = await followedFeed(t);
  feed.handler = serving(() => rss('Owls', [{ guid: 'a' }, { guid: 'b' }]));
  await ada.post(`/api/sources/${id}/sync`, {});
  const [job] = workerQueue(hub.handle).claim('sync-source', 1);
  jobs(hub.handle).noteProgress(job?.id ?? 0, 1_500, 5_000);
  const bar = /1,500 of 5,000[^<]*<progress max="5000" value="1500">/;

  assert.match((await ada.page(`/sources/${id}`)).text, bar);
  const list = (await ada.page('/admin/jobs?state=running')).text;
  assert.match(list, bar);
  assert.match(list, /<p>Unfinished jobs: 1 sync-source\.<\/p>/);
  assert.deepEqual((await ada.get('/api/admin/jobs?state=running')).json<{ items: object[] }>().items
    .map((one) => (one as { progress: unknown }).progress), [{ done: 1_500, total: 5_000 }]);
  assert.match((await hubctl(hub.dataDir, 'jobs', 'list', '--state', 'running')).stdout, /\t1,500 of 5,000\n/);

  const gone = await addNotes(ada, 'Old <notes>');
  sources(hub.handle).hide(gone);
  enqueue(hub.handle, removeSource, { sourceId: gone });
  const [removal] = workerQueue(hub.handle).claim('remove-source', 1);
  jobs(hub.handle).noteProgress(removal?.id ?? 0, 300, null);
  assert.match((await ada.page('/sources')).text, /“<bdi>Old &lt;notes&gt;<\/bdi>” is being removed\.[^]*300 so far/);
  const bob = await hub.person('bob');
  assert.doesNotMatch((await bob.page('/sources')).text, /is being removed/);
});
