// Protects what auditors are told of Node: the commands in src/LEDGER.md find what it says.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { PINNED } from '../support/fake-machine.ts';
import { PROJECT_ROOT, runProgram, type Outcome } from '../support/run-program.ts';
import { temporaryFolder, writeFiles } from '../support/temporary-project.ts';
import { requireTool } from '../support/tools.ts';

const [COMPARISON = ''] = blocksBelow('Node, and where it comes from');
const RELEASE = `node-v${PINNED}-linux-x64`;

function blocksBelow(chapter: string): string[] {
  const text = readFileSync(join(PROJECT_ROOT, 'src/LEDGER.md'), 'utf8');
  const [, below = ''] = text.split(`### ${chapter}\n`);
  return [...(below.split(/^##/m)[0] ?? '').matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block);
}

test('the program in the package is compared with the one that Node’s makers have signed', async (t) => {
  const released = await nodejsOrg(t);
  if (!released) return;
  assert.match(COMPARISON, new RegExp(`v${PINNED.replaceAll('.', '\\.')}/`), 'of the version that is pinned');
  const same = await compare(t, released, 'the program');
  assert.equal(same.status, 0, same.stderr);
  assert.match(same.stdout, new RegExp(`^${RELEASE}\\.tar\\.gz: OK$`, 'm'));
  assert.match(same.stderr, /Good signature from "A releaser/);

    const { status, stdout } = await compare(t, released, 'another one');
  assert.equal(status, 1);
  assert.match(stdout, /\.runtime\/node-[\d.]+\/bin\/node differ/);
});

test('an archive that was changed, and hashes that a stranger signed, are not taken for those of Node’s makers', async (t) => {
  const [released, other] = [await nodejsOrg(t), await nodejsOrg(t)];
  if (!released || !other) return;
  const changed = { ...released, archive: other.archive };
  assert.match((await compare(t, changed, 'the program')).stderr, /1 computed checksum did NOT match/);
  const forged = { ...released, sums: other.sums };
  assert.match((await compare(t, forged, 'the program')).stderr, /Can't check signature: No public key/);
});

/** Files that stand in for what is published: the archive, the signed hashes, the keys. */
type Released = { archive: string; sums: string; keys: string };

/** A release of its own, by a releaser of its own. */
async function nodejsOrg(t: TestContext): Promise<Released | undefined> {
  for (const tool of ['gpg', 'gpg-agent', 'gpgv']) if (!requireTool(t, tool)) return undefined;
  const folder = temporaryFolder(t);
  writeFiles(folder, { [`${RELEASE}/bin/node`]: 'the program', [`${RELEASE}/LICENSE`]: folder });
  const run = (line: string): string => execFileSync('sh', ['-euc', line], {
    cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], env: { PATH: process.env['PATH'], GNUPGHOME: '../keys' },
  });
  run(`mkdir -m 700 ../keys
    tar czf ${RELEASE}.tar.gz ${RELEASE}
    sha256sum ${RELEASE}.tar.gz >SHASUMS256.txt
    gpg --batch --passphrase '' --quick-generate-key 'A releaser <releaser@node.test>' ed25519
    gpg --batch --clearsign SHASUMS256.txt
    gpgconf --kill all`);
  return {
    archive: join(folder, `${RELEASE}.tar.gz`), sums: join(folder, 'SHASUMS256.txt.asc'),
    keys: join(dirname(folder), 'keys/pubring.kbx'),
  };
}

/** Runs the commands of the README; curl brings the files that were released, set-up has brought that program. */
async function compare(t: TestContext, { archive, sums, keys }: Released, program: string): Promise<Outcome> {
  const folder = temporaryFolder(t);
  const bin = join(dirname(folder), 'bin');
  writeFiles(folder, { [`.runtime/node-${PINNED}/bin/node`]: program });
  writeFiles(bin, { curl: `#!/bin/sh
    case $* in
      '-fLO https://nodejs.org/dist/v${PINNED}/${RELEASE}.tar.gz') cp '${archive}' . ;;
      '-fLO https://nodejs.org/dist/v${PINNED}/SHASUMS256.txt.asc') cp '${sums}' . ;;
      '-fLo releasers.kbx https://github.com/nodejs/release-keys/raw/HEAD/gpg/pubring.kbx') cp '${keys}' releasers.kbx ;;
      *) exit 1 ;;
    esac\n` }, 0o755);
  const env = { PATH: `${bin}:${process.env['PATH']}`, HOME: dirname(folder), LC_ALL: 'C' };
  return runProgram('sh', ['-ec', COMPARISON], { cwd: folder, env });
}
