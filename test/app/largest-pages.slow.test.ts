// Protects every page from growing without a bound: none has more than 2.5 MiB, whatever is stored or sent.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { hubRoutes } from '../../src/app/routes.ts';
import { managedSources } from '../../src/features/manage-sources/many-sources.ts';
import { MAX_PAGE_BYTES } from '../../src/platform/http/answer-request.ts';
import type { Viewer } from '../../src/platform/http/router.ts';
import { withTicket } from '../../src/platform/turns.ts';
import type { Answer, Client } from '../support/client.ts';
import { hubWith, type Hub } from '../support/hub.ts';
import { submitForm } from '../support/own-posts.ts';
import { worstAddresses } from '../support/worst-addresses.ts';
import { WORST_MARKUP, WORST_TEXTS } from '../support/worst-posts.ts';
import { addWorstRows } from '../support/worst-rows.ts';

const Q = '"';
const POST = 400_000; // characters that a post may have

async function hubWithWorstRows(t: TestContext) {
  const { hub, ada } = await hubWith(t, ['ada']);
  addWorstRows(hub, `<p>${'&amp;'.repeat(POST)}</p>`);
  for (let n = 0; n < 100; n++) assert.equal((await ada.post('/api/rules', { match: `x${n} "${'&'.repeat(400)}"`, act: 'star' })).status, 201);
  return { hub, ada };
}

/** Collects the sizes of pages, so that a failure names all that are too large. */
function measuring(t: TestContext) {
  const sizes: { what: string; bytes: number }[] = [];
  return {
    add(what: string, { status, text }: Answer, wanted = 200): void {
      assert.equal(status, wanted, `${what}: ${text.slice(0, 1_000)}`);
      sizes.push({ what, bytes: Buffer.byteLength(text) });
    },
    assertAllFit(): void {
      sizes.sort((a, b) => b.bytes - a.bytes);
      t.diagnostic(`the largest of ${sizes.length}: ${sizes[0]?.bytes} bytes, ${sizes[0]?.what}`);
      assert.deepEqual(sizes.filter(({ bytes }) => bytes > MAX_PAGE_BYTES), []);
    },
  };
}

/** Pages that show nothing of what is stored, or lead elsewhere. */
const ELSEWHERE = ['/join/:token', '/new-password/:token', '/sign-in', '/settings/apps/check'];

test('every page of a hub full of the longest texts fits into the size limit', async (t) => {
  const { hub, ada } = await hubWithWorstRows(t);
  const pages = hubRoutes(hub.handle).filter(({ method, summary }) => method === 'GET' && summary.startsWith('Page:'));
  assert.ok(pages.length > 30);
  const sizes = measuring(t);
  for (const { path, access } of pages) {
    if (ELSEWHERE.includes(path)) continue;
    for (const one of worstAddresses(path)) {
      for (const client of access === 'public' ? [hub.anybody, ada] : [ada]) {
        sizes.add(one.slice(0, 100), await client.page(one));
      }
    }
  }
  sizes.assertAllFit();

  const page = async (path: string): Promise<string> => (await ada.page(path)).text;
  assert.match(await page('/write?source=1999'), /value="1999" required checked/, 'what is chosen is there');
  assert.match(await page('/'), /All 2000 folders/);
  let turns = 0;
  const again = (): Promise<void> => Promise.resolve(void turns++);
  const ticket = { enter: again, again, isRunning: () => true, othersWait: () => false, charge() {}, now: () => 0 };
  const wanted = { show: 'all', sort: 'name', q: '', folder: '', after: 0 } as const;
  const viewer = { id: 1, role: 'admin', via: 'session' } as Viewer;
  const listed = await withTicket(ticket, () => managedSources(hub.handle, viewer, wanted, 50));
  assert.deepEqual([listed.total, turns], [2_000, 1], 'other requests run between reading and sorting 2,000 sources');
  assert.equal((await page('/settings')).match(/>Revoke</g)?.length, 100);
  assert.match(await page('/settings/delete'), /1900 more are in the/);
});

async function sendPost(hub: Hub, ada: Client, path: string, fields: Record<string, string>): Promise<Answer> {
  return submitForm(hub, ada, path, { sourceId: '1', title: Q.repeat(500), url: '', ...fields }, []);
}

test('a post in whatever text fits into its page, its form, a preview and a refusal', async (t) => {
  const { hub, ada } = await hubWithWorstRows(t);
  const sizes = measuring(t);
  for (const [contentType, texts] of [['text/plain', WORST_TEXTS], ['text/html', WORST_MARKUP]] as const) {
    for (const [name, content] of Object.entries(texts)) {
      const what = `${name} as ${contentType}`;
      const fields = { contentType, content };
      sizes.add(`preview of ${what}`, await sendPost(hub, ada, '/write', { ...fields, preview: '1' }), 200);
      sizes.add(`draft of ${what}`, await ada.page('/write'), 200);
      sizes.add(`refusal of ${what}`, await sendPost(hub, ada, '/write', { ...fields, url: Q.repeat(9_000) }), 422);
      const posted = await sendPost(hub, ada, '/write', fields);
      assert.equal(posted.status, 303, what);
      const path = (posted.headers.get('location') ?? '').replace(/\?.*/, '');
      sizes.add(`page of ${what}`, await ada.page(path), 200);
      sizes.add(`visitors' page of ${what}`, await hub.anybody.page(path), 200);
      sizes.add(`form of ${what}`, await ada.page(`${path}/edit`), 200);
    }
  }
  sizes.assertAllFit();
});

test('a form that is refused comes back without more than it may hold', async (t) => {
  const { hub, ada } = await hubWithWorstRows(t);
  const sizes = measuring(t);
  const long = Q.repeat(60_000);
  const forms: [path: string, fields: Record<string, string>][] = [
    ['/sources/add', { url: long, visibility: 'private' }],
    ['/sources/add', { url: 'ftp://x', title: long, folder: '', visibility: 'private' }],
    ['/sources', { kind: 'native', title: long }],
    ['/sources/2', { title: long, visibility: 'private' }],
    ['/sources/2', { title: 'x', username: long, password: 'x' }],
    ['/sources/1/follow', { folder: long }],
    ['/sources/1/transfer', { username: long }],
    ['/sources/several', { source: '1', act: 'move', folder: long, back: '/sources' }],
    ['/sources/folders', { folder: `${Q.repeat(95)}1`, act: 'rename', name: long }],
    ['/write/source', { title: long }],
    ['/settings/name', { displayName: long }],
    ['/settings/tokens', { name: long, currentPassword: hub.password }],
    ['/admin/hub', { name: long, text: 'x' }],
    ['/admin/hub', { name: 'x', text: long }],
    ['/admin/invitations', { role: long, hours: long }],
    ['/admin/accounts/1', { act: long }],
    ['/sources/import', { opml: '&'.repeat(99_000).replaceAll('&', '%26'), visibility: 'private' }],
  ];
  for (const [path, fields] of forms) {
    for (const times of [1, 16]) {
      const sent = Object.fromEntries(Object.entries(fields).map(([name, value]) =>
        [name, value.length > 1_000 ? value.repeat(times) : value]));
      const body = Object.entries(sent).map(([name, value]) => `${name}=${value}`).join('&');
      const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' };
      const answer = await ada.send('POST', path, { body, headers });
      assert.ok(answer.status >= 300 && answer.status < 500, `${path}: ${answer.status}`);
      sizes.add(`${path} ${Object.keys(fields).join()} ${times}`, answer, answer.status);
    }
  }
  sizes.assertAllFit();
});
