// Protects copies on a remote of rclone: whole under their final name or not there, and never over another.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { contents, KNOWN_ROW, makeKey, NAME, offSite, type OffSite } from '../support/off-site.ts';
import { privately } from '../support/private-mounts.ts';
import { requireTool } from '../support/tools.ts';

const SEALED = 'backup.tar.gz.age';

/** A remote `box:` that is a folder of this machine, and `safe:`, an encrypted one (crypt) in it. */
function withRemote(t: TestContext): OffSite | undefined {
  if (!requireTool(t, 'rclone')) return undefined;
  const place = offSite(t);
  const password = execFileSync('rclone', ['obscure', 'a password'], { encoding: 'utf8' }).trim();
  writeFileSync(join(place.folder, 'rclone.conf'), `[box]\ntype = alias\nremote = ${place.far}\n
[safe]\ntype = crypt\nremote = ${place.far}/safe\npassword = ${password}\n`);
  place.env['BACKUP_RCLONE_REMOTE'] = 'box:';
  return place;
}

function withEncryption(t: TestContext): (OffSite & { key: ReturnType<typeof makeKey> }) | undefined {
  if (!requireTool(t, 'age')) return undefined;
  const place = withRemote(t);
  if (!place) return undefined;
  const key = makeKey(place.folder);
  place.env['BACKUP_AGE_RECIPIENT'] = key.recipient;
  return { ...place, key };
}

/** The real rclone, but the script instead when `when` is among its arguments. */
function faultyRclone(place: OffSite, when: string, script: string): void {
  place.replace('rclone', `case " $* " in *" ${when} "*) ${script} ;; *) exec REAL "$@" ;; esac`);
}

for (const remote of ['box:', 'box:hub', 'box:hub/', 'box:a folder/of mine']) {
  test(`a backup arrives at ${remote} with its three files, once, however often it is sent`, async (t) => {
    const place = withRemote(t);
    if (!place) return;
    const path = remote.slice('box:'.length).replace(/\/$/, '');

    const first = await place.send({ BACKUP_RCLONE_REMOTE: remote });
    const second = await place.send({ BACKUP_RCLONE_REMOTE: remote });

    assert.deepEqual([first.status, first.stderr], [0, '']);
    assert.match(first.stdout, new RegExp(`^off-site: box:.*${NAME}: done, read back and compared\n$`));
    assert.match(second.stdout, new RegExp(`${NAME}: already there and identical\n$`));
    assert.deepEqual(contents(join(place.far, path, NAME)), contents(place.backup));
    assert.deepEqual(readdirSync(join(place.far, path)), [NAME]);
  });
}

test("a backup arrives at an encrypted remote of rclone's and is read back through it", async (t) => {
  const place = withRemote(t);
  if (!place) return;

  const { status, stdout } = await place.send({ BACKUP_RCLONE_REMOTE: 'safe:hub' });

  assert.equal(status, 0);
  assert.match(stdout, /done, read back and compared/);
  const back = join(place.folder, 'back');
  execFileSync('rclone', ['copy', `safe:hub/${NAME}`, back], { env: place.env });
  assert.deepEqual(contents(back), contents(place.backup));
  assert.ok(!Object.keys(contents(place.far)).join().includes('hub.db'));
});

test('case 91: only backup.tar.gz.age gets to the remote, and rclone is shown nothing else', async (t) => {
  const place = withEncryption(t);
  if (!place) return;
  const seen = join(place.folder, 'seen');
  place.replace('rclone', `find "$DATA_DIR/tmp" -type f >>'${seen}'; printf '%s\\n' "$*" >>'${seen}'; exec REAL "$@"`);

  const { status, stderr } = await place.send();

  assert.deepEqual([status, stderr], [0, '']);
  assert.deepEqual(Object.keys(contents(place.far)), [`${NAME}/${SEALED}`]);
  const bytes = readFileSync(join(place.far, NAME, SEALED));
  for (const clue of ['SQLite format 3', KNOWN_ROW]) assert.equal(bytes.indexOf(clue), -1);
  assert.ok(!/hub\.db|uploads|backups\/2/.test(readFileSync(seen, 'utf8')));
  assert.deepEqual(Object.keys(contents(join(place.dataDir, 'tmp'))), []);

  execFileSync('sh', ['-c', 'age -d -i "$1" "$2" | tar xz', 'sh', place.key.path, join(place.far, NAME, SEALED)], {
    cwd: place.folder,
  });
  assert.deepEqual(contents(join(place.folder, NAME)), contents(place.backup));
  assert.match((await place.send()).stdout, /already there and identical/);
});

test('case 88: without age nothing gets to the remote', async (t) => {
  const place = withEncryption(t);
  if (!place) return;
  place.uninstall('age');
  assert.equal((await place.send()).status, 1);
  assert.deepEqual(readdirSync(place.far), []);
});

