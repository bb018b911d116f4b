import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { noteDrill, noteOffsite, noteRun } from '../../src/features/backups/note-run.ts';
import { noteError } from '../../src/features/errors/error-store.ts';
import { fullTexts } from '../../src/features/full-text/full-text-store.ts';
import { DAY } from '../../src/platform/clock.ts';
import { documentedApi, type ApiDocument, type ApiRequest, type DocumentedApi } from './api-document.ts';
import { createClient, type Answer, type Client } from './client.ts';
import { rss, serving } from './feeds.ts';
import { startHub, type Hub } from './hub.ts';
import { addJob } from './stored-jobs.ts';
import { dropTable } from './stored-rows.ts';
import { startOrigin } from './origin.ts';
import { raise } from './receiver.ts';
import { standardEvent } from './signed-events.ts';
import { FORM_TYPE, formWith, sendForm } from './uploads.ts';
import { eventBody } from './webhooks.ts';

const SETTINGS = {
  METRICS_TOKEN: 'scrape', UPLOAD_MAX_BYTES: '2000', UPLOAD_QUOTA_BYTES: '4000', ALERT_WEBHOOK_URL: 'http://127.0.0.1:8/',
  BACKUP_OFFSITE_DIR: '/mnt/far',
  BACKUP_RESTIC_REPOSITORY: '/mnt/restic',
  BACKUP_RESTIC_PASSWORD_FILE: '/etc/password',
};

export const METRICS = { authorization: 'Bearer scrape' };

export type Made = { id: number; webhook: { secret: string }; attachments: { id: number }[]; url: string; undo: number; items: Made[] };
type Call = { client: Client; name: string; request: ApiRequest };

