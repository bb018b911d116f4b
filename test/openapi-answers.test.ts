// Protects the description of the API: real requests and answers of every operation are as it says, and no others.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { noteRun } from '../src/features/backups/backup-status.ts';
import { noteError } from '../src/features/errors/error-store.ts';
import { drafts } from '../src/features/posts/draft-store.ts';
import { DAY } from '../src/platform/clock.ts';
import { documentedApi, type ApiDocument, type ApiRequest, type DocumentedApi } from './support/api-document.ts';
import { createClient, type Answer, type Client } from './support/client.ts';
import { rss, serving } from './support/feeds.ts';
import { startHub, type Hub } from './support/hub.ts';
import { startOrigin } from './support/origin.ts';
import { raise } from './support/receiver.ts';
import { FORM_TYPE, formWith } from './support/uploads.ts';
import { eventBody } from './support/webhooks.ts';
import { standardEvent } from './support/signed-events.ts';

const QUOTA = 4_000;
const SETTINGS = {
  METRICS_TOKEN: 'scrape', UPLOAD_MAX_BYTES: '2000', UPLOAD_QUOTA_BYTES: String(QUOTA),
  ALERT_WEBHOOK_URL: 'http://127.0.0.1:9/',
};
const METRICS = { authorization: 'Bearer scrape' };
const NOWHERE = 999_999;
const SCOPES = ['read', 'write', 'admin'];

/** Full disks, scanners that are away and files that come in at once have tests of their own. */
const ELSEWHERE = / (503|507|default)$|^POST \/api\/posts(\/\{id\}\/attachments)? 429$/;

type Made = { id: number; webhook: { secret: string }; attachments: { id: number }[]; url: string; items: Made[] };
type Call = { client: Client; name: string; request: ApiRequest };

/** A hub with people, sources, posts and files, made through documented operations; all that was called is kept. */
async function usedHub(t: TestContext) {
  const hub = await startHub(t, SETTINGS);
  const feed = rss('Blog', [{
    guid: '1', date: 'Mon, 14 Jan 2030 10:00:00 GMT', extra: '<enclosure url="https://blog.test/a.mp3" type="audio/mpeg"/>',
  }]);
  const origin = await startOrigin(t, { '/feed': serving(() => feed) });
  const api = documentedApi((await hub.anybody.get('/api/openapi.json')).json<ApiDocument>());
  const calls: Call[] = [];

  /** A request that must be taken; bodies that are wrong are refused before. */
  async function call(client: Client, name: string, request: ApiRequest = {}): Promise<Answer & { made: Made }> {
    if (request.body !== undefined) await refuseWrongBodies(api, client, name, request);
    const answer = await api.ask(client, name, request);
    assert.ok(answer.status < 300, `${name} answered ${answer.status}: ${answer.text}`);
    calls.push({ client, name, request });
    return { ...answer, get made() { return answer.json<Made>(); } };
  }

  const ada = await hub.person('ada');
  return { hub, api, ada, bob: createClient(hub.address), feedUrl: `${origin.url}/feed`, calls, call };
}

/** Another media type, what is no JSON, what is too large, a member that is missing or of a type that it never has. */
async function refuseWrongBodies(
  api: DocumentedApi, client: Client, name: string, { body, type = 'application/json', ...rest }: ApiRequest,
): Promise<void> {
  const refused = async (status: number | null, sent: unknown, as: string, why: string): Promise<void> => {
    const answer = await api.ask(client, name, { ...rest, body: sent, type: as });
    const isRefused = status === null ? answer.status >= 400 && answer.status < 500 : answer.status === status;
    assert.ok(isRefused, `${name}, ${why}: ${answer.status} ${answer.text}`);
  };
  await refused(415, 'x', 'text/csv', 'another media type');
  await refused(413, 'x'.repeat(4.5 * 1024 * 1024), type, 'too large');
  if (type === FORM_TYPE) await refused(400, '--', type, 'a form that breaks off');
  if (type !== 'application/json') return;
  await refused(400, '{', type, 'no JSON');
  const { properties = {}, required = [] } = api.bodySchema(name, body);
  const values = body as Record<string, unknown>;
  for (const member of required) await refused(null, { ...values, [member]: undefined }, type, `without ${member}`);
  for (const member of Object.keys(properties)) {
    const odd = Array.isArray(values[member]) || member === 'ids' ? {} : [];
    await refused(null, { ...values, [member]: odd }, type, `an odd ${member}`);
  }
}

