// Protects upgrade.sh with npm start: what fails leaves the hub as it was, what works keeps all that people have.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { itemsAt } from '../support/accounts.ts';
import { killableUpgrade } from '../support/killed-upgrade.ts';
import { readVersion } from '../support/operator.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { testWith } from '../support/tools.ts';
import { upgradableHub } from '../support/upgradable-hub.ts';

const test = testWith('git');
const VERSION = readVersion(PROJECT_ROOT).replaceAll('.', '\\.');

test('a hub under npm start is upgraded from the version before the last, after failing versions were rolled back', async (t) => {
  const hub = await upgradableHub(t);
  const [begun, pid] = [hub.git('rev-parse HEAD'), readFileSync(join(hub.data, 'run/hub.pid'), 'utf8')];
  await hub.write('before');
  const asBefore = async (posts: string[]): Promise<void> => {
    assert.deepEqual([hub.git('rev-parse HEAD'), hub.git('branch --show-current'), hub.git('status --short')], [begun, 'main', '']);
    assert.equal(readFileSync(join(hub.data, 'run/hub.pid'), 'utf8'), pid, 'npm start is the same process');
    assert.deepEqual([await hub.posts(), await hub.schema(), hub.leftovers()], [posts, 0, []]);
  };

  hub.releaseWith({ 'src/bin/web.ts': [/^import/m, `throw new Error('of the test');\nimport`] });
  const said = hub.hub.said();
  const unusable = await hub.upgrade();
  assert.equal(unusable.status, 1);
  assert.match(unusable.stderr, /the new version did not start: .*of the test.*\nupgrade: 99\.1\.0 \(\w+\) does not work with this hub's settings and data, see above; nothing was changed\n$/);
  assert.doesNotMatch(hub.hub.said().slice(said.length), /the hub pauses/, 'the hub was not even stopped');
  await asBefore(['before']);

  await hub.write('then');
  hub.releaseWith({
    'src/bin/web.ts': [`throw new Error('of the test');\n`, ''],
    'src/bin/worker.ts': [/^import/m, `throw new Error('of the worker');\nimport`],
  });
  const idle = await hub.upgrade();
  assert.equal(idle.status, 1);
  assert.match(idle.stderr, /the worker of the new version did not start: .*of the worker.*\n.*nothing was changed\n$/);
  await asBefore(['then', 'before']);

  hub.releaseWith({
    'src/bin/worker.ts': [`throw new Error('of the worker');`, `if (!process.env['DATA_DIR']) process.exit(1);`],
  });
  const broken = await hub.upgrade();
  assert.equal(broken.status, 1);
  assert.match(broken.stderr, new RegExp(`worker ended by itself \\(exit code 1\\).*\\n.*going back to ${VERSION}`));
  assert.match(broken.stderr, new RegExp(`the old version and data are in place again: ${VERSION} \\(\\w+\\)\\n$`));
  await asBefore(['then', 'before']);

  hub.releaseWith({
    'src/bin/worker.ts': [`if (!process.env['DATA_DIR']) process.exit(1);\n`, ''],
    'package-lock.json': [/"version": ".*"/, '"version": "99.4.0"'], // so that packages are installed anew
  });
  const done = await hub.upgrade();
  assert.equal(done.status, 0, done.stderr);
  assert.match(done.stdout, new RegExp(`^UPGRADED from ${VERSION} \\(\\w+\\) to 99\\.4\\.0 \\(\\w+\\); the backup made before is /.*\\n$`));
  assert.equal(hub.git('rev-parse HEAD'), hub.git('rev-parse origin/main'));
  assert.deepEqual([hub.git('branch --show-current'), hub.git('status --short'), hub.leftovers()], ['main', '', []]);
  assert.deepEqual([await hub.posts(), await hub.schema()], [['then', 'before'], 4]);
  assert.match((await hub.ada.get('/api/metrics')).text, /^service_build_info\{.*version="99\.4\.0"/m);
  assert.equal(readFileSync(join(hub.data, 'run/hub.pid'), 'utf8'), pid, 'npm start is the same process');
  assert.ok(existsSync(join(hub.place('hub'), 'node_modules/.installed-lock.json')));
  const tokens = await itemsAt(hub.ada, '/api/tokens');
  assert.deepEqual(tokens, [], 'the token of the proof is gone');

  const again = await hub.upgrade();
  assert.deepEqual([again.status, again.stdout.replace(/\(.*\)/, '')], [0, 'already at the newest version, 99.4.0 \n']);
  await hub.hub.interrupt();
});

test('the upgrade.sh of a new version upgrades a hub whose own scripts cannot switch versions, and recovers it', async (t) => {
  const hub = killableUpgrade(t, true);
  const begin = (): void => {
    hub.begin();
    const own = `echo 'exit 9' >scripts/switch-version.sh && git commit -qam own && mkdir -p .runtime/upgrade/new &&
      git archive origin/main scripts | tar -xC .runtime/upgrade/new`;
    execFileSync('sh', ['-ec', own], { cwd: hub.at('world/hub'), env: hub.env });
  };
  const upgrade = async (args: string, killAt = 0) => await hub.run(args, killAt, '.runtime/upgrade/new/scripts/upgrade.sh');
  begin();
  const { status, stderr } = await upgrade('--to origin/main');
  assert.deepEqual([status, hub.versions(), hub.leftovers(), hub.tree()], [0, '2 2 2', [], hub.treeOf(2)], stderr);
  const switching = hub.untilSwitch();
  begin();
  await upgrade('--to origin/main', switching);
  hub.tear(5);
  const recovered = await upgrade('--recover');
  assert.deepEqual([recovered.status, hub.versions(), hub.leftovers(), hub.tree()], [0, '1 1 1', [], hub.treeOf(1)], recovered.stderr);
});

test('what cannot work is refused while the hub runs on, and says what to do', async (t) => {
  const hub = killableUpgrade(t, false);
  const clone = (...names: string[]): string => hub.at('world/hub', ...names);
  const refusals: [what: string, args: string, says: RegExp, status?: number][] = [
    [`echo changed >src/version`, '', /these files of the project were changed:\n M src\/version\n/],
    [`echo mine >src/unfit`, '', /files in this folder are in the way/],
    [`git commit -q --allow-empty -m own`, '', /this clone has commits that origin lacks: name the version with --to/],
    [`git checkout -q origin/main`, '--to HEAD~1', /1\.0\.0 \(\w+\) is older than the running version/],
    [`mv ../../remote.git ../away`, '', /git could not fetch from origin/],
    [`rm -rf .git`, '', /this is not a clone of the project/],
    [':', '--to nowhere', /there is no commit nowhere/],
    [`echo 2 >../low`, '', /has 0 MiB left, and \d+ MiB are needed/],
    [`echo 'exit 1' >>../../bin/npm-ci`, '', /the new version could not be set up/],
    [`echo '{"phase":"staged"}' >../data/run/restore-state.json`, '', /a restore was interrupted: run restore\.sh --recover first/],
    [`mkdir -p .runtime/upgrade && echo phase=begun >.runtime/upgrade/state`, '', /an upgrade was interrupted: run upgrade\.sh --recover first/],
    [`touch ../busy`, '', /BUSY: another backup or restore is running/, 75],
    [`touch ../broken`, '', /no backup could be made/],
    [':', '--to', /^Usage: upgrade\.sh/, 2],
    [':', '--recover --to main', /^Usage: upgrade\.sh/, 2],
  ];
  for (const [what, args, says, expected = 1] of refusals) {
    hub.begin();
    execFileSync('sh', ['-ec', what], { cwd: clone(), env: hub.env });
    const head = existsSync(clone('.git')) && hub.git('world/hub', 'rev-parse', 'HEAD');
    const { status, stderr } = await hub.run(args);
    execFileSync('sh', ['-ec', '[ ! -e away ] || mv away ../remote.git; rm -f ../bin/npm-ci'], { cwd: hub.at('world') });
    assert.deepEqual([status, says.test(stderr)], [expected, true], `${what} ${args}: ${stderr}`);
    assert.equal(hub.running(), '11migrated to 1\n', 'the hub was not stopped');
    assert.ok(!existsSync(clone('.runtime/upgrade/new')), what);
    assert.equal(existsSync(clone('.git')) && hub.git('world/hub', 'rev-parse', 'HEAD'), head);
  }

  hub.begin();
  execFileSync('git', ['commit', '-q', '--allow-empty', '-m', 'own'], { cwd: clone(), env: hub.env });
  const named = await hub.run(`--to ${hub.release('3', { 'src/unfit': 'no' }).slice(0, 9)}`);
  assert.match(named.stderr, /there is no commit \w{9}; nothing was changed\n$/, 'it was not published');
});
