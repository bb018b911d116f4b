// Protects forms that are sent twice or from two copies: no post comes twice, no text replaces another silently.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { draftFiles } from '../../../src/features/attachments/draft-file-store.ts';
import { drafts } from '../../../src/features/writing/draft-store.ts';
import { HOUR } from '../../../src/platform/clock.ts';
import { addNotes, addPost, itemsAt } from '../../support/accounts.ts';
import type { Answer, Client } from '../../support/client.ts';
import { formOn, hubWithOwnPosts, submitForm, type ShownPost } from '../../support/own-posts.ts';
import { assertUsageIsRight } from '../../support/stored-uploads.ts';

const TYPED = { sourceId: '1', title: 'Owls at dusk', content: 'Five of them.', contentType: 'text/markdown', url: '' };
const OWLS = { filename: 'owls.txt', data: 'Five owls.' };

async function hubWithForms(t: TestContext) {
  const made = await hubWithOwnPosts(t);
  /** Opens a form; returns a function that fills in and sends the form. */
  const open = async (path: string, client: Client = made.ada) => {
    const { action, hidden } = formOn((await client.page(path)).text);
    return (fields: Record<string, string> = {}, files: (typeof OWLS)[] = []): Promise<Answer> =>
      submitForm(made.hub, client, action, { ...TYPED, ...hidden, ...fields }, files);
  };
  /** Sends the form of a page that shows a refused form again. */
  const again = ({ text }: Answer, fields: Record<string, string> = {}): Promise<Answer> => {
    const { action, hidden } = formOn(text);
    return submitForm(made.hub, made.ada, action, { ...TYPED, ...hidden, ...fields }, []);
  };
  const titles = async () => (await itemsAt<ShownPost>(made.ada, '/api/posts')).map(({ title }) => title);
  return { ...made, open, again, titles };
}

test('a form that is sent twice, at once or one after the other, publishes one post, and both answers lead to the post', async (t) => {
  const { hub, ada, open, titles } = await hubWithForms(t);
  const send = await open('/write');
  const both = await Promise.all([send({}, [OWLS]), send({}, [OWLS])]);
  const third = await send({}, [OWLS]);
  assert.deepEqual([...both, third].map(({ status }) => status), [303, 303, 303]);
  assert.deepEqual(new Set([...both, third].map(({ headers }) => headers.get('location'))), new Set(['/posts/1?said=post-published']));
  assert.deepEqual(await titles(), ['Owls at dusk']);
  assert.deepEqual((await itemsAt<ShownPost>(ada, '/api/posts'))[0]?.attachments.map(({ filename }) => filename), ['owls.txt']);

  const path = formOn((await ada.page('/write')).text).path;
  const withDraft = await open(path);
  await ada.post(`${path}/draft`, { ...TYPED, title: 'With a draft', tab: 'tab-of-the-draft', revision: '0' });
  const known = { title: 'With a draft', tab: 'tab-of-the-draft', revision: '1' };
  const published = [await withDraft(known), await withDraft(known)];
  assert.deepEqual(published.map(({ headers }) => headers.get('location')), Array(2).fill('/posts/2?said=post-published'));
  assert.equal((await ada.page(path)).headers.get('location'), '/posts/2', 'the address of the form leads to the post');

  const save = await open('/posts/2/edit');
  const saved = [await save({ title: 'Changed' }, [OWLS]), await save({ title: 'Changed' }, [OWLS])];
  assert.deepEqual(saved.map(({ headers }) => headers.get('location')), Array(2).fill('/posts/2?said=post-saved'));
  assert.equal((await ada.get('/api/posts/2')).json<ShownPost>().attachments.length, 1);
  assert.deepEqual(await titles(), ['Changed', 'Owls at dusk']);
  assertUsageIsRight(hub);
});

