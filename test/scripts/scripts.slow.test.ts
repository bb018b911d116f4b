// Protects the scripts that start, test and probe the hub: their help, usage, exit codes and signals.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { freePort, listen } from '../support/ports.ts';
import { isRunning, PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { exit, pidOf, ready, standInProject, startHub } from '../support/stand-in-hub.ts';
import { temporaryProject, writeFiles } from '../support/temporary-project.ts';
import { waitUntil } from '../support/wait-until.ts';

const BARE = { PATH: '/usr/bin:/bin' };
const WITH_NODE = { ...BARE, HUB_NODE: process.execPath };

// Those that answer for themselves; find-node.sh is sourced by them, hubctl hands --help on.
const OWN_HELP = [
  'bring-node.sh', 'set-up.sh', 'run.sh', 'healthcheck.sh', 'await-health.sh', 'backup.sh', 'verify-backup.sh', 'drill.sh',
  'off-site.sh', 'nightly-backup.sh', 'interim-backup.sh', 'install-backup-cron.sh', 'install-systemd.sh',
  'try-version.sh', 'upgrade.sh', 'release.sh',
];

/** A project as set-up leaves it, with as little as the scripts look at. */
function installed(folder: string): string {
  mkdirSync(join(folder, 'node_modules/better-sqlite3'), { recursive: true });
  copyFileSync(join(folder, 'package-lock.json'), join(folder, 'node_modules/.installed-lock.json'));
  return folder;
}

test('every script says with --help what its header says, and with a wrong option exits 2 with its usage', async () => {
  for (const name of OWN_HELP) {
    const { status, stdout } = await runProgram('sh', [join(PROJECT_ROOT, 'scripts', name), '--help'], { env: BARE });
    assert.equal(status, 0, name);
    assert.match(stdout, new RegExp(`^Usage: ${name}.*\n(?:[^#\n]+\n)+$`), name);
    const wrong = await runProgram('sh', [join(PROJECT_ROOT, 'scripts', name), '--nonsense'], { env: BARE });
    assert.deepEqual([wrong.status, wrong.stdout], [2, ''], name);
    assert.match(wrong.stderr, new RegExp(`^Usage: ${name}`));
  }
});

test('hubctl runs through a link, from any folder, with an empty environment, in a path with spaces', async (t) => {
  const folder = installed(standInProject(t));
  writeFiles(folder, { 'src/bin/hubctl.ts': 'console.log(JSON.stringify([process.argv.slice(2), process.cwd()]));' });
  const link = join(folder, 'link to hubctl');
  symlinkSync('scripts/hubctl', link);

  const { status, stdout, stderr } = await runProgram(link, ['jobs', 'a b', ''], { cwd: join(folder, 'src'), env: WITH_NODE });

  assert.equal(status, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), [['jobs', 'a b', ''], join(folder, 'src')]);
});

test('hubctl before set-up says what to run', async (t) => {
  const folder = temporaryProject(t, ['scripts', 'package.json', 'package-lock.json']);

  const { status, stdout, stderr } = await runProgram(join(folder, 'scripts/hubctl'), ['doctor'], { env: WITH_NODE });

  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /^hubctl: the hub is not set up yet: run npm start, or .*set-up\.sh, once\n$/);
});

for (const [title, answer, status, message] of [
  ['is ready', [200, '{"ok":true,"failedJobs":0}'], 0, /^$/],
  ['says it is not', [503, '{"ok":false}'], 1, /answered 503, not ready/],
  ['answers 200 without ok', [200, '{"ok":"yes"}'], 1, /answered 200, not ready/],
  ['is something else', [200, '<p>hello'], 1, /answered 200, not ready/],
  ['redirects', [302, ''], 1, /does not answer/],
] as const) {
  test(`the health check exits ${status} when what listens ${title}`, async (t) => {
    const port = await listen(t, createServer((_, response) => response.writeHead(answer[0], { location: '/' }).end(answer[1])));

    const outcome = await runProgram(join(PROJECT_ROOT, 'scripts/healthcheck.sh'), [], {
      cwd: '/',
      env: { ...WITH_NODE, HOST: '0.0.0.0', PORT: String(port) },
    });

    assert.equal(outcome.status, status);
    assert.match(outcome.stderr, message);
    assert.equal(outcome.stdout, '');
  });
}

test('of the worker the health check says when it was last seen, or that web is not ready to tell', async (t) => {
  let answer = { ok: true, worker: { ok: true, lastSeenSeconds: 2 as number | null } };
  const server = createServer((_, response) => response.writeHead(answer.ok ? 200 : 503).end(JSON.stringify(answer)));
  const port = await listen(t, server);
  const check = async (): Promise<[number | null, string]> => {
    const { status, stderr } = await runProgram(join(PROJECT_ROOT, 'scripts/healthcheck.sh'), ['--worker'], {
      env: { ...WITH_NODE, HOST: '127.0.0.1', PORT: String(port) },
    });
    return [status, stderr];
  };
  assert.deepEqual(await check(), [0, '']);
  answer = { ok: true, worker: { ok: false, lastSeenSeconds: 61 } };
  assert.deepEqual(await check(), [1, 'the worker was last seen 61 seconds ago\n']);
  answer = { ok: true, worker: { ok: false, lastSeenSeconds: null } };
  assert.deepEqual(await check(), [1, 'the worker was never seen\n']);
  answer.ok = false;
  assert.equal((await check())[0], 75);
});

