// Protects hubs whose folders and files have names that begin alike, as people name them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { test, type TestContext } from 'node:test';
import { hubEnvironment, watchHubProcess } from '../../support/hub-process.ts';
import { freePort } from '../../support/ports.ts';
import { leftovers, restorableHub, worldIn } from '../../support/restore-hub.ts';
import { restoreEnvironment, runRestore } from '../../support/restore-script.ts';
import { compiledIn, PROJECT_ROOT, runProgram } from '../../support/run-program.ts';
import { writeFiles } from '../../support/temporary-project.ts';

type Environment = Record<string, string>;
type Health = { ok: boolean; lastBackup: { verified: boolean } | null };

/** Starts web of that project in that working folder, and returns its health once it is ready. */
async function healthOfWeb(t: TestContext, cwd: string, settings: Environment, project = PROJECT_ROOT): Promise<Health> {
  const env = { ...hubEnvironment('', settings), ...compiledIn(resolve(PROJECT_ROOT, settings['DATA_DIR'] ?? '')) };
  const web = watchHubProcess(t, spawn(process.execPath, [join(project, 'src/bin/launch.ts'), 'web'], { cwd, env }));
  const address = await web.address();
  const headers = { authorization: 'Bearer abc' };
  assert.match(await (await fetch(`${address}/api/metrics`, { headers })).text(), /^process_open_fds [1-9]\d+$/m);
  const health = await (await fetch(`${address}/api/health`)).json() as Health;
  assert.equal(await web.end('SIGTERM'), 0);
  assert.deepEqual(web.lines().filter(({ level }) => level === 'error'), []);
  assert.ok(!web.stderr().includes('/proc/'), web.stderr());
  return health;
}

for (const [what, spell] of [
  ['a relative path with a slash at the end', (path: string) => `${relative(dirname(dirname(dirname(path))), path)}/`],
  ['a link beside it', (path: string) => join(dirname(path), 'newest')],
] as const) {
  test(`a backup within the data that was put aside is restored by ${what}`, async (t) => {
    const hub = await restorableHub(t);
    const broken = `${hub.dataDir}.broken`;
    renameSync(hub.dataDir, broken);
    const backup = join(broken, 'backups', hub.name);
    symlinkSync(hub.name, join(broken, 'backups', 'newest'));
    const path = spell(backup);

    const { status, stdout, stderr } = await runRestore(hub.dataDir, await freePort(), [path], {}, dirname(broken));

    assert.equal(status, 0, stderr);
    assert.match(stdout, new RegExp(`^RESTORED .*/data\\.broken/backups/(newest|${hub.name})$`, 'm'));
    assert.ok(!`${stdout}${stderr}`.includes('/proc/'), stdout);
    assert.equal(worldIn(hub.dataDir, hub), 'new');
    assert.equal(worldIn(broken, hub), 'old');
    assert.deepEqual(leftovers(hub.dataDir), []);
  });
}

/** A hub in hub-data, and its paths in the same folder. */
async function hubBeside(t: TestContext): Promise<(name: string) => string> {
  const hub = await restorableHub(t);
  const folder = dirname(hub.dataDir);
  renameSync(hub.dataDir, join(folder, 'hub-data'));
  rmSync(join(folder, 'hub-data/backups', hub.name), { recursive: true });
  writeFiles(folder, { 'hub-data.key': 'k'.repeat(32) });
  return (name) => join(folder, name);
}

test('with BACKUP_DIR and a key beside DATA_DIR web starts, and a backup is made, verified, listed, shown and restored', async (t) => {
  const place = await hubBeside(t);
  mkdirSync(place('hub-data-backups'));
  const settings = { BACKUP_DIR: place('hub-data-backups'), HUB_SECRET_KEY_FILE: place('hub-data.key') };
  const env = restoreEnvironment(place('hub-data'), await freePort(), settings);
  const run = async (script: string, ...args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await runProgram(join(PROJECT_ROOT, 'scripts', script), args, { env, cwd: '/' });
    assert.equal(status, 0, `${script} ${args.join(' ')}: ${stderr}`);
    assert.ok(!`${stdout}${stderr}`.includes('/proc/'), `${stdout}${stderr}`);
    return stdout;
  };
  assert.equal((await healthOfWeb(t, place('.'), env)).lastBackup, null);

  const [, made = ''] = /dir=(.*)\n/.exec(await run('backup.sh')) ?? [];
  assert.equal(dirname(made), place('hub-data-backups'));
  assert.match(await run('verify-backup.sh', made), new RegExp(`^Backup ${basename(made)} \\(${made}\\)$`, 'm'));
  assert.ok((await run('restore.sh', '--list')).includes(basename(made)));
  assert.match(await run('hubctl', 'backup', 'show', basename(made)), new RegExp(`^Backup ${made}$`, 'm'));
  assert.equal(await run('hubctl', 'config', 'BACKUP_DIR', 'DATA_DIR'), `${place('hub-data-backups')}\n${place('hub-data')}\n`);
  assert.equal(await run('hubctl', 'backup', 'due'), `${basename(made)}\n`);
  assert.equal((await healthOfWeb(t, place('.'), env)).lastBackup?.verified, true);
  assert.match(await run('restore.sh', made), new RegExp(`^RESTORED ${made}$`, 'm'));
});

const SPELLINGS: [what: string, settingsAt: (place: (name: string) => string) => Environment][] = [
  ['slashes at the end', (place) => ({ DATA_DIR: `${place('hub-data')}/`, BACKUP_DIR: `${place('hub-data-backups')}//` })],
  ['a relative DATA_DIR', (place) => ({
    DATA_DIR: relative(PROJECT_ROOT, place('hub-data')), BACKUP_DIR: place('hub-data-backups'),
  })],
  ['links', (place) => ({ DATA_DIR: place('hub'), BACKUP_DIR: place('hub-copies') })],
  ['data beside the backups', (place) => ({ DATA_DIR: place('hub-data'), BACKUP_DIR: place('hub-') })],
  ['a folder for backups that is not there', (place) => ({
    DATA_DIR: place('hub-data'), BACKUP_DIR: place('hub-data-unplugged'),
  })],
  ['two secret files', (place) => ({
    DATA_DIR: place('hub-data'), HUB_SECRET_KEY_FILE: relative(PROJECT_ROOT, place('hub-data.key')),
    METRICS_TOKEN_FILE: place('hub-data.key.token'),
  })],
];

for (const [what, settingsAt] of SPELLINGS) {
  test(`web starts on paths that begin alike: ${what}`, async (t) => {
    const place = await hubBeside(t);
    for (const name of ['hub-data-backups', 'hub-', 'disk']) mkdirSync(place(name));
    symlinkSync('hub-data', place('hub'));
    symlinkSync('disk', place('hub-copies'));
    writeFiles(place('.'), { 'hub-data.key.token': 'abc' });

    assert.equal((await healthOfWeb(t, place('.'), settingsAt(place))).lastBackup, null);
  });
}
