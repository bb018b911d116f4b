// Protects what somebody is writing: neither a refusal nor the end of a session loses it, and nobody else gets it.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { drafts } from '../../../src/features/writing/draft-store.ts';
import { DAY } from '../../../src/platform/clock.ts';
import { addNotes, addPost, itemsAt, leave } from '../../support/accounts.ts';
import { createClient, type Client } from '../../support/client.ts';
import type { Hub } from '../../support/hub.ts';
import { storedPosts } from '../../support/stored-posts.ts';
import { countRows } from '../../support/stored-rows.ts';
import { formOn, hubWithOwnPosts, submitForm } from '../../support/own-posts.ts';

/** For the source of bob, who comes after ada. */
const TYPED = {
  sourceId: '2', title: 'Owls at dusk', content: 'Five of them.\n<Two> young.', contentType: 'text/plain', url: '',
};

async function hubOfWriters(t: TestContext, env: Record<string, string> = {}) {
  const { hub, ada } = await hubWithOwnPosts(t, env);
  const bob = await hub.person('bob');
  const sourceId = await addNotes(bob);
  assert.equal(String(sourceId), TYPED.sourceId);
  return { hub, ada, bob, sourceId, write: '/write/abcdefghijklmnop' };
}

const OWLS = { filename: 'owls.txt', data: 'Five owls.' };

const pathOfDraft = (n: number): string => `/write/${String(n).padEnd(16, 'x')}`;

/** Saves a draft as the script of the page does. */
function saveDraft(client: Client, path: string, fields: Record<string, string>) {
  return client.post(`${path}/draft`, fields);
}

const actionOf = async (client: Client, path: string): Promise<string> => formOn((await client.page(path)).text).action;

/** The address behind the sign-in of that page, which the person goes through. */
async function signInOn(hub: Hub, page: string, username: string): Promise<{ browser: Client; next: string }> {
  const next = /name="next" value="([^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&');
  assert.ok(next);
  const browser = createClient(hub.address);
  const signedIn = await browser.form('/sign-in', { username, password: hub.password, next });
  assert.equal(signedIn.status, 303);
  return { browser, next: signedIn.headers.get('location') ?? '' };
}

/** How many drafts bob has, without those that wait for somebody to sign in. */
const shown = ({ handle }: Hub) => drafts(handle).listOf(2, 0, 100).filter(({ form }) => drafts(handle).find(2, form)).length;

test('a post that was refused is there when the form is opened again, until it is published', async (t) => {
  const { hub, ada, bob, sourceId, write } = await hubOfWriters(t);
  const action = await actionOf(bob, write);
  const refused = await submitForm(hub, bob, action, { ...TYPED, url: 'no address' }, []);
  assert.equal(refused.status, 422);

  const again = await bob.page(write);
  assert.match(again.text, /value="Owls at dusk"/);
  assert.match(again.text, /Five of them\.\r?\n&lt;Two(?:>|&gt;) young/);
  assert.doesNotMatch((await ada.page(write)).text, /Owls at dusk/, 'an administrator is somebody else');
  assert.equal((await submitForm(hub, bob, action, TYPED, [])).status, 303);
  assert.equal(shown(hub), 0);
  assert.doesNotMatch((await bob.page(write)).text, /Owls at dusk/);
  assert.equal((await itemsAt(bob, `/api/posts?source=${sourceId}`)).length, 1);
});

