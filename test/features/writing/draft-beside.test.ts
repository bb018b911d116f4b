// Protects scheduled posts from later changes: what was scheduled goes out as it was, and what is newer stays a draft.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { draftFiles } from '../../../src/features/attachments/draft-file-store.ts';
import { drafts, MAX_DRAFTS } from '../../../src/features/writing/draft-store.ts';
import { publishDraft, unscheduleAll } from '../../../src/features/writing/scheduled-posts.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { addNotes, itemsAt, notificationTitles, pointersOf, publicTitles, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import type { Hub } from '../../support/hub.ts';
import { formOn, hubWithOwnPosts, submitForm, type ShownPost } from '../../support/own-posts.ts';
import { assertUsageIsRight, setUsage } from '../../support/stored-uploads.ts';
import { formOf, sendForm } from '../../support/uploads.ts';

const FORM = '/write/abcdefghijklmnop';
const TYPED = { sourceId: '1', title: 'Owls', content: 'Five', contentType: 'text/markdown', url: '' };
const NEWER = { ...TYPED, title: 'Newer owls', content: 'Six', publishAt: '2030-01-15T13:00' };
const [OWLS, MORE] = [{ filename: 'owls.txt', data: 'Five owls.' }, { filename: 'more.txt', data: 'More owls.' }];

/** Ada's post “Owls” with a file, which goes out in an hour, and how it is asked about. */
async function hubWithScheduled(t: TestContext, env: Record<string, string> = {}) {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t, env); // it is 12:00 UTC
  const submit = (fields: Record<string, string>, files = [] as typeof OWLS[], form = FORM) => submitForm(hub, ada, form, fields, files);
  assert.equal((await submit({ ...TYPED, publishAt: NEWER.publishAt }, [OWLS])).status, 303);
  const opened = async (form = FORM) => (await ada.page(form)).text;
  const titles = () => drafts(hub.handle).list(1).filter((draft) => !draft.discardedAt).map(({ title }) => title).toSorted();
  const filesOf = (form: string) =>
    draftFiles(hub.handle).ofDraft(drafts(hub.handle).find(1, form)?.id ?? assert.fail(form)).map(({ filename }) => filename);
  return { hub, ada, sourceId, submit, opened, titles, filesOf };
}

async function published(hub: Hub, client: Client): Promise<[string, string, string[]][]> {
  await hub.work(2 * HOUR);
  await hub.work(MINUTE);
  return (await itemsAt<ShownPost>(client, '/api/posts')).map(({ title, contentHtml, attachments }) =>
    [title, contentHtml.replace(/<[^>]+>/g, '').trim(), attachments.map(({ filename }) => filename)]);
}

const AS_SCHEDULED = [['Owls', 'Five', ['owls.txt']]];

type Act = (made: Awaited<ReturnType<typeof hubWithScheduled>>) => Promise<unknown>;
const SAVES: Record<string, Act> = {
  'the script saves': ({ ada }) => ada.post(`${FORM}/draft`, NEWER),
  'the button Save draft': ({ submit }) => submit({ ...NEWER, save: '1' }),
  'a preview': ({ submit }) => submit({ ...NEWER, preview: '1' }),
  'a refused post': ({ submit }) => submit({ ...NEWER, url: 'no address' }),
  'a refused time': ({ submit }) => submit({ ...NEWER, publishAt: '2020-01-01T00:00' }),
  'a form whose session had ended': async ({ hub, ada, opened }) => {
    const { action } = formOn(await opened());
    const asked = await sendForm(hub, hub.anybody, action, formOf(NEWER, []), 'text/html');
    await ada.page(/name="next" value="([^"]+)"/.exec(asked.text)?.[1] ?? assert.fail(asked.text));
  },
};

