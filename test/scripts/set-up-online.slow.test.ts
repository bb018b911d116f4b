// Protects what set-up brings on a machine that has nothing: the pinned Node and the packages that the registry gives.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { nodeOf, PINNED } from '../support/fake-machine.ts';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { temporaryProject, writeFiles } from '../support/temporary-project.ts';
import { cannotRun, requireTool } from '../support/tools.ts';

test('the hashes in node.lock are those that the registry gives', async (t) => {
  if (!(await isOnline(t))) return;

  for (const line of readFileSync(join(PROJECT_ROOT, 'scripts/node.lock'), 'utf8').trim().split('\n')) {
    const [platform, version, integrity] = line.split(' ');
    const args = ['view', `node-${platform}@${version}`, 'dist.integrity', '--loglevel=error'];
    const { stdout } = await runProgram('npm', args, { env: machineEnvironment() });
    assert.equal(stdout.trim(), integrity, platform);
  }
});

test('from nothing but a checkout and an old Node, set-up makes a hub that runs', async (t) => {
  if (!(await isOnline(t))) return;
  const folder = temporaryProject(t, ['scripts', 'package.json', 'package-lock.json', '.npmrc']);
  const bin = join(dirname(folder), 'bin');
  writeFiles(bin, { node: nodeOf('v20.20.2') }, 0o755);
  const env = machineEnvironment();

  const { status, stderr } = await runProgram('sh', [join(folder, 'scripts/set-up.sh')], {
    env: { ...env, PATH: `${bin}:${env.PATH}` },
  });

  assert.equal(status, 0, stderr);
  const node = join(folder, `.runtime/node-${PINNED}/bin/node`);
  const program = "new (require('better-sqlite3'))(':memory:').close(); console.log(process.version)";
  assert.equal(execFileSync(node, ['-e', program], { cwd: folder, encoding: 'utf8' }), `v${PINNED}\n`);
});

/** The real environment, without what an npm above this test has set for its scripts. */
function machineEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([name]) => !/^npm_|^HUB_NODE$/i.test(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, value ?? '']));
}

async function isOnline(t: TestContext): Promise<boolean> {
  if (!requireTool(t, 'npm')) return false;
  const args = ['ping', '--fetch-retries=0', '--fetch-timeout=5000', '--loglevel=silent'];
  const { status } = await runProgram('npm', args, { env: machineEnvironment() });
  return status === 0 || cannotRun(t, 'the npm registry cannot be reached');
}