test('what is sent after the session ended is in the form again once the same account has signed in', async (t) => {
  const { hub, bob, sourceId, write } = await hubOfWriters(t);
  const action = await actionOf(bob, write);
  hub.passTime(31 * DAY);
  const answer = await submitForm(hub, bob, action, TYPED, [{ filename: 'a.txt', data: 'a file' }]);
  assert.equal(answer.status, 401);
  assert.match(answer.text, /<h1>Your session has ended<\/h1>/);
  assert.match(answer.text, /files again/);
  assert.doesNotMatch(answer.text, /Five of them/, 'whoever sits there next reads nothing');
  assert.equal(shown(hub), 0, 'not before somebody has signed in');

  const { browser, next } = await signInOn(hub, answer.text, 'bob');
  const form = await browser.page(next);
  assert.match(form.text, /value="Owls at dusk"/);
  assert.match((await browser.page(write)).text, /value="Owls at dusk"/, 'from now on it is a draft like any other');
  assert.equal(countRows(hub, 'drafts'), 1);
  assert.equal((await submitForm(hub, browser, await actionOf(browser, write), TYPED, [])).status, 303);
  assert.equal(countRows(hub, 'drafts'), 0);
  assert.equal((await itemsAt(browser, `/api/posts?source=${sourceId}`)).length, 1);
});

test('who signs in as somebody else gets nothing of it, and the owner still does', async (t) => {
  const { hub, bob, write } = await hubOfWriters(t);
  const action = await actionOf(bob, write);
  await bob.delete('/api/session');
  const answer = await submitForm(hub, bob, action, TYPED, []);
  assert.equal(answer.status, 401);

  const { browser: ada, next } = await signInOn(hub, answer.text, 'ada');
  assert.doesNotMatch((await ada.page(next)).text, /Owls at dusk/);
  assert.doesNotMatch((await ada.get('/api/account/export')).text, /Owls at dusk/);
  const { browser } = await signInOn(hub, answer.text, 'bob');
  assert.match((await browser.page(next)).text, /value="Owls at dusk"/);
});

test('only who was shown the form can have words kept, for a while, and not at other forms', async (t) => {
  const { hub, bob, write } = await hubOfWriters(t);
  const action = await actionOf(bob, write);
  await bob.delete('/api/session');
  const [, proof = ''] = action.split('?');
  const forged = [
    '/write', `/posts/1/edit?${proof}`, action.replace(/draft=\d+/, 'draft=1'), `${action}0`,
    '/write?draft=2.9999999999999.x',
  ];
  for (const path of forged) {
    const answer = await submitForm(hub, bob, path, TYPED, []);
    assert.equal(answer.status, 401, path);
    assert.doesNotMatch(answer.text, /files again/, path);
  }
  const elsewhere = await fetch(hub.address + action, { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } });
  assert.equal(elsewhere.status, 403);
  assert.equal(countRows(hub, 'drafts'), 0);
  hub.passTime(60 * DAY);
  await submitForm(hub, bob, action, TYPED, []);
  assert.equal(countRows(hub, 'drafts'), 0, 'the form is two months old');
});

