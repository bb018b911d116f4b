// Protects the hub from people who lose a right in the middle of a request: they do nothing more with it.
import assert from 'node:assert/strict';
import type { ClientRequest } from 'node:http';
import { test } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { apiTokens } from '../../../src/features/accounts/credential-store.ts';
import { notifications } from '../../../src/features/notifications/notification-store.ts';
import { type Source, sources } from '../../../src/features/sources/source-store.ts';
import { addNotes, browserOf, itemsAt, tokenOf } from '../../support/accounts.ts';
import { createClient, type Client } from '../../support/client.ts';
import { rss } from '../../support/feeds.ts';
import { hubWith, startHub, type Hub } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { CLEAN, fileActs, INFECTED, scanCounts, startScanner } from '../../support/scanner.ts';
import { begin, end, type Proof } from '../../support/slow-request.ts';
import { countRows } from '../../support/stored-rows.ts';
import { filesIn, uploadRows } from '../../support/uploads.ts';
import { waitUntil } from '../../support/wait-until.ts';

type Asked = { method: string; path: string; body: object | string; type?: string; count: (hub: Hub) => number };

const FORM = 'application/x-www-form-urlencoded';
const BOUNDARY = 'b0undary';
const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;

const headersOf = (type: string | undefined) => (type ? { 'content-type': type } : {});

