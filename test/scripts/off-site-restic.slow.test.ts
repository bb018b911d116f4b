// Protects copies in a restic repository: only what another process lists there counts, and only new bytes are sent.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { readOffsite } from '../../src/features/backups/offsite-status.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { DAY } from '../../src/platform/clock.ts';
import { programsWithout } from '../support/off-site.ts';
import { canMount } from '../support/private-mounts.ts';
import { PROJECT_ROOT, runProgram, type Outcome } from '../support/run-program.ts';
import { resticHub, withoutNodesWarning, type ResticHub } from '../support/restic.ts';
import { testWith } from '../support/tools.ts';

const test = testWith('restic');

test('a verified backup becomes a snapshot of database, manifest and uploads, once, however often it is sent', async (t) => {
  const hub = resticHub(t);
  const uploads = [hub.upload(), hub.upload()].map(({ path }) => path.slice(hub.dataDir.length));
  const name = await hub.verified();

  const first = await hub.send(name);
  const second = await hub.send(name);

  assert.deepEqual([first.status, first.stderr.replace(/^off-site: note: .*\n/, '')], [0, '']);
  assert.match(first.stdout, new RegExp(`${name}: done, listed back and compared\n`));
  assert.deepEqual([second.status, second.stderr], [0, '']);
  assert.match(second.stdout, new RegExp(`${name}: already there and complete\n$`));
  const [snapshot, ...more] = await hub.list();
  assert.deepEqual([snapshot?.name, Number(snapshot?.bytes) > 1_000, /^\d{8}-\d{6}$/.test(snapshot?.verified ?? '')],
    [name, true, true]);
  assert.deepEqual(more, []);
  const files = hub.restic('ls', 'latest').split('\n').filter((path) => /\/[0-9a-f]{64}$|^\/[^/]+\.db$|SUMS/.test(path));
  assert.deepEqual(files.sort(), ['/SHA256SUMS', '/hub.db', ...uploads.sort()]);
  assert.deepEqual(hub.leftovers(), []);
  assert.match(readFileSync(join(hub.dataDir, 'backups/off-site.sent'), 'utf8'),
    new RegExp(`^${snapshot?.id}  ${hub.repository}/${name}/snapshot\n$`));
  const [status] = readOffsite({ config: loadConfig(hub.env), clock: Date.now });
  assert.deepEqual([status?.name, status?.hasFailed, status?.lastGood?.name], ['restic', false, name]);
});

test('the next night sends what is new, reads no upload again and makes no second copy of one', async (t) => {
  const hub = resticHub(t);
  for (let n = 0; n < 20; n++) hub.upload(Buffer.alloc(100_000, String(n + 10)));
  const at = Date.now();
  assert.equal((await hub.send(await hub.verified(at - DAY))).status, 0);
  hub.upload();
  const said = join(hub.folder, 'said');
  hub.replace('restic', `case $1 in backup) stat -c %h uploads/*/* | sort -u >'${said}.links'; REAL "$@" | tee '${said}' ;;` +
    ' *) exec REAL "$@" ;; esac');

  assert.equal((await hub.send(await hub.verified(at))).status, 0);

  assert.match(readFileSync(said, 'utf8'), /^Files: +1 new, +2 changed, +20 unmodified$/m);
  assert.equal(readFileSync(`${said}.links`, 'utf8'), '2\n');
  const [{ lastGood } = { lastGood: null }] = readOffsite({ config: loadConfig(hub.env), clock: Date.now });
  assert.ok((lastGood?.bytes ?? Infinity) < 500_000, `${lastGood?.bytes} bytes`);
});

test('an upload that is gone by the time of sending comes from the archive of the backup', async (t) => {
  const hub = resticHub(t);
  const { path, sha256 } = hub.upload('an upload that nobody names any more');
  hub.upload();
  const name = await hub.verified();
  rmSync(path);

  const { status, stderr } = await hub.send(name);

  assert.equal(status, 0, stderr);
  assert.equal(hub.restic('dump', 'latest', `/uploads/${sha256.slice(0, 2)}/${sha256}`), 'an upload that nobody names any more');
});

