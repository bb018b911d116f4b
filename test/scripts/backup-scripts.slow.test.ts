// Protects backup.sh and verify-backup.sh: exit codes, signals, settings, and who owns what they make.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  chmodSync, chownSync, copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync,
  symlinkSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { backupHub, type BackupHub } from '../support/backup-hub.ts';
import { PROJECT_ROOT, runProgram, type Outcome } from '../support/run-program.ts';
import { temporaryFolder, temporaryProject, writeFiles } from '../support/temporary-project.ts';
import { NOBODY, requireAnotherUser } from '../support/another-user.ts';
import { requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const BARE = { PATH: '/usr/bin:/bin', HUB_NODE: process.execPath };
const SCRIPTS = join(PROJECT_ROOT, 'scripts');
const LAST_LINE = /^result=verified off-site=none name=(\d{8}-\d{6}) bytes=\d+ seconds=[\d.]+ removed=0 dir=(.+)\n$/;

test('case 102: backup.sh works with an empty environment, from any folder, and prints one line for programs', async (t) => {
  const hub = backupHub(t);
  hub.upload();

  const env = { ...BARE, DATA_DIR: hub.dataDir, LC_ALL: 'POSIX' };
  const { status, stdout, stderr } = await runProgram(join(SCRIPTS, 'backup.sh'), [], { env, cwd: '/' });

  assert.equal(status, 0, stderr);
  const [, name = '', dir = ''] = LAST_LINE.exec(stdout) ?? assert.fail(stdout);
  assert.equal(dir, join(hub.dataDir, 'backups', name));
  assert.deepEqual(hub.backups(), [name]);
  const steps = stderr.split('\n').filter((line) => line.startsWith('backup: '));
  assert.deepEqual(steps, ['backup: copying the database', 'backup: archiving 1 attachment', 'backup: checking the hash of the database',
    'backup: checking the content of the database', 'backup: checking the attachments']);

  const verified = await runProgram(join(SCRIPTS, 'verify-backup.sh'), [name], { env, cwd: join(dir, '..') });
  assert.deepEqual([verified.status, verified.stderr.replace(/.*--allow-fs-write[^]*created\)\n/, '')], [0, '']);
  assert.match(verified.stdout, /VERIFIED: this backup can be restored\.\n$/);
});

test('on a terminal one line is written over and over: the step, how much is archived, and then the result', async (t) => {
  if (!requireTool(t, 'script')) return;
  const hub = backupHub(t);
  hub.upload('x'.repeat(2_048));
  const env = { ...BARE, DATA_DIR: hub.dataDir, BACKUP: join(SCRIPTS, 'backup.sh') };

  const { status, stdout } = await runProgram('script', ['-qec', 'sh "$BACKUP"', '/dev/null'], { env, cwd: '/' });

  assert.equal(status, 0, stdout);
  const drawn = stdout.split('\r\x1b[K').slice(1);
  assert.deepEqual(drawn.slice(0, 3), ['backup: copying the database …', 'backup: archiving 1 attachment …',
    'backup: archiving 1 attachment [####################] 100 %, 2.0 KiB of 2.0 KiB']);
  const checking = /^backup: checking the [a-z ]+ (?:…|\[#+\] 100 %, [\w. ]+)$/;
  assert.deepEqual(drawn.slice(3, -1).filter((line) => !checking.test(line)), []);
  assert.match(drawn.at(-1) ?? '', /^result=verified [^\r\n]+\r\n$/);
});

test('case 7: backup.sh on a DATA_DIR without a hub fails and makes nothing there', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'data'));
  const env = { ...BARE, DATA_DIR: join(folder, 'data') };
  const { status, stdout, stderr } = await runProgram(join(SCRIPTS, 'backup.sh'), [], { env, cwd: '/' });
  assert.deepEqual([status, stdout], [1, 'result=failed off-site=none\n']);
  assert.match(stderr, /backup: there is no hub database in /);
  assert.deepEqual(readdirSync(join(folder, 'data')), []);
});

