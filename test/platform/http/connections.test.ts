// Protects the places for connections: no network takes those of others, and idle ones make room.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { limitConnections } from '../../../src/platform/http/connections.ts';
import { tryLater } from '../../../src/platform/http/http-error.ts';
import { parseCidrs } from '../../../src/platform/net/address-guard.ts';
import { rawConnection, type RawConnection } from '../../support/raw-exchange.ts';

/** A server that believes its clients to have the addresses that the test gives; it answers `/slow` never. */
async function startServer(t: TestContext, places?: number) {
  const addresses: string[] = [];
  const server = createServer((req, res) => void (req.url === '/slow' || res.end('ok')));
  server.prependListener('connection', (socket: Socket) =>
    Object.defineProperty(socket, 'remoteAddress', { value: addresses.shift() }));
  server.keepAliveTimeout = 0; // connections stay, however slow this machine is
  const isForMonitoring = limitConnections(server, parseCidrs('198.51.100.1'),
    (_limit, seconds, reason) => tryLater(503, seconds, reason), (socket) => void socket.destroy(), places);
  const monitoring: boolean[] = [];
  server.on('connection', (socket: Socket) => monitoring.push(isForMonitoring(socket)));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });

  async function open(address: string, path = '/'): Promise<{ connection: RawConnection; isIn: boolean }> {
    addresses.push(address);
    const connection = await rawConnection(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const asked = path === '/slow' ? once(server, 'request') : undefined;
    connection.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`);
    if (asked) return asked.then(() => ({ connection, isIn: true }));
    const isIn = await connection.answer().then(() => true, () => false);
    return { connection, isIn };
  }

  async function letIn(count: number, address: string): Promise<number> {
    let n = 0;
    for (let tried = 0; tried < count; tried++) n += Number((await open(address)).isIn);
    return n;
  }

  return { open, letIn, monitoring };
}

test('an IPv6 /64 has a hundred connections, a /56 two hundred, a /48 four hundred', async (t) => {
  const { letIn } = await startServer(t);
  const networks = ['2001:db8:0:0::1', '2001:db8:0:1::1', '2001:db8:0:2::1', '2001:db8:0:100::1', '2001:db8:0:101::1',
    '2001:db8:0:200::1', '2001:db8:1::1'];
  const counts: number[] = [];
  for (const network of networks) counts.push(await letIn(101, network));
  assert.deepEqual(counts, [100, 100, 0, 100, 100, 0, 100]);
});

test('if all connections are taken, the network that holds most connections loses its oldest idle connection', async (t) => {
  const { open } = await startServer(t, 6);
  const small = await open('203.0.113.1');
  const busy = await open('2001:db8:0:1::1', '/slow');
  const [oldest, second, third] = [
    await open('2001:db8:0:1::2'), await open('2001:db8:0:2::1'), await open('2001:db8:0:3::1'),
  ];
  await open('203.0.113.2');
  assert.ok((await open('203.0.113.3')).isIn);
  await oldest.connection.ended();
  assert.ok((await open('203.0.113.4')).isIn);
  await second.connection.ended();
  for (const { connection } of [small, busy, third]) assert.ok(!connection.socket.readableEnded);
});

test('if all are busy, the network that holds most gives a place to one that holds less, its oldest first', async (t) => {
  const { open } = await startServer(t, 6);
  const own = await open('203.0.113.9', '/slow');
  const proxied = [await open('198.51.100.1', '/slow'), await open('198.51.100.1', '/slow')];
  const greedy = [];
  for (let n = 1; n <= 3; n++) greedy.push(await open('203.0.113.1', '/slow'));
  assert.ok((await open('203.0.113.2')).isIn);
  await greedy[0]?.connection.ended();
  for (const { connection } of [own, ...proxied, ...greedy.slice(1)]) assert.ok(!connection.socket.readableEnded);
});

test('a connection with more than twenty unanswered requests is cut, and counts as ten for a minute', async (t) => {
  const { open, letIn } = await startServer(t);
  const { connection } = await open('203.0.113.1', '/slow');
  connection.write('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(19));
  assert.equal(await letIn(1, '203.0.113.1'), 1);
  connection.write('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(2_000));
  await connection.ended();
  assert.equal(await letIn(101, '203.0.113.1'), 89);
});

test('if all are busy, another is refused, but for a few of this machine, which are for monitoring', async (t) => {
  const { open, monitoring } = await startServer(t, 3);
  for (let n = 1; n <= 3; n++) await open(`203.0.113.${n}`, '/slow');
  assert.ok(!(await open('203.0.113.4')).isIn);
  assert.ok((await open('127.0.0.1')).isIn);
  assert.deepEqual(monitoring, [false, false, false, false, true]);
});