test('the health check exits 1 when nothing listens, and when PORT leaves it open where', async () => {
  const port = await freePort();

  for (const [wrong, message] of [[String(port), /does not answer \(ECONNREFUSED\)/], ['0', /^PORT is 0/]] as const) {
    const { status, stderr } = await runProgram(join(PROJECT_ROOT, 'scripts/healthcheck.sh'), [], {
      env: { ...WITH_NODE, HOST: '127.0.0.1', PORT: wrong },
    });
    assert.equal(status, 1);
    assert.match(stderr, message);
  }
});

/** A project whose Node only writes down how it is called; it fails when the arguments hold `failing`. */
function recordingProject(t: TestContext, failing: string) {
  const folder = installed(temporaryProject(t, ['scripts', 'package.json', 'package-lock.json']));
  const script = `#!/bin/sh
    [ "$1" = --version ] && echo v24.7.0 && exit
    printf '[%s]' "$@" >> "$0.log"; echo >> "$0.log"
    case "$*" in *${failing}*) exit 1 ;; esac
  `;
  writeFiles(folder, {
    'test/a.test.ts': '', 'test/b/b.test.ts': '', 'test/b/c.slow.test.ts': '', 'test/bench/d.test.ts': '',
    'test/e.test.ts': '', 'test/f.test.ts': '', 'test/g.test.ts': '', 'test/h.test.ts': 'process.memoryUsage()',
  });
  writeFiles(folder, { node: script }, 0o755);
  const calls = (): string[] => readFileSync(join(folder, 'node.log'), 'utf8').trim().split('\n');
  return { folder, calls, env: { ...BARE, HUB_NODE: join(folder, 'node') } };
}

const TYPE_CHECK = '[node_modules/typescript/bin/tsc][-p][.]';
const COMPILATION = '[test/support/compile-modules.ts]';
/** Runs tests, so many files more at once than there are processors. */
const runTests = (more: number): string =>
  `[--test][--test-timeout=900000][--test-concurrency=${availableParallelism() + more}]`;

/** A file whose tests look at their whole process, and modules that import four of the other files each. */
const MODULES = ['000-a', '001-g'].map((name) => `.runtime/test-groups/${name}.mjs`);
const QUICK = ['test/h.test.ts', ...MODULES].map((path) => `[${path}]`).join('');
const GROUPS = [['a', 'b/b', 'e', 'f'], ['g']].map((names) =>
  names.map((name) => `import '../../test/${name}.test.ts';\n`).join(''));

for (const [title, args, expected] of [
  ['every test file', [], QUICK],
  ['the named file alone', ['test/a.test.ts'], '[test/a.test.ts]'],
  ['every file with an option', ['--test-only'], `[--test-only]${QUICK}`],
] as const) {
  test(`the tests run after the type check, ${title}`, async (t) => {
    const { folder, calls, env } = recordingProject(t, 'nothing');

    const { status } = await runProgram('sh', [join(folder, 'scripts/run.sh'), 'test', ...args], { env });

    assert.equal(status, 0);
    assert.deepEqual(calls(), [TYPE_CHECK, COMPILATION, `${runTests(2)}${expected}`]);
    if (args[0] === 'test/a.test.ts') return;
    assert.deepEqual(MODULES.map((path) => readFileSync(join(folder, path), 'utf8')), GROUPS);
  });
}

test('test:all runs the quick tests, then the slow ones; test:slow those alone', async (t) => {
  const { folder, calls, env } = recordingProject(t, 'nothing');
  const run = (task: string) => runProgram('sh', [join(folder, 'scripts/run.sh'), task], { env });
  const testing = (): string[] => calls().filter((call) => ![TYPE_CHECK, COMPILATION].includes(call));
  const [quick, slow] = [`${runTests(2)}${QUICK}`, `${runTests(1)}[.runtime/test-groups/000-c.slow.mjs]`];

  assert.equal((await run('test:all')).status, 0);
  assert.deepEqual(testing(), [quick, slow]);
  assert.equal((await run('test:slow')).status, 0);
  assert.deepEqual(testing(), [quick, slow, slow]);
});

test('a type error fails the tests before any of them runs', async (t) => {
  const { folder, calls, env } = recordingProject(t, 'tsc');

  const { status } = await runProgram('sh', [join(folder, 'scripts/run.sh'), 'test'], { env });

  assert.equal(status, 1);
  assert.deepEqual(calls(), [TYPE_CHECK]);
});

test('while developing, a changed file restarts its process, and one signal stops everything', async (t) => {
  const folder = standInProject(t);
  symlinkSync(join(PROJECT_ROOT, 'node_modules'), join(folder, 'node_modules'));
  const env = { ...WITH_NODE, PORT: String(await freePort()) };
  const hub = startHub(t, folder, env, [process.execPath, 'src/bin/start.ts', '--watch']);
  await ready(hub);
  const [web, worker] = [pidOf(folder, 'web'), pidOf(folder, 'worker')];

  const source = readFileSync(join(folder, 'src/bin/web.ts'), 'utf8');
  writeFiles(folder, { 'src/bin/web.ts': `${source}// changed` });
  await waitUntil('web runs again', () => pidOf(folder, 'web') !== web && isRunning(pidOf(folder, 'web')));
  hub.child.kill('SIGINT');

  assert.equal(await exit(hub), 0);
  assert.ok(!isRunning(pidOf(folder, 'web')));
  assert.ok(!isRunning(worker));
});
