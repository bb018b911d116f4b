// Protects a restore: all of the backup or all of the old data, nothing lost, and refused where it could not end well.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { passwordLinks, sessions } from '../../../src/features/accounts/credential-store.ts';
import { openPlainFile } from '../../../src/features/backups/manifest.ts';
import { isRestoreOpen, isRestoreUnderWay, readRestoreState } from '../../../src/features/backups/restore-state.ts';
import {
  finishRestore, openRestored, removeStaged, swapRestored, undoRestore,
} from '../../../src/features/backups/restore-steps.ts';
import { newDatabaseNote, readDatabaseNote, writeDatabaseNote } from '../../../src/features/hub/database-note.ts';
import { offers } from '../../../src/features/manage-sources/offer-store.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { changeDatabase, copyOf, optionsFor, rewriteSums, verify } from '../../support/backup-hub.ts';
import { MIGRATIONS } from '../../support/migrated-database.ts';
import { startProgram } from '../../support/child-program.ts';
import {
  begin, keptIn, leftovers, postsIn, query, restorableHub, restore, stateOf, uploadsIn, worldIn,
} from '../../support/restore-hub.ts';
import { makeBackup } from '../../../src/features/backups/make-backup.ts';
import { type JobState } from '../../../src/platform/jobs/job-records.ts';
import { createHeartbeats } from '../../../src/platform/jobs/scheduler.ts';
import { storedActs } from '../../support/stored-accounts.ts';
import { addJob, storedJobs } from '../../support/stored-jobs.ts';
import { addLaterMigration, countRows, removeRows, rowsOf } from '../../support/stored-rows.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';
import { watchSyncs } from '../../support/watched-syncs.ts';
import { waitUntil } from '../../support/wait-until.ts';

test('case 67, 69, 72: a restore puts the backup in place and keeps all earlier data', async (t) => {
  const hub = await restorableHub(t);
  const { kept, verification, settled, migrated } = await restore(hub.dataDir, hub.backup);

  assert.deepEqual([verification.verdict, migrated, settled], ['verified', 0, { sessions: 0, jobs: 0 }]);
  assert.equal(worldIn(hub.dataDir, hub), 'new');
  assert.equal(kept, keptIn(hub.dataDir));
  assert.equal(statSync(kept).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(kept).sort(), ['hub.db', 'uploads']);
  assert.equal(worldIn(kept, hub), 'old');
  assert.deepEqual(leftovers(hub.dataDir), []);
  assert.equal((await verify(hub.backup)).verdict, 'verified', 'the backup is as it was');
});

test('case 62: what is laid ready is synced, each file and folder of it, before the restore is noted as begun', async (t) => {
  const hub = await restorableHub(t);
  const synced: string[] = [];
  await watchSyncs(t, (path) => void synced.push(path));

  const { state: { id } } = await begin(hub.dataDir, hub.backup);

  const staged = join(hub.dataDir, `.restore-${id}`);
  const entries = readdirSync(staged, { recursive: true }).map((name) => join(staged, String(name)));
  assert.ok(entries.length > 10, 'the reserve is among it');
  const noted = synced.findIndex((path) => path.startsWith(join(hub.dataDir, 'run/restore-state')));
  const before = synced.slice(0, noted);
  assert.deepEqual([hub.dataDir, staged, ...entries].filter((path) => !before.includes(path)), []);
});

test('the state of a restore is there at every moment, though it passes from one file to the other and back', async (t) => {
  const dataDir = temporaryFolder(t);
  mkdirSync(join(dataDir, 'run'));
  const writer = startProgram(t, 'passing-state.ts', dataDir);
  await waitUntil('there is a state', () => isRestoreOpen(dataDir));

  const seen = new Set<string>();
  for (let passed = 1; passed <= 300; passed++) {
    writer.child.stdin?.write('.'); // it passes once: there and back within one look would hide it, and never happens
    while (writer.stdout().length <= passed) {
      assert.equal(writer.child.exitCode, null, writer.stderr());
      for (let look = 0; look < 50; look++) seen.add(`${readRestoreState(dataDir)?.phase} ${isRestoreOpen(dataDir)}`);
      await setImmediate();
    }
  }
  assert.deepEqual([...seen].sort(), ['probation true', 'undoing true']);
});

