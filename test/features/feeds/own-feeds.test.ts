// Protects a hub from itself: its own feeds are no sources of it, by whatever name or redirect they are reached.
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { refusingOwn } from '../../../src/features/hub/own-address.ts';
import { readConfig } from '../../../src/features/hub/read-config.ts';
import { rss, serving } from '../../support/feeds.ts';
import { startHub } from '../../support/hub.ts';
import { reply, startOrigin } from '../../support/origin.ts';

const FEED = serving(() => rss('Owls', [{ guid: 'a', title: 'Barn owls' }]));

function isOwn(env: Record<string, string>, url: string, ...addresses: string[]): boolean {
  const config = readConfig(env, { projectRoot: '/srv/hub', readFile: () => '{"version":"1"}' });
  return refusingOwn(config)(new URL(url), addresses) !== null;
}

test('the hub knows itself by its public host and port, and by the addresses and the port that it listens on', () => {
  const BASE_URL = 'https://hub.example.org';
  const others = Object.values(networkInterfaces()).flat().filter((one) => one?.family === 'IPv4' && !one.internal);
  for (const [env, url, address, expected] of [
    [{ BASE_URL }, 'https://hub.example.org/posts.atom', '192.0.2.1', true],
    [{ BASE_URL }, 'https://HUB.example.org.:443/', '192.0.2.1', true],
    [{ BASE_URL }, 'https://hub.example.org:8443/feed', '192.0.2.1', false],
    [{ BASE_URL }, 'https://example.org/', '192.0.2.1', false],
    [{}, 'http://localhost:8080/', '127.0.0.1', true],
    [{}, 'http://[::ffff:127.0.0.1]:8080/', '::ffff:127.0.0.1', true],
    [{}, 'http://0.0.0.0:8080/', '0.0.0.0', true],
    [{}, 'http://localhost:8081/', '127.0.0.1', false],
    [{}, 'http://[::1]:8080/', '::1', false],
    [{ HOST: 'localhost' }, 'http://[::1]:8080/', '::1', true],
    [{ HOST: '0.0.0.0', PORT: '80' }, 'http://any.example/', '127.0.0.9', true],
    [{ HOST: '192.0.2.7' }, 'http://any.example:8080/', '192.0.2.7', true],
    [{ HOST: '192.0.2.7' }, 'http://any.example:8080/', '127.0.0.1', false],
    ...others.map((one) => [{ HOST: '::' }, 'http://any.example:8080/', one?.address ?? '', true] as const),
  ] as const) assert.equal(isOwn(env, url, address), expected, `${JSON.stringify(env)} ${url} ${address}`);
});

test('an address that leads to the hub itself is refused as a source, also by a redirect, a page or an import, and never asked', async (t) => {
  const own = await startOrigin(t, FEED);
  const hub = await startHub(t, { PORT: String(own.port) });
  const page = `<link rel="alternate" type="application/rss+xml" href="${own.url}/feed">`;
  const origin = await startOrigin(t, {
    '/moved': reply(301, { location: `${own.url}/posts.atom` }),
    '/page': reply(200, { 'content-type': 'text/html' }, `<html><head>${page}</head></html>`),
    '/owls': FEED,
  });
  const ada = await hub.person('ada');
  const add = (url: string) => ada.post('/api/sources', { kind: 'feed', url });

  for (const url of [own.url, `http://localhost:${own.port}/a`, `${origin.url}/moved`, `${origin.url}/page`]) {
    const { status, text } = await add(url);
    assert.equal(status, 422, `${url} ${text}`);
    assert.match(text, /is this hub itself, which cannot be its own source/);
  }
  const owls = await add(`${origin.url}/owls`);
  assert.equal(owls.status, 201);
  const { id } = owls.json<{ id: number }>();
  assert.equal((await ada.patch(`/api/sources/${id}`, { url: `${origin.url}/page` })).status, 422);
  assert.equal(own.requests.length, 0);

  const own127 = [`http://localhost:${own.port}/a`, `${own.url}/posts.atom`, `http://0.0.0.0:${own.port}/`];
  const body = `<opml version="2.0"><body>${own127.map((url) => `<outline xmlUrl="${url}"/>`).join('')}</body></opml>`;
  const imported = await ada.send('POST', '/api/sources/import', { body, headers: { 'content-type': 'text/x-opml' } });
  const refused = own127.map((url) => ({ url, reason: 'is this hub itself' }));
  assert.deepEqual(imported.json(), { added: 0, alreadyFollowed: 0, leftOut: 0, refused });
});
