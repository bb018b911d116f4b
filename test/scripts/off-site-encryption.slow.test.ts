// Protects encrypted copies: nothing readable leaves the machine, and the recipient gets the whole backup.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { contents, KNOWN_ROW, makeKey, NAME, offSite, type OffSite } from '../support/off-site.ts';
import { requireTool } from '../support/tools.ts';

const SEALED = 'backup.tar.gz.age';

type Encrypted = OffSite & { key: ReturnType<typeof makeKey> };

/** Encrypted copies to a folder; undefined, and the test skipped, where age is not installed. */
function encrypted(t: TestContext): Encrypted | undefined {
  if (!requireTool(t, 'age')) return undefined;
  const place = offSite(t);
  const key = makeKey(place.folder);
  Object.assign(place.env, { BACKUP_OFFSITE_DIR: place.far, BACKUP_AGE_RECIPIENT: key.recipient });
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

test('case 91: only backup.tar.gz.age is off-site, and nothing in it can be read', async (t) => {
  const place = encrypted(t);
  if (!place) return;

  const { status, stdout } = await place.send();

  assert.equal(status, 0);
  assert.equal(stdout, `off-site: ${place.far}/${NAME}: done, read back and compared\n`);
  assert.deepEqual(Object.keys(contents(place.far)), [`${NAME}/${SEALED}`]);
  const bytes = readFileSync(join(place.far, NAME, SEALED));
  for (const clue of ['SQLite format 3', KNOWN_ROW, 'hub.db']) {
    assert.equal(bytes.indexOf(clue), -1, clue);
  }
  assert.deepEqual(Object.keys(contents(join(place.dataDir, 'tmp'))), []);
});

test('decrypted and unpacked it is the original folder, which the same command may send again', async (t) => {
  const place = encrypted(t);
  if (!place) return;
  await place.send();

  const unpacked = unpack(place, join(place.far, NAME, SEALED), place.key.path);

  assert.deepEqual(readdirSync(unpacked), [NAME]);
  assert.deepEqual(contents(join(unpacked, NAME)), contents(place.backup));
  assert.match((await place.send()).stdout, /already there and identical/);
});

test('case 90: of two recipients each can decrypt, given in the variable or in a file', async (t) => {
  const place = encrypted(t);
  if (!place) return;
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
  if (!place) return;
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
  if (!place) return;
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

for (const [title, program, script] of [
  ['age fails', 'age', 'cat >/dev/null; exit 1'],
  ['age fails after writing', 'age', 'REAL "$@" && exit 1'],
  ['age is killed in the middle', 'age', 'head -c 5000; kill -9 $$'],
  ['age stops early and says all is well', 'age', 'head -c 5000; exit 0'],
  ['age loses bytes and says all is well', 'age', 'REAL "$@" | head -c 5000; cat >/dev/null; exit 0'],
  ['tar fails', 'tar', 'REAL "$@"; exit 2'],
  ['tar is killed', 'tar', 'head -c 5000 /dev/urandom; kill -9 $$'],
  ['gzip fails', 'gzip', 'REAL "$@"; exit 1'],
  ['the disk loses a byte', 'sync', 'for last do :; done; printf x | dd of="$last/backup.tar.gz.age" seek=999 bs=1 conv=notrunc'],
] as const) {
  test(`case 89: when ${title}, nothing has the final name and it is not called done`, async (t) => {
    const place = encrypted(t);
    if (!place) return;
    if (program === 'age') faultyAge(place, script);
    else place.replace(program, script);

    const { status, stdout, stderr } = await place.send();

    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr, new RegExp(`${NAME}: FAILED`));
    assert.deepEqual(readdirSync(place.far), []);
  });
}

test('what age says when it fails is passed on without a secret in it', async (t) => {
  const place = encrypted(t);
  if (!place) return;
  faultyAge(place, `cat >/dev/null; echo "age: error: bad ${place.key.secret} here" >&2; exit 1`);

  const { stderr } = await place.send();

  assert.match(stderr, /age: error: bad \(hidden\) here/);
});

test('case 97: an encrypted copy that is another, or of which nothing is known, is not overwritten', async (t) => {
  const place = encrypted(t);
  if (!place) return;
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

test('a plain copy of an earlier setting does not pass for the encrypted one', async (t) => {
  const place = encrypted(t);
  if (!place) return;
  const { BACKUP_AGE_RECIPIENT: recipient = '', ...plain } = place.env;
  delete place.env['BACKUP_AGE_RECIPIENT'];
  assert.ok(plain['BACKUP_OFFSITE_DIR']);
  assert.equal((await place.send()).status, 0);

  assert.equal((await place.send({ BACKUP_AGE_RECIPIENT: recipient })).status, 1);
});
