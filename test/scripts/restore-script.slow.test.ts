// Protects restore.sh: consent, paths, refusals, and that nothing runs on half a restore.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { test, type TestContext } from 'node:test';
import { backupLock, takeFileLock } from '../../src/features/hub/data-locks.ts';
import { isRestoreOpen, isRestoreUnderWay } from '../../src/features/backups/restore-state.ts';
import { copyOf } from '../support/backup-hub.ts';
import { startProgram } from '../support/child-program.ts';
import { temporaryDataDir } from '../support/hub-process.ts';
import { freePort } from '../support/ports.ts';
import { keptIn, leftovers, restorableHub, stateOf, worldIn } from '../support/restore-hub.ts';
import { isHealthy, RESTORE, restoreEnvironment, runRestore } from '../support/restore-script.ts';
import { isRunning, NOT_COMPILED, PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { temporaryProject, writeFiles } from '../support/temporary-project.ts';
import { waitUntil } from '../support/wait-until.ts';

test('case 57: without exactly CONFIRM_RESTORE=YES nothing is touched', async (t) => {
  const hub = await restorableHub(t);
  const before = stateOf(hub.dataDir);
  for (const said of [undefined, '', 'yes', 'Yes', 'YES ', ' YES', '1', 'true', 'YESYES']) {
    const env = { ...restoreEnvironment(hub.dataDir, 1), ...(said === undefined ? {} : { CONFIRM_RESTORE: said }) };
    if (said === undefined) delete env['CONFIRM_RESTORE'];
    const { status, stdout, stderr } = await runProgram(RESTORE, [hub.backup], { env, cwd: '/' });
    assert.deepEqual([status, stdout], [2, ''], said);
    assert.match(stderr, /set CONFIRM_RESTORE=YES to confirm/);
    const direct = await hub.hubctlWith(said === undefined ? {} : { CONFIRM_RESTORE: said }, 'restore', 'begin', hub.backup);
    assert.equal(direct.status, 2, said);
  }
  assert.deepEqual(stateOf(hub.dataDir), before);
});

/** 0 would mean to `timeout` that there is no limit. */
const WRONG_SECONDS = [
  ...['', '0', '1.5', '1m', '-1', '86401'].map((seconds) => ['RESTORE_HEALTH_SECONDS', seconds] as const),
  ...['', '1.5', '1m', '-1', '86401'].map((seconds) => ['RESTORE_STOP_SECONDS', seconds] as const),
];

test('wrong usage of restore.sh ends with 2 and the usage, --help with 0', async (t) => {
  const hub = await restorableHub(t);
  for (const args of [[], [''], ['--nonsense'], ['-x'], ['a', 'b'], ['--recover', 'a'], ['--help', 'a'],
    ['--list', 'a'], ['--list', '--recover'], ['--restic'], ['--restic', 'a', 'b'], ['--restic', 'a', '--identity', 'k'], ['--identity', 'k'], ['--identity', 'k-1'], ['a', '--identity']]) {
    const { status, stdout, stderr } = await runRestore(hub.dataDir, 1, args);
    assert.deepEqual([status, stdout], [2, ''], args.join());
    assert.match(stderr, /^Usage: CONFIRM_RESTORE=YES restore\.sh BACKUP \[--identity KEY\]\n/);
  }
  const before = stateOf(hub.dataDir);
  for (const [name, seconds] of WRONG_SECONDS) {
    const { status, stdout, stderr } = await runRestore(hub.dataDir, 1, [hub.backup], { [name]: seconds });
    assert.deepEqual([status, stdout], [2, ''], `${name}=${seconds}`);
    assert.match(stderr, new RegExp(`${name} must be a whole number from [01] to 86400\n`));
  }
  assert.deepEqual(stateOf(hub.dataDir), before);
  assert.equal(worldIn(hub.dataDir, hub), 'old');
  const { status, stdout } = await runRestore(hub.dataDir, 1, ['--help']);
  assert.equal(status, 0);
  assert.match(stdout, /^Usage: CONFIRM_RESTORE=YES restore\.sh BACKUP \[--identity KEY\]\n {7}CONFIRM_RESTORE=YES restore\.sh --restic NAME\n {7}restore\.sh --list\n {7}restore\.sh --recover\n(?:[^#\n]+\n)+$/);
});

test('case 103: how long to wait may stand in .env', async (t) => {
  const hub = await restorableHub(t);
  const root = temporaryProject(t, ['scripts', 'package.json', 'src', 'migrations', 'node_modules/better-sqlite3']);
  const log = join(root, 'waits');
  writeFiles(root, {
    '.env': 'RESTORE_STOP_SECONDS=2\nRESTORE_HEALTH_SECONDS=7\n',
    'scripts/await-health.sh': `echo "health $*" >>'${log}'; exit 1\n`,
  });
  writeFiles(root, { 'bin/sleep': `#!/bin/sh\necho "sleep $*" >>'${log}'\n` }, 0o755);
  const { RESTORE_STOP_SECONDS: _stop, RESTORE_HEALTH_SECONDS: _health, ...env } = restoreEnvironment(hub.dataDir, 1, {
    PATH: `${join(root, 'bin')}:/usr/bin:/bin`, HUB_STOP_COMMAND: ':', HUB_START_COMMAND: ':',
  });
  startProgram(t, 'writing-process.ts', join(hub.dataDir, 'hub.db'));
  await waitUntil('it has the database open', () => existsSync(join(hub.dataDir, 'hub.db-wal')));

  const { status, stderr } = await runProgram(join(root, 'scripts/restore.sh'), [hub.backup], { env, cwd: '/' });

  assert.equal(status, 1, stderr);
  assert.deepEqual(readFileSync(log, 'utf8').split('\n'), ['sleep 1', 'sleep 1', 'health 7 1', '']);
});

test('a hub that nobody runs is restored, looked at, and left stopped; then a backup can be made', async (t) => {
  const hub = await restorableHub(t);
  const port = await freePort();
  const { status, stdout, stderr } = await runRestore(hub.dataDir, port, [hub.backup]);

  assert.equal(status, 0, stderr);
  const id = basename(keptIn(hub.dataDir)).slice('pre-restore-'.length);
  assert.equal(stdout.replace(/made .*Z/, 'made …'), `restoring ${hub.name}, made …
  1 account, 1 source, 1 post, 1 attachment (13 bytes)
  0 sessions ended; 0 jobs discarded, which may already have run
  staged in .restore-${id}
previous data moved to ${hub.dataDir}/pre-restore-${id}; restored data in place
RESTORED ${hub.backup}
the previous data is in ${hub.dataDir}/pre-restore-${id}; remove that folder when you no longer need it
`);
  assert.match(stderr, /restore: the hub was not running before, so it was not started; you can start it now\n$/);
  assert.equal(worldIn(hub.dataDir, hub), 'new');
  assert.equal(worldIn(keptIn(hub.dataDir), hub), 'old');
  assert.deepEqual(leftovers(hub.dataDir), []);
  assert.equal(await isHealthy(`http://127.0.0.1:${port}`), false);
  assert.deepEqual(await processesOf(hub.dataDir), []);

  const backup = await runProgram(join(PROJECT_ROOT, 'scripts/backup.sh'), [], { env: restoreEnvironment(hub.dataDir, port) });
  assert.equal(backup.status, 0, backup.stderr);
});

/** Command lines of processes that were given that DATA_DIR. */
async function processesOf(dataDir: string): Promise<string[]> {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      return environment.includes(`DATA_DIR=${dataDir}`) ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8')] : [];
    } catch {
      return []; // it has just ended, or is another user's
    }
  });
}

test('case 53, 76: a relative path, a trailing slash and a link lead to the backup; what is none is refused', async (t) => {
  const hub = await restorableHub(t);
  const port = await freePort();
  const from = join(hub.dataDir, 'uploads');
  symlinkSync(hub.backup, join(hub.dataDir, 'tmp/link'));
  for (const path of [relative(from, hub.backup), `${hub.backup}//`, join(hub.dataDir, 'tmp/link')]) {
    const { status, stdout, stderr } = await runRestore(hub.dataDir, port, [path], {}, from);
    assert.equal(status, 0, stderr);
    assert.ok(stdout.includes(`RESTORED ${path.endsWith('link') ? path : hub.backup}\n`), stdout);
  }
  const before = stateOf(hub.dataDir);
  for (const path of ['/', '/nowhere', join(hub.backup, 'hub.db'), dirname(hub.backup), hub.dataDir]) {
    const { status, stderr } = await runRestore(hub.dataDir, port, [path]);
    assert.equal(status, 1, path);
    assert.match(stderr, /restore: this backup cannot be restored: /, path);
  }
  assert.deepEqual(stateOf(hub.dataDir), before);
});

test('case 27, 102: spaces, quotes, %, brackets and other letters in the paths of data and backup', async (t) => {
  const hub = await restorableHub(t);
  const odd = join(hub.dataDir, '..', `d'a "t" %h [a]* \\ $HOME äöü`);
  const backup = join(hub.dataDir, '..', `b'a "c" %n [b]* ü`);
  cpSync(hub.backup, backup, { recursive: true });
  renameSync(hub.dataDir, odd);
  const { status, stdout, stderr } = await runRestore(odd, await freePort(), [backup], { LC_ALL: 'POSIX' });
  assert.equal(status, 0, stderr);
  assert.ok(stdout.includes(`RESTORED ${backup}\n`));
  assert.equal(worldIn(odd, hub), 'new');

  const holder = startProgram(t, 'writing-process.ts', join(odd, 'hub.db'));
  await waitUntil('it has the database open', () => existsSync(join(odd, 'hub.db-wal')));
  const refused = await runRestore(odd, await freePort(), [backup]);
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, new RegExp(`process ${holder.child.pid} still has the database open`));
});

