// Protects everybody else from one member's long posts and large feeds: they are read in steps, or by the worker.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readJson } from '../../../src/platform/http/body.ts';
import { sanitizingHtml } from '../../../src/platform/markup/sanitize-html.ts';
import { inSteps } from '../../../src/platform/markup/in-steps.ts';
import { extractingText, plainText } from '../../../src/platform/markup/plain-text.ts';
import { createTurns, withTicket } from '../../../src/platform/turns.ts';
import { takeBeginning } from '../../../src/features/feeds/parse-beginning.ts';
import { inTurn } from '../../../src/features/posts/ingest-posts.ts';
import { changingReaders } from '../../../src/features/posts/update-readers.ts';
import { makingTerms, searchTerms } from '../../../src/features/posts/search-words.ts';
import { paragraphsToText } from '../../../src/features/writing/written-text.ts';
import { addNotes, addPost, sendJson } from '../../support/accounts.ts';
import { randomMarkup } from '../../support/random-markup.ts';
import { sanitizeHtml } from '../../support/sanitized-markup.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { countRows } from '../../support/stored-rows.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { reply, startOrigin } from '../../support/origin.ts';

const MIB = 1024 * 1024;
const LONG = '<p>some <b>bold</b> text</p>'.repeat(400_000 / 28);

