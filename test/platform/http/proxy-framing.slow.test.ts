// Protects the hub from requests whose ends a proxy of scripts/proxy and the hub would see in different places.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { askHttp2, hubBehind, PROXIES } from '../../support/proxy.ts';
import { testWith } from '../../support/tools.ts';
import { waitUntil } from '../../support/wait-until.ts';

const test = testWith('root', 'nginx', 'caddy');
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: hub.test\r\n\r\n';
const POST = 'POST /api/session HTTP/1.1\r\nHost: hub.test\r\nContent-Type: application/json\r\n';
const GET = 'GET /posts.json HTTP/1.1\r\nHost: hub.test\r\n';
const CHUNKED = `0\r\n\r\n${SMUGGLED}`;
const LENGTH = `Content-Length: ${CHUNKED.length}`;

/** Requests whose end a proxy and a server could see in different places. */
const PROBES: Record<string, string> = {
  'length, then coding': `${POST}${LENGTH}\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`,
  'coding, then length': `${POST}Transfer-Encoding: chunked\r\n${LENGTH}\r\n\r\n${CHUNKED}`,
  'a space before the colon': `${POST}${LENGTH}\r\nTransfer-Encoding : chunked\r\n\r\n${CHUNKED}`,
  'a tab before the value': `${POST}${LENGTH}\r\nTransfer-Encoding:\tchunked\r\n\r\n${CHUNKED}`,
  'an unknown coding': `${POST}${LENGTH}\r\nTransfer-Encoding: xchunked\r\n\r\n${CHUNKED}`,
  'two codings': `${POST}Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n${LENGTH}\r\n\r\n${CHUNKED}`,
  'a list of codings': `${POST}Transfer-Encoding: chunked, identity\r\nContent-Length: 3\r\n\r\n${CHUNKED}`,
  'a folded coding': `${POST}${LENGTH}\r\nTransfer-Encoding:\r\n chunked\r\n\r\n${CHUNKED}`,
  'a name in a value': `${POST}X: y\rTransfer-Encoding: chunked\r\n${LENGTH}\r\n\r\n${CHUNKED}`,
  'two lengths': `${POST}Content-Length: 2\r\nContent-Length: ${2 + SMUGGLED.length}\r\n\r\n{}${SMUGGLED}`,
  'two lengths in one': `${POST}Content-Length: 2, ${2 + SMUGGLED.length}\r\n\r\n{}${SMUGGLED}`,
  'a length with a sign': `${POST}Content-Length: +2\r\n\r\n{}${SMUGGLED}`,
  'a length in hexadecimal': `${POST}Content-Length: 0x2\r\n\r\n{}${SMUGGLED}`,
  'a length that is negative': `${POST}Content-Length: -2\r\n\r\n{}${SMUGGLED}`,
  'a length after a NUL': `${POST}X: \0\r\nContent-Length: 2\r\n\r\n{}${SMUGGLED}`,
  'a GET with a body of its own length': `${GET}Content-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
  'a chunk whose size overflows': `${POST}Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n${SMUGGLED}`,
  'a chunk with a long extension': `${POST}Transfer-Encoding: chunked\r\n\r\n2;a\nb\r\n{}\r\n0\r\n\r\n`,
  'a chunk without its end': `${POST}Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n${SMUGGLED}`,
  'trailers': `${POST}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n`,
  'lines that end with LF alone': `${POST}${LENGTH}\nTransfer-Encoding: chunked\n\n`.replaceAll('\r', '') + CHUNKED,
  'an upgrade to HTTP/2': `${GET}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n`,
  'a length that the connection drops': `${POST}Connection: Content-Length\r\n${LENGTH}\r\n\r\n${CHUNKED}`,
};

for (const kind of PROXIES) {
  test(`a request hidden in a wrongly framed request never gets past ${kind} as another client’s request`, async (t) => {
    const { proxy, reached } = await hubBehind(t, kind);
    const smuggled = (): number => reached.filter((path) => path === '/smuggled').length;
    for (const [name, probe] of Object.entries(PROBES)) {
      const before = smuggled();
      const socket = await proxy.raw();
      let said = '';
      socket.on('data', (text: Buffer) => (said += String(text)));
      socket.on('error', () => {});
      socket.write(probe);
      await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      // What lay in wait on a connection between proxy and hub would be the answer of others.
      for (let n = 0; n < 3; n++) {
        const next = await proxy.ask('/api/health?probe=live');
        assert.deepEqual([next.status, next.body.toString()], [200, '{"ok":true}'], name);
      }
      // Where it takes the rest for a request of its own client, it has told the hub so, and that client the answer.
      await waitUntil(`${name}: all that reached the hub was answered to its sender: ${said}`,
        () => smuggled() - before <= (said.match(/HTTP\/1\.1 404/g)?.length ?? 0));
      socket.destroy();
    }
    const headers = { 'content-type': 'application/json', 'content-length': '2' };
    const overHttp2 = askHttp2(proxy.http2(), 'POST', '/api/session', headers, Buffer.from(`{}${SMUGGLED}`));
    assert.ok(await overHttp2.then(({ status }) => status >= 400, () => true));
    if (kind === 'nginx') assert.equal(smuggled(), 0);
    assert.ok(reached.length > 0);
  });

  test(`${kind} lets no request for another host through to the hub`, async (t) => {
    const { proxy, reached } = await hubBehind(t, kind);
    const requests = [
      'GET / HTTP/1.1\r\nHost: other.test\r\n\r\n',
      'GET https://other.test/ HTTP/1.1\r\nHost: hub.test\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: hub.test\r\nHost: other.test\r\n\r\n',
      'GET / HTTP/1.1\r\n\r\n',
      'GET / HTTP/1.0\r\n\r\n',
    ];
    for (const text of requests) {
      const socket = await proxy.raw();
      socket.on('error', () => {});
      socket.write(text);
      await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      socket.destroy();
    }
    await assert.rejects(proxy.raw('other.test'));
    const plain = request(`http://127.0.0.1:${proxy.httpPort}/sources/1?a=b`, { headers: { host: 'hub.test' } }).end();
    const [{ statusCode, headers }] = await once(plain, 'response') as [IncomingMessage];
    assert.deepEqual([statusCode, headers.location], [308, 'https://hub.test/sources/1?a=b']);
    assert.deepEqual(reached, []);
  });
}