test('an upload that was changed or a database that does not match is not sent', async (t) => {
  const hub = resticHub(t);
  const { path } = hub.upload();
  const name = await hub.verified();
  writeFileSync(path, 'shorter');
  const cut = await hub.send(name);
  assert.equal(cut.status, 1);
  assert.match(cut.stderr, /the snapshot holds uploads\/.* with 7 bytes instead of 100\n/);

  writeFileSync(join(hub.dataDir, 'backups', name, 'hub.db'), 'x', { flag: 'a' });
  const forged = await hub.send(name);
  assert.equal(forged.status, 1);
  assert.match(forged.stderr, /hub\.db of .* does not match its SHA256SUMS/);
  assert.deepEqual(hub.leftovers(), []);
});

test('what cannot work is said at once, with the reason, and nothing is written', async (t) => {
  const hub = resticHub(t);
  const name = await hub.verified();
  const other = join(hub.folder, 'other');
  writeFileSync(other, 'another password\n');
  mkdirSync(join(hub.folder, 'unplugged'));
  const cases: [RegExp, Record<string, string>][] = [
    [/wrong password/, { BACKUP_RESTIC_PASSWORD_FILE: other }],
    [/BACKUP_RESTIC_PASSWORD_FILE: \S+ is missing, empty, or cannot be read/, { BACKUP_RESTIC_PASSWORD_FILE: '/nowhere' }],
    [/there is no restic repository in .*unplugged: is the disk mounted\? .*unplugged is on the system's disk or on that of DATA_DIR\.\n$/,
      { BACKUP_RESTIC_REPOSITORY: join(hub.folder, 'unplugged') }],
    [/A new one is made by: restic -r '\/proc\/none' --password-file .* init\n$/, { BACKUP_RESTIC_REPOSITORY: '/proc/none' }],
    [/: restic is not installed, but BACKUP_RESTIC_REPOSITORY requires it\n/, { PATH: programsWithout(hub.folder, 'restic') }],
    [/rclone is not installed|nobody/, { BACKUP_RESTIC_REPOSITORY: 'rclone:nobody:hub' }],
  ];
  for (const [message, env] of cases) {
    for (const args of [['check'], ['send', join(hub.dataDir, 'backups', name)]]) {
      const { status, stdout, stderr } = await hub.run('off-site.sh', args, env);
      assert.deepEqual([status, stdout], [1, ''], String(message));
      assert.match(stderr, message);
      assert.ok(!/a password|another password/.test(stderr));
    }
  }
  hub.replace('timeout', 'case "$*" in *stat*) exit 124 ;; *) exec REAL "$@" ;; esac');
  assert.match((await hub.send(name)).stderr, /the repository does not answer: is its server reachable\?\n$/);
  const both = await hub.run('off-site.sh', ['check'], { BACKUP_AGE_RECIPIENT: 'age1abc' });
  assert.equal(both.status, 2);
  assert.match(both.stderr, /BACKUP_RESTIC_REPOSITORY and BACKUP_AGE_RECIPIENT exclude each other/);
  assert.deepEqual(readdirSync(join(hub.folder, 'unplugged')), []);
  assert.deepEqual(hub.leftovers(), []);
});

test('what a repository missed is named, stays named as the oldest, and is sent later, each backup once', async (t) => {
  const hub = resticHub(t);
  const noted = (): { ok: boolean; unsent: string | null } =>
    (JSON.parse(readFileSync(join(hub.dataDir, 'run/last-offsite-restic.json'), 'utf8')) as { last: { ok: boolean; unsent: string | null } }).last;
  const now = Date.now();
  await hub.verified(now - 4 * DAY);
  const first = await hub.verified(now - 3 * DAY);
  assert.equal((await hub.send(first)).status, 0);
  const away = { BACKUP_RESTIC_PASSWORD_FILE: '/nowhere' };
  const second = await hub.verified(now - 2 * DAY);
  assert.equal((await hub.send(second, away)).status, 1);
  const third = await hub.verified(now - DAY); // nobody has sent it
  assert.deepEqual([noted().ok, noted().unsent], [false, second]);

  const checks = join(hub.folder, 'checks');
  hub.replace('restic', `[ "$1" != check ] || echo x >>'${checks}'; exec REAL "$@"`);
  const fourth = await hub.verified(now);
  const { status, stderr } = await hub.send(fourth);
  assert.equal(status, 0, stderr);
  const sent = readFileSync(join(hub.dataDir, 'backups/off-site.sent'), 'utf8').match(/\d{8}-\d{6}/g);
  assert.deepEqual(sent, [first, second, third, fourth], 'a new repository begins with the newest, not with all that is here');
  assert.deepEqual([noted().ok, noted().unsent], [true, null]);
  assert.equal(readFileSync(checks, 'utf8'), 'x\n', 'read once, after the last');
});

