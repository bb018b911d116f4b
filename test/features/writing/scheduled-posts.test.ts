// Protects posts that the hub publishes later: at the writer's time, once, and never from a restored copy of a hub.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTurn } from '../../../src/features/posts/ingest-posts.ts';
import { drafts } from '../../../src/features/writing/draft-store.ts';
import { publishDraft, unscheduleAll } from '../../../src/features/writing/scheduled-posts.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { addNotes, itemsAt, notificationTitles, pointersOf, publicTitles, sendJson } from '../../support/accounts.ts';
import { hubWithOwnPosts, submitForm } from '../../support/own-posts.ts';
import { empty, fill } from '../../support/small-room.ts';
import { failWrites } from '../../support/stored-rows.ts';
import { assertUsageIsRight } from '../../support/stored-uploads.ts';

const FORM = '/write/abcdefghijklmnop';
const TYPED = { sourceId: '1', title: 'Owls', content: '![](owls.txt)', contentType: 'text/markdown', url: '' };
const OWLS = { filename: 'owls.txt', data: 'Five owls.' };

test('a post is published at the time that its author chose in their time zone, with its files, and once', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t); // it is 12:00 UTC
  const bob = await hub.person('bob');
  await sendJson(bob, 'PUT', '/api/sources/1/follow', { notify: true });
  await ada.form('/settings/time-zone', { timeZone: 'Asia/Kolkata' });
  const sent = await submitForm(hub, ada, FORM, { ...TYPED, publishAt: '2030-01-15T20:00' }, [OWLS]);
  assert.equal(sent.headers.get('location'), '/write?said=post-scheduled');
  assert.match((await ada.page('/write')).text, /Owls<\/a>[^]*goes out on[^]*15 January 2030 at 20:00/);
  assert.match((await ada.page(FORM)).text, /Scheduled: goes out on[^]*value="2030-01-15T20:00"/);
  await hub.work(2 * HOUR);
  assert.deepEqual(await publicTitles(hub), []);
  await hub.work(30 * MINUTE);
  await publishDraft.run(hub.handle, { draftId: 1 }, new AbortController().signal, undefined as never);
  await hub.work(MINUTE);
  const posts = await itemsAt<{ title: string; publishedAt: string; attachments: object[] }>(ada, '/api/posts');
  assert.deepEqual(posts.map(({ title, publishedAt, attachments }) => [title, publishedAt, attachments.length]), [['Owls', '2030-01-15T14:30:00.000Z', 1]]);
  assert.equal(drafts(hub.handle).find(1, FORM), undefined);
  assert.equal((await notificationTitles(bob)).length, 1);
  assertUsageIsRight(hub);
});

test('two jobs for one scheduled post publish the post once, as it was scheduled, also if it is changed while a job runs', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const run = () => publishDraft.run(hub.handle, { draftId: 1 }, new AbortController().signal, undefined as never);
  const schedule = () => submitForm(hub, ada, FORM, { ...TYPED, publishAt: '2030-01-15T12:10' }, []);
  await schedule();
  hub.passTime(HOUR);
  const [one, two] = [await run(), await run()];
  hub.db.write('end jobs', () => [one, two].forEach((store) => store?.()));
  assert.deepEqual(await publicTitles(hub), ['Owls']);

  await submitForm(hub, ada, FORM, { ...TYPED, publishAt: '2030-01-15T13:10' }, []);
  hub.passTime(HOUR);
  const late = await publishDraft.run(hub.handle, { draftId: 2 }, new AbortController().signal, undefined as never);
  assert.equal((await ada.post(`${FORM}/draft`, { ...TYPED, title: 'Changed' })).status, 200);
  hub.db.write('end job', () => late?.());
  await hub.work();
  assert.deepEqual(await publicTitles(hub), ['Owls', 'Owls']);
  assert.equal(drafts(hub.handle).find(1, '/posts/2/edit')?.fields['title'], 'Changed', 'what is newer is a draft');
});

test('a post that cannot be published stays a draft, and its author is told why', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  const fields = { ...TYPED, sourceId: String(await addNotes(bob)), publishAt: '2030-01-15T13:00' };
  assert.equal((await submitForm(hub, bob, FORM, fields, [OWLS])).status, 303);
  await bob.delete('/api/sources/2');
  await hub.work(2 * HOUR);
  assert.deepEqual(await publicTitles(hub), []);
  assert.deepEqual(await notificationTitles(bob), ['Your post “Owls” was not published: There is no such source.']);
  const other = String(await addNotes(bob));
  assert.match((await bob.page(FORM)).text, /This is your draft[^]*owls\.txt/);

  const again = { ...fields, sourceId: other, publishAt: '2030-01-15T15:00', tab: '', revision: '' };
  assert.equal((await submitForm(hub, bob, FORM, again, [])).status, 303);
  await ada.patch('/api/admin/accounts/2', { disabled: true, currentPassword: hub.password });
  await hub.work(3 * HOUR);
  assert.deepEqual(await publicTitles(hub), []);
});

test('a post that the hub cannot store in five attempts is a draft again, and its author is told', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  await submitForm(hub, ada, FORM, { ...TYPED, publishAt: '2030-01-15T12:10' }, [OWLS]);
  const mend = failWrites(hub, 'INSERT', 'posts');
  for (let hours = 0; hours < 12; hours++) await hub.work(HOUR);
  mend();
  await hub.work(DAY);
  assert.deepEqual([await publicTitles(hub), drafts(hub.handle).due(hub.now(), 9)], [[], []]);
  assert.deepEqual(await notificationTitles(ada), ['Your post “Owls” was not published: The hub could not store it.']);
  assert.match((await ada.page(FORM)).text, /This is your draft[^]*owls\.txt/);
});