test('case 70: files are for their owner alone, whatever the modes of the backup', async (t) => {
  const hub = await restorableHub(t);
  for (const name of readdirSync(hub.backup)) chmodSync(join(hub.backup, name), 0o6444);
  chmodSync(hub.backup, 0o755);
  await restore(hub.dataDir, hub.backup);

  const paths = ['hub.db', 'uploads', `uploads/${hub.inBackup.slice(0, 2)}`, `uploads/${hub.inBackup.slice(0, 2)}/${hub.inBackup}`];
  const modes = paths.map((path) => (statSync(join(hub.dataDir, path)).mode & 0o7777).toString(8));
  assert.deepEqual(modes, ['600', '700', '700', '600']);
});

test('case 69: the kept copy puts the old data back by hand, and is a hub that can be backed up', async (t) => {
  const hub = await restorableHub(t);
  const { kept } = await restore(hub.dataDir, hub.backup);
  for (const name of ['hub.db', 'uploads']) {
    rmSync(join(hub.dataDir, name), { recursive: true });
    renameSync(join(kept ?? '', name), join(hub.dataDir, name));
  }
  assert.equal(worldIn(hub.dataDir, hub), 'old');
  const again = await makeBackup(optionsFor(hub.dataDir));
  assert.deepEqual([again.verification.verdict, again.verification.counts?.posts], ['verified', 2]);
});

test('case 59: the log of a hub that crashed does not bring later rows into the restored database', async (t) => {
  const hub = await restorableHub(t);
  const crashing = startProgram(t, 'writing-process.ts', join(hub.dataDir, 'hub.db'));
  await waitUntil('it writes', () => existsSync(join(hub.dataDir, 'hub.db-wal')) &&
    statSync(join(hub.dataDir, 'hub.db-wal')).size > 100_000);
  await crashing.end('SIGKILL');
  const logged = statSync(join(hub.dataDir, 'hub.db-wal')).size;
  const limits = (folder: string): number => query(folder, (db) => countRows({ db }, 'rate_limits'));

  const { kept } = await restore(hub.dataDir, hub.backup);

  assert.ok(logged > 0);
  assert.deepEqual(readdirSync(hub.dataDir).filter((name) => name.startsWith('hub.db')), ['hub.db']);
  assert.equal(limits(hub.dataDir), 0);
  assert.equal(worldIn(hub.dataDir, hub), 'new');
  assert.ok(limits(kept ?? '') > 0, 'what was committed before the crash is in the kept copy');
});

test('case 60: while a process has the database open nothing is moved, and afterwards it can be done', async (t) => {
  const hub = await restorableHub(t);
  await begin(hub.dataDir, hub.backup);
  const idle = openDatabase(join(hub.dataDir, 'hub.db'));
  countRows({ db: idle }, 'posts');

  await assert.rejects(swapRestored(hub.dataDir, 100), /another process still has the database open/);
  assert.equal(readRestoreState(hub.dataDir)?.phase, 'staged');
  assert.ok(existsSync(join(hub.dataDir, 'hub.db-wal')), 'the log is still in use');
  idle.close();

  await swapRestored(hub.dataDir, 100);
  await openRestored(hub.dataDir);
  const trial = openDatabase(join(hub.dataDir, 'hub.db'));
  countRows({ db: trial }, 'posts');
  await assert.rejects(undoRestore(hub.dataDir, 100), /still has the database open/);
  assert.ok(isRestoreUnderWay(hub.dataDir), 'a hub that failed its trial does not start again');
  trial.close();
  await undoRestore(hub.dataDir, 100);
  assert.equal(worldIn(hub.dataDir, hub), 'old');
});

test('case 67: without a database, with an empty one or a damaged one, a restore works and keeps what there was', async (t) => {
  const hub = await restorableHub(t);
  const database = join(hub.dataDir, 'hub.db');
  for (const content of [null, '', 'x'.repeat(9_000)]) {
    rmSync(database);
    if (content !== null) writeFileSync(database, content);
    const { kept } = await restore(hub.dataDir, hub.backup);
    assert.equal(worldIn(hub.dataDir, hub), 'new');
    if (content) assert.equal(readFileSync(join(kept ?? '', 'hub.db'), 'utf8'), content);
    assert.equal(existsSync(join(kept ?? '', 'hub.db')), content !== null);
  }
});

