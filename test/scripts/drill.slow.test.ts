// Protects drills: what is called proven was restored and ran, what fails is recorded and told, and nothing else changes.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Destination } from '../../src/features/backups/offsite-status.ts';
import { NOBODY, requireAnotherUser } from '../support/another-user.ts';
import { changeDatabase } from '../support/backup-hub.ts';
import { drilledHub, processesWith, type DrilledHub } from '../support/drills.ts';
import { contents, makeKey } from '../support/off-site.ts';
import { flipBit } from '../support/restic.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { lengthenPosts } from '../support/stored-posts.ts';
import { writeFiles } from '../support/temporary-project.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('age', 'rclone', 'restic');
const DRILL = join(PROJECT_ROOT, 'scripts/drill.sh');

for (const destination of ['dir', 'rclone', 'restic'] as const) {
  test(`a drill proves that the newest off-site copy at ${destination} can be restored, and changes nothing else`, async (t) => {
    const hub = drilledHub(t, destination);
    await hub.sent();
    const name = await hub.sent();
    const before = hub.state();

    const { status, stdout, stderr } = await hub.drill();

    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, new RegExp(`VERIFIED: .*\n[^]*\nREHEARSED: [^]*\nPROVEN: .*${name}.* was fetched, verified and restored\\.\n$`));
    const { last, lastProven } = hub.recorded();
    assert.deepEqual([last?.outcome, last?.name, last?.problem], ['proven', name, null]);
    assert.deepEqual(lastProven, last);
    assert.deepEqual(hub.state(), before);
    assert.deepEqual(hub.leftovers(), []);
    assert.deepEqual(processesWith(`${hub.dataDir}/tmp/`), []);
  });
}

for (const destination of ['dir', 'rclone'] as const) {
  test(`an encrypted copy at ${destination} is compared without its key, and proven with it`, async (t) => {
    const hub = drilledHub(t, destination, true);
    const name = await hub.sent();

    const compared = await hub.drill();
    assert.equal(compared.status, 0, compared.stdout + compared.stderr);
    assert.match(compared.stdout, new RegExp(`^COMPARED: .*${name} is as it was sent\\. Only --identity KEY proves`));
    assert.deepEqual([hub.recorded().last?.outcome, hub.recorded().lastProven], ['compared', null]);

    const proven = await hub.drill(['--identity', hub.keyPath]);
    assert.equal(proven.status, 0, proven.stdout + proven.stderr);
    assert.match(proven.stdout, /\nPROVEN: /);
    await hub.drill();
    assert.deepEqual([hub.recorded().last?.outcome, hub.recorded().lastProven?.outcome], ['compared', 'proven']);

    const other = await hub.drill(['--identity', makeKey(hub.folder, 'other key').path]);
    assert.equal(other.status, 1);
    assert.match(hub.recorded().last?.problem ?? '', /could not be fully decrypted: age: error: no identity matched/);
    assert.deepEqual(hub.leftovers(), []);
  });
}

/** That file of the newest copy. */
function newestFile({ far }: DrilledHub, file: string): string {
  const name = readdirSync(far).filter((one) => /^\d/.test(one)).sort().at(-1) ?? '';
  return join(far, name, file);
}

