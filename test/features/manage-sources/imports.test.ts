// Protects imports of OPML by a person: progress while they run, a report for each line, folders, visibility, twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { jobs } from '../../../src/features/hub/hub.ts';
import { type ImportOutcome, imports } from '../../../src/features/manage-sources/import-store.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import type { Job } from '../../../src/platform/jobs/claim-jobs.ts';
import { importFeeds } from '../../../src/features/manage-sources/import-opml.ts';
import { addFeed, foldersOf, itemsAt, leave } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { opml, rss, serving } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { failJobs, storedJobs } from '../../support/stored-jobs.ts';
import { countRows } from '../../support/stored-rows.ts';
import { reply, startOrigin } from '../../support/origin.ts';

async function begin(client: Client, document: string, visibility = 'public'): Promise<string> {
  const begun = await client.form('/sources/import', { opml: document, visibility });
  assert.equal(begun.status, 303, begun.text);
  return begun.headers.get('location') ?? '';
}

test('an import shows how far it is, and then what became of each line', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const origin = await startOrigin(t, {
    '/good': serving(() => rss('Good', [{ guid: 'a' }])), '/open': serving(() => rss('Open', [])),
    '/mine': serving(() => rss('Mine', [])), '/gone': reply(404, {}, 'gone'),
  });
  await addFeed(ada, `${origin.url}/open`);
  await addFeed(bob, `${origin.url}/mine`);
  const outline = (name: string) => `<outline text="${name}" xmlUrl="${origin.url}/${name}"/>`;
  const document = opml(`${outline('good')}<outline text="A">${outline('open')}<outline text="B">${outline('gone')}
    </outline></outline>${outline('mine')}<outline text="Bad" xmlUrl="javascript:alert(1)"/>`);

  const page = await begin(bob, document);
  const waiting = (await bob.page(page)).text;
  assert.match(waiting, /http-equiv="refresh"[^]*1 of 5 lines of the file[^]*<progress max="5" value="1">/);
  assert.equal((await ada.page(page)).status, 404, 'it is nobody else’s');
  for (let n = 0; n < 5; n++) {
    await hub.work();
    hub.passTime(24 * 3_600_000);
  }

  const done = (await bob.page(page)).text;
  assert.doesNotMatch(done, /http-equiv="refresh"|<progress/);
  assert.match(done, /2 added, 1 followed \(already on this hub\), 1 already in your list, 1 not added\. 1 added feed cannot be fetched/);
  assert.match(done, /Good[^]*\/good[^]*>Added<[^]*open[^]*Followed: this hub already had the feed/i);
  assert.match(done, /cannot be fetched: [^]*Not added: [^]*>Added</, 'lines with problems come first');
  assert.match(done, /in A \/ B[^]*cannot be fetched: [^<]* answered 404[^]*Already in your list/);
  assert.match(done, /javascript:alert[^]*Not added: the address is not an http or https address/);
  assert.deepEqual(await foldersOf(bob), [['A', ['Open']], ['A / B', ['gone']], [null, ['Good', 'Mine']]]);

  const again = await begin(bob, document);
  await hub.work();
  assert.match((await bob.page(again)).text, /4 already in your list, 1 not added\./, 'twice changes nothing');
  assert.equal((await itemsAt(bob, '/api/sources')).length, 4);
});

test('an import asks who may read; a file is taken as well as pasted text', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const document = opml('<outline text="Quiet" xmlUrl="https://quiet.test/feed"/>');

  assert.equal((await ada.form('/sources/import', { opml: document })).status, 422, 'nobody publishes by forgetting');
  const form = new FormData();
  form.set('visibility', 'private');
  form.set('file', new File([`\ufeff${document}`], 'feeds.opml', { type: 'text/x-opml' }));
  const body = new Response(form);
  const begun = await ada.send('POST', '/sources/import', {
    body: await body.text(), headers: { 'content-type': body.headers.get('content-type') ?? '', accept: 'text/html' },
  });
  assert.equal(begun.headers.get('location'), '/sources/imports/1', begun.text);
  await hub.work();
  assert.equal((await itemsAt(hub.anybody, '/api/sources')).length, 0);
  const [source] = await itemsAt(ada, '/api/sources');
  assert.deepEqual([source?.['title'], source?.['visibility']], ['Quiet', 'private']);
  const empty = await ada.form('/sources/import', { opml: ' ', visibility: 'public' });
  assert.match(empty.text, /id="fault-file" role="alert">Choose an OPML file/);
});

test('what one exports names no addresses of feeds that others added, and comes back as it was', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const origin = await startOrigin(t, (request, response) =>
    serving(() => rss(`Feed ${request.path.slice(1, 5)}`, []))(request, response));
  const secret = await addFeed(ada, `${origin.url}/hers?token=s3cret`);
  await addFeed(bob, `${origin.url}/mine?token=own`, { folder: 'A & B' });
  await bob.send('PUT', `/api/sources/${secret}/follow`, {
    body: JSON.stringify({ folder: 'Others' }), headers: { 'content-type': 'application/json' },
  });

  const { text } = await bob.get('/api/sources.opml');
  assert.doesNotMatch(text, /s3cret/);
  assert.match(text, /<outline text="A &amp; B"[^>]*>\s*<outline [^>]*xmlUrl="[^"]*token=own"/);
  assert.match(text, new RegExp(`<outline text="Others"[^>]*>\\s*<outline [^>]*xmlUrl="[^"]*/sources/${secret}\\.atom"`));

  const before = await foldersOf(bob);
  await bob.delete(`/api/sources/${secret}/follow`);
  const page = await begin(bob, text);
  await hub.work();
  assert.match((await bob.page(page)).text, /1 followed \(already on this hub\), 1 already in your list\./);
  assert.deepEqual(await foldersOf(bob), before);
  assert.equal(countRows(hub, 'sources'), 2);
});

