// Protects whoever installs a release: the same tag makes the same bytes everywhere, and a changed archive is noticed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { readHandbook } from '../support/handbook.ts';
import { type Outcome, runProgram } from '../support/run-program.ts';
import { temporaryProject, writeFiles } from '../support/temporary-project.ts';
import { testWith } from '../support/tools.ts';

const test = testWith('git', 'gpg', 'gpg-agent', 'ssh-keygen');
const PARTS = ['.gitignore', '.npmrc', 'LICENSE', 'README.md', 'package-lock.json', 'package.json', 'scripts', 'migrations'];

/** Authors with a version that they have tagged, whose files have modes and ends of lines of all kinds. */
function authors(t: TestContext) {
  const folder = temporaryProject(t, PARTS);
  const home = dirname(folder);
  writeFiles(folder, { 'windows.txt': 'a\r\nb\r\n' });
  const env = { PATH: process.env.PATH ?? '', HOME: home, GNUPGHOME: join(home, 'keys'), LC_ALL: 'C' };
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  const sh = (line: string, cwd = folder): string => execFileSync('sh', ['-euc', line], { cwd, env, encoding: 'utf8', stdio: 'pipe' });
  sh(`git init -q && git config user.name Ada && git config user.email ada@example.org && git add -A && git commit -qm One &&
    git tag -am Release 'v${version}' && git tag v0.0.1`);
  return { folder, home, env, version, sh, name: `content-hub-${version}` };
}

function release(project: string, env: Record<string, string>, tag: string, to: string, how = '', umask = '022'): Promise<Outcome> {
  mkdirSync(to, { recursive: true });
  return runProgram('sh', ['-c', `umask ${umask} && ./scripts/release.sh '${tag}' '${to}' ${how}`], { cwd: project, env });
}

test('two clones with other settings, times and umasks make the same archive of a tag, byte for byte', async (t) => {
  const { folder, home, env, version, name, sh } = authors(t);
  const other = join(home, 'other clone');
  sh(`umask 077 && git clone -q . '${other}' && cd '${other}' && git config tar.umask user && git config core.autocrlf true &&
    git replace HEAD^{tree} "$(git mktree </dev/null)" &&
    find . -name .git -prune -o -exec touch -d 2001-01-01 {} +`);
  writeFiles(home, { '.gitconfig': '[core]\nautocrlf = true\neol = crlf\n[tar]\numask = 0077\n' });
  const made = [join(home, 'one'), join(home, 'two')] as const;
  const foreign = { TZ: 'Asia/Tokyo', GZIP: '--rsyncable', GIT_DIR: '/nowhere', GIT_CONFIG_COUNT: '0' };
  for (const [project, to, umask, settings] of [[folder, made[0], '022', {}], [other, made[1], '077', foreign]] as const) {
    const { status, stdout, stderr } = await release(project, { ...env, ...settings }, `v${version}`, to, '', umask);
    assert.equal(status, 0, stderr);
    assert.match(stdout, new RegExp(`^[0-9a-f]{64}  ${name}\\.tar\\.gz\\n$`));
  }
  for (const file of ['SHA256SUMS', `${name}.tar.gz`]) {
    assert.ok(readFileSync(join(made[0], file)).equals(readFileSync(join(made[1], file))), file);
  }
  assert.deepEqual(readdirSync(made[1]).sort(), ['SHA256SUMS', `${name}.tar.gz`]);
  sh(`tar xzf '${made[0]}/${name}.tar.gz' -C '${home}' && diff -r -x .git '${home}/${name}' .`);
});

test('a release is refused whose tag is missing or has another version, or whose clone changes archives, and leaves nothing', async (t) => {
  const { folder, home, env, version } = authors(t);
  const to = join(home, 'made');
  for (const [tag, says] of [['v9', /there is no tag v9/], ['main', /there is no tag main/], ['v0.0.1', /its name should be v/]] as const) {
    const { status, stderr } = await release(folder, env, tag, to);
    assert.deepEqual([status, says.test(stderr)], [1, true], stderr);
  }
  writeFiles(folder, { '.git/info/attributes': 'README.md export-ignore\n' });
  assert.match((await release(folder, env, `v${version}`, to)).stderr, /info\/attributes would change the archive: remove that file\n$/);
  assert.deepEqual(readdirSync(to), []);
});

test('the commands of the handbook take a signed archive, and refuse a changed one and one that a stranger signed', async (t) => {
  const { folder, home, env, version, name, sh } = authors(t);
  const [bySsh = '', byGpg = ''] = readHandbook().blocks.filter(({ section }) => section === 'An archive of a version').map(({ text }) => text);
  sh(`mkdir -m 700 '${env.GNUPGHOME}' && gpg --batch --quiet --passphrase '' --quick-generate-key Ada ed25519 2>/dev/null`);
  for (const name of ['ada', 'eve']) sh(`ssh-keygen -q -t ed25519 -N '' -C ${name} -f '${home}/${name}'`);

  for (const [block, how, foreign] of [
    [bySsh, `--ssh-key '${home}/ada'`, `--ssh-key '${home}/eve'`], [byGpg, '--gpg-key Ada', `--ssh-key '${home}/ada'`],
  ] as const) {
    const to = join(home, how.slice(2, 5));
    const { status, stderr } = await release(folder, env, `v${version}`, to, how);
    assert.equal(status, 0, stderr);
    sh(`printf 'authors ' >allowed_signers && cat '${home}/ada.pub' >>allowed_signers; gpg --batch --armor --export Ada >authors.asc`, to);
    const verify = (): Promise<Outcome> => runProgram('sh', ['-ec', block.replaceAll('content-hub-1.2.3', name)], { cwd: to, env });
    const done = await verify();
    assert.equal(done.status, 0, done.stderr);
    assert.ok(readdirSync(join(to, name)).includes('package.json'), 'unpacked');

    sh(`rm -r '${name}'`, to);
    appendFileSync(join(to, `${name}.tar.gz`), 'x');
    assert.match((await verify()).stdout, /: FAILED\n/);
    await release(folder, env, `v${version}`, to, foreign);
    if (how.startsWith('--gpg')) appendFileSync(join(to, 'SHA256SUMS'), '\n'); // its old signature is still there
    assert.notEqual((await verify()).status, 0);
    assert.ok(!readdirSync(to).includes(name), 'nothing was unpacked');
  }
});
