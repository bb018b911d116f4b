// Protects encrypted copies: nothing readable leaves the machine, and the recipient gets the whole backup.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { contents, KNOWN_ROW, makeKey, NAME, offSite, withRemote, type OffSite } from '../support/off-site.ts';
import { privately } from '../support/private-mounts.ts';
import { testWith } from '../support/tools.ts';

const test = testWith('age', 'rclone');
const SEALED = 'backup.tar.gz.age';

type Encrypted = OffSite & { key: ReturnType<typeof makeKey> };

const PLACES = ['folder', 'remote'] as const;

/** Encrypted copies to a folder, or to a remote of rclone. */
function encrypted(t: TestContext, at: (typeof PLACES)[number] = 'folder'): Encrypted {
  const place = at === 'folder' ? offSite(t) : withRemote(t);
  if (at === 'folder') place.env['BACKUP_OFFSITE_DIR'] = place.far;
  const key = makeKey(place.folder);
  place.env['BACKUP_AGE_RECIPIENT'] = key.recipient;
  return { ...place, key };
}

/** What the operator does with the copy: age -d -i KEY backup.tar.gz.age | tar xz */
function unpack({ folder }: OffSite, sealed: string, key: string): string {
  const target = join(folder, 'unpacked');
  mkdirSync(target);
  execFileSync('sh', ['-c', 'age -d -i "$1" "$2" | tar xz', 'sh', key, sealed], { cwd: target });
  return target;
}

/** A program in age's place that passes the check and then does as the script says. */
function faultyAge(place: OffSite, script: string): void {
  place.replace('age', `case "$*" in *"-o /dev/null") exit 0 ;; esac\n${script}`);
}

for (const at of PLACES) {
  test(`case 91: only backup.tar.gz.age is at a ${at}, none of it can be read without the key, and with it it is the backup`, async (t) => {
    const place = encrypted(t, at);
    const seen = join(place.folder, 'seen');
    place.replace('rclone', `find "$DATA_DIR/tmp" -type f >>'${seen}'; printf '%s\\n' "$*" >>'${seen}'; exec REAL "$@"`);

    const { status, stdout } = await place.send();

    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`/?${NAME}: done, read back and compared\n$`));
    assert.deepEqual(Object.keys(contents(place.far)), [`${NAME}/${SEALED}`]);
    const bytes = readFileSync(join(place.far, NAME, SEALED));
    for (const clue of ['SQLite format 3', KNOWN_ROW, 'hub.db']) assert.equal(bytes.indexOf(clue), -1, clue);
    if (at === 'remote') assert.ok(!/hub\.db|uploads|backups\/2/.test(readFileSync(seen, 'utf8')), 'rclone is shown nothing else');
    assert.deepEqual(Object.keys(contents(join(place.dataDir, 'tmp'))), []);

    const unpacked = unpack(place, join(place.far, NAME, SEALED), place.key.path);
    assert.deepEqual(readdirSync(unpacked), [NAME]);
    assert.deepEqual(contents(join(unpacked, NAME)), contents(place.backup));
    assert.match((await place.send()).stdout, /already there and identical/);
  });
}

test('case 90: of two recipients each can decrypt, given in the variable or in a file', async (t) => {
  const place = encrypted(t);
  const other = makeKey(place.folder, 'other');
  const file = join(place.folder, 'the recipients');
  writeFileSync(file, `# ours\n${place.key.recipient}\n${other.recipient}\n`);

  for (const [name, recipients] of [['a', `${place.key.recipient} ${other.recipient}`], ['b', file]] as const) {
    const far = join(place.far, name);
    mkdirSync(far);
    const { status } = await place.send({ BACKUP_AGE_RECIPIENT: recipients, BACKUP_OFFSITE_DIR: far });
    assert.equal(status, 0);
    for (const { path } of [place.key, other]) {
      execFileSync('age', ['-d', '-i', path, '-o', '/dev/null', join(far, NAME, SEALED)]);
    }
  }
});

