// Protects `npm start`: what it prints, its exit codes, and that no process is left behind.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { catches, isRunning, runProgram } from '../../support/run-program.ts';
import { exit, pidOf, ready, standInProject, startHub } from '../../support/stand-in-hub.ts';
import { writeFiles } from '../../support/temporary-project.ts';
import { waitUntil } from '../../support/wait-until.ts';

const preparing = (folder: string): Promise<void> => waitUntil('the data is being prepared', () =>
  Number(statSync(join(folder, 'data/prepare.pid'), { throwIfNoEntry: false })?.size) > 0);

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`the hub prints where it runs and the set-up link, and ${signal} stops both processes`, async (t) => {
    const hub = startHub(t, standInProject(t), { PORT: '0' });
    await ready(hub);
    const [web, worker] = [pidOf(hub.folder, 'web'), pidOf(hub.folder, 'worker')];
    assert.ok(isRunning(web) && isRunning(worker));
    const [, address = ''] = /^Content Hub is running at (http:\S+)$/m.exec(hub.stdout()) ?? [];
    assert.equal((await fetch(`${address}/api/health`)).status, 200);
    assert.ok(hub.stdout().includes(`${address}/join/abc\n`));

    hub.child.kill(signal);

    assert.equal(await exit(hub), 0);
    assert.equal(hub.stderr(), '');
    assert.ok(!isRunning(web) && !isRunning(worker));
  });
}

test('the public address is printed when there is one, whatever the port', async (t) => {
  const hub = startHub(t, standInProject(t), { PORT: '0', BASE_URL: 'https://hub.example.org' });
  await ready(hub);

  assert.match(hub.stdout(), /^Content Hub is running at https:\/\/hub\.example\.org\n/);
  assert.match(hub.stdout(), /: https:\/\/hub\.example\.org\/join\/abc\n$/);
});

for (const [name, other] of [['web', 'worker'], ['worker', 'web']] as const) {
  test(`when ${name} dies, ${other} is stopped and the exit is not zero`, async (t) => {
    const hub = startHub(t, standInProject(t), { PORT: '0' });
    await ready(hub);

    process.kill(pidOf(hub.folder, name), 'SIGKILL');

    assert.equal(await exit(hub), 1);
    assert.equal(hub.stderr(), `${name} ended by itself (SIGKILL); the hub has stopped\n`);
    assert.ok(!isRunning(pidOf(hub.folder, other)));
  });
}