test('an API token is shown no proof, and takes up no words that wait', async (t) => {
  const { hub, bob, write } = await hubOfWriters(t);
  const made = await bob.post('/api/tokens', { name: 'p', scope: 'read', currentPassword: hub.password });
  const bearer = { authorization: `Bearer ${made.json<{ token: string }>().token}` };
  const action = await actionOf(bob, write);
  assert.match((await hub.anybody.get(write, bearer)).text, /write\/\w+\?draft="/);
  await bob.delete('/api/session');
  const kept = /\?kept=[\w-]+/.exec((await submitForm(hub, bob, action, TYPED, [])).text)?.[0];
  assert.ok(kept);
  assert.doesNotMatch((await hub.anybody.get(write + kept, bearer)).text, /Owls at dusk/);
  assert.equal(shown(hub), 0);
});

test('words that wait for somebody to sign in are few, take turns, and are gone after a day', async (t) => {
  const { hub, bob, write } = await hubOfWriters(t);
  const action = await actionOf(bob, write);
  await bob.delete('/api/session');
  const statuses: number[] = [];
  for (let n = 0; n < 12; n++) statuses.push((await submitForm(hub, bob, action, TYPED, [])).status);
  assert.deepEqual(statuses, [...Array(10).fill(401), 429, 429]);
  assert.equal(countRows(hub, 'drafts'), 3);
  await hub.work(DAY);
  assert.equal(countRows(hub, 'drafts'), 0);
});

test('nothing is kept for an account that is disabled or has left', async (t) => {
  const { hub, ada, bob, write } = await hubOfWriters(t);
  const action = await actionOf(bob, write);
  await ada.patch('/api/admin/accounts/2', { disabled: true, currentPassword: hub.password });
  assert.equal((await submitForm(hub, bob, action, TYPED, [])).status, 401);
  assert.equal(countRows(hub, 'drafts'), 0);
});

test('an account has thirty drafts at most; the next one is refused, and replaces only a discarded one', async (t) => {
  const { hub, bob } = await hubOfWriters(t);
  const save = (n: number) => saveDraft(bob, pathOfDraft(n), { ...TYPED, title: `Draft ${n}` });
  for (let n = 0; n < 30; n++) assert.equal((await save(n)).status, 200);
  const refused = await save(30);
  assert.deepEqual([refused.status, shown(hub)], [422, 30]);
  assert.match(refused.text, /You may have 30 drafts\. Publish or discard one first/);
  assert.equal((await bob.form('/drafts/1/discard')).status, 303);
  assert.equal((await save(30)).status, 200);
  assert.equal(countRows(hub, 'drafts'), 30);
  assert.equal((await bob.form('/drafts/1/restore')).status, 404, 'its place was needed');
});

test('drafts are in the export with their files, and go with the account', async (t) => {
  const { hub, bob, sourceId, write } = await hubOfWriters(t);
  await submitForm(hub, bob, write, { ...TYPED, save: '1' }, [OWLS]);
  type Part = { form: string; title: string; files: { filename: string; bytes: number }[] };
  const { drafts: [draft] } = (await bob.get('/api/account/export')).json<{ drafts: Part[] }>();
  assert.deepEqual([draft?.form, draft?.title, draft?.files[0]?.filename, draft?.files[0]?.bytes], [write, TYPED.title, 'owls.txt', 10]);
  await bob.delete(`/api/sources/${sourceId}`);
  await hub.work();
  assert.equal((await leave(hub, bob)).status, 204);
  assert.deepEqual([countRows(hub, 'drafts'), countRows(hub, 'draft_files')], [0, 0]);
});

const LONGEST = 400_000;

test('what is too long is refused by name, its beginning is kept, and the page says how much is not', async (t) => {
  const { hub, bob, write } = await hubOfWriters(t);
  const content = `${'&<"\''.repeat(LONGEST / 4)}the end of it`;
  const refused = await submitForm(hub, bob, write, { ...TYPED, content }, []);
  assert.equal(refused.status, 422);
  assert.match(refused.text, /at most 400000 characters/);
  assert.match(refused.text, /The text has 400,013 characters, 13 more than it may have\. The first 400,000 characters are kept, the last 13 are not\./);
  assert.match(refused.text, /Press Back in your browser/);
  assert.doesNotMatch(refused.text, /Your text is still here|the end of it/);
  assert.equal(drafts(hub.handle).listOf(2, 0, 10)[0]?.fields['content']?.length, LONGEST);
  assert.doesNotMatch((await bob.page(write)).text, /more than it may have/, 'all that is kept is shown');
});

test('no field of a draft is longer than that of a post, whichever way it is kept, and nothing else is kept', async (t) => {
  const { hub, bob, write } = await hubOfWriters(t);
  const long = '𠮷'.repeat(30_000);
  const wrong = { ...TYPED, title: long, url: `x${long}`, contentType: long, sourceId: long, other: long };
  const action = await actionOf(bob, write);
  const refused = await submitForm(hub, bob, action, wrong, []);
  assert.equal(refused.status, 422);
  assert.match(refused.text, /The title has 60,000 characters, 59,500 more than it may have/);
  await bob.delete('/api/session');
  assert.match((await submitForm(hub, bob, action, wrong, [])).text, /The link has 60,001 characters/);
  const kept = drafts(hub.handle).listOf(2, 0, 10);
  assert.equal(kept.length, 2);
  for (const { fields } of kept) {
    const lengths = Object.entries(fields).map(([name, text]) => [name, text.length]);
    assert.deepEqual(lengths, [
      ['sourceId', 20], ['title', 500], ['content', TYPED.content.length], ['contentType', 20], ['url', 1_999],
    ], 'a character of two units is kept whole or not at all');
  }
});

test('a line end counts as one character, as it does for the browser that lets a person type so many', async (t) => {
  const { hub, bob, sourceId, write } = await hubOfWriters(t);
  const content = `${'a\r\n'.repeat(LONGEST / 2 - 1)}bc`;
  assert.equal((await submitForm(hub, bob, write, { ...TYPED, content: `${content}d` }, [])).status, 422);
  assert.equal((await submitForm(hub, bob, write, { ...TYPED, content }, [])).status, 303);
  assert.equal((await itemsAt(bob, `/api/posts?source=${sourceId}`)).length, 1);
});

test('a text that is too long to be read does not take the place of a draft, and the page says that it is not kept', async (t) => {
  const { hub, bob, write } = await hubOfWriters(t);
  await submitForm(hub, bob, write, { ...TYPED, url: 'no address' }, []);
  const refused = await submitForm(hub, bob, write, { ...TYPED, content: 'x'.repeat(2 * 1024 * 1024) }, []);
  assert.equal(refused.status, 413);
  assert.match(refused.text, /your text did not arrive/);
  assert.match(refused.text, /value="Owls at dusk"/, 'what came before it is there');
  assert.match((await bob.page(write)).text, /Five of them\./, 'the draft of before is still there');
});

test('a draft of 1.0.0 that is too long is shown as far as a post may go, and is whole in the export', async (t) => {
  const { hub, bob, sourceId, write } = await hubOfWriters(t);
  const content = `${'&'.repeat(1_900_000)}the end of it`;
  const edit = `/posts/${await addPost(bob, sourceId)}/edit`;
  for (const form of [write, edit]) {
    drafts(hub.handle).save(2, form, { ...TYPED, content });
    const { status, text } = await bob.page(form);
    assert.equal(status, 200);
    assert.ok(text.length < 2.1e6, String(text.length));
    assert.match(text, /The text has 1,900,013 characters, 1,500,013 more than it may have\. The first 400,000 characters are shown/);
    assert.match(text, /export of your data/);
  }
  const { drafts: all } = (await bob.get('/api/account/export')).json<{ drafts: { content: string }[] }>();
  assert.deepEqual(all.map((draft) => draft.content === content), [true, true]);
});

test('a post whose markup became longer than a form holds can be opened, changed and saved whole', async (t) => {
  const { hub, bob, sourceId } = await hubOfWriters(t);
  const content = '<a href="http://a.test/">"a" > \'b\' &amp;</a> '.repeat(5_000);
  const values = { ...TYPED, sourceId: String(sourceId), content, contentType: 'text/html' };
  const path = (await submitForm(hub, bob, '/write', values, [])).headers.get('location')?.replace(/\?.*/, '') ?? '';
  const stored = (): string | undefined => storedPosts(hub)[0]?.content;
  const before = stored() ?? '';
  assert.ok(before.length > LONGEST);
  const { text } = await bob.page(`${path}/edit`);
  assert.doesNotMatch(text, /more than it may have/);
  const shown = /<textarea[^>]*>\r?\n([^]*?)<\/textarea>/.exec(text)?.[1] ?? '';
  const typed = shown.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  assert.equal((await submitForm(hub, bob, `${path}/edit`, { ...values, content: typed }, [])).status, 303);
  assert.equal(stored(), before);
});
