// Protects the way of files into posts: through form and API, by those who may, stored once.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { addNotes } from '../../support/accounts.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { withoutKeys } from '../../support/own-posts.ts';
import { gif, jpeg, pdf, png, webp, avif } from '../../support/sample-files.ts';
import { sha256 } from '../../support/sha256.ts';
import { storedActs } from '../../support/stored-accounts.ts';
import {
  addFiles, assertFilesMatchRows, filesIn, formWith, hubWithWriter, openFilesIn, sendForm, uploadPath, uploadRows,
  writePost, writer, type Attachment, type PostAnswer,
} from '../../support/uploads.ts';

const SIZE = { width: 3, height: 2 };

const SAMPLES: { filename: string; data: Buffer; mediaType: string }[] = [
  { filename: 'owl.png', data: png(SIZE), mediaType: 'image/png' },
  { filename: 'owl.JPG', data: jpeg({ width: 8, height: 8 }), mediaType: 'image/jpeg' },
  { filename: 'owl.gif', data: gif(SIZE), mediaType: 'image/gif' },
  { filename: 'owl.webp', data: webp(SIZE), mediaType: 'image/webp' },
  { filename: 'owl.avif', data: avif(), mediaType: 'image/avif' },
  { filename: 'owl.pdf', data: pdf(), mediaType: 'application/pdf' },
  { filename: 'owl.txt', data: Buffer.from('Hoot, said the öwl.\n'), mediaType: 'text/plain' },
  { filename: 'owl.md', data: Buffer.from('# Hoot\n'), mediaType: 'text/markdown' },
];

test('a form with one file of each admitted type makes a post with them, in their order', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const answer = await sendForm(hub, client, '/api/posts',
    formWith({ sourceId: String(sourceId), title: 'Eight owls', content: 'Look.' }, SAMPLES));

  assert.equal(answer.status, 201, answer.text);
  const post = answer.json<PostAnswer>();
  assert.deepEqual([post.title, post.contentHtml], ['Eight owls', '<p>Look.</p>']);
  const shown = post.attachments.map((file) => ({ ...file, url: withoutKeys(file.url) }));
  assert.deepEqual(shown, post.attachments.map(({ id }, index) => {
    const { filename = '', data = '', mediaType } = SAMPLES[index] ?? {};
    const url = `${hub.config.baseUrl}/attachments/${id}-KEY/${filename}`;
    return {
      id, kind: 'native', filename, mediaType, bytes: data.length, sha256: sha256(data), url, scan: 'unscanned',
    };
  }));
  assert.equal(post.attachments.length, SAMPLES.length);
  assert.deepEqual((await hub.anybody.get(`/api/posts/${post.id}`)).json(), post);
  assertFilesMatchRows(hub);
  assert.deepEqual([filesIn(hub.dataDir).tmp, openFilesIn(hub.dataDir)], [[], []]);
  assert.equal(statSync(uploadPath(hub.dataDir, sha256(png(SIZE)))).mode & 0o777, 0o600);
});

test('files are added to a post and taken off again, the others keep their place', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const post = await writePost(hub, { client, sourceId }, [{ filename: 'a.txt', data: 'a' }]);
  const added = await addFiles(hub, client, post.id,
    [{ filename: 'b.txt', data: 'b' }, { filename: 'c.txt', data: 'c' }]);

  assert.equal(added.status, 201, added.text);
  const { items, ...more } = added.json<{ items: Attachment[] }>();
  assert.deepEqual(more, {});
  assert.deepEqual(items.map(({ filename }) => filename), ['b.txt', 'c.txt']);
  const shown = async () => (await hub.anybody.get(`/api/posts/${post.id}`)).json<PostAnswer>().attachments;
  assert.deepEqual(await shown(), [...post.attachments, ...items]);

  assert.equal((await client.delete(`/api/attachments/${items[0]?.id}`)).status, 204);
  assert.equal((await client.delete(`/api/attachments/${items[0]?.id}`)).status, 404);
  assert.equal((await hub.anybody.get(new URL(items[0]?.url ?? '').pathname)).status, 404);
  assert.deepEqual((await shown()).map(({ filename }) => filename), ['a.txt', 'c.txt']);
  const acts = ['post.files-added', 'attachment.deleted'];
  assert.deepEqual(storedActs(hub).map(({ act }) => act).filter((act) => acts.includes(act)), acts);
});

test('only owner and administrator add and remove files', async (t) => {
  const { hub, root: admin } = await hubWith(t, ['root']);
  const ada = await writer(hub, 'ada');
  const hidden = { client: ada.client, sourceId: await addNotes(ada.client, 'Notes', 'private') };
  const eve = await hub.person('eve');
  const file = { filename: 'a.txt', data: 'a' };
  const [open, secret] = [await writePost(hub, ada, [file]), await writePost(hub, hidden, [file])];
  const remove = async (client: typeof eve, post: PostAnswer) =>
    (await client.delete(`/api/attachments/${post.attachments[0]?.id}`)).status;

  assert.deepEqual([await remove(eve, open), await remove(eve, secret)], [403, 404]);
  const button = `/attachments/${open.attachments[0]?.id}/delete`;
  assert.equal((await eve.form(button)).status, 403);
  const headers = { 'sec-fetch-site': 'cross-site', 'content-type': 'application/x-www-form-urlencoded' };
  assert.equal((await ada.client.send('POST', button, { headers })).status, 403, 'from elsewhere');
  assert.equal((await addFiles(hub, eve, open.id, [file])).status, 403);
  assert.equal(uploadRows(hub.db)[0]?.attachments, 2);
  assert.equal((await addFiles(hub, admin, open.id, [file])).status, 201);
  assert.deepEqual([await remove(admin, open), await remove(ada.client, secret)], [204, 204]);
});