test('case 90: what is no recipient is refused before anything is made, and a secret is never repeated', async (t) => {
  const place = encrypted(t);
  const { secret, recipient } = place.key;
  const files = { both: `${recipient}\n${secret}\n`, empty: '', comment: '# none\n', garbage: 'age1nonsense\n' };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place.folder, name), text);
  const inVariable = [
    '', ' ', secret, secret.toLowerCase(), `${recipient} ${secret}`, `${recipient},${recipient}`, 'relative/path',
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN', `-i${secret}`,
  ];
  const inFile = [...Object.keys(files).map((name) => join(place.folder, name)), '/nowhere', place.folder];

  for (const [wrong, expected] of [
    ...inVariable.map((value) => [value, 2] as const),
    ...[...inFile, 'age1nonsense', `${recipient}x`, 'age1pq1nonsense'].map((value) => [value, 1] as const),
  ]) {
    for (const args of [['check'], ['send', place.backup]]) {
      const { status, stdout, stderr } = await place.run(args, { BACKUP_AGE_RECIPIENT: wrong });
      assert.equal(status, expected, `${args[0]} ${wrong}: ${stderr}`);
      assert.match(stderr, /BACKUP_AGE_RECIPIENT/);
      assert.ok(!(stdout + stderr).toUpperCase().includes(secret.slice(20)), args[0]);
    }
  }
  assert.deepEqual(readdirSync(place.far), []);
});

test('case 88: without age nothing leaves, neither in the clear nor as an empty file', async (t) => {
  const place = encrypted(t);
  const before = contents(place.backup);
  place.uninstall('age');

  for (const args of [['check'], ['send', place.backup]]) {
    const { status, stdout, stderr } = await place.run(args);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, /age is not installed, but BACKUP_AGE_RECIPIENT requires it: nothing is sent/);
  }

  assert.deepEqual(readdirSync(place.far), []);
  assert.deepEqual(contents(place.backup), before);
});

for (const [at, title, program, script] of [
  ['folder', 'age fails', 'age', 'cat >/dev/null; exit 1'],
  ['folder', 'age fails after writing', 'age', 'REAL "$@" && exit 1'],
  ['folder', 'age is killed in the middle', 'age', 'head -c 5000; kill -9 $$'],
  ['folder', 'age stops early and says all is well', 'age', 'head -c 5000; exit 0'],
  ['folder', 'age loses bytes and says all is well', 'age', 'REAL "$@" | head -c 5000; cat >/dev/null; exit 0'],
  ['folder', 'tar fails', 'tar', 'REAL "$@"; exit 2'],
  ['folder', 'tar is killed', 'tar', 'head -c 5000 /dev/urandom; kill -9 $$'],
  ['folder', 'gzip fails', 'gzip', 'REAL "$@"; exit 1'],
  ['folder', 'the disk loses a byte', 'sync',
    'for last do :; done; printf x | dd of="$last/backup.tar.gz.age" seek=999 bs=1 conv=notrunc'],
  ['remote', 'age dies in the middle', 'age', 'head -c 50000; kill -9 $$'],
  ['remote', 'age stops early and says all is well', 'age', 'head -c 50000; exit 0'],
  ['remote', 'tar fails at its end', 'tar', 'REAL "$@"; exit 2'],
  ['remote', 'rclone stores less than it was given and says all is well', 'rclone',
    'case " $* " in *" rcat "*) head -c 50000 | REAL "$@"; cat >/dev/null; exit 0 ;; *) exec REAL "$@" ;; esac'],
  ['remote', 'rclone stores something else and says all is well', 'rclone',
    'case " $* " in *" rcat "*) tr a b | REAL "$@"; exit 0 ;; *) exec REAL "$@" ;; esac'],
  ['remote', 'the rename does nothing', 'rclone', 'case " $* " in *" moveto "*) exit 0 ;; *) exec REAL "$@" ;; esac'],
] as const) {
  test(`case 89: an encrypted copy at a ${at} is not called done and nothing stays of it when ${title}`, async (t) => {
    const place = encrypted(t, at);
    if (program === 'age') faultyAge(place, script);
    else place.replace(program, script);

    const { status, stdout, stderr } = await place.send();

    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, new RegExp(`${NAME}: FAILED`));
    assert.deepEqual(readdirSync(place.far), []);
    assert.deepEqual(Object.keys(contents(join(place.dataDir, 'tmp'))), []);
  });
}

