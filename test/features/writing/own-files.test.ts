// Protects files in the text of a post: a text names its files, which nobody but their author sees before publishing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachments, uploads } from '../../../src/features/attachments/attachment-store.ts';
import { contentWithImages } from '../../../src/features/attachments/own-files.ts';
import { posts } from '../../../src/features/posts/post-store.ts';
import { itemsAt } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import type { Hub } from '../../support/hub.ts';
import { getFile, hubWithOwnPosts, submitForm, withoutKeys } from '../../support/own-posts.ts';
import { pdf, png } from '../../support/sample-files.ts';
import { formOf, sendForm, type SentFile } from '../../support/uploads.ts';

type Shown = { id: number; contentHtml: string; attachments: { filename: string; url: string }[] };

const OWL = { filename: 'owl.png', data: png({ width: 40, height: 30 }) };
const FORM = '/write/abcdefghijklmnop';
const TYPED = { sourceId: '1', title: 'Owls', contentType: 'text/markdown', url: '' };
const TEXT = '![An **owl**](owl.png) [the paper](paper.pdf) [no](missing.pdf) [up](../sources) ![gone](gone.png) [a](/all) [b](#c)';

/** Sends one file as the script of the page does. */
async function upload(hub: Hub, client: Client, file: SentFile, fields: Record<string, string> = {}) {
  const form = formOf({ ...TYPED, content: '', save: '1', ...fields }, [file]);
  const answer = await sendForm(hub, client, FORM, form, 'application/json');
  type Stored = { revision: number; detail: string; files: { id: number; filename: string }[] };
  return { status: answer.status, ...answer.json<Stored>() };
}

test('a file is uploaded at once into the draft; a refused file says why and leaves the other files', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const [owl] = (await upload(hub, ada, OWL)).files;
  assert.deepEqual([owl?.id, owl?.filename], [1, 'owl.png']);
  const refused = await upload(hub, ada, { filename: 'owl.exe', data: 'MZ' });
  assert.equal(refused.status, 415);
  assert.match(refused.detail, /owl\.exe|not accepted/);
  const again = await upload(hub, ada, OWL);
  assert.deepEqual(again.files.map(({ filename }) => filename), ['owl.png', 'owl-2.png'], 'each file has a name of its own');
  assert.equal(again.revision, 2);
});

test('a text names its files: a preview and the post show them, and other relative addresses lead to pages of the hub', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  for (const file of [OWL, { filename: 'paper.pdf', data: pdf() }]) await upload(hub, ada, file);
  const preview = (await ada.post(`${FORM}/draft`, { ...TYPED, content: TEXT, preview: '1' })).json<{ preview: string }>().preview;
  assert.match(withoutKeys(preview.replace(/-1-[0-9a-f]{16}/, '-1-KEY')), /<img src="\/attachments\/-1-KEY\/owl\.png" alt="An owl" width="40" height="30"/);
  const path = /src="([^"]+)"/.exec(preview)?.[1] ?? assert.fail();
  const statuses = [];
  for (const as of [ada, bob, undefined]) statuses.push((await getFile(hub, path, as ? { as } : {})).status);
  assert.deepEqual(statuses, [200, 404, 404], 'nobody else sees the file of a draft');
  assert.equal((await getFile(hub, path.replace(/-[0-9a-f]{16}/, '-0123456789abcdef'), { as: ada })).status, 404);

  assert.equal((await submitForm(hub, ada, FORM, { ...TYPED, content: TEXT }, [])).status, 303);
  const [post = assert.fail()] = await itemsAt<Shown>(ada, '/api/posts');
  const shown = withoutKeys(post.contentHtml.replaceAll(hub.config.baseUrl, ''));
  assert.match(shown, /<img src="\/attachments\/1-KEY\/owl\.png" alt="An owl"[^>]*> <a href="\/attachments\/2-KEY\/paper\.pdf">the paper<\/a>/);
  assert.match(shown, /<a>no<\/a> <a href="\/sources">up<\/a> <a>gone<\/a> <a href="\/all">a<\/a> <a>b<\/a>/);
  const [files, { contentHtml = '' } = {}] = [attachments(hub.handle).ofPosts([post.id]), posts(hub.handle).find(post.id)];
  let signed = 0;
  const sign = (path: string): string => `${path}?n=${++signed}`;
  const many = contentWithImages(hub.handle, { attachments: files, contentHtml: contentHtml.repeat(50) }, '', undefined, sign);
  assert.deepEqual([signed, many.split('owl.png?n=').length], [2, 51], 'each file is signed once, however often a text shows the file');
  const page = (await hub.anybody.page(`/posts/${post.id}`)).text;
  assert.equal(page.match(/<img src="\/attachments/g)?.length, 1, 'the picture stands in the text, and not once more beside it');
  assert.match(page, /1 attachment<\/h2>[^]*paper\.pdf/);
  for (const feed of ['/posts.atom', '/posts.json', '/api/posts']) {
    const { text } = await hub.anybody.get(feed);
    assert.ok(text.includes('/owl.png'), feed);
    assert.doesNotMatch(text, /\.invalid/, feed);
  }
});

test('a picture in a text stays when its post is edited, and is no picture once its file is gone or infected', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  await upload(hub, ada, OWL);
  await submitForm(hub, ada, FORM, { ...TYPED, content: '![An owl](owl.png)' }, []);
  const shown = async (): Promise<string> => (await ada.get('/api/posts/1')).json<Shown>().contentHtml;
  const edited = await submitForm(hub, ada, '/posts/1/edit', { ...TYPED, content: '![Two owls](owl.png)', preview: '1' }, []);
  assert.match(edited.text, /<img src="\/attachments\/1-[0-9a-f]{16}\/owl\.png" alt="Two owls"/);
  await ada.patch('/api/posts/1', { content: '<img src="owl.png" alt="Two owls">', contentType: 'text/html' });
  assert.match(await shown(), /<img src="[^"]*owl\.png" alt="Two owls"/);
  uploads(hub.handle).setScan(/[0-9a-f]{64}/.exec((await ada.get('/api/posts/1')).text)?.[0] ?? '', 'infected');
  assert.match(await shown(), /^<a>Two owls<\/a>$/);
  await ada.delete('/api/attachments/1');
  assert.match(await shown(), /^<a>Two owls<\/a>$/);
});
