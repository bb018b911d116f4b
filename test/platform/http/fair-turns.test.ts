// Protects everybody else from one client's requests over HTTP, whoever it says that it is.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import { parseCidrs } from '../../../src/platform/net/address-guard.ts';
import { json } from '../../../src/platform/http/reply.ts';
import { route } from '../../../src/platform/http/router.ts';
import { startBareServer } from '../../support/bare-server.ts';
import type { RawConnection } from '../../support/raw-exchange.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** A server behind a proxy, each of whose answers takes 10 ms of a clock of its own. `served`: what `?who=` said. */
async function startSlowServer(t: TestContext) {
  let time = 0;
  const served: string[] = [];
  const waits: string[] = [];
  const work = route('GET /work', 'public', 'work', ({ query }) => {
    served.push(query.get('who') ?? '');
    time += 10;
    return json({});
  });
  const health = route('GET /health', 'public', 'health', () => json({ served: served.length }), { anyHost: true });
  const server = await startBareServer(t, {
    routes: [work, health], now: () => time, trustedProxies: parseCidrs('127.0.0.1'),
    observeWait: (client) => void waits.push(client),
  });

  /** Sends many requests at once, up to 20 on one connection. */
  async function flood(count: number, who: string, headers: string) {
    const connections = await Promise.all(Array.from({ length: Math.ceil(count / 20) }, () => server.connect()));
    const requests = `GET /work?who=${who} HTTP/1.1\r\nHost: h\r\n${headers}\r\n\r\n`.repeat(Math.min(count, 20));
    return { connections, send: () => connections.forEach((connection) => connection.write(requests)) };
  }

  return { ...server, served, waits, flood };
}

test('a request whose account cannot be looked up takes the turns of its network', async (t) => {
  const waits: string[] = [];
  const { client } = await startBareServer(t, {
    routes: [route('GET /data', 'public', 'data', () => json({}))],
    accountOf: () => { throw new Error('the disk is gone'); }, observeWait: (kind) => void waits.push(kind),
  });
  assert.equal((await client.get('/data', { cookie: 's=ada' })).status, 200);
  assert.deepEqual(waits, ['network']);
});

const from = (address: string): string => `X-Forwarded-For: ${address}`;

test('a flood from one address leaves another address and health the next turns', async (t) => {
  const { flood, connect, served, waits } = await startSlowServer(t);
  const one = await flood(500, 'one', from('203.0.113.1'));
  const other = await flood(1, 'other', from('203.0.113.2'));
  const health = await connect();
  one.send();
  await waitUntil('the flood is here', () => served.length > 0);
  other.send();
  health.write('GET /health HTTP/1.1\r\nHost: h\r\n\r\n');
  const { served: before } = JSON.parse((await health.answer()).body) as { served: number };
  await waitUntil('all are answered', () => served.length === 501);
  assert.ok(before < 500 && served.indexOf('other') < 500, 'both were answered in the middle of the flood');
  assert.deepEqual([...new Set(waits)], ['network']);
});

/** The number of connections to a port that the kernel has made and Node has not accepted yet (Linux). */
function waitingConnections(port: number): number {
  const listening = new RegExp(`:${port.toString(16).toUpperCase().padStart(4, '0')} \\S+ 0A \\w+:(\\w+)`);
  return Number.parseInt(listening.exec(readFileSync('/proc/net/tcp', 'utf8'))?.[1] ?? '0', 16);
}

test('a client with many new connections leaves the next turns to a client that connects after it', async (t) => {
  const { address, served } = await startSlowServer(t);
  const whos = [...Array<string>(40).fill('one'), 'other'];
  const port = Number(new URL(address).port);
  const sockets = whos.map(() => connect(port, '127.0.0.1').resume());
  sockets.forEach((socket, n) => socket.write(
    `GET /work?who=${whos[n]} HTTP/1.1\r\nHost: h\r\n${from(`203.0.113.${whos[n] === 'one' ? 1 : 2}`)}\r\n\r\n`));
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  await new Promise(process.nextTick); // in which Node asks the kernel for the connections
  for (let looks = 0; waitingConnections(port) < whos.length; looks++) assert.ok(looks < 10_000, 'they do not connect');
  await waitUntil('the other is answered', () => served.includes('other'));
  const before = served.indexOf('other');
  assert.ok(before < 15, `${before} requests of one had a turn before the connection of the other`);
});