type Used = Awaited<ReturnType<typeof usedHub>>;

function signed(hub: Hub, secret: string): (body: string) => Record<string, string> {
  return (body) => {
    const timestamp = Math.floor(hub.now() / 1_000);
    const { rawHeaders } = standardEvent(secret, { id: `msg_${body.length}`, timestamp, body });
    return Object.fromEntries([0, 2, 4].map((at) => [rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '']));
  };
}

async function useAccounts({ hub, api, ada, bob, call }: Used): Promise<void> {
  const { password, anybody } = hub;
  const confirmed = { currentPassword: password };
  const { url } = (await call(ada, 'POST /api/invitations', { body: { ...confirmed, role: 'member', hours: 1 } })).made;
  await call(bob, 'POST /api/accounts', { body: { invitation: url, username: 'bob', displayName: 'Bob', password } });
  await call(bob, 'DELETE /api/session');
  await call(bob, 'POST /api/session', { body: { username: 'bob', password } });
  await call(bob, 'GET /api/account');
  await call(bob, 'PATCH /api/account', {
    body: { displayName: 'Bobby', currentPassword: password, newPassword: password },
  });
  const expiresAt = '2031-01-01T00:00:00.000Z';
  await call(bob, 'POST /api/tokens', { body: { ...confirmed, name: 'script', scope: 'read', expiresAt } });
  await api.ask(createClient(hub.address), 'POST /api/session', { body: { username: 'bob', password } });
  const { items: [other] } = (await call(bob, 'GET /api/sessions')).made;
  await call(bob, 'GET /api/sessions/{id}', { id: other?.id ?? 0 });
  await call(bob, 'DELETE /api/sessions', { body: confirmed });
  const unwanted = (await call(ada, 'POST /api/invitations', { body: confirmed })).made;
  await call(ada, 'GET /api/invitations');
  await call(ada, 'DELETE /api/invitations/{id}', { id: unwanted.id });
  await call(anybody, 'GET /api/openapi.json');
  await call(anybody, 'GET /api/metrics', { headers: METRICS });
  await call(anybody, 'GET /api/metrics', { headers: { ...METRICS, accept: 'application/openmetrics-text' } });
}

async function useSources({ hub, ada, bob, feedUrl, call }: Used) {
  const feed = (await call(ada, 'POST /api/sources', {
    body: { kind: 'feed', url: feedUrl, title: 'Blog', visibility: 'public' },
  })).made;
  const hook = (await call(ada, 'POST /api/sources', { body: { kind: 'webhook', title: 'Hook' } })).made;
  const notes = (await call(ada, 'POST /api/sources', { body: { kind: 'native', title: 'Notes' } })).made;
  const data = { id: '1', title: 'Heard', content_text: 'Hoot' };
  await call(hub.anybody, 'POST /api/webhooks/{id}', {
    id: hook.id, body: JSON.parse(eventBody('post.published', data, hub.now())), sign: signed(hub, hook.webhook.secret),
  });
  const opml = '<opml version="2.0"><body><outline xmlUrl="https://a.test/f"/><outline xmlUrl="x:y"/></body></opml>';
  for (const type of ['text/x-opml', 'application/xml']) {
    await call(bob, 'POST /api/sources/import', { body: opml, type });
  }
  await call(bob, 'GET /api/sources.opml');
  await call(ada, 'GET /api/sources');
  for (const client of [hub.anybody, bob]) await call(client, 'GET /api/sources/{id}', { id: feed.id });
  await call(ada, 'GET /api/sources/{id}', { id: hook.id });
  const change = { title: 'A blog', paused: false };
  const known = { username: 'ada', password: 'secret', visibility: 'private' };
  await call(ada, 'PATCH /api/sources/{id}', { id: feed.id, body: { ...change, ...known } });
  const unknown = { username: null, password: null, visibility: 'public' };
  await call(ada, 'PATCH /api/sources/{id}', { id: feed.id, body: { ...change, ...unknown } });
  await call(ada, 'POST /api/sources/{id}/sync', { id: feed.id });
  await call(bob, 'PUT /api/sources/{id}/follow', { id: feed.id });
  await call(ada, 'POST /api/sources/{id}/webhook/rotate', { id: hook.id });
  return { feed, hook, notes };
}

