// Protects copies on another disk: whole under their final name or not there, and never over another.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { contents, NAME, offSite, SCRIPT, THREE_FILES, type OffSite } from '../support/off-site.ts';
import { privately } from '../support/private-mounts.ts';
import { NOT_COMPILED, runProgram } from '../support/run-program.ts';
import { waitUntil } from '../support/wait-until.ts';


const MARK = '.content-hub-off-site'; // of versions before 2.1.0

function withFolder(t: TestContext): OffSite {
  const place = offSite(t);
  place.env['BACKUP_OFFSITE_DIR'] = place.far;
  return place;
}

test('with no destination set, nothing is said, made or done', async (t) => {
  const place = offSite(t);
  const all = (): unknown => readdirSync(place.dataDir, { recursive: true });
  const before = all();

  for (const args of [['check'], ['send', place.backup]]) {
    assert.deepEqual(await place.run(args, NOT_COMPILED), { status: 0, stdout: '', stderr: '' });
  }

  assert.deepEqual(all(), before);
});

test('what is no command or no finished backup is refused', async (t) => {
  const { run, dataDir, backup, far } = withFolder(t);
  const wrong = [[], ['send'], ['check', 'x'], ['send', 'a', 'b'], ['send', ''], ['send', '/'], ['send', dataDir]];
  for (const args of wrong) assert.equal((await run(args)).status, 2, JSON.stringify(args));

  writeFileSync(join(backup, 'evil.sh'), '');
  assert.equal((await run(['send', backup])).status, 1);
  assert.deepEqual(readdirSync(far), []);
});

test('a backup arrives with its three files and the same hashes, once, however often it is sent', async (t) => {
  const { send, run, far, backup } = withFolder(t);

  const first = await send();
  const second = await run(['send', `${backup}/`]);

  assert.equal(first.status, 0);
  assert.equal(first.stdout, `off-site: ${far}/${NAME}: done, read back and compared\n`);
  assert.equal(second.stdout, `off-site: ${far}/${NAME}: already there and identical\n`);
  assert.deepEqual(contents(join(far, NAME)), contents(backup));
  assert.deepEqual(readdirSync(far).sort(), [NAME]);
});

for (const [title, program, script] of [
  ['an off-site copy with a changed byte', 'cp', 'REAL "$@" && for last do :; done && printf x | dd of="$last/hub.db" seek=9 bs=1 conv=notrunc'],
  ['a copy that leaves a file out', 'cp', 'for last do :; done; REAL -- "$2" "$4" "$last"'],
  ['a copy that fails half-way', 'cp', 'for last do :; done; head -c 5000 "$2" >"$last/hub.db"; exit 1'],
  ['a disk that cannot sync', 'sync', 'exit 1'],
  ['a rename that fails', 'mv', 'exit 1'],
] as const) {
  test(`${title} is reported as failed, and leaves no file at the destination or in DATA_DIR/tmp`, async (t) => {
    const { send, replace, far, dataDir } = withFolder(t);
    replace(program, script);

    const { status, stdout, stderr } = await send();

    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr, new RegExp(`${NAME}: FAILED`));
    assert.deepEqual(readdirSync(far), []);
    assert.deepEqual(Object.keys(contents(join(dataDir, 'tmp'))), []);
  });
}

test('case 92: a folder that is missing or is a file is found by check, and nothing is made', async (t) => {
  const { run, send, far } = withFolder(t);
  rmSync(far, { recursive: true });
  for (const outcome of [await run(['check']), await send()]) {
    assert.equal(outcome.status, 1);
    assert.match(outcome.stderr, /does not exist: is the disk mounted\?/);
  }
  assert.throws(() => readdirSync(far));

  writeFileSync(far, '');
  assert.equal((await run(['check'])).status, 1);
  const { stderr } = await run(['check'], { BACKUP_OFFSITE_DIR: '/nowhere/storage-box' });
  assert.match(stderr, /BACKUP_OFFSITE_DIR \/nowhere\/storage-box does not exist/, 'a name is not taken for a key of age');
});

test('case 92: an empty mount point where backups were sent before is not taken for the disk', async (t) => {
  const { send, run, far, env, backup } = withFolder(t);
  await send();
  rmSync(far, { recursive: true });
  mkdirSync(far);

  const unmounted = await run(['check']);
  assert.equal(unmounted.status, 1);
  assert.match(unmounted.stderr, /contains none of the earlier copies: is the disk mounted\?/);
  writeFileSync(join(far, MARK), '');
  assert.equal((await send()).status, 1, 'a mark of earlier versions is no copy');
  assert.deepEqual(readdirSync(far), [MARK]);

  const [, advice = ''] = /If this is a new disk: (.*)/.exec(unmounted.stderr) ?? [];
  const { status, stdout } = await runProgram('sh', ['-c', advice], { env });
  assert.deepEqual([status, stdout], [0, `off-site: ${far}/${NAME}: done, read back and compared\n`]);
  assert.deepEqual([readdirSync(far), contents(join(far, NAME))], [[NAME], contents(backup)], 'and nothing else');
  assert.equal((await run(['check'])).status, 0);
});