for (const [name, act] of Object.entries(SAVES)) {
  test(`what is kept after Schedule is a draft beside it (${name}): the post goes out once, as it was scheduled`, async (t) => {
    const made = await hubWithScheduled(t);
    const { hub, ada, opened, titles } = made;
    assert.match(await opened(), /Scheduled: goes out on[^]*at 13:00[^]*data-sign="saved" hidden>This is a newer draft/);
    hub.passTime(MINUTE);
    await act(made);
    assert.deepEqual(titles(), ['Newer owls', 'Owls']);
    assert.match(await opened(), /goes out on[^]*at 13:00[^]*data-sign="scheduled" hidden[^]*value="Newer owls"[^]*owls\.txt/);
    assert.match((await ada.page('/write')).text, /2 drafts[^]*Newer owls<\/a>[^]*newer than what goes out, saved[^]*>Owls<\/a>[^]*goes out on/);
    const exported = (await ada.get('/api/account/export')).json<{ drafts: { title: string; files: object[] }[] }>();
    assert.deepEqual(exported.drafts.map(({ title, files }) => [title, files.length]).toSorted(), [['Newer owls', 1], ['Owls', 1]]);

    assert.deepEqual(await published(hub, ada), AS_SCHEDULED);
    const [change] = drafts(hub.handle).list(1);
    assert.deepEqual([titles(), change?.form], [['Newer owls'], '/posts/1/edit'], 'the newer text is a change of the post');
    assert.equal((await ada.page(FORM)).headers.get('location'), '/posts/1/edit');
    assert.match(await opened('/posts/1/edit'), /value="Newer owls"/);
    const late = await ada.post(`${FORM}/draft`, { ...NEWER, title: 'Late', revision: '2' });
    assert.match(late.text, /409[^]*already published a post/);
    assertUsageIsRight(hub);
  });
}

test('a form that is sent as it was scheduled makes no draft beside it, whether the page or the API scheduled', async (t) => {
  const { hub, ada, sourceId, submit, titles } = await hubWithScheduled(t);
  const again = { ...TYPED, publishAt: NEWER.publishAt };
  for (const button of [{ save: '1' }, { preview: '1' }]) await submit({ ...again, ...button });
  assert.deepEqual(titles(), ['Owls']);
  const made = await ada.post('/api/posts', { sourceId, title: 'Newts', content: 'Two', publishAt: '2030-01-15T13:00:30Z' });
  const { path, hidden } = formOn((await ada.page(new URL(made.json<{ url: string }>().url).pathname)).text);
  const same = { sourceId: String(sourceId), title: 'Newts', content: 'Two', contentType: 'text/plain', url: '', publishAt: NEWER.publishAt };
  assert.equal((await submit({ ...same, ...hidden, save: '1' }, [], path)).status, 303);
  assert.deepEqual(titles(), ['Newts', 'Owls']);
  await hub.work(2 * HOUR);
  assert.deepEqual((await publicTitles(hub)).toSorted(), ['Newts', 'Owls']);
});

test('files of a scheduled post and of the draft beside it are their own: taking one away leaves it in the other', async (t) => {
  const { hub, ada, submit, filesOf } = await hubWithScheduled(t, { UPLOAD_QUOTA_BYTES: '30' });
  const [owls] = draftFiles(hub.handle).ofDraft(1);
  assert.equal((await submit({ ...TYPED, publishAt: NEWER.publishAt, remove: String(owls?.id) })).status, 303);
  assert.deepEqual([filesOf(FORM), filesOf(`${FORM}/scheduled`)], [[], ['owls.txt']]);
  assert.equal((await submit({ ...NEWER, save: '1' }, [MORE])).status, 303);
  assert.equal((await submit({ ...NEWER, save: '1' }, [OWLS])).status, 303, 'what both hold takes its bytes once');
  assert.deepEqual([filesOf(FORM), filesOf(`${FORM}/scheduled`)], [['more.txt', 'owls.txt'], ['owls.txt']]);
  assert.equal((await submit({ ...NEWER, save: '1' }, [{ filename: 'many.txt', data: 'Many more owls' }])).status, 422);
  setUsage(hub, 1_000); // no quota keeps what was scheduled from going out
  assert.deepEqual(await published(hub, ada), AS_SCHEDULED);
  assert.deepEqual(filesOf('/posts/1/edit'), ['more.txt'], 'the post has the other one');
  assert.equal((await submitForm(hub, ada, '/posts/1/edit', { ...NEWER, save: '1' }, [])).status, 303);
});

