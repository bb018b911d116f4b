// Protects UPGRADE_VERIFY=signed: of another version than one whose tag a named key has signed, nothing runs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keyring } from '../support/keyring.ts';
import { killableUpgrade } from '../support/killed-upgrade.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { requireTool } from '../support/tools.ts';

const SET_UP = readFileSync(join(PROJECT_ROOT, 'scripts/set-up.sh'), 'utf8');

test('with UPGRADE_VERIFY=signed an upgrade takes only a tag that a named key has signed; any other version neither runs nor changes anything', async (t) => {
  for (const tool of ['git', 'gpg', 'gpg-agent']) if (!requireTool(t, tool)) return;
  const hub = killableUpgrade(t, true);
  const { gpg, makeKey, stop } = keyring(hub);
  const [ada, bob, eve, stranger] = [makeKey('Ada'), makeKey('Bob'), makeKey('Eve'), makeKey('Stranger')];
  const git = (...args: string[]): string => hub.git('author', ...args);
  const commit = hub.release('2', { 'scripts/set-up.sh': `#!/bin/sh\ntouch "$HUB/../ran"\n${SET_UP}` });
  const sign = (tag: string, key: string): string => git('tag', '-s', '-u', key, '-m', tag, tag);
  for (const [tag, key] of [['v2', ada], ['bobs', bob], ['eves', eve], ['strange', stranger], ['forged', ada]] as const) {
    sign(tag, key);
  }
  git('tag', 'light');
  git('tag', '-a', '-m', 'unsigned', 'unsigned');
  git('update-ref', 'refs/tags/renamed', 'refs/tags/v2');
  const forged = git('cat-file', 'tag', 'forged').replace(/^object .*/, `object ${hub.commits[1]}`);
  const forgery = execFileSync('/usr/bin/git', ['-C', hub.at('author'), 'hash-object', '-t', 'tag', '-w', '--stdin'], {
    input: `${forged}\n`, env: hub.env, encoding: 'utf8',
  }).trim();
  git('update-ref', 'refs/tags/forged', forgery);
  git('push', '-q', '--tags', hub.at('remote.git'), 'main');
  const revocation = readFileSync(hub.at('.gnupg/openpgp-revocs.d', `${bob}.rev`), 'utf8');
  execFileSync('gpg', ['--batch', '--import'], { env: hub.env, input: revocation.replace(':---', '---'), stdio: 'pipe' });
  gpg('--yes', '--delete-secret-and-public-key', stranger);
  stop();
  Object.assign(hub.env, { UPGRADE_VERIFY: 'signed', UPGRADE_SIGNERS: `${bob} ${ada} ${stranger}` });

  const refusals: [args: string, says: RegExp][] = [
    ['', /name a signed tag with --to/],
    ['--to main', /there is no tag main/],
    [`--to ${commit}`, /there is no tag \w{40}/],
    ['--to v2~0', /v2~0 has no signature: it is no annotated tag/],
    ['--to light', /light has no signature: it is no annotated tag/],
    ['--to unsigned', /no signature found[^]*the signature of the tag unsigned is missing or not valid, see above/],
    ['--to eves', new RegExp(`the tag eves was signed by the key ${eve}, which is not in UPGRADE_SIGNERS`)],
    ['--to strange', /No public key[^]*the signature of the tag strange is missing or not valid, see above/],
    ['--to bobs', /revoked[^]*the signature of the tag bobs is missing or not valid, see above/],
    ['--to forged', /BAD signature[^]*the signature of the tag forged is missing or not valid, see above/],
    ['--to renamed', /the tag renamed was signed under another name/],
    ['--to v2^{tag}', /was signed under another name/],
  ];
  hub.begin();
  for (const [args, says] of refusals) {
    const { status, stderr } = await hub.run(args && `--to '${args.slice(5)}'`);
    assert.deepEqual([status, says.test(stderr)], [1, true], `${args}: ${stderr}`);
    assert.match(stderr, /; nothing was changed\n$/);
    assert.deepEqual([hub.git('world/hub', 'rev-parse', 'HEAD'), hub.versions()], [hub.commits[0], '1 1 1'], args);
    assert.deepEqual([hub.running(), hub.leftovers()], ['11migrated to 1\n', []], args);
    assert.ok(!existsSync(hub.at('world/ran')), `${args}: the new version ran`);
  }

  const done = await hub.run('--to v2');
  assert.equal(done.status, 0, done.stderr);
  assert.deepEqual([hub.git('world/hub', 'rev-parse', 'HEAD'), hub.versions()], [commit, '2 2 2']);
  assert.ok(existsSync(hub.at('world/ran')));
});