function file(length: number): { filename: string; data: string } {
  return { filename: 'owl.txt', data: 'o'.repeat(length) };
}

async function usePosts({ ada, bob, hub, call }: Used, notes: number) {
  const written = {
    sourceId: notes, title: 'Owls', content: '<p>Hoot</p>', contentType: 'text/html', url: 'https://a.test/',
    publishedAt: '2030-01-01T00:00:00.000Z',
  };
  const { sourceId, ...rest } = written;
  const post = (await call(ada, 'POST /api/posts', { body: written })).made;
  const form = formWith({ ...rest, sourceId: String(sourceId) }, [file(1_500)]).toString();
  const withFile = (await call(ada, 'POST /api/posts', { body: form, type: FORM_TYPE })).made;
  await call(ada, 'PATCH /api/posts/{id}', { id: post.id, body: rest });
  const more = formWith({}, [file(1_000)]).toString();
  const added = (await call(ada, 'POST /api/posts/{id}/attachments', { id: post.id, body: more, type: FORM_TYPE })).made;
  await call(ada, 'DELETE /api/attachments/{id}', { id: added.items[0]?.id ?? 0 });
  for (const client of [hub.anybody, bob]) await call(client, 'GET /api/posts');
  await call(hub.anybody, 'GET /api/posts/{id}', { id: withFile.id });
  await call(bob, 'PUT /api/posts/{id}/read', { id: post.id });
  await call(bob, 'GET /api/history');
  drafts(hub.handle).save(2, `/sources/${notes}/write`, { title: 'Not yet' });
  await call(bob, 'GET /api/account/export');
  await call(bob, 'DELETE /api/posts/{id}/read', { id: post.id });
  await call(bob, 'DELETE /api/history');
  const [token] = (await call(bob, 'GET /api/tokens')).made.items;
  await call(bob, 'DELETE /api/tokens/{id}', { id: token?.id ?? 0 });
  return post;
}

async function useAdministration({ hub, ada, call }: Used): Promise<void> {
  const name = '20300115-100000';
  mkdirSync(join(hub.dataDir, 'backups', name), { recursive: true });
  await noteRun(hub.dataDir, 'backup', {
    name, at: hub.now(), ok: true, verdict: 'verified', bytes: 1, seconds: 1, problem: null,
  }, 1);
  await call(hub.anybody, 'GET /api/health');
  noteError(hub.handle, new Error('something odd'));
  raise(hub, 'space-low', 'A few bytes');
  await hub.work();
  hub.db.exec(`INSERT INTO jobs (kind, payload, dedupe_key, lane, state, run_at, max_attempts, created_at, last_error)
    VALUES ('sync-source', '{"sourceId":1}', '77', 'lane', 'failed', 0, 5, 0, 'odd')`);
  const [job] = (await call(ada, 'GET /api/admin/jobs', { query: 'state=failed&limit=1' })).made.items;
  for (const list of ['accounts', 'alerts', 'audit', 'errors', 'jobs', 'webhooks']) {
    const { items } = (await call(ada, `GET /api/admin/${list}`)).made;
    assert.ok(items.length > 0, list);
  }
  const confirmed = { currentPassword: hub.password };
  const body = { ...confirmed, disabled: false, role: 'member' };
  await call(ada, 'PATCH /api/admin/accounts/{id}', { id: 2, body });
  await call(ada, 'GET /api/admin/accounts/{id}', { id: 2 });
  await call(ada, 'POST /api/admin/accounts/{id}/reset-password', { id: 2, body: confirmed });
  await call(ada, 'POST /api/admin/jobs/{id}/retry', { id: job?.id ?? 0 });
  await call(ada, 'DELETE /api/admin/jobs/{id}', { id: job?.id ?? 0 });
}

