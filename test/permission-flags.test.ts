// Protects the confinement of the hub's processes to their files and to no other program.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { permissionFlags, type Access } from '../src/app/processes/confined-command.ts';
import { PROJECT_ROOT, runProgram } from './support/run-program.ts';
import { temporaryFolder, writeFiles } from './support/temporary-project.ts';

const HAS_NET_FLAG = process.allowedNodeEnvironmentFlags.has('--allow-net');

// Each line is tried by itself; the program prints what became of it, by name.
const PROBE = `
  import { createRequire } from 'node:module';
  import { createServer, request } from 'node:http';
  import * as fs from 'node:fs';
  import { spawnSync } from 'node:child_process';
  const [project, dataDir, sibling, secret] = process.argv.slice(2);
  const attempts = {
    readProject: () => fs.readFileSync(project + '/package.json'),
    readSecret: () => fs.readFileSync(secret),
    readSelf: () => fs.readFileSync('/proc/self/status'),
    readPasswd: () => fs.readFileSync('/etc/passwd'),
    readSibling: () => fs.readFileSync(sibling + '/file'),
    writeData: () => {
      fs.mkdirSync(dataDir + '/uploads/ab', { recursive: true });
      fs.writeFileSync(dataDir + '/uploads/ab/new', '1', { mode: 0o600 });
      fs.renameSync(dataDir + '/uploads/ab/new', dataDir + '/uploads/ab/file');
      fs.statfsSync(dataDir);
      fs.rmSync(dataDir + '/uploads/ab/file');
    },
    openDatabase: () => {
      const Database = createRequire(project + '/package.json')('better-sqlite3');
      const db = new Database(dataDir + '/hub.db');
      db.pragma('journal_mode = WAL');
      db.exec('CREATE TABLE t (x INT) STRICT; INSERT INTO t VALUES (1)');
      db.close();
    },
    writeProject: () => fs.writeFileSync(project + '/.permission-probe', ''),
    writeSibling: () => fs.writeFileSync(sibling + '/other', ''),
    writeSecret: () => fs.writeFileSync(secret, ''),
    startProcess: () => { const { error } = spawnSync('true'); if (error) throw error; },
  };
  const outcome = {};
  for (const [name, attempt] of Object.entries(attempts)) {
    try { attempt(); outcome[name] = 'allowed'; } catch (error) { outcome[name] = error.code ?? error.message; }
  }
  const server = createServer((_, response) => response.end('hello'));
  server.listen(0, '127.0.0.1', () => request({ port: server.address().port }, (response) => {
    outcome.useNetwork = 'allowed';
    response.resume().on('end', () => { server.close(); console.log(JSON.stringify(outcome)); });
  }).end());
`;

const ALLOWED = ['readProject', 'readSecret', 'readSelf', 'writeData', 'openDatabase', 'useNetwork'];
const REFUSED = ['readPasswd', 'readSibling', 'writeProject', 'writeSibling', 'writeSecret', 'startProcess'];

function access(overrides: Partial<Access> = {}): Access {
  return {
    projectRoot: '/srv/hub', dataDir: '/srv/hub/data', readPaths: [], cwd: '/srv/hub', hasNetFlag: false, ...overrides,
  };
}

/** Runs the probe under the flags; its folders lie beside each other: `data`, `data-of-others` and a secret. */
async function probe(t: TestContext): Promise<{ outcome: unknown; stderr: string }> {
  const folder = temporaryFolder(t);
  const dataDir = join(folder, 'data');
  const secret = join(folder, 'secret, too');
  mkdirSync(dataDir);
  writeFiles(folder, { 'data-of-others/file': '', 'secret, too': 'abc', 'data/probe.mjs': PROBE });

  const flags = permissionFlags({
    projectRoot: PROJECT_ROOT, dataDir, readPaths: [secret], cwd: folder, hasNetFlag: HAS_NET_FLAG,
  });
  const args = [join(dataDir, 'probe.mjs'), PROJECT_ROOT, dataDir, join(folder, 'data-of-others'), secret];
  const { stdout, stderr } = await runProgram(process.execPath, [...flags, ...args], { cwd: folder });
  return { outcome: JSON.parse(stdout), stderr };
}

test('a confined process reads the project, writes DATA_DIR and does nothing else, silently', async (t) => {
  const { outcome, stderr } = await probe(t);

  const allowed = ALLOWED.map((name) => [name, 'allowed']);
  const refused = REFUSED.map((name) => [name, 'ERR_ACCESS_DENIED']);
  assert.deepEqual(outcome, Object.fromEntries([...allowed, ...refused]));
  assert.equal(stderr, '');
});

test('every path has a flag of its own, because a path may hold a comma', () => {
  const flags = permissionFlags(access({ readPaths: ['/run/a, b'] }));

  assert.deepEqual(flags.filter((flag) => flag.startsWith('--allow-fs')), [
    '--allow-fs-read=/srv/hub',
    '--allow-fs-read=/srv/hub/data',
    '--allow-fs-read=/proc/self',
    '--allow-fs-read=/run/a, b',
    '--allow-fs-write=/srv/hub/data',
  ]);
});

test('a folder to write whose path has a comma is named from the working folder', () => {
  const write = (dataDir: string, cwd: string): string | undefined =>
    permissionFlags(access({ dataDir, cwd })).find((flag) => flag.startsWith('--allow-fs-write='));

  assert.equal(write('/a, b/data', '/a, b'), '--allow-fs-write=data');
  assert.equal(write('/a, b', '/a, b'), '--allow-fs-write=.');
  assert.equal(write('/a/data', '/b'), '--allow-fs-write=/a/data');
});

test('the network is opened only for a Node that knows the flag', () => {
  assert.ok(!permissionFlags(access()).includes('--allow-net'));
  assert.ok(permissionFlags(access({ hasNetFlag: true })).includes('--allow-net'));
});