/** backup.sh with parts whose behaviour the test writes; `done.log` in the folder says what they did. */
function stagedScript(
  t: TestContext, parts: { backup: string; check?: string; send?: string; missed?: string; offsite?: string; remote?: string },
) {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'scripts'));
  mkdirSync(join(folder, 'data/run'), { recursive: true });
  for (const name of ['backup.sh', 'as-owner.sh', 'common.sh']) copyFileSync(join(SCRIPTS, name), join(folder, 'scripts', name));
  writeFiles(folder, {
    'scripts/hubctl': `cd "${folder}"; echo "hubctl $1" >>done.log
      case $1 in config) printf '%s\\n' "${folder}/data" "\${LIMIT:-60}" "${parts.offsite ?? '/mnt/far'}" "${parts.remote ?? ''}" ;; backup) ${parts.backup} ;; esac\n`,
    'scripts/off-site.sh': `cd "${folder}"; echo "off-site $*" >>done.log
      case $1 in check) ${parts.check ?? ':'} ;; send) ${parts.send ?? ':'} ;; missed) ${parts.missed ?? ':'} ;; esac\n`,
  });
  const script = join(folder, 'scripts/backup.sh');
  const done = (): string[] => (existsSync(join(folder, 'done.log')) ? readFileSync(join(folder, 'done.log'), 'utf8').trim().split('\n') : []);
  return { folder, script, done, run: (env = {}) => runProgram('sh', [script], { env: { ...BARE, ...env } }) };
}

const GOOD = "echo 'result=verified name=20300115-031500 bytes=5 dir=/a b/20300115-031500'";
const FIELDS = 'name=20300115-031500 bytes=5 dir=/a b/20300115-031500';

test('off-site is looked at before the backup, and gets it afterwards', async (t) => {
  const { run, done } = stagedScript(t, { backup: GOOD });
  assert.deepEqual(await run(), { status: 0, stdout: `result=verified off-site=done ${FIELDS}\n`, stderr: '' });
  assert.deepEqual(done(), ['hubctl config', 'off-site check', 'hubctl backup', 'off-site send /a b/20300115-031500 dir']);
});

test('case 88, 95, 98: what is missing for off-site is known before, the backup is made all the same, and the end is not 0', async (t) => {
  const { run } = stagedScript(t, {
    backup: GOOD, check: 'echo age is missing >&2; exit 1', send: 'echo age is still missing >&2; exit 1',
  });
  const { status, stdout, stderr } = await run();
  assert.deepEqual([status, stdout], [1, `result=verified off-site=failed ${FIELDS}\n`]);
  assert.match(stderr, /^age is missing\nage is still missing\nbackup: the backup is kept on this machine, but the off-site copy FAILED: dir\n$/);
});

test('a destination that is broken at first and well when its turn comes gets its copy, and nothing failed', async (t) => {
  const { run } = stagedScript(t, { backup: GOOD, check: 'echo not mounted yet >&2; exit 1' });
  assert.deepEqual(await run(), { status: 0, stdout: `result=verified off-site=done ${FIELDS}\n`, stderr: 'not mounted yet\n' });
});

test('each destination has its turn and its time: one that fails or hangs is named, and keeps no other from its copy', async (t) => {
  for (const [send, broken] of [
    ['[ "$3" != dir ] || exit 1', 'dir'], ['[ "$3" != rclone ] || exit 1', 'rclone'],
    ['[ "$3" != dir ] || exec sleep 60', 'dir'], ['exit 1', 'dir rclone'],
  ] as const) {
    const { run, done } = stagedScript(t, { backup: GOOD, remote: 'box:hub', send: `${send}; echo "sent $3" >>done.log` });
    const { status, stdout, stderr } = await run({ LIMIT: '2' });
    assert.deepEqual([status, stdout], [1, `result=verified off-site=failed ${FIELDS}\n`], send);
    assert.ok(stderr.endsWith(`but the off-site copy FAILED: ${broken}\n`), stderr);
    const sent = ['dir', 'rclone'].filter((name) => !broken.includes(name)).map((name) => `sent ${name}`);
    assert.deepEqual(done().filter((line) => line.startsWith('sent')), sent);
  }
});

