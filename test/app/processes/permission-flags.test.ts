// Protects the confinement of the hub's processes to their files and to no other program.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  confinedCommand, permissionFlags, verifyingCommand, type ProcessAccess,
} from '../../../src/app/processes/confined-command.ts';
import { COMMANDS } from '../../../src/commands/run-hubctl.ts';
import { readConfig } from '../../../src/features/hub/read-config.ts';
import { PROJECT_ROOT, runProgram } from '../../support/run-program.ts';
import { temporaryFolder, writeFiles } from '../../support/temporary-project.ts';

const HAS_NET_FLAG = process.allowedNodeEnvironmentFlags.has('--allow-net');

// Each line is tried by itself; the program prints what became of it, by name.
const PROBE = `
  import { createRequire } from 'node:module';
  import { createServer, request } from 'node:http';
  import * as fs from 'node:fs';
  import { spawnSync } from 'node:child_process';
  import { Worker } from 'node:worker_threads';
  import inspector from 'node:inspector';
  const [project, dataDir, sibling, secret] = process.argv.slice(2);
  const passwd = (folder) => () => fs.readFileSync(folder + '/etc/passwd');
  const attempts = {
    readProject: () => fs.readFileSync(project + '/package.json'),
    readSecret: () => fs.readFileSync(secret),
    readProgram: () => fs.readdirSync(project + '/src'),
    readSelf: () => ['status', 'limits', 'mountinfo'].map((name) => fs.readFileSync('/proc/self/' + name)),
    listDescriptors: () => fs.readdirSync('/proc/self/fd'),
    listProject: () => fs.readdirSync(project),
    readTests: () => fs.readdirSync(project + '/test'),
    readPasswd: passwd(''),
    readByRoot: passwd('/proc/self/root'),
    readByPid: passwd('/proc/' + process.pid + '/root'),
    readByTask: passwd('/proc/self/task/' + process.pid + '/root'),
    readByThread: passwd('/proc/thread-self/root'),
    readByFolder: passwd('/proc/self/cwd/' + '../'.repeat(20)),
    readAboveDescriptors: passwd('/proc/self/fd/../root'),
    readAboveData: () => fs.readFileSync(Buffer.from(dataDir + '/' + '../'.repeat(20) + 'etc/passwd')),
    readEnvironment: () => fs.readFileSync('/proc/self/environ'),
    openMemory: () => fs.openSync('/proc/self/mem'),
    linkSecretly: () => fs.linkSync('/etc/passwd', dataDir + '/passwd'),
    linkOut: () => fs.symlinkSync('/etc', dataDir + '/etc'),
    enter: () => process.chdir('/etc'),
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
    writeAboveData: () => fs.writeFileSync(Buffer.from(dataDir + '/../other'), ''),
    renameOut: () => fs.renameSync(dataDir + '/probe.mjs', sibling + '/other'),
    copyOut: () => fs.copyFileSync(dataDir + '/probe.mjs', sibling + '/other'),
    reportOut: () => process.report.writeReport(sibling + '/report'),
    startProcess: () => { const { error } = spawnSync('true'); if (error) throw error; },
    startThread: () => new Worker('', { eval: true }),
    inspect: () => inspector.open(0),
    bind: () => process.binding('fs'),
    becomeProcess: () => {
      process.emitWarning = () => {}; // that this function is experimental
      process.execve('/bin/true', ['true'], {});
    },
  };
  const outcome = {};
  for (const [name, attempt] of Object.entries(attempts)) {
    try { attempt(); outcome[name] = 'allowed'; } catch (error) { outcome[name] = error.code ?? error.message; }
  }
  const tell = (useNetwork) => process.stdout.write(JSON.stringify({ ...outcome, useNetwork }), () => process.exit());
  process.on('uncaughtException', (error) => tell(error.code ?? error.message));
  const server = createServer((_, response) => response.end('hello')).on('error', (error) => tell(error.code));
  server.listen(0, '127.0.0.1', () => request({ port: server.address().port }, () => tell('allowed'))
    .on('error', (error) => tell(error.code)).end());
`;

const ALLOWED = ['readProject', 'readProgram', 'readSecret', 'readSelf', 'writeData', 'openDatabase', 'useNetwork'];
const REFUSED = [
  'listDescriptors', 'listProject', 'readTests', 'readPasswd', 'readByRoot', 'readByPid', 'readByTask', 'readByThread', 'readByFolder', 'readAboveDescriptors',
  'readAboveData', 'readEnvironment', 'openMemory', 'linkSecretly', 'linkOut', 'enter', 'readSibling', 'writeProject',
  'writeSibling', 'writeSecret', 'writeAboveData', 'renameOut', 'copyOut', 'reportOut', 'startProcess',
  'becomeProcess', 'startThread', 'inspect', 'bind',
];

function access(overrides: Partial<ProcessAccess> = {}): ProcessAccess {
  return {
    projectRoot: '/srv/hub', dataDir: '/srv/hub/data', secretFiles: [], cwd: '/srv/hub', hasNetFlag: false,
    hasRootLink: true, hasSqliteFlag: true, mayWriteBackups: false, needsNetwork: true, ...overrides,
  };
}

