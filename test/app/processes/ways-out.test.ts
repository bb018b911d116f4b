// Protects the disk from a confined process that climbs out of a path that it was granted.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { nodeFacts, permissionFlags } from '../../../src/app/processes/confined-command.ts';
import { NO_DEBUGGER } from '../../../src/app/processes/supervise.ts';
import { catches, PROJECT_ROOT, runProgram } from '../../support/run-program.ts';
import { temporaryFolder, writeFiles } from '../../support/temporary-project.ts';
import { OPEN_WAYS, PROBER, WAYS } from '../../support/ways-out.ts';

const PATH_OF_GRANT = /^--allow-fs-(?:read|write)=(.*?)(?:\/\*)?$/;

// Prints the paths by which it reads a file that it was not granted. Buffers keep Node from joining `..` itself.
const CLIMBER = `
  import * as fs from 'node:fs';
  const [granted, ...goals] = process.argv.slice(2).map((text) => JSON.parse(text));
  const quietly = (act) => { try { return act(); } catch { return undefined; } };
  const OWN = ['/proc/self', '/proc/thread-self', '/proc/' + process.pid, '/proc/self/task/' + process.pid];

  const starts = new Set();
  const opened = (path) => {
    const fd = quietly(() => fs.openSync(Buffer.from(path), 'r'));
    return fd === undefined ? [] : [...OWN.map((own) => own + '/fd/' + fd), '/dev/fd/' + fd];
  };
  const linksBelow = (path) => (quietly(() => fs.readdirSync(path, { withFileTypes: true })) ?? []).flatMap((entry) => {
    if (entry.isSymbolicLink()) return [path + '/' + entry.name];
    return entry.isDirectory() ? linksBelow(path + '/' + entry.name) : [];
  });
  for (const path of granted) for (const start of [path, ...linksBelow(path)]) starts.add(start);
  for (const own of OWN) for (const name of ['root', 'cwd']) starts.add(own + '/' + name);

  const found = [];
  for (const start of starts) {
    let through = opened(start); // descriptors of a folder, then of the folder above it, and so on
    for (let up = 0; up <= 12; up++) {
      for (const folder of [start + '/..'.repeat(up), ...through]) {
        for (const goal of goals) {
          if (quietly(() => fs.readFileSync(Buffer.from(folder + goal)))) found.push(folder + goal);
        }
      }
      through = through.flatMap((name) => opened(name + '/..')).slice(0, 5);
    }
  }
  process.stdout.write(JSON.stringify({ tried: starts.size, found }));
`;

/** Folders of a hub as they lie on a machine, with links that lead out of some, and a file of somebody else. */
function layOut(t: TestContext) {
  const folder = temporaryFolder(t);
  const place = (name: string): string => join(folder, name);
  writeFiles(folder, {
    'others/file': 'not for the hub', 'hub/package.json': '{}', 'hub/.env': '', 'hub/src/bin/web.ts': '',
    'hub/migrations/0001_hub.sql': '', 'hub/node_modules/better-sqlite3/package.json': '{}',
    'hub/node_modules/tsx/cli.mjs': '', 'hub/.runtime/node-24/bin/node': '',
    'hub/src/climber.mjs': CLIMBER, 'hub-data/run/hub.pid': '', 'hub-data-backups/20260131-031500/hub.db': '',
    'hub-data.key': 'secret', 'hub-data.broken/backups/20260131-031500/hub.db': '', 'disk/data/hub.db': '',
  });
  mkdirSync(place('hub/.runtime/upgrade/new/.runtime'), { recursive: true });
  symlinkSync(place('hub/.runtime/node-24'), place('hub/.runtime/upgrade/new/.runtime/node-24'));
  mkdirSync(place('hub/node_modules/.bin'));
  symlinkSync('../tsx/cli.mjs', place('hub/node_modules/.bin/tsx'));
  symlinkSync(place('disk/data'), place('hub/data')); // from when the data lay in the project
  return place;
}

