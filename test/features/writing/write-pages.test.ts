// Protects the form for own posts: a preview stores nothing but the draft, addresses become links, refusals say where.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { addNotes, publicTitles } from '../../support/accounts.ts';
import type { Hub } from '../../support/hub.ts';
import { hubWithOwnPosts, submitForm } from '../../support/own-posts.ts';
import { pdf } from '../../support/sample-files.ts';
import { INFECTED, startScanner } from '../../support/scanner.ts';
import { countRows } from '../../support/stored-rows.ts';
import type { SentFile } from '../../support/uploads.ts';

const TEXT = 'See https://example.org/a_(b)?x=1&y=2. And (http://example.org/c), <script>https://u:p@example.org/</script>';
const LINKED = new RegExp([
  '<p[^>]*>See ', String.raw`<a href="https://example\.org/a_\(b\)\?x=1&amp;y=2"[^>]*>https://example\.org/a_\(b\)\?x=1&amp;y=2</a>`,
  String.raw`\. And \(<a href="http://example\.org/c"[^>]*>http://example\.org/c</a>\)`,
  ', &lt;script&gt;https://u:p@example.org/&lt;/script&gt;</p>',
].join(''));

test('a preview shows the post as it would be, sanitised and with links, and keeps nothing but the draft', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const send = (fields: Record<string, string>) =>
    submitForm(hub, ada, '/write', { sourceId: String(sourceId), ...fields }, []);
  const markup = '<h2>Owls</h2><script>alert(1)</script><p onclick="x()">Five</p>';

  const shown = await send({ title: 'A <b>', content: TEXT, preview: '1' });
  assert.equal(shown.status, 200);
  assert.match(shown.text, /<section class="panel preview"[^]*<h3 dir="auto">A &lt;b&gt;<\/h3>/);
  assert.match(shown.text, LINKED);
  const asMarkup = await send({ title: 'Owls', content: markup, contentType: 'text/html', preview: '1' });
  assert.match(asMarkup.text, /<h2[^>]*>Owls<\/h2><p[^>]*>Five<\/p>/);
  assert.deepEqual(await publicTitles(hub), []);
  const again = await ada.page('/write');
  assert.match(again.text, /value="Owls"[^]*&lt;h2&gt;Owls&lt;\/h2&gt;/, 'the draft is there');
  assert.match(again.text, /class="panel preview"[^>]*hidden>/);
  const refused = await send({ title: '', content: 'x', preview: '1' });
  assert.equal(refused.status, 422);
  assert.match(refused.text, /name="title"[^>]*aria-invalid="true" aria-describedby="fault-title" autofocus/);
});

test('one is offered one’s own sources, told who reads each, and never somebody else’s', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  assert.match((await bob.page('/write')).text, /action="\/write\/source"/, 'who has none makes one first');
  const made = await bob.form('/write/source', { title: 'Field notes', visibility: 'private' });
  const own = /^\/write\?source=(\d+)&said=own-source-made$/.exec(made.headers.get('location') ?? '')?.[1];
  const secret = await addNotes(ada, 'Secret', 'private');
  const form = (await bob.page('/write')).text;
  assert.match(form, new RegExp(`name="sourceId" value="${own}" required checked[^]*Field notes</span> <small>Only you can read it`));
  assert.equal(form.match(/name="sourceId"/g)?.length, 1);
  for (const other of [sourceId, secret]) {
    assert.equal((await bob.page(`/write?source=${other}`)).status, other === secret ? 404 : 403);
    const sent = await submitForm(hub, bob, '/write', { sourceId: String(other), title: 'Owls', content: 'Five' }, []);
    assert.equal(sent.status, other === secret ? 404 : 403);
    assert.match(sent.text, /value="Owls"/, 'nothing is lost');
    assert.doesNotMatch(sent.text, /<span\s+dir="auto">(?:Notes|Secret)</);
  }
  const both = (await ada.page('/write')).text;
  assert.doesNotMatch(both, /name="sourceId"[^>]*checked/, 'of two none is chosen, so that nobody publishes by mistake');
  assert.match(both, /Notes<\/span> <small>Everyone can read it/);
  assert.match((await ada.page(`/write?source=${secret}`)).text, new RegExp(`value="${secret}" required checked`));
  assert.match((await ada.page(`/write?source=${own}`)).text, /Field notes<\/span> <small>Only its owner can read it/);
  const feed = await ada.post('/api/sources', { kind: 'webhook', title: 'Hook' });
  assert.equal((await ada.page(`/write?source=${feed.json<{ id: number }>().id}`)).status, 409);
});