/** How often others have a turn while the work goes on. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    if (isOver) return;
    turns++;
    setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

test('a long post is read in steps, between which everybody else has a turn', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const base = { baseUrl: 'https://example.org/' };

  assert.ok(await turnsDuring(() => inSteps(sanitizingHtml(LONG, base))) >= 15);
  assert.ok(await turnsDuring(() => inSteps(extractingText(LONG))) >= 15);
  const post = { sourceId, title: 'T', content: LONG, contentType: 'text/html' };
  assert.ok(await turnsDuring(() => ada.post('/api/posts', post)) >= 30);
  assert.equal((await hub.anybody.get('/api/posts/1')).json<{ contentHtml: string }>().contentHtml, LONG);
});

test('posts whose readers change are read for the index in steps, and what was changed meanwhile holds', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const path = `/api/sources/${sourceId}`;
  const { id: long } = (await ada.post('/api/posts', { sourceId, title: 'T', content: LONG, contentType: 'text/html' }))
    .json<{ id: number }>();
  for (let n = 0; n < 8; n++) await ada.post('/api/posts', { sourceId, title: 'T', content: `short ${'word '.repeat(3_000)}` });
  const found = async (q: string) => (await hub.anybody.get(`/api/posts?q=${q}`)).json<{ items: object[] }>().items.length;

  assert.ok(await turnsDuring(() => ada.patch(path, { visibility: 'private' })) >= 30);
  await hub.work();
  assert.deepEqual([await found('bold'), await found('short')], [0, 0]);
  const opening = ada.patch(path, { visibility: 'public' });
  const deleting = ada.send('DELETE', `/api/posts/${long}`);
  assert.deepEqual([(await opening).status, (await deleting).status], [200, 204]);
  await hub.work();
  assert.deepEqual([await found('bold'), await found('short')], [0, 8]);
  const leaving = ada.patch(path, { visibility: 'private' });
  const deleted = await ada.send('DELETE', path);
  assert.ok([200, 404].includes((await leaving).status) && deleted.status === 204, 'it may be gone meanwhile');
});

test('of a very long post the beginning and the title are found, in any script', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const found = async (q: string) =>
    (await hub.anybody.get(`/api/posts?q=${encodeURIComponent(q)}`)).json<{ items: { title: string }[] }>().items;
  const texts = {
    Latin: `first ${'word '.repeat(30_000)} early ${'word '.repeat(18_000)} late`,
    Chinese: `展望台 ${'漢字仮名'.repeat(15_000)} 朝食 ${'漢字仮名'.repeat(5_000)} 夕暮`,
  };
  for (const [title, content] of Object.entries(texts)) await ada.post('/api/posts', { sourceId, title, content });

  for (const words of ['Latin', 'first', 'early', 'Chinese', '展望', '朝食']) {
    assert.equal((await found(words)).length, 1, words);
  }
  for (const words of ['late', '夕暮']) assert.equal((await found(words)).length, 0, words);
});

test('what is read in steps is what is read at once', async () => {
  const markup = Array.from({ length: 2_000 }, (_, seed) => randomMarkup(seed)).join('');
  const base = { baseUrl: 'https://example.org/' };

  assert.equal(await inSteps(sanitizingHtml(markup, base)), sanitizeHtml(markup, base));
  assert.equal(await inSteps(extractingText(markup)), plainText(markup));
  const byCharacter = sanitizingHtml(markup.slice(0, 20_000), base);
  while (byCharacter.read(1));
  assert.equal(byCharacter.end(), sanitizeHtml(markup.slice(0, 20_000), base));
});

test('what goes through the whole of a long text once more has a turn of its own', async () => {
  const happened: string[] = [];
  let steps = 3;
  const read = (): boolean => (happened.push('read'), --steps > 0);
  const end = (): unknown => happened.push('end');
  const others = (): void => {
    happened.push('others');
    if (!happened.includes('next')) setImmediate(others);
  };

  setImmediate(others);
  await inSteps({ read, end });
  happened.push('next');
  assert.deepEqual(happened.slice(-5), ['read', 'others', 'end', 'others', 'next'], String(happened));
});

test('the words of a long post are prepared in steps, and no more of them than one transaction should index', async () => {
  const text = `${'words, 展望台は無料。 '.repeat(5_000)}ende`;
  const signs = [LONG.slice(0, 200_000), '漢字'.repeat(100_000), 'ﷺ '.repeat(100_000), 'ﷺ'.repeat(200_000)];

  assert.ok(await turnsDuring(() => inSteps(makingTerms(text))) >= 4);
  assert.equal((await inSteps(makingTerms(text))).replace(/ +/g, ' '), searchTerms(text).replace(/ +/g, ' '));
  for (const long of signs) {
    const { read, end } = makingTerms(long);
    let steps = 1;
    while (read(20_000)) steps++;
    assert.ok(steps <= 10, `${steps} steps`);
    assert.ok(end().length <= 200_000, long.slice(0, 2));
    const isParted = long.includes(' ');
    assert.ok(!isParted || searchTerms(long).startsWith(end()), `${long.slice(0, 9)}: not what is indexed at once`);
  }
  const once = makingTerms('漢字'.repeat(100_000));
  once.read(20_000);
  assert.ok(once.end().length < 70_000, 'where nothing parts words, a step is no longer');
});

test('of long bodies that are there at once, one is parsed in each turn', async () => {
  const body = JSON.stringify({ content: 'x'.repeat(1_000_000) }); // takes more than a round of the event loop has for turns
  const requests = Array.from({ length: 10 }, () => {
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
    return { stream: Object.assign(Readable.from([Buffer.from(body)]), { headers }) as unknown as IncomingMessage };
  });
  const parsedIn: number[] = [];
  let turn = 0;
  const { ticket } = createTurns({ full: () => new Error('the queue is full') });
  const all = requests.map((request) => withTicket(ticket(['network', '203.0.113.7']), () =>
    readJson(request, 2 ** 20).then(() => parsedIn.push(turn))));

  await turnsDuring(async () => {
    const count = (): unknown => parsedIn.length < 10 && (turn++, setImmediate(count));
    count();
    await Promise.all(all);
  });
  assert.equal(new Set(parsedIn).size, 10, String(parsedIn));
});

test('one long post is read at a time, 40 wait, another is refused; short ones wait for nobody', async (t) => {
  const { handle } = await startHub(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  let reading = 0;
  const work = async (): Promise<void> => {
    assert.equal(++reading, 1);
    await promise;
    reading--;
  };
  const all = Array.from({ length: 41 }, () => inTurn(handle, { length: 20_001, accountOf: () => undefined }, work));

  await assert.rejects(inTurn(handle, { length: 20_001, accountOf: () => undefined }, work), { status: 503 });
  assert.equal(await inTurn(handle, { length: 20_000, accountOf: () => assert.fail() }, async () => 'done'), 'done');
  resolve();
  await Promise.all(all);
});

test('twenty waiting long posts of one account leave room for posts of other accounts', async (t) => {
  const { handle } = await startHub(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  const read = (accountId: number) => inTurn(handle, { length: 20_001, accountOf: () => accountId }, () => promise);
  const all = Array.from({ length: 21 }, () => read(1));
  const refused = assert.rejects(read(1), { status: 503 });
  all.push(read(2));
  resolve();
  await Promise.all([refused, ...all]);
});

test('a large feed is recognised by its beginning, and the worker reads it at once', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const items = (n: number, content: string) =>
    Array.from({ length: n }, (_, id) => ({ guid: `${id}`, title: 'I', content }));
  const json = (first: object, last: object) => JSON.stringify({
    ...first, items: items(100, 'x').map(({ guid }) => ({ id: guid, content_text: 'x'.repeat(2_000) })), ...last,
  });
  const about = { version: 'https://jsonfeed.org/version/1.1', title: 'Of JSON' };
  const page = `<!doctype html><link rel="alternate" type="application/rss+xml" href="/rss"><p>${'x'.repeat(900_000)}`;
  const origin = await startOrigin(t, {
    '/rss': serving(() => rss('Of “RSS”', items(100, 'x'.repeat(2_000)))),
    '/many': serving(() => rss('Of many', items(151, 'x'))),
    '/json': serving(() => json(about, {})),
    '/sorted': serving(() => json({}, about)),
    '/page': serving(() => page, { 'content-type': 'text/html' }),
    '/data': serving(() => JSON.stringify({ data: 'x'.repeat(200_000) })),
    '/text': serving(() => `<x>${'x'.repeat(200_000)}</x>`),
  });
  const add = async (path: string) => {
    const answer = await ada.post('/api/sources', { kind: 'feed', url: origin.url + path });
    return answer.status === 201 ? answer.json<{ title: string }>().title : answer.text;
  };

  assert.equal(await add('/page'), 'Of “RSS”', 'which it advertises');
  assert.match(await add('/rss'), /already follow/);
  assert.deepEqual([await add('/many'), await add('/json')], ['Of many', 'Of JSON']);
  assert.equal(await add('/sorted'), new URL(origin.url).host, 'until the worker knows better');
  assert.match(await add('/data'), /not a JSON Feed/);
  assert.match(await add('/text'), /neither RSS nor Atom/);
  const count = () => countRows(hub, 'posts');
  assert.equal(count(), 0);
  await hub.work();
  assert.equal(count(), 100 + 151 + 100 + 100);
  const { items: sources } = (await ada.get('/api/sources')).json<{ items: { title: string }[] }>();
  assert.deepEqual(sources.map(({ title }) => title), ['Of “RSS”', 'Of many', 'Of JSON', 'Of JSON']);
});

test('of a large feed web receives and unpacks no more than tells what it is', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const feed = Buffer.from(rss('Large', [{ guid: 'a', content: 'x'.repeat(200_000) }]).replace('</channel></rss>', ''));
  const gzip = { 'content-encoding': 'gzip' };
  const damaged = gzipSync(Buffer.concat([feed, randomBytes(2 * MIB)]));
  damaged.fill(0, damaged.length - MIB);
  const isOver = Promise.withResolvers<void>();
  const origin = await startOrigin(t, {
    '/unpacks-to-50-MiB': reply(200, gzip, gzipSync(Buffer.concat([feed, Buffer.alloc(50 * MIB)]))),
    '/damaged': reply(200, gzip, damaged),
    '/endless': (_request, response) => {
      response.writeHead(200).write(feed);
      response.on('close', isOver.resolve);
    },
  });

  for (const path of ['/unpacks-to-50-MiB', '/damaged', '/endless']) {
    const added = await ada.post('/api/sources', { kind: 'feed', url: origin.url + path });
    assert.equal(added.json<{ title?: string }>().title, 'Large', `${path}: ${added.text}`);
  }
  await isOver.promise;
});

test('what must be gone through is not kept, and no more is gone through than must be', () => {
  const rest = 'x'.repeat(10 * MIB);
  const taken = (document: string, pieceLength = 65_536) => {
    const beginning = takeBeginning();
    const bytes = Buffer.from(document);
    let at = 0;
    while (at < bytes.length && beginning.take(bytes.subarray(at, at + pieceLength))) at += pieceLength;
    return { gone: Math.min(at + pieceLength, bytes.length), kept: beginning.bytes().length, hasMembers: beginning.hasMembers() };
  };
  const BEGUN = 3 * 65_536;

  assert.equal(taken(`<rss><channel>${rest}`).gone, BEGUN);
  assert.deepEqual(taken(`{"version":"1","items":["${rest}`), { gone: BEGUN, kept: BEGUN, hasMembers: true });
  for (const pieceLength of [65_536, 9]) { // a name may be parted
    const sorted = taken(`{"items":["${rest.slice(0, MIB)}"],"version":"1"}`, pieceLength);
    assert.ok(sorted.hasMembers && sorted.gone > MIB && sorted.kept < MIB * 0.6, String(pieceLength));
  }
  const head = `<!doctype html><head>${rest.slice(0, MIB)}<link type="application/rss+xml">`;
  assert.ok(taken(`${head}</head>${rest}`).gone < 1.1 * MIB, 'a head that names a feed is enough');
  for (const other of ['<!doctype html><rss>', '<x>', '<!doctype html><head><script>"application/rss+xml </head><body>"</script>']) {
    const { gone, kept } = taken(other + rest);
    assert.ok(gone > 1.9 * MIB && gone < 2.1 * MIB && kept === gone, other);
  }
  const json = taken(`{"version":"1"${rest}`);
  assert.ok(json.gone >= 10 * MIB && json.kept < MIB * 0.6);
});

test('the posts of a large feed are stored in steps between which others write, once each and in their order', async (t) => {
  const { hub, ada, ben } = await hubWith(t, ['ada', 'ben']);
  const images = '<img src="https://example.org/1.png" alt="x">'.repeat(60);
  const feed = Array.from({ length: 120 }, (_, id) => ({ guid: `${id}`, title: `Post ${id}`, content: images }));
  const origin = await startOrigin(t, { '/rss': serving(() => rss('Large', feed)) });
  const transactions: number[] = [];
  const { write, transaction } = hub.db;
  const counted = <Result>(work: () => Result): Result => {
    const before = count();
    const result = work();
    if (count() > before) transactions.push(count() - before);
    return result;
  };
  const count = () => countRows(hub, 'posts');
  hub.db.write = (name, work) => counted(() => write(name, work));
  hub.db.transaction = (name, work) => {
    const run = transaction(name, work);
    return (...args) => counted(() => run(...args));
  };

  const { id } = (await ada.post('/api/sources', { kind: 'feed', url: `${origin.url}/rss` })).json<{ id: number }>();
  await sendJson(ben, 'PUT', `/api/sources/${id}/follow`, { notify: true });
  await hub.work();
  assert.equal(count(), 120);
  assert.ok(Math.max(...transactions) <= 25, String(transactions));
  const inSteps = transactions.reduce((sum, posts) => sum + posts, 0);
  assert.ok(inSteps >= 120 - 25, `the job ended with ${120 - inSteps} posts`); // in a transaction that is not counted
  const { items } = (await ada.get('/api/posts?limit=60')).json<{ items: { title: string }[] }>();
  assert.deepEqual(items.map(({ title }) => title), feed.slice(0, 60).map(({ title }) => title));
  const told = (await ben.get('/api/notifications')).json<{ items: { title: string }[] }>().items.map(({ title }) => title);
  assert.equal(told.length, 1, told.join());
  assert.match(told[0] ?? '', /120/);
});

test('what holds the place of long posts waits in no queue of its client, which others would wait for too', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.person('ada');
  const sourceId = await addNotes(ada);
  for (let n = 0; n < 3; n++) await addPost(ada, sourceId, 'A post', 'word '.repeat(6_000));
  let queued = 0;
  const again = (): Promise<void> => Promise.resolve(void queued++);
  const ticket = { enter: again, again, isRunning: () => true, othersWait: () => false, charge() {}, now: () => 0 };

  await withTicket(ticket, async () => {
    await changingReaders(hub.handle, { name: 'nothing', sourceId, accountId: 1 }, () => {});
    assert.equal(await paragraphsToText(`<p>${'word '.repeat(6_000).trim()}</p>`), 'word '.repeat(6_000).trim());
  });
  assert.equal(queued, 0);
});
