// Protects notifications of followers and owners: told once, in the same transaction, of what they may see.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { notifications } from '../../../src/features/notifications/notification-store.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { addFeed, addNotes, addPost, notificationTitles, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { reply, startOrigin } from '../../support/origin.ts';
import { countRows, failWrites } from '../../support/stored-rows.ts';

function follow(client: Client, sourceId: number) {
  return sendJson(client, 'PUT', `/api/sources/${sourceId}/follow`, { notify: true });
}

/** Ada's feed, which has as many posts as `posts.count` says, and bob. */
async function hubWithFeed(t: TestContext, env: Record<string, string> = {}) {
  const posts = { count: 2, status: 200 };
  const origin = await startOrigin(t, (request, response) => {
    const items = Array.from({ length: posts.count }, (_, index) => ({ guid: `g${index}` }));
    const answer = posts.status === 200 ? serving(() => rss('Owls', items)) : reply(posts.status, {}, 'trouble');
    answer(request, response);
  });
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob'], env);
  return { hub, ada, bob, posts, sourceId: await addFeed(ada, `${origin.url}/feed`) };
}

test('new posts of one synchronisation make one notification with their number, for followers alone', async (t) => {
  const { hub, ada, bob, posts, sourceId } = await hubWithFeed(t);
  for (let time = 0; time < 2; time++) assert.equal((await follow(bob, sourceId)).status, 204);

  posts.count = 202;
  await hub.work(DAY);
  assert.deepEqual(await notificationTitles(bob), ['200 new posts in “Owls”']);
  assert.deepEqual(await notificationTitles(ada), []);

  posts.count = 203;
  await hub.work(DAY);
  assert.deepEqual(await notificationTitles(bob), ['201 new posts in “Owls”'], 'what is unread is not closed');
  await hub.work(DAY);
  assert.deepEqual(await notificationTitles(bob), ['201 new posts in “Owls”'], 'nothing is new');
});

test('who no longer follows hears no more', async (t) => {
  const { hub, bob, posts, sourceId } = await hubWithFeed(t);
  await follow(bob, sourceId);
  for (let time = 0; time < 2; time++) {
    assert.equal((await bob.delete(`/api/sources/${sourceId}/follow`)).status, 204);
  }

  posts.count = 5;
  await hub.work(DAY);

  assert.deepEqual(await notificationTitles(bob), []);
});

test('only a source that one may see can be followed, and one that became private is silent', async (t) => {
  const { ada, bob, carol } = await hubWith(t, ['ada', 'bob', 'carol']);
  const open = await addNotes(bob);
  const hidden = await addNotes(bob, 'Hidden', 'private');
  assert.equal((await follow(carol, hidden)).status, 404);
  for (const client of [ada, carol]) await follow(client, open);

  await bob.patch(`/api/sources/${open}`, { visibility: 'private', title: 'Diary' });
  await addPost(bob, open, 'Secret');

  const told = ['“Notes” is now private and no longer in your list'];
  assert.deepEqual(await notificationTitles(carol), told, 'by the name that it had for her');
  assert.deepEqual(await notificationTitles(ada), ['1 new post in “Diary”'], 'an administrator sees it all');
  const followed = async (client: Client): Promise<(string | null)[]> => (await client.get('/api/account/export'))
    .json<{ follows: { title: string | null }[] }>().follows.map(({ title }) => title);
  assert.deepEqual([await followed(carol), await followed(ada)], [[null], ['Diary']], 'nor is its name told');
  const unfollow = async (): Promise<number> => (await carol.delete(`/api/sources/${open}/follow`)).status;
  assert.deepEqual([await unfollow(), await unfollow()], [204, 404], 'but it can be let go');
  assert.deepEqual(await followed(carol), []);
});

test('a reading list holds SOURCES_MAX sources of others, and one’s own; an import leaves out what is more', async (t) => {
  const { ada, bob, carol } = await hubWith(t, ['ada', 'bob', 'carol'], { SOURCES_MAX: '2' });
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Feed', [])) });
  const [one, two] = [await addNotes(ada), await addNotes(ada)];
  const three = await addFeed(carol, `${origin.url}/feed`);
  const own = await addNotes(bob);
  assert.deepEqual([(await follow(bob, one)).status, (await follow(bob, two)).status], [204, 204]);
  await bob.delete(`/api/sources/${own}/follow`);
  const refused = await follow(bob, three);
  assert.deepEqual([refused.status, refused.json()['detail']],
    [422, 'You can follow at most 2 sources of other accounts. Unfollow some first.']);
  assert.deepEqual([(await follow(bob, own)).status, (await follow(bob, one)).status], [204, 204], 'one’s own, and again');
  const document = `<opml version="2.0"><body><outline xmlUrl="${origin.url}/feed"/></body></opml>`;
  const imported = await bob.send('POST', '/api/sources/import', { body: document, headers: { 'content-type': 'text/x-opml' } });
  assert.ok(imported.text.includes('at most 2 sources'), imported.text);
});

