// Protects declarations of acts: the API and forms read the same fields, and the description says what both do.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { act, view, type Endpoint } from '../../../src/features/hub/acts.ts';
import type { Hub } from '../../../src/features/hub/hub.ts';
import {
  choice, filled, flag, from, id, integer, line, listOf, named, namedIn, object, optional, orNull, text, time, whole, type Given,
} from '../../../src/platform/http/fields.ts';
import { html } from '../../../src/platform/http/html.ts';
import { page } from '../../../src/platform/http/reply.ts';
import { route, type MemberRequest } from '../../../src/platform/http/router.ts';
import { startBareServer } from '../../support/bare-server.ts';

const OWL = {
  name: filled(line({ max: 5 })), kind: choice(['barn', 'tawny']), eggs: optional(whole(0, 9)), seen: optional(time),
  ringed: optional(flag), nest: optional(orNull(id)),
};
type Owl = Given<typeof OWL>;

const SHOWN = named('Owl', object({
  name: text, kind: choice(['barn', 'tawny']), eggs: optional(integer), seenAt: from('seen', optional(time)),
  ringed: optional(flag), nest: optional(orNull(id)),
}));

/** Where the acts of these tests keep what they did. */
function aviary() {
  const did: Owl[] = [];
  const routes: Endpoint[] = [
    ...act({
      api: 'POST /api/owls', form: 'POST /owls', summary: 'Add an owl',
      fields: OWL,
      check: (input, { kind, eggs = 0 }) => {
        if (kind === 'barn' && eggs > 7) input.refuse('eggs', 'of a barn owl are seven at most.');
      },
      run: (_hub, owl) => void did.push(owl),
      status: 201, shape: SHOWN, show: () => SHOWN.show(did.at(-1) as Owl), refusals: [409],
      typed: ({ place = '', ...values }) => ({ ...values, nest: place === '' ? null : place }),
      instead: (_hub, _req, values) => (values['look'] ? page({ title: 'Look', main: html`looked` }) : undefined),
      to: '/owls?said=added',
      again: (_hub, _req, { values, problem }) =>
        page({ title: 'Again', main: html`${values['name']}: ${problem.errors.map(({ pointer }) => pointer).join()}` }, problem.status),
    }),
    ...act({
      api: 'DELETE /api/owls/:id', form: 'POST /owls/:id/remove', summary: 'Remove an owl',
      run: () => {}, proof: 'session', usesReserve: true, to: '/owls/:id/gone',
    }),
    view('GET /api/owls', { access: 'public', summary: 'Owls', query: { q: text } }, listOf(SHOWN), () =>
      ({ items: did, next: 'more' })),
  ];
  return { did, routes };
}

async function startAviary(t: TestContext) {
  const { did, routes } = aviary();
  const bound = routes.map(({ pattern, access, summary, handler, settings }) =>
    route(pattern, access, summary, (req) => handler({} as Hub, req as MemberRequest), settings));
  const { client, logged } = await startBareServer(t, { routes: bound });
  client.keep('s=ada; Path=/');
  return { did, routes, ada: client, logged };
}

const WHOLE = { name: 'Olga', kind: 'barn', eggs: 7, seen: '2026-11-30T12:00:00Z', ringed: true, nest: 3 };
const AT = Date.parse(WHOLE.seen);

test('the API and a form give an act the same values, each read in its own way', async (t) => {
  const { did, ada } = await startAviary(t);
  const made = await ada.post('/api/owls', WHOLE);
  assert.equal(made.status, 201);
  const { ringed, nest, ...typed } = WHOLE;
  const sent = await ada.form('/owls', { ...typed, eggs: '7', ringed: ringed ? '1' : '0', place: String(nest) });

  assert.deepEqual(did, [{ ...WHOLE, seen: AT }, { ...WHOLE, seen: AT }]);
  assert.deepEqual([sent.status, sent.headers.get('location')], [303, '/owls?said=added']);
  await ada.post('/api/owls', { name: 'Tara', kind: 'tawny', nest: null });
  assert.deepEqual(did.at(-1), { name: 'Tara', kind: 'tawny', nest: null }, 'what did not come is not there');
});

