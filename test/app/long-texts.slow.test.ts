// Protects long posts: as many characters as promised in every form, not one more, whatever limit files have.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubWithOwnPosts, submitForm } from '../support/own-posts.ts';

const MAX_CHARACTERS = 400_000;
const MIB = 1024 * 1024;

/** As long as each may be, of characters that take three or four bytes. */
const TEXTS: Record<string, string> = {
  'a three-byte script': '漢'.repeat(MAX_CHARACTERS),
  'characters of four bytes, which count as two': '𠮷'.repeat(MAX_CHARACTERS / 2),
  'letters of two bytes and one': 'éa'.repeat(MAX_CHARACTERS / 2),
};

for (const [what, content] of Object.entries(TEXTS)) {
  test(`a form takes ${MAX_CHARACTERS} characters in ${what}, however small files may be, and not one more`, async (t) => {
    const { hub, ada, sourceId } = await hubWithOwnPosts(t, { UPLOAD_MAX_BYTES: '1000' });
    const values = {
      sourceId: String(sourceId), title: '漢'.repeat(500), content, contentType: 'text/plain',
      url: `https://example.org/?${'x'.repeat(1_900)}`,
    };
    const files = [{ filename: 'a.txt', data: 'x'.repeat(1_000) }];

    const byApi = await submitForm(hub, ada, '/api/posts', values, files);
    assert.equal(byApi.status, 201, byApi.text.slice(0, 300));
    const { id, contentHtml } = JSON.parse(byApi.text) as { id: number; contentHtml: string };
    assert.equal(contentHtml, `<p>${content}</p>`);
    const byPage = await submitForm(hub, ada, `/posts/${id}/edit`, { ...values, title: 'Changed' }, []);
    assert.equal(byPage.status, 303, byPage.text.slice(0, 300));
    assert.match((await ada.page(`/posts/${id}`)).text, /<h1[^>]*>Changed/);

    const tooLong = await submitForm(hub, ada, `/posts/${id}/edit`, { ...values, content: `${content}x` }, []);
    assert.equal(tooLong.status, 422);
    assert.match(tooLong.text, /at most 400000 characters/);
    assert.ok(tooLong.text.includes(content), 'what was typed is there');
  });
}

test('a text of which every character has to be escaped is stored whole', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  for (const [character, escaped] of [['&', '&amp;'], ['"', '&quot;']] as const) {
    const content = character.repeat(MAX_CHARACTERS);
    const made = await submitForm(hub, ada, '/api/posts', { sourceId: String(sourceId), title: 'T', content }, []);
    assert.equal(made.status, 201);
    const { contentHtml } = JSON.parse(made.text) as { contentHtml: string };
    assert.equal(contentHtml.length, '<p></p>'.length + escaped.length * MAX_CHARACTERS);
  }
});

test('JSON takes as long a text, also with every character written as an escape', async (t) => {
  const { ada, sourceId } = await hubWithOwnPosts(t);
  const post = (characters: number) => ada.send('POST', '/api/posts', {
    headers: { 'content-type': 'application/json' },
    body: `{"sourceId":${sourceId},"title":"T","contentType":"text/plain","content":"${'\\u6f22'.repeat(characters)}"}`,
  });

  const made = await post(MAX_CHARACTERS);
  assert.equal(made.status, 201, made.text.slice(0, 300));
  assert.equal((JSON.parse(made.text) as { contentHtml: string }).contentHtml, `<p>${'漢'.repeat(MAX_CHARACTERS)}</p>`);
  assert.equal((await post(MAX_CHARACTERS + 1)).status, 422);
  assert.equal((await post(MAX_CHARACTERS * 2)).status, 413);
});

test('fields of more than 2 MiB are refused', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const values = (bytes: number) => ({ sourceId: String(sourceId), title: 'T', content: 'x'.repeat(bytes) });

  assert.equal((await submitForm(hub, ada, '/api/posts', values(2 * MIB - 100), [])).status, 422, 'it is read, and too long');
  assert.equal((await submitForm(hub, ada, '/api/posts', values(2 * MIB), [])).status, 413);
});

test('files of small limits are counted by themselves: four times the largest, and not a byte more', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t, { UPLOAD_MAX_BYTES: '1000' });
  const values = { sourceId: String(sourceId), title: 'T', content: 'x'.repeat(10_000) };
  const files = (last: number) => [1_000, 1_000, 1_000, 999, last].map((size, index) =>
    ({ filename: `${index}.txt`, data: `${index}`.repeat(size) }));

  const tooMuch = await submitForm(hub, ada, '/api/posts', values, files(2));
  assert.equal(tooMuch.status, 413);
  assert.match(tooMuch.text, /The files together may have at most 4000 bytes/);
  assert.equal((await submitForm(hub, ada, '/api/posts', values, files(1))).status, 201);
});