test('a post waits for its turn and for room on the disk, and is published afterwards', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const content = 'Owls. '.repeat(20_000);
  await submitForm(hub, ada, FORM, { ...TYPED, content, publishAt: '2030-01-15T12:10' }, []);
  hub.passTime(HOUR);
  const busy = Promise.withResolvers<void>();
  const others = Array.from({ length: 41 }, (_, n) =>
    inTurn(hub.handle, { length: content.length, accountOf: () => n }, () => busy.promise));
  const run = publishDraft.run(hub.handle, { draftId: 1 }, new AbortController().signal, undefined as never);
  await assert.rejects(async () => run, { status: 503 });
  busy.resolve();
  await Promise.all(others);

  fill(hub);
  for (let n = 0; n < 3; n++) await hub.work();
  assert.deepEqual([await publicTitles(hub), drafts(hub.handle).due(hub.now(), 9)], [[], [1]]);
  empty(hub);
  await hub.work(MINUTE);
  assert.deepEqual(await publicTitles(hub), ['Owls']);
});

test('of two requests at once that publish one draft with different texts, one makes the post', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const content = 'Owls. '.repeat(20_000);
  assert.equal((await ada.post(`${FORM}/draft`, { ...TYPED, content })).status, 200);
  const publish = (title: string) => submitForm(hub, ada, FORM, { ...TYPED, title, content, revision: '1' }, []);
  const answers = await Promise.all([publish('Owls'), publish('Other owls')]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 409]);
  assert.equal((await publicTitles(hub)).length, 1);
  assert.equal(drafts(hub.handle).find(1, FORM), undefined);
});

test('the API schedules a post within a year, and refuses other times and posts that could not be published', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const post = (values: object) => ada.post('/api/posts', { sourceId, title: 'Owls', content: 'Five', ...values });
  const made = await post({ publishAt: '2030-01-15T14:00:00+01:00' });
  assert.equal(made.status, 201, made.text);
  const { url, ...shown } = made.json<{ url: string }>();
  assert.deepEqual(shown, { draftId: 1, title: 'Owls', publishAt: '2030-01-15T13:00:00.000Z' });
  assert.equal(made.headers.get('location'), url);
  assert.match((await ada.page(new URL(url).pathname)).text, /Scheduled: goes out on/);
  for (const publishAt of ['2030-01-15T11:00:00Z', '2031-03-01T00:00:00Z', 'soon', '']) {
    const refused = await post({ publishAt });
    assert.deepEqual([refused.status, pointersOf(refused)], [422, ['/publishAt']], publishAt);
  }
  const publishAt = '2030-01-15T13:00:00Z';
  assert.deepEqual(pointersOf(await post({ title: '', publishAt })), ['/title']);
  const odd = { content: {}, contentType: [], publishedAt: [], url: [] };
  assert.deepEqual(pointersOf(await post({ ...odd, publishAt })).toSorted(), Object.keys(odd).map((name) => `/${name}`));
  assert.equal((await post({ title: 'Newts', url: null, publishAt: '2030-01-15T15:00:00Z' })).status, 201);
  await hub.work(2 * HOUR);
  assert.deepEqual(await publicTitles(hub), ['Owls']);
});

test('a scheduled post has the whole link that was sent, as a post has that is published at once', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const url = `https://example.org/${'é'.repeat(500)}`;
  await ada.post('/api/posts', { sourceId, title: 'Now', url });
  const { url: page } = (await ada.post('/api/posts', { sourceId, title: 'Later', url, publishAt: '2030-01-15T13:00:00Z' })).json<{ url: string }>();
  assert.match((await ada.page(new URL(page).pathname)).text, /example\.org\/éé/, 'the form shows what was sent');
  await hub.work(2 * HOUR);
  const links = (await itemsAt<{ url: string }>(ada, '/api/posts')).map((post) => post.url);
  assert.deepEqual(links, [new URL(url).href, new URL(url).href]);
});

test('a schedule is ended by publishAt alone: beside anything else, a request means the post with the id of the draft', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  await ada.post('/api/posts', { sourceId, title: 'A post' });
  const { draftId } = (await ada.post('/api/posts', { sourceId, title: 'Later', publishAt: '2030-01-15T13:00:00Z' })).json<{ draftId: number }>();
  assert.equal(draftId, 1, 'as the post');
  for (const beside of [{ title: null }, { publishedAt: null }, { publishedAt: '' }, { other: 1 }]) {
    const answer = await ada.patch('/api/posts/1', { publishAt: null, ...beside });
    assert.deepEqual([answer.status, answer.json<{ title: string }>().title], [200, 'A post'], JSON.stringify(beside));
    assert.notEqual(drafts(hub.handle).findById(1, draftId)?.publishAt, null);
  }
  assert.equal((await ada.patch('/api/posts/1', { publishAt: null })).json<{ title: string }>().title, 'Later');
  assert.equal(drafts(hub.handle).findById(1, draftId)?.publishAt, null);
});

test('after a restore, scheduled posts are drafts again, and their authors are told', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  await submitForm(hub, ada, FORM, { ...TYPED, publishAt: '2030-01-15T13:00' }, []);
  hub.db.write('restore', () => unscheduleAll(hub.handle));
  await hub.work(2 * HOUR);
  assert.deepEqual(await publicTitles(hub), []);
  assert.deepEqual(await notificationTitles(ada), ['Your scheduled post “Owls” is a draft again, because the hub was restored from a backup']);
  assert.match((await ada.page(FORM)).text, /This is your draft/);
});
