// Protects upgrades from an archive: without a git server, also of a hub without history, and only from a whole archive.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { killableUpgrade, type Killable } from '../support/killed-upgrade.ts';
import { keyring } from '../support/keyring.ts';
import { writeFiles } from '../support/temporary-project.ts';
import { testWith } from '../support/tools.ts';
import { upgradableHub } from '../support/upgradable-hub.ts';

const test = testWith('git', 'gpg', 'gpg-agent');
const OWN = ['notes.txt', 'scripts/my own.sh'];

/** A hub of version 1 that can reach no server, and the archive of version 2, beside its hashes. */
function hubAndArchive(t: TestContext, isFit = true) {
  const hub = killableUpgrade(t, isFit);
  rmSync(hub.at('remote.git'), { recursive: true });
  const archive = archiveOf(hub, '2', 'media');
  return { hub, archive };
}

/** Makes the archive of a version with release.sh. */
function archiveOf(hub: Killable, version: string, to: string, how = ''): string {
  mkdirSync(hub.at(to), { recursive: true });
  const commit = hub.git('author', 'log', '--format=%H', `--grep=^${version}$`);
  hub.git('author', 'tag', '--force', `v${version}.0.0`, commit);
  execFileSync('sh', ['-ec', `./scripts/release.sh v${version}.0.0 '${hub.at(to)}' ${how}`], { cwd: hub.at('author'), env: hub.env, stdio: 'pipe' });
  return hub.at(to, `content-hub-${version}.0.0.tar.gz`);
}

