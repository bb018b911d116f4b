// Protects the rehearsal of a restore: true about the backup, and no plaintext or process is left.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { changeDatabase, copyOf, harmUnseen } from '../support/backup-hub.ts';
import { lengthenPosts } from '../support/stored-posts.ts';
import { makeKey, sealBackup } from '../support/off-site.ts';
import { restorableHub, stateOf } from '../support/restore-hub.ts';
import { compiledIn, PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { temporaryFolder } from '../support/temporary-project.ts';
import { requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const VERIFY = join(PROJECT_ROOT, 'scripts/verify-backup.sh');

async function rehearsedHub(t: TestContext) {
  const hub = await restorableHub(t);
  const scratch = temporaryFolder(t); // of verify-backup.sh, which must leave nothing in it
  const env = { PATH: '/usr/bin:/bin', HUB_NODE: process.execPath, DATA_DIR: hub.dataDir, TMPDIR: scratch, ...compiledIn(hub.dataDir) };
  const run = (args: string[], more: Record<string, string> = {}) =>
    runProgram(VERIFY, args, { env: { ...env, ...more }, cwd: '/' });
  return { ...hub, scratch, env, run };
}

test('a rehearsal restores a backup beside the hub, has it served, and leaves nothing', async (t) => {
  const { dataDir, backup, scratch, run } = await rehearsedHub(t);
  await run([backup]); // notes its result in DATA_DIR/run
  const before = stateOf(dataDir).filter((line) => !line.includes('/run'));

  const { status, stdout, stderr } = await run(['--rehearse', backup]);

  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /VERIFIED: this backup can be restored\.\nRestore rehearsal\n/);
  assert.match(stdout, /health {7}ready\n {2}page {9}the timeline, .*\n {2}attachment {3}"a\.txt", 13 bytes, SHA-256 equal\n/);
  assert.match(stdout, /\nREHEARSED: restored in \d+ s; the restored hub answered every request\.\n$/);
  assert.deepEqual(readdirSync(scratch), []);
  assert.deepEqual(stateOf(dataDir).filter((line) => !line.includes('/run')), before);
});

test('a rehearsal without TMPDIR works beside the backup', async (t) => {
  const { backup, run } = await rehearsedHub(t);
  const { status, stdout } = await run(['--rehearse', backup], { TMPDIR: '' });
  assert.equal(status, 0, stdout);
  assert.deepEqual(readdirSync(join(backup, '..')), [backup.split('/').at(-1)]);
});

test('a rehearsal that would take from the reserve of the hub’s disk is refused, and leaves nothing', async (t) => {
  const { backup, scratch, run } = await rehearsedHub(t);
  const { status, stdout } = await run(['--rehearse', backup], { DISK_RESERVE_BYTES: String(2 ** 48) });
  assert.equal(status, 1);
  assert.match(stdout, /FAILED: the backup could not be restored: .*not enough disk space: .* keeps free for repairs/);
  assert.deepEqual(readdirSync(scratch), []);
});

test('a rehearsal fails where the verified backup brings up no hub, and where it is no good at all', async (t) => {
  const { backup, scratch, run } = await rehearsedHub(t);
  const headless = copyOf(backup, 'headless');
  harmUnseen(headless);
  const started = await run(['--rehearse', headless]);
  assert.equal(started.status, 1);
  assert.match(started.stdout, /VERIFIED[^]*\nFAILED: the restored hub did not start: .*its_table.*\n$/);

  const damaged = copyOf(backup, 'damaged');
  writeFileSync(join(damaged, 'uploads.tar.gz'), 'no archive');
  const refused = await run(['--rehearse', damaged]);
  assert.equal(refused.status, 1);
  assert.match(refused.stdout, /FAILED: .*Do not restore this backup\.\n$/);
  assert.deepEqual(readdirSync(scratch), []);
});

for (const [signal, status] of [['SIGTERM', 143], ['SIGINT', 130], ['SIGHUP', 129]] as const) {
  test(`${signal} ends a rehearsal with ${status} and removes what it had laid out`, async (t) => {
    const { backup, scratch, env } = await rehearsedHub(t);
    const child = spawn(VERIFY, ['--rehearse', backup], { env, cwd: '/', stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await waitUntil('it restores', () => readdirSync(scratch).length > 0);
    child.kill(signal);
    assert.equal(await ended, status);
    assert.deepEqual(readdirSync(scratch), []);
  });
}

/** The backup as it lies elsewhere, encrypted for a new key. */
async function sealedHub(t: TestContext) {
  if (!requireTool(t, 'age')) return undefined;
  const hub = await rehearsedHub(t);
  const folder = temporaryFolder(t);
  const key = makeKey(folder);
  // Longer than two of the chunks that age encrypts by themselves.
  changeDatabase(hub.backup, (db) => lengthenPosts({ db }));
  return { ...hub, folder, key, sealed: sealBackup(hub.backup, key.recipient, folder) };
}

test('case 54: an encrypted copy is verified and rehearsed with its key, and no plaintext is left', async (t) => {
  const hub = await sealedHub(t);
  if (!hub) return;
  for (const args of [[hub.sealed], [join(hub.sealed, '..')], ['--rehearse', hub.sealed]]) {
    const { status, stdout, stderr } = await hub.run(['--identity', hub.key.path, ...args]);
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, args.length > 1 ? /\nREHEARSED: .*\n$/ : /\nVERIFIED: this backup can be restored\.\n$/);
    assert.ok(stdout.includes(`Backup ${hub.name} `));
    assert.deepEqual(readdirSync(hub.scratch), []);
  }
  assert.equal((await hub.run([hub.sealed, '--identity', hub.key.path])).status, 0, 'in the order of restore.sh');
  for (const path of [hub.sealed, join(hub.sealed, '..')]) {
    const { status, stdout } = await hub.run([path]);
    assert.equal(status, 1);
    assert.match(stdout, /^FAILED: .* is encrypted: add --identity KEY, the file that holds the secret key\n$/);
  }
});

test('case 54: a wrong key, a cut, a flipped byte or one too many fails, and no plaintext is left', async (t) => {
  const hub = await sealedHub(t);
  if (!hub) return;
  const bytes = readFileSync(hub.sealed);
  const header = bytes.indexOf('\n', bytes.indexOf('\n---') + 1) + 1;
  const chunk = 65_536 + 16;
  assert.ok(header > 40 && bytes.length > header + 16 + 2 * chunk);
  const flipped = Buffer.from(bytes);
  flipped[bytes.length - 40] = (flipped[bytes.length - 40] ?? 0) ^ 1;
  const harmed: Record<string, Buffer> = {
    'cut by one': bytes.subarray(0, -1),
    'cut at a chunk': bytes.subarray(0, header + 16 + chunk),
    'cut in its header': bytes.subarray(0, 40),
    'a flipped byte': flipped,
    'one byte more': Buffer.concat([bytes, Buffer.from('x')]),
    'nothing': Buffer.alloc(0),
  };
  for (const [what, content] of Object.entries(harmed)) {
    const path = join(hub.folder, 'harmed.age');
    writeFileSync(path, content);
    const { status, stdout } = await hub.run(['--identity', hub.key.path, path]);
    assert.equal(status, 1, what);
    assert.match(stdout, /^FAILED: .* could not be fully decrypted: /, what);
    assert.deepEqual(readdirSync(hub.scratch), [], what);
  }
  const wrong = makeKey(hub.folder, 'other key');
  const { status, stdout, stderr } = await hub.run(['--identity', wrong.path, hub.sealed]);
  assert.equal(status, 1);
  assert.match(stdout, /^FAILED: /);
  assert.ok(!(stdout + stderr).includes(wrong.secret));
  assert.deepEqual(readdirSync(hub.scratch), []);
});

test('case 54: what was encrypted for the key but is no backup is refused', async (t) => {
  const hub = await sealedHub(t);
  if (!hub) return;
  const inner = join(hub.folder, 'inner');
  mkdirSync(join(inner, hub.name), { recursive: true });
  const seal = (script: string): void => {
    const line = `${script} | gzip | age -r '${hub.key.recipient}' -o '${hub.folder}/odd.age'`;
    execFileSync('sh', ['-c', line], { cwd: inner });
  };
  execFileSync('sh', ['-c', `ln -s /etc/passwd '${hub.name}/hub.db'; mkdir other; ln -s /etc 20300101-000000`], { cwd: inner });
  for (const members of [hub.name, 'other', `${hub.name} other`, '20300101-000000', `-P --transform 's,other,../outside,' other`]) {
    seal(`tar -cf - ${members}`);
    const { status, stdout } = await hub.run(['--identity', hub.key.path, join(hub.folder, 'odd.age')]);
    assert.equal(status, 1, members);
    assert.match(stdout, /FAILED: /);
    assert.deepEqual(readdirSync(hub.scratch), []);
  }
});

test('case 54: wrong usage, a missing key, a missing copy and a missing age are said', async (t) => {
  const hub = await rehearsedHub(t);
  for (const args of [['--identity'], ['--identity', ''], ['--identity', 'key'], ['--rehearse'], ['--identity', 'k', 'a', 'b']]) {
    assert.equal((await hub.run(args)).status, 2, args.join());
  }
  const key = join(hub.scratch, '../key');
  writeFileSync(key, 'a key');
  assert.match((await hub.run(['--identity', '/nowhere', key])).stdout,
    /^FAILED: \/nowhere is not a readable key file\n$/);
  assert.match((await hub.run(['--identity', key, '/nowhere'])).stdout, /^FAILED: \/nowhere is not a readable file\n$/);
});