test('posts written here one after another are told of together, and their author is not told', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const sourceId = await addNotes(ada);
  for (const client of [ada, bob]) await follow(client, sourceId);

  for (let n = 0; n < 3; n++) {
    await addPost(ada, sourceId);
    hub.passTime(MINUTE);
  }
  assert.deepEqual(await notificationTitles(bob), ['3 new posts in “Notes”']);
  assert.deepEqual(await notificationTitles(ada), []);
  await bob.post('/api/notifications/read', { all: true });
  await addPost(ada, sourceId);
  assert.deepEqual(await notificationTitles(bob), ['1 new post in “Notes”', '3 new posts in “Notes”'], 'what was read is closed');
  hub.passTime(HOUR);
  await addPost(ada, sourceId);
  assert.deepEqual(await notificationTitles(bob), ['2 new posts in “Notes”', '3 new posts in “Notes”']);
});

test('posts and their notification are stored together or not at all', async (t) => {
  const { hub, bob, posts, sourceId } = await hubWithFeed(t);
  await follow(bob, sourceId);
  const mend = failWrites(hub, 'INSERT', 'notifications');

  posts.count = 5;
  await hub.work(DAY);
  assert.equal(countRows(hub, 'posts'), 2);
  mend();
  await hub.work(HOUR);

  assert.equal(countRows(hub, 'posts'), 5);
  assert.deepEqual(await notificationTitles(bob), ['3 new posts in “Owls”']);
});

test('an owner is told once that a source fails for good, that it works again, and of failing again only after that', async (t) => {
  const { hub, ada, bob, posts, sourceId } = await hubWithFeed(t, { SYNC_MAX_ATTEMPTS: '2' });
  await follow(bob, sourceId);
  const failing = '“Owls” cannot be synchronised; the hub keeps trying';
  const answering = async (...statuses: number[]): Promise<void> => {
    for (const status of statuses) {
      posts.status = status;
      await hub.work(DAY);
    }
  };

  await answering(500, 200);
  assert.deepEqual(await notificationTitles(ada), [], 'a retry that helped is nothing to tell');
  await answering(500, 500, 500, 500);
  assert.deepEqual(await notificationTitles(ada), [failing]);
  await answering(200, 200, 500, 500);
  assert.deepEqual(await notificationTitles(ada), [failing, '“Owls” can be synchronised again'], 'the first is the later');
  assert.deepEqual(await notificationTitles(bob), [], 'it is the owner’s affair');
});

test('the number of unread notifications stands on every page of a member, and on none of anybody’s', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob']);
  const unreadOn = async (path: string) => /href="\/notifications"[^]*?class="count"\s*>(\d+\+?)</.exec((await bob.page(path)).text)?.[1];

  assert.equal(await unreadOn('/'), undefined);
  const tell = (n: number) => notifications(hub.handle).add({ accountId: 2, kind: 'test', title: `x ${n}`, path: '/' });
  for (let n = 0; n < 99; n++) tell(n);
  assert.equal(await unreadOn('/sources'), '99');
  tell(99);
  assert.equal(await unreadOn('/'), '99+');
  assert.doesNotMatch((await hub.anybody.page('/')).text, /class="count"/);
  await bob.form('/notifications/read');
  assert.equal(await unreadOn('/'), undefined);
});

test('notifications that lead to a source go with it, however many there are, and no others do', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const [gone, other] = [await addNotes(ada, 'Gone'), await addNotes(ada, 'Other')];
  for (const sourceId of [gone, other]) await follow(bob, sourceId);
  for (const sourceId of [gone, other]) await addPost(ada, sourceId);
  const old = { accountId: 1, kind: 'source.failing', title: 'x', path: `/sources/${gone}` };
  hub.db.write('old ones', () => {
    for (let n = 0; n < 500; n++) notifications(hub.handle).add(old);
  });

  await ada.delete(`/api/sources/${gone}`);
  await hub.work();

  const told = await notificationTitles(bob);
  assert.deepEqual(told, ['“Gone” was deleted and is no longer in your list', '1 new post in “Other”']);
  assert.equal(countRows(hub, 'notifications'), 2);
  assert.equal(countRows(hub, 'sources'), 1, 'only the other one');
});

test('a member sees a source by a name of its own on every page, nobody else sees the name, and an empty field ends it', async (t) => {
  const { ada, bob } = await hubWith(t, ['ada', 'bob']);
  const sourceId = await addNotes(ada, 'Shared title');
  const postId = await addPost(ada, sourceId, 'A post');
  await follow(bob, sourceId);
  const settings = `/sources/${sourceId}/settings`;
  const textOf = async (client: Client, path: string): Promise<string> =>
    (await client.page(path)).text.replace(/<link [^>]*>/g, ''); // feeds that the source page names for other readers
  await bob.form(`/sources/${sourceId}/follow`, { title: 'Bob’s name' });
  assert.match((await bob.page(settings)).text, /name="title" value="Bob’s name"[^>]*placeholder="Shared title"/);

  const pages = ['/', `/posts/${postId}`, `/sources/${sourceId}`, '/history'];
  for (const path of pages) {
    const text = await textOf(bob, path);
    assert.match(text, /Bob’s name/, path);
    assert.doesNotMatch(text, /Shared title/, path);
    assert.doesNotMatch(await textOf(ada, path), /Bob’s name/, path);
  }
  const api = (await bob.get(`/api/posts/${postId}`)).json<{ source: { title: string } }>();
  assert.equal(api.source.title, 'Bob’s name');

  await bob.form(`/sources/${sourceId}/follow`, { title: ' ' });
  assert.match(await textOf(bob, '/'), /Shared title/);
});