test('a restore that is rolled back still knows that a copy of the lost database waits', async (t) => {
  const hub = await restorableHub(t);
  const note = { ...newDatabaseNote('removed', 7), rescue: { file: 'rescued-20260102-030405.db', verified: true, lost: [] } };
  writeDatabaseNote(hub.dataDir, note);
  await begin(hub.dataDir, hub.backup);
  await swapRestored(hub.dataDir);
  assert.equal(readDatabaseNote(hub.dataDir), null, 'the restored database is sound');
  await undoRestore(hub.dataDir);
  assert.deepEqual(readDatabaseNote(hub.dataDir), note);
});

test('case 67: a missing database leaves its log to be kept, and does not meet the new one', async (t) => {
  const hub = await restorableHub(t);
  rmSync(join(hub.dataDir, 'hub.db'));
  writeFileSync(join(hub.dataDir, 'hub.db-wal'), 'the log');
  const { kept } = await restore(hub.dataDir, hub.backup);
  assert.equal(worldIn(hub.dataDir, hub), 'new');
  assert.equal(readFileSync(join(kept ?? '', 'hub.db-wal'), 'utf8'), 'the log');
});

test('case 68: on the first install there is nothing to keep, and a roll back leaves nothing', async (t) => {
  const hub = await restorableHub(t);
  const fresh = join(hub.dataDir, '../fresh');
  mkdirSync(join(fresh, 'run'), { recursive: true });
  await begin(fresh, hub.backup);
  await swapRestored(fresh);
  await undoRestore(fresh);
  assert.deepEqual(readdirSync(fresh), ['run']);

  assert.equal((await restore(fresh, hub.backup)).kept, null);
  assert.equal(worldIn(fresh, hub), 'new');
});

test('case 71: the same backup twice gives the same data, and both old ones are kept', async (t) => {
  const hub = await restorableHub(t);
  const dump = (): unknown => query(hub.dataDir, (db) => rowsOf({ db }, 'posts'));
  await restore(hub.dataDir, hub.backup);
  const first = dump();
  await restore(hub.dataDir, hub.backup);
  assert.deepEqual(dump(), first);
  assert.deepEqual(uploadsIn(hub.dataDir), [hub.inBackup]);
  assert.equal(readdirSync(hub.dataDir).filter((name) => name.startsWith('pre-restore-')).length, 2);
});

const JOBS: [kind: string, state: JobState, becomes: JobState][] = [
  ['deliver-alert', 'queued', 'discarded'], ['deliver-alert', 'retrying', 'discarded'], ['deliver-alert', 'running', 'discarded'],
  ['deliver-alert', 'failed', 'failed'], ['deliver-alert', 'done', 'done'], ['made-later', 'queued', 'discarded'],
  ['sync-source', 'queued', 'queued'], ['sync-source', 'running', 'queued'], ['sync-source', 'retrying', 'retrying'],
  ['scan-upload', 'running', 'queued'], ['remove-source', 'queued', 'queued'],
  ['remove-account', 'running', 'queued'], ['remove-account', 'queued', 'queued'],
];

test('case 73, 74: jobs that had their chance are discarded, sessions end, open offers stay, and the restore is on record', async (t) => {
  const hub = await restorableHub(t);
  changeDatabase(hub.backup, (db) => {
    for (const [index, [kind, state]] of JOBS.entries()) {
      const lease = state === 'running' ? { leaseExpiresAt: 9e12 } : {};
      addJob({ db }, { kind, state, lane: `lane ${index}`, attempts: 5, ...lease });
    }
    for (let n = 0; n < 2; n++) sessions({ db, clock: Date.now }).start(1);
    passwordLinks({ db, clock: Date.now }).create(1);
    createHeartbeats(db, Date.now).beat('worker');
    offers({ db, clock: Date.now }).add({ sourceId: 1, senderId: 1, receiverId: 1, toFollower: 0 });
  });
  const said = await hub.hubctlWith({ CONFIRM_RESTORE: 'YES' }, 'restore', 'begin', hub.backup);
  assert.equal(said.status, 0, said.stderr);
  assert.match(said.stdout, /2 sessions ended; 4 jobs discarded/);
  await swapRestored(hub.dataDir);

  query(hub.dataDir, (db) => {
    assert.deepEqual(storedJobs({ db }).map(({ state }) => state), JOBS.map(([, , becomes]) => becomes));
    assert.deepEqual(rowsOf({ db }, 'sessions', 'password_links', 'heartbeats'), [[], [], []]);
    assert.equal(countRows({ db }, 'source_offers'), 1);
    assert.deepEqual(storedActs({ db }).map(({ act, targetName, detail }) => [act, targetName, JSON.parse(detail)]),
      [['backup.restored', hub.name, { sessions: 2, jobs: 4 }]]);
  });
});