test('neither the paths granted to a process, nor links below these paths, nor open descriptors lead the process to other files', async (t) => {
  const place = layOut(t);
  const flags = permissionFlags({
    ...nodeFacts(process, place('.')), projectRoot: place('hub'), dataDir: place('hub-data'),
    backupDir: place('hub-data-backups'), secretFiles: [place('hub-data.key')], mayWriteBackups: true,
    folders: [place('hub-data.broken/backups/20260131-031500')], needsNetwork: false,
  });
  const granted = [...new Set(flags.flatMap((flag) => PATH_OF_GRANT.exec(flag)?.[1] ?? []))];
  assert.ok(granted.length >= 12, granted.join('\n'));
  const goals = ['/etc/passwd', '/others/file', '/disk/data/hub.db', `/proc/${process.pid}/environ`, '/self/environ'];
  for (const goal of ['/etc/passwd', place('others/file'), place('disk/data/hub.db')]) readFileSync(goal);

  const args = [place('hub/src/climber.mjs'), JSON.stringify(granted), ...goals.map((goal) => JSON.stringify(goal))];
  const { status, stdout, stderr } = await runProgram(process.execPath, [...flags, ...args], { cwd: place('.') });

  assert.equal(status, 0, stderr);
  const { tried, found } = JSON.parse(stdout) as { tried: number; found: string[] };
  assert.ok(tried > 20, `${tried} ways were tried`);
  assert.deepEqual(found, []);
});

test('what a process was granted of the project holds no link, which it could copy to where it leads elsewhere', () => {
  const flags = permissionFlags({
    ...nodeFacts(process, '/'), projectRoot: PROJECT_ROOT, dataDir: '/nowhere', secretFiles: [], mayWriteBackups: false,
    needsNetwork: false,
  });
  const granted = flags.flatMap((flag) => PATH_OF_GRANT.exec(flag)?.[1] ?? []);
  const folders = ['src', 'migrations', 'node_modules/better-sqlite3'].map((name) => join(PROJECT_ROOT, name));

  assert.deepEqual(granted.filter((path) => path.startsWith(`${PROJECT_ROOT}/`)).toSorted(),
    [...folders, join(PROJECT_ROOT, '.env'), join(PROJECT_ROOT, 'package.json')].toSorted());
  const entries = folders.flatMap((path) => readdirSync(path, { recursive: true, withFileTypes: true }));
  assert.ok(entries.length > 300, `${entries.length} entries`);
  assert.deepEqual(entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name), []);
});

/** Servers at a port and at a socket that the process was not granted. */
async function listen(t: TestContext, ...places: (string | number)[]): Promise<number> {
  let port = 0;
  for (const place of places) {
    const server = createServer((_, response) => response.end()).listen(place);
    t.after(() => server.close());
    await once(server, 'listening');
    port = typeof place === 'number' ? (server.address() as AddressInfo).port : port;
  }
  return port;
}

test('each of 150 ways out of web has the answer that is known of this Node, and what goes stands in the ledger', async (t) => {
  const folder = temporaryFolder(t);
  const [out, data] = [join(folder, 'out'), join(folder, 'data')];
  writeFiles(folder, Object.fromEntries([out, data].flatMap((place) => Object.entries({
    file: 'A=1', 'empty/.keep': '', 'module.mjs': '', 'module.cjs': '', 'package.json': '{}', 'prober.mjs': PROBER,
  }).map(([name, text]) => [join(place, name).slice(folder.length + 1), text]))));
  symlinkSync('file', join(out, 'link'));
  const port = await listen(t, 0, join(out, 'socket'));
  const parent = spawn(process.execPath, [NO_DEBUGGER, '-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  t.after(() => parent.kill('SIGKILL'));
  const flags = permissionFlags({
    ...nodeFacts(process, folder), projectRoot: PROJECT_ROOT, dataDir: data, secretFiles: [], mayWriteBackups: false,
    needsNetwork: true,
  });
  const ways = Object.fromEntries(Object.entries(WAYS).map(([name, { body }]) => [name, body]));
  const places = { out, data, project: PROJECT_ROOT, parent: parent.pid, port };

  const { status, stdout, stderr } = await runProgram(
    process.execPath, [...flags, join(data, 'prober.mjs'), JSON.stringify({ ways, ...places })], { cwd: folder });

  assert.equal(status, 0, stderr);
  const outcome = JSON.parse(stdout) as Record<string, string>;
  assert.ok(Object.keys(outcome).length >= 150, `${Object.keys(outcome).length} ways`);
  const others = Object.entries(WAYS).filter(([name, { answers }]) => !answers.includes(String(outcome[name])));
  assert.deepEqual(others.map(([name, { answers }]) => `${name}: ${outcome[name]}, not ${answers.join(' or ')}`), []);
  assert.equal(parent.exitCode ?? parent.signalCode, null, 'Node blocks SIGUSR1 that opens no debugger');
  assert.equal(catches(readFileSync(`/proc/${parent.pid}/status`, 'utf8'), 10), false);
  const ledger = readFileSync(join(PROJECT_ROOT, 'src/LEDGER.md'), 'utf8').replaceAll(/\s+/g, ' ');
  assert.deepEqual(Object.keys(OPEN_WAYS).filter((sentence) => !ledger.includes(sentence)), []);
});