test('Unschedule ends a schedule and loses no text: on the page with what is typed there, and by the API', async (t) => {
  const { hub, ada, submit, opened, titles, filesOf } = await hubWithScheduled(t);
  assert.match(await opened(), /<button class="link" form="post" name="unschedule"/);
  assert.equal((await submit({ ...TYPED, publishAt: NEWER.publishAt, unschedule: '1' })).headers.get('location'), `${FORM}?said=post-unscheduled`);
  assert.deepEqual([titles(), filesOf(FORM), drafts(hub.handle).scheduled(1, FORM)], [['Owls'], ['owls.txt'], undefined]);
  assert.match(await opened(), /This is your draft/);

  await submit({ ...TYPED, publishAt: NEWER.publishAt });
  assert.equal((await submit({ ...NEWER, unschedule: '1' })).status, 303);
  assert.deepEqual(titles(), ['Newer owls', 'Owls']);
  const older = drafts(hub.handle).list(1).find(({ title }) => title === 'Owls')?.form ?? assert.fail();
  assert.match(await opened(older), /This is your draft[^]*value="Owls"[^]*owls\.txt/);
  assert.match(await opened(), /This is your draft[^]*value="Newer owls"[^]*owls\.txt/);
  assert.deepEqual(await published(hub, ada), []);

  const made = (await ada.post('/api/posts', { sourceId: 1, title: 'Newts', content: 'Two', publishAt: '2030-01-15T20:00:00Z' })).json<{ draftId: number; url: string }>();
  const patch = (values: object, id = made.draftId, as = ada) => as.patch(`/api/posts/${id}`, values);
  await ada.post(`${new URL(made.url).pathname}/draft`, { ...TYPED, title: 'Newer newts' });
  for (const publishAt of ['2030-01-15T21:00:00Z', 0, '', false, {}, [], { toString: 1 }]) {
    const refused = await patch({ publishAt });
    assert.deepEqual([refused.status, pointersOf(refused)], [422, ['/publishAt']], JSON.stringify(publishAt));
  }
  assert.equal((await patch({ publishAt: null }, made.draftId, await hub.person('bob'))).status, 404);
  assert.notEqual(drafts(hub.handle).scheduled(1, new URL(made.url).pathname), undefined);
  for (const _ of [1, 2]) {
    const ended = await patch({ publishAt: null });
    assert.deepEqual([ended.status, ended.json()], [200, { ...made, title: 'Newer newts', publishAt: null }]);
  }
  assert.deepEqual(titles(), ['Newer newts', 'Newer owls', 'Newts', 'Owls']);
  await hub.work(DAY);
  assert.deepEqual(await publicTitles(hub), []);
  const { id } = (await ada.post('/api/posts', { sourceId: 1, title: 'Out', content: 'x' })).json<{ id: number }>();
  drafts(hub.handle).discard(1, id);
  assert.equal((await patch({ title: 'Out now', publishAt: null }, id)).json<ShownPost>().title, 'Out now');
});

test('scheduling or publishing the newer draft takes the place of the older schedule, also if the form is sent twice', async (t) => {
  const { hub, ada, submit, opened, titles } = await hubWithScheduled(t);
  hub.passTime(HOUR);
  const late = await publishDraft.run(hub.handle, { draftId: 1 }, new AbortController().signal, undefined as never);
  await ada.post(`${FORM}/draft`, NEWER);
  const later = { ...NEWER, publishAt: '2030-01-15T18:00', ...formOn(await opened()).hidden };
  for (const _ of [1, 2]) assert.equal((await submit(later)).status, 303);
  assert.deepEqual([titles(), drafts(hub.handle).list(1).length], [['Newer owls'], 1]);
  hub.db.write('end job', () => late?.());
  assert.deepEqual(await published(hub, ada), []);
  await ada.post(`${FORM}/draft`, { ...TYPED, title: 'Newest owls' });
  const now = { ...TYPED, title: 'Newest owls', ...formOn(await opened()).hidden };
  for (const _ of [1, 2]) assert.equal((await submit(now)).headers.get('location'), '/posts/1?said=post-published');
  assert.deepEqual(await published(hub, ada), [['Newest owls', 'Five', ['owls.txt']]]);
  assert.deepEqual([titles(), drafts(hub.handle).due(hub.now() + DAY, 9)], [[], []]);
  assertUsageIsRight(hub);
});