test('case 58: a backup that fails its verification stops nothing', async (t) => {
  const hub = await restorableHub(t);
  const damaged = copyOf(hub.backup, 'damaged');
  const bytes = readFileSync(join(damaged, 'hub.db'));
  bytes[9_000] = (bytes[9_000] ?? 0) ^ 1;
  writeFileSync(join(damaged, 'hub.db'), bytes);
  const before = stateOf(hub.dataDir);
  const { status, stdout, stderr } = await runRestore(hub.dataDir, 1, [damaged], {
    HUB_STOP_COMMAND: `touch '${hub.dataDir}/stopped'`, HUB_START_COMMAND: `touch '${hub.dataDir}/started'`,
  });
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /this backup cannot be restored: hub\.db does not match SHA256SUMS/);
  assert.deepEqual(stateOf(hub.dataDir), before);
});

for (const [what, harm] of [
  ['has it open', () => {}],
  ['has it open although it was removed', (dataDir: string) => rmSync(join(dataDir, 'hub.db'))],
  ['has it open although it is damaged', (dataDir: string) => writeFileSync(join(dataDir, 'hub.db'), 'x'.repeat(9_000))],
] as const) {
  test(`case 60: while a process that is no part of the hub ${what}, the restore refuses, and all is as before`, async (t) => {
    const hub = await restorableHub(t);
    const holder = startProgram(t, 'writing-process.ts', join(hub.dataDir, 'hub.db'));
    await waitUntil('it writes', () => existsSync(join(hub.dataDir, 'hub.db-wal')) &&
      statSync(join(hub.dataDir, 'hub.db-wal')).size > 10_000);
    harm(hub.dataDir);

    const { status, stderr } = await runRestore(hub.dataDir, await freePort(), [hub.backup]);

    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`process ${holder.child.pid} still has the database open: stop it`));
    assert.deepEqual([leftovers(hub.dataDir), isRestoreOpen(hub.dataDir)], [[], false]);
    assert.ok(!readdirSync(hub.dataDir).some((name) => name.startsWith('pre-restore-')));
    assert.ok(isRunning(holder.child.pid ?? 0));
    await holder.end('SIGTERM');
    if (what === 'has it open') {
      assert.deepEqual((JSON.parse(holder.stdout()) as { errors: unknown[] }).errors, []);
      assert.equal(worldIn(hub.dataDir, hub), 'old');
    }
  });
}

