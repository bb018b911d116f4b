// Protects reading lists from what public reports tell of other readers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY } from '../../../src/platform/clock.ts';
import { itemsAt } from '../../support/accounts.ts';
import { rss, serving } from '../../support/feeds.ts';
import { followedFeed } from '../../support/followed-feed.ts';

type Shown = { id: number; title: string; publishedAt: string };

const dated = (guid: string, date: string) => ({ guid, title: `H ${guid}`, date });

test('G01 and G02 (feedbin/support#156, FreshRSS#2429, fluent-reader#213): what came since a list was shown stays unread, '
  + 'and undoing brings exactly the marked posts back', async (t) => {
  const items = [dated('13', 'Sat, 14 Mar 2026 10:00:00 GMT'), dated('12', 'Fri, 13 Mar 2026 10:00:00 GMT')];
  const { hub, feed, ada } = await followedFeed(t, items);
  const unread = async () => (await itemsAt<Shown>(ada, '/api/posts?view=unread')).map(({ title }) => title);
  const upTo = Math.max(...(await itemsAt<Shown>(ada, '/api/posts?view=unread')).map(({ id }) => id));
  const later = [dated('15', 'Thu, 12 Mar 2026 10:00:00 GMT'), dated('14', 'Sun, 15 Mar 2026 10:00:00 GMT')];
  feed.handler = serving(() => rss('Owls', [...later, ...items]));
  await hub.work(DAY);
  assert.deepEqual(await unread(), ['H 14', 'H 13', 'H 12', 'H 15']);

  const marked = (await ada.post('/api/reading/mark-read', { all: true, upTo })).json<{ marked: number; undo: number }>();
  assert.equal(marked.marked, 2);
  assert.deepEqual(await unread(), ['H 14', 'H 15']);
  assert.equal((await ada.post('/api/reading/undo', { undo: marked.undo })).status, 204);
  assert.deepEqual(await unread(), ['H 14', 'H 13', 'H 12', 'H 15']);
});

test('G03 (feedbin/support#269, FreshRSS#5909): new posts of 1970 and 2006 are unread, and none is from the future', async (t) => {
  const { hub, feed, ada } = await followedFeed(t, [dated('1', 'Sat, 14 Mar 2026 10:00:00 GMT')]);
  const dates = ['Thu, 01 Jan 1970 00:00:00 GMT', 'Mon, 02 Jan 2006 15:04:05 GMT', 'Wed, 01 Oct 2036 10:00:00 GMT'];
  feed.handler = serving(() => rss('Owls', dates.map((date, index) => dated(String(index + 2), date))));
  await hub.work(DAY);
  const unread = await itemsAt<Shown>(ada, '/api/posts?view=unread');
  assert.deepEqual(unread.map(({ title }) => title), ['H 4', 'H 1', 'H 3', 'H 2']);
  assert.deepEqual(unread.slice(1).map(({ publishedAt }) => publishedAt),
    ['2026-03-14T10:00:00.000Z', '2006-01-02T15:04:05.000Z', '1970-01-01T00:00:00.000Z']);
  assert.ok(Date.parse(unread[0]?.publishedAt ?? '') <= hub.now());
});