test('a schedule ends while its job runs, and nothing goes out; of two tabs, the older is told of the newer draft', async (t) => {
  const { hub, ada, submit, opened } = await hubWithScheduled(t);
  const [one, two] = [formOn(await opened()).hidden, formOn(await opened()).hidden];
  assert.equal((await ada.post(`${FORM}/draft`, { ...NEWER, ...one })).status, 200);
  assert.equal((await ada.post(`${FORM}/draft`, { ...TYPED, ...two, title: 'Other owls' })).status, 409);
  hub.passTime(2 * HOUR);
  const { id = 0 } = drafts(hub.handle).scheduled(1, FORM) ?? {};
  const store = await publishDraft.run(hub.handle, { draftId: id }, new AbortController().signal, undefined as never);
  await submit({ ...NEWER, unschedule: '1' });
  hub.db.write('end job', () => store?.());
  assert.deepEqual(await published(hub, ada), []);
});

test('discarding the newer draft leaves the schedule, restoring brings it back beside it, and discarding the schedule leaves the draft', async (t) => {
  const { hub, ada, opened, titles, filesOf, submit } = await hubWithScheduled(t);
  await submit({ ...NEWER, save: '1' }, [MORE]);
  const idOf = (name: string) => drafts(hub.handle).list(1).find(({ title }) => title === name)?.id ?? assert.fail(name);
  await ada.form(`/drafts/${idOf('Newer owls')}/discard`);
  assert.deepEqual([titles(), filesOf(FORM)], [['Owls'], ['owls.txt']]);
  assert.match(await opened(), /at 13:00[^]*What you change here becomes[^]*value="Owls"/);
  assert.equal((await ada.form(`/drafts/${idOf('Newer owls')}/restore`)).headers.get('location'), `${FORM}?said=draft-restored`);
  assert.match(await opened(), /at 13:00[^]*value="Newer owls"[^]*owls\.txt[^]*more\.txt/);
  assert.deepEqual([titles(), filesOf(`${FORM}/scheduled`)], [['Newer owls', 'Owls'], ['owls.txt']]);
  await ada.form(`/drafts/${idOf('Owls')}/discard`);
  assert.deepEqual([titles(), filesOf(FORM)], [['Newer owls'], ['owls.txt', 'more.txt']]);
  assert.equal((await ada.form(`/drafts/${idOf('Owls')}/restore`)).status, 422, 'the form has a newer draft');
  assert.deepEqual(await published(hub, ada), []);
});

test('a full list of drafts keeps no scheduled post from being changed, and no old draft beside a schedule is removed', async (t) => {
  const { hub, ada, titles } = await hubWithScheduled(t);
  for (let n = 1; n < MAX_DRAFTS; n++) await ada.post(`/write/${String(n).padEnd(16, 'x')}/draft`, { title: 'x' });
  assert.equal((await ada.post(`/write/${'y'.repeat(16)}/draft`, { title: 'x' })).status, 422);
  assert.equal((await ada.post(`${FORM}/draft`, NEWER)).status, 200);
  assert.equal((await ada.patch('/api/posts/1', { publishAt: null })).status, 200);
  assert.equal(titles().length, MAX_DRAFTS + 1);
  assert.equal((await ada.post(`/write/${'y'.repeat(16)}/draft`, { title: 'x' })).status, 422);

  const far = { ...NEWER, title: 'Far', publishAt: '2030-10-15T13:00' };
  assert.equal((await submitForm(hub, ada, FORM, far, [])).status, 422, 'not beyond the limit');
  await ada.form(`/drafts/${drafts(hub.handle).find(1, `/write/${'1'.padEnd(16, 'x')}`)?.id}/discard`);
  assert.equal((await submitForm(hub, ada, FORM, far, [])).status, 303);
  await ada.post(`${FORM}/draft`, { ...far, title: 'Farther' });
  hub.passTime(100 * DAY);
  drafts(hub.handle).removeOld(100);
  assert.deepEqual(titles(), ['Far', 'Farther']);
});

