// Protects whoever changes .env while the hub runs: what needs a restart is named, and nothing else, and no value is.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { findings } from '../../../src/features/health/findings.ts';
import { noteChangedSettings } from '../../../src/features/history/process-notes.ts';
import { changedSettings, loadConfig } from '../../../src/features/hub/read-config.ts';
import { heartbeats, type Hub } from '../../../src/features/hub/hub.ts';
import { SETTINGS, type Setting } from '../../../src/features/hub/settings.ts';
import { MINUTE } from '../../../src/platform/clock.ts';
import { createClient } from '../../support/client.ts';
import { conditionsOn } from '../../support/conditions.ts';
import { hubEnvironment, watchHubProcess } from '../../support/hub-process.ts';
import { startHub } from '../../support/hub.ts';
import { overviewOf } from '../../support/overview.ts';
import { compiledIn, PROJECT_ROOT, runProgram } from '../../support/run-program.ts';
import { temporaryFolder, temporaryProject, writeFiles } from '../../support/temporary-project.ts';

/** A project with that .env, and the configuration of a process that was started there. */
function startedWith(t: TestContext, envFile: string | null, env: Record<string, string> = {}) {
  const root = temporaryFolder(t);
  writeFiles(root, { 'package.json': '{"version":"1.0.0"}', 'token.txt': 'x'.repeat(40), 'other.txt': 'y'.repeat(40) });
  const path = join(root, '.env');
  if (envFile !== null) writeFileSync(path, envFile);
  const config = loadConfig(env, root);
  const named = (text: string): string[] => {
    writeFileSync(path, text);
    return changedSettings(config);
  };
  return { config, path, named };
}

test('a setting that .env says otherwise than at the start is named, added, changed or removed', (t) => {
  const { config, path, named } = startedWith(t, 'PORT=8081\nBASE_URL=https://hub.test\n');
  assert.deepEqual(changedSettings(config), []);
  assert.deepEqual(named('PORT=8082\nBASE_URL=https://hub.test\n'), ['PORT']);
  assert.deepEqual(named('BASE_URL=https://hub.test\nBACKUP_OFFSITE_DIR=/mnt/x\n'), ['PORT', 'BACKUP_OFFSITE_DIR']);
  assert.deepEqual(named('# as before\nBASE_URL="https://hub.test"\nexport PORT=8081\n'), [], 'the same, written otherwise');
  assert.deepEqual(named('PORT=8081\nBASE_URL=https://hub.test\nLOG_LEVEL=info\n'), [], 'info is what it was');
  rmSync(path);
  assert.deepEqual(changedSettings(config), ['PORT', 'BASE_URL']);
  assert.deepEqual(startedWith(t, null).named('PORT=9\n'), ['PORT'], 'also where there was no .env');
});

test('what the environment gives, what only scripts use and a file that cannot be read as settings are not meant', (t) => {
  const given = startedWith(t, 'PORT=1\n', { PORT: '8082', METRICS_TOKEN: 'z'.repeat(40) });
  assert.deepEqual(given.named('PORT=2\nMETRICS_TOKEN_FILE=token.txt\nHOST=::1\n'), ['HOST']);
  const { config, path, named } = startedWith(t, '');
  assert.deepEqual(named('BACKUP_RESTIC_KEEP=last=3\nRESTORE_STOP_SECONDS=5\nBACKUP_TIMEOUT_SECONDS=9\nUNKNOWN=1\n'), []);
  assert.deepEqual(named('PORT=8081\nthis is no setting\n'), []);
  rmSync(path);
  assert.deepEqual(named('PORT=8081\n'), ['PORT']);
  assert.deepEqual(changedSettings({ ...config, projectRoot: join(path, 'nowhere') }), []);
});

test('of a secret only the name is kept and told: neither its text nor that of its file', (t) => {
  const { config, named } = startedWith(t, 'METRICS_TOKEN_FILE=token.txt\nALERT_WEBHOOK_URL=https://chat.test/MARKED\n');
  assert.deepEqual(named('METRICS_TOKEN_FILE=other.txt\nALERT_WEBHOOK_URL=https://chat.test/MARKED\n'), ['METRICS_TOKEN']);
  assert.deepEqual(named('METRICS_TOKEN_FILE=token.txt\nALERT_WEBHOOK_URL=https://chat.test/OTHER\n'), ['ALERT_WEBHOOK_URL']);
  assert.doesNotMatch(JSON.stringify(config.fileSettings), /MARKED|token\.txt|xxxx/);
});

