// Protects everybody from floods of health and metrics, and the hub's own check from being refused among them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { admitProbe, createProbes } from '../../../src/features/health/answer-probes.ts';
import { OWN_CHECK_HEADER, readOwnCheckSecret } from '../../../src/features/health/own-check.ts';
import { bufferedCounts, counts } from '../../../src/features/hub/hub.ts';
import { json } from '../../../src/platform/http/reply.ts';
import { startHub } from '../../support/hub.ts';
import { rawConnection, type RawConnection } from '../../support/raw-exchange.ts';
import { COMPILED, PROJECT_ROOT, runProgram } from '../../support/run-program.ts';

const request = (remoteAddress: string, headers: IncomingHttpHeaders = {}): IncomingMessage =>
  ({ socket: { remoteAddress }, headers }) as IncomingMessage;

test('a network may ask a hundred times a second, a /48 twice as often', () => {
  let now = 0;
  const { admit } = createProbes(() => now);
  const often = (times: number, ...networks: string[]): number =>
    Array.from({ length: times }, () => admit(networks)).filter(Boolean).length;

  assert.equal(often(200, '203.0.113.1'), 100);
  assert.equal(often(1, '203.0.113.2'), 1);
  assert.deepEqual([1, 2, 3].map((n) => often(100, `2001:db8:0:${n}00::/56`, '2001:db8::/48')), [100, 100, 0]);
  now = 1_000;
  assert.equal(often(200, '203.0.113.1'), 100);
});

test('of all networks together four hundred requests a second wait for nobody, and the hub’s own check always', async (t) => {
  let now = 0;
  const { admit, goesAhead } = createProbes(() => now);
  const ahead = (): number => Array.from({ length: 500 }, (_, n) => admit([`203.0.113.${n}`]) && goesAhead()).filter(Boolean).length;
  assert.equal(ahead(), 400);
  now = 1_000;
  assert.equal(ahead(), 400);

  const { handle, dataDir } = await startHub(t);
  for (let n = 0; admitProbe(handle, request(`203.0.113.${n % 250}`)); n++) assert.ok(n < 20_000);
  assert.equal(admitProbe(handle, request('203.0.113.251', { [OWN_CHECK_HEADER]: readOwnCheckSecret(dataDir) })), true);
});

test('ten answers in succession are made anew, and one in 25 ms after them; further ones are as the last', () => {
  let now = 0;
  let made = 0;
  const { answer } = createProbes(() => now);
  const asked = (): unknown => answer('ready', () => json({ made: ++made })).body;

  for (let n = 1; n <= 10; n++) assert.equal(asked(), `{"made":${n}}`);
  now = 24;
  assert.equal(asked(), '{"made":10}');
  assert.equal(answer('live', () => json({})).body, '{}');
  now = 25;
  assert.equal(asked(), '{"made":11}');
  assert.equal(asked(), '{"made":11}');
  now = 1_000;
  for (let n = 12; n <= 21; n++) assert.equal(asked(), `{"made":${n}}`);
});

test('who asks too often is refused and counted; the hub’s own check never is', async (t) => {
  const { handle, dataDir, db } = await startHub(t);
  const ask = (headers: IncomingHttpHeaders): boolean => admitProbe(handle, request('203.0.113.1', headers));
  const secret = readOwnCheckSecret(dataDir);

  assert.equal(statSync(join(dataDir, 'run/health-check-secret')).mode & 0o777, 0o600);
  assert.throws(() => {
    for (let n = 0; n < 1_000; n++) ask({});
  }, { status: 429 });
  assert.throws(() => ask({ [OWN_CHECK_HEADER]: 'guessed' }), { status: 429 });
  for (let n = 0; n < 200; n++) ask({ [OWN_CHECK_HEADER]: secret });
  bufferedCounts(handle).flush();
  assert.equal(counts({ db, clock: handle.clock }).value('limits_refused_total', 'probes'), 2);
});

test('a flood of health requests waits in the queue of its network, and is refused there', async (t) => {
  const { address } = await startHub(t);
  const flood = await Promise.all(Array.from({ length: 15 }, () => rawConnection(address)));
  for (const { write } of flood) write('GET /api/health?probe=live HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20));
  const answers = (await Promise.all(flood.map(allAnswers))).flat();
  const answer = answers.find(({ status }) => status !== 200);
  assert.deepEqual([answer?.status, answer?.headers.get('retry-after')], [429, '1']);
});

/** All answers of 20 requests, or those up to a refusal, which ends the connection. */
async function allAnswers({ answer, ended }: RawConnection) {
  const answers: Awaited<ReturnType<typeof answer>>[] = [];
  while (answers.length < 20) {
    const next = await answer();
    answers.push(next);
    if (next.status !== 200) return ended().then(() => answers);
  }
  return answers;
}

test('healthcheck.sh shows the secret of the running hub', async (t) => {
  const { dataDir } = await startHub(t);
  const seen: unknown[] = [];
  const web = createServer(({ headers }, res) => {
    seen.push(headers[OWN_CHECK_HEADER]);
    res.end('{"ok":true}');
  }).listen(0, '127.0.0.1');
  t.after(() => web.close());
  await once(web, 'listening');
  const env = { ...COMPILED, DATA_DIR: dataDir, PORT: String((web.address() as AddressInfo).port) };

  const { status } = await runProgram(process.execPath, [join(PROJECT_ROOT, 'src/bin/healthcheck.ts')], { env });
  assert.equal(status, 0);
  assert.deepEqual(seen, [readOwnCheckSecret(dataDir)]);
});
