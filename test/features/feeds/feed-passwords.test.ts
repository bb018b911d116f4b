// Protects the passwords of feeds: sealed, sent to one origin, shown to nobody, and what they open is private.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { sealFeedPasswords } from '../../../src/features/feeds/feed-passwords.ts';
import { feedCredentials, sources } from '../../../src/features/sources/source-store.ts';
import { syncState } from '../../../src/features/sources/sync-state-store.ts';
import { DAY } from '../../../src/platform/clock.ts';
import { rss, serving } from '../../support/feeds.ts';
import { startHub } from '../../support/hub.ts';
import { reply, startOrigin, type OriginHandler, type OriginRequest } from '../../support/origin.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';

const NAME = 'ann-at-the-blog';
const PASSWORD = 'pässword: of the feed';
const BASIC = `Basic ${Buffer.from(`${NAME}:${PASSWORD}`).toString('base64')}`;
const KNOWN = { username: NAME, password: PASSWORD };

type SourceShown = { id: number; visibility: string; hasPassword?: boolean; stateReason: string | null };

const isKnown = ({ headers }: OriginRequest): boolean => headers.authorization === BASIC;
const refusal = reply(401, { 'www-authenticate': 'Basic realm="x"' });

/** Lets in who knows the password. */
function guarded(inside: OriginHandler): OriginHandler {
  return (request, response) => (isKnown(request) ? inside : refusal)(request, response);
}

/** A hub and a publisher whose /feed wants the password; what the hub keeps is sealed. */
async function guardedFeed(t: TestContext, hasKey = true) {
  const keyFile = join(temporaryFolder(t), 'key');
  writeFileSync(keyFile, 'k'.repeat(32));
  const hub = await startHub(t, hasKey ? { HUB_SECRET_KEY_FILE: keyFile } : {});
  const feed = { handler: guarded(serving(() => rss('Owls', [{ guid: 'a' }]))) };
  const origin = await startOrigin(t, (request, response) => feed.handler(request, response));
  const url = `${origin.url}/feed`;
  const ada = await hub.person('ada');
  const follow = async (more: object): Promise<SourceShown> => {
    const added = await ada.post('/api/sources', { kind: 'feed', url, ...more });
    assert.equal(added.status, 201, added.text);
    return added.json();
  };
  const stored = (id: number): string | null => feedCredentials(hub.handle).find(id);
  return { hub, feed, origin, url, ada, follow, stored };
}

test('a feed behind a password is fetched with it, and private whatever is asked for', async (t) => {
  const { hub, origin, url, ada, follow } = await guardedFeed(t);
  const refused = await ada.post('/api/sources', { kind: 'feed', url });
  assert.match(refused.text, /requires a user name and password/);
  const wrong = await ada.post('/api/sources', { kind: 'feed', url, username: NAME, password: 'wrong' });
  assert.match(wrong.text, /does not accept the user name and password/);
  const open = await ada.post('/api/sources', { kind: 'feed', url, visibility: 'public', ...KNOWN });
  const { errors: [error] } = open.json<{ errors: { pointer: string }[] }>();
  assert.deepEqual([open.status, error?.pointer], [422, '/visibility']);

  const source = await follow(KNOWN);
  assert.deepEqual([source.visibility, source.hasPassword], ['private', true]);
  await hub.work(DAY);
  assert.ok(origin.requests.filter(isKnown).length >= 2);
  assert.equal((await ada.patch(`/api/sources/${source.id}`, { visibility: 'public' })).status, 422);
  assert.equal((await hub.anybody.get('/api/posts')).json<{ items: [] }>().items.length, 0);
});

