// Protects the script that waits for the hub to become healthy, so that it neither gives up early nor waits in vain.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { PROJECT_ROOT, runProgram, type Outcome } from '../support/run-program.ts';
import { temporaryProject, writeFiles } from '../support/temporary-project.ts';

/** await-health.sh beside a health check that is good at its nth call, and ends with that status before. */
function unwell(t: TestContext, goodAt: number, status = 1) {
  const root = temporaryProject(t, ['scripts']);
  const calls = join(root, 'calls');
  writeFiles(root, { 'scripts/healthcheck.sh': `#!/bin/sh
echo "called $*" >>'${calls}'
[ "$(wc -l <'${calls}')" -lt ${goodAt} ] || exit 0
echo 'the hub does not answer' >&2
exit ${status}
` }, 0o755);
  return {
    arguments: () => readFileSync(calls, 'utf8').match(/(?<=^called ).*$/gm),
    calls: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n').length : 0),
    wait: (args: string[], env: Record<string, string> = {}): Promise<Outcome> =>
      runProgram(join(root, 'scripts/await-health.sh'), args, { env: { PATH: '/usr/bin:/bin', ...env } }),
  };
}

test('it ends with 0 at the first good answer', async (t) => {
  const hub = unwell(t, 3);
  assert.deepEqual(await hub.wait(['5', '0']), { status: 0, stdout: '', stderr: '' });
  assert.equal(hub.calls(), 3);
});

test('after the last try it ends with 1 and says why', async (t) => {
  const hub = unwell(t, 4);
  assert.deepEqual(await hub.wait(['3', '0']), { status: 1, stdout: '', stderr: 'the hub does not answer\n' });
  assert.equal(hub.calls(), 3);
});

test('it passes on whom to ask for, and the status of the last check', async (t) => {
  const hub = unwell(t, 100, 75);
  assert.equal((await hub.wait(['2', '0', '--worker'])).status, 75);
  assert.deepEqual(hub.arguments(), ['--worker', '--worker']);
});

test('it waits no longer for a process that has ended', async (t) => {
  const hub = unwell(t, 100);
  const child = spawn('true', { stdio: 'ignore' });
  await new Promise((resolve) => child.once('close', resolve));

  assert.equal((await hub.wait(['50', '0'], { MAINPID: String(child.pid) })).status, 1);
  assert.equal(hub.calls(), 1);

  await hub.wait(['3', '0'], { MAINPID: String(process.pid) });
  assert.equal(hub.calls(), 4);
});

test('it waits no longer when a file says that it would be in vain, and repeats what that says', async (t) => {
  const hub = unwell(t, 100);
  const path = join(temporaryProject(t, []), 'failed');
  assert.equal((await hub.wait(['3', '0'], { FAILURE_FILE: path })).stderr, 'the hub does not answer\n');
  writeFileSync(path, 'web has ended\n');
  assert.deepEqual(await hub.wait(['50', '0'], { FAILURE_FILE: path }), { status: 1, stdout: '', stderr: 'web has ended\n' });
  assert.equal(hub.calls(), 4);
});

test('anything but two numbers, and perhaps --worker, is wrong usage', async () => {
  for (const args of [[], ['1'], ['a', '1'], ['1', ''], ['', ''], ['1', '2', '3'], ['1', '2', '--worker', '3'], ['-1', '1'], ['1', '-1']]) {
    const script = join(PROJECT_ROOT, 'scripts/await-health.sh');
    const outcome = await runProgram(script, args, { env: { PATH: '/usr/bin:/bin' } });
    assert.equal(outcome.status, 2, JSON.stringify(args));
    assert.match(outcome.stderr, /^Usage: await-health\.sh/);
  }
});