test('however often a scheduled post is changed, discarded and unscheduled, its author has twice the drafts at most, and room for a new one', async (t) => {
  const { hub, ada, titles, submit } = await hubWithScheduled(t);
  const count = () => drafts(hub.handle).list(1).length;
  for (let n = 0; n < 2 * MAX_DRAFTS; n++) {
    await ada.post(`${FORM}/draft`, { ...NEWER, title: `Newer ${n}` });
    await ada.form(`/drafts/${drafts(hub.handle).find(1, FORM)?.id}/discard`);
  }
  assert.deepEqual([titles(), count()], [['Owls'], 2 * MAX_DRAFTS]);
  assert.equal((await ada.post(`/write/${'y'.repeat(16)}/draft`, { title: 'x' })).status, 200);
  assert.equal(count(), MAX_DRAFTS);

  let status = 303;
  for (let n = 0; status === 303; n++) {
    await ada.post(`${FORM}/draft`, { ...NEWER, title: `Newer ${n}` });
    await submit({ ...NEWER, title: `Newer ${n}`, unschedule: '1' });
    ({ status } = await submit({ ...NEWER, title: `Again ${n}` }));
  }
  assert.deepEqual([status, count()], [422, MAX_DRAFTS + 1]);
});

test('a schedule that cannot be kept, and one in a restored hub, becomes a draft beside the newer one, and its author is told', async (t) => {
  const { hub } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  const sourceId = String(await addNotes(bob));
  const ends = [async () => hub.db.write('restore', () => unscheduleAll(hub.handle)), () => bob.delete(`/api/sources/${sourceId}`)];
  for (const [n, end] of ends.entries()) {
    const form = `/write/${String(n).padEnd(16, 'x')}`;
    const publishAt = new Date(hub.now() + HOUR).toISOString();
    assert.equal((await submitForm(hub, bob, form, { ...TYPED, sourceId, publishAt }, [])).status, 303);
    await bob.post(`${form}/draft`, { ...NEWER, sourceId });
    await end();
    await hub.work(2 * HOUR);
    assert.deepEqual(drafts(hub.handle).list(2).map(({ publishAt: at }) => at), Array(2 + 2 * n).fill(null));
    const [told = assert.fail()] = await itemsAt<{ title: string; path: string }>(bob, '/api/notifications');
    assert.match(told.title, /“Owls” (was not published|is a draft again)/);
    assert.equal(drafts(hub.handle).find(2, told.path)?.fields['title'], 'Owls', 'the message leads to what did not go out');
  }
  assert.deepEqual(await publicTitles(hub), []);
});

test('a post that was taken back, scheduled and then changed goes out with its address and its readers’ marks; for another source, the newer draft stays a draft', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  await sendJson(bob, 'PUT', '/api/sources/1/follow', {});
  const { id } = (await ada.post('/api/posts', { sourceId, title: 'Owls', content: 'x' })).json<{ id: number }>();
  await sendJson(bob, 'PUT', `/api/posts/${id}/star`, {});
  const form = new URL((await ada.post(`/api/posts/${id}/withdraw`)).json<{ url: string }>().url).pathname;
  const other = String(await addNotes(ada, 'Other'));
  assert.equal((await submitForm(hub, ada, form, { ...TYPED, publishAt: NEWER.publishAt }, [])).status, 303);
  await ada.post(`${form}/draft`, { ...NEWER, sourceId: other });
  assert.deepEqual((await published(hub, ada)).map(([title]) => title), ['Owls']);
  assert.equal((await bob.get(`/api/posts/${id}`)).status, 200);
  assert.deepEqual((await itemsAt<ShownPost>(bob, '/api/posts?view=starred')).map(({ title }) => title), ['Owls']);
  const [draft] = drafts(hub.handle).list(1);
  assert.deepEqual([draft?.title, draft?.isWithdrawn, /^\/write\//.test(draft?.form ?? '')], ['Newer owls', 0, true]);
  assert.equal((await submitForm(hub, ada, draft?.form ?? '', { ...NEWER, sourceId: other, publishAt: '' }, [])).status, 303);
  assert.equal((await notificationTitles(bob)).length, 0);
  assert.deepEqual((await publicTitles(hub)).toSorted(), ['Newer owls', 'Owls']);
});
