// Protects pictures in apps: an app shows them without a header, and nobody gets what the app's account may not see.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY } from '../../../src/platform/clock.ts';
import { addFeed, addFollow, addNotes } from '../../support/accounts.ts';
import { serving } from '../../support/feeds.ts';
import { startHub } from '../../support/hub.ts';
import { reply, startOrigin, type OriginHandler } from '../../support/origin.ts';
import { attachOne, getFile, hubWithOwnPosts } from '../../support/own-posts.ts';
import { appOf, itemId, type ReaderApp } from '../../support/reader-app.ts';
import { png } from '../../support/sample-files.ts';

/** The address of a post's file in the item of an app, after the hub's own address. */
async function addressIn(app: ReaderApp, postId: number): Promise<string> {
  const { items } = (await app.post('stream/items/contents', `i=${itemId(postId)}`))
    .json<{ items: { enclosure: { href: string }[] }[] }>();
  const { pathname, search } = new URL(items[0]?.enclosure[0]?.href ?? '');
  return pathname + search;
}

test('an app gets the files of its items without a header for 90 days, and no other file with the same signature', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const diary = await addNotes(ada, 'Diary', 'private');
  const image = png({ width: 3, height: 2 });
  const [one, other] = [await attachOne(hub, ada, diary, 'a.png', image), await attachOne(hub, ada, diary, 'b.png', image)];
  const address = await addressIn(appOf(hub, 'ada'), one.post.id);
  const statusOf = async (path: string): Promise<number> => (await hub.anybody.get(path)).status;

  const answer = await hub.anybody.get(address);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('cross-origin-resource-policy'), 'cross-origin');
  assert.equal(answer.headers.get('cache-control'), 'private, no-cache');
  const [path = '', query = ''] = address.split('?');
  assert.equal(await statusOf(path), 404, 'without a signature');
  assert.equal(await statusOf(`${other.path}?${query}`), 404, 'of another file');
  assert.equal(await statusOf(address.replace(/\.(\d+)\./, (_, day) => `.${Number(day) + 1}.`)), 404, 'prolonged');
  assert.equal(await statusOf(address.slice(0, -1)), 404, 'cut off');
  hub.passTime(90 * DAY);
  assert.equal(await statusOf(address), 200);
  hub.passTime(DAY);
  assert.equal(await statusOf(address), 404);
});

test('a signed address ends with the app password, with unfollowing a private source, and when the post is hidden', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  const diary = await addNotes(ada, 'Diary', 'private');
  const image = png({ width: 3, height: 2 });
  const [hidden, shown] = [await attachOne(hub, ada, diary, 'a.png', image), await attachOne(hub, ada, sourceId, 'b.png', image)];
  await addFollow(bob, sourceId);
  const [ofAda, ofBob] = [appOf(hub, 'ada'), appOf(hub, 'bob')];
  const [first, second] = [await addressIn(ofAda, hidden.post.id), await addressIn(ofBob, shown.post.id)];
  const statusOf = async (path: string): Promise<number> => (await hub.anybody.get(path)).status;
  assert.deepEqual([await statusOf(first), await statusOf(second)], [200, 200]);

  await ada.delete(`/api/sources/${diary}/follow`);
  assert.equal(await statusOf(first), 404, 'unfollowed');
  await ada.patch(`/api/sources/${sourceId}`, { visibility: 'private' });
  assert.equal(await statusOf(second), 404, 'hidden from bob');

  await addFollow(ada, diary);
  assert.equal(await statusOf(first), 200);
  const id = /apps\/(\d+)\/end/.exec((await ada.page('/settings/apps')).text)?.[1];
  await ada.form(`/settings/apps/${id}/end`);
  assert.equal(await statusOf(first), 404, 'the app password has ended');
});

test('an image of a publisher reaches an app from the hub or not at all; audio stays at its publisher, as on pages', async (t) => {
  const hub = await startHub(t);
  const enclosures = ['a.jpg image/jpeg', 'b.svg image/svg+xml', 'c.mp3 audio/mpeg'].map((file) => file.split(' '))
    .map(([name, type]) => `<media:content url="https://files.example/${name}" type="${type}"/>`).join('');
  const site = await startOrigin(t, { '/feed': serving(() => `<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/">
    <channel><title>Owls</title><item><guid>a</guid><title>A</title>${enclosures}</item></channel></rss>`) });
  await addFeed(await hub.person('ada'), `${site.url}/feed`);
  const { items } = (await appOf(hub, 'ada').get('stream/contents')).json<{ items: { enclosure: { href: string }[] }[] }>();
  const hrefs = items[0]?.enclosure.map(({ href }) => href.replace(/\d+-[^/]+|(?<=app=).*/g, '…'));
  assert.deepEqual(hrefs, [`${hub.config.baseUrl}/attachments/…/a.jpg?app=…`, 'https://files.example/c.mp3']);
});

test('an app gets the icon of a private source without a header, until its account unfollows the source or the app password ends', async (t) => {
  const hub = await startHub(t);
  const icon = png({ width: 16, height: 16 });
  const routes: Record<string, OriginHandler> = { '/favicon.ico': reply(200, { 'content-type': 'image/png' }, icon) };
  const site = await startOrigin(t, routes);
  routes['/feed'] = serving(() => `<rss version="2.0"><channel><title>Owls</title><link>${site.url}/</link></channel></rss>`);
  const ada = await hub.person('ada');
  const source = await addFeed(ada, `${site.url}/feed`, { visibility: 'private' });
  await hub.findIcons();
  const { subscriptions } = (await appOf(hub, 'ada').get('subscription/list')).json<{ subscriptions: { iconUrl: string }[] }>();
  const { pathname, search } = new URL(subscriptions[0]?.iconUrl ?? '');

  const answer = await hub.anybody.get(pathname + search);
  assert.deepEqual([answer.status, answer.headers.get('cross-origin-resource-policy')], [200, 'cross-origin']);
  assert.deepEqual((await getFile(hub, pathname + search)).body, icon);
  assert.equal((await hub.anybody.get(pathname)).status, 404, 'without a signature');
  await ada.delete(`/api/sources/${source}/follow`);
  assert.equal((await hub.anybody.get(pathname + search)).status, 404, 'unfollowed');
  await addFollow(ada, source);
  assert.equal((await hub.anybody.get(pathname + search)).status, 200);
  const id = /apps\/(\d+)\/end/.exec((await ada.page('/settings/apps')).text)?.[1];
  await ada.form(`/settings/apps/${id}/end`);
  assert.equal((await hub.anybody.get(pathname + search)).status, 404, 'the app password has ended');
});