test('two disks that take turns are both known by any of their copies, and get what they lack; a new disk needs a backup', async (t) => {
  const { run, far, backup, dataDir } = withFolder(t);
  const other = `${far} B`;
  const turn = (): void => [[far, `${far} C`], [other, far], [`${far} C`, other]].forEach(([from = '', to = '']) => renameSync(from, to));
  const next = join(dataDir, 'backups/20260102-031500');
  mkdirSync(other);
  assert.equal((await run(['send', backup])).status, 0);
  turn();
  assert.equal((await run(['--new-disk'])).status, 0);
  cpSync(backup, next, { recursive: true });
  turn();
  assert.equal((await run(['send', next])).status, 0, 'the first disk, without --new-disk');
  turn();
  assert.equal((await run(['send', next])).status, 0, 'the second');
  assert.deepEqual([readdirSync(far), readdirSync(other)], [[NAME, '20260102-031500'], [NAME, '20260102-031500']]);

  for (const path of [backup, next]) rmSync(path, { recursive: true });
  const { status, stderr } = await run(['--new-disk']);
  assert.deepEqual([status, /is not a backup folder|there is no backup/.test(stderr)], [2, true], stderr);
});

test('case 92: a share whose server is gone is given a minute, and then said not to answer', async (t) => {
  const { run, send, replace, far } = withFolder(t);
  const asked = join(far, '../asked');
  replace('timeout', `case "$*" in *stat*) echo "$*" >>'${asked}'; exit 124 ;; *) exec REAL "$@" ;; esac`);
  for (const outcome of [await run(['check']), await send()]) {
    assert.equal(outcome.status, 1);
    assert.match(outcome.stderr, /the far disk does not answer: is its server reachable\?\n$/);
  }
  assert.match(readFileSync(asked, 'utf8'), /^-k 5 60 stat -- /);
  assert.deepEqual(readdirSync(far), []);
});

test('case 92: a read-only folder is found by check', async (t) => {
  const place = withFolder(t);
  const outcome = await privately(t, place, 'mount --bind "$F" "$F" && mount -o remount,bind,ro "$F"', 'check');
  if (!outcome) return;
  assert.equal(outcome.status, 1);
  assert.match(outcome.stderr, /is not writable: is it read-only/);
});

test('case 92: another disk is fine, the same disk as the data gets a note', async (t) => {
  const place = withFolder(t);
  const note = /is on the same disk as DATA_DIR/;
  assert.match((await place.run(['check'])).stderr, note);

  const other = await privately(t, place, 'mount -t tmpfs none "$F"', `send '${place.backup}'`);
  if (!other) return;
  assert.deepEqual([other.status, other.stderr], [0, '']);
  assert.deepEqual(other.left, [NAME]);
});

test('case 93: a folder inside DATA_DIR is refused, also through a link', async (t) => {
  const { run, dataDir, folder } = withFolder(t);
  for (const inside of ['', '/backups', '/backups/', '/x/../tmp']) {
    const { status, stderr } = await run(['check'], { BACKUP_OFFSITE_DIR: dataDir + inside });
    assert.equal(status, 2, inside);
    assert.match(stderr, /BACKUP_OFFSITE_DIR must be outside DATA_DIR/);
  }

  symlinkSync(join(dataDir, 'backups'), join(folder, 'link'));
  const linked = await run(['check'], { BACKUP_OFFSITE_DIR: join(folder, 'link') });
  assert.equal(linked.status, 1);
  assert.match(linked.stderr, /is inside DATA_DIR/);
});

test('case 93: the folder of the backups themselves is no other place, by whatever name or mount', async (t) => {
  const place = withFolder(t);
  const { backup, folder } = place;
  const outside = join(folder, 'backups elsewhere');
  renameSync(join(backup, '..'), outside);
  const [env, link] = [{ BACKUP_DIR: outside }, join(folder, 'link')];
  symlinkSync(outside, link);

  const linked = await place.run(['send', join(outside, NAME)], { ...env, BACKUP_OFFSITE_DIR: link });
  assert.equal(linked.status, 1);
  assert.match(linked.stderr, /is inside BACKUP_DIR/);

  Object.assign(place.env, env);
  const bound = await privately(t, place, `mount --bind '${outside}' "$F"`, `send '${join(outside, NAME)}'`);
  assert.equal(bound?.status ?? 1, 1);
  assert.match(bound?.stderr ?? 'is BACKUP_DIR itself', /is BACKUP_DIR itself/);
});

test('case 97: the same name with other content, or none, is not overwritten', async (t) => {
  const { send, far, folder, backup } = withFolder(t);
  await send();
  appendFileSync(join(far, NAME, 'hub.db'), 'x');
  const before = contents(far);

  const { status, stdout, stderr } = await send();

  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /exists with different content: not overwritten/);
  assert.deepEqual(contents(far), before);
  assert.deepEqual(Object.keys(contents(backup)), THREE_FILES);

  for (const make of [() => symlinkSync(join(folder, 'nowhere'), join(far, NAME)), () => mkdirSync(join(far, NAME))]) {
    rmSync(join(far, NAME), { recursive: true });
    make();
    assert.equal((await send()).status, 1, 'neither a link nor an empty folder counts as the backup');
  }
  assert.deepEqual(readdirSync(join(far, NAME)), []);
});

test('two at once: the second says that it is busy, and a killed one blocks nobody', async (t) => {
  const { send, replace, folder, env, backup } = withFolder(t);
  replace('cp', `touch '${folder}/copying'; exec sleep 60`);
  const first = spawn('sh', [SCRIPT, 'send', backup], { env, detached: true, stdio: 'ignore' });
  t.after(() => first.pid !== undefined && (first.exitCode ?? first.signalCode) === null && process.kill(-first.pid, 'SIGKILL'));
  await waitUntil('the first one copies', () => readdirSync(folder).includes('copying'));

  const second = await send();
  assert.equal(second.status, 75);
  assert.match(second.stderr, /BUSY: another off-site copy is running/);

  if (first.pid !== undefined) process.kill(-first.pid, 'SIGKILL');
  await new Promise((resolve) => first.once('close', resolve));
  replace('cp', 'exec REAL "$@"');
  assert.equal((await send()).status, 0);
});