/** Each parameter of a query is read, each value that is named is taken, and the cursor of a page leads on. */
async function useQueries({ api, ada }: Used): Promise<void> {
  for (const [name, { parameters }] of api.operations) {
    const query = parameters.filter((parameter) => parameter.in === 'query');
    const itemsOf = ({ status, text }: Answer): unknown => status === 200 ? Object(JSON.parse(text)).items : status;
    const plain = query.length > 0 ? itemsOf(await api.ask(ada, name)) : null;
    for (const { name: parameter, schema } of query) {
      const odd = await api.ask(ada, name, { query: `${parameter}=zzzz9` });
      assert.notDeepEqual(itemsOf(odd), plain, `${name} reads ${parameter}`);
      for (const value of (schema['enum'] ?? []) as string[]) {
        const answer = await api.ask(ada, name, { query: `${parameter}=${value}` });
        assert.equal(answer.status, 200, `${name} takes ${parameter}=${value}`);
      }
    }
    if (!query.some((parameter) => parameter.name === 'cursor')) continue;
    const { next } = (await api.ask(ada, name, { query: 'limit=1' })).json<{ next: string | null }>();
    if (next !== null) assert.equal((await api.ask(ada, name, { query: `cursor=${next}` })).status, 200, name);
  }
}

/** What each operation refuses for a reason of its own. */
async function meetRefusals({ hub, api, ada, bob, feedUrl }: Used, ids: Record<'feed' | 'hook' | 'notes', number>) {
  const { password, anybody } = hub;
  const expect = async (status: number, client: Client, name: string, request: ApiRequest = {}): Promise<Answer> => {
    const answer = await api.ask(client, name, request);
    assert.equal(answer.status, status, `${name}: ${answer.text}`);
    return answer;
  };
  const confirmed = { currentPassword: password };
  const invite = (await api.ask(ada, 'POST /api/invitations', { body: confirmed })).json<Made>().url;
  await expect(409, anybody, 'POST /api/accounts', { body: { invitation: invite, username: 'bob', password } });
  await expect(410, anybody, 'POST /api/accounts', { body: { invitation: 'x', username: 'carl', password } });
  const disabled = { body: { ...confirmed, disabled: true } };
  await expect(409, ada, 'PATCH /api/admin/accounts/{id}', disabled);
  await hub.person('carl');
  await expect(200, ada, 'PATCH /api/admin/accounts/{id}', { id: 3, ...disabled });
  await expect(409, ada, 'POST /api/admin/accounts/{id}/reset-password', { id: 3, body: confirmed });
  await expect(409, ada, 'DELETE /api/account', { body: { password, confirmation: 'DELETE' } });
  await expect(422, ada, 'POST /api/sources/import', { body: '<x/>', type: 'text/x-opml' });
  await expect(409, ada, 'POST /api/sources', { body: { kind: 'feed', url: feedUrl } });
  await expect(409, ada, 'POST /api/sources/{id}/sync', { id: ids.notes });
  await expect(409, ada, 'POST /api/sources/{id}/transfer', { id: ids.notes, body: { username: 'ada' } });
  await expect(409, ada, 'POST /api/sources/{id}/webhook/rotate', { id: ids.notes });
  await expect(404, anybody, 'GET /api/posts', { query: `source=${NOWHERE}` });
  for (const [status, sourceId] of [[404, NOWHERE], [409, ids.feed]] as const) {
    await expect(status, ada, 'POST /api/posts', { body: { sourceId, title: 'x' } });
  }
  const [heard] = (await api.ask(ada, 'GET /api/posts', { query: `source=${ids.feed}` })).json<Made>().items;
  const [id, remote] = [heard?.id ?? 0, heard?.attachments[0]?.id ?? 0];
  await expect(409, ada, 'PATCH /api/posts/{id}', { id, body: { title: 'x' } });
  const form = (size: number) => ({ body: formWith({}, [file(size)]).toString(), type: FORM_TYPE });
  await expect(409, ada, 'POST /api/posts/{id}/attachments', { id, ...form(10) });
  await expect(409, ada, 'DELETE /api/attachments/{id}', { id: remote });
  const done = (await api.ask(ada, 'GET /api/admin/jobs', { query: 'state=discarded' })).json<Made>().items[0];
  await expect(409, ada, 'POST /api/admin/jobs/{id}/retry', { id: done?.id ?? 0 });
  await expect(409, ada, 'DELETE /api/admin/jobs/{id}', { id: done?.id ?? 0 });
  await refuseFiles();

  /** Bob's files leave no room for Ada's. */
  async function refuseFiles(): Promise<void> {
    const own = (await api.ask(bob, 'POST /api/sources', { body: { kind: 'native', title: 'Bob' } })).json<Made>();
    const fields = { sourceId: String(own.id), title: 'Files' };
    const two = formWith(fields, [file(1_400), { ...file(1_600), filename: 'b.txt' }]).toString();
    const post = (await api.ask(bob, 'POST /api/posts', { body: two, type: FORM_TYPE })).json<Made>();
    await expect(422, bob, 'POST /api/posts/{id}/attachments', { id: post.id, ...form(1_200) });
    await expect(422, ada, 'POST /api/sources/{id}/transfer', { id: ids.notes, body: { username: 'bob' } });
    assert.equal((await api.ask(bob, 'DELETE /api/sources/{id}', { id: own.id })).status, 204);
  }
}