test('a draft of version 1.0.0, whose form had no path of its own, becomes one post if its form is sent twice', async (t) => {
  const { hub, ada, open, titles } = await hubWithForms(t);
  drafts(hub.handle).save(1, '/write', TYPED);
  const send = await open('/write');
  assert.equal(drafts(hub.handle).list(1).length, 1);
  const both = await Promise.all([send({}, [OWLS]), send({}, [OWLS])]);
  assert.deepEqual(both.map(({ headers }) => headers.get('location')), Array(2).fill('/posts/1?said=post-published'));
  assert.deepEqual([await titles(), drafts(hub.handle).list(1)], [['Owls at dusk'], []]);
  assert.doesNotMatch((await ada.page('/write')).text, /Owls at dusk/);
});

test('a post that is taken back twice at once has one draft; a post taken back and a post for later are published once', async (t) => {
  const { hub, ada, open, titles } = await hubWithForms(t);
  await addPost(ada, 1);
  const [form = '', ...same] = (await Promise.all([1, 2].map(() => ada.form('/posts/1/withdraw')))).map(({ headers }) => headers.get('location') ?? '');
  assert.deepEqual(same, [form]);
  const send = await open(form);
  const both = await Promise.all([send(), send()]);
  assert.deepEqual(both.map(({ headers }) => headers.get('location')), Array(2).fill('/posts/1?said=post-published'));

  const later = await open('/write');
  for (const _ of [1, 2]) assert.equal((await later({ title: 'Later', publishAt: '2030-01-15T12:10' }, [OWLS])).status, 303);
  const [draft] = drafts(hub.handle).list(1);
  assert.deepEqual(draftFiles(hub.handle).ofDraft(draft?.id ?? 0).map(({ filename }) => filename), ['owls.txt']);
  await hub.work(HOUR);
  assert.deepEqual(await titles(), ['Later', 'Owls at dusk']);
  assert.equal((await later({ title: 'Later' })).headers.get('location'), '/posts/2?said=post-published');
});

test('a form whose post was taken back publishes the post again only if its author wants', async (t) => {
  const { ada, open, again, titles } = await hubWithForms(t);
  const send = await open('/write');
  await send();
  assert.equal((await ada.form('/posts/1/withdraw')).status, 303);
  const late = await send();
  assert.equal(late.status, 409);
  assert.match(late.text, /The post of this form was taken back into a draft\.[^]*value="Owls at dusk"/);
  assert.deepEqual(await titles(), []);
  assert.match((await ada.page(formOn(late.text).path)).headers.get('location') ?? '', /^\/write\/[\w-]{16}$/, 'the draft');
  assert.equal((await again(late)).headers.get('location'), '/posts/2?said=post-published');
});

test('a form whose post was deleted, or taken back and discarded, publishes the post again only if its author wants', async (t) => {
  const { ada, open, again, titles } = await hubWithForms(t);
  const send = await open('/write');
  await send();
  assert.equal((await ada.delete('/api/posts/1')).status, 204);
  for (const _ of [1, 2]) {
    const late = await send();
    assert.equal(late.status, 409);
    assert.match(late.text, /The post of this form was deleted\.[^]*value="Owls at dusk"/);
  }
  assert.equal((await send({ title: 'Other owls' })).status, 409);
  const path = formOn((await send()).text).path;
  assert.equal((await ada.post(`${path}/draft`, { ...TYPED, tab: 'tab-of-the-draft', revision: '0' })).status, 409, 'the script is told too');
  assert.deepEqual(await titles(), []);
  const late = await send();
  const both = [await again(late), await again(late)];
  assert.deepEqual(both.map(({ headers }) => headers.get('location')), Array(2).fill('/posts/2?said=post-published'));

  await ada.form('/posts/2/withdraw');
  const { form } = (await ada.page(path)).headers.get('location')?.match(/(?<form>.*)/)?.groups ?? {};
  const draft = /\/drafts\/(\d+)\/discard/.exec((await ada.page(form ?? '')).text)?.[1];
  assert.equal((await ada.form(`/drafts/${draft}/discard`)).status, 303);
  const discarded = await again(late);
  assert.equal(discarded.status, 409);
  assert.match(discarded.text, /The post of this form was taken back into a draft/);
  assert.equal((await ada.page(path)).status, 200, 'no draft to lead to');
});

