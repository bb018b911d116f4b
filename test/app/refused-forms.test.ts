// Protects whoever a form refuses: the field is marked, says why, and has the focus, in every form of the hub.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { hubRoutes } from '../../src/app/routes.ts';
import { MULTIPART_SHAPE } from '../../src/platform/http/read-multipart.ts';
import { addFeed, addNotes, addPost } from '../support/accounts.ts';
import { createClient } from '../support/client.ts';
import { rss, serving } from '../support/feeds.ts';
import { hubWith } from '../support/hub.ts';
import { startOrigin } from '../support/origin.ts';
import { submitForm } from '../support/own-posts.ts';

type Refused = {
  form: string;
  at?: string;
  as?: 'ada' | 'nobody';
  fields: Record<string, string>;
  /** The field that is wrong; `of`: what its fault is called, where that is not the field's name. */
  field: string;
  of?: string;
  hasFiles?: true;
};

const LONG = 'x'.repeat(501);
const PASSWORD = 'the password of tests';

/** One wrong value for each field that a form can be refused for. */
function refusals({ link, reset, notes, feed, post }: Record<'link' | 'reset' | 'notes' | 'feed' | 'post', string>): Refused[] {
  const add = { url: 'https://owls.test/feed', visibility: 'private' };
  const own = { kind: 'native', title: 'Owls', visibility: 'private' };
  const token = { name: 'p', scope: 'read', days: '30', currentPassword: PASSWORD };
  const written = { sourceId: '1', title: 'Owls', content: 'Five.' };
  const look = { name: 'Hub', text: '', hue: '268' };
  return [
    { form: 'POST /sign-in', as: 'nobody', fields: { username: 'ada', password: 'wrong' }, field: 'password' },
    { form: 'POST /sign-in', as: 'nobody', fields: { username: '', password: 'wrong' }, field: 'username' },
    { form: 'POST /join/:token', at: link, as: 'nobody', fields: { username: 'not a name', password: PASSWORD }, field: 'username' },
    { form: 'POST /join/:token', at: link, as: 'nobody', fields: { username: 'ada', password: PASSWORD }, field: 'username' },
    { form: 'POST /join/:token', at: link, as: 'nobody', fields: { username: 'cleo', password: 'short' }, field: 'password' },
    {
      form: 'POST /join/:token', at: link, as: 'nobody',
      fields: { username: 'cleo', displayName: LONG, password: PASSWORD }, field: 'displayName',
    },
    { form: 'POST /new-password/:token', at: reset, as: 'nobody', fields: { password: 'short' }, field: 'password' },
    { form: 'POST /settings/name', fields: { displayName: LONG }, field: 'displayName' },
    { form: 'POST /settings/preferences', fields: { density: 'none' }, field: 'density' },
    { form: 'POST /settings/preferences', fields: { textSize: 'none' }, field: 'textSize' },
    { form: 'POST /settings/preferences', fields: { timeZone: 'Nowhere/At-All' }, field: 'timeZone' },
    { form: 'POST /settings/password', fields: { currentPassword: 'wrong', newPassword: PASSWORD }, field: 'currentPassword' },
    { form: 'POST /settings/password', fields: { currentPassword: PASSWORD, newPassword: 'short' }, field: 'newPassword' },
    { form: 'POST /settings/sessions', fields: { session: 'others', currentPassword: 'wrong' }, field: 'currentPassword' },
    { form: 'POST /settings/apps', fields: { currentPassword: PASSWORD, name: LONG }, field: 'name' },
    { form: 'POST /settings/apps', fields: { name: 'n', currentPassword: 'wrong' }, field: 'currentPassword' },
    { form: 'POST /settings/tokens', fields: { ...token, name: LONG }, field: 'name' },
    { form: 'POST /settings/tokens', fields: { ...token, scope: 'all' }, field: 'scope' },
    { form: 'POST /settings/tokens', fields: { ...token, days: '0' }, field: 'days' },
    { form: 'POST /settings/tokens', fields: { ...token, days: '30.5' }, field: 'days' },
    { form: 'POST /settings/preferences', fields: { keys: 'on' }, field: 'keys' },
    { form: 'POST /settings/tokens', fields: { ...token, currentPassword: 'wrong' }, field: 'currentPassword' },
    { form: 'POST /settings/delete', as: 'nobody', fields: { currentPassword: PASSWORD, confirmation: 'delete' }, field: 'confirmation' },
    { form: 'POST /settings/delete', as: 'nobody', fields: { currentPassword: 'wrong', confirmation: 'DELETE' }, field: 'currentPassword' },

    { form: 'POST /sources/add', fields: { ...add, url: 'ftp://owls.test/' }, field: 'url' },
    { form: 'POST /sources/add', fields: { ...add, url: 'http://127.0.0.1:9/' }, field: 'url' },
    { form: 'POST /sources', fields: { ...add, title: LONG }, field: 'title' },
    { form: 'POST /sources', fields: { ...add, folder: LONG }, field: 'folder' },
    { form: 'POST /sources', fields: { ...add, visibility: 'friends' }, field: 'visibility' },
    { form: 'POST /sources', fields: { ...add, username: 'a:b', password: 'x' }, field: 'username' },
    { form: 'POST /sources', fields: { ...add, password: 'x' }, field: 'username' },
    { form: 'POST /sources', fields: { ...own, title: '' }, field: 'title' },
    { form: 'POST /sources', fields: { ...own, visibility: 'friends' }, field: 'visibility' },
    { form: 'POST /sources', fields: { ...own, kind: 'webhook', title: LONG }, field: 'title' },
    { form: 'POST /sources/several', fields: { source: notes, act: 'move', folder: LONG }, field: 'folder' },
    { form: 'POST /sources/folders', fields: { folder: 'Birds', act: 'rename', name: ' ' }, field: 'name' },
    { form: 'POST /sources/folders', fields: { folder: 'Birds', act: 'rename', name: LONG }, field: 'name' },
    { form: 'POST /sources/import', fields: { opml: '<opml', visibility: 'private' }, field: 'opml', hasFiles: true },
    { form: 'POST /sources/import', fields: { visibility: 'private' }, field: 'file', hasFiles: true },
    { form: 'POST /sources/import', fields: { opml: '<opml><body><outline/></body></opml>' }, field: 'visibility', hasFiles: true },
    { form: 'POST /sources/:id', at: `/sources/${notes}`, fields: { title: LONG }, field: 'title' },
    { form: 'POST /sources/:id', at: `/sources/${notes}`, fields: { title: 'Owls', visibility: 'friends' }, field: 'visibility' },
    { form: 'POST /sources/:id', at: `/sources/${feed}`, fields: { title: 'Owls', username: 'a:b', password: 'x' }, field: 'username' },
    { form: 'POST /sources/:id', at: `/sources/${feed}`, fields: { title: 'Owls', username: 'ab' }, field: 'password' },
    { form: 'POST /sources/:id/follow', at: `/sources/${notes}/follow`, fields: { folder: LONG, notify: '0' }, field: 'folder' },
    { form: 'POST /sources/:id/transfer', at: `/sources/${notes}/transfer`, fields: { username: 'nobody' }, field: 'username' },
    { form: 'POST /sources/:id/transfer', at: `/sources/${notes}/transfer`, fields: { username: 'ada' }, field: 'username' },

    { form: 'POST /settings/rules', fields: { match: '"owls', act: 'mute' }, field: 'match' },
    { form: 'POST /settings/rules', fields: { match: 'owls', act: 'fly' }, field: 'act' },
    { form: 'POST /settings/rules/:id', at: '/settings/rules/1', fields: { match: '', act: 'mute' }, field: 'match' },
    { form: 'POST /settings/rules/import', fields: { document: 'owls' }, field: 'document' },

    { form: 'POST /write', fields: { ...written, title: LONG }, field: 'title', hasFiles: true },
    { form: 'POST /write', fields: { ...written, content: 'x'.repeat(400_001) }, field: 'content', hasFiles: true },
    { form: 'POST /write', fields: { ...written, url: 'no address' }, field: 'url', hasFiles: true },
    { form: 'POST /write', fields: { ...written, contentType: 'text/rtf' }, field: 'contentType', hasFiles: true },
    { form: 'POST /write', fields: { ...written, sourceId: '' }, field: 'sourceId', hasFiles: true },
    { form: 'POST /write/:draft', at: `/write/${'x'.repeat(16)}`, fields: { ...written, publishAt: 'soon' }, field: 'publishAt', hasFiles: true },
    { form: 'POST /write/source', fields: { title: LONG, visibility: 'public' }, field: 'title' },
    { form: 'POST /write/source', fields: { title: 'Owls', visibility: 'friends' }, field: 'visibility' },
    { form: 'POST /posts/:id/edit', at: `/posts/${post}/edit`, fields: { ...written, title: ' ' }, field: 'title', hasFiles: true },

    { form: 'POST /admin/invitations', fields: { role: 'owner', hours: '24', currentPassword: PASSWORD }, field: 'role' },
    { form: 'POST /admin/invitations', fields: { role: 'member', hours: '0', currentPassword: PASSWORD }, field: 'hours' },
    { form: 'POST /admin/invitations', fields: { role: 'member', hours: '24', currentPassword: 'wrong' }, field: 'currentPassword' },
    { form: 'POST /admin/accounts/:id', at: '/admin/accounts/2', fields: { act: 'disable', currentPassword: 'wrong' }, field: 'currentPassword' },
    { form: 'POST /admin/accounts/:id', at: '/admin/accounts/2', fields: { act: 'disable', currentPassword: '' }, field: 'currentPassword' },
    { form: 'POST /admin/hub', fields: { ...look, name: LONG }, field: 'name' },
    { form: 'POST /admin/hub', fields: { ...look, text: LONG.repeat(9) }, field: 'text' },
    { form: 'POST /admin/hub', fields: { ...look, hue: '999' }, field: 'hue' },
  ];
}