/** Commands that note when they are called, in a file that the test reads. */
function commands(dataDir: string, stop: string, start: string) {
  const log = join(dirname(dataDir), 'calls');
  return {
    env: {
      HUB_STOP_COMMAND: `echo stop >>'${log}'; ${stop}`, HUB_START_COMMAND: `echo start >>'${log}'; ${start}`,
    },
    calls: (): string[] => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []),
  };
}

/** A command that starts web in the background and leaves its process id. */
function startingWeb(dataDir: string): string {
  const web = `'${process.execPath}' '${PROJECT_ROOT}/src/bin/launch.ts' web`;
  return `setsid ${web} </dev/null >/dev/null 2>&1 & echo $! >'${dirname(dataDir)}/web.pid'`;
}

/** As runRestore; the web that its commands started is ended with the test, whatever the outcome. */
async function runWithWeb(t: TestContext, dataDir: string, port: number, args: string[], env: Record<string, string>) {
  const outcome = await runRestore(dataDir, port, args, env);
  const path = join(dirname(dataDir), 'web.pid');
  const pid = existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0; // now: the folder goes first after the test
  t.after(() => {
    if (pid > 0 && isRunning(pid)) process.kill(pid, 'SIGKILL');
  });
  return outcome;
}

test("the operator's own commands stop and start the hub, and what they start can be stopped and holds no lock", async (t) => {
  const hub = await restorableHub(t);
  const port = await freePort();
  const start = `grep SigIgn /proc/self/status; ${startingWeb(hub.dataDir)}`;
  const { env, calls } = commands(hub.dataDir, ':', start);
  const { status, stderr } = await runWithWeb(t, hub.dataDir, port, [hub.backup], env);

  assert.equal(status, 0, stderr);
  assert.deepEqual(calls(), ['stop', 'start']);
  const ignored = BigInt(`0x${/SigIgn:\s*(\w+)/.exec(stderr)?.[1] ?? ''}`);
  assert.equal(ignored & ((1n << 0n) | (1n << 1n) | (1n << 14n)), 0n, 'HUP, INT and TERM are not ignored');
  assert.ok(await isHealthy(`http://127.0.0.1:${port}`));
  const backup = await runProgram(join(PROJECT_ROOT, 'scripts/backup.sh'), [], { env: restoreEnvironment(hub.dataDir, port) });
  assert.equal(backup.status, 0, backup.stderr);
});