test('case 58: a restore from a faulty backup changes nothing', async (t) => {
  const hub = await restorableHub(t);
  const wrongs: Record<string, (backup: string) => void> = {
    'a flipped bit in the database': (backup) => flip(join(backup, 'hub.db'), 5_000),
    'a flipped bit in the archive': (backup) => flip(join(backup, 'uploads.tar.gz'), 30),
    'no hashes': (backup) => rmSync(join(backup, 'SHA256SUMS')),
    'no archive': (backup) => rmSync(join(backup, 'uploads.tar.gz')),
    'a log beside the database': (backup) => writeFileSync(join(backup, 'hub.db-wal'), ''),
    'an emptied hub with hashes that fit': (backup) => changeDatabase(backup, (db) => removeRows({ db }, 'posts')),
    'nothing at all': (backup) => rmSync(backup, { recursive: true }),
  };
  const before = stateOf(hub.dataDir);
  for (const [index, [what, harm]] of Object.entries(wrongs).entries()) {
    const copy = copyOf(hub.backup, String(index));
    harm(copy);
    await assert.rejects(begin(hub.dataDir, copy), /this backup cannot be restored: /, what);
    assert.deepEqual(stateOf(hub.dataDir), before, what);
  }
});

const NO_FILES: Record<string, (path: string, away: string) => void> = {
  'a pipe': (path) => execFileSync('mkfifo', [path]),
  'a link to a device': (path) => symlinkSync('/dev/zero', path),
  'a link to the file itself': (path, away) => symlinkSync(away, path),
  'a folder': (path) => mkdirSync(path),
};

for (const name of ['SHA256SUMS', 'hub.db', 'uploads.tar.gz']) {
  for (const [what, put] of Object.entries(NO_FILES)) {
    test(`${what} in place of ${name} is refused, by restore and verification, before anything is read of it`, async (t) => {
      const hub = await restorableHub(t);
      const copy = copyOf(hub.backup, 'odd');
      const away = join(copy, '..', `${name} elsewhere`);
      renameSync(join(copy, name), away);
      put(join(copy, name), away);
      const before = [stateOf(hub.dataDir), process.memoryUsage().rss] as const;

      await assert.rejects(begin(hub.dataDir, copy), new RegExp(`cannot be restored: ${name} is not a plain file`));
      assert.match((await verify(copy)).problem ?? '', new RegExp(`^${name} is not a plain file$`));
      await assert.rejects(openPlainFile(join(copy, name)), 'nor when it came there after that look');

      assert.deepEqual(stateOf(hub.dataDir), before[0]);
      assert.ok(process.memoryUsage().rss - before[1] < 64 * 1_024 * 1_024);
    });
  }
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 4;
  writeFileSync(path, bytes);
}

