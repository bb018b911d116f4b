// Protects how the restic repository is looked after: what is removed from it, its locks, and that it is read.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DAY } from '../../src/platform/clock.ts';
import { isRunning, PROJECT_ROOT } from '../support/run-program.ts';
import { olderSnapshots, packsOf, resticHub, type ResticHub } from '../support/restic.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('restic');

/** Without those that are being written. */
const locksOf = (hub: ResticHub): string[] =>
  readdirSync(join(hub.repository, 'locks')).filter((name) => /^[0-9a-f]{64}$/.test(name));
const namesIn = async (hub: ResticHub): Promise<string[]> => (await hub.list()).map(({ name }) => name);

test('old backups are removed as BACKUP_RESTIC_KEEP says, after a verified one, and those of another hub stay', async (t) => {
  const hub = resticHub(t);
  const now = Date.now();
  const first = await hub.verified(now - 3 * DAY);
  await hub.send(first);
  const [{ hub: id } = { hub: '' }] = await hub.list();
  const older = olderSnapshots(hub, id, now, [1, 2, 4]);
  const others = olderSnapshots(hub, '0'.repeat(16), now, [5, 6]);
  const settings = { BACKUP_RESTIC_KEEP: 'daily=2' };

  const unverified = (await hub.backup({ clock: () => now })).name;
  const kept = await hub.send(unverified, settings);
  assert.equal(kept.status, 0, kept.stderr);
  assert.deepEqual(await namesIn(hub), [...older, first, ...others, unverified].sort());

  const name = await hub.verified(now + 1_000);
  const { status, stdout, stderr } = await hub.send(name, settings);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /removed old backups: 4\n/);
  assert.deepEqual(await namesIn(hub), [...others, older[0], name].sort());
  assert.deepEqual(locksOf(hub), []);
});

test('nothing is removed while a backup in the repository is newer than the one that was made: the clock may be wrong', async (t) => {
  const hub = resticHub(t);
  const now = Date.now();
  await hub.send(await hub.verified(now));
  const [{ hub: id } = { hub: '' }] = await hub.list();
  olderSnapshots(hub, id, now, [3, 2, -400]);

  const { status, stderr } = await hub.send(await hub.verified(now + 60_000), { BACKUP_RESTIC_KEEP: 'last=1' });

  assert.equal(status, 1);
  assert.match(stderr, /nothing was removed from the repository: \d+-\d+ is newer than this backup: the clock may be wrong/);
  assert.equal((await hub.list()).length, 5);
});

test('one that was found damaged is not sent, and the newest verified one is never removed', async (t) => {
  const hub = resticHub(t);
  const now = Date.now();
  const verified = await hub.verified(now - DAY);
  await hub.send(verified);
  const name = await hub.verified(now);
  appendFileSync(join(hub.dataDir, 'backups', name, 'uploads.tar.gz'), 'x');
  await hub.run('verify-backup.sh', [join(hub.dataDir, 'backups', name)]);

  const { status, stderr } = await hub.send(name, { BACKUP_RESTIC_KEEP: 'last=1' });

  assert.equal(status, 1);
  assert.match(stderr, /was found damaged: it is not sent/);
  assert.deepEqual(await namesIn(hub), [verified]);
});

test('a restic that is told to stop removes its lock, and the next run has nothing to clear', async (t) => {
  const hub = resticHub(t);
  hub.upload(randomBytes(8_000_000));
  const name = await hub.verified();
  hub.replace('restic', 'case $1 in backup) exec REAL "$@" --limit-upload 500 ;; *) exec REAL "$@" ;; esac');
  const child = spawn('sh', [join(PROJECT_ROOT, 'scripts/off-site.sh'), 'send', join(hub.dataDir, 'backups', name)],
    { env: hub.env, stdio: 'ignore' });
  await waitUntil('uploads on their way', () => packsOf(hub).length > 0);
  assert.equal(locksOf(hub).length, 1);

  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('close', resolve));

  assert.deepEqual(locksOf(hub), []);
  assert.deepEqual(hub.leftovers(), []);
  hub.unreplace('restic');
  const { status, stderr } = await hub.send(name);
  assert.deepEqual([status, stderr.replace(/^off-site: note: .*\n/, '')], [0, '']);
});

test('a listed snapshot counts as sent even if restic cannot plan what to remove, and the run says so', async (t) => {
  const hub = resticHub(t);
  const name = await hub.verified();
  hub.replace('restic', `case $1 in forget) echo 'Fatal: of the test' >&2; exit 1 ;; *) exec REAL "$@" ;; esac`);

  const { status, stdout, stderr } = await hub.send(name);

  assert.equal(status, 1);
  assert.match(stderr, /restic could not plan which backups to remove: Fatal: of the test/);
  assert.match(stdout, /: done, listed back and compared\n/);
  assert.deepEqual((await hub.list()).map((one) => one.name), [name]);
  assert.deepEqual(hub.leftovers(), []);
});

