// Protects an upgrade on a booted system: units stop and start, change with the version, and come back with it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AT, installedHub } from '../support/booted-system.ts';
import { MIGRATIONS, oneMigrationMore } from '../support/migrated-database.ts';
import { postsIn, restorableHub } from '../support/restore-hub.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { writeFiles } from '../support/temporary-project.ts';
import { testWith } from '../support/tools.ts';

const test = testWith('root', 'systemd-nspawn', 'git');
const WORKER_UNIT = 'scripts/systemd/content-hub-worker.service';

test('root upgrades a hub under systemd: a version whose worker ends is rolled back, a killed upgrade recovers, a good version stays', async (t) => {
  const world = await restorableHub(t);
  let repository = '';
  const git = (where: string, ...args: string[]): string => execFileSync('git', ['-C', where, ...args], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin', GIT_CONFIG_COUNT: '2', GIT_CONFIG_KEY_0: 'user.name', GIT_CONFIG_VALUE_0: 'Ada',
      GIT_CONFIG_KEY_1: 'user.email', GIT_CONFIG_VALUE_1: 'ada@example.org' },
  }).trim();
  const hub = await installedHub(t, (project) => {
    for (const name of ['package-lock.json', '.gitignore', '.npmrc']) cpSync(join(PROJECT_ROOT, name), join(project, name));
    cpSync(world.dataDir, join(project, 'data'), { recursive: true });
    cpSync(join(project, 'package-lock.json'), join(project, 'node_modules/.installed-lock.json'));
    git(project, 'init', '-q', '-b', 'main');
    git(project, 'add', '-A');
    git(project, 'commit', '-qm', 'one');
    repository = join(project, '.runtime/remote.git');
    mkdirSync(repository, { recursive: true });
    git(project, 'clone', '-q', '--bare', project, repository);
    git(project, 'clone', '-q', repository, join(project, '.runtime/author'));
    git(project, 'remote', 'add', 'origin', `${AT}/.runtime/remote.git`);
    git(project, 'config', 'branch.main.remote', 'origin');
    git(project, 'config', 'branch.main.merge', 'refs/heads/main');
  });
  const data = join(hub.project, 'data');
  const begun = git(hub.project, 'rev-parse', 'HEAD');
  const author = join(hub.project, '.runtime/author');
  const unit = (): string => readFileSync(join(author, WORKER_UNIT), 'utf8');
  const release = (version: number, files: Record<string, string>): void => {
    const number = String(MIGRATIONS.length + version).padStart(4, '0');
    const table = `-- safe: yes\nCREATE TABLE of_${version} (id INTEGER PRIMARY KEY) STRICT;\n`;
    const migration = oneMigrationMore(`${number}_of_${version}.sql`, table, (path) => readFileSync(join(author, path), 'utf8'));
    writeFiles(author, { ...files, ...migration });
    git(author, 'add', '-A');
    git(author, 'commit', '-qm', String(version));
    git(author, 'push', '-q', 'origin', 'main');
  };
  const upgrade = (args = '') => hub.sh(`'${AT}/scripts/upgrade.sh' ${args}`);
  const description = () => hub.show('worker', 'Description');
  const assertRuns = async (head: string, of: string, description_: string): Promise<void> => {
    assert.deepEqual([git(hub.project, 'rev-parse', 'HEAD'), git(hub.project, 'status', '--short')], [head, ''], of);
    assert.deepEqual([await hub.show('web', 'ActiveState'), await hub.show('worker', 'ActiveState')], ['active', 'active'], of);
    assert.equal(await description(), description_, of);
    const { stdout } = await hub.sh(`cd /tmp && setpriv --reuid=daemon --regid=daemon --clear-groups '${AT}/scripts/hubctl' doctor`);
    assert.match(stdout, /^ok {3}Integrity of the database: intact$/m, of);
    assert.deepEqual(readdirSync(data).filter((name) => name.startsWith('pre-')), [], of);
    assert.deepEqual(readdirSync(join(data, 'run')).filter((name) => name.startsWith('restore')), [], of);
    // Modules that tests have Node compile for root are root's.
    const foreign = await hub.sh(`find '${AT}/data' -name compiled -prune -o ! -user daemon -print; find '${AT}/src' '${AT}/scripts' ! -user root`);
    assert.equal(foreign.stdout, '', of);
  };

  const worker = readFileSync(join(author, 'src/bin/worker.ts'), 'utf8');
  const described = unit().replace(/Description=.*/, 'Description=The next worker');
  // Beside the hub, where DATA_DIR is given, it works.
  release(1, { 'src/bin/worker.ts': `if (!process.env['DATA_DIR']) process.exit(2);\n${worker}`, [WORKER_UNIT]: described });
  const broken = await upgrade();
  assert.equal(broken.status, 1, broken.stderr);
  assert.match(broken.stderr, /worker did not write to the database within \d+ s\n.*going back/);
  assert.match(broken.stderr, /the old version and data are in place again/);
  await assertRuns(begun, 'taken back', 'Content Hub: worker');
  assert.equal(postsIn(data), 2);

  release(2, { 'src/bin/worker.ts': worker });
  // Killed in the moment in which the new web is started.
  await hub.sh(`mkdir -p /run/systemd/system/content-hub-web.service.d && printf '[Service]\\nExecStartPre=-+/bin/sh -c "kill -9 $(cat /run/upgrading)"\\n' >/run/systemd/system/content-hub-web.service.d/kill.conf && systemctl daemon-reload`);
  const killed = await hub.sh(`sh -c 'echo $$ >/run/upgrading; exec "${AT}/scripts/upgrade.sh"'`);
  assert.equal(killed.status, 137, killed.stderr);
  await hub.sh('rm -r /run/systemd/system/content-hub-web.service.d && systemctl daemon-reload');
  assert.ok(existsSync(join(data, 'run/restore-probation.json')));
  const recovered = await hub.sh(`'${AT}/scripts/restore.sh' --recover`);
  assert.equal(recovered.status, 0, recovered.stderr);
  assert.match(recovered.stdout, /^UPGRADED /m);
  await assertRuns(git(author, 'rev-parse', 'HEAD'), 'recovered', 'The next worker');
  assert.equal(postsIn(data), 2);
});