test('sending an answer counts for its client, also after the request has waited and needs no further turn', async (t) => {
  let [time, waiting] = [0, 0];
  const served: string[] = [];
  const stored = Promise.withResolvers<void>();
  const store = route('GET /store', 'public', 'store', async () => {
    waiting++;
    await stored.promise;
    return json({});
  });
  const work = route('GET /work', 'public', 'work', ({ query }) => json({ n: served.push(query.get('who') ?? '') }));
  const trustedProxies = parseCidrs('127.0.0.1');
  const { connect } = await startBareServer(t, { routes: [store, work], now: () => time, trustedProxies });
  const end = ServerResponse.prototype.end;
  t.mock.method(ServerResponse.prototype, 'end', function slowly(this: ServerResponse, body: Buffer) {
    time += 10;
    return end.call(this, body, 'utf8');
  });
  const ask = (path: string, address: string): string => `GET ${path} HTTP/1.1\r\nHost: h\r\n${from(address)}\r\n\r\n`;

  const [one, other] = [await connect(), await connect()];
  one.write(ask('/store', '203.0.113.1').repeat(10));
  await waitUntil('all wait for the same', () => waiting === 10);
  stored.resolve();
  for (let n = 0; n < 10; n++) await one.answer();
  one.write(ask('/work?who=one', '203.0.113.1').repeat(10));
  other.write(ask('/work?who=other', '203.0.113.2').repeat(10));
  await waitUntil('all are served', () => served.length === 20);
  assert.ok(served.lastIndexOf('other') < 15, served.join(' '));
});

test('health that may not go ahead waits for the turns of its client', async (t) => {
  const served: string[] = [];
  const work = route('GET /work', 'public', 'work', () => json({ served: served.push('work') }));
  const health = route('GET /health', 'public', 'health', () => json({ served: served.length }), { anyHost: true });
  for (const [isAhead, before] of [[true, 0], [false, 3]] as const) {
    served.length = 0;
    const { connect } = await startBareServer(t, { routes: [work, health], admitUrgent: () => isAhead });
    const { write, answer } = await connect();
    write(['/work', '/work', '/work', '/health'].map((path) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`).join(''));
    for (let n = 0; n < 3; n++) await answer();
    assert.deepEqual(JSON.parse((await answer()).body), { served: before });
  }
});

test('requests with forged credentials count as requests of their network, and a signed-in member in this network gets half of the hub’s time', async (t) => {
  const { flood, served, waits } = await startSlowServer(t);
  const forgers = await Promise.all(Array.from({ length: 10 }, (_, n) =>
    flood(20, 'forger', `${from(`203.0.113.${n}`)}\r\nCookie: s=forged-${n}`)));
  const member = await flood(20, 'ada', `${from('203.0.113.1')}\r\nCookie: s=ada`);
  for (const { send } of [...forgers, member]) send();
  await waitUntil('all are answered', () => served.length === 220);

  const whileBoth = served.slice(served.indexOf('ada'), served.lastIndexOf('ada'));
  const share = whileBoth.filter((who) => who === 'ada').length / whileBoth.length;
  assert.ok(share > 0.4, `the member had ${share} of the turns`);
  assert.equal(waits.filter((client) => client === 'member').length, 20);
});

test('at the end of a client’s queue it gets 503 and when to try again, and its connection ends', async (t) => {
  const { flood, served } = await startSlowServer(t);
  const one = await flood(2_000, 'one', from('203.0.113.1'));
  const other = await flood(1, 'other', from('203.0.113.2'));
  one.send();
  await waitUntil('the flood is here', () => served.length > 0);
  other.send();
  assert.equal((await other.connections[0]?.answer())?.status, 200);

  const refused = await firstRefused(one.connections);
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5']);
  await refused.connection.ended();
  assert.ok(served.length < 2_000);
});

/** The first refusal among the answers of so many connections, with 20 answers each. */
async function firstRefused(connections: RawConnection[]) {
  for (const connection of connections) {
    for (let n = 0; n < 20; n++) {
      const { status, headers } = await connection.answer();
      if (status !== 200) return { connection, status, headers };
    }
  }
  throw new Error('no request was refused');
}