/** Runs the probe under the flags; its folders lie beside each other: `data`, `data-of-others` and a secret. */
async function probe(t: TestContext, needsNetwork = true): Promise<{ outcome: Record<string, string>; stderr: string }> {
  const folder = temporaryFolder(t);
  const dataDir = join(folder, 'data');
  const secret = join(folder, 'secret, too');
  mkdirSync(dataDir);
  writeFiles(folder, { 'data-of-others/file': '', 'secret, too': 'abc', 'data/probe.mjs': PROBE });

  const flags = permissionFlags(access({
    projectRoot: PROJECT_ROOT, dataDir, secretFiles: [secret], cwd: folder, hasNetFlag: HAS_NET_FLAG, needsNetwork,
  }));
  const args = [join(dataDir, 'probe.mjs'), PROJECT_ROOT, dataDir, join(folder, 'data-of-others'), secret];
  const { stdout, stderr } = await runProgram(process.execPath, [...flags, ...args], { cwd: folder });
  return { outcome: JSON.parse(stdout), stderr };
}

test('a confined process of the hub may read the program and write DATA_DIR, is refused other files and programs, and prints nothing', async (t) => {
  const { outcome, stderr } = await probe(t);

  const allowed = ALLOWED.map((name) => [name, 'allowed']);
  const refused = REFUSED.map((name) => [name, 'ERR_ACCESS_DENIED']);
  assert.deepEqual(outcome, Object.fromEntries([...allowed, ...refused]));
  assert.equal(stderr, '');
});

test('who needs no network has none where this Node can close it', async (t) => {
  const { outcome } = await probe(t, false);

  assert.equal(outcome['useNetwork'], HAS_NET_FLAG ? 'ERR_ACCESS_DENIED' : 'allowed');
});

test('every path has a flag of its own, because a path may hold a comma', () => {
  const flags = permissionFlags(access({ secretFiles: ['/run/a, b'] }));

  assert.deepEqual(flags.filter((flag) => flag.startsWith('--allow-fs')), [
    '--allow-fs-read=/run/a, b',
    '--allow-fs-read=/srv/hub/src',
    '--allow-fs-read=/srv/hub/.env',
    '--allow-fs-read=/srv/hub/data',
    '--allow-fs-read=/proc/self/status',
    '--allow-fs-read=/proc/self/limits',
    '--allow-fs-read=/srv/hub/migrations',
    '--allow-fs-read=/proc/self/mountinfo',
    '--allow-fs-read=/srv/hub/package.json',
    '--allow-fs-read=/srv/hub/node_modules/better-sqlite3',
    '--allow-fs-write=/srv/hub/data',
  ]);
});

test('hubctl writes BACKUP_DIR too, where that is elsewhere; web and worker only read it', () => {
  const readFile = (): string => '{"version":"1.0.0"}';
  const config = readConfig({ DATA_DIR: '/srv/data', BACKUP_DIR: '/mnt/backups' }, { projectRoot: '/srv/hub', readFile });
  const node = { execPath: '/node', cwd: '/', hasNetFlag: false, hasRootLink: true, hasSqliteFlag: true };
  const flags = (name: string, kind: string): string[] => confinedCommand(config, name, ['backup'], node).args
    .filter((arg) => arg.startsWith(`--allow-fs-${kind}=`));

  for (const name of ['web', 'worker', 'hubctl']) {
    const read = flags(name, 'read').filter((arg) => arg.includes('backups'));
    assert.deepEqual(read, ['--allow-fs-read=/mnt/backups', '--allow-fs-read=/mnt/backups/*']);
    const more = name === 'hubctl' ? ['--allow-fs-write=/mnt/backups', '--allow-fs-write=/mnt/backups/*'] : [];
    assert.deepEqual(flags(name, 'write'), ['--allow-fs-write=/srv/data', ...more]);
  }
});

test('a folder to write whose path has a comma is named from the working folder', () => {
  const write = (dataDir: string, cwd: string): string | undefined =>
    permissionFlags(access({ dataDir, cwd })).find((flag) => flag.startsWith('--allow-fs-write='));

  assert.equal(write('/a, b/data', '/a, b'), '--allow-fs-write=data');
  assert.equal(write('/a, b', '/a, b'), '--allow-fs-write=.');
  assert.equal(write('/a/data', '/b'), '--allow-fs-write=/a/data');
});

test('the network is opened only for a Node that knows the flag, and for those programs that need it', () => {
  assert.ok(!permissionFlags(access()).includes('--allow-net'));
  assert.ok(permissionFlags(access({ hasNetFlag: true })).includes('--allow-net'));

  const config = readConfig({}, { projectRoot: '/srv/hub', readFile: () => '{"version":"1.0.0"}' });
  const node = { execPath: '/opt/node', cwd: '/srv/hub', hasNetFlag: true, hasRootLink: true, hasSqliteFlag: true };
  const isOnline = (name: string, ...args: string[]): boolean =>
    confinedCommand(config, name, args, node).args.includes('--allow-net');
  assert.deepEqual([isOnline('web'), isOnline('worker')], [true, true]);
  const commands = COMMANDS.map(({ name }) => name).filter((name) => isOnline('hubctl', name));
  assert.deepEqual(commands, ['alerts', 'heartbeat', 'rehearse']);
  assert.ok(!verifyingCommand({}, '/backup', ['verify', '/backup'], node).args.includes('--allow-net'));
});
