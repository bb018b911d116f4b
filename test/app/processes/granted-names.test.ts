// Protects a hub whose paths begin alike: Node denies a folder if its name begins that of another granted path.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { confinedCommand, nodeFacts, permissionFlags } from '../../../src/app/processes/confined-command.ts';
import { chooseNames } from '../../../src/app/processes/confined-command.ts';
import { ConfigError, loadConfig } from '../../../src/features/hub/read-config.ts';
import { grantedName, writtenPath } from '../../../src/platform/files/granted-name.ts';
import { PROJECT_ROOT, runProgram } from '../../support/run-program.ts';
import { temporaryFolder, writeFiles } from '../../support/temporary-project.ts';

const IS_LINUX = process.platform === 'linux';

const folder = (path: string) => ({ path, isFolder: true });
const file = (path: string) => ({ path, isFolder: false });

function namesOf(...places: { path: string; isFolder: boolean }[]): string[] {
  return [...chooseNames(places, true).values()];
}

test('a path beside a granted folder whose name it begins with, or that begins with it, gets a name behind a link', () => {
  assert.deepEqual(namesOf(folder('/x/data'), folder('/x/data-y')), ['/x/data', '/proc/self/root/x/data-y']);
  assert.deepEqual(namesOf(folder('/x/data-y'), folder('/x/data')), ['/x/data-y', '/proc/self/root/x/data']);
  assert.deepEqual(namesOf(folder('/x/data'), file('/x/data.key')), ['/x/data', '/proc/self/root/x/data.key']);
  assert.deepEqual(namesOf(folder('/x/data'), folder('/x/database/a'), folder('/x/data-y'), folder('/x/data-y-z')), [
    '/x/data', '/proc/self/root/x/database/a', '/proc/self/root/x/data-y', '/proc/self/root/proc/self/root/x/data-y-z',
  ]);
});

test('folders within one another, files, and names that only begin alike keep their names', () => {
  const within = ['/x/data', '/x/data/backups/1', '/x', '/'];
  assert.deepEqual(namesOf(...within.map(folder)), within);
  const files = ['/run/secrets/hub', '/run/secrets/hub-metrics', '/run/secrets/hub.key'];
  assert.deepEqual(namesOf(...files.map(file)), files);
  assert.deepEqual(namesOf(file('/x/hub'), folder('/x/hub-data')), ['/x/hub', '/x/hub-data']);
  assert.deepEqual(namesOf(folder('/x/data-a'), folder('/x/data-b')), ['/x/data-a', '/x/data-b']);
  assert.deepEqual(namesOf(folder('/x/data'), folder('/x/data')), ['/x/data']);
});

test('a machine without that link refuses the two paths by name, and nothing else', () => {
  const message = /Node cannot grant both \/x\/data and \/x\/data-y, .* Rename one\./;
  const refusal = (error: unknown): boolean => error instanceof ConfigError && message.test(error.message);
  assert.throws(() => chooseNames([folder('/x/data'), folder('/x/data-y')], false), refusal);
  assert.deepEqual([...chooseNames([folder('/x/data'), folder('/y/data-y')], false).values()], ['/x/data', '/y/data-y']);

  const config = loadConfig({ DATA_DIR: '/x/data', BACKUP_DIR: '/x/data-y' });
  const node = { ...nodeFacts(process, '/'), hasRootLink: false };
  assert.throws(() => confinedCommand(config, 'web', [], node), refusal);
});

test('people and scripts are told a path as it was written', () => {
  assert.equal(writtenPath('/proc/self/root/proc/self/root/x/data-y'), '/x/data-y');
  for (const path of ['/x/data-y', '/proc/self/roots', '/x/proc/self/root/y', '']) assert.equal(writtenPath(path), path);
  assert.equal(grantedName('/x/data'), '/x/data', 'an unconfined process uses every path by its name');
});

