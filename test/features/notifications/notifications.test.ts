// Protects notifications: seen and marked by their owner alone, in small transactions.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { notifications } from '../../../src/features/notifications/notification-store.ts';
import { addNotes, notificationTitles, pointersOf, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { hubWith } from '../../support/hub.ts';
import { HOUR } from '../../../src/platform/clock.ts';
import { storeNotifications } from '../../support/stored-notifications.ts';
import { countRows, failWrites } from '../../support/stored-rows.ts';
import { waitUntil } from '../../support/wait-until.ts';

type Item = { id: number; kind: string; title: string; path: string; createdAt: string; readAt: string | null; count: number; urgent: boolean };
type List = { items: Item[]; next: string | null };

/** A hub in which ada was told so many things, and bob one. */
async function hubWithNotifications(t: TestContext, count: number) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const tell = (username: string, title: string): void => notifications(hub.handle).add({
    accountId: username === 'ada' ? 1 : 2, kind: 'test.told', title, path: '/posts/1',
  });
  tell('bob', 'For Bob');
  for (let n = 1; n <= count; n++) {
    tell('ada', `Number ${n}`);
    hub.passTime(1000);
  }
  return { hub, ada, bob, tell };
}

async function list(client: Client, query = ''): Promise<List> {
  const answer = await client.get(`/api/notifications${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<List>();
}

test('everybody sees their own, newest first, and nobody else', async (t) => {
  const { ada, bob } = await hubWithNotifications(t, 2);
  const { items, next } = await list(ada);

  const told = { kind: 'test.told', path: '/posts/1', readAt: null, count: 1, urgent: false };
  assert.equal(next, null);
  assert.deepEqual(items, [
    { id: items[0]?.id, ...told, title: 'Number 2', createdAt: '2030-01-15T12:00:01.000Z' },
    { id: items[1]?.id, ...told, title: 'Number 1', createdAt: '2030-01-15T12:00:00.000Z' },
  ]);
  assert.deepEqual(await notificationTitles(bob), ['For Bob']);
  assert.equal((await ada.get('/api/notifications')).headers.get('cache-control'), 'private, no-cache');
});

test('they come in pages, also those not read', async (t) => {
  const { ada } = await hubWithNotifications(t, 7);
  const first = await list(ada, '?limit=3');
  const second = await list(ada, `?limit=3&cursor=${first.next}`);
  const third = await list(ada, `?limit=3&cursor=${second.next}`);
  assert.deepEqual([first, second, third].map(({ items }) => items.length), [3, 3, 1]);
  assert.deepEqual([...first.items, ...second.items, ...third.items].map(({ title }) => title),
    [7, 6, 5, 4, 3, 2, 1].map((n) => `Number ${n}`));
  assert.equal(third.next, null);

  const link = (await ada.get('/api/notifications?unread=1&limit=3')).headers.get('link') ?? '';
  assert.match(link, /^<\/api\/notifications\?[^>]*>; rel="next"$/);
  const { pathname, searchParams } = new URL(/<(.*)>/.exec(link)?.[1] ?? '', 'http://hub');
  assert.deepEqual([pathname, searchParams.get('unread'), searchParams.get('limit')], ['/api/notifications', '1', '3']);
});

test('some are marked read by their ids, those of others are not, and a second time changes nothing', async (t) => {
  const { hub, ada, bob } = await hubWithNotifications(t, 3);
  const [, two] = (await list(ada)).items;
  const [his] = (await list(bob)).items;
  const mark = () => ada.post('/api/notifications/read', { ids: [two?.id, his?.id, 999] });

  assert.equal((await mark()).status, 204);
  assert.deepEqual(await notificationTitles(ada, '?unread=1'), ['Number 3', 'Number 1']);
  assert.deepEqual(await notificationTitles(bob, '?unread=1'), ['For Bob']);
  const readAt = async () => (await list(ada)).items.map((item) => item.readAt);
  assert.deepEqual(await readAt(), [null, '2030-01-15T12:00:03.000Z', null]);
  hub.passTime(60_000);
  assert.equal((await mark()).status, 204);
  assert.deepEqual(await readAt(), [null, '2030-01-15T12:00:03.000Z', null]);
});

test('unread ones with the same text about the same page are one, at the top, with a count and the latest time', async (t) => {
  const { hub, ada, tell } = await hubWithNotifications(t, 2);
  for (let n = 0; n < 308; n++) tell('ada', 'Number 1');

  const { items } = await list(ada);
  assert.deepEqual(items.map(({ title, count }) => [title, count]), [['Number 1', 309], ['Number 2', 1]]);
  assert.equal(items[0]?.createdAt, '2030-01-15T12:00:02.000Z');
  assert.match((await ada.page('/notifications')).text, /309 times, last/);
  await ada.post('/api/notifications/read', { all: true });
  tell('ada', 'Number 1');
  assert.deepEqual((await list(ada)).items.map(({ count }) => count), [1, 309, 1], 'what was read is closed');
  assert.equal(countRows(hub, 'notifications'), 4);
});

test('one sender causes at most 20 an hour at one receiver, and the last stands for the rest; trouble is told all the same', async (t) => {
  const { hub, ada, bob, carol } = await hubWith(t, ['ada', 'bob', 'carol']);
  const hide = async (client: Client, visibility: string): Promise<void> => {
    const { items } = (await client.get('/api/sources?limit=100')).json<{ items: { id: number; owner: { id: number } }[] }>();
    for (const { id } of items) await client.patch(`/api/sources/${id}`, { visibility });
  };
  for (let n = 0; n < 30; n++) {
    const id = await addNotes(bob, `Notes ${n}`);
    await sendJson(carol, 'PUT', `/api/sources/${id}/follow`, {});
  }

  for (let n = 0; n < 3; n++) for (const visibility of ['private', 'public']) await hide(bob, visibility);
  const told = (await list(carol, '?limit=100')).items;
  assert.equal(told.length, 20);
  const { kind, title, count } = told[0] ?? {};
  assert.deepEqual([kind, title], ['source.more', 'More has happened to sources that you follow']);
  assert.equal(told.reduce((sum, one) => sum + one.count, 0), 90, `nothing is lost: ${count}`);

  await carol.post('/api/notifications/read', { all: true });
  await hide(bob, 'private');
  assert.equal((await list(carol, '?limit=100')).items.length, 20, 'also for somebody who reads them at once');
  notifications(hub.handle).add({ accountId: 3, senderId: 2, kind: 'account', title: 'Your role was changed', path: '/settings' });
  notifications(hub.handle).add({ accountId: 3, senderId: 1, kind: 'test', title: 'Of another sender', path: '/' });
  assert.equal((await list(carol, '?limit=100')).items.length, 22);
  hub.passTime(HOUR);
  await hide(bob, 'public');
  await hide(bob, 'private');
  assert.equal((await list(carol, '?limit=100')).items.length, 42);
  assert.deepEqual(await notificationTitles(ada), []);
});

test('what concerns security and failure stands before news, and a thousand news remove none of it', async (t) => {
  const { hub, ada, tell } = await hubWithNotifications(t, 0);
  const warn = (n: number): void => notifications(hub.handle).add({
    accountId: 1, kind: 'source.failing', title: `Failing ${n}`, path: `/sources/${n}`,
  });
  warn(1);
  hub.db.write('tell much', () => {
    for (let n = 0; n <= 1000; n++) tell('ada', `News ${n}`);
  });

  const titles = (): string[] => notifications(hub.handle)
    .list({ accountId: 1, unreadOnly: false, after: Number.MAX_SAFE_INTEGER, limit: 10_000 }).map(({ title }) => title);
  assert.equal(titles().length, 1001);
  assert.deepEqual(await notificationTitles(ada, '?only=urgent'), ['Failing 1']);
  assert.deepEqual((await list(ada, '?only=news&limit=1')).items.map(({ title, urgent }) => [title, urgent]), [['News 1000', false]]);
  assert.match((await ada.page('/notifications')).text, /Security and problems<\/h2>[^]*Failing 1[^]*News<\/h2>[^]*News 1000/);
  assert.match((await ada.page('/notifications')).text, /href="\/notifications\?only=news&amp;cursor=/);
  hub.db.write('tell much', () => {
    for (let n = 2; n <= 1001; n++) warn(n);
  });
  assert.deepEqual([titles().length, titles().includes('Failing 1')], [2000, false]);
});

test('many are marked in small transactions: what was marked before trouble stays, and the rest can be asked for again', async (t) => {
  const { hub, ada } = await hubWithNotifications(t, 0);
  storeNotifications(hub, 1, 1700);
  const unread = (): number => notifications(hub.handle).countUnread(1, 1700);
  const repair = failWrites(hub, 'UPDATE', 'notifications', 100);

  assert.equal((await ada.post('/api/notifications/read', { all: true })).status, 500);
  assert.ok(unread() > 0 && unread() < 1000, `${unread()} are unread`);
  repair();
  assert.equal((await ada.form('/notifications/read')).status, 303);
  assert.equal(unread(), 0);
});

test('others are served while many are marked, and what comes meanwhile stays unread', async (t) => {
  const { hub, ada, bob, tell } = await hubWithNotifications(t, 0);
  storeNotifications(hub, 1, 20_000);
  let isMarked = false;
  const marking = ada.post('/api/notifications/read', { all: true }).then(() => void (isMarked = true));
  const hasBegun = (): boolean => notifications(hub.handle).countUnread(1, 20_000) < 20_000;
  await waitUntil('the marking has begun', async () => (await bob.get('/api/account')).status === 200 && hasBegun());
  assert.equal(isMarked, false, 'he was served before that was over');
  tell('ada', 'Just now');
  await marking;

  assert.deepEqual(await notificationTitles(ada, '?unread=1'), ['Just now']);
});

test('anything but ids or all is refused, and marks nothing', async (t) => {
  const { ada } = await hubWithNotifications(t, 1);
  const many = Array.from({ length: 1001 }, (_, n) => n);
  for (const body of [{}, { all: false }, { ids: [1], all: true }, { ids: many }]) {
    const refused = await ada.post('/api/notifications/read', body);
    assert.deepEqual(pointersOf(refused), ['/ids'], JSON.stringify(body).slice(0, 80));
  }
  assert.equal((await notificationTitles(ada, '?unread=1')).length, 1);
});

test('the page shows them, leads to what they speak of and marks all read', async (t) => {
  const { ada, tell } = await hubWithNotifications(t, 1);
  tell('ada', 'The file <b>x</b>');
  const page = await ada.page('/notifications');
  assert.equal(page.status, 200);
  assert.match(page.text, /<a class="title" href="\/posts\/1">The file &lt;b&gt;x&lt;\/b&gt;<\/a>/);
  assert.doesNotMatch(page.text, /For Bob/);

  const marked = await ada.form('/notifications/read');
  assert.deepEqual([marked.status, marked.headers.get('location')], [303, '/notifications?said=notifications-read']);
  assert.deepEqual(await notificationTitles(ada, '?unread=1'), []);
  assert.match((await ada.page('/notifications?unread=1')).text, /No unread notifications/);
});
