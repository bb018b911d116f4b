// Protects the script that waits for the hub to become healthy, so that it neither gives up early nor waits in vain.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { PROJECT_ROOT, runProgram, type Outcome } from '../support/run-program.ts';
import { temporaryFolder } from '../support/temporary-project.ts';

const SCRIPT = join(PROJECT_ROOT, 'scripts/await-health.sh');
const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`;

/** A hub whose web is ready from its nth check on, and whose worker was never seen. */
async function unwell(t: TestContext, goodAt: number) {
  let calls = 0;
  const server = createServer((_request, response) => {
    calls++;
    response.writeHead(calls < goodAt ? 503 : 200).end(JSON.stringify({ ok: calls >= goodAt, worker: { ok: false } }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const settings = { PATH, HOST: '127.0.0.1', PORT: String(port), DATA_DIR: temporaryFolder(t) };
  return {
    said: `http://127.0.0.1:${port} answered 503, not ready\n`,
    calls: () => calls,
    wait: (args: string[], env: Record<string, string> = {}): Promise<Outcome> =>
      runProgram(SCRIPT, args, { env: { ...settings, ...env } }),
  };
}

test('it ends with 0 at the first good answer', async (t) => {
  const hub = await unwell(t, 3);
  assert.deepEqual(await hub.wait(['5', '0']), { status: 0, stdout: '', stderr: '' });
  assert.equal(hub.calls(), 3);
});

test('after the last try it ends with 1 and says why', async (t) => {
  const hub = await unwell(t, 4);
  assert.deepEqual(await hub.wait(['3', '0']), { status: 1, stdout: '', stderr: hub.said });
  assert.equal(hub.calls(), 3);
});

test('of the worker it ends with 75 while web is not ready, and with 1 once web says that it was not seen', async (t) => {
  const hub = await unwell(t, 4);
  assert.equal((await hub.wait(['2', '0', '--worker'])).status, 75);
  const { status, stderr } = await hub.wait(['3', '0', '--worker']);
  assert.deepEqual([status, stderr, hub.calls()], [1, 'the worker was never seen\n', 5]);
});

test('it waits no longer for a process that has ended', async (t) => {
  const hub = await unwell(t, 100);
  const child = spawn('true', { stdio: 'ignore' });
  await once(child, 'close');

  assert.equal((await hub.wait(['50', '0'], { MAINPID: String(child.pid) })).status, 1);
  assert.equal(hub.calls(), 1);

  await hub.wait(['3', '0'], { MAINPID: String(process.pid) });
  assert.equal(hub.calls(), 4);
});

test('it waits no longer when a file says that it would be in vain, and repeats what that says', async (t) => {
  const hub = await unwell(t, 100);
  const path = join(temporaryFolder(t), 'failed');
  assert.equal((await hub.wait(['3', '0'], { FAILURE_FILE: path })).stderr, hub.said);
  writeFileSync(path, 'web has ended\n');
  assert.deepEqual(await hub.wait(['50', '0'], { FAILURE_FILE: path }), { status: 1, stdout: '', stderr: 'web has ended\n' });
  assert.equal(hub.calls(), 4);
});

test('it waits no longer than the uptime that it is told', async (t) => {
  const hub = await unwell(t, 100);
  assert.equal((await hub.wait(['50', '0'], { DEADLINE: '1' })).status, 1);
  assert.equal(hub.calls(), 1);
});