// Prints what this process can do with each folder, and which of the other paths it can read.
const PROBE = `
  import * as fs from 'node:fs';
  import { grantedName } from '${PROJECT_ROOT}/src/platform/files/granted-name.ts';
  const [folders, files, others] = process.argv.slice(2).map((text) => JSON.parse(text));
  const worked = (act) => { try { act(); return true; } catch (error) { return error.code; } };
  const read = (path) => fs.statSync(path).isDirectory() ? fs.readdirSync(path) : fs.readFileSync(path);
  const outcome = {};
  for (const path of [...folders, ...files]) outcome[path] = worked(() => read(grantedName(path)));
  for (const path of folders) outcome[path + ' within'] = worked(() => {
    const name = grantedName(path);
    for (const entry of fs.readdirSync(name)) read(name + '/' + entry);
    fs.statfsSync(name);
    fs.realpathSync.native(name);
  });
  for (const path of others) outcome[path] = worked(() => read(path)) === true || worked(() => read(grantedName(path)));
  outcome.write = worked(() => {
    const name = grantedName(folders[0]);
    fs.mkdirSync(name + '/a/b', { recursive: true });
    fs.writeFileSync(name + '/a/b/c', '');
    fs.renameSync(name + '/a', name + '/z');
    fs.rmSync(name + '/z', { recursive: true });
  });
  process.stdout.write(JSON.stringify(outcome));
`;

/** What the operator names (DATA_DIR, BACKUP_DIR, a secret file, a folder to read), and others' folders beside it. */
type Layout = { data: string; backups?: string; secret?: string; reads?: string; others: string[] };

const LAYOUTS: [what: string, layout: Layout][] = [
  ['backups beside the data', { data: 'hub-data', backups: 'hub-data-backups', others: ['hub', 'hub-data-', 'hub-data-old'] }],
  ['data beside the backups', { data: 'hub-data', backups: 'hub', others: ['hu', 'hub-', 'hub-data-old', 'hubs'] }],
  ['a key beside the data', { data: 'hub-data', secret: 'hub-data.key', others: ['hub-data.key.old', 'hub-database'] }],
  ['data that was put aside', {
    data: 'data', reads: 'data.broken/backups/20260131-031500', others: ['data.broken/uploads', 'data.old', 'database'],
  }],
  ['the folder above the data', { data: 'data/hub', reads: 'data', others: ['data-old', 'dat'] }],
  ['all at once', { data: 'd', backups: 'd-b', secret: 'd-b-key', reads: 'd-b-key-old/x', others: ['d-', 'd-b-', 'd-b-key-old/y'] }],
];

/** Makes the folders and files of that layout in a folder; returns all their paths, and the flags that grant them. */
function layOut(base: string, { data, backups, secret, reads, others }: Layout) {
  const place = (name: string): string => join(base, name);
  const named = [data, backups, reads].filter((name) => name !== undefined);
  for (const name of [...named, ...others]) writeFiles(base, { [`${name}/file`]: 'abc' });
  if (secret !== undefined) writeFiles(base, { [secret]: 'abc' });
  const files = secret === undefined ? [] : [place(secret)];
  const flags = permissionFlags({
    ...nodeFacts(process, base), projectRoot: PROJECT_ROOT, dataDir: place(data), mayWriteBackups: false,
    ...backups !== undefined && { backupDir: place(backups) }, secretFiles: files,
    ...reads !== undefined && { folders: [place(reads)] }, needsNetwork: false,
  });
  const strange = [base, ...others.flatMap((name) => [place(name), place(`${name}/file`)])];
  return { folders: named.map(place), files, strange, flags };
}

for (const [what, layout] of LAYOUTS) {
  test(`this Node grants ${what}, and nothing else there`, { skip: !IS_LINUX && 'needs /proc' }, async (t) => {
    const base = temporaryFolder(t);
    const { folders, files, strange, flags } = layOut(base, layout);

    const args = [folders, files, strange].map((paths) => JSON.stringify(paths));
    const program = [...flags, '--input-type=module', '--eval', PROBE, 'probe', ...args];
    const { status, stdout, stderr } = await runProgram(process.execPath, program, { cwd: base });

    assert.deepEqual([status, stderr], [0, '']);
    const allowed = [...folders, ...files, ...folders.map((path) => `${path} within`), 'write'].map((name) => [name, true]);
    const refused = strange.map((path) => [path, 'ERR_ACCESS_DENIED']);
    assert.deepEqual(JSON.parse(stdout), Object.fromEntries([...allowed, ...refused]));
  });
}
