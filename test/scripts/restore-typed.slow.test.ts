// Protects restores as people type them: encrypted files, remotes, folders of root; and that no plain copy is left.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync, chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { NOBODY, requireAnotherUser } from '../support/another-user.ts';
import { changeDatabase, harmUnseen } from '../support/backup-hub.ts';
import { lengthenPosts } from '../support/stored-posts.ts';
import { makeKey, sealBackup } from '../support/off-site.ts';
import { freePort } from '../support/ports.ts';
import { leftovers, postsIn, restorableHub, stateOf, uploadsIn, worldIn } from '../support/restore-hub.ts';
import { resticHub } from '../support/restic.ts';
import { runRestore, startRestore } from '../support/restore-script.ts';
import { isRunning, type Outcome } from '../support/run-program.ts';
import { temporaryFolder, writeFiles } from '../support/temporary-project.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('age', 'rclone', 'restic');

/** A hub that nobody runs, and copies of its backup: encrypted, and plain and encrypted on an rclone remote. */
async function copiedHub(t: TestContext) {
  const hub = await restorableHub(t);
  const folder = temporaryFolder(t);
  const key = makeKey(folder);
  const config = join(folder, 'rclone.conf');
  writeFileSync(config, `[box]\ntype = alias\nremote = ${join(folder, 'box')}\n`);
  changeDatabase(hub.backup, (db) => lengthenPosts({ db }));
  cpSync(hub.backup, join(folder, 'box/plain', hub.name), { recursive: true });
  const sealed = sealBackup(hub.backup, key.recipient, folder);
  sealBackup(hub.backup, key.recipient, join(folder, 'box/sealed'));
  const port = await freePort();
  const bin = join(folder, 'bin');
  const env = { PATH: `${bin}:/usr/bin:/bin`, RCLONE_CONFIG: config, TMPDIR: join(folder, 'tmp') };
  mkdirSync(env.TMPDIR);
  return {
    ...hub, folder, key, sealed, port, env,
    run: (args: string[], more: Record<string, string> = {}, cwd = '/'): Promise<Outcome> =>
      runRestore(hub.dataDir, port, args, { ...env, ...more }, cwd),
    /** From now on a program of that name is this script. */
    replace: (name: string, script: string): void => writeFiles(bin, { [name]: `#!/bin/sh\n${script}\n` }, 0o755),
    /** What of fetched backups lies about. */
    plain: (): string[] => [...readdirSync(join(hub.dataDir, 'tmp')), ...readdirSync(env.TMPDIR)],
  };
}

test('an encrypted file, its folder and copies on a remote are restored as they lie there, and no plain copy is left', async (t) => {
  const hub = await copiedHub(t);
  const identity = ['--identity', hub.key.path];
  const named: [args: string[], called: string, cwd?: string][] = [
    [[hub.sealed, ...identity], hub.sealed],
    [[...identity, `./${hub.name}`], hub.sealed, hub.folder],
    [[`box:plain/${hub.name}`], `box:plain/${hub.name}`],
    [[`box:sealed/${hub.name}`, ...identity], `box:sealed/${hub.name}`],
    [[`box:plain/${hub.name}/`], `box:plain/${hub.name}/`],
  ];
  for (const [args, called, cwd] of named) {
    const { status, stdout, stderr } = await hub.run(args, {}, cwd);
    assert.equal(status, 0, `${args.join(' ')}\n${stderr}`);
    assert.match(stdout, new RegExp(`^restoring ${hub.name}, made `));
    assert.ok(stdout.includes(`RESTORED ${called}\n`), stdout);
    assert.deepEqual([worldIn(hub.dataDir, hub), leftovers(hub.dataDir), hub.plain()], ['new', [], []]);
  }
});