/** Forms in which nothing is typed, and what the script sends. */
const WITHOUT_FIELDS = [
  'POST /sign-out', 'POST /settings/time-zone', 'POST /settings/next-steps', 'POST /settings/tokens/:id/revoke',
  'POST /settings/apps/:id/end',
  'POST /notifications/read', 'POST /offers/:id/accept', 'POST /offers/:id/decline', 'POST /offers/:id/withdraw',
  'POST /admin/invitations/:id/withdraw', 'POST /sources/:id/pause', 'POST /sources/:id/resume', 'POST /sources/:id/sync',
  'POST /posts/:id/full-text', 'POST /sources/:id/full-text',
  'POST /sources/:id/icon/find', 'POST /sources/:id/icon/clear', 'POST /sources/:id/delete', 'POST /sources/:id/hand-over',
  'POST /sources/:id/unfollow', 'POST /sources/:id/webhook/rotate', 'POST /reading/mark-read', 'POST /reading/undo',
  'POST /reading/choice', 'POST /searches', 'POST /searches/:id/remove', 'POST /settings/rules/:id/delete',
  'POST /posts/:id/star', 'POST /posts/:id/read', 'POST /posts/:id/delete', 'POST /drafts/:id/discard',
  'POST /drafts/:id/restore', 'POST /posts/:id/withdraw', 'POST /attachments/:id/delete', 'POST /history/clear',
  'POST /history/:id/forget',
  'POST /admin/jobs/:id/retry', 'POST /admin/jobs/:id/discard', 'POST /admin/alerts/test',
];