/** What any request of its kind is answered, as often as an operation says so and nowhere else. */
async function meetStrangers({ hub, api, ada, bob, calls }: Used): Promise<void> {
  const tokens = new Map<string, string>();
  for (const scope of SCOPES) {
    const body = { currentPassword: hub.password, name: scope, scope };
    tokens.set(scope, (await api.ask(ada, 'POST /api/tokens', { body })).json<{ token: string }>().token);
  }
  const latest = new Map(calls.map((call) => [call.name, call]));
  for (const [name, { security, responses, requestBody }] of api.operations) {
    const { client: caller, request } = latest.get(name) ?? { client: ada, request: { body: requestBody && {} } };
    const { id = 1 } = request;
    const isRead = name.startsWith('GET ');
    const body = requestBody ? { body: {} } : {};
    const ask = async (client: Client, request: ApiRequest) => (await api.ask(client, name, request)).status;
    const isOpen = security.some((way) => Object.keys(way).length === 0);
    assert.equal(await ask(hub.anybody, { id, ...body }) === 401, !isOpen, `${name} without credentials`);
    const unknown = await ask(hub.anybody, { id, ...body, headers: { authorization: 'Bearer hub_unknown' } });
    assert.equal(unknown === 401, '401' in responses, `${name} with an unknown token`);
    if (!isRead) assert.equal(await ask(ada, { id, ...body, headers: { 'sec-fetch-site': 'cross-site' } }), 403, name);
    const isForAdmins = security.some((way) => Object.values(way).flat().includes('admin'));
    if (isForAdmins) assert.equal(await ask(bob, { id, ...body }), 403, `${name} for a member`);
    if (name.includes('{id}')) assert.equal(await ask(ada, { ...request, id: NOWHERE }), 404, name);
    for (const [scope, token] of tokens) {
      const headers = { authorization: `Bearer ${token}` };
      const needed = security.flatMap((way) => way['token'] ?? []);
      const isEnough = needed.length > 0 && SCOPES.indexOf(scope) >= SCOPES.indexOf(needed[0] ?? '');
      const isForSessions = security.every((way) => 'session' in way);
      if (isEnough && !isRead || !isForSessions && needed.length === 0) continue;
      const refused = [403, 409].includes(await ask(hub.anybody, { id, ...body, headers }));
      assert.equal(refused, !isEnough, `${name} with a token for ${scope}`);
    }
    if (!isRead) continue;
    const image = await ask(caller, { id, headers: { ...METRICS, accept: 'image/png' } });
    assert.equal(image === 406, '406' in responses, `${name} as an image`);
    const etag = (await api.ask(hub.anybody, name, { id })).headers.get('etag');
    const again = etag === null ? null : await ask(hub.anybody, { id, headers: { 'if-none-match': etag } });
    assert.equal(again === 304, '304' in responses, `${name} that is known`);
  }
}

