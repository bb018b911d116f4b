// Protects the sign of life after a good night: it arrives, a failed one is shown, and its address stays secret.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { giveSignOfLife, lastSignOfLife } from '../../../src/features/backups/sign-of-life.ts';
import { findings } from '../../../src/features/health/findings.ts';
import { type Config, loadConfig } from '../../../src/features/hub/read-config.ts';
import { DAY } from '../../../src/platform/clock.ts';
import { hubEnvironment, temporaryDataDir } from '../../support/hub-process.ts';
import { hubctl, hubctlProcess } from '../../support/hubctl.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { reply, startOrigin, type OriginHandler } from '../../support/origin.ts';

const SECRET = 'hush7';
const BRIEF = { timeoutMs: 400, pauseMs: 10 };
await fetch('data:,'); // loads undici, which must not count against that

/** A service that answers so, until a test says otherwise, and a secret address of it. */
async function startService(t: TestContext, answer: OriginHandler = reply(200, {}, 'OK')) {
  const service = { answer };
  const origin = await startOrigin(t, (request, response) => service.answer(request, response));
  const address = `${origin.url.replace('//', `//${SECRET}:${SECRET}@`)}/ping/${SECRET}?key=${SECRET}`;
  return Object.assign(service, { origin, host: new URL(origin.url).host, address });
}

function call({ handle, now }: Hub, heartbeatUrl: string | null) {
  return callWith(handle.config, heartbeatUrl, now);
}

function callWith(config: Config, heartbeatUrl: string | null, clock = Date.now) {
  return giveSignOfLife(heartbeatUrl, config, { clock, patience: BRIEF });
}

function finding(hub: Hub) {
  const { level, state, problem, since } = findings(hub.handle).find(({ subject }) => subject === 'Sign of life') ?? {};
  return { level, state, problem, since };
}

test('the address is called with one GET, its answer’s body is not read, and the overview says that it arrived', async (t) => {
  const hub = await startHub(t);
  const service = await startService(t, (_request, response) => void response.writeHead(200).write('x'.repeat(1e6)));
  assert.equal(finding(hub).state, undefined);
  const result = await call(hub, service.address);

  assert.deepEqual(result, { at: hub.now(), host: service.host, problem: null, failingSince: null });
  const [{ method, path, headers, body } = assert.fail('nothing came'), ...more] = service.origin.requests;
  assert.deepEqual([method, path, body.length, more.length], ['GET', `/ping/${SECRET}?key=${SECRET}`, 0, 0]);
  assert.equal(headers.authorization, `Basic ${Buffer.from(`${SECRET}:${SECRET}`).toString('base64')}`);
  assert.match(headers['user-agent'] ?? '', /^ContentHub\//);
  assert.deepEqual(finding(hub), { level: 'good', state: 'the last arrived', problem: null, since: null });
});

for (const [what, answer, said] of [
  ['is refused', reply(503, {}, SECRET), /answered 503$/],
  ['is redirected', reply(302, { location: `/${SECRET}` }), /answered 302, a redirect, which is not followed$/],
  ['is cut off', (_request, response) => void response.destroy(), /^\S+ closed the connection without an answer$/],
  ['is left waiting', () => {}, /gave no answer within 0\.4 s$/],
  ['gets nonsense', (_request, response) => void response.socket?.end(`${SECRET}\r\n\r\n`), /^\S+ did not answer in valid HTTP$/],
] satisfies [string, OriginHandler, RegExp][]) {
  test(`a call that ${what} is repeated once; what failed then tells no more of the address than its host`, async (t) => {
    const config = loadConfig(hubEnvironment(temporaryDataDir(t)));
    const service = await startService(t, answer);
    const failed = await callWith(config, service.address);

    assert.match(failed?.problem ?? '', said);
    assert.ok(failed?.problem?.includes(service.host));
    assert.doesNotMatch(JSON.stringify([failed, lastSignOfLife(config.dataDir)]), new RegExp(SECRET));
    assert.equal(service.origin.requests.length, 2);
    service.answer = (request, response) => (service.origin.requests.length === 3 ? answer : reply(204, {}))(request, response);
    assert.equal((await callWith(config, service.address))?.problem, null, 'the second attempt counts');
  });
}

test('a call fails since the first failure; an address that is not set any more is missed by nobody, nor is a note that cannot be read', async (t) => {
  const hub = await startHub(t);
  const service = await startService(t, reply(500, {}));
  const since = hub.now();
  for (let failures = 0; failures < 2; failures++, hub.passTime(DAY)) await call(hub, service.address);
  assert.deepEqual({ ...finding(hub), problem: '' }, { level: 'warn', state: 'the last was lost', problem: '', since });
  assert.equal(await call(hub, null), null);
  assert.deepEqual([finding(hub).level, service.origin.requests.length], [undefined, 4]);
  rmSync(join(hub.dataDir, 'run'), { recursive: true });
  assert.equal(await call(hub, null), null);
  assert.equal((await call(hub, service.address))?.problem !== null, true, 'the folder is made anew');
});

test('hubctl heartbeat, confined, calls the address and says what came of it; neither output nor config tells it', async (t) => {
  const service = await startService(t);
  const dataDir = temporaryDataDir(t);
  const sent = await hubctlProcess(dataDir, ['heartbeat'], { HEARTBEAT_URL: service.address });
  assert.deepEqual(sent, { status: 0, stdout: `the sign of life arrived at ${service.host}\n`, stderr: '' });
  service.answer = reply(404, {}, `no /ping/${SECRET}`);
  const env = hubEnvironment(dataDir, { HEARTBEAT_URL: service.address });
  assert.deepEqual(await hubctl(env, 'heartbeat'),
    { status: 1, stdout: '', stderr: `the sign of life did not arrive: ${service.host} answered 404\n` });
  assert.equal(service.origin.requests.length, 3);

  assert.deepEqual(await hubctl(dataDir, 'heartbeat'),
    { status: 0, stdout: 'no sign of life sent: HEARTBEAT_URL is not set\n', stderr: '' });
  const shown = await hubctl(env, 'config', 'HEARTBEAT_URL');
  assert.deepEqual([shown.status, shown.stdout], [2, '']);
  assert.doesNotMatch(shown.stderr, new RegExp(SECRET));
});