test('name and password come together, and only what HTTP can send is taken', async (t) => {
  const { url, ada } = await guardedFeed(t);
  const cases: [object, string][] = [
    [{ username: NAME }, '/password'], [{ password: 'x' }, '/username'],
    [{ username: 'a:b', password: 'x' }, '/username'],
    [{ username: 'a', password: 'x\r\ny' }, '/password'], [{ username: 'a', password: 'x'.repeat(1_025) }, '/password'],
    [{ username: 'a', password: 7 }, '/password'],
  ];
  for (const [values, pointer] of cases) {
    const { status, text } = await ada.post('/api/sources', { kind: 'feed', url, ...values });
    assert.deepEqual([status, JSON.parse(text).errors[0].pointer], [422, pointer], text);
  }
  assert.equal((await ada.post('/api/sources', { kind: 'native', title: 'Own', ...KNOWN })).status, 422);
});

test('the password is shown nowhere, logged nowhere and exported nowhere, not even to its owner', async (t) => {
  const { hub, ada, follow, stored, feed } = await guardedFeed(t);
  const { id } = await follow(KNOWN);
  feed.handler = refusal;
  await hub.work(DAY);
  await ada.form(`/sources/${id}`, { title: 'Owls', username: NAME, password: PASSWORD });

  const paths = [
    '/api/sources', `/api/sources/${id}`, '/api/sources.opml', '/api/account/export', '/sources', `/sources/${id}`, `/sources/${id}/settings`,
    '/api/admin/jobs', '/api/admin/audit', '/api/notifications', `/sources/${id}.atom`, `/sources/${id}/transfer`,
  ];
  const texts = await Promise.all(paths.map(async (path) => `${path}: ${(await ada.get(path)).text}`));
  for (const text of [...texts, JSON.stringify(hub.logged())]) {
    for (const secret of [NAME, PASSWORD, JSON.stringify(PASSWORD).slice(1, -1), BASIC.slice(6)]) {
      assert.ok(!text.includes(secret), `${secret} in ${text.slice(0, 200)}`);
    }
  }
  assert.match(stored(id) ?? '', /^aes-256-gcm-v1:/);
});

test('what was typed comes back in no form that was refused, but for the user name', async (t) => {
  const { ada, url } = await guardedFeed(t);
  const { status, text } = await ada.form('/sources', { url, username: NAME, password: 'wrong password' });
  assert.equal(status, 422);
  assert.ok(!text.includes('wrong password'));
});

test('no other origin gets the password: neither by a redirect, nor by a page, nor after a permanent move', async (t) => {
  const { hub, feed, origin, ada, follow } = await guardedFeed(t);
  const elsewhere = await startOrigin(t, serving(() => rss('Other', [{ guid: 'b' }]), { etag: '"1"' }));
  const { id } = await follow(KNOWN);
  for (const status of [302, 301, 308]) {
    feed.handler = reply(status, { location: `${elsewhere.url}/feed` });
    await hub.work(DAY);
    assert.equal(syncState(hub.handle).find(id)?.url, `${origin.url}/feed`, String(status));
  }
  feed.handler = guarded(reply(200, { 'content-type': 'text/html' },
    `<html><head><link rel="alternate" type="application/rss+xml" href="${elsewhere.url}/x"></head></html>`));
  const { status, text } = await ada.post('/api/sources', { kind: 'feed', url: `${origin.url}/page`, ...KNOWN });
  assert.deepEqual([status, /where the hub does not send your password/.test(text)], [422, true], text);

  assert.ok(elsewhere.requests.length >= 3);
  assert.ok(elsewhere.requests.every(({ headers }) => headers.authorization === undefined));
  assert.ok(syncState(hub.handle).move(id, `${elsewhere.url}/feed`));
  await hub.work(DAY);
  assert.ok(elsewhere.requests.every(({ headers }) => headers.authorization === undefined), 'whatever moved it there');
});

test('within its origin the password follows redirects and moves', async (t) => {
  const { hub, feed, origin, follow } = await guardedFeed(t);
  const { id } = await follow(KNOWN);
  const inside = serving(() => rss('Owls', [{ guid: 'b' }]));
  feed.handler = guarded((request, response) =>
    (request.path === '/feed' ? reply(301, { location: '/new' }) : inside)(request, response));
  await hub.work(DAY);
  assert.equal(syncState(hub.handle).find(id)?.url, `${origin.url}/new`);
});