/** Holds a lock until the returned function is called. */
async function holdLock(t: TestContext, path: string): Promise<() => Promise<void>> {
  const child = spawn('flock', ['-n', path, 'sh', '-c', 'echo held; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const release = async (): Promise<void> => {
    child.stdin.end();
    await ended;
  };
  t.after(release);
  await once(child.stdout, 'data');
  return release;
}

/** Ways to harm the newest copy on its disk, and what a drill then says. */
const HARM: [what: string, destination: Destination, isSealed: boolean, harm: (hub: DrilledHub) => void, says: RegExp][] = [
  ['a flipped bit in a folder', 'dir', false, (hub) => flipBit(newestFile(hub, 'hub.db')), /hub\.db does not match SHA256SUMS/],
  ['a flipped bit on a remote', 'rclone', false, (hub) => flipBit(newestFile(hub, 'uploads.tar.gz')), /uploads\.tar\.gz(: the archive is damaged| does not match)/],
  ['a flipped bit in an encrypted copy', 'dir', true, (hub) => flipBit(newestFile(hub, 'backup.tar.gz.age')), /differs from what was sent$/],
  ['an encrypted copy that is gone', 'rclone', true, (hub) => rmSync(newestFile(hub, 'backup.tar.gz.age')), /could not be fetched: /],
  ['a copy that is gone', 'dir', false, (hub) => rmSync(dirname(newestFile(hub, 'hub.db')), { recursive: true }), /is missing: is the disk mounted\?$/],
  ['a copy that is whole, but of other data', 'dir', false, (hub) => {
    changeDatabase(dirname(newestFile(hub, 'hub.db')), (db) => lengthenPosts({ db }));
  }, /differs from what was sent$/],
  ['a restic repository that lost a pack', 'restic', false, (hub) => {
    for (const path of Object.keys(contents(join(hub.far, 'data')))) rmSync(join(hub.far, 'data', path));
  }, /could not be fetched/],
  ['a restic repository whose disk is away', 'restic', false, (hub) => rmSync(hub.far, { recursive: true }), /: is the disk mounted\? It held copies before\.$/],
];

for (const [what, destination, isSealed, harm, says] of HARM) {
  test(`a drill finds ${what}: it fails, is recorded, and hubctl status says so`, async (t) => {
    const hub = drilledHub(t, destination, isSealed);
    const name = await hub.sent();
    harm(hub);
    const before = hub.state();

    const { status, stdout, stderr } = await hub.drill();

    assert.equal(status, 1, stdout + stderr);
    assert.match(stdout, /(^|\n)FAILED: .*\n$/);
    const { last, lastProven } = hub.recorded();
    assert.deepEqual([last?.outcome, last?.name, lastProven], ['failed', name, null]);
    assert.match(last?.problem ?? '', says);
    assert.deepEqual(hub.state(), before);
    assert.deepEqual(hub.leftovers(), []);
    const shown = await hub.run('hubctl', ['status']);
    assert.equal(shown.status, 1);
    assert.match(shown.stdout, new RegExp(`WARN Last proven restore \\(.*\\n +The last drill with an off-site copy \\(${destination}\\) failed: `));
  });
}

for (const destination of ['dir', 'restic'] as const) {
  test(`without room for the copy from ${destination} and the restored data a drill says so and fetches nothing`, async (t) => {
    const hub = drilledHub(t, destination);
    await hub.sent();
    const before = hub.state();
    const { status, stdout } = await hub.drill([], { DISK_RESERVE_BYTES: String(2 ** 48) });
    assert.equal(status, 1);
    assert.match(stdout, /^FAILED: not enough disk space: a drill may need .* that the hub keeps free .* is free\. Make room on the disk of DATA_DIR/);
    assert.match(hub.recorded().last?.problem ?? '', /^not enough disk space/);
    assert.deepEqual(hub.state(), before);
    assert.deepEqual(hub.leftovers(), []);
  });
}

test('wrong usage, a destination that is not set, a missing key and a copy that was never sent are said, and nothing is recorded', async (t) => {
  const hub = drilledHub(t, 'dir');
  for (const args of [['tape'], ['--identity'], ['dir', 'dir'], ['restic', '--identity', 'key'], ['rclone']]) {
    assert.equal((await hub.run('drill.sh', args)).status, 2, args.join(' '));
  }
  delete hub.env['BACKUP_OFFSITE_DIR'];
  const none = await hub.run('drill.sh');
  assert.deepEqual([none.status, none.stderr], [2, 'drill: no off-site destination is set\n']);
  hub.env['BACKUP_OFFSITE_DIR'] = hub.far;
  const early = await hub.drill();
  assert.deepEqual([early.status, early.stdout], [1, 'FAILED: no copy has been sent to dir yet: run ./scripts/backup.sh\n']);
  await hub.sent();
  const keyless = await hub.drill(['--identity', '/nowhere']);
  assert.deepEqual([keyless.status, keyless.stdout], [1, 'FAILED: /nowhere is not a readable key file\n']);
  assert.deepEqual(hub.recorded(), { last: null, lastProven: null });
});

test('one drill runs at a time, and none while copies are sent; a copy waits for a drill that fetches', async (t) => {
  const hub = drilledHub(t, 'dir');
  const name = await hub.sent();
  const hold = (lock: string) => holdLock(t, join(hub.dataDir, 'run', lock));
  const drilling = await hold('drill.lock');
  assert.match((await hub.drill()).stderr, /^drill: BUSY: another drill is running/);
  const fetching = await hold('off-site.lock');
  let isOver = false;
  const sending = hub.run('backup.sh').finally(() => (isOver = true));
  await waitUntil('the backup waits for the drill', () => readdirSync(join(hub.dataDir, 'backups')).filter((name) => /^\d/.test(name)).length > 1 && !isOver, 600_000);
  await fetching();
  const { status, stdout, stderr } = await sending;
  assert.equal(status, 0, stdout + stderr);
  await drilling();
  const release = await hold('off-site.lock');
  const { status: busy, stderr: said } = await hub.drill();
  assert.deepEqual([busy, said], [75, 'drill: BUSY: off-site copies are being made\n']);
  assert.equal((await hub.run('off-site.sh', ['send', join(hub.dataDir, 'backups', name)])).status, 75);
  await release();
  assert.deepEqual(hub.recorded().last, null);
});

for (const [signal, code] of [['SIGTERM', 143], ['SIGINT', 130], ['SIGHUP', 129]] as const) {
  test(`${signal} ends a drill with ${code}: nothing is recorded, and no file and no process is left`, async (t) => {
    const hub = drilledHub(t, 'dir');
    await hub.sent();
    const child = spawn('sh', [DRILL, 'dir'], { env: hub.env, cwd: '/', stdio: 'ignore', detached: true });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await waitUntil('the temporary hub starts', () => processesWith(`${hub.dataDir}/tmp/drill.`).some((one) => one.includes('web.ts')), 600_000);
    child.kill(signal);
    assert.equal(await ended, code);
    assert.deepEqual(hub.recorded(), { last: null, lastProven: null });
    assert.deepEqual(hub.leftovers(), []);
    assert.deepEqual(processesWith(`${hub.dataDir}/tmp/drill.`), []);
  });
}

test('root drills a hub of another account with a key that only root can read, and all that is left is that account’s', async (t) => {
  if (!requireAnotherUser(t)) return;
  const hub = drilledHub(t, 'dir', true);
  hub.db.close();
  execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, dirname(hub.folder)]);
  chownSync(hub.keyPath, 0, 0);
  await hub.sent();
  const { status, stdout, stderr } = await hub.drill(['--identity', hub.keyPath]);
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /\nPROVEN: /);
  assert.equal(statSync(join(hub.dataDir, 'run/last-drill-dir.json')).uid, NOBODY);
  assert.deepEqual(hub.leftovers(), []);
});

