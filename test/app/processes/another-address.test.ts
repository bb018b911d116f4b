// Protects a hub that moves to another address, or is reached on a network at home or over Tailscale.
import assert from 'node:assert/strict';
import { request, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createWebServer } from '../../../src/app/processes/web-server.ts';
import { sessions } from '../../../src/features/accounts/credential-store.ts';
import { closeServer } from '../../../src/platform/http/connections.ts';
import { addNotes, addPost } from '../../support/accounts.ts';
import { hubWith, startHub, type Hub } from '../../support/hub.ts';

test('with another BASE_URL feeds keep the ids of all that is in them, and link to the new address', async (t) => {
  const old = await startHub(t, { BASE_URL: 'https://old.example' });
  const ada = await old.person('ada');
  await addPost(ada, await addNotes(ada), 'Barn owls');
  const before = (await old.anybody.get('/posts.atom')).text;

  const config = { ...old.handle.config, baseUrl: 'https://new.example', hostNames: ['new.example'] };
  const { server, release } = createWebServer({ ...old.handle, config });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const after = await (await fetch(`http://127.0.0.1:${port}/posts.atom`)).text();
  server.closeAllConnections();
  await closeServer(server, 100);
  release();

  const ids = (feed: string): string[] => feed.match(/<id>[^<]*<\/id>/g) ?? [];
  assert.deepEqual([ids(after), ids(after).length], [ids(before), 2]);
  assert.equal(after, before.replaceAll('https://old.example', 'https://new.example'));
  assert.ok(after.includes('https://new.example'));
});

type Said = { status: number | undefined; headers: IncomingHttpHeaders };

function signIn(hub: Hub, host: string, headers: Record<string, string> = {}): Promise<Said> {
  const body = JSON.stringify({ username: 'ada', password: hub.password });
  const { promise, resolve, reject } = Promise.withResolvers<Said>();
  const sent = request(`${hub.address}/api/session`, {
    method: 'POST', headers: { host, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', ...headers },
  }, (answer) => {
    answer.resume();
    resolve({ status: answer.statusCode, headers: answer.headers });
  });
  sent.once('error', reject).end(body);
  return promise;
}

test('without https one signs in on a network at home, with a cookie that such a browser keeps', async (t) => {
  const { hub } = await hubWith(t, ['ada'], { BASE_URL: 'http://192.168.1.20:8080' });
  const { status, headers } = await signIn(hub, '192.168.1.20:8080');
  assert.equal(status, 200);
  assert.match(String(headers['set-cookie']), /^(?!__Host-)\w+=/);
  assert.doesNotMatch(String(headers['set-cookie']), /Secure/);
  assert.equal(headers['strict-transport-security'], undefined);
});

test('over Tailscale one signs in with a cookie for https alone, from the address in the tailnet', async (t) => {
  const name = 'owl.tail1234.ts.net';
  const { hub } = await hubWith(t, ['ada'], { BASE_URL: `https://${name}`, TRUSTED_PROXIES: '127.0.0.1/32' });
  const { status, headers } = await signIn(hub, name, { 'x-forwarded-for': '100.64.0.9', 'x-forwarded-proto': 'https' });
  assert.equal(status, 200);
  assert.match(String(headers['set-cookie']), /^__Host-.*; Secure/);
  assert.equal(sessions(hub.handle).listOf(1).filter(({ address }) => address === '100.64.0.9').length, 1);
});