test('a feed behind a password is nobody else’s source, whoever follows the same address', async (t) => {
  const { hub, feed, url, follow } = await guardedFeed(t);
  feed.handler = serving(() => rss('Owls', [{ guid: 'a' }]));
  const bob = await hub.person('bob');
  const open = (await bob.post('/api/sources', { kind: 'feed', url, visibility: 'private' })).json<SourceShown>();
  const own = await follow(KNOWN);
  const carol = await (await hub.person('carol')).post('/api/sources', { kind: 'feed', url });

  assert.equal(carol.status, 201);
  assert.equal(new Set([open.id, own.id, carol.json<SourceShown>().id]).size, 3);
  assert.equal((await bob.get(`/api/sources/${own.id}`)).status, 404);
  const dora = await hub.person('dora');
  const guarded = await dora.post('/api/sources', { kind: 'feed', url, ...KNOWN });
  assert.equal(guarded.status, 201, 'what asks for a password is never the public one');
});

test('a password is given, replaced and taken back later; giving one makes the source private for good', async (t) => {
  const { hub, feed, origin, ada, url, follow, stored } = await guardedFeed(t);
  const inside = feed.handler;
  feed.handler = serving(() => rss('Owls', [{ guid: 'a' }]));
  const { id } = await follow({});
  feed.handler = inside;

  assert.equal((await ada.patch(`/api/sources/${id}`, { visibility: 'public', ...KNOWN })).status, 422);
  const given = (await ada.patch(`/api/sources/${id}`, KNOWN)).json<SourceShown>();
  assert.deepEqual([given.visibility, given.hasPassword], ['private', true]);
  await hub.work();
  assert.ok(origin.requests.some(isKnown), 'it is tried at once');
  assert.equal((await ada.form(`/sources/${id}`, { title: 'Owls', username: '', password: '' })).status, 303);
  assert.notEqual(stored(id), null, 'empty fields change nothing');
  const taken = (await ada.patch(`/api/sources/${id}`, { username: null, password: null })).json<SourceShown>();
  assert.deepEqual([taken.visibility, taken.hasPassword, stored(id)], ['private', false, null]);
  const opened = await ada.patch(`/api/sources/${id}`, { visibility: 'public' });
  assert.equal(opened.status, 422, 'what came from behind a password stays with its owner');
  assert.match((await ada.page(`/sources/${id}/settings`)).text, /posts were read with a password/);
  assert.equal((await ada.form(`/sources/${id}`, { title: 'Owls', username: NAME, password: PASSWORD })).status, 303);
  assert.notEqual(stored(id), null);
  assert.equal((await ada.form(`/sources/${id}`, { forget: '1' })).status, 303);
  assert.equal(stored(id), null);
  const acts = (await ada.get('/api/admin/audit')).text;
  assert.match(acts, /source.password-changed/);
  assert.equal((await ada.delete(`/api/sources/${id}`)).status, 204);
  assert.equal((await ada.form('/sources', { url, username: NAME, password: PASSWORD })).status, 303, 'by the page too');
});

test('without a key passwords are stored as they are, and sealed once there is one', async (t) => {
  const { hub, follow, stored } = await guardedFeed(t, false);
  const { id } = await follow(KNOWN);
  assert.ok(stored(id)?.startsWith('plain:'));
  const key = (await guardedFeed(t)).hub.config.hubSecretKey;
  const withKey = { ...hub.handle, config: { ...hub.config, hubSecretKey: key } };

  assert.equal(sealFeedPasswords(hub.handle, 10), 0);
  assert.equal(hub.db.write('t', () => sealFeedPasswords(withKey, 10)), 1);
  assert.match(stored(id) ?? '', /^aes-256-gcm-v1:/);
  await hub.work(DAY);
  assert.match(sources(hub.handle).find(id)?.stateReason ?? '', /cannot read the password/, 'the key is gone');
});