test('what age says when it fails is passed on without a secret in it', async (t) => {
  const place = encrypted(t);
  faultyAge(place, `cat >/dev/null; echo "age: error: bad ${place.key.secret} here" >&2; exit 1`);

  const { stderr } = await place.send();

  assert.match(stderr, /age: error: bad \(hidden\) here/);
});

for (const at of PLACES) {
  test(`case 97: an encrypted copy at a ${at} that is another, or of which nothing is known, is not overwritten`, async (t) => {
    const place = encrypted(t, at);
    const sealed = join(place.far, NAME, SEALED);
    await place.send();
    appendFileSync(sealed, 'x');
    const before = contents(place.far);
    assert.equal((await place.send()).status, 1);
    assert.equal((await place.send({ BACKUP_AGE_RECIPIENT: makeKey(place.folder, 'new').recipient })).status, 1);
    assert.deepEqual(contents(place.far), before);

    writeFileSync(join(place.dataDir, 'backups/off-site.sent'), '');
    const { status, stderr } = await place.send();
    assert.equal(status, 1);
    assert.match(stderr, /exists with different content/);
    assert.deepEqual(contents(place.far), before);
  });
}

test('a plain copy of an earlier setting does not pass for the encrypted one', async (t) => {
  const place = encrypted(t);
  const { BACKUP_AGE_RECIPIENT: recipient = '', ...plain } = place.env;
  delete place.env['BACKUP_AGE_RECIPIENT'];
  assert.ok(plain['BACKUP_OFFSITE_DIR']);
  assert.equal((await place.send()).status, 0);

  assert.equal((await place.send({ BACKUP_AGE_RECIPIENT: recipient })).status, 1);
});

/** Runs `send` where that folder is a disk of so many KiB, as this process alone sees it. */
async function onSmallDisk(t: TestContext, place: OffSite, folder: string, size: string) {
  mkdirSync(folder, { recursive: true });
  const fill = `mount -t tmpfs -o size=${size} none '${folder}'`;
  return privately(t, place, fill, `send '${place.backup}'; echo "used $(du -sk '${folder}' | cut -f 1)"`);
}

test('an encrypted copy for a remote takes no space on the disk of the hub, which may be as good as full', async (t) => {
  const place = encrypted(t, 'remote');
  const outcome = await onSmallDisk(t, place, join(place.dataDir, 'tmp'), '64k'); // a sixth of the backup
  if (!outcome) return;

  assert.match(outcome.stdout, /done, read back and compared\nused 0\n/);
  assert.deepEqual(outcome.left, [NAME]);
});

test('a remote that fills up during the stream keeps nothing of it, and neither does the hub', async (t) => {
  const place = encrypted(t, 'remote');
  const outcome = await onSmallDisk(t, place, place.far, '256k');
  if (!outcome) return;

  assert.match(outcome.stderr, new RegExp(`${NAME}: FAILED: .*no space left on device`));
  assert.match(outcome.stdout, /^used 0\n/);
  assert.deepEqual(Object.keys(contents(join(place.dataDir, 'tmp'))), []);
  const { last } = JSON.parse(readFileSync(join(place.dataDir, 'run/last-offsite-rclone.json'), 'utf8'));
  assert.match(last.problem, /no space left on device/);
});

test('a remote that takes no streams gets its copy only where this disk has room for it and for the hub', async (t) => {
  const place = encrypted(t, 'remote');
  place.replace('rclone', `case " $* " in *" features "*) echo '{"Features": {
    "PutStream": false }}' ;; *) exec REAL "$@" ;; esac`);
  assert.equal((await place.send()).status, 0);
  rmSync(join(place.far, NAME), { recursive: true });
  const small = await onSmallDisk(t, place, join(place.dataDir, 'tmp'), '100m');
  if (!small) return;
  assert.match(small.stderr, /box: takes no streams, and for a copy on this disk 10\d{5} KiB are needed, 10\d{4} KiB are free/);
  assert.deepEqual(small.left, []);
});