test('a port that is in use ends in one clear line, although whoever holds it answers', async (t) => {
  const server = createServer((_, response) => response.end('{"ok":true}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;

  const hub = startHub(t, standInProject(t), { PORT: String(port) });

  assert.equal(await exit(hub), 1);
  assert.equal(hub.stderr(), `127.0.0.1 port ${port} is in use by another program: stop that program or set PORT\n`);
  assert.equal(hub.stdout(), '');
});

test('what stops the preparation is printed as it is, and nothing is started', async (t) => {
  const hub = startHub(t, standInProject(t), { PORT: '0', UNSAFE: '1' });

  assert.equal(await exit(hub), 1);
  assert.equal(hub.stderr(), 'migration 2 is not safe: run scripts/hubctl migrate\n');
  assert.ok(!existsSync(join(hub.folder, 'data/web.pid')));
});

test('a signal ends at once what still prepares the data, and nothing is started', async (t) => {
  const hub = startHub(t, standInProject(t), { PORT: '0', ENDLESS: '1' });
  await preparing(hub.folder);

  hub.child.kill('SIGTERM');

  assert.equal(await exit(hub), 0);
  assert.ok(!isRunning(pidOf(hub.folder, 'prepare')));
  assert.ok(!existsSync(join(hub.folder, 'data/web.pid')));
});

test('a signal that comes when everything has just been prepared starts nothing either', async (t) => {
  const folder = standInProject(t);
  writeFiles(folder, {
    'src/bin/prepare.ts': `
      import { mkdirSync, writeFileSync } from 'node:fs';
      const web = { name: 'web', file: 'src/bin/web.ts', args: [] };
      process.on('SIGTERM', () => process.send?.({ dataDir: 'data', commands: [web], failure: null }));
      process.on('disconnect', () => process.exit());
      mkdirSync('data');
      writeFileSync('data/prepare.pid', String(process.pid));`,
  });
  const hub = startHub(t, folder, { PORT: '0' });
  await preparing(folder);

  hub.child.kill('SIGTERM');

  assert.equal(await exit(hub), 0);
  assert.equal(hub.stderr(), '');
});

test('SIGUSR1 opens no debugger in start.ts, also where an older version began it, nor in what prepares the data', async (t) => {
  const folder = standInProject(t);
  const hub = startHub(t, folder, { PORT: '0', UNTIL: join(folder, 'go') });
  await preparing(folder);
  assert.equal(catches(readFileSync(`/proc/${pidOf(folder, 'prepare')}/status`, 'utf8'), 10), false);

  hub.child.kill('SIGUSR1');
  writeFiles(folder, { go: '' });

  await ready(hub);
  hub.child.kill('SIGUSR1');
  hub.child.kill('SIGTERM');
  assert.equal(await exit(hub), 0);
  assert.equal(hub.stderr(), '', 'Node would say where its debugger listens');
});

test('a restore that asks while the data is still prepared is heard, and the hub starts afterwards', async (t) => {
  const folder = standInProject(t);
  const hub = startHub(t, folder, { PORT: '0', UNTIL: join(folder, 'go'), HUB_NODE: process.execPath });
  await preparing(folder);

  hub.child.kill('SIGUSR2');
  writeFiles(folder, { go: '' });

  await ready(hub);
  assert.match(hub.stderr(), /^the hub pauses; waiting for the restore or the upgrade\n/);
});

test('a preparation that is killed ends in one clear line', async (t) => {
  const hub = startHub(t, standInProject(t), { PORT: '0', ENDLESS: '1' });
  await preparing(hub.folder);

  process.kill(pidOf(hub.folder, 'prepare'), 'SIGKILL');

  assert.equal(await exit(hub), 1);
  assert.equal(hub.stderr(), 'the preparation of the hub was ended by SIGKILL; nothing was started\n');
});

test('the data folder is made for the hub alone, and what is written there too', async (t) => {
  const hub = startHub(t, standInProject(t), { PORT: '0' });
  await ready(hub);

  assert.equal(statSync(join(hub.folder, 'data')).mode & 0o777, 0o700);
  assert.equal(statSync(join(hub.folder, 'data/web.pid')).mode & 0o777, 0o600);
});

for (const [title, env, status, line] of [
  ['every mistake in the configuration', { PORT: 'x', HOST: '' }, 2, /^the .*\n {2}HOST must .*\n {2}PORT must .*\n$/],
  ['a data folder on no disk', { DATA_DIR: 'none/data' }, 1, /^DATA_DIR .*\/none\/data .* does not exist\n$/],
  ['a data folder that is a file', { DATA_DIR: 'package.json' }, 1, /^DATA_DIR .* is not a folder\n$/],
] as const) {
  test(`start and launch both end with ${status} and a clear line for ${title}`, async (t) => {
    const folder = standInProject(t);
    for (const program of [['start.ts'], ['launch.ts', 'web']]) {
      const [file = '', ...args] = program;
      const outcome = await runProgram(process.execPath, [join(folder, 'src/bin', file), ...args], { env });
      assert.equal(outcome.status, status, file);
      assert.match(outcome.stderr, line, file);
    }
  });
}

test('launch becomes the program: same process id, arguments, working folder, streams and exit status', async (t) => {
  const folder = standInProject(t);
  writeFiles(folder, {
    'src/bin/hubctl.ts': `
      import { readFileSync } from 'node:fs';
      const refused = (): string => { try { return readFileSync('/etc/passwd', 'utf8'); } catch { return 'refused'; } };
      console.log(JSON.stringify([process.pid, process.argv.slice(2), process.cwd(), refused(), process.env.MALLOC_ARENA_MAX]));
      process.exitCode = 75;
    `,
  });
  const args = [join(folder, 'src/bin/launch.ts'), 'hubctl', 'a b', '', '--json'];
  const cwd = join(folder, 'src');
  const child = spawn(process.execPath, args, { cwd, env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const status = await new Promise((resolve) => child.once('close', resolve));

  assert.deepEqual(JSON.parse(stdout), [child.pid, ['a b', '', '--json'], cwd, 'refused', '2']);
  assert.equal(status, 75);
});

test('launch starts nothing but the programs of the hub', async (t) => {
  const folder = standInProject(t);

  for (const name of ['start', '../features/hub/config', '']) {
    const { status, stderr } = await runProgram(process.execPath, [join(folder, 'src/bin/launch.ts'), name]);
    assert.equal(status, 2);
    assert.match(stderr, /^usage: launch\.ts <web\|worker\|hubctl\|clamd-bridge>/);
  }
});
