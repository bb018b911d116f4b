// Protects against numbers and choices that the hub does not understand: it refuses them and takes no default instead.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { isoTime } from '../../src/platform/clock.ts';
import { addNotes, addPost, itemsAt } from '../support/accounts.ts';
import { hubWith, startHub } from '../support/hub.ts';
import { rowsOf } from '../support/stored-rows.ts';

const DAY = 24 * 3_600_000;

/** No whole number of days, or one that is too small or too large. */
const NO_DAYS = ['30.5', '-1', '0', '3651', '99999', 'abc', '1e2', '0x1e', ' 30', '30 days'];

type Token = { name: string; expiresAt: string | null };

test('the API takes the end of a token as days or as a time, and refuses what is neither, or both', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const make = (values: object) => ada.post('/api/tokens', { name: 'p', ...values, currentPassword: hub.password });
  const inAYear = isoTime(hub.now() + 365 * DAY);
  for (const wrong of [
    ...[...NO_DAYS, '', null, 30.5, -1, 99999, true, [30]].map((days) => ({ days })),
    ...['', 'soon', '30', 30, isoTime(hub.now()), '2030-02-30T00:00:00Z'].map((expiresAt) => ({ expiresAt })),
    ...['', 'all', null, 1].map((scope) => ({ scope })),
    { days: 30, expiresAt: inAYear },
  ]) {
    assert.equal((await make(wrong)).status, 422, JSON.stringify(wrong));
  }
  assert.deepEqual(await itemsAt(ada, '/api/tokens'), []);
  assert.equal((await make({ days: 365 })).json()['expiresAt'], inAYear);
  assert.equal((await make({ expiresAt: inAYear })).json()['expiresAt'], inAYear);
  assert.equal((await make({})).json()['expiresAt'], null);
  await ada.form('/settings/tokens', { name: 'f', scope: 'read', days: '', currentPassword: hub.password });
  assert.deepEqual((await itemsAt<Token>(ada, '/api/tokens')).map(({ name, expiresAt }) => name === 'f' && expiresAt).at(-1), null);
});

function stateOf(hub: Awaited<ReturnType<typeof startHub>>): string {
  const tables = ['accounts', 'sources', 'follows', 'entries', 'read_acts', 'list_choices', 'posts', 'preferences', 'audit_records',
    'api_tokens', 'invitations'];
  return JSON.stringify(rowsOf(hub, ...tables));
}

async function hubOfChoices(t: TestContext) {
  const { hub, ada } = await hubWith(t, ['ada', 'bob']);
  const source = await addNotes(ada);
  const post = await addPost(ada, source);
  await ada.form(`/sources/${source}/follow`, { folder: 'Birds', notify: '0' });
  await ada.form(`/posts/${post}/read`, { read: '0' });
  return { hub, ada, source: String(source), post };
}

test('a switch, choice, number or id of any form that is not understood or was emptied is refused, and nothing is changed', async (t) => {
  const { hub, ada, source, post } = await hubOfChoices(t);
  const look = { density: 'compact', textSize: 'large' };
  const confirmed = { currentPassword: hub.password };
  const refused: [form: string, fields: Record<string, string>, wrong: Record<string, string[]>][] = [
    ['/settings/tokens', { name: 'p', scope: 'read', ...confirmed }, { days: NO_DAYS, scope: ['', 'all'] }],
    ['/admin/invitations', { role: 'admin', hours: '24', ...confirmed }, { hours: ['', ...NO_DAYS], role: ['', 'owner'] }],
    ['/settings/preferences', look, { density: ['', 'none'], textSize: [''], keys: ['on', ''], marksOpened: ['yes'], nextSteps: ['2'] }],
    [`/sources/${source}/follow`, { folder: 'Birds' }, { notify: ['yes', 'true', ''], hideGlobally: ['yes'] }],
    [`/sources/${source}`, { title: 'Notes' }, { visibility: ['', 'friends'], forget: ['yes', ''] }],
    ['/sources', { kind: 'native', title: 'More' }, { kind: ['', 'blog'], visibility: [''] }],
    [`/posts/${post}/star`, {}, { star: ['yes', 'false', ''] }],
    [`/posts/${post}/read`, {}, { read: ['yes', 'false', ''] }],
    ['/reading/mark-read', {}, { all: ['0', 'yes', 'false'], posts: ['abc', `${post},x`, '1.5', '-1'], source: ['x'] }],
    ['/reading/choice', { list: 'unread', choice: 'oldest each' }, { list: ['', 'folder:', 'source:x', 'alls'], choice: ['', 'oldest'] }],
    ['/reading/mark-read', { all: '1' }, { upTo: ['x'], before: ['yesterday'] }],
    ['/sources/several', { source }, { act: ['explode', 'toString'] }],
    ['/sources/several', { act: 'pause' }, { source: ['x', '1.5'] }],
    ['/sources/several', {}, { bell: ['x', '1.5'] }],
    ['/sources/folders', { folder: 'Birds', name: 'Owls' }, { act: ['explode', ''] }],
    ['/admin/accounts/2', confirmed, { act: ['explode', '', 'constructor'] }],
    ['/admin/hub', { name: 'Hub' }, { hue: ['', '1.5', 'blue'] }],
  ];
  const before = stateOf(hub);
  for (const [form, fields, wrong] of refused) {
    for (const [field, values] of Object.entries(wrong)) {
      for (const value of values) {
        const said = `${form} ${field}=${value}`;
        assert.equal((await ada.form(form, { ...fields, [field]: value })).status, 422, said);
        assert.equal(stateOf(hub), before, said);
      }
    }
  }
});

test('what a person chose is still chosen on the page that refuses one of the values, also one that is no choice', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const chosen = { density: 'compact', textSize: 'larger', marksOpened: '1', timeZone: 'Europe/Atlantis' };
  const { text } = await ada.form('/settings/preferences', chosen);
  assert.match(text, /value="compact" checked/);
  assert.match(text, /value="larger" checked/);
  assert.match(text, /name="marksOpened" value="1" checked/);
  assert.match(text, /name="keys" value="1" >/, 'switched off, as it was sent');
  const long = 'x'.repeat(81);
  assert.match((await ada.form('/settings/name', { displayName: long })).text, new RegExp(`name="displayName" value="${long}"`));
  const token = { name: 'n', scope: 'admin', days: '1e2', currentPassword: hub.password };
  const again = (await ada.form('/settings/tokens', token)).text;
  for (const kept of [/name="name" value="n"/, /<option value="admin" selected>/, /<option value="1e2" selected>/]) assert.match(again, kept);
});