function multipart(sourceId: number): string {
  const field = (name: string, value: string): string =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const file = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="attachments"; filename="a.txt"\r\n\r\nwords\r\n`;
  return `${field('sourceId', String(sourceId))}${field('title', 'T')}${file}--${BOUNDARY}--\r\n`;
}

const countOf = (table: string) => (hub: Hub): number => countRows(hub, table);

const sourcesWith = (isWanted: (source: Source) => boolean) => ({ handle }: Hub): number =>
  [1, 2].flatMap((owner) => sources(handle).listOwned(owner, 0, 100)).filter(isWanted).length;

/** What a member may ask for with a body, and what would then be one more. */
function askedByMember(sourceId: number): Asked[] {
  const post = { sourceId, title: 'T', content: 'C', contentType: 'text/plain' };
  const opml = '<opml version="2.0"><body><outline type="rss" xmlUrl="http://127.0.0.1:9/feed"/></body></opml>';
  const json = (method: string, path: string, body: object, count: Asked['count']): Asked =>
    ({ method, path, body, count });
  return [
    json('POST', '/api/posts', post, countOf('posts')),
    { method: 'POST', path: '/api/posts', type: MULTIPART, body: multipart(sourceId), count: countOf('posts') },
    json('POST', '/api/sources', { kind: 'native', title: 'More' }, countOf('sources')),
    { method: 'POST', path: '/sources', type: FORM, body: 'kind=native&title=More', count: countOf('sources') },
    { method: 'POST', path: '/api/sources/import', type: 'text/x-opml', body: opml, count: countOf('sources') },
    json('PATCH', `/api/sources/${sourceId}`, { title: 'New' }, sourcesWith(({ title }) => title === 'New')),
    json('POST', `/api/sources/${sourceId}/transfer`, { username: 'ada' }, sourcesWith(({ ownerId }) => ownerId === 1)),
    json('POST', '/api/tokens', { name: 'another', currentPassword: 'correct horse battery' },
      ({ handle }) => [...apiTokens(handle).listOf(2, 0, 100)].filter(({ name }) => name === 'another').length),
    json('PATCH', '/api/account', { displayName: 'B' },
      ({ handle }) => Number(accounts(handle).find(2)?.displayName === 'B')),
    json('POST', '/api/notifications/read', { all: true },
      ({ handle }) => 1 - notifications(handle).countUnread(2, 9)),
  ];
}

/** Begins all of it, takes the rights away, sends the bodies, and sees that nothing of it was done. */
async function assertRefused(
  hub: Hub, proof: Proof, asked: Asked[], takeAway: () => unknown, wanted: number,
): Promise<void> {
  const begun: [Asked, ClientRequest][] = [];
  for (const one of asked) {
    begun.push([one, await begin(hub, one.method, one.path, proof, headersOf(one.type))]);
  }
  await takeAway();
  for (const [{ method, path, type, body, count }, request] of begun) {
    const before = count(hub);
    const { status, text } = await end(request, body);
    assert.equal(status, wanted, `${method} ${path} ${type}: ${text}`);
    assert.equal(count(hub), before, `${method} ${path} ${type}`);
  }
}

async function hubWithBob(t: Parameters<typeof startHub>[0], env: Record<string, string> = {}) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob'], env);
  notifications(hub.handle).add({ accountId: 2, kind: 'test', title: 'x', path: '/' });
  return { hub, ada, bob, sourceId: await addNotes(bob) };
}

test('each of these requests is done when nothing is taken away', async (t) => {
  const { hub, bob, sourceId } = await hubWithBob(t);
  const asked = askedByMember(sourceId);
  const isLast = ({ path }: Asked): boolean => path.endsWith('/transfer'); // after that the source is hers
  for (const { method, path, type, body, count } of [...asked.filter((one) => !isLast(one)), ...asked.filter(isLast)]) {
    const before = count(hub);
    const { status = 0, text } = await end(await begin(hub, method, path, bob, headersOf(type)), body);
    assert.ok(status < 400, `${method} ${path}: ${status} ${text}`);
    assert.equal(count(hub), before + 1, `${method} ${path}`);
  }
});

test('a request whose session is ended from elsewhere while its body is still arriving changes nothing', async (t) => {
  const { hub, bob, sourceId } = await hubWithBob(t);
  const other = await browserOf(hub, 'bob');

  await assertRefused(hub, bob, askedByMember(sourceId), () => other.form('/settings/sessions', { session: 'others', currentPassword: hub.password }), 401);

  assert.equal((await other.get('/api/account')).status, 200, 'the other one goes on');
  assert.deepEqual(filesIn(hub.dataDir), { uploads: [], tmp: [] });
});

test('a password changed elsewhere ends what other sessions have begun', async (t) => {
  const { hub, bob, sourceId } = await hubWithBob(t);
  const other = await browserOf(hub, 'bob');
  const change = { currentPassword: hub.password, newPassword: 'another long password' };

  await assertRefused(hub, bob, askedByMember(sourceId), () => other.patch('/api/account', change), 401);
});

test('a token that is revoked, and a session that signs out, end what they have begun', async (t) => {
  const { hub, bob, sourceId } = await hubWithBob(t);
  const { id, token } = await tokenOf(hub, bob, { scope: 'admin' });
  const other = await browserOf(hub, 'bob');

  await assertRefused(hub, token, askedByMember(sourceId), () => bob.delete(`/api/tokens/${id}`), 401);
  const begunBy = createClient(hub.address);
  for (const [name, value] of other.cookies) begunBy.cookies.set(name, value);
  await assertRefused(hub, begunBy, askedByMember(sourceId), () => other.delete('/api/session'), 401);
});

test('who is no administrator any more does nothing more as one', async (t) => {
  const { hub, ada, bob, sourceId } = await hubWithBob(t);
  const asked: Asked[] = [
    { method: 'POST', path: '/api/invitations', body: { role: 'admin' }, count: countOf('invitations') },
    { method: 'POST', path: '/admin/invitations', type: FORM, body: 'role=admin', count: countOf('invitations') },
    { method: 'POST', path: '/api/posts', type: MULTIPART, body: multipart(sourceId), count: countOf('posts') },
    { method: 'PATCH', path: `/api/sources/${sourceId}`, body: { title: 'Hers' },
      count: sourcesWith(({ title }) => title === 'Hers') },
  ];

  await assertRefused(hub, ada, asked, () => accounts(hub.handle).setState(1, 'member', null), 403);
  assert.equal((await bob.get(`/api/sources/${sourceId}`)).json()['title'], 'Notes');
});

test('a session that ends while the hub fetches a feed for it adds no source, nor lists private ones', async (t) => {
  const waiting: (() => void)[] = [];
  const origin = await startOrigin(t, { '/feed': (_request, response) => {
    const feed = rss('F', [{ guid: 'a' }]);
    waiting.push(() => void response.writeHead(200, { 'content-type': 'application/rss+xml' }).end(feed));
  } });
  const { hub } = await hubWithBob(t);
  const url = `${origin.url}/feed`;
  const ways = [
    (by: Client) => by.post('/api/sources', { kind: 'feed', url }), (by: Client) => by.form('/sources', { url }),
  ];
  for (const add of ways) {
    const [one, other] = [await browserOf(hub, 'bob'), await browserOf(hub, 'bob')];
    const sent = add(one);
    await waitUntil('the feed is asked for', () => waiting.length > 0);
    await other.form('/settings/sessions', { session: 'others', currentPassword: hub.password });
    waiting.splice(0).forEach((answer) => answer());
    const { status, text } = await sent;
    assert.equal(status, 401);
    assert.ok(!text.includes('Notes'));
  }
  assert.equal(countRows(hub, 'sources'), 1);
});

test('a session that ends while a scanner looks at its file leaves no post and no file', async (t) => {
  let answer = (): void => assert.fail('the scanner was not asked');
  let isAsked = false;
  const scanner = await startScanner(t, (request, response) => {
    isAsked = true;
    answer = () => void CLEAN(request, response);
  });
  const { hub, bob, sourceId } = await hubWithBob(t, { VIRUS_SCAN_URL: scanner.url });
  const other = await browserOf(hub, 'bob');
  const sent = end(await begin(hub, 'POST', '/api/posts', bob, headersOf(MULTIPART)), multipart(sourceId));
  await waitUntil('the scanner is asked', () => isAsked);
  await other.form('/settings/sessions', { session: 'others', currentPassword: hub.password });
  answer();

  assert.equal((await sent).status, 401);
  assert.equal(countRows(hub, 'posts'), 0);
  assert.deepEqual([uploadRows(hub.db), filesIn(hub.dataDir)], [[], { uploads: [], tmp: [] }]);
});

test('a file that is found to be infected is on record and kept from readers, though the session has ended', async (t) => {
  let answer = (): void => assert.fail('the scanner was not asked');
  let asked = 0;
  const scanner = await startScanner(t, (request, response) => {
    if (++asked === 1) return CLEAN(request, response);
    answer = () => void INFECTED(request, response);
  });
  const { hub, bob, sourceId } = await hubWithBob(t, { VIRUS_SCAN_URL: scanner.url });
  const upload = async () => begin(hub, 'POST', '/api/posts', bob, headersOf(MULTIPART));
  assert.equal((await end(await upload(), multipart(sourceId))).status, 201);
  const other = await browserOf(hub, 'bob');
  const sent = end(await upload(), multipart(sourceId));
  await waitUntil('the scanner is asked again', () => asked === 2);
  await other.form('/settings/sessions', { session: 'others', currentPassword: hub.password });
  answer();

  assert.equal((await sent).status, 422);
  assert.deepEqual(fileActs(hub).map(({ act }) => act).sort(), ['attachment.quarantined', 'attachment.refused']);
  assert.deepEqual(await scanCounts(hub), { clean: 1, infected: 1, unavailable: 0 });
  assert.deepEqual(uploadRows(hub.db).map(({ scan }) => scan), ['infected']);
});

test('signing out and revoking the token that asks for it work, and are on record', async (t) => {
  const { hub, ada, bob } = await hubWithBob(t);
  const { id, token } = await tokenOf(hub, bob, { scope: 'admin' });

  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await hub.anybody.send('DELETE', `/api/tokens/${id}`, { headers })).status, 204);
  assert.equal((await hub.anybody.get('/api/account', headers)).status, 401);
  assert.equal((await bob.delete('/api/session')).status, 204);
  const acts = await itemsAt<{ act: string }>(ada, '/api/admin/audit?actor=bob');
  assert.deepEqual(acts.slice(0, 2).map(({ act }) => act), ['session.ended', 'token.revoked']);
});

test('a page whose session has ended meanwhile answers as to somebody who is signed out', async (t) => {
  const { hub, bob } = await hubWithBob(t);
  await addNotes(bob, 'A secret place', 'private');
  const other = await browserOf(hub, 'bob');
  const begun = await begin(hub, 'POST', '/sources', bob, { 'content-type': FORM, accept: 'text/html' });
  await other.form('/settings/sessions', { session: 'others', currentPassword: hub.password });
  const { status, text } = await end(begun, 'kind=native&title=');

  assert.equal(status, 401);
  assert.match(text, /<html/);
  assert.match(text, /action="\/sign-in"/);
  assert.ok(!text.includes('A secret place'));
});
