// Protects set-up without a network, from a folder of packages, and from a registry that gives out changed ones.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { closeServer } from '../../src/platform/http/connections.ts';
import { readHandbook } from '../support/handbook.ts';
import { listen } from '../support/ports.ts';
import { type Outcome, runProgram } from '../support/run-program.ts';
import { temporaryFolder, temporaryProject, writeFiles } from '../support/temporary-project.ts';
import { requireTool } from '../support/tools.ts';

const [, , FILLING = '', WITHOUT_NETWORK = ''] = readHandbook().blocks.filter(({ section }) => section === 'An archive of a version').map(({ text }) => text);
const SET_UP = WITHOUT_NETWORK.replace(/^.*upgrade\.sh.*$/m, '');

/** The package tiny 1.0.0, whose only file says that. */
function packTiny(t: TestContext, says: string): Buffer {
  const folder = temporaryFolder(t);
  writeFiles(folder, { 'package.json': JSON.stringify({ name: 'tiny', version: '1.0.0' }), 'says.txt': says });
  execFileSync('npm', ['pack', '--silent'], { cwd: folder, env: { PATH: process.env.PATH ?? '', HOME: dirname(folder) } });
  return readFileSync(join(folder, 'tiny-1.0.0.tgz'));
}

function integrityOf(bytes: Buffer): string {
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
}

/** A registry that gives out that package, and a project whose lock file names `wanted`. */
async function registry(t: TestContext, given: Buffer) {
  const server = http.createServer(({ url = '', headers }, response) => {
    if (url.endsWith('.tgz')) return response.end(given);
    if (!url.startsWith('/tiny')) return response.writeHead(404).end('{}');
    const dist = { integrity: integrityOf(given), tarball: `http://${headers.host}/tiny/-/tiny-1.0.0.tgz` };
    const version = { name: 'tiny', version: '1.0.0', dist };
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }));
  });
  const port = await listen(t, server);
  return { address: `http://127.0.0.1:${port}/`, close: () => closeServer(server, 0) };
}

function projectThatNeeds(t: TestContext, wanted: Buffer): string {
  const folder = temporaryProject(t, ['scripts', '.npmrc']);
  const manifest = { name: 'p', version: '1.0.0', dependencies: { tiny: '1.0.0' } };
  const packages = { '': manifest, 'node_modules/tiny': { version: '1.0.0', integrity: integrityOf(wanted) } };
  writeFiles(folder, {
    'package.json': JSON.stringify(manifest),
    'package-lock.json': JSON.stringify({ name: 'p', version: '1.0.0', lockfileVersion: 3, requires: true, packages }),
  });
  return folder;
}

/** Runs a line of the handbook in a project; \`stick\` is the folder that is carried over. */
function run(line: string, project: string, stick: string, address: string): Promise<Outcome> {
  const env = {
    PATH: process.env.PATH ?? '', HOME: dirname(project), HUB_NODE: process.execPath, npm_config_registry: address,
    npm_config_fetch_retries: '0',
  };
  return runProgram('sh', ['-ec', line.replaceAll('/mnt/stick', stick)], { cwd: project, env });
}

test('from the folder that a set-up with a network has filled, set-up installs the packages without a network', async (t) => {
  if (!requireTool(t, 'npm')) return;
  const tiny = packTiny(t, 'tiny');
  const { address, close } = await registry(t, tiny);
  const stick = dirname(temporaryFolder(t));
  const first = await run(FILLING, projectThatNeeds(t, tiny), stick, address);
  assert.equal(first.status, 0, first.stderr);
  await close();

  const project = projectThatNeeds(t, tiny);
  assert.deepEqual(await run(SET_UP, project, stick, address), { status: 0, stdout: '', stderr: '' });
  assert.equal(readFileSync(join(project, 'node_modules/tiny/says.txt'), 'utf8'), 'tiny');
  const other = projectThatNeeds(t, packTiny(t, 'another'));
  assert.equal((await run(SET_UP, other, stick, address)).status, 1, 'a package that is not in the folder');
});

test('a package that the registry has changed is refused, and no part of it is left', async (t) => {
  if (!requireTool(t, 'npm')) return;
  const { address } = await registry(t, packTiny(t, 'changed by a stranger'));
  const project = projectThatNeeds(t, packTiny(t, 'tiny'));
  const { status, stderr } = await run(FILLING, project, dirname(temporaryFolder(t)), address);
  assert.equal(status, 1);
  assert.match(stderr, /EINTEGRITY[^]*set-up: npm could not install the packages/);
  assert.ok(!existsSync(join(project, 'node_modules/tiny/says.txt')));
});