for (const [kind, hasHistory] of [['clone', true], ['hub that was unpacked from an archive', false]] as const) {
  test(`a ${kind} is upgraded from an archive, keeps what is the operator’s, and has nothing to do the second time`, async (t) => {
    const { hub, archive } = hubAndArchive(t);
    hub.begin();
    if (!hasHistory) rmSync(hub.at('world/hub/.git'), { recursive: true });
    for (const own of OWN) writeFileSync(hub.at('world/hub', own), 'of the operator');
    const { status, stdout, stderr } = await hub.run(`--from '${archive}'`);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^UPGRADED from 1\.0\.0 \(\w+\) to 2\.0\.0 \(\w+\);/m);
    assert.deepEqual([hub.versions(), hub.leftovers(), hub.mayStart()], ['2 2 2', [], true]);
    assert.equal(hub.git('world/hub', 'rev-parse', 'HEAD^{tree}'), hub.git('author', 'rev-parse', 'v2.0.0^{tree}'), 'the very files');
    for (const own of OWN) assert.equal(readFileSync(hub.at('world/hub', own), 'utf8'), 'of the operator', own);

    const again = await hub.run(`--from '${archive}'`);
    assert.deepEqual([again.status, /^already at the newest version/.test(again.stdout)], [0, true], again.stderr);
    hub.release('3');
    const next = await hub.run(`--from '${archiveOf(hub, '3', 'media')}'`);
    assert.deepEqual([next.status, hub.versions().slice(0, 3)], [0, '3 3'], next.stderr);
  });

  test(`a ${kind} keeps its version if the one in the archive does not work`, async (t) => {
    const { hub, archive } = hubAndArchive(t, false);
    hub.begin();
    if (!hasHistory) rmSync(hub.at('world/hub/.git'), { recursive: true });
    const { status, stderr } = await hub.run(`--from '${archive}'`);
    assert.equal(status, 1, stderr);
    assert.deepEqual([hub.versions(), hub.leftovers(), hub.running()], ['1 1 1', [], '11migrated to 1\n'], stderr);
  });

  test(`a ${kind} refuses an archive that is missing, changed, older or none, or would overwrite a file, and changes nothing`, async (t) => {
    const { hub, archive } = hubAndArchive(t);
    const copy = (name: string): string => {
      const to = hub.at(name, archive.split('/').at(-1) ?? '');
      mkdirSync(dirname(to));
      for (const file of [archive, join(dirname(archive), 'SHA256SUMS')]) copyFileSync(file, join(dirname(to), file.split('/').at(-1) ?? ''));
      return to;
    };
    const [changed, alone, renamed, none, taking] = [copy('changed'), copy('alone'), copy('renamed'), copy('none'), copy('taking')] as const;
    const [, hash = ''] = /^(\w+) /.exec(readFileSync(join(dirname(archive), 'SHA256SUMS'), 'utf8')) ?? [];
    const twoLines = hub.at(`changed/x\n${hash}  ${basename(archive)}`);
    appendFileSync(changed, 'x');
    copyFileSync(changed, twoLines);
    rmSync(join(dirname(alone), 'SHA256SUMS'));
    copyFileSync(renamed, hub.at('renamed/content-hub-3.0.0.tar.gz'));
    execFileSync('sh', ['-ec', 'mkdir x && echo y >x/y && tar czf content-hub-2.0.0.tar.gz x && sha256sum content-hub-2.0.0.tar.gz >SHA256SUMS'],
      { cwd: dirname(none) });
    execFileSync('sh', ['-ec', `tar xzf ${basename(taking)} && echo of the authors >content-hub-2.0.0/.env &&
      tar czf ${basename(taking)} content-hub-2.0.0 && sha256sum *.gz >SHA256SUMS`], { cwd: dirname(taking) });
    const older = archiveOf(hub, '1', 'older');
    hub.begin();
    writeFiles(hub.at('world/hub'), { '.env': '# of the operator' });
    if (!hasHistory) rmSync(hub.at('world/hub/.git'), { recursive: true });
    for (const [file, says] of [
      [changed, /the hash of .* is not the hash in the SHA256SUMS beside it/], [alone, /SHA256SUMS is missing or cannot be read/],
      [hub.at('renamed/content-hub-3.0.0.tar.gz'), /the hash of .* is not the hash/], [hub.at('nowhere.tar.gz'), /nowhere\.tar\.gz is missing/],
      [none, /is no archive of this project/], [twoLines, /is not named as release\.sh names an archive/],
      ...hasHistory ? [] : [[older, /has the version 1\.0\.0, which is not newer/] as const],
      [taking, hasHistory ? /would overwrite .*\/\.env;/ : /git could not read files in/],
    ] as const) {
      const { status, stderr } = await hub.run(`--from '${file}'`);
      assert.deepEqual([status, says.test(stderr)], [1, true], `${file}: ${stderr}`);
      assert.match(stderr, /; nothing was changed\n$/);
      assert.deepEqual([hub.versions(), hub.leftovers(), hub.running()], ['1 1 1', [], '11migrated to 1\n'], file);
      assert.equal(existsSync(hub.at('world/hub/.git')), hasHistory);
    }
    assert.equal(readFileSync(hub.at('world/hub/.env'), 'utf8'), '# of the operator');
    assert.equal((await hub.run(`--from '${archive}'`)).status, 0);
    const back = await hub.run(`--from '${older}'`);
    assert.deepEqual([back.status, /has the version 1\.0\.0, which is not newer/.test(back.stderr)], [1, true], back.stderr);
    assert.deepEqual([hub.versions(), hub.leftovers()], ['2 2 2', []]);
  });
}

