// Protects drafts that are saved while somebody writes: none is lost or overwritten silently, each comes with its files.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { draftFiles } from '../../../src/features/attachments/draft-file-store.ts';
import { uploads } from '../../../src/features/attachments/attachment-store.ts';
import { drafts } from '../../../src/features/writing/draft-store.ts';
import { DAY, HOUR } from '../../../src/platform/clock.ts';
import { addPost, itemsAt } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { formOn, hubWithOwnPosts, submitForm } from '../../support/own-posts.ts';
import { countRows } from '../../support/stored-rows.ts';
import { assertUsageIsRight } from '../../support/stored-uploads.ts';
import { pdf } from '../../support/sample-files.ts';

const TYPED = { sourceId: '1', title: 'Owls at dusk', content: 'Five of them.', contentType: 'text/plain', url: '' };
const OWLS = { filename: 'owls.txt', data: 'Five owls.' };
const [TAB, OTHER] = ['tab-aaaaaaaaaaaa', 'tab-bbbbbbbbbbbb'];

async function hubWithForm(t: TestContext, env: Record<string, string> = {}) {
  const made = await hubWithOwnPosts(t, env);
  const { path } = formOn((await made.ada.page('/write')).text);
  const save = (fields: Record<string, string>) => made.ada.post(`${path}/draft`, { ...TYPED, ...fields });
  const draft = () => drafts(made.hub.handle).find(1, path);
  return { ...made, path, save, draft };
}

const lists = async (client: Client): Promise<string> =>
  /<details class="drafts files"[^]*?<\/details>/.exec((await client.page('/write')).text)?.[0] ?? '';

test('each form for a new post has its own draft, which the page “Write” lists until the post is published', async (t) => {
  const { hub, ada, path, save } = await hubWithForm(t);
  assert.equal((await save({})).json<{ revision: number }>().revision, 1);
  assert.equal((await ada.post('/write/another-one-here/draft', { content: 'Without a title' })).status, 200);
  const list = await lists(ada);
  assert.match(list, /2 drafts/);
  assert.match(list, new RegExp(`href="${path}">Owls at dusk</a>`));
  assert.match(list, /href="\/write\/another-one-here">Without a title</);
  const form = (await ada.page('/write')).text;
  assert.doesNotMatch(form, /value="Owls at dusk"/, 'a new form is empty');
  assert.match((await ada.page(path)).text, /value="Owls at dusk"[^]*Five of them\./);

  assert.equal((await submitForm(hub, ada, path, { ...TYPED, tab: TAB, revision: '1' }, [])).status, 303);
  assert.doesNotMatch(await lists(ada), /Owls at dusk/);
  assert.equal((await itemsAt(ada, '/api/posts')).length, 1);
});

test('of two tabs with one draft, the later is told that the other has saved, and replaces its text only knowingly', async (t) => {
  const { hub, ada, path, save, draft } = await hubWithForm(t);
  assert.equal((await save({ tab: TAB, revision: '0', title: 'First' })).status, 200);
  assert.equal((await save({ tab: TAB, revision: '0', title: 'First, again' })).status, 200, 'the answer was lost');
  assert.equal((await save({ tab: OTHER, revision: '2', title: 'Second' })).status, 200);
  const late = await save({ tab: TAB, revision: '2', title: 'Third' });
  assert.equal(late.status, 409);
  assert.equal(late.json<{ revision: number }>().revision, 3);
  assert.equal(draft()?.fields['title'], 'Second');

  for (const button of [{}, { save: '1' }]) {
    const sent = await submitForm(hub, ada, path, { ...TYPED, title: 'Third', tab: TAB, revision: '2', ...button }, []);
    assert.equal(sent.status, 409);
    assert.match(sent.text, /changed in another tab[^]*value="Third"/);
    assert.match(sent.text, /name="revision"\s+value="3"/, 'pressing again replaces the other text');
  }
  assert.equal(draft()?.fields['title'], 'Second');
  assert.deepEqual(await itemsAt(ada, '/api/posts'), []);
  assert.equal((await save({ tab: TAB, revision: '3', title: 'Third' })).status, 200);
  assert.equal(draft()?.fields['title'], 'Third');
});

test('a draft has its files after a refusal, a preview and a new session, and the post has them', async (t) => {
  const { hub, ada, path, draft } = await hubWithForm(t);
  const refused = await submitForm(hub, ada, path, { ...TYPED, url: 'no address' }, [OWLS]);
  assert.equal(refused.status, 422);
  assert.match(refused.text, /class="name">owls\.txt</);
  assert.doesNotMatch(refused.text, /choose the files again/);
  const paper = { filename: 'paper.pdf', data: pdf() };
  assert.equal((await submitForm(hub, ada, path, { ...TYPED, preview: '1' }, [paper])).status, 200);
  assert.equal((await submitForm(hub, ada, path, { ...TYPED, save: '1' }, [{ filename: 'not.txt', data: 'needed' }])).headers.get('location'), `${path}?said=draft-saved`);
  const [, , needless] = draftFiles(hub.handle).ofDraft(draft()?.id ?? 0);
  assert.equal((await submitForm(hub, ada, path, { ...TYPED, remove: String(needless?.id) }, [])).status, 303);
  assertUsageIsRight(hub);

  for (let days = 0; days < 4; days++) await hub.work(DAY + HOUR);
  const shown = (await ada.page(path)).text;
  assert.deepEqual(shown.match(/(?<=class="name">)[\w.]+(?=<)/g)?.filter((name) => /\./.test(name)), ['owls.txt', 'paper.pdf']);
  assert.equal((await submitForm(hub, ada, path, TYPED, [])).status, 303);
  const [post] = await itemsAt<{ attachments: { filename: string }[] }>(ada, '/api/posts');
  assert.deepEqual(post?.attachments.map(({ filename }) => filename), ['owls.txt', 'paper.pdf']);
  assert.equal(countRows(hub, 'draft_files'), 0);
  assertUsageIsRight(hub);
});

