// Protects `hubctl config`, by which the scripts read settings: exact, quick, and without secrets.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { hubctl } from '../support/hubctl.ts';
import { PROJECT_ROOT, runProgram, type Outcome } from '../support/run-program.ts';
import { temporaryProject, writeFiles } from '../support/temporary-project.ts';

const config = (names: string[], env: Record<string, string> = {}): Promise<Outcome> => hubctl(env, 'config', ...names);

test('settings in effect are printed one a line in the order asked, empty where they are not set; nothing else but doubts, on standard error', async () => {
  const env = { PORT: '81', BACKUP_OFFSITE_DIR: '/mnt/a disk', BACKUP_RETENTION_DAYS: '7', DATA_DIR: '/srv/data' };
  const names = ['BACKUP_RCLONE_REMOTE', 'PORT', 'BACKUP_OFFSITE_DIR', 'BACKUP_AGE_RECIPIENT', 'BACKUP_RETENTION_DAYS',
    'HOST', 'DATA_DIR', 'PORT', 'BASE_URL'];
  const stdout = ['', '81', '/mnt/a disk', '', '7', '127.0.0.1', '/srv/data', '81', 'http://127.0.0.1:81', ''].join('\n');
  assert.deepEqual(await config(names, env), { status: 0, stdout, stderr: '' });
  const doubted = await config(names, { ...env, NOTIFICATION_RETENTION_DAY: '0' });
  assert.deepEqual([doubted.status, doubted.stdout], [0, stdout]);
  assert.match(doubted.stderr, /^hubctl: NOTIFICATION_RETENTION_DAY in the .* did you mean NOTIFICATION_RETENTION_DAYS\?\n$/);
});

test('secrets, unknown names and no name at all are wrong usage, and nothing is printed', async () => {
  for (const names of [[], ['METRICS_TOKEN'], ['PORT', 'METRICS_TOKEN'], ['VIRUS_SCAN_URL'], ['port'], ['toString']]) {
    const { status, stdout, stderr } = await config(names, { METRICS_TOKEN: 'hunter2' });
    assert.deepEqual([status, stdout], [2, ''], names.join());
    assert.match(stderr, /usage: hubctl config/);
    assert.ok(!stderr.includes('hunter2'));
  }
});

test('a value with a line break, which scripts would take for two, is an error, and so is a mistake in any setting', async () => {
  const broken = await config(['PORT', 'DATA_DIR'], { DATA_DIR: '/srv/a\nb' });
  assert.deepEqual([broken.status, broken.stdout], [1, '']);
  assert.match(broken.stderr, /DATA_DIR contains a line break/);
  const wrong = await config(['PORT'], { BACKUP_RETENTION_DAYS: '0' });
  assert.deepEqual([wrong.status, wrong.stdout], [2, '']);
  assert.match(wrong.stderr, /BACKUP_RETENTION_DAYS must be a number of days from 1 to 9999/);
});

test('case 103: scripts see .env as the hub does: spaces, #, $ and quotes, and nothing is run', async (t) => {
  const root = temporaryProject(t, ['scripts', 'package.json', 'src', 'node_modules/better-sqlite3']);
  writeFiles(root, {
    '.env': `BACKUP_OFFSITE_DIR='/mnt/$(touch gone) \`touch gone\` # "x"'  # a comment\nexport PORT=81 # no\n`,
  });

  const { status, stdout } = await runProgram(join(root, 'scripts/hubctl'), ['config', 'BACKUP_OFFSITE_DIR', 'PORT'], {
    cwd: root, env: { PATH: '/usr/bin:/bin', HUB_NODE: process.execPath },
  });

  assert.equal(status, 0);
  assert.equal(stdout, '/mnt/$(touch gone) `touch gone` # "x"\n81\n');
});

async function loadedBy(...argv: string[]): Promise<string[]> {
  const recorder = `data:text/javascript,
    import { registerHooks } from 'node:module';
    registerHooks({ load: (url, context, next) => (console.error('loaded ' + url), next(url, context)) });`;
  const program = [`--import=${recorder.replaceAll('\n', '')}`, join(PROJECT_ROOT, 'src/bin/hubctl.ts'), ...argv];
  const { status, stderr } = await runProgram(process.execPath, program, { env: { DATA_DIR: '/srv/data' } });
  assert.equal(status, 0, stderr);
  return [...stderr.matchAll(/^loaded .*\/src\/(.*)$/gm)].map(([, file = '']) => file);
}

test('scripts ask for settings all the time: few files are loaded to answer, and no database', async () => {
  const files = await loadedBy('config', 'DATA_DIR', 'BACKUP_OFFSITE_DIR');

  assert.ok(files.includes('commands/settings.ts'));
  assert.ok(files.length <= 25, `${files.length} files: ${files.join(' ')}`);
  assert.ok(!files.includes('platform/db/open-database.ts'));
});

test('the help needs none of the commands', async () => {
  const files = await loadedBy('--help');

  const list = ['command', 'run-hubctl'].map((name) => `commands/${name}.ts`);
  assert.deepEqual(files.filter((file) => file.startsWith('commands/')).toSorted(), list.toSorted());
});