test('an administrator who deletes a post in another member’s source can publish again from the form of the post', async (t) => {
  const { hub, ada, open } = await hubWithForms(t);
  const place = String(await addNotes(await hub.person('bob'), 'Of Bob'));
  const send = await open(`/write?source=${place}`);
  const paths: (string | null)[] = [];
  for (const id of [1, 2]) {
    paths.push((await send({ sourceId: place })).headers.get('location'));
    await ada.delete(`/api/posts/${id}`);
  }
  assert.deepEqual(paths, ['/posts/1?said=post-published', '/posts/2?said=post-published']);
});

test('the address of a member’s form is of no use to another member', async (t) => {
  const { hub, ada, open, titles } = await hubWithForms(t);
  const send = await open('/write');
  await send();
  const { action, path } = formOn((await ada.page('/write')).text);
  const bob = await hub.person('bob');
  const place = await addNotes(bob, 'Of Bob');
  await submitForm(hub, ada, action, { ...TYPED, title: 'By Ada' }, []);
  assert.equal((await bob.page(path)).status, 200);
  assert.equal((await submitForm(hub, bob, path, { ...TYPED, title: 'By Ada' }, [])).status, 403);
  const own = await submitForm(hub, bob, path, { ...TYPED, title: 'By Ada', sourceId: String(place) }, []);
  assert.equal(own.headers.get('location'), '/posts/3?said=post-published');
  assert.equal((await submitForm(hub, ada, action, { ...TYPED, title: 'By Ada', revision: '0' }, [])).headers.get('location'), '/posts/2?said=post-published');
  assert.deepEqual((await titles()).length, 3);
});

test('a form that is sent again with another text keeps the text, and makes a second post only if its author wants', async (t) => {
  const { ada, open, again, titles } = await hubWithForms(t);
  const send = await open('/write');
  await send();
  const other = await send({ title: 'More owls' });
  assert.equal(other.status, 409);
  assert.match(other.text, /This form has already published a post\.[^]*value="More owls"/);
  assert.match(other.text, /<a href="\/write\/[\w-]{16}" target="_blank" rel="noopener">Open the newer text/);
  assert.equal((await send({}, [OWLS])).status, 409, 'another file');
  const path = formOn(other.text).path;
  const late = await ada.post(`${path}/draft`, { ...TYPED, title: 'More owls', tab: 'tab-of-the-draft', revision: '0' });
  assert.deepEqual([late.status, late.json<{ revision: number }>().revision], [409, -1], 'the script is told too');
  assert.deepEqual(await titles(), ['Owls at dusk']);

  const more = [await again(other, { title: 'More owls' }), await again(other, { title: 'More owls' })];
  assert.deepEqual(more.map(({ headers }) => headers.get('location')), Array(2).fill('/posts/2?said=post-published'));
  assert.deepEqual(await titles(), ['More owls', 'Owls at dusk']);
});

test('if two forms edit one post, the author who saves later is told of the other text, and replaces this text only by saving again', async (t) => {
  const { hub, ada, open, again } = await hubWithForms(t);
  await addPost(ada, 1);
  const title = async () => (await ada.get('/api/posts/1')).json<ShownPost>().title;
  const [first, second] = [await open('/posts/1/edit'), await open('/posts/1/edit')];
  assert.equal((await first({ title: 'First' })).status, 303);
  const late = await second({ title: 'Second' }, [OWLS]);
  assert.equal(late.status, 409);
  assert.match(late.text, /The post was changed after you opened this form\.[^]*href="\/posts\/1" target="_blank"[^]*value="Second"[^]*owls\.txt/);
  assert.equal(await title(), 'First');
  const opened = await ada.page('/posts/1/edit');
  assert.match(opened.text, /The post was changed after you began\.[^]*value="Second"/, 'the text is a draft');
  const refused = await again(opened, { title: 'Second', url: 'no address' });
  assert.equal(refused.status, 422);
  const told = await again(refused, { title: 'Second' });
  assert.equal(told.status, 409, 'a refusal for another reason did not tell the author');
  assert.equal((await again(told, { title: 'Second' })).status, 303);
  assert.equal(await title(), 'Second');
  assert.equal((await ada.get('/api/posts/1')).json<ShownPost>().attachments.length, 1);

  const third = await open('/posts/1/edit');
  assert.equal((await ada.patch('/api/posts/1', { title: 'By a program' })).status, 200);
  assert.equal((await third({ title: 'Third' })).status, 409);
  await ada.patch('/api/posts/1', { title: 'Third', content: TYPED.content, contentType: TYPED.contentType, url: '' });
  assert.equal((await third({ title: 'Third' })).status, 303, 'both texts are the same');
  const bob = await hub.person('bob');
  await ada.patch('/api/admin/accounts/2', { role: 'admin', currentPassword: hub.password });
  const ofBob = await open('/posts/1/edit', bob);
  const both = await Promise.all([(await open('/posts/1/edit'))({ title: 'Of Ada' }), ofBob({ title: 'Of Bob' })]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [303, 409]);
});