test('case 94: a remote that cannot be one is refused by the name of the variable', async (t) => {
  const place = withRemote(t);
  if (!place) return;
  for (const wrong of ['', 'mybackups', '/srv/backups', '-box:x', '--config=x:y', ':local:/x', 'box,x=y:z', ' box:x']) {
    const { status, stderr } = await place.run(['check'], { BACKUP_RCLONE_REMOTE: wrong });
    assert.equal(status, 2, wrong);
    assert.match(stderr, /BACKUP_RCLONE_REMOTE must be a remote/);
  }
});

for (const [title, env, config, message] of [
  ['an unknown remote', { BACKUP_RCLONE_REMOTE: 'nobody:hub' }, null, /has no remote nobody: \(BACKUP_RCLONE_REMOTE\)/],
  ['no configuration', { RCLONE_CONFIG: '/nowhere/rclone.conf' }, null, /has no remote box:/],
  ['an encrypted configuration without its password', {},
    `# Encrypted rclone configuration File\n\nRCLONE_ENCRYPT_V0:\n${'AAAA'.repeat(40)}\n`,
    /rclone cannot read its configuration: [^]*password/],
  ['a remote of a kind unknown to rclone', {}, '[box]\ntype = nonsense\n', /cannot be listed/],
] as const) {
  test(`case 94: with ${title} check fails at once and asks nothing`, async (t) => {
    const place = withRemote(t);
    if (!place) return;
    if (config !== null) writeFileSync(join(place.folder, 'rclone.conf'), config);

    for (const args of [['check'], ['send', place.backup]]) {
      const { status, stdout, stderr } = await place.run(args, { ...env });
      assert.deepEqual([status, stdout], [1, '']);
      assert.match(stderr, message);
    }
    assert.deepEqual(readdirSync(place.far), []);
  });
}

test('case 95: without rclone nothing is sent, and the backup here stays', async (t) => {
  const place = withRemote(t);
  if (!place) return;
  const before = contents(place.backup);
  place.uninstall('rclone');

  for (const args of [['check'], ['send', place.backup]]) {
    const { status, stdout, stderr } = await place.run(args);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, /rclone is not installed, but BACKUP_RCLONE_REMOTE requires it/);
  }

  assert.deepEqual(contents(place.backup), before);
});

test('case 96: an upload that is killed leaves nothing under the final name, and the next one repairs it', async (t) => {
  const place = withRemote(t);
  if (!place) return;
  const half = `.partial-${NAME}`;
  faultyRclone(place, 'copy', `mkdir '${place.far}/${half}'; head -c 900 "$DATA_DIR"/backups/*/hub.db >` +
    `'${place.far}/${half}/hub.db'; kill -9 0`);
  assert.notEqual((await place.send()).status, 0);
  assert.deepEqual(readdirSync(place.far), [half]);

  place.replace('rclone', 'exec REAL "$@"');
  assert.equal((await place.send()).status, 0);

  assert.deepEqual(readdirSync(place.far), [NAME]);
  assert.deepEqual(contents(join(place.far, NAME)), contents(place.backup));
});

for (const [title, when, script] of [
  ['that fails', 'copy', 'exit 1'],
  ['that says nothing and does nothing', 'copy', 'exit 0'],
  ['that changes a byte', 'copy', 'REAL "$@" && for last do :; done && printf x | dd of="$FAR/.partial-20260101-031500/hub.db" seek=9 bs=1 conv=notrunc'],
  ['whose rename fails', 'moveto', 'exit 1'],
  ['whose rename does nothing', 'moveto', 'exit 0'],
] as const) {
  test(`case 96: an upload ${title} is not called done and nothing gets the final name`, async (t) => {
    const place = withRemote(t);
    if (!place) return;
    faultyRclone(place, when, script);

    const { status, stdout, stderr } = await place.send({ FAR: place.far });

    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr, new RegExp(`${NAME}: FAILED`));
    assert.deepEqual(readdirSync(place.far), []);
  });
}

test('case 97: the same name with other content is not overwritten', async (t) => {
  const place = withRemote(t);
  if (!place) return;
  await place.send();
  appendFileSync(join(place.far, NAME, 'hub.db'), 'x');
  const before = contents(place.far);

  const { status, stdout, stderr } = await place.send();

  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /exists with different content: not overwritten/);
  assert.deepEqual(contents(place.far), before);
});

test('case 97: an encrypted copy of which nothing is known here is not overwritten', async (t) => {
  const place = withEncryption(t);
  if (!place) return;
  await place.send();
  writeFileSync(join(place.dataDir, 'backups/off-site.sent'), '');
  const before = contents(place.far);

  assert.equal((await place.send()).status, 1);
  assert.deepEqual(contents(place.far), before);
});

test('case 98: of two destinations each is reported for itself, and one that fails is not hidden', async (t) => {
  const place = withRemote(t);
  if (!place) return;
  const folder = join(place.folder, 'a second disk');
  mkdirSync(folder);

  const both = await place.send({ BACKUP_OFFSITE_DIR: folder });
  assert.equal(both.status, 0);
  assert.deepEqual(both.stdout.match(/done, read back and compared/g)?.length, 2);

  const half = await place.send({ BACKUP_OFFSITE_DIR: join(place.folder, 'unplugged') });
  assert.equal(half.status, 1);
  assert.match(half.stdout, /^off-site: box:.*already there and identical\n$/);
  assert.match(half.stderr, /unplugged does not exist/);

  const other = await place.send({ BACKUP_OFFSITE_DIR: folder, BACKUP_RCLONE_REMOTE: 'nobody:' });
  assert.equal(other.status, 1);
  assert.match(other.stdout, /second disk.*already there and identical\n$/);
});