/** Lines of shell where the repository, $R, is a small disk of its own, which this process alone sees. */
async function onSmallDisk(t: TestContext, hub: ResticHub, megabytes: number, lines: string): Promise<Outcome | undefined> {
  if (!(await canMount(t))) return undefined;
  const script = `
    send() { sh "$SCRIPT" send "$DATA_DIR/backups/$1"; }
    cp -a "$R" "$R.seed" && rm -r "$R"/* && mount -t tmpfs -o size=${megabytes}m tmpfs "$R" && cp -a "$R.seed/." "$R" || exit 99
    ${lines}`;
  const env = { ...hub.env, R: hub.repository, SCRIPT: join(PROJECT_ROOT, 'scripts/off-site.sh') };
  const outcome = await runProgram('unshare', ['-rm', 'sh', '-c', script], { cwd: hub.folder, env });
  return { ...outcome, stderr: withoutNodesWarning(outcome.stderr) };
}

test('a repository without a free byte gets room by the words of the handbook, and the rest stays whole', async (t) => {
  const hub = resticHub(t);
  const outcome = await onSmallDisk(t, hub, 4, `
    hand() { restic -q -r "$R" --password-file "$BACKUP_RESTIC_PASSWORD_FILE" "$@"; }
    fill() { cat /dev/zero >>"$R/filler" 2>/dev/null; [ "$(df -B1 --output=avail "$R" | tail -n 1)" -eq 0 ] || exit 90; }
    oldest() { hand snapshots --json --no-lock | grep -oE '"id":"[0-9a-f]{64}' | cut -c 7-70 | head -n "$1"; }
    for n in 1 2 3 4; do head -c 200000 /dev/urandom >"$R.seed/new"; hand backup "$R.seed/new" || exit 98; done
    fill
    hand prune --max-repack-size 0 && exit 97
    rm "$R"/snapshots/"$(oldest 1)"
    hand prune --max-repack-size 0 && exit 96
    id=$(hand prune --unsafe-recover-no-free-space any 2>&1 | grep -oE '[0-9a-f]{64}')
    hand prune --unsafe-recover-no-free-space "$id" || exit 95
    fill
    for id in $(oldest 2); do rm "$R"/snapshots/"$id"*; done
    hand prune --max-repack-size 0 || exit 94
    hand check --read-data && echo "$(oldest 9 | wc -l) snapshots, $(df -B1 --output=avail "$R" | tail -n 1) bytes free"`);
  if (!outcome) return;

  assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
  const [, snapshots, free] = /(\d+) snapshots, (\d+) bytes free/.exec(outcome.stdout) ?? [];
  assert.deepEqual([snapshots, Number(free) > 300_000], ['1', true], outcome.stdout);
});

test('a repository that is full is said to be so, keeps what it has, and gets room by the words of the handbook', async (t) => {
  const hub = resticHub(t);
  const first = await hub.verified(Date.now() - DAY);
  hub.upload(randomBytes(2_000_000));
  const second = await hub.verified();

  const outcome = await onSmallDisk(t, hub, 4, `
    mv "$DATA_DIR/backups/${second}" "$DATA_DIR/later"
    send ${first} || exit 98
    mv "$DATA_DIR/later" "$DATA_DIR/backups/${second}"
    head -c 9000000 /dev/urandom >"$R/filler" 2>/dev/null
    truncate -s -300K "$R/filler"
    send ${second} && exit 97
    restic -r "$R" --password-file "$BACKUP_RESTIC_PASSWORD_FILE" prune --max-repack-size 0 || exit 96
    sh "$(dirname "$SCRIPT")/restic-backups.sh" list | sed 's/ .*//'
    rm "$R/filler"
    send ${second}`);
  if (!outcome) return;

  assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
  assert.match(outcome.stderr, /restic could not make a whole snapshot: .*\(the repository is full: see the handbook\)/);
  assert.match(outcome.stdout, new RegExp(`\n${first}\n.*${second}: done, listed back and compared\n`, 's'));
});