test('a setting counts as one of the scripts if, and only if, no code of web and worker reads it', () => {
  const folders = ['app', 'bin', 'features', 'platform'].map((name) => join(PROJECT_ROOT, 'src', name));
  const code = folders.flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !/^(settings|read-config|setting-values)\.ts$/.test(entry.name))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))).join('\n');
  const words = new Set(code.match(/\w+/g));
  const settings = Object.entries<Setting<unknown>>(SETTINGS);
  assert.deepEqual(settings.filter(([, { usedBy }]) => usedBy === 'scripts').map(([key]) => key),
    settings.map(([key]) => key).filter((key) => !words.has(key)));
});

function settingsFinding(hub: Hub) {
  return findings(hub).find(({ subject }) => subject === 'Settings');
}

test('the overview tells it at once of web, and hubctl of each process that runs, until that is started again', async (t) => {
  const hub = await startHub(t);
  const { config: own, named } = startedWith(t, 'PORT=0\n');
  const config = { ...hub.config, projectRoot: own.projectRoot, fileSettings: own.fileSettings };
  const web: Hub = { ...hub.handle, config };
  const worker: Hub = { ...web, program: 'worker' };
  const hubctl: Hub = { ...hub.handle, program: 'hubctl' };
  assert.deepEqual([settingsFinding(web), settingsFinding(hubctl)], [undefined, undefined]);

  named('PORT=0\nBACKUP_OFFSITE_DIR=/mnt/SECRET\nLOG_LEVEL=warn\n');
  const { level, state, problem, whatToDo } = settingsFinding(web) ?? {};
  assert.deepEqual([level, state, conditionsOn(web, 'Settings')], ['warn', '2 changed', ['settings-changed']]);
  assert.equal(problem, 'Settings in .env have changed since the hub was started; restart to apply: ' +
    'BACKUP_OFFSITE_DIR, LOG_LEVEL.');
  assert.match(whatToDo ?? '', /^Restart the hub/);
  assert.doesNotMatch(JSON.stringify(settingsFinding(web)), /SECRET/);
  assert.equal(settingsFinding(hubctl), undefined, 'nobody has noted it yet');

  for (const process of [web, worker]) {
    heartbeats(process).beat(process.program);
    noteChangedSettings(process);
  }
  assert.equal(settingsFinding(hubctl)?.problem, problem);
  named('PORT=0\n');
  noteChangedSettings(web);
  assert.equal(settingsFinding(hubctl)?.problem, problem, 'the worker still says so');
  assert.equal(settingsFinding(web)?.problem, problem);
  hub.passTime(3 * MINUTE);
  assert.equal(settingsFinding(hubctl), undefined, 'a worker that does not run needs no restart');
  heartbeats(worker).beat('worker');
  noteChangedSettings({ ...worker, config: { ...config } });
  assert.equal(settingsFinding(hubctl), undefined);
});

test('a confined web process tells what changed, and of copies that are sent to where .env says by now', async (t) => {
  const root = temporaryProject(t, ['package.json', 'src', 'migrations', 'node_modules/better-sqlite3']);
  const dataDir = join(root, 'data');
  const env = { ...hubEnvironment(dataDir), ...compiledIn(dataDir) };
  const launch = join(root, 'src/bin/launch.ts');
  const web = watchHubProcess(t, spawn(process.execPath, [launch, 'web'], { env, cwd: root, stdio: 'pipe' }));
  const address = await web.address();
  const hubctl = (...args: string[]) => runProgram(process.execPath, [launch, 'hubctl', ...args], { env, cwd: root });
  const ada = createClient(address);
  const invitation = (await hubctl('invite', '--role', 'admin')).stdout.trim();
  await ada.post('/api/accounts', { invitation, username: 'ada', password: 'correct horse battery' });
  assert.equal((await overviewOf(ada)).tiles.has('Settings'), false);

  writeFiles(root, { '.env': 'BACKUP_OFFSITE_DIR=/mnt/unplugged\n' });
  assert.equal((await hubctl('offsite-note', 'dir', 'failed')).status, 0);
  const { tiles, verdict } = await overviewOf(ada);
  assert.equal(tiles.get('Settings')?.state, '1 changed');
  assert.match(verdict, /restart to apply: BACKUP_OFFSITE_DIR\./);
  assert.deepEqual([tiles.get('Copies on another disk')?.level, tiles.has('Copies elsewhere')], ['warn', false]);
  assert.deepEqual((await ada.get('/api/health')).json()['offsite'], [{ name: 'dir', ok: false, ageSeconds: null }]);
});