const FIELD = /<(?:input|select|textarea)\b[^>]*>/g;

async function hubOfForms(t: TestContext) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls', [{ guid: '1', title: 'Owls' }])) });
  const notes = await addNotes(ada);
  const feed = await addFeed(ada, `${origin.url}/feed`);
  await ada.form(`/sources/${notes}/follow`, { folder: 'Birds' });
  const post = await addPost(ada, notes);
  await ada.post('/api/rules', { match: 'owls', act: 'star' });
  const other = createClient(hub.address);
  await other.form('/sign-in', { username: 'ada', password: hub.password });
  const invited = await ada.post('/api/invitations', { role: 'member', currentPassword: hub.password });
  const link = new URL(invited.json<{ url: string }>().url).pathname;
  const made = await ada.post('/api/admin/accounts/2/reset-password', { currentPassword: hub.password });
  const reset = new URL(made.json<{ url: string }>().url).pathname;
  const of = refusals({ link, reset, notes: String(notes), feed: String(feed), post: String(post) });
  return { hub, ada, bob, refusals: of };
}

test('every form that is refused marks the field, says why beside it, and puts the focus there', async (t) => {
  const { hub, ada, bob, refusals: all } = await hubOfForms(t);
  for (const { form, at = form.slice('POST '.length), as = 'ada', fields, field, of = field, hasFiles } of all) {
    const client = as === 'ada' ? ada : at === '/settings/delete' ? bob : hub.anybody;
    const sent = Object.fromEntries(Object.entries(fields)
      .map(([name, value]) => [name, value === PASSWORD ? hub.password : value]));
    const answer = hasFiles ? await submitForm(hub, client, at, sent, []) : await client.form(at, sent);
    const said = `${form} ${field}`;
    assert.ok(answer.status >= 400 && answer.status < 500, `${said}: ${answer.status}`);
    const marked = (answer.text.match(FIELD) ?? []).filter((tag) => tag.includes('aria-invalid="true"'));
    assert.equal(marked.length, 1, `${said}: ${marked.join()}`);
    const [tag = ''] = marked;
    assert.match(tag, new RegExp(`name="${field}"`), said);
    assert.match(tag, new RegExp(`aria-describedby="fault-${of}"`), said);
    assert.match(tag, /\bautofocus\b/, said);
    assert.match(answer.text, new RegExp(`id="fault-${of}" role="alert">[^<]{8,}`), said);
    assert.equal(answer.text.match(/<[^>]*\bautofocus\b/g)?.length, 1, said);
    assert.equal(answer.text.match(new RegExp(`id="fault-${of}"`, 'g'))?.length, 1, said);
  }
});

