// Protects what auditors are told of connections: a hub and its scripts open those of the table, no more and no less.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CONNECTIONS } from '../support/connections.ts';
import { recordedNetwork } from '../support/recorded-network.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { requireTool } from '../support/tools.ts';

const DAY = join(PROJECT_ROOT, 'test/support/operated-day.ts');

/** An operator's day on a machine whose network records. */
async function passDay(t: TestContext, how: 'quiet' | 'connected') {
  for (const tool of ['rclone', 'restic']) if (!requireTool(t, tool)) return undefined;
  const network = await recordedNetwork(t);
  if (!network) return undefined;
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const { status, stderr } = await network.run([process.execPath, DAY, how], { PATH, NODE_COMPILE_CACHE });
  assert.equal(status, 0, stderr);
  return network;
}

test('a hub without optional settings and without feeds of other sites sends no packet off its machine in a day', async (t) => {
  const network = await passDay(t, 'quiet');
  if (!network) return;
  assert.deepEqual(network.seen(), []);
  assert.equal(network.packets(), 0);

  const { PATH = '' } = process.env;
  await network.run([process.execPath, '-e', `require('dns').lookup('seen.example', () => {})`], { PATH });
  assert.deepEqual([...new Set(network.seen().map(({ kind, host }) => `${kind} ${host}`))], ['name seen.example']);
  const before = network.packets();
  assert.ok(before > 0, 'packets are counted');
  await network.run([process.execPath, '-e', `require('net').connect(80, '2001:db8::1').on('error', () => {})`], { PATH });
  assert.ok(network.packets() > before && network.unanswered() > 0, 'also over IPv6');
});

test('with everything configured, the machine opens the connection of each row of the ledger’s table, and no other connection', async (t) => {
  const network = await passDay(t, 'connected');
  if (!network) return;
  const leaving = Object.entries(CONNECTIONS).filter(([name, { owner }]) => name !== 'names' && owner !== 'this machine');
  const expected = leaving.map(([name]) => `${name}.example`).sort();
  const hosts = (kind: string): string[] => [...new Set(network.seen().filter((one) => one.kind === kind).map(({ host }) => host))].sort();
  assert.deepEqual(hosts('connection'), expected);
  assert.deepEqual(hosts('name'), expected);
  assert.equal(network.unanswered(), 0, 'packets to other ports');

  const toPublishers = leaving.filter(([, { owner }]) => owner === "a publisher's").map(([name]) => `${name}.example`);
  const sent = network.seen().filter(({ host }) => toPublishers.includes(host)).flatMap(({ headers = [] }) => headers);
  const named = ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'];
  assert.deepEqual([...new Set(sent)].sort(), named, 'and tells publishers nothing about readers');
});