test('a change of a post keeps its files with its draft too', async (t) => {
  const { hub, ada, sourceId } = await hubWithForm(t);
  const id = await addPost(ada, sourceId);
  const edit = `/posts/${id}/edit`;
  assert.equal((await submitForm(hub, ada, edit, { ...TYPED, save: '1' }, [OWLS])).status, 303);
  assert.match(await lists(ada), new RegExp(`href="${edit}">Owls at dusk</a>[^]*change of a post`));
  assert.equal((await submitForm(hub, ada, edit, TYPED, [])).status, 303);
  const post = (await ada.get(`/api/posts/${id}`)).json<{ title: string; attachments: object[] }>();
  assert.deepEqual([post.title, post.attachments.length, await lists(ada)], ['Owls at dusk', 1, '']);
  const bob = await hub.person('bob');
  assert.equal((await bob.post(`${edit}/draft`, TYPED)).status, 403);
});

test('the file of a draft counts for the quota; when the draft goes the file goes a day later', async (t) => {
  const { hub, ada, path } = await hubWithForm(t, { UPLOAD_QUOTA_BYTES: '15' });
  await submitForm(hub, ada, path, { ...TYPED, save: '1' }, [OWLS]);
  const over = await submitForm(hub, ada, path, { ...TYPED, save: '1' }, [{ filename: 'b.txt', data: 'Six owls.' }]);
  assert.equal(over.status, 422);
  assert.match(over.text, /quota/);
  await ada.form('/drafts/1/discard');
  await hub.work(DAY + HOUR);
  assert.deepEqual([countRows(hub, 'drafts'), countRows(hub, 'draft_files')], [0, 0]);
  assert.equal(uploads(hub.handle).usageOf(1), 0);
  assertUsageIsRight(hub);
  for (let days = 0; days < 3; days++) await hub.work(DAY + HOUR);
  assert.equal(countRows(hub, 'uploads'), 0);
});

test('a discarded draft can be restored for a day with its files, by nobody but its author', async (t) => {
  const { hub, ada, path } = await hubWithForm(t);
  const bob = await hub.person('bob');
  await submitForm(hub, ada, path, { ...TYPED, save: '1' }, [OWLS]);
  await bob.form('/drafts/1/discard');
  assert.match(await lists(ada), /href="[^"]*">Owls at dusk/);
  await ada.form('/drafts/1/discard');
  assert.doesNotMatch((await ada.page(path)).text, /value="Owls at dusk"/);
  assert.match(await lists(ada), /Owls at dusk<\/span>[^]*action="\/drafts\/1\/restore"/);
  assert.equal((await bob.form('/drafts/1/restore')).status, 404);
  await hub.work(DAY - HOUR);
  assert.equal((await ada.form('/drafts/1/restore')).headers.get('location'), `${path}?said=draft-restored`);
  assert.match((await ada.page(path)).text, /value="Owls at dusk"[^]*owls\.txt/);
  await ada.form('/drafts/1/discard');
  await hub.work(DAY + HOUR);
  assert.deepEqual([(await ada.form('/drafts/1/restore')).status, await lists(ada)], [404, '']);
});

test('a discarded draft of a change comes back only when no newer draft of the change would be lost', async (t) => {
  const { ada, sourceId } = await hubWithForm(t);
  const edit = `/posts/${await addPost(ada, sourceId)}/edit`;
  await ada.post(`${edit}/draft`, { ...TYPED, title: 'Old' });
  await ada.form('/drafts/1/discard');
  await ada.post(`${edit}/draft`, { ...TYPED, title: 'New' });
  assert.equal((await ada.form('/drafts/1/restore')).status, 422);
  assert.match((await ada.page(edit)).text, /value="New"/);
  await ada.form('/drafts/2/discard');
  assert.equal((await ada.form('/drafts/1/restore')).status, 303);
  assert.match((await ada.page(edit)).text, /value="Old"/);
});

test('what is sent late does not replace what another tab has saved since: that can be restored', async (t) => {
  const { hub, ada, path, save, draft } = await hubWithForm(t);
  const { action } = formOn((await ada.page(path)).text);
  await save({ tab: OTHER, revision: '0', title: 'Of the other tab' });
  await ada.delete('/api/session');
  const kept = await submitForm(hub, ada, action, { ...TYPED, tab: TAB, revision: '0' }, []);
  const secret = /\?kept=[\w-]+/.exec(kept.text)?.[0] ?? assert.fail();
  await ada.post('/api/session', { username: 'ada', password: hub.password });
  assert.match((await ada.page(path + secret)).text, /value="Owls at dusk"/);
  assert.equal(draft()?.fields['title'], 'Owls at dusk');
  assert.match(await lists(ada), /Of the other tab<\/span>[^]*restore/);
});

test('a draft that the script sends is checked like a form, and a wrong path or too long text saves nothing', async (t) => {
  const { ada, path, save, draft } = await hubWithForm(t);
  assert.equal((await save({ content: 'x'.repeat(400_001) })).status, 422);
  assert.equal((await ada.post('/write/short/draft', TYPED)).status, 404);
  assert.equal((await ada.post(`${path}/draft`, { ...TYPED, title: 7, other: 'x' })).status, 200);
  assert.deepEqual(Object.keys(draft()?.fields ?? {}), ['sourceId', 'title', 'content', 'contentType', 'url']);
  assert.equal(formOn((await ada.page(path)).text).hidden['revision'], '1');
});