test('what happens to be in the environment stops no process and touches no folder', async (t) => {
  const hub = resticHub(t);
  const precious = join(hub.folder, 'precious');
  mkdirSync(precious);
  const other = spawn('sleep', ['600'], { stdio: 'ignore' });
  t.after(() => other.kill());
  const pid = String(other.pid);
  const env = { fetched: precious, scratch: precious, desk: precious, beside: precious, running: pid, aside: pid };

  const acts = [['restic-backups.sh', 'list'], ['restore.sh', '--list'], ['off-site.sh', 'check'], ['off-site.sh', 'missed']];
  for (const [script = '', ...args] of acts) {
    const { status, stderr } = await hub.run(script, args, env);
    assert.equal(status, 0, stderr);
  }

  assert.ok(isRunning(Number(pid)));
  assert.deepEqual(readdirSync(precious), []);
});

test('a run that is told to stop twice records it all the same and lets go of its lock; what had arrived is not unsent', async (t) => {
  const hub = resticHub(t);
  const name = await hub.verified();
  const begun = join(hub.folder, 'begun');
  const note = (): { last: { ok: boolean; name: string | null; unsent: string | null; problem: string } } =>
    JSON.parse(readFileSync(join(hub.dataDir, 'run/last-offsite-restic.json'), 'utf8'));
  for (const [act, arrived, unsent] of [['ls', null, name], ['check', name, null]] as const) {
    rmSync(begun, { force: true });
    hub.replace('restic', `case $1 in ${act}) touch '${begun}'; trap 'kill $!; sleep 1; exit 1' INT; sleep 60 & wait ;;
      *) exec REAL "$@" ;; esac`);
    const args = [join(PROJECT_ROOT, 'scripts/off-site.sh'), 'send', join(hub.dataDir, 'backups', name)];
    const child = spawn('sh', args, { env: hub.env, stdio: ['ignore', 'ignore', 'pipe'] });
    const closed = new Promise((resolve) => child.once('close', resolve));
    const isOver = (): boolean => child.exitCode !== null;
    let said = '';
    child.stderr.on('data', (text) => (said += String(text)));
    await waitUntil(act, () => existsSync(begun) || isOver());
    assert.ok(!isOver(), said);
    for (let times = 0; times < 2; times++) {
      child.kill('SIGTERM');
      await sleep(200);
    }
    await closed;

    const { last } = note();
    assert.deepEqual([last.ok, last.name, last.unsent], [false, arrived, unsent], act);
    assert.match(said, /the copy was stopped before it was complete\n/);
    assert.deepEqual(hub.leftovers(), []);
    hub.unreplace('restic');
    if (act === 'check') assert.equal((await hub.send(name)).status, 0);
  }
});

test('the lock of a run that was killed is removed, and that is said', async (t) => {
  const hub = resticHub(t);
  const name = await hub.verified();
  // So slow that it holds its lock until it is seen.
  hub.replace('restic', 'case $1 in check) REAL "$@" --limit-download 1 & until ls "$RESTIC_REPOSITORY/locks" | grep -qxE "[0-9a-f]{64}"; do ' +
    'sleep 0.05; done; kill -9 $!; kill -9 $$ ;; *) exec REAL "$@" ;; esac');
  assert.equal((await hub.send(name)).status, 1);
  hub.unreplace('restic');
  assert.equal(locksOf(hub).length, 1);
  // The test's stand-in started restic as its child, so the process of the lock is not the recorded one.
  const pid = /"pid": ?(\d+)/.exec(hub.restic('cat', 'lock', locksOf(hub)[0] ?? '', '--no-lock'))?.[1] ?? '';
  appendFileSync(join(hub.dataDir, 'run/restic.pids'), `${hostname()} ${pid}\n`);

  const { status, stderr } = await hub.send(name);

  assert.equal(status, 0, stderr);
  assert.match(stderr, new RegExp(`removed a lock that nobody held, of process ${pid} on ${hostname()}, \\d+ s old\n`));
  assert.deepEqual(locksOf(hub), []);
});

test('a lock of another is waited for and never removed, whether its process is seen here or not', async (t) => {
  const hub = resticHub(t);
  hub.upload(randomBytes(200_000));
  const name = await hub.verified();
  await hub.send(name);
  hub.replace('sleep', 'exit 0');
  // A restic that holds an exclusive lock until it is told to go on.
  const other = spawn('restic', ['-r', hub.repository, '--password-file', hub.password, 'check', '--read-data', '--limit-download', '1'],
    { env: { ...hub.env, RESTIC_CACHE_DIR: join(hub.folder, 'another cache') }, stdio: 'ignore' });
  t.after(() => other.kill('SIGKILL'));
  await waitUntil('a lock', () => locksOf(hub).length > 0);
  other.kill('SIGSTOP');
  const next = await hub.verified(Date.now() + 5_000);

  const held = await hub.send(next);

  assert.equal(held.status, 1);
  assert.match(held.stderr, new RegExp(`already locked.* by PID ${other.pid} on ${hostname()}`));
  assert.equal(locksOf(hub).length, 1, held.stderr);

  other.kill('SIGKILL');
  await waitUntil('its end', () => !isRunning(other.pid ?? 0));
  const unseen = await hub.send(next);
  assert.equal(unseen.status, 1);
  assert.match(unseen.stderr, /locked by process \d+ on .*, which does not run here, perhaps in a container/);
  assert.equal(locksOf(hub).length, 1);

  execFileSync('restic', ['-q', '-r', hub.repository, '--password-file', hub.password, 'unlock'], { env: hub.env });
  assert.equal((await hub.send(next)).status, 0);
});