test('a copy that had to be killed is recorded as failed, since it could not say so itself', async (t) => {
  const { run, done } = stagedScript(t, { backup: GOOD, send: 'kill -9 $$' });
  const { status, stderr } = await run();
  assert.equal(status, 1);
  assert.match(stderr, /backup: the step was killed\n/);
  assert.deepEqual(done().at(-1), 'hubctl offsite-note');
});

test('a machine whose flock is missing or does not work is not called busy', async (t) => {
  const { run, folder } = stagedScript(t, { backup: GOOD });
  writeFiles(folder, { flock: '#!/bin/sh\nexit 71\n' }, 0o755);
  const { status, stdout, stderr } = await run({ PATH: `${folder}:/usr/bin:/bin` });
  assert.deepEqual([status, stdout], [1, 'result=failed off-site=none\n']);
  assert.match(stderr, /flock \(util-linux\) is missing or cannot lock/);
  assert.doesNotMatch(stderr, /BUSY/);
});

test('case 32: a degraded backup is sent as well, so that the rest is safe, and the end is 1', async (t) => {
  const { run, done } = stagedScript(t, { backup: `${GOOD.replace('verified', 'degraded')}; exit 1` });
  const { status, stdout } = await run();
  assert.deepEqual([status, stdout], [1, `result=degraded off-site=done ${FIELDS}\n`]);
  assert.ok(done().some((line) => line.startsWith('off-site send')));
});

test('case 107: the exit code of the backup goes through; nothing is sent when there is none', async (t) => {
  for (const [end, status, line] of [
    ['echo result=failed; exit 1', 1, 'result=failed off-site=none\n'], ['exit 2', 2, 'result=failed off-site=none\n'],
    ['echo result=busy; exit 75', 75, 'result=busy off-site=none\n'], ['exit 134', 1, 'result=failed off-site=none\n'],
  ] as const) {
    const { run, done } = stagedScript(t, { backup: end });
    const outcome = await run();
    assert.deepEqual([outcome.status, outcome.stdout], [status, line]);
    assert.ok(!done().some((one) => one.startsWith('off-site send')));
  }
});

test('where no backup could be made, each destination still gets what it had missed before, and the end is 1', async (t) => {
  for (const [missed, offSite, said] of [
    [':', 'none', ''], ['echo sent', 'done', 'sent\nsent\n'],
    ['[ "$2" != dir ] || exit 1; echo sent', 'failed', 'sent\nbackup: no backup was made, and the off-site copy FAILED: dir\n'],
  ] as const) {
    const { run, done } = stagedScript(t, { backup: 'echo result=failed; exit 1', remote: 'box:hub', missed });
    assert.deepEqual(await run(), { status: 1, stdout: `result=failed off-site=${offSite}\n`, stderr: said });
    assert.deepEqual(done().slice(-2), ['off-site missed dir', 'off-site missed rclone']);
  }
});

test('a backup that takes too long is ended and fails', async (t) => {
  const { run } = stagedScript(t, { backup: 'exec sleep 60' });
  const { status, stdout, stderr } = await run({ LIMIT: '1' });
  assert.deepEqual([status, stdout], [1, 'result=failed off-site=none\n']);
  assert.match(stderr, /backup: stopped: time limit of 1 s exceeded\n$/);
});

test('case 103: what .env says of the time that backup.sh may take is in force', async (t) => {
  const hub = backupHub(t);
  const root = temporaryProject(t, ['scripts', 'package.json', 'src', 'node_modules/better-sqlite3']);
  writeFiles(root, {
    '.env': `BACKUP_TIMEOUT_SECONDS=1\nDATA_DIR="${hub.dataDir}"\n`, 'scripts/off-site.sh': 'exec sleep 60\n',
  });
  const { status, stderr } = await runProgram(join(root, 'scripts/backup.sh'), [], { env: BARE });
  assert.equal(status, 1);
  assert.match(stderr, /backup: stopped: time limit of 1 s exceeded\n/);
});

