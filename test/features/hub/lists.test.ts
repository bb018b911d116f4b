// Protects every list that is not one of posts: one mechanism pages, filters, exports and guards them all.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { ADMIN_LISTS } from '../../../src/app/frame/admin-lists.ts';
import { noteError } from '../../../src/features/errors/error-store.ts';
import { notifications } from '../../../src/features/notifications/notification-store.ts';
import { addNotes, addPost, browserOf, itemsAt, offerTo, tokenOf } from '../../support/accounts.ts';
import { hubWith } from '../../support/hub.ts';
import { raise } from '../../support/receiver.ts';
import { addJob } from '../../support/stored-jobs.ts';

/** The lists of members and visitors, with the page that shows each. */
const OTHERS = {
  '/api/history': '/history', '/api/notifications': '/notifications', '/api/offers': '/offers',
  '/api/tokens': '/settings', '/api/sessions': '/settings', '/api/sources': '/sources',
};

const apiOf = ({ routes: [first] }: (typeof ADMIN_LISTS)[number]): string => first?.pattern.replace('GET ', '') ?? '';
const LISTS = [...Object.keys(OTHERS), ...ADMIN_LISTS.map(apiOf)];
const PUBLIC = '/api/sources';

/** A hub in which each list has at least two items that Ada sees. */
async function hubWithLists(t: TestContext) {
  const made = await hubWith(t, ['ada', 'bob'], { ALERT_WEBHOOK_URL: 'http://127.0.0.1:8/', ALERT_WEBHOOK_FORMAT: 'json' });
  const { hub, ada } = made;
  await browserOf(hub, 'ada');
  for (let n = 0; n < 2; n++) {
    await ada.post('/api/sources', { kind: 'webhook', title: `Hook ${n}` });
    await ada.get(`/posts/${await addPost(ada, await addNotes(ada, `Notes ${n}`))}`);
    await offerTo(ada, await addNotes(ada, `Offered ${n}`), 'bob');
    await tokenOf(hub, ada, { name: `Token ${n}` });
    await ada.post('/api/invitations', { hours: 24, currentPassword: hub.password });
    notifications(hub.handle).add({ accountId: 1, kind: 'source.failing', title: `Odd ${n}`, path: '/sources' });
    noteError(hub.handle, new Error(`odd ${'!'.repeat(n)}`));
    raise(hub, n === 0 ? 'sync-failed' : 'space-low', 'a subject');
    for (const state of ['failed', 'discarded'] as const) addJob(hub, { kind: 'sync-source', state });
  }
  await hub.work();
  return made;
}

test('page by page each list has all its items in its order, and each page links to the next', async (t) => {
  const { ada } = await hubWithLists(t);

  for (const path of LISTS) {
    const all = await itemsAt(ada, `${path}?limit=100`);
    assert.ok(all.length >= 2, path);
    const paged: unknown[] = [];
    for (let next: string | undefined = `${path}?limit=1`; next; ) {
      const answer = await ada.get(next);
      paged.push(...answer.json<{ items: unknown[] }>().items);
      next = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
    }
    assert.deepEqual(paged, all, path);
    assert.equal((await ada.get(`${path}?cursor=AAAA`)).status, 400, path);
  }
});

test('each list but the visitors’ can be taken along whole, one JSON object a line', async (t) => {
  const { ada } = await hubWithLists(t);

  for (const path of LISTS.filter((one) => one !== PUBLIC)) {
    const taken = await ada.get(`${path}?format=jsonl`);
    assert.match(taken.headers.get('content-disposition') ?? '', new RegExp(`filename="${path.split('/').at(-1)}\\.jsonl"`));
    const lines = taken.text.trimEnd().split('\n').map((line) => JSON.parse(line) as object);
    assert.deepEqual(lines, await itemsAt(ada, `${path}?limit=100`), path);
    assert.equal((await ada.get(`${path}?format=xml`)).status, 400, path);
  }
});

test('visitors get pages of a list, never all of it at once', async (t) => {
  const { hub } = await hubWithLists(t);
  assert.equal((await hub.anybody.get(`${PUBLIC}?format=jsonl&limit=1`)).json<{ items: [] }>().items.length, 1);
});

test('a page of a list links to the next one, which says so when nothing follows', async (t) => {
  const { hub, ada } = await hubWithLists(t);

  for (const page of ['/history', '/offers', ...ADMIN_LISTS.map((list) => list.page)]) {
    const { text } = await ada.page(`${page}?limit=1`);
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(text) ?? [];
    assert.notEqual((await ada.page(next.replaceAll('&amp;', '&'))).text, text, page);
  }
  assert.match((await hub.anybody.page('/sources?limit=1')).text, /rel="next" href="\/sources\?/);
});

test('each list of administrators offers what its page shows, to administrators alone', async (t) => {
  const { ada, bob } = await hubWithLists(t);

  for (const list of ADMIN_LISTS) {
    const link = /href="([^"]*format=jsonl)"/.exec((await ada.page(list.page)).text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    assert.ok(link.startsWith(`${apiOf(list)}?`), link);
    assert.equal((await ada.get(link)).status, 200, link);
    assert.equal((await bob.get(link)).status, 403, link);
  }
});