test('addresses in plain text become links, which the form shows as the text that was typed', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const sent = await submitForm(hub, ada, '/write', { sourceId: String(sourceId), title: 'Owls', content: TEXT }, []);
  assert.deepEqual([sent.status, sent.headers.get('location')], [303, '/posts/1?said=post-published']);
  assert.match((await ada.page('/posts/1?said=post-published')).text, /class="said" role="status">[^]*is published/);
  assert.match((await ada.get('/api/posts/1')).json<{ contentHtml: string }>().contentHtml, LINKED);
  const form = (await ada.page('/posts/1/edit')).text;
  assert.match(form, /See https:\/\/example\.org\/a_\(b\)\?x=1&amp;y=2\. And \(http:\/\/example\.org\/c\), &lt;script&gt;/);
  assert.doesNotMatch(form, /value="text\/html" selected/);
  const changed = await submitForm(hub, ada, '/posts/1/edit', { title: 'Owls', content: 'Four.' }, []);
  assert.equal(changed.headers.get('location'), '/posts/1?said=post-saved');
});

test('a refused file is named at the field, which has the focus, and nothing that was typed is lost', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const files = [{ filename: 'owl.exe', data: Buffer.from('MZ\u0000\u0001\u0002') }];
  const refused = await submitForm(hub, ada, '/write', { sourceId: String(sourceId), title: 'Owls', content: '\n\nFive' }, files);
  assert.equal(refused.status, 415);
  assert.match(refused.text, /<textarea[^>]*>(\r?\n){3}Five<\/textarea>/, 'a browser drops the first line end');
  assert.match(refused.text, /name="attachments"[^>]*aria-invalid="true" aria-describedby="fault-attachments" autofocus/);
  assert.match(refused.text, /id="fault-attachments" role="alert">[^<]*owl\.exe/);
  assert.match(refused.text, /Your text is still here/);
  assert.match((await ada.page('/write')).text, /value="Owls"/, 'it is a draft');
});

const TYPED = { sourceId: '1', title: 'Owls at dusk', content: 'Five of them.\nTwo young.' };

function assertKept(status: number, text: string, wanted: number, message: RegExp): void {
  assert.equal(status, wanted, text);
  assert.match(text, message);
  assert.match(text, /value="Owls at dusk"/);
  assert.match(text, /Five of them\.\r?\nTwo young\./);
}

function assertNothingStored(hub: Hub): void {
  assert.deepEqual(readdirSync(join(hub.dataDir, 'tmp')), []);
  assert.equal(countRows(hub, 'posts'), 0);
}

test('too many files, or an infected one, are refused on the page with a message, and what was typed stays', async (t) => {
  const scanner = await startScanner(t, INFECTED);
  const { hub, ada } = await hubWithOwnPosts(t, { VIRUS_SCAN_URL: `${scanner.url}/scan` });
  const send = (files: SentFile[]) => submitForm(hub, ada, '/write', TYPED, files);

  const many = await send(Array.from({ length: 11 }, (_, n) => ({ filename: `${n}.pdf`, data: pdf() })));
  assertKept(many.status, many.text, 413, /at most 10 files/);
  const infected = await send([{ filename: 'bad.pdf', data: pdf() }]);
  assertKept(infected.status, infected.text, 422, /bad\.pdf is infected/);
  assertNothingStored(hub);
});

test('when the database cannot grow, the page says so, keeps what was typed, and takes it once there is space', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const send = () => submitForm(hub, ada, '/write', { ...TYPED, content: `${TYPED.content}\n\n${'x'.repeat(90_000)}` }, []);
  const before = Number(hub.db.pragma('max_page_count'));
  hub.db.pragma(`max_page_count = ${String(hub.db.pragma('page_count'))}`);

  const refused = await send();
  assertKept(refused.status, refused.text, 503, /cannot store or read its data right now/);
  assert.equal(refused.headers.get('retry-after'), '30');
  assertNothingStored(hub);
  assert.ok(hub.logged().some(({ event }) => event === 'post not stored'), 'the operator is told');

  hub.db.pragma(`max_page_count = ${before}`);
  assert.equal((await send()).status, 303);
});