test('an account that flips files of DATA_DIR into links while root runs a script makes root write nothing elsewhere', async (t) => {
  if (!requireAnotherUser(t)) return;
  const hub = drilledHub(t, 'dir');
  hub.db.close();
  const [own, roots, flips] = [join(hub.folder, 'own'), join(hub.folder, 'of root'), join(hub.folder, 'flips')];
  for (const path of [own, roots, flips]) mkdirSync(path);
  execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, dirname(hub.folder)]);
  await hub.sent();
  execFileSync('chown', ['0:0', roots, own]);
  chmodSync(roots, 0o700);
  chmodSync(own, 0o755);
  // What the account runs at the worst instant: right after a script has made a file of its own, there is a link.
  writeFiles(own, { touch: `#!/bin/sh
/usr/bin/touch "$@" || exit
[ "$(id -u)" -ne 0 ] || exit 0
for file; do
  case $file in */run/*) ln -sfT -- '${roots}/'"$(basename -- "$file")" "$file" && : >'${flips}'/"$(basename -- "$file")" ;; esac
done
` }, 0o755);
  const env = { PATH: `${own}:/usr/bin:/bin`, CONFIRM_RESTORE: 'YES' };
  await hub.drill([], env);
  await hub.run('restore.sh', ['--recover'], env);
  await hub.run('restore.sh', [join(hub.dataDir, 'backups', hub.backups()[0] ?? '')], env);
  assert.deepEqual(readdirSync(flips).toSorted(), ['backup.flock', 'drill.lock', 'off-site.lock'], 'each lock was flipped');
  assert.deepEqual(readdirSync(roots), []);
});

test('a night ends with the drill that is due, and the next one makes none; a drill that fails spoils no night', async (t) => {
  const hub = drilledHub(t, 'dir');
  const drillsInLog = (): number =>
    readFileSync(join(hub.dataDir, 'backups/nightly.log'), 'utf8').split('Z drill\n').length - 1;
  assert.equal((await hub.run('nightly-backup.sh', [], { DRILL_EVERY_DAYS: '0' })).status, 0);
  assert.equal(drillsInLog(), 0);
  for (const nights of [1, 2]) {
    assert.equal((await hub.run('nightly-backup.sh')).status, 0, `night ${nights}`);
    assert.deepEqual([drillsInLog(), hub.recorded().last?.outcome], [1, 'proven']);
  }
  rmSync(join(hub.dataDir, 'run/last-drill-dir.json'));
  writeFiles(join(hub.folder, 'tmp'), { tar: '#!/bin/sh\nexit 1\n' }, 0o755); // a drill runs tar, a backup does not
  assert.equal((await hub.run('nightly-backup.sh', [], { PATH: `${hub.folder}/tmp:/usr/bin:/bin` })).status, 0);
  assert.deepEqual([drillsInLog(), hub.recorded().last?.outcome], [2, 'failed']);
});