/** Whether all children of a process wait for something (Linux). */
function childrenSleep(pid: number): boolean {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return children.length > 0 && children.every((child) => / S /.test(readFileSync(`/proc/${child}/stat`, 'utf8')));
}

test('case 17: a signal reaches the backup, and backup.sh ends with 128 and its number', async (t) => {
  for (const [signal, status] of [['SIGTERM', 143], ['SIGINT', 130], ['SIGHUP', 129]] as const) {
    const { script, done, folder } = stagedScript(t, {
      backup: `trap 'echo told >>done.log; exit 143' TERM; echo ready >>done.log; sleep 30 & wait $! || :`,
    });
    const child = spawn('sh', [script], { env: BARE, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stdout.on('data', (text) => (said += text));
    const ended = new Promise((resolve) => child.once('exit', resolve));
    // A timeout that has started its program but does not know its number yet ends alone.
    await waitUntil('the backup listens', () => done().includes('ready') && childrenSleep(child.pid ?? 0));
    child.kill(signal);
    assert.equal(await ended, status, signal);
    assert.ok(done().includes('told'));
    await waitUntil('the last line', () => said === 'result=failed off-site=none\n');
    assert.deepEqual(readdirSync(join(folder, 'data/run')), ['backup.flock']);
  }
});

test('case 18, 21, 22: one at a time; what a killed backup.sh had started does not hold the lock', async (t) => {
  const { script, done, run, folder } = stagedScript(t, { backup: `[ -e again ] || sleep 30; ${GOOD}` });
  const child = spawn('sh', [script], { env: BARE, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await waitUntil('the first backup runs', () => done().includes('hubctl backup'));

  const second = await run();
  assert.deepEqual([second.status, second.stdout], [75, 'result=busy off-site=none\n']);
  assert.match(second.stderr, /BUSY/);

  child.kill('SIGKILL');
  await ended;
  writeFileSync(join(folder, 'again'), '');
  assert.equal((await run()).status, 0);
});

test('case 106: a new backup.sh over the old one does not change a run that has begun', async (t) => {
  const { script, run, folder } = stagedScript(t, {
    backup: `{ echo '#'; yes 'echo the new text; exit 9' | head -n 500; } >scripts/backup.sh; ${GOOD}`,
  });
  assert.deepEqual(await run(), { status: 0, stdout: `result=verified off-site=done ${FIELDS}\n`, stderr: '' });
  assert.match(readFileSync(script, 'utf8'), /the new text/);
  assert.ok(folder);
});

test('case 23: an upload that the hub may not read makes a backup incomplete; doctor names it, as root too, and how to mend it', async (t) => {
  if (!requireAnotherUser(t)) return;
  const hub = backupHub(t);
  const { sha256 } = hub.upload();
  hub.db.pragma('wal_checkpoint(TRUNCATE)');
  hub.db.close();
  for (const place of ['', '..', '../..', 'hub.db', 'run', 'backups', 'uploads']) {
    chownSync(join(hub.dataDir, place), NOBODY, NOBODY);
  }
  chmodSync(join(hub.dataDir, '../..'), 0o755);
  chmodSync(join(hub.dataDir, 'uploads', sha256.slice(0, 2)), 0o755);
  const runAsNobody = async () => {
    const child = spawn(join(SCRIPTS, 'backup.sh'), [], {
      env: { ...BARE, DATA_DIR: hub.dataDir }, cwd: join(hub.dataDir, '..'), uid: NOBODY, gid: NOBODY,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (text) => (said += text));
    return { status: await new Promise((resolve) => child.once('close', resolve)), said };
  };

  const unread = await runAsNobody();
  assert.equal(unread.status, 1);
  assert.match(unread.said, new RegExp(`DEGRADED[^]*uploads/../${sha256} is unreadable`));
  const [incomplete = ''] = hub.backups();
  assert.deepEqual(readdirSync(join(hub.dataDir, 'backups', incomplete)).sort(), ['SHA256SUMS', 'hub.db', 'uploads.tar.gz']);
  const sums = await runProgram('/usr/bin/sha256sum', ['-c', '--strict', '--quiet', 'SHA256SUMS'], { cwd: join(hub.dataDir, 'backups', incomplete) });
  assert.equal(sums.status, 0);
  assert.match((await hub.hubctl('verify', join(hub.dataDir, 'backups', incomplete))).stdout, new RegExp(`${sha256} is unreadable`));

  const doctor = () => runProgram(join(SCRIPTS, 'hubctl'), ['doctor'], { env: { ...BARE, DATA_DIR: hub.dataDir }, cwd: '/' });
  const { stdout } = await doctor(); // as root, which may read everything
  assert.match(stdout, new RegExp(`BAD  Uploads: 1 unreadable to the hub\\n +${sha256}`));
  const [, command = ''] = /as root: (chown .*)\n/.exec(stdout) ?? [];
  assert.equal((await runProgram('/bin/sh', ['-c', command], { env: BARE })).status, 0);
  assert.match((await doctor()).stdout, /ok   Uploads: ok/);
  const complete = await runAsNobody();
  assert.equal(complete.status, 0, complete.said);

  chmodSync(join(hub.dataDir, 'hub.db'), 0);
  rmSync(join(hub.dataDir, 'hub.db-shm'), { force: true });
  rmSync(join(hub.dataDir, 'hub.db-wal'), { force: true });
  const unopened = await runAsNobody();
  assert.equal(unopened.status, 1);
  assert.match(unopened.said, /FAILED: the hub's own database is damaged or cannot be read: unable to open/);
});

/** Gives a hub that nobody runs to the account. */
function giveAway({ db, dataDir }: BackupHub, uid: number): void {
  db.close();
  for (const name of ['', ...readdirSync(dataDir, { recursive: true })]) chownSync(join(dataDir, String(name)), uid, uid);
  for (const above of ['..', '../..']) chmodSync(join(dataDir, above), 0o755);
}

test("root's backup of another account's hub is that account's own, also once it was verified, and its next one goes well", async (t) => {
  if (!requireAnotherUser(t)) return;
  const hub = backupHub(t);
  hub.upload();
  giveAway(hub, NOBODY);
  const env = { ...BARE, DATA_DIR: hub.dataDir };

  const far = join(hub.dataDir, '../far');
  mkdirSync(far);
  chownSync(far, NOBODY, NOBODY);
  for (const script of ['backup.sh', 'nightly-backup.sh']) {
    const { status, stderr } = await runProgram(join(SCRIPTS, script), [], { env, cwd: '/root' });
    assert.equal(status, 0, stderr);
  }
  const [made = ''] = readdirSync(join(hub.dataDir, 'backups')).filter((name) => /^\d{8}-\d{6}$/.test(name));
  const verified = await runProgram(join(SCRIPTS, 'verify-backup.sh'), [join(hub.dataDir, 'backups', made)], { env });
  assert.equal(verified.status, 0, verified.stderr);
  const send = ['send', join(hub.dataDir, 'backups', made)];
  const sent = await runProgram(join(SCRIPTS, 'off-site.sh'), send, { env: { ...env, BACKUP_OFFSITE_DIR: far }, cwd: '/root' });
  assert.equal(sent.status, 0, sent.stderr);
  assert.equal(statSync(join(far, made)).uid, NOBODY);

  const all = readdirSync(hub.dataDir, { recursive: true }).map((name) => join(hub.dataDir, String(name)));
  assert.deepEqual(all.filter((path) => statSync(path).uid !== NOBODY || statSync(path).gid !== NOBODY), []);
  assert.deepEqual(['backup.flock', 'backup-lock.db', 'last-backup.json', 'last-verification.json']
    .filter((name) => !existsSync(join(hub.dataDir, 'run', name))), []);
  const own = await runProgram('setpriv', [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--',
    join(SCRIPTS, 'nightly-backup.sh')], { env, cwd: '/' });
  assert.equal(own.status, 0, own.stderr);
});

/** What the hub's account can make of its own folder, so that root would take the data for root's. */
const LURES: [what: string, refusal: RegExp, prepare: (dataDir: string, ofRoot: string) => void][] = [
  ['a file instead of the database', /the hub's own database is damaged or cannot be read/,
    (dataDir) => replaceByLink(join(dataDir, 'hub.db'), '/etc/passwd')],
  ['a folder instead of run', /backup\.flock.*: Permission denied/, (dataDir, ofRoot) => {
    rmSync(join(dataDir, 'hub.db'));
    replaceByLink(join(dataDir, 'run'), ofRoot);
  }],
];

function replaceByLink(path: string, target: string): void {
  rmSync(path, { recursive: true });
  symlinkSync(target, path);
}

for (const [what, refusal, prepare] of LURES) {
  test(`a link to ${what} of root's does not keep root from acting as the account that the data belongs to`, async (t) => {
    if (!requireAnotherUser(t)) return;
    const hub = backupHub(t);
    giveAway(hub, NOBODY);
    const ofRoot = join(hub.dataDir, "../root's");
    mkdirSync(ofRoot);
    prepare(hub.dataDir, ofRoot);
    const env = { ...BARE, DATA_DIR: join(hub.dataDir, '../by a link'), CONFIRM_RESTORE: 'YES', PORT: '1' };
    symlinkSync(hub.dataDir, env.DATA_DIR);

    const backup = await runProgram(join(SCRIPTS, 'backup.sh'), [], { env, cwd: '/' });
    assert.deepEqual([backup.status, backup.stdout], [1, 'result=failed off-site=none\n']);
    assert.match(backup.stderr, refusal);
    const restore = await runProgram(join(SCRIPTS, 'restore.sh'), [join(hub.dataDir, 'backups')], { env, cwd: '/' });
    assert.equal(restore.status, 1);

    const all = readdirSync(hub.dataDir, { recursive: true }).map((name) => join(hub.dataDir, String(name)));
    assert.deepEqual(all.filter((path) => lstatSync(path).uid !== NOBODY && !lstatSync(path).isSymbolicLink()), []);
    assert.deepEqual(readdirSync(ofRoot), []);
  });
}

test("root backs up a hub that root runs, even in another account's folder", async (t) => {
  if (!requireAnotherUser(t)) return;
  const hub = backupHub(t);
  hub.upload();
  hub.db.close();
  chownSync(hub.dataDir, NOBODY, NOBODY);
  const { status, stderr } = await runProgram(join(SCRIPTS, 'backup.sh'), [], { env: { ...BARE, DATA_DIR: hub.dataDir } });
  assert.equal(status, 0, stderr);
});

test('an account to which the data do not belong is told whose they are, by each script, before anything is made', async (t) => {
  if (!requireAnotherUser(t)) return;
  const hub = backupHub(t);
  for (const folder of ['../..', '..', '.']) chmodSync(join(hub.dataDir, folder), 0o755);
  const as = (script: string, ...args: string[]): Promise<Outcome> => runProgram('setpriv',
    [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', join(SCRIPTS, script), ...args],
    { env: { ...BARE, DATA_DIR: hub.dataDir, BACKUP_OFFSITE_DIR: '/mnt' }, cwd: '/' });
  for (const [script = '', ...args] of [['backup.sh'], ['off-site.sh', 'check'], ['restore.sh', '--list'], ['hubctl', 'recovery-kit']]) {
    const { status, stdout, stderr } = await as(script, ...args);
    assert.deepEqual([status, stdout], [1, script === 'backup.sh' ? 'result=failed off-site=none\n' : ''], script);
    assert.match(stderr, /\/data belongs to root: run this as that account or as root\n$/, script);
  }
});