/** A hub with people, sources, posts and files, made through documented operations; all that was called is kept. */
export async function usedHub(t: TestContext) {
  const hub = await startHub(t, SETTINGS);
  const feed = rss('Blog', [{
    guid: '1', date: 'Mon, 14 Jan 2030 10:00:00 GMT',
    extra: '<enclosure url="https://blog.test/a.mp3" type="audio/mpeg"/>',
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

export type Used = Awaited<ReturnType<typeof usedHub>>;

/** Signs a body as Standard Webhooks asks; its length is its id. */
export function signed(hub: Hub, secret: string): (body: string) => Record<string, string> {
  return (body) => {
    const timestamp = Math.floor(hub.now() / 1_000);
    const { rawHeaders } = standardEvent(secret, { id: `msg_${body.length}`, timestamp, body });
    return Object.fromEntries([0, 2, 4].map((at) => [rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '']));
  };
}

/** Bob joins; sessions, tokens and invitations come and go. */
export async function useAccounts({ hub, api, ada, bob, call }: Used): Promise<void> {
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

/** A source of each kind, and what is done with them. */
export async function useSources({ hub, ada, bob, feedUrl, call }: Used) {
  const feed = (await call(ada, 'POST /api/sources', {
    body: { kind: 'feed', url: feedUrl, title: 'Blog', visibility: 'public' },
  })).made;
  const hook = (await call(ada, 'POST /api/sources', { body: { kind: 'webhook', title: 'Hook' } })).made;
  const notes = (await call(ada, 'POST /api/sources', { body: { kind: 'native', title: 'Notes' } })).made;
  const data = { id: '1', title: 'Heard', content_text: 'Hoot' };
  await call(hub.anybody, 'POST /api/webhooks/{id}', {
    id: hook.id, body: JSON.parse(eventBody('post.published', data, hub.now())), sign: signed(hub, hook.webhook.secret),
  });
  await call(bob, 'POST /api/sources', { body: { kind: 'feed', url: feedUrl } }); // follows Ada's
  const opml = '<opml version="2.0"><body><outline xmlUrl="https://a.test/f"/><outline xmlUrl="x:y"/></body></opml>';
  for (const type of ['text/x-opml', 'application/xml']) {
    await call(bob, 'POST /api/sources/import', { body: opml, type });
  }
  await call(bob, 'GET /api/sources.opml');
  await call(ada, 'GET /api/sources');
  for (const client of [hub.anybody, bob]) await call(client, 'GET /api/sources/{id}', { id: feed.id });
  await call(ada, 'GET /api/sources/{id}', { id: hook.id });
  const change = { title: 'A blog', paused: false, fullText: 'always', fullTextOfLast: true };
  const known = { username: 'ada', password: 'secret', visibility: 'private' };
  const unknown = { username: null, password: null };
  for (const body of [known, unknown]) await call(bob, 'PATCH /api/sources/{id}', { id: hook.id + 2, body });
  await call(ada, 'PATCH /api/sources/{id}', { id: feed.id, body: { ...change, visibility: 'public' } });
  await call(ada, 'POST /api/sources/{id}/sync', { id: feed.id });
  await call(ada, 'DELETE /api/sources/{id}/icon', { id: feed.id });
  await call(ada, 'PUT /api/sources/{id}/icon', { id: feed.id });
  await call(bob, 'PUT /api/sources/{id}/follow', { id: feed.id, body: { folder: 'Owls', notify: true, hideGlobally: false } });
  await call(ada, 'POST /api/sources/{id}/webhook/rotate', { id: hook.id });
  return { feed, hook, notes };
}

/** A text file of so many bytes. */
export function file(length: number): { filename: string; data: string } {
  return { filename: 'owl.txt', data: 'o'.repeat(length) };
}

/** Posts with and without files, and reading them. */
export async function usePosts({ ada, bob, hub, call }: Used, notes: number) {
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
  const files = { id: post.id, body: more, type: FORM_TYPE };
  const added = (await call(ada, 'POST /api/posts/{id}/attachments', files)).made;
  await call(ada, 'DELETE /api/attachments/{id}', { id: added.items[0]?.id ?? 0 });
  for (const client of [hub.anybody, bob]) await call(client, 'GET /api/posts');
  await call(hub.anybody, 'GET /api/posts/{id}', { id: withFile.id });
  await call(bob, 'POST /api/posts/{id}/full-text', { id: withFile.id });
  const versionOf = (postId: number) => ({ postId, version: fullTexts(hub.handle).find(postId)?.version ?? 0 });
  fullTexts(hub.handle).keep(versionOf(withFile.id), { isCut: 0, bytes: 1_000, contentHtml: '<p>Hoot, hoot</p>' });
  for (const name of ['POST /api/posts/{id}/full-text', 'GET /api/posts/{id}']) await call(bob, name, { id: withFile.id });
  await call(bob, 'POST /api/posts/{id}/full-text', { id: post.id });
  const how = { state: 'refused', reason: 'paywall', detail: null, failures: 0, dueAt: null } as const;
  fullTexts(hub.handle).settle(versionOf(post.id), how);
  await call(bob, 'POST /api/posts/{id}/full-text', { id: post.id });
  await call(bob, 'PUT /api/posts/{id}/read', { id: post.id });
  await call(bob, 'PUT /api/posts/{id}/star', { id: post.id });
  await call(bob, 'GET /api/reading');
  const [id, all] = [post.id, { upTo: post.id, before: '2031-01-01T00:00:00.000Z', below: post.id, above: post.id }];
  await call(bob, 'POST /api/reading/mark-read', { body: { folder: 'Owls', ...all } });
  const { undo } = (await call(bob, 'POST /api/reading/mark-read', { body: { posts: [id] } })).made;
  await call(bob, 'POST /api/reading/undo', { body: { undo } });
  await call(bob, 'GET /api/history');
  await sendForm(hub, bob, '/write/a-draft-with-key', formWith({ title: 'Not yet', save: '1' }, [file(1)]));
  const bad = '<opml version="2.0"><body><outline text="F"><outline xmlUrl="javascript:x"/></outline></body></opml>';
  assert.equal((await bob.form('/sources/import', { opml: bad, visibility: 'private' })).status, 303);
  await bob.form('/reading/choice', { list: 'unread', choice: 'oldest each' });
  await call(bob, 'GET /api/account/export');
  await call(bob, 'DELETE /api/posts/{id}/read', { id: post.id });
  await call(bob, 'DELETE /api/posts/{id}/star', { id: post.id });
  await call(bob, 'DELETE /api/history');
  const [token] = (await call(bob, 'GET /api/tokens')).made.items;
  await call(bob, 'DELETE /api/tokens/{id}', { id: token?.id ?? 0 });
  return post;
}

/** Something to see in each list of administrators, and what they do. */
export async function useAdministration({ hub, ada, call }: Used): Promise<void> {
  const name = '20300115-100000';
  mkdirSync(join(hub.dataDir, 'backups', name), { recursive: true });
  await noteRun(hub.dataDir, 'backup', {
    name, at: hub.now(), ok: true, verdict: 'verified', bytes: 1, seconds: 1, problem: null,
  });
  writeFileSync(join(hub.dataDir, 'run/recovery-kit.json'), '{"at":1}');
  await noteOffsite(hub.handle.config, 'dir',
    { name, at: hub.now(), ok: true, bytes: 1, seconds: 1, problem: null, unsent: null });
  await noteDrill(hub.handle.config, 'dir', { outcome: 'proven', name, at: hub.now(), seconds: 1, problem: null });
  await call(hub.anybody, 'GET /api/health');
  noteError(hub.handle, new Error('something odd'));
  raise(hub, 'space-low', 'A few bytes');
  await hub.work();
  addJob(hub, { payload: { sourceId: 1 }, dedupeKey: '77', lane: 'lane', state: 'failed', lastError: 'odd' });
  const [job] = (await call(ada, 'GET /api/admin/jobs', { query: 'state=failed&limit=1' })).made.items;
  for (const list of ['accounts', 'alerts', 'audit', 'errors', 'jobs', 'webhooks']) {
    const { items } = (await call(ada, `GET /api/admin/${list}`)).made;
    assert.ok(items.length > 0, list);
    await call(ada, `GET /api/admin/${list}`, { query: 'format=jsonl' });
  }
  await call(ada, 'GET /api/admin/audit', { query: 'format=csv' });
  await call(ada, 'GET /api/invitations', { query: 'format=jsonl' });
  await call(ada, 'PATCH /api/admin/hub', { body: { name: 'Quayside', text: 'Boats and ice', hue: 25 } });
  const confirmed = { currentPassword: hub.password };
  const body = { ...confirmed, disabled: false, role: 'member' };
  await call(ada, 'PATCH /api/admin/accounts/{id}', { id: 2, body });
  await call(ada, 'GET /api/admin/accounts/{id}', { id: 2 });
  await call(ada, 'POST /api/admin/accounts/{id}/reset-password', { id: 2, body: confirmed });
  await call(ada, 'POST /api/admin/jobs/{id}/retry', { id: job?.id ?? 0 });
  await call(ada, 'DELETE /api/admin/jobs/{id}', { id: job?.id ?? 0 });
}

/** What is there once, given to Bob or deleted. */
export async function giveAway(
  { hub, api, ada, bob, call }: Used, { post, notes }: Record<'post' | 'notes', Made>,
): Promise<void> {
  const other = createClient(hub.address);
  await api.ask(other, 'POST /api/session', { body: { username: 'bob', password: hub.password } });
  const session = (await api.ask(other, 'GET /api/sessions')).json<Made>().items.at(-1);
  await call(bob, 'DELETE /api/sessions/{id}', { id: session?.id ?? 0, body: { currentPassword: hub.password } });
  await call(ada, 'DELETE /api/posts/{id}', { id: post.id });
  const offer = async () => (await call(ada, 'POST /api/sources/{id}/transfer', { id: notes.id, body: { username: 'bob' } }))
    .json<{ offer: Made }>().offer.id;
  await call(ada, 'DELETE /api/offers/{id}', { id: await offer() });
  await call(bob, 'POST /api/offers/{id}/decline', { id: await offer() });
  const open = await offer();
  await call(bob, 'GET /api/offers');
  await api.ask(bob, 'GET /api/account/export');
  await call(bob, 'POST /api/offers/{id}/accept', { id: open });
  const followed = (await api.ask(ada, 'POST /api/sources', { body: { kind: 'native', title: 'Followed' } })).json<Made>();
  await api.ask(bob, 'PUT /api/sources/{id}/follow', { id: followed.id, body: {} });
  await call(ada, 'POST /api/sources/{id}/hand-over', { id: followed.id });
  const left = (await api.ask(bob, 'POST /api/sources', { body: { kind: 'native', title: 'Left' } })).json<Made>();
  await api.ask(ada, 'PUT /api/sources/{id}/follow', { id: left.id, body: {} });
  await api.ask(bob, 'POST /api/sources/{id}/hand-over', { id: left.id });
  const given = (await api.ask(bob, 'POST /api/sources', { body: { kind: 'native', title: 'Given' } })).json<Made>();
  await api.ask(bob, 'POST /api/sources/{id}/transfer', { id: given.id, body: { username: 'ada' } });
  await api.ask(ada, 'DELETE /api/sources/{id}', { id: followed.id });
  await call(bob, 'GET /api/notifications');
  await call(bob, 'POST /api/notifications/read', { body: { ids: [1] } });
  await call(bob, 'POST /api/notifications/read', { body: { all: true } });
}

/** Bob, the webhook's sender and the database are gone. */
export async function leave(
  { hub, api, ada, bob, call }: Used, { feed, notes, hook }: Record<'feed' | 'notes' | 'hook', Made>,
): Promise<void> {
  hub.passTime(DAY);
  await call(bob, 'DELETE /api/sources/{id}/follow', { id: feed.id });
  await call(bob, 'DELETE /api/sources/{id}', { id: notes.id });
  await api.ask(ada, 'DELETE /api/sources/{id}', { id: hook.id + 2 }); // Bob's, of the OPML document
  await call(bob, 'DELETE /api/account', { body: { password: hub.password, confirmation: 'DELETE' } });
  await api.ask(ada, 'PATCH /api/sources/{id}', { id: hook.id, body: { paused: true } });
  assert.equal((await api.ask(hub.anybody, 'POST /api/webhooks/{id}', { id: hook.id, body: {} })).status, 410);
  dropTable(hub, 'heartbeats');
  assert.equal((await api.ask(hub.anybody, 'GET /api/health')).status, 503);
}