test('a disk that is unplugged by the end does not have a copy, although restic ended with 0', async (t) => {
  const hub = resticHub(t);
  const name = await hub.verified();
  hub.replace('restic', 'REAL "$@" || exit; case $1 in backup) umount -l "$R" && cp -a "$R.seed/." "$R" ;; esac');

  const lines = `send ${name}; echo "status $?"; cat "$DATA_DIR/run/last-offsite-restic.json"`;
  const outcome = await onSmallDisk(t, hub, 60, lines);
  if (!outcome) return;

  assert.match(outcome.stdout, /^status 1\n.*"ok":false.*was unmounted meanwhile: remove the files that restic has written/s);
  assert.ok(!existsSync(join(hub.dataDir, 'backups/off-site.sent')));
});

test('a snapshot that lacks a file is no copy, and is not left to be listed as one that was verified', async (t) => {
  const hub = resticHub(t);
  hub.upload();
  const name = await hub.verified();
  for (const [code, why] of [['3', /could not make a whole snapshot/], ['0', /the snapshot lacks [0-9a-f]{64}\n/]] as const) {
    hub.replace('restic', `case $1 in backup) rm uploads/*/*; REAL "$@"; exit ${code} ;; *) exec REAL "$@" ;; esac`);
    const { status, stderr } = await hub.send(name);
    assert.equal(status, 1);
    assert.match(stderr, why);
    assert.deepEqual(await hub.list(), []);
  }
  hub.unreplace('restic');
  assert.equal((await hub.send(name)).status, 0);
  assert.equal((await hub.list()).length, 1);
});

test('a snapshot that another process does not list is no copy, although restic ended with 0', async (t) => {
  const hub = resticHub(t);
  const name = await hub.verified();
  hub.replace('restic', 'REAL "$@" || exit; case $1 in backup) rm "$RESTIC_REPOSITORY"/snapshots/* ;; esac');
  const lost = await hub.send(name);
  hub.replace('restic', `case $1 in backup) exec REAL backup --tag hub=${'0'.repeat(16)},name=${name} . ;; esac; exec REAL "$@"`);

  for (const { status, stderr } of [lost, await hub.send(name)]) {
    assert.equal(status, 1);
    assert.match(stderr, /restic lists no snapshot [0-9a-f]{8} of /);
  }
  assert.ok(!existsSync(join(hub.dataDir, 'backups/off-site.sent')));
});

test('a run that was cut off as restic had its snapshot is known by the next one: nothing is sent twice', async (t) => {
  const hub = resticHub(t);
  const name = await hub.verified();
  hub.replace('restic', 'REAL "$@" || exit; case $1 in backup) pkill -KILL -s $(ps -o sid= $$) ;; esac');
  assert.notEqual((await hub.send(name)).status, 0);
  hub.unreplace('restic');

  const { status, stdout, stderr } = await hub.send(name);

  assert.equal(status, 0, stderr);
  assert.match(stdout, /: already there and complete\n/);
  assert.deepEqual((await hub.list()).map((one) => one.name), [name]);
});

test('a password within the address of a repository is said nowhere', async (t) => {
  const hub = resticHub(t);
  const { status, stdout, stderr } = await hub.run('off-site.sh', ['check'],
    { BACKUP_RESTIC_REPOSITORY: 'rest:http://ada:hunter2@127.0.0.1:9/hub' });
  assert.equal(status, 1);
  assert.match(stderr, /rest:http:\/\/127\.0\.0\.1:9\/hub cannot be listed/);
  assert.doesNotMatch(stdout + stderr, /hunter2/);
});