for (const [title, program, script] of [
  ['age dies in the middle', 'age', 'case "$*" in *"-o /dev/null") exit 0 ;; esac; head -c 50000; kill -9 $$'],
  ['age stops early and says all is well', 'age', 'case "$*" in *"-o /dev/null") exit 0 ;; esac; head -c 50000; exit 0'],
  ['tar fails at its end', 'tar', 'REAL "$@"; exit 2'],
  ['rclone stores less than it was given and says all is well', 'rclone',
    'case " $* " in *" rcat "*) head -c 50000 | REAL "$@"; cat >/dev/null; exit 0 ;; *) exec REAL "$@" ;; esac'],
  ['rclone stores something else and says all is well', 'rclone',
    'case " $* " in *" rcat "*) tr a b | REAL "$@"; exit 0 ;; *) exec REAL "$@" ;; esac'],
  ['the rename does nothing', 'rclone', 'case " $* " in *" moveto "*) exit 0 ;; *) exec REAL "$@" ;; esac'],
] as const) {
  test(`an encrypted stream is not called done and nothing stays of it when ${title}`, async (t) => {
    const place = withEncryption(t);
    if (!place) return;
    place.replace(program, script);

    const { status, stdout, stderr } = await place.send();

    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, new RegExp(`${NAME}: FAILED`));
    assert.deepEqual(readdirSync(place.far), []);
    assert.deepEqual(Object.keys(contents(join(place.dataDir, 'tmp'))), []);
  });
}

/** Runs `send` where that folder is a disk of so many KiB, as this process alone sees it. */
async function onSmallDisk(t: TestContext, place: OffSite, folder: string, size: string) {
  mkdirSync(folder, { recursive: true });
  const fill = `mount -t tmpfs -o size=${size} none '${folder}'`;
  return privately(t, place, fill, `send '${place.backup}'; echo "used $(du -sk '${folder}' | cut -f 1)"`);
}

test('an encrypted copy for a remote takes no space on the disk of the hub, which may be as good as full', async (t) => {
  const place = withEncryption(t);
  if (!place) return;
  const outcome = await onSmallDisk(t, place, join(place.dataDir, 'tmp'), '64k'); // a sixth of the backup
  if (!outcome) return;

  assert.match(outcome.stdout, /done, read back and compared\nused 0\n/);
  assert.deepEqual(outcome.left, [NAME]);
});

test('a remote that fills up during the stream keeps nothing of it, and neither does the hub', async (t) => {
  const place = withEncryption(t);
  if (!place) return;
  const outcome = await onSmallDisk(t, place, place.far, '256k');
  if (!outcome) return;

  assert.match(outcome.stderr, new RegExp(`${NAME}: FAILED: .*no space left on device`));
  assert.match(outcome.stdout, /^used 0\n/);
  assert.deepEqual(Object.keys(contents(join(place.dataDir, 'tmp'))), []);
  const [last] = noted(place);
  assert.match(String(last?.['problem']), /no space left on device/);
});

test('a remote that takes no streams gets its copy only where this disk has room for it and for the hub', async (t) => {
  const place = withEncryption(t);
  if (!place) return;
  place.replace('rclone', `case " $* " in *" features "*) echo '{"Features": {
    "PutStream": false }}' ;; *) exec REAL "$@" ;; esac`);
  assert.equal((await place.send()).status, 0);
  rmSync(join(place.far, NAME), { recursive: true });
  const small = await onSmallDisk(t, place, join(place.dataDir, 'tmp'), '100m');
  if (!small) return;
  assert.match(small.stderr, /box: takes no streams, and for a copy on this disk 10\d{5} KiB are needed, 10\d{4} KiB are free/);
  assert.deepEqual(small.left, []);
});

test("what rclone says of a remote is recorded without the address's secrets", async (t) => {
  const place = withRemote(t);
  if (!place) return;
  faultyRclone(place, 'copy', 'echo "2026/01/01 ERROR : https://me:hush@far.test/x?X-Signature=hush7: refused" >&2; exit 1');

  const { stderr } = await place.send();

  const [last] = noted(place);
  assert.match(String(last?.['problem']), /FAILED: .*ERROR : https:\/\/\(hidden\)@far\.test\/x\?\(hidden\) refused/);
  assert.doesNotMatch(stderr, /hush/);
});

/** The last run and the last good one at the remote, as recorded. */
function noted({ dataDir }: OffSite): (Record<string, unknown> | null)[] {
  const kept = JSON.parse(readFileSync(join(dataDir, 'run/last-offsite-rclone.json'), 'utf8')) as Record<string, null>;
  return [kept['last'] ?? null, kept['lastGood'] ?? null];
}