test('of two tabs that change a post, neither overwrites the draft or the post of the other after a refusal', async (t) => {
  const { ada, open, again } = await hubWithForms(t);
  await addPost(ada, 1);
  const send = await open('/posts/1/edit');
  assert.equal((await ada.post('/posts/1/edit/draft', { ...TYPED, title: 'Draft', tab: 'tab-of-the-draft', revision: '0' })).status, 200);
  const refused = await send({ title: 'Mine', url: 'no address' });
  assert.equal(refused.status, 422);
  const late = await again(refused, { title: 'Mine' });
  assert.equal(late.status, 409);
  assert.match(late.text, /This draft was changed in another tab\.[^]*href="\/posts\/1\/edit" target="_blank"[^]*value="Mine"/);
  assert.match((await ada.page('/posts/1/edit')).text, /value="Draft"/);
  assert.equal((await again(late, { title: 'Mine' })).status, 303);
});

test('the button that removes a file of a post keeps the text of the form as a draft, but not over another draft', async (t) => {
  const { hub, ada, open } = await hubWithForms(t);
  await (await open('/write'))({}, [OWLS, { filename: 'paper.txt', data: 'Paper' }]);
  const { hidden } = formOn((await ada.page('/posts/1/edit')).text);
  const remove = (id: number) => submitForm(hub, ada, `/attachments/${id}/delete`, { ...TYPED, ...hidden, title: 'Typed', remove: String(id) }, []);
  assert.match((await ada.page('/posts/1/edit')).text, /name="remove" value="1" formaction="\/attachments\/1\/delete" formnovalidate/);
  assert.equal((await remove(1)).headers.get('location'), '/posts/1/edit?said=deleted');
  assert.match((await ada.page('/posts/1/edit')).text, /value="Typed"[^]*paper\.txt/);
  await ada.post('/posts/1/edit/draft', { ...TYPED, title: 'Elsewhere', tab: 'tab-of-the-draft', revision: '1' });
  const late = await remove(2);
  assert.equal(late.status, 409);
  assert.match(late.text, /This draft was changed in another tab\.[^]*value="Typed"/);
  assert.match((await ada.page('/posts/1/edit')).text, /value="Elsewhere"/);
  assert.deepEqual((await ada.get('/api/posts/1')).json<ShownPost>().attachments, []);
});

test('of several places, the place to which a member wrote last is chosen in a new form', async (t) => {
  const { ada, open } = await hubWithForms(t);
  await addNotes(ada, 'Diary');
  const chosen = async () => /name="sourceId" value="(\d+)" required checked/.exec((await ada.page('/write')).text)?.[1];
  assert.equal(await chosen(), undefined, 'the member has written nothing');
  for (const sourceId of ['2', '1', '2']) {
    await (await open('/write'))({ sourceId, title: `In ${sourceId}` });
    assert.equal(await chosen(), sourceId);
  }
  assert.match((await ada.page('/write?source=1')).text, /name="sourceId" value="1" required checked/);
});
