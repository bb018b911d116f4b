// Protects copies on a remote of rclone: whole under their final name or not there, and never over another.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contents, NAME, withRemote, type OffSite } from '../support/off-site.ts';
import { testWith } from '../support/tools.ts';

const test = testWith('rclone');

/** The real rclone, but the script instead when `when` is among its arguments. */
function faultyRclone(place: OffSite, when: string, script: string): void {
  place.replace('rclone', `case " $* " in *" ${when} "*) ${script} ;; *) exec REAL "$@" ;; esac`);
}

for (const remote of ['box:', 'box:hub', 'box:hub/', 'box:a folder/of mine']) {
  test(`a backup arrives at ${remote} with its three files, once, however often it is sent`, async (t) => {
    const place = withRemote(t);
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

  const { status, stdout } = await place.send({ BACKUP_RCLONE_REMOTE: 'safe:hub' });

  assert.equal(status, 0);
  assert.match(stdout, /done, read back and compared/);
  const back = join(place.folder, 'back');
  execFileSync('rclone', ['copy', `safe:hub/${NAME}`, back], { env: place.env });
  assert.deepEqual(contents(back), contents(place.backup));
  assert.ok(!Object.keys(contents(place.far)).join().includes('hub.db'));
});

test('case 94: a remote that cannot be one is refused by the name of the variable', async (t) => {
  const place = withRemote(t);
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
  await place.send();
  appendFileSync(join(place.far, NAME, 'hub.db'), 'x');
  const before = contents(place.far);

  const { status, stdout, stderr } = await place.send();

  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /exists with different content: not overwritten/);
  assert.deepEqual(contents(place.far), before);
});

test('case 98: of two destinations each is reported for itself, and one that fails is not hidden', async (t) => {
  const place = withRemote(t);
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

test("what rclone says of a remote is recorded without the address's secrets", async (t) => {
  const place = withRemote(t);
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