test('a hub that cannot be stopped is left as it was', async (t) => {
  const hub = await restorableHub(t);
  const { env, calls } = commands(hub.dataDir, 'echo not allowed >&2; false', 'false');
  const { status, stderr } = await runRestore(hub.dataDir, await freePort(), [hub.backup], env);
  assert.equal(status, 1);
  assert.match(stderr, /not allowed\nrestore: the hub could not be stopped\n/);
  assert.deepEqual(calls(), ['stop', 'stop', 'start']);
  assert.deepEqual([worldIn(hub.dataDir, hub), leftovers(hub.dataDir)], ['old', []]);
});

test('case 61: a supervisor that starts the hub again and again brings up neither the old data nor a half restore', async (t) => {
  const hub = await restorableHub(t);
  const port = await freePort();
  const folder = dirname(hub.dataDir);
  const loop = `while :; do "$0" "$1" web & echo $! >web.pid; wait $!; echo "$?" >>ends; done`;
  const supervisor = spawn('sh', ['-c', loop, process.execPath, join(PROJECT_ROOT, 'src/bin/launch.ts')], {
    cwd: folder, env: restoreEnvironment(hub.dataDir, port), detached: true, stdio: 'ignore',
  });
  t.after(() => process.kill(-(supervisor.pid ?? 0), 'SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  await waitUntil('the hub is healthy', () => isHealthy(url));

  // It is asked to stop, and tried again at once; the restore goes on when three of those starts were in vain.
  const stop = `kill "$(cat '${folder}/web.pid')"; until [ "$(grep -c '^1$' '${folder}/ends')" -ge 3 ]; do sleep 0.1; done`;
  const { status, stderr } = await runRestore(hub.dataDir, port, [hub.backup], { HUB_STOP_COMMAND: stop, HUB_START_COMMAND: ':' });

  assert.equal(status, 0, stderr);
  assert.ok(await isHealthy(url));
  const ends = readFileSync(join(folder, 'ends'), 'utf8').split('\n');
  assert.deepEqual([ends[0], ends[1]], ['0', '1']);
  process.kill(-(supervisor.pid ?? 0), 'SIGKILL');
  await waitUntil('web has ended', async () => !(await isHealthy(url)));
  assert.equal(worldIn(hub.dataDir, hub), 'new');
});

test('case 61: neither npm start nor web, worker or hubctl uses the data while the state file is there', async (t) => {
  const hub = await restorableHub(t);
  assert.equal((await hub.hubctlWith({ CONFIRM_RESTORE: 'YES' }, 'restore', 'begin', hub.backup)).status, 0);
  assert.ok(isRestoreUnderWay(hub.dataDir));
  const before = stateOf(hub.dataDir);
  const env = restoreEnvironment(hub.dataDir, await freePort());
  for (const args of [['start.ts'], ['launch.ts', 'web'], ['launch.ts', 'worker'], ['launch.ts', 'hubctl', 'invite'],
    ['launch.ts', 'hubctl', 'jobs', 'list']]) {
    const [file = '', ...rest] = args;
    const { status, stdout, stderr } = await runProgram(process.execPath, [join(PROJECT_ROOT, 'src/bin', file), ...rest], { env });
    assert.deepEqual([status, stdout], [1, ''], args.join());
    assert.match(stderr, /a restore or an upgrade is in progress or was interrupted: see \.\/scripts\/restore\.sh --recover/, args.join());
  }
  assert.deepEqual(stateOf(hub.dataDir), before);
});

test('case 20: a backup during a restore, and a restore during a backup, end with 75', async (t) => {
  const hub = await restorableHub(t);
  const port = await freePort();
  const statuses = join(dirname(hub.dataDir), 'statuses');
  const backup = `'${PROJECT_ROOT}/scripts/backup.sh'; echo $? >>'${statuses}'; ` +
    `'${PROJECT_ROOT}/scripts/hubctl' backup; echo $? >>'${statuses}'; '${RESTORE}' --recover; echo $? >>'${statuses}'`;
  const { status, stderr } = await runWithWeb(t, hub.dataDir, port, [hub.backup], {
    HUB_STOP_COMMAND: backup, HUB_START_COMMAND: startingWeb(hub.dataDir),
  });
  assert.equal(status, 0, stderr);
  assert.equal(readFileSync(statuses, 'utf8'), '75\n75\n75\n');

  const state = (): string[] => stateOf(hub.dataDir).filter((line) => !line.startsWith('/hub.db-')); // web runs
  const before = state();
  const lock = join(hub.dataDir, 'run/backup.flock');
  const holder = spawn('flock', [lock, '-c', 'echo locked; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  t.after(() => process.kill(-(holder.pid ?? 0), 'SIGKILL'));
  await new Promise((resolve) => holder.stdout.once('data', resolve));
  for (const args of [[hub.backup], ['--recover']]) {
    const busy = await runRestore(hub.dataDir, port, args);
    assert.equal(busy.status, 75);
    assert.match(busy.stderr, /BUSY: another backup or restore is running/);
  }
  assert.deepEqual(state(), before);
});

test('--recover does not take a step that outlived its restore.sh for one that was cut off: 75, and nothing changes', async (t) => {
  const hub = await restorableHub(t);
  assert.equal((await hub.hubctlWith({ CONFIRM_RESTORE: 'YES' }, 'restore', 'begin', hub.backup)).status, 0);
  const port = await freePort();
  const step = takeFileLock(backupLock(hub.dataDir));
  assert.ok(step);
  const before = stateOf(hub.dataDir);

  const busy = await runRestore(hub.dataDir, port, ['--recover']);
  assert.deepEqual([busy.status, busy.stdout], [75, ''], busy.stderr);
  assert.match(busy.stderr, /a step of the restore is still running/);
  assert.deepEqual(stateOf(hub.dataDir), before);
  step.release();
  assert.equal((await runRestore(hub.dataDir, port, ['--recover'])).status, 0);
});

test('case 66: where the roll back fails, the hub stays down, it says where the data is, and --recover goes on later', async (t) => {
  const hub = await restorableHub(t);
  const port = await freePort();
  const blocking = `for staged in '${hub.dataDir}'/.restore-*; do mkdir -p "$staged/uploads/obstacle"; done; false`;
  const { env, calls } = commands(hub.dataDir, ':', blocking);
  const { status, stderr } = await runRestore(hub.dataDir, port, [hub.backup], env);

  assert.equal(status, 1);
  assert.match(stderr, /ROLLBACK FAILED\. The previous data is not lost/);
  assert.ok(stderr.includes(`it is in ${keptIn(hub.dataDir)}, except for`), stderr);
  assert.deepEqual(calls(), ['stop', 'start', 'stop'], 'it is not started again');
  assert.ok(isRestoreUnderWay(hub.dataDir));
  assert.equal((await runRestore(hub.dataDir, port, ['--recover'])).status, 1, 'the obstacle is still there');

  for (const name of leftovers(hub.dataDir)) rmSync(join(hub.dataDir, name, 'uploads'), { recursive: true, force: true });
  const recovered = await runRestore(hub.dataDir, port, ['--recover']);
  assert.deepEqual([recovered.status, recovered.stdout], [0, 'ROLLED BACK: the previous data is in place again\n'], recovered.stderr);
  assert.match(recovered.stderr, /restore: the restore was interrupted in phase 'undoing': rolling back\n/);
  assert.deepEqual([worldIn(hub.dataDir, hub), leftovers(hub.dataDir)], ['old', []]);
});

test('case 60: a hub that answers although it is not known what runs it is not restored, nor another in its place', async (t) => {
  const hub = await restorableHub(t);
  const other = await restorableHub(t);
  const port = await freePort();
  const started = await runWithWeb(t, other.dataDir, port, [other.backup], {
    HUB_STOP_COMMAND: ':', HUB_START_COMMAND: startingWeb(other.dataDir),
  });
  assert.equal(started.status, 0, started.stderr);

  const { status, stderr } = await runRestore(hub.dataDir, port, [hub.backup]);
  assert.equal(status, 1);
  assert.match(stderr, /a hub answers at HOST and PORT, but this script did not find what runs the hub/);
  assert.equal(worldIn(hub.dataDir, hub), 'old');
});

test('a DATA_DIR that was mistyped is neither recovered nor called a hub by the recovery kit, and stays as it is', async (t) => {
  const folder = temporaryDataDir(t);
  mkdirSync(join(folder, 'of something else'));
  for (const dataDir of [join(folder, 'missing'), join(folder, 'of something else')]) {
    const env = restoreEnvironment(dataDir, await freePort(), NOT_COMPILED);
    for (const [script = '', ...args] of [['restore.sh', '--recover'], ['hubctl', 'recovery-kit']]) {
      const { status, stdout, stderr } = await runProgram(join(PROJECT_ROOT, 'scripts', script), args, { env, cwd: '/' });
      assert.deepEqual([status, stdout], [1, ''], script);
      assert.match(stderr, /^no hub is in DATA_DIR yet \(\/.*hub\.db is missing\): check DATA_DIR, or run npm start\n$/, script);
    }
  }
  assert.deepEqual(readdirSync(folder, { recursive: true }), ['of something else']);
});