test('all faults of a request are refused at once, by API and form alike, and nothing is done', async (t) => {
  const { did, ada } = await startAviary(t);
  const wrong = { name: 'Olga the great', kind: 'snowy', eggs: '1.5', seen: 'today', ringed: 'yes', nest: 0 };
  const byApi = await ada.post('/api/owls', wrong);
  assert.equal(byApi.status, 422);
  const pointers = byApi.json<{ errors: { pointer: string }[] }>().errors.map(({ pointer }) => pointer);
  assert.deepEqual(pointers, ['/name', '/kind', '/eggs', '/seen', '/ringed', '/nest']);
  const byForm = await ada.form('/owls', { ...wrong, nest: '', place: '0' });
  assert.deepEqual([byForm.status, byForm.text.includes(`Olga the great: ${pointers.join()}`)], [422, true], 'as it was typed');

  const together = await ada.post('/api/owls', { name: '', kind: 'barn', eggs: 8 });
  assert.deepEqual(together.json<{ errors: unknown[] }>().errors, [
    { pointer: '/name', detail: 'Name must not be empty.' },
    { pointer: '/eggs', detail: 'Eggs of a barn owl are seven at most.' },
  ]);
  assert.deepEqual((await ada.post('/api/owls', {})).json<{ errors: unknown[] }>().errors, [
    { pointer: '/name', detail: 'Name is required.' }, { pointer: '/kind', detail: 'Kind is required.' },
  ]);
  assert.deepEqual(did, []);
});

test('another button of a form does not act; an act on what a path names leads on there', async (t) => {
  const { did, ada } = await startAviary(t);
  assert.match((await ada.form('/owls', { look: '1' })).text, /looked/);
  assert.deepEqual(did, []);
  assert.equal((await ada.form('/owls/7/remove', {})).headers.get('location'), '/owls/7/gone');
  const removed = await ada.send('DELETE', '/api/owls/7');
  assert.deepEqual([removed.status, removed.text], [204, '']);
});

test('an answer has the members that its shape names, made of the row, and a list links to its next page', async (t) => {
  const { ada } = await startAviary(t);
  const made = await ada.post('/api/owls', { ...WHOLE, secret: 'x' });
  assert.deepEqual(made.json(), { name: 'Olga', kind: 'barn', eggs: 7, seenAt: '2026-11-30T12:00:00.000Z', ringed: true, nest: 3 });
  const listed = await ada.get('/api/owls?q=o');
  assert.deepEqual(listed.json(), { items: [made.json()], next: 'more' });
  assert.equal(listed.headers.get('link'), '</api/owls?q=o&cursor=more>; rel="next"');
});

test('what OpenAPI says of an act is made of its fields and its answer', () => {
  const { routes } = aviary();
  const [add, form, remove] = routes;
  assert.deepEqual(add?.operation?.body, { 'application/json': {
    type: 'object', required: ['name', 'kind'],
    properties: {
      name: { type: 'string', maxLength: 5 }, kind: { type: 'string', enum: ['barn', 'tawny'] },
      eggs: { type: 'integer', minimum: 0, maximum: 9 }, seen: { type: 'string', format: 'date-time' },
      ringed: { type: 'boolean' }, nest: { type: ['integer', 'null'], minimum: 1 },
    },
  } });
  assert.deepEqual(JSON.parse(JSON.stringify(add?.operation?.answers)),
    { 201: { 'application/json': { $ref: '#/components/schemas/Owl' } } });
  assert.deepEqual(Object.keys(namedIn(routes.map(({ operation }) => operation))), ['Owl']);
  assert.deepEqual([form?.operation, form?.summary], [undefined, 'Form: add an owl']);
  assert.deepEqual(remove?.operation, { answers: { 204: null }, proof: 'session' });
  assert.deepEqual(routes.map(({ settings }) => settings?.usesReserve), [undefined, undefined, true, true, undefined]);
});