test('what cannot be opened, fetched or found is said before anything is stopped, and changes nothing', async (t) => {
  const hub = await copiedHub(t);
  const stop = { HUB_STOP_COMMAND: `touch '${hub.folder}/stopped'`, HUB_START_COMMAND: 'false' };
  const before = stateOf(hub.dataDir).filter((line) => !line.startsWith('/tmp '));
  const refused = async (args: string[], why: RegExp, env: Record<string, string> = {}): Promise<void> => {
    const { status, stdout, stderr } = await hub.run(args, { ...stop, ...env });
    assert.deepEqual([status, stdout], [1, ''], `${args.join(' ')}\n${stderr}`);
    assert.match(stderr, why);
    assert.ok(!stderr.includes('AGE-SECRET-KEY'), stderr);
    assert.deepEqual(stateOf(hub.dataDir).filter((line) => !line.startsWith('/tmp ')), before);
    assert.deepEqual([hub.plain(), readdirSync(hub.folder).includes('stopped')], [[], false]);
  };
  const identity = ['--identity', hub.key.path];
  await refused([hub.sealed], /backup\.tar\.gz\.age is encrypted: add --identity KEY/);
  await refused([`box:sealed/${hub.name}`], /is encrypted: add --identity KEY/);
  await refused([hub.sealed, '--identity', '/nowhere'], /\/nowhere is not a readable key file/);
  await refused([hub.sealed, '--identity', makeKey(hub.folder, 'other').path], /could not be fully decrypted: age: error: no identity/);
  await refused([`box:plain/20000101-000000`], /is not a backup, or there is no backup of that name: restore\.sh --list/);
  await refused(['box:plain'], /is not a backup, or there is no backup of that name/);
  await refused([`bax:plain/${hub.name}`], /rclone's configuration has no remote bax:, and there is no folder bax:/);
  hub.replace('df', `echo; echo "disk 1 1 60000 1% /"`);
  await refused([`box:plain/${hub.name}`], /not enough disk space in .*: this needs at least \d+ MiB, 58 MiB is free/);
  rmSync(join(hub.folder, 'bin/df'));
  hub.replace('rclone', 'case "$*" in *" cat "*) head -c 2000 "$REAL_FILE"; exit 1 ;; esac; exec /usr/bin/rclone "$@"');
  const torn = { REAL_FILE: hub.sealed };
  await refused([`box:sealed/${hub.name}`, ...identity], /could not be fully decrypted/, torn);
  await refused([`box:plain/${hub.name}`], /SHA256SUMS could not be fetched/, torn);
  hub.replace('rclone', 'case "$*" in *" cat "*) exec head -c 90000000 /dev/zero ;; esac; exec /usr/bin/rclone "$@"');
  hub.replace('df', 'echo; echo "disk 1 1 80000 1% /"');
  await refused([`box:plain/${hub.name}`], /could not be fetched: there is not enough free space in /);
  rmSync(join(hub.folder, 'bin/df'));
  hub.replace('rclone', 'case $* in *lsf*) echo "Get https://me:pw@far/x?sig=abc: no" >&2; exit 1 ;; esac; exec /usr/bin/rclone "$@"');
  await refused([`box:plain/${hub.name}`], /cannot be listed: Get https:\/\/\(hidden\)@far\/x\?\(hidden\) no\n$/);
  hub.replace('rclone', 'exit 127');
  await refused([`box:plain/${hub.name}`], /has no remote box:/);
  writeFileSync(hub.sealed, 'no age file');
  await refused([hub.sealed, ...identity], /could not be fully decrypted: age: error/);
});

test('killed while it unpacks, restore.sh leaves a plain copy only until it is run again or asked to recover', async (t) => {
  const hub = await copiedHub(t);
  hub.replace('tar', 'case "$*" in *-xf*) /usr/bin/tar "$@"; sleep 600 ;; esac');
  for (const next of [['--recover'], [hub.sealed, '--identity', hub.key.path], ['/nowhere']]) {
    const run = startRestore(t, hub.dataDir, hub.port, [hub.sealed, '--identity', hub.key.path], hub.env);
    const isUnpacked = (): boolean => readdirSync(join(hub.dataDir, 'tmp'), { recursive: true }).length >= 5;
    await waitUntil('it is unpacked', isUnpacked);
    run.signalGroup('SIGKILL');
    await run.ended;
    assert.ok(isUnpacked());
    const { status, stderr } = await runRestore(hub.dataDir, hub.port, next);
    assert.equal(status, next[0] === '/nowhere' ? 1 : 0, stderr);
    assert.deepEqual(readdirSync(join(hub.dataDir, 'tmp')), []);
  }
});

for (const [signal, status] of [['SIGINT', 130], ['SIGTERM', 143], ['SIGHUP', 129]] as const) {
  test(`${signal} while the backup is fetched ends with ${status} and leaves neither a copy nor a state`, async (t) => {
    const hub = await copiedHub(t);
    hub.replace('tar', 'case "$*" in *-xf*) /usr/bin/tar "$@"; exec sleep 600 ;; esac');
    const run = startRestore(t, hub.dataDir, hub.port, [hub.sealed, '--identity', hub.key.path], hub.env);
    await waitUntil('it unpacks', () => readdirSync(join(hub.dataDir, 'tmp'), { recursive: true }).length >= 5);
    run.signalGroup(signal);
    assert.equal(await run.ended, status, run.said());
    assert.deepEqual([hub.plain(), leftovers(hub.dataDir), worldIn(hub.dataDir, hub)], [[], [], 'old']);
  });
}

test('SIGTERM to restore.sh alone ends what it fetches with as well, at once, wherever that comes from', async (t) => {
  const hub = await copiedHub(t);
  const tags = [`hub=${'0'.repeat(16)}`, `name=${hub.name}`];
  writeFiles(hub.folder, { config: 'of a repository', listed: JSON.stringify([{ id: '0'.repeat(64), tree: '0', tags }]) });
  const places = { BACKUP_RESTIC_REPOSITORY: hub.folder, BACKUP_RESTIC_PASSWORD_FILE: join(hub.folder, 'config') };
  const hangs = `echo $$ >'${hub.folder}/hangs'; exec sleep 600`;
  for (const [program, script, args] of [
    ['tar', `case "$*" in *-xf*) ${hangs} ;; esac`, [hub.sealed, '--identity', hub.key.path]],
    ['rclone', `case "$*" in *" cat "*) ${hangs} ;; esac; exec /usr/bin/rclone "$@"`, [`box:plain/${hub.name}`]],
    ['rclone', `case "$*" in *" lsf "*) ${hangs} ;; esac; exec /usr/bin/rclone "$@"`, [`box:plain/${hub.name}`]],
    ['restic', `case $1 in snapshots) cat '${hub.folder}/listed' ;; restore) ${hangs} ;; esac`, ['--restic', hub.name]],
  ] as const) {
    hub.replace(program, script);
    const run = startRestore(t, hub.dataDir, hub.port, [...args], { ...hub.env, ...places });
    await waitUntil('it fetches', () => existsSync(join(hub.folder, 'hangs')));
    run.signal('SIGTERM');
    assert.equal(await run.ended, 143, run.said());
    const pid = Number(readFileSync(join(hub.folder, 'hangs'), 'utf8'));
    await waitUntil(`the end of ${program}`, () => !isRunning(pid));
    assert.deepEqual([hub.plain(), leftovers(hub.dataDir), worldIn(hub.dataDir, hub)], [[], [], 'old'], program);
    for (const one of ['hangs', `bin/${program}`]) rmSync(join(hub.folder, one));
  }
});

test('a folder that only root may read is restored by root for the account of the hub, and nothing but plain files of it', async (t) => {
  if (!requireAnotherUser(t)) return;
  const hub = await restorableHub(t);
  const mine = join(temporaryFolder(t), hub.name);
  cpSync(hub.backup, mine, { recursive: true });
  chmodSync(dirname(mine), 0o700);
  for (const name of ['', ...readdirSync(hub.dataDir, { recursive: true })]) {
    chownSync(join(hub.dataDir, String(name)), NOBODY, NOBODY);
  }
  for (const above of ['..', '../..']) chmodSync(join(hub.dataDir, above), 0o755);
  const odd: [what: string, make: (path: string) => void][] = [
    ['a FIFO', (path) => execFileSync('mkfifo', [path])],
    ['a link to what never ends', (path) => symlinkSync('/dev/zero', path)],
    ['missing', () => {}],
  ];
  for (const [what, make] of odd) {
    const folder = join(dirname(mine), what, hub.name);
    cpSync(mine, folder, { recursive: true });
    rmSync(join(folder, 'SHA256SUMS'));
    make(join(folder, 'SHA256SUMS'));
    const refused = await runRestore(hub.dataDir, await freePort(), [folder]);
    assert.deepEqual([refused.status, refused.stdout], [1, ''], what);
    assert.match(refused.stderr, /is not a backup: it must hold the plain files hub\.db/);
  }
  const { status, stdout, stderr } = await runRestore(hub.dataDir, await freePort(), [`../${hub.name}`], {}, mine);
  assert.equal(status, 0, stderr);
  assert.ok(stdout.includes(`RESTORED ${mine}\n`), stdout);
  assert.deepEqual([worldIn(hub.dataDir, hub), readdirSync(join(hub.dataDir, 'tmp'))], ['new', []]);
});

test('a backup in a restic repository is restored by its name, on an empty DATA_DIR too, with nothing but the password', async (t) => {
  const hub = resticHub(t);
  const { sha256 } = hub.upload('in the repository');
  const name = await hub.verified();
  assert.equal((await hub.send(name)).status, 0);
  hub.db.close();
  const places = { BACKUP_RESTIC_REPOSITORY: hub.repository, BACKUP_RESTIC_PASSWORD_FILE: hub.password };
  const port = await freePort();
  for (const dataDir of [hub.dataDir, join(hub.folder, 'new')]) {
    const { status, stdout, stderr } = await runRestore(dataDir, port, ['--restic', name], places);
    assert.equal(status, 0, stderr);
    assert.ok(stdout.includes(`RESTORED ${name} of the restic repository\n`), stdout);
    assert.equal(stdout.includes('previous data'), dataDir === hub.dataDir, stdout);
    assert.deepEqual([uploadsIn(dataDir), postsIn(dataDir), readdirSync(join(dataDir, 'tmp'))], [[sha256], 1, []]);
  }
  const listed = await runRestore(hub.dataDir, port, ['--list'], places);
  assert.match(listed.stdout, new RegExp(`restore\\.sh --restic NAME\n  ${name} .*schema \\d+ +verified 20\\d\\d-.* UTC\n$`));
  const unknown = await runRestore(hub.dataDir, port, ['--restic', '20000101-000000'], places);
  assert.deepEqual([unknown.status, unknown.stdout], [1, '']);
  assert.match(unknown.stderr, /there is no backup 20000101-000000 in .*the repository\n.*could not be fetched/);
  assert.deepEqual(readdirSync(join(hub.dataDir, 'tmp')), []);
});

test('on an empty DATA_DIR nothing is called previous data, also when the restore fails', async (t) => {
  const hub = await restorableHub(t);
  harmUnseen(hub.backup);
  const dataDir = join(hub.dataDir, '../new');
  const { status, stdout, stderr } = await runRestore(dataDir, await freePort(), [hub.backup]);
  assert.equal(status, 1);
  assert.match(stdout, /^restored data in place\nROLLED BACK: there is no data, as before the restore\n$/m);
  assert.doesNotMatch(stdout + stderr, /previous/);
  assert.match(stderr, /restore: the restore failed; undoing its steps/);
  assert.deepEqual(readdirSync(dataDir).filter((one) => /hub\.db|uploads|restore/.test(one)), []);
});

test('--list shows what lies here and off-site, when it was verified, and what cannot be read, without asking for consent', async (t) => {
  const hub = await copiedHub(t);
  mkdirSync(join(hub.folder, 'far/20260101-000000'), { recursive: true });
  writeFileSync(join(hub.folder, 'far/20260101-000000/hub.db'), 'half a copy');
  mkdirSync(join(hub.folder, 'far/1-2'));
  for (const odd of ['1-2/hub.db', '20260101-000000/hub.db of mine']) writeFileSync(join(hub.folder, 'far', odd), '');
  cpSync(hub.backup, join(hub.folder, 'far', hub.name), { recursive: true });
  writeFileSync(join(hub.dataDir, 'run/backup-verdicts.json'),
    JSON.stringify({ [hub.name]: { at: Date.UTC(2026, 0, 31, 3, 16), verdict: 'verified', problem: null } }));
  const before = stateOf(hub.dataDir);
  const places = { BACKUP_OFFSITE_DIR: join(hub.folder, 'far'), BACKUP_RCLONE_REMOTE: 'box:sealed', CONFIRM_RESTORE: '' };

  const { status, stdout, stderr } = await hub.run(['--list'], places);

  assert.equal(status, 0, stderr);
  const size = String.raw` +\d[\d.]* [KM]iB`;
  assert.match(stdout, new RegExp(`^On this machine, restored by: restore\\.sh '.*/data/backups'/NAME
  ${hub.name} ${size}  schema \\d+ +verified 2026-01-31 03:16 UTC
In BACKUP_OFFSITE_DIR, restored by: restore\\.sh '.*/far'/NAME
  20260101-000000 +11 B  schema unknown  INCOMPLETE
  ${hub.name} ${size}  schema \\d+ +read back when it was sent
In BACKUP_RCLONE_REMOTE, restored by: restore\\.sh box:sealed/NAME
  ${hub.name} ${size}  schema \\d+ +encrypted: add --identity KEY; read back when it was sent\n$`));

  const gone = await hub.run(['--list'], { BACKUP_OFFSITE_DIR: '/nowhere', BACKUP_RCLONE_REMOTE: 'bax:sealed' });
  assert.equal(gone.status, 1);
  assert.match(gone.stderr, /\/nowhere cannot be read: is the disk mounted\?[^]*has no remote bax:/);
  assert.match(gone.stdout, new RegExp(`  ${hub.name} .* verified 2026`));
  hub.replace('timeout', 'case "$*" in *stat*) exit 124 ;; *) exec /usr/bin/timeout "$@" ;; esac');
  assert.match((await hub.run(['--list'], places)).stderr, /\/far cannot be read: is the disk mounted\?/);
  assert.deepEqual([stateOf(hub.dataDir), hub.plain()], [before, []]);
});

test('--list with a BACKUP_DIR that is missing or cannot be read names it, fails, and lists what lies elsewhere', async (t) => {
  const hub = await copiedHub(t);
  const far = join(hub.folder, 'far');
  cpSync(hub.backup, join(far, hub.name), { recursive: true });
  writeFileSync(join(hub.folder, 'a file'), '');
  for (const [name, why] of [['unplugged', 'is not there'], ['a file', 'cannot be read \\(ENOTDIR\\)']]) {
    const place = join(hub.folder, String(name));
    const { status, stdout, stderr } = await hub.run(['--list'], { BACKUP_DIR: place, BACKUP_OFFSITE_DIR: far });
    assert.equal(status, 1, stderr);
    assert.match(stderr, new RegExp(`${place} ${why}: is the disk mounted\\?`));
    assert.doesNotMatch(stdout, /none/);
    assert.match(stdout, new RegExp(`^In BACKUP_OFFSITE_DIR.*\n  ${hub.name} `));
  }
  const fresh = await runRestore(join(hub.folder, 'new'), hub.port, ['--list']);
  assert.deepEqual([fresh.status, fresh.stdout.split('\n').at(1)], [0, '  none'], 'a hub that has made none yet');
});

test('BUSY is said only of a lock that is taken', async (t) => {
  const hub = await copiedHub(t);
  for (const [tool, script, why] of [
    ['flock', 'exit 66', /flock could not lock .*backup\.flock/],
    ['setsid', 'exit 1', /setsid -w does not work here; nothing was done/],
  ] as const) {
    hub.replace(tool, script);
    const { status, stderr } = await hub.run([hub.backup]);
    assert.equal(status, 1, stderr);
    assert.match(stderr, why);
    assert.doesNotMatch(stderr, /BUSY/);
    rmSync(join(hub.folder, 'bin', tool));
  }
  assert.equal(worldIn(hub.dataDir, hub), 'old');
});