/** Whoever asks too often is told so where that is documented, and nobody else. */
async function meetLimits({ hub, api, ada }: Used, hook: Made): Promise<void> {
  const password = 'a wrong password';
  const confirmed = { currentPassword: password };
  const body = JSON.parse(eventBody('post.deleted', { id: 'x' }, hub.now()));
  hub.db.exec(`UPDATE webhooks SET arrives_at = ${hub.now() + 100_000}`);
  const often: Record<string, ApiRequest> = {
    'POST /api/accounts': { body: { invitation: 'x', username: 'carl', password } },
    'POST /api/session': { body: { username: 'ada', password } },
    'PATCH /api/account': { body: { currentPassword: password, newPassword: hub.password } },
    'DELETE /api/account': { body: { password, confirmation: 'DELETE' } },
    'POST /api/sources': { body: { kind: 'feed', url: 'http://127.0.0.1:9/' } },
    'POST /api/sources/{id}/sync': { id: hook.id - 1 },
    'DELETE /api/sessions': { body: confirmed },
    'DELETE /api/sessions/{id}': { body: confirmed },
    'POST /api/tokens': { body: { ...confirmed, name: 'x' } },
    'POST /api/invitations': { body: confirmed },
    'PATCH /api/admin/accounts/{id}': { body: { ...confirmed, disabled: false } },
    'POST /api/admin/accounts/{id}/reset-password': { body: confirmed },
    'POST /api/webhooks/{id}': { id: hook.id, body, sign: signed(hub, hook.webhook.secret) },
  };
  const limited = [...api.operations].filter(([, { responses }]) => '429' in responses).map(([name]) => name);
  const here = limited.filter((name) => !ELSEWHERE.test(`${name} 429`));
  assert.deepEqual(here.toSorted(), Object.keys(often).toSorted());
  for (const [name, request] of Object.entries(often)) {
    let tries = 0;
    while ((await api.ask(ada, name, request)).status !== 429) assert.ok(++tries < 110, name);
  }
}

async function giveAway({ hub, api, ada, bob, call }: Used, { post, notes }: Record<'post' | 'notes', Made>): Promise<void> {
  const other = createClient(hub.address);
  await api.ask(other, 'POST /api/session', { body: { username: 'bob', password: hub.password } });
  const session = (await api.ask(other, 'GET /api/sessions')).json<Made>().items.at(-1);
  await call(bob, 'DELETE /api/sessions/{id}', { id: session?.id ?? 0, body: { currentPassword: hub.password } });
  await call(ada, 'DELETE /api/posts/{id}', { id: post.id });
  await call(ada, 'POST /api/sources/{id}/transfer', { id: notes.id, body: { username: 'bob' } });
  await call(bob, 'GET /api/notifications');
  await call(bob, 'POST /api/notifications/read', { body: { ids: [1] } });
  await call(bob, 'POST /api/notifications/read', { body: { all: true } });
}

/** Bob, the webhook's sender and the database are gone. */
async function leave(
  { hub, api, ada, bob, call }: Used, { feed, notes, hook }: Record<'feed' | 'notes' | 'hook', Made>,
): Promise<void> {
  hub.passTime(DAY);
  await call(bob, 'DELETE /api/sources/{id}/follow', { id: feed.id });
  await call(bob, 'DELETE /api/sources/{id}', { id: notes.id });
  await api.ask(ada, 'DELETE /api/sources/{id}', { id: hook.id + 2 }); // Bob's, of the OPML document
  await call(bob, 'DELETE /api/account', { body: { password: hub.password, confirmation: 'DELETE' } });
  await api.ask(ada, 'PATCH /api/sources/{id}', { id: hook.id, body: { paused: true } });
  assert.equal((await api.ask(hub.anybody, 'POST /api/webhooks/{id}', { id: hook.id, body: {} })).status, 410);
  hub.db.exec('DROP TABLE heartbeats');
  assert.equal((await api.ask(hub.anybody, 'GET /api/health')).status, 503);
}

/** What is documented and was not met. */
function neverSeen({ operations, seen, neverMet, schemas }: DocumentedApi): string[] {
  const documented = [...operations].flatMap(([name, { requestBody, responses }]) => [
    ...Object.keys(requestBody?.content ?? {}).map((type) => `${name} takes ${type}`),
    ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
      [`${name} ${status}`, ...Object.keys(content).map((type) => `${name} ${status} ${type}`)]),
  ]);
  return [...documented.filter((what) => !seen.has(what) && !ELSEWHERE.test(what)), ...neverMet(schemas)];
}

test('every operation takes what is documented, gives what is documented, and refuses as documented', async (t) => {
  const used = await usedHub(t);
  await useAccounts(used);
  const { feed, hook, notes } = await useSources(used);
  const post = await usePosts(used, notes.id);
  await useAdministration(used);
  await useQueries(used);
  await meetRefusals(used, { feed: feed.id, hook: hook.id, notes: notes.id });
  await giveAway(used, { post, notes });
  await meetStrangers(used);
  await meetLimits(used, hook);
  await leave(used, { feed, notes, hook });
  assert.deepEqual(neverSeen(used.api), []);
});