test('an API token uploads like its owner', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const { token } = (await client.post('/api/tokens', { name: 'ci', currentPassword: hub.password })).json<{ token: string }>();
  const form = new FormData();
  form.append('title', 'By a program');
  form.append('attachments', new Blob(['report']), 'report.txt');
  form.append('sourceId', String(sourceId)); // the file may come first
  const answer = await fetch(`${hub.address}/api/posts`, {
    method: 'POST', body: form, headers: { authorization: `Bearer ${token}` },
  });

  assert.equal(answer.status, 201, await answer.clone().text());
  assert.equal((await answer.json() as PostAnswer).attachments[0]?.sha256, sha256('report'));
});

test('the same bytes are stored once, under whatever names and by whomever', async (t) => {
  const hub = await startHub(t);
  const [ada, bob] = [await writer(hub, 'ada'), await writer(hub, 'bob')];
  const data = png(SIZE);
  const first = await writePost(hub, ada, [{ filename: 'one.png', data }, { filename: 'two.png', data }]);
  const kept = uploadPath(hub.dataDir, sha256(data));
  const second = await writePost(hub, bob, [{ filename: 'three.png', data }]);

  const names = [...first.attachments, ...second.attachments].map(({ filename, sha256 }) => [filename, sha256]);
  assert.deepEqual(names, ['one.png', 'two.png', 'three.png'].map((name) => [name, sha256(data)]));
  assert.deepEqual(uploadRows(hub.db),
    [{ sha256: sha256(data), bytes: data.length, scan: 'unscanned', attachments: 3 }]);
  assert.deepEqual(filesIn(hub.dataDir), { uploads: [sha256(data)], tmp: [] });
  await ada.client.delete(`/api/posts/${first.id}`);
  assert.deepEqual(readFileSync(kept), data);
  assert.equal((await hub.anybody.get(new URL(second.attachments[0]?.url ?? '').pathname)).status, 200);
});

test('a file is shown and saved under the last part of its name, without characters that hide or mislead', async (t) => {
  const hub = await startHub(t);
  const ada = await writer(hub, 'ada');
  for (const [sent, shown, saved = `"${shown}"`] of [
    ['../../etc/passwd.txt', 'passwd.txt'],
    ['exe\u202etxt.txt', 'exetxt.txt'],
    ['Cafe\u0301 \u{1f989}.txt', 'Caf\u00e9 \u{1f989}.txt', `"Cafe _.txt"; filename*=UTF-8''Caf%C3%A9%20%F0%9F%A6%89.txt`],
    ['<script>alert(1)</script>.txt', 'script>.txt'],
    ['a?b#c&d=e.txt', 'a?b#c&d=e.txt'],
  ] as const) {
    const [attachment] = (await writePost(hub, ada, [{ filename: sent, data: 'x' }])).attachments;
    assert.equal(attachment?.filename, shown);
    const path = withoutKeys(new URL(attachment.url).pathname);
    assert.equal(path, `/attachments/${attachment.id}-KEY/${encodeURIComponent(shown)}`);
    const { text, headers } = await hub.anybody.get(new URL(attachment.url).pathname);
    assert.deepEqual([text, headers.get('content-disposition')], ['x', `attachment; filename=${saved}`]);
    assert.deepEqual(filesIn(hub.dataDir), { uploads: [sha256('x')], tmp: [] });
  }
});

test('a file input left empty is no file; files of another field, or none at all, are refused', async (t) => {
  const { hub, ada: { client, sourceId } } = await hubWithWriter(t);
  const post = await writePost(hub, { client, sourceId }, [{ filename: '', data: '' }]);
  assert.deepEqual(post.attachments, []);

  const nothing = await addFiles(hub, client, post.id, [{ filename: '', data: '' }]);
  assert.equal(nothing.status, 422, nothing.text);
  const { errors } = nothing.json<{ errors: { pointer: string }[] }>();
  assert.deepEqual(errors.map(({ pointer }) => pointer), ['/attachments']);
  const form = new FormData();
  form.append('files', new Blob(['x']), 'x.txt');
  const body = new Response(form);
  const { status, text } = await client.send('POST', `/api/posts/${post.id}/attachments`, {
    body: await body.text(), headers: { 'content-type': body.headers.get('content-type') ?? '' },
  });
  assert.equal(status, 400, text);
  assert.equal((await client.post(`/api/posts/${post.id}/attachments`, {})).status, 415);
  assert.deepEqual(filesIn(hub.dataDir), { uploads: [], tmp: [] });
});