test('an import that has begun goes no further once its account has left, and leaves nothing behind', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob']);
  await begin(bob, opml('<outline xmlUrl="https://a.test/"/>'));

  assert.equal((await leave(hub, bob)).status, 204);
  for (let n = 0; n < 3; n++) await hub.work();
  assert.equal(countRows(hub, 'sources'), 0);
  assert.deepEqual([countRows(hub, 'imports'), countRows(hub, 'import_lines')], [0, 0]);
});

test('an import stops between two of its steps when its account has left, and so does its end', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const run = async (name: string, lines: number, meanwhile: (importId: number) => void) => {
    const client = await hub.person(name);
    const outlines = Array.from({ length: lines }, (_, n) => `<outline xmlUrl="https://${name}-${n}.test/"/>`).join('');
    const importId = Number((await begin(client, opml(outlines))).split('/').at(-1));
    const running = importFeeds.run(hub.handle, { importId }, AbortSignal.timeout(10_000), {} as Job);
    meanwhile(importId);
    return [await running, importId] as const;
  };
  const leaves = (importId: number): void =>
    accounts(hub.handle).depart(imports(hub.handle).find(importId)?.accountId ?? NaN, `left:${importId}`);
  const sourcesOf = (accountId: number) => sources(hub.handle).countOwned([accountId]).get(accountId) ?? 0;

  await run('bob', 500, leaves);
  assert.ok(sourcesOf(2) < 500, 'a step or two');
  const [finish, importId] = await run('cleo', 2, () => {});
  leaves(importId);
  hub.db.write('finish', () => finish?.());
  assert.equal(sourcesOf(3), 2);
  assert.deepEqual(await itemsAt(ada, '/api/admin/audit?act=sources.imported'), []);
});

test('the same file twice at once, and many files, lose no line and add no feed twice', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const feeds = (from: number, to: number) => opml(Array.from({ length: to - from }, (_, n) =>
    `<outline xmlUrl="http://127.0.0.1:9/${from + n}"/>`).join(''));
  for (const document of [feeds(0, 300), feeds(0, 300), feeds(300, 310), feeds(310, 320), feeds(320, 330)]) {
    await begin(ada, document);
  }
  const sixth = await ada.form('/sources/import', { opml: feeds(330, 340), visibility: 'public' });
  assert.equal(sixth.status, 429, sixth.text);
  await hub.work();
  assert.equal(countRows(hub, 'feeds'), 330);
  const linesOf = (outcome: ImportOutcome) => imports(hub.handle).listOf(1, 0, 10)
    .reduce((sum, { id }) => sum + (imports(hub.handle).outcomes(id).get(outcome) ?? 0), 0);
  assert.deepEqual([linesOf('added'), linesOf('had')], [330, 300]);

  const slow = await begin(ada, feeds(330, 340));
  for (let n = 0; n < 7; n++) {
    await begin(ada, feeds(0, 1));
    imports(hub.handle).finish(n + 7);
    assert.ok(jobs(hub.handle).discard(storedJobs(hub, 'import-feeds').at(-1)?.id ?? NaN));
  }
  await hub.work();
  assert.match((await ada.page(slow)).text, /10 added/, 'it is not forgotten while it is under way');
  assert.equal(countRows(hub, 'imports'), 6);
});

test('an import that will never be through says so, and importing its file again does the rest', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const document = opml('<outline xmlUrl="https://a.test/"/><outline xmlUrl="https://b.test/"/>');
  const page = await begin(ada, document);
  assert.match((await ada.page(page)).text, /http-equiv="refresh"[^]*Waiting/);
  failJobs(hub, 'import-feeds');

  const { text } = await ada.page(page);
  assert.match(text, /The import stopped half-way[^]*Not imported yet/);
  assert.doesNotMatch(text, /http-equiv="refresh"|<progress|Waiting/);
  const again = await begin(ada, document);
  await hub.work();
  assert.match((await ada.page(again)).text, /2 added/);
});

test('the report of an import says no more of a source than its reader may see', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Open', [])) });
  const page = await begin(bob, opml(`<outline xmlUrl="${origin.url}/feed"/>`));
  await hub.work();
  const [source] = await itemsAt<{ id: number }>(bob, '/api/sources');
  assert.match((await bob.page(page)).text, /Added; waiting for its first fetch/);
  sources(hub.handle).pause(source?.id ?? NaN, 'This feed moved to owls.test, where you already follow it.');
  assert.match((await bob.page(page)).text, />Added, and paused: this feed moved to owls.test, where you already follow it</);

  const path = `/api/sources/${source?.id}`;
  assert.equal((await bob.post(`${path}/transfer`, { username: 'ada' })).status, 200);
  await ada.patch(path, { visibility: 'private', title: 'Hers alone', paused: true });
  const report = (await bob.page(page)).text;
  assert.match(report, /Added, but later deleted or made private/);
  assert.doesNotMatch(report, /Hers alone|paused|href="\/sources\/\d/);
});