test('there is no form that nobody has tried to get wrong', async (t) => {
  const { hub, refusals: all } = await hubOfForms(t);
  const forms = hubRoutes(hub.handle).filter(({ method, summary }) => method === 'POST' && summary.startsWith('Form:'))
    .map(({ path }) => `POST ${path}`);
  assert.deepEqual(forms.toSorted(), [...new Set(all.map(({ form }) => form)), ...WITHOUT_FIELDS].toSorted());
});

test('a list that cannot be narrowed down so marks the field too', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  for (const [name, value] of [['target', 'source:x'], ['from', 'yesterday'], ['to', '2030-02-31'], ['actor', LONG], ['act', LONG]] as const) {
    const { status, text } = await ada.page(`/admin/audit?${new URLSearchParams({ [name]: value })}`);
    assert.equal(status, 400, name);
    assert.match(text, new RegExp(`name="${name}"[^>]*aria-invalid="true" aria-describedby="fault-${name}" autofocus`), name);
  }
  assert.equal((await ada.get('/api/admin/audit?target=source:x')).status, 400);
});

test('what was typed and chosen is still there', async (t) => {
  const { ada, hub } = await hubOfForms(t);
  const several = await ada.form('/sources/several', { source: '1', act: 'move', folder: LONG, back: '/sources?show=mine' });
  assert.match(several.text, /name="source" value="1" checked/);
  assert.match(several.text, /value="\/sources\?show=mine"/);
  assert.match((await ada.form('/sources/folders', { folder: 'Birds', act: 'rename', name: LONG })).text, /<details class="panel" open>/);
  const settings = await ada.form('/sources/1', { title: LONG, visibility: 'private', sure: '1' });
  assert.match(settings.text, new RegExp(`name="title" value="${LONG}"`));
  assert.match(settings.text, /value="private" required\s+checked/);
  const large = await submitForm(hub, ada, '/sources/import', { visibility: 'private', opml: 'x'.repeat(MULTIPART_SHAPE.fieldBytes * 9) }, []);
  assert.equal(large.status, 413);
  assert.match(large.text, /name="file"[^>]*aria-invalid="true"/);
});
