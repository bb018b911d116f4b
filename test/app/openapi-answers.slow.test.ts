// Protects the description of the API: real requests and answers of every operation are as it says, and no others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, DocumentedApi } from '../support/api-document.ts';
import type { Answer, Client } from '../support/client.ts';
import { FORM_TYPE, formWith } from '../support/uploads.ts';
import {
  file, giveAway, leave, METRICS, signed, useAccounts, useAdministration, usedHub, usePosts, useSources, type Made,
  type Used,
} from '../support/used-api.ts';
import { useRules } from '../support/used-rules.ts';
import { eventBody } from '../support/webhooks.ts';
import { webhooks } from '../../src/features/webhooks/webhook-store.ts';

const NOWHERE = 999_999;
const SCOPES = ['read', 'write', 'admin'];

/** Full disks, absent scanners, lost databases, files that come in at once and many full texts have tests of their own. */
const ELSEWHERE = / (503|507|default)$|^Unready\.(rescue|problem|whatToDo)|^POST \/api\/posts(\/\{id\}\/(attachments|full-text))? 429$/;

/** Each parameter of a query is read, each value that is named is taken, and the cursor of a page leads on. */
async function useQueries({ api, ada, calls }: Used): Promise<void> {
  const latest = new Map(calls.map((call) => [call.name, call.request]));
  for (const [name, { parameters }] of api.operations) {
    const request = name.startsWith('GET ') ? {} : latest.get(name) ?? {};
    const query = parameters.filter((parameter) => parameter.in === 'query');
    const itemsOf = ({ status, text }: Answer): unknown => status === 200 ? Object(JSON.parse(text)).items : status;
    const plain = query.length > 0 ? itemsOf(await api.ask(ada, name, request)) : null;
    for (const { name: parameter, schema } of query) {
      const odd = await api.ask(ada, name, { ...request, query: `${parameter}=zzzz9` });
      assert.notDeepEqual(itemsOf(odd), plain, `${name} reads ${parameter}`);
      for (const value of (schema['enum'] ?? []) as string[]) {
        const answer = await api.ask(ada, name, { ...request, query: `${parameter}=${value}` });
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
  const url = feedUrl.replace('127.0.0.1', 'localhost');
  const another = (await expect(201, ada, 'POST /api/sources', { body: { kind: 'feed', url } })).json<Made>();
  await expect(409, ada, 'PATCH /api/sources/{id}', { id: another.id, body: { url: feedUrl } });
  await expect(204, ada, 'DELETE /api/sources/{id}', { id: another.id });
  await expect(409, ada, 'POST /api/sources/{id}/sync', { id: ids.notes });
  await expect(409, ada, 'POST /api/sources/{id}/transfer', { id: ids.notes, body: { username: 'ada' } });
  await expect(409, ada, 'POST /api/sources/{id}/hand-over', { id: ids.notes });
  await expect(409, ada, 'POST /api/sources/{id}/webhook/rotate', { id: ids.notes });
  await expect(404, anybody, 'GET /api/posts', { query: `source=${NOWHERE}` });
  await expect(404, ada, 'POST /api/reading/mark-read', { body: { source: NOWHERE } });
  await expect(410, ada, 'POST /api/reading/undo', { body: { undo: NOWHERE } });
  await expect(401, anybody, 'GET /api/posts', { query: 'view=unread' });
  for (const [status, sourceId] of [[404, NOWHERE], [409, ids.feed]] as const) {
    await expect(status, ada, 'POST /api/posts', { body: { sourceId, title: 'x' } });
  }
  const [told] = (await api.ask(ada, 'GET /api/posts', { query: `source=${ids.hook}` })).json<Made>().items;
  await expect(409, ada, 'POST /api/posts/{id}/full-text', { id: told?.id ?? 0 });
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
    const { offer } = (await expect(202, ada, 'POST /api/sources/{id}/transfer', { id: ids.notes, body: { username: 'bob' } }))
      .json<{ offer: Made }>();
    await expect(422, bob, 'POST /api/offers/{id}/accept', { id: offer.id });
    await expect(204, ada, 'DELETE /api/offers/{id}', { id: offer.id });
    assert.equal((await api.ask(bob, 'DELETE /api/sources/{id}', { id: own.id })).status, 204);
    await refuseOffers(offer.id);
  }

  /** An offer that has ended, one of a feed that Bob has, and one too many. */
  async function refuseOffers(ended: number): Promise<void> {
    for (const name of ['POST /api/offers/{id}/accept', 'POST /api/offers/{id}/decline', 'DELETE /api/offers/{id}']) {
      await expect(410, bob, name, { id: ended });
    }
    const change = async (visibility: string) =>
      expect(200, ada, 'PATCH /api/sources/{id}', { id: ids.feed, body: { visibility } });
    await change('private');
    const same = (await expect(201, bob, 'POST /api/sources', { body: { kind: 'feed', url: feedUrl } })).json<Made>();
    const { offer } = (await expect(202, ada, 'POST /api/sources/{id}/transfer', { id: ids.feed, body: { username: 'bob' } }))
      .json<{ offer: Made }>();
    await expect(409, bob, 'POST /api/offers/{id}/accept', { id: offer.id });
    await expect(204, bob, 'DELETE /api/sources/{id}', { id: same.id });
    await change('public');
    await api.ask(bob, 'PUT /api/sources/{id}/follow', { id: ids.feed, body: {} });
    const made: number[] = [];
    for (let n = 0; n < 10; n++) {
      made.push((await expect(201, ada, 'POST /api/sources', { body: { kind: 'native', title: 'Offered' } })).json<Made>().id);
      const body = { username: 'bob' };
      if (n < 9) await expect(202, ada, 'POST /api/sources/{id}/transfer', { id: made[n] ?? 0, body });
    }
    await api.ask(bob, 'PUT /api/sources/{id}/follow', { id: made[9] ?? 0, body: {} });
    await expect(422, ada, 'POST /api/sources/{id}/hand-over', { id: made[9] ?? 0 });
    for (const id of made) await expect(204, ada, 'DELETE /api/sources/{id}', { id });
    await expect(204, ada, 'DELETE /api/offers/{id}', { id: offer.id });
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
      if (!isForSessions && needed.length === 0) continue;
      const target = isEnough && !isRead ? NOWHERE : id; // nothing is to be done
      const refused = [403, 409].includes(await ask(hub.anybody, { id: target, ...body, headers }));
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
  webhooks(hub.handle).noteEvents(hook.id, hub.now(), hub.now() + 100_000);
  const often: Record<string, ApiRequest> = {
    'POST /api/accounts': { body: { invitation: 'x', username: 'carl', password } },
    'POST /api/session': { body: { username: 'ada', password } },
    'PATCH /api/account': { body: { currentPassword: password, newPassword: hub.password } },
    'DELETE /api/account': { body: { password, confirmation: 'DELETE' } },
    'POST /api/sources': { body: { kind: 'feed', url: 'http://127.0.0.1:9/' } },
    'PATCH /api/sources/{id}': { id: hook.id - 1, body: { url: 'http://127.0.0.1:9/' } },
    'POST /api/sources/{id}/sync': { id: hook.id - 1 },
    'DELETE /api/sessions': { body: confirmed },
    'DELETE /api/sessions/{id}': { body: confirmed },
    'POST /api/tokens': { body: { ...confirmed, name: 'x' } },
    'POST /api/invitations': { body: confirmed },
    'PATCH /api/admin/accounts/{id}': { body: { ...confirmed, disabled: false } },
    'POST /api/admin/accounts/{id}/reset-password': { body: confirmed },
    'POST /api/sources/{id}/transfer': { id: hook.id, body: { username: 'bob' } },
    'POST /api/sources/{id}/hand-over': { id: hook.id },
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

/** What is documented and was not met. */
function neverSeen({ operations, seen, neverMet, schemas }: DocumentedApi): string[] {
  const documented = [...operations].flatMap(([name, { requestBody, responses }]) => [
    ...Object.keys(requestBody?.content ?? {}).map((type) => `${name} takes ${type}`),
    ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
      [`${name} ${status}`, ...Object.keys(content).map((type) => `${name} ${status} ${type}`)]),
  ]);
  return [...documented.filter((what) => !seen.has(what)), ...neverMet(schemas)].filter((what) => !ELSEWHERE.test(what));
}

test('every operation takes what is documented, gives what is documented, and refuses as documented', async (t) => {
  const used = await usedHub(t);
  await useAccounts(used);
  const { feed, hook, notes } = await useSources(used);
  const post = await usePosts(used, notes.id);
  await useRules(used);
  await useAdministration(used);
  await useQueries(used);
  await meetRefusals(used, { feed: feed.id, hook: hook.id, notes: notes.id });
  await giveAway(used, { post, notes });
  await meetStrangers(used);
  await meetLimits(used, hook);
  await leave(used, { feed, notes, hook });
  assert.deepEqual(neverSeen(used.api), []);
});