test('with UPGRADE_VERIFY=signed only an archive is taken whose hashes a named key has signed', async (t) => {
  const { hub, archive } = hubAndArchive(t);
  const { makeKey, stop } = keyring(hub);
  const [ada, eve] = [makeKey('Ada'), makeKey('Eve')];
  Object.assign(hub.env, { UPGRADE_VERIFY: 'signed', UPGRADE_SIGNERS: ada });
  hub.begin();
  const refused = async (file: string, says: RegExp): Promise<void> => {
    const { status, stderr } = await hub.run(`--from '${file}'`);
    assert.deepEqual([status, says.test(stderr), hub.versions(), hub.leftovers()], [1, true, '1 1 1', []], stderr);
  };
  await refused(archive, /SHA256SUMS\.asc is missing or cannot be read; nothing was changed/);
  const signed = archiveOf(hub, '2', 'signed', `--gpg-key ${ada}`);
  await refused(archiveOf(hub, '2', 'by eve', `--gpg-key ${eve}`), new RegExp(`SHA256SUMS was signed by the key ${eve}, which is not in`));
  appendFileSync(hub.at('by eve/SHA256SUMS'), '\n');
  await refused(hub.at('by eve/content-hub-2.0.0.tar.gz'), /the signature of SHA256SUMS is missing or not valid, see above/);
  const lost = makeKey('Lost');
  hub.env['UPGRADE_SIGNERS'] = `${ada} ${lost}`;
  const byLost = archiveOf(hub, '2', 'by lost', `--gpg-key ${lost}`);
  execFileSync('sh', ['-c', `sed 's/^:---/---/' "$HOME/.gnupg/openpgp-revocs.d/${lost}.rev" | gpg --batch --quiet --import`], { env: hub.env, stdio: 'pipe' });
  await refused(byLost, /the key that signed SHA256SUMS has expired or was revoked, see above; nothing was changed/);
  const { status, stderr } = await hub.run(`--from '${signed}'`);
  assert.deepEqual([status, hub.versions()], [0, '2 2 2'], stderr);
  stop();
});

test('an upgrade from an archive killed before each of its changes leaves the old or the new version, each on its own data', async (t) => {
  const { hub, archive } = hubAndArchive(t);
  const begin = (): void => {
    hub.begin();
    rmSync(hub.at('world/hub/.git'), { recursive: true });
  };
  begin();
  const whole = await hub.run(`--from '${archive}'`);
  assert.equal(whole.status, 0, whole.stderr);
  const ends = new Set<string>();
  const last = hub.changes();
  for (let n = 1; n <= last; n++) {
    begin();
    assert.equal((await hub.run(`--from '${archive}'`, n)).status, null, `killed before change ${n}`);
    let recovered = await hub.run('--recover');
    while (recovered.status === 75) recovered = await hub.run('--recover'); // what the killed run had started ends first
    assert.equal(recovered.status, 0, `${n}: ${recovered.stderr}`);
    assert.match(hub.versions(), /^(1 1 1|2 2 2)$/, `${n}: ${recovered.stderr}`);
    assert.equal(hub.running().slice(0, 2), hub.versions().slice(0, 3).replace(' ', ''), `${n}: that version runs`);
    // Files that the archive lacks may be the operator's: they stay, and are in no history.
    assert.deepEqual([hub.leftovers(), hub.git('world/hub', 'status', '--short')], [[], '?? src/gone/'], `${n}`);
    assert.equal(readFileSync(hub.at('world/hub/src/gone/deep/one'), 'utf8'), 'gone', `${n}`);
    ends.add(hub.versions());
  }
  assert.deepEqual([...ends].sort(), ['1 1 1', '2 2 2'], `${last} changes`);
});

test('a real hub under npm start, without git history and without a server, is upgraded from an archive and keeps all posts', async (t) => {
  const hub = await upgradableHub(t);
  await hub.write('before');
  rmSync(hub.place('hub/.git'), { recursive: true });
  hub.releaseWith();
  rmSync(hub.env['REMOTE'] ?? '', { recursive: true });
  const made = await hub.run('git tag v99.1.0 && sh ./scripts/release.sh v99.1.0 "$SAFE"', 'author');
  assert.equal(made.status, 0, made.stderr);

  const { status, stdout, stderr } = await hub.upgrade('--from "$SAFE"/content-hub-99.1.0.tar.gz');
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^UPGRADED from [\d.]+ \(\w+\) to 99\.1\.0 \(\w+\);/m);
  assert.deepEqual([await hub.posts(), await hub.schema(), hub.leftovers()], [['before'], 1, []]);
  assert.equal(hub.git('status --short'), '', 'nothing of the project is unknown to its history');
});