test('case 55: a backup of a newer or of another program is refused, and nothing is touched', async (t) => {
  const hub = await restorableHub(t);
  const newer = copyOf(hub.backup, 'newer');
  changeDatabase(newer, (db) => addLaterMigration({ db }, 99));
  rewriteSums(newer, (text) => text.replace(/^# schema .*$/m, '# schema 99'));
  const before = stateOf(hub.dataDir);
  await assert.rejects(begin(hub.dataDir, newer), /made by another version of the hub, or by another program/);
  const others = MIGRATIONS.map((one) => ({ ...one, checksum: 'x' }));
  await assert.rejects(begin(hub.dataDir, hub.backup, { migrations: others }), /by another program/);
  assert.deepEqual(stateOf(hub.dataDir), before);
});

test('case 55: an older backup is brought up to date before the hub is stopped, and one that cannot be is refused', async (t) => {
  const hub = await restorableHub(t);
  const more = (sql: string, safe: boolean) =>
    [...MIGRATIONS, { version: MIGRATIONS.length + 1, name: 'more', sql, safe, checksum: 'x' }];
  const before = stateOf(hub.dataDir);
  await assert.rejects(begin(hub.dataDir, hub.backup, { migrations: more('DROP TABLE posts_words', false) }),
    /restore it with the version that made it, then upgrade/);
  await assert.rejects(begin(hub.dataDir, hub.backup, { migrations: more('CREATE TABLE posts (id)', true) }), /failed and changed nothing/);
  assert.deepEqual(stateOf(hub.dataDir), before);

  const { migrated } = await begin(hub.dataDir, hub.backup, { migrations: more('CREATE TABLE added (id)', true) });
  assert.equal(migrated, 1);
  await swapRestored(hub.dataDir);
  query(hub.dataDir, (db) => assert.equal(countRows({ db }, 'added'), 0));
  assert.equal((await verify(hub.backup)).schema, 'same', 'the backup itself is as it was');
});

/** When the backup changes, by what the restore says it does next. */
const MOMENTS: [step: string, what: string, harm: (backup: string) => void, said: RegExp][] = [
  ['copying the database', 'another database', (backup) => changeDatabase(backup, (db) => removeRows({ db }, 'posts')),
    /hub\.db changed while it was being copied/],
  ['copying the database', 'no database', (backup) => rmSync(join(backup, 'hub.db')), /ENOENT/],
  ['unpacking', 'a damaged archive', (backup) => flip(join(backup, 'uploads.tar.gz'), 60), /uploads\.tar\.gz: /],
  ['unpacking', 'nothing', (backup) => rmSync(backup, { recursive: true }), /ENOENT/],
];

for (const [step, what, harm, said] of MOMENTS) {
  test(`case 75: ${what} in the backup's place after it was verified is noticed while ${step}`, async (t) => {
    const hub = await restorableHub(t);
    const copy = copyOf(hub.backup, 'changing');
    const before = stateOf(hub.dataDir);
    const onStep = (now: string): void => void (now.startsWith(step) && harm(copy));
    await assert.rejects(begin(hub.dataDir, copy, { onStep }), said);
    assert.deepEqual(stateOf(hub.dataDir), before);
  });
}

test('case 75: once it is laid ready, the backup may go', async (t) => {
  const hub = await restorableHub(t);
  await begin(hub.dataDir, hub.backup);
  rmSync(hub.backup, { recursive: true });
  await swapRestored(hub.dataDir);
  assert.equal(worldIn(hub.dataDir, hub), 'new');
});

for (const item of ['uploads', 'hub.db']) {
  test(`case 64: ${item} behind a link is refused before anything is done`, async (t) => {
    const hub = await restorableHub(t);
    const elsewhere = join(hub.dataDir, '../elsewhere');
    for (const isDangling of [false, true]) {
      renameSync(join(hub.dataDir, item), elsewhere);
      symlinkSync(isDangling ? `${elsewhere}-not` : elsewhere, join(hub.dataDir, item));
      await assert.rejects(begin(hub.dataDir, hub.backup), new RegExp(`DATA_DIR/${item} is a symbolic link or a mount point`));
      assert.deepEqual(leftovers(hub.dataDir), []);
      rmSync(join(hub.dataDir, item));
      renameSync(elsewhere, join(hub.dataDir, item));
    }
    assert.equal(worldIn(hub.dataDir, hub), 'old');
  });
}

test('case 66: a roll back that fails moves nothing more, and goes on when the obstacle is gone', async (t) => {
  const hub = await restorableHub(t);
  await begin(hub.dataDir, hub.backup);
  await swapRestored(hub.dataDir);
  const kept = keptIn(hub.dataDir);
  const { id } = readRestoreState(hub.dataDir) ?? assert.fail();
  const obstacle = join(hub.dataDir, `.restore-${id}`, 'uploads');
  mkdirSync(join(obstacle, 'something'), { recursive: true });

  for (let attempt = 0; attempt < 2; attempt++) {
    await assert.rejects(undoRestore(hub.dataDir), { code: 'ENOTEMPTY' });
    assert.equal(readRestoreState(hub.dataDir)?.phase, 'undoing');
    assert.ok(isRestoreUnderWay(hub.dataDir), 'the hub stays down');
    assert.deepEqual([uploadsIn(kept), uploadsIn(hub.dataDir)], [[hub.since], [hub.inBackup]]);
  }
  rmSync(obstacle, { recursive: true });
  await undoRestore(hub.dataDir);
  assert.equal(worldIn(hub.dataDir, hub), 'old');
});

test('case 66: where the data from before was taken away, nothing passes for it', async (t) => {
  const hub = await restorableHub(t);
  await begin(hub.dataDir, hub.backup);
  await swapRestored(hub.dataDir);
  await openRestored(hub.dataDir);
  const kept = keptIn(hub.dataDir);
  renameSync(kept, join(hub.dataDir, '../taken away'));

  for (let attempt = 0; attempt < 2; attempt++) {
    await assert.rejects(undoRestore(hub.dataDir), /pre-restore-[0-9-]+ lacks hub\.db, uploads of the previous data/);
    assert.ok(isRestoreUnderWay(hub.dataDir), 'the hub stays down');
    assert.equal(worldIn(hub.dataDir, hub), 'new');
  }
  renameSync(join(hub.dataDir, '../taken away'), kept);
  await undoRestore(hub.dataDir);
  assert.equal(worldIn(hub.dataDir, hub), 'old');
});

test('case 20: while a restore is not over, no backup is made, and the other way round', async (t) => {
  const hub = await restorableHub(t);
  const backup = () => makeBackup(optionsFor(hub.dataDir));
  const steps = [() => begin(hub.dataDir, hub.backup), () => swapRestored(hub.dataDir), () => openRestored(hub.dataDir)];
  for (const step of steps) {
    await step();
    await assert.rejects(backup(), { name: 'Error', message: /a restore or an upgrade is in progress or was interrupted/ });
    const { status, stdout } = await hub.hubctl('backup');
    assert.deepEqual([status, stdout], [75, 'result=busy\n']);
  }
  await finishRestore(hub.dataDir);
  assert.equal((await backup()).verification.verdict, 'verified');
});

test('case 62: what a staging that was killed left is removed by the next; a second restore waits for the first', async (t) => {
  const hub = await restorableHub(t);
  for (const name of ['.restore-20260101-000000', '.restore-mine', '.restore-20260101-000000.txt']) {
    mkdirSync(join(hub.dataDir, name, 'uploads'), { recursive: true });
  }
  assert.equal(await removeStaged(hub.dataDir), 1);
  assert.deepEqual(leftovers(hub.dataDir), ['.restore-20260101-000000.txt', '.restore-mine']);

  await begin(hub.dataDir, hub.backup);
  await assert.rejects(begin(hub.dataDir, hub.backup), /a restore was interrupted: run restore\.sh --recover first/);
  await undoRestore(hub.dataDir);
  assert.equal(worldIn(hub.dataDir, hub), 'old');
});

test('a step out of its order is refused and changes nothing', async (t) => {
  const hub = await restorableHub(t);
  for (const step of [swapRestored, openRestored, finishRestore, undoRestore]) {
    await assert.rejects(step(hub.dataDir), /no restore is in progress/);
  }
  await begin(hub.dataDir, hub.backup);
  for (const step of [openRestored, finishRestore]) await assert.rejects(step(hub.dataDir), /in the phase "staged"/);
  await swapRestored(hub.dataDir);
  await assert.rejects(finishRestore(hub.dataDir), /in the phase "swapped"/);
  await openRestored(hub.dataDir);
  await assert.rejects(swapRestored(hub.dataDir), /in the phase "probation"/);
  await finishRestore(hub.dataDir);
});

test('case 32: a degraded backup is restored without the files that the hub had lost', async (t) => {
  const hub = await restorableHub(t);
  rmSync(join(hub.dataDir, 'uploads', hub.since.slice(0, 2), hub.since));
  const made = await makeBackup(optionsFor(hub.dataDir));
  assert.equal(made.verification.verdict, 'degraded');
  const { verification } = await restore(hub.dataDir, made.path);
  assert.equal(verification.absent.length, 1);
  assert.deepEqual([uploadsIn(hub.dataDir), postsIn(hub.dataDir)], [[], 2]);
});
