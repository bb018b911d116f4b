// Protects import and export of sources: readable by other programs, all or nothing, and safe with hostile documents.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_OUTLINES } from '../../../src/features/manage-sources/import-opml.ts';
import { parseOpml } from '../../../src/features/manage-sources/opml.ts';
import { STEP } from '../../../src/platform/markup/in-steps.ts';
import { readXmlTree } from '../../../src/platform/markup/xml-tree.ts';
import { addFeed, addNotes, itemsAt, offerTo, sendJson } from '../../support/accounts.ts';
import type { Answer, Client } from '../../support/client.ts';
import { opml, rss, serving } from '../../support/feeds.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { failWrites, countRows } from '../../support/stored-rows.ts';
import { reply, startOrigin } from '../../support/origin.ts';
import { parseStrictXml } from '../../support/strict-xml.ts';

type SourceList = { items: { id: number; kind: string; title: string; url?: string }[] };
type Imported = { added: number; alreadyFollowed: number; leftOut: number; refused: { url: string; reason: string }[] };

const XML = 'text/x-opml';

function importOpml(client: Client, body: string, contentType = XML): Promise<Answer> {
  return client.send('POST', '/api/sources/import', { body, headers: { 'content-type': contentType } });
}

test('what one hub exports as OPML another imports: the same feeds with the same titles', async (t) => {
  const [one, other] = [await startHub(t), await startHub(t)];
  const [ada, bob] = [await one.person('ada'), await other.person('bob')];
  const titles = ['Plain', 'Ampersand & <tag> "quotes" \'and\' more', 'Ümläute 漢字 😀', '  '];
  const origin = await startOrigin(
    t, (request, response) => serving(() => rss(`Feed ${request.path.slice(1)}`, []))(request, response),
  );
  for (const [n, title] of titles.entries()) {
    await addFeed(ada, `${origin.url}/${n}?a=1&b=2`, title.trim() ? { title } : {});
  }
  await addNotes(ada, 'Own posts are no feed');

  const exported = await ada.get('/api/sources.opml');
  assert.equal(exported.status, 200);
  assert.match(exported.headers.get('content-type') ?? '', /^text\/x-opml/);
  assert.match(exported.headers.get('content-disposition') ?? '', /^attachment; filename="[\w.-]+\.opml"$/);
  assert.match(exported.text, /^<\?xml version="1\.0"[\s\S]*<opml version="2\.0">/);
  const none = { added: 0, alreadyFollowed: 0, leftOut: 0, refused: [] };
  assert.deepEqual((await importOpml(bob, exported.text)).json<Imported>(), { ...none, added: 4 });
  const listed = async (client: Client) => (await client.get('/api/sources')).json<SourceList>().items
    .filter(({ kind }) => kind === 'feed').map(({ url, title }) => [url, title]);
  assert.deepEqual(await listed(bob), await listed(ada));
  assert.deepEqual((await importOpml(bob, exported.text)).json<Imported>(), { ...none, alreadyFollowed: 4 });
});

test('an address of 80,000 dots is refused by its length before anything looks at it', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const outlines = ['.'.repeat(80_000), `x:${'.'.repeat(80_000)}`, `https://a.example/${'b'.repeat(2_000)}`]
    .map((url) => `<outline xmlUrl="${url}"/>`);

  const imported = (await importOpml(ada, opml(`${outlines.join('')}<outline xmlUrl="https://a.example/"/>`)))
    .json<Imported>();
  assert.equal(imported.added, 1);
  assert.deepEqual(imported.refused.map(({ reason }) => reason), Array(3).fill('is longer than 2000 characters'));
});

test('an OPML document is read as other programs write it', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const document = `\ufeff<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by hand -->\n<OPML version="1.1"><Body>
    <Outline TEXT="Upper" XMLURL="https://upper.test/feed"></Outline>
    <outline title='Group'><outline title='Inner &amp; more' xmlUrl='feed://inner.test/rss'/>
      <outline text="again" xmlUrl="http://inner.test/rss#top"/></outline>
    <outline text="only a page" htmlUrl="https://page.test/"/><outline text="bare" xmlUrl="bare.test/feed.xml"/>
    <outline xmlUrl="https://untitled.test/x"/>
  </Body></OPML>`;

  assert.deepEqual(
    (await importOpml(ada, document, 'text/xml; charset=utf-8')).json<Imported>(),
    { added: 4, alreadyFollowed: 1, leftOut: 0, refused: [] },
  );
  const items = (await ada.get('/api/sources')).json<SourceList>().items;
  assert.deepEqual(items.map(({ title, url }) => [title, url]), [
    ['Upper', 'https://upper.test/feed'], ['Inner & more', 'http://inner.test/rss'],
    ['bare', 'https://bare.test/feed.xml'], ['untitled.test', 'https://untitled.test/x'],
  ]);
});

test('hostile OPML adds nothing and harms nothing', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const canary = await startOrigin(t, reply(200, {}, 'x'));
  const outline = '<outline xmlUrl="https://good.test/"/>';
  const entities = `<!DOCTYPE opml [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
    <!ENTITY c SYSTEM "file:///etc/passwd"><!ENTITY d SYSTEM "${canary.url}/dtd"> %d;]>`;
  const cases: [what: string, document: string, status: number][] = [
    ['nested deeper than any reader', opml('<outline>'.repeat(2_000) + outline + '</outline>'.repeat(2_000)), 422],
    ['more than is taken at once', opml(outline.repeat(10_000)), 422],
    ['attributes without end', opml(
      `<outline ${Array.from({ length: 5_000 }, (_, n) => `a${n}="x"`).join(' ')} xmlUrl="https://good.test/"/>`,
    ), 422],
    ['a name without end', opml(`<outline ${'x'.repeat(100_000)}="1" xmlUrl="https://good.test/"/>`), 422],
    ['nothing', '', 422],
    ['no markup', 'hello', 422],
    ['another document', rss('Owls', [{ guid: 'a' }]), 422],
    ['HTML', '<html><body><outline xmlUrl="https://good.test/"/></body></html>', 422],
    ['no feeds', opml('<outline text="empty"/>'), 422],
    ['no body', '<opml version="2.0"><head/></opml>', 422],
    ['bytes', '\u0000\u0001\u0002<<<>>>&&&', 422],
  ];
  for (const [what, document, status] of cases) {
    const answer = await importOpml(ada, document);
    assert.equal(answer.status, status, `${what}: ${answer.text.slice(0, 200)}`);
    assert.equal(countRows(hub, 'sources'), 0, what);
  }
  const outlined = '<outline text="&b;&c;" xmlUrl="https://good.test/&c;"/>';
  const document = `<?xml version="1.0"?>${entities}<opml><body>${outlined}</body></opml>`;
  assert.equal((await importOpml(ada, document)).status, 200);
  const [only] = (await ada.get('/api/sources')).json<SourceList>().items;
  assert.equal(only?.title, '&b;&c;', 'entities of the document mean nothing');
  assert.equal(canary.requests.length, 0);
  assert.equal(countRows(hub, 'error_events'), 0, 'none of it was a fault of the hub');
});

test('a large document is read in steps, between which everybody else has a turn', async () => {
  const outlines = (written: string): string => `<opml><body>${written.repeat(200_000 / written.length)}</body></opml>`;
  for (const [written, found] of [['<outline xmlUrl="http://a/"/>', 6_896], ['<outline a="1"/>', 0]] as const) {
    let turns = 0;
    const count = (): void => void (turns++, others = setImmediate(count));
    let others = setImmediate(count);
    assert.equal((await parseOpml(outlines(written)))?.length, found);
    clearImmediate(others);
    assert.ok(turns >= 15, `${turns} turns`);
  }
  const text = 'x'.repeat(4 * 1024 * 1024);
  const options = { namespaces: new Map(), siblings: new Set<string>(), from: 0 };
  let steps = 0;
  for (const reading = readXmlTree(text, options); reading.read(STEP);) steps++;
  assert.equal(steps, 0, 'what holds no markup is passed over at once');
});

test('as many feeds as one import takes are taken, one more is none', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada'], { SOURCES_MAX: '10000' });
  const outlines = Array.from({ length: MAX_OUTLINES + 1 }, (_, n) =>
    `<outline text="F${n}" xmlUrl="https://f${n}.test/"/>`);

  const refused = await importOpml(ada, opml(outlines.join('')));
  assert.equal(refused.status, 422);
  assert.match(refused.json<{ detail: string }>().detail, new RegExp(`${MAX_OUTLINES + 1}.*${MAX_OUTLINES}`));
  assert.match((await hub.anybody.get('/api/metrics')).text, /service_limits_refused_total\{limit="opml-feeds"\} 1\n/);
  assert.equal(countRows(hub, 'sources'), 0);
  assert.equal((await importOpml(ada, opml(outlines.slice(1).join('')))).json<Imported>().added, MAX_OUTLINES);
  assert.equal(hub.logged().filter(({ event }) => event === 'request failed').length, 0);
});

test('an import that fails half-way adds nothing', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  failWrites(hub, 'INSERT', 'feeds', 3);

  const outlines = [1, 2, 3, 4].map((n) => `<outline xmlUrl="https://${n}.test/"/>`).join('');
  const answer = await importOpml(ada, opml(outlines));
  assert.equal(answer.status, 500);
  assert.deepEqual([countRows(hub, 'sources'), countRows(hub, 'feeds')], [0, 0]);
  assert.deepEqual(await itemsAt(ada, '/api/admin/audit?act=sources.imported'), []);
});

test('importing takes OPML only, of a bearable size', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const document = opml('<outline xmlUrl="https://good.test/"/>');

  for (const type of ['application/json', 'text/xmlish', '']) {
    assert.equal((await importOpml(ada, document, type)).status, 415, type);
  }
  assert.equal((await importOpml(ada, ' '.repeat(4 * 1024 * 1024) + document)).status, 413);
  assert.equal((await importOpml(ada, document, 'application/xml')).status, 200);
});

test('names that members gave and that other programs spoiled are exported as well-formed XML', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  await importOpml(ada, opml('<outline text="Owls" xmlUrl="https://owls.test/"/>'));
  await importOpml(ada, opml('<outline text="a&#1;b&#xFFFF;c&#10;d" xmlUrl="https://spoiled.test/"/>'));
  const [source] = await itemsAt<{ id: number }>(ada, '/api/sources');
  const names = { folder: 'Birds\uffff <&>', title: 'My\ufffe "owls"' };
  assert.equal((await sendJson(ada, 'PUT', `/api/sources/${source?.id}/follow`, names)).status, 204);

  const { text } = await ada.get('/api/sources.opml');
  assert.match(text, /text="abc d"/);
  const body = parseStrictXml(text).children.find(({ name }) => name === 'body');
  const { attributes, children } = body?.children.find((one) => one.children.length > 0) ?? assert.fail('no folder');
  assert.equal(attributes.get('text'), 'Birds <&>');
  assert.equal(children.find(({ name }) => name === 'outline')?.attributes.get('title'), 'My "owls"');
});

test('an account has at most SOURCES_MAX sources: what is beyond is refused, and an import says how many it left out', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob'], { SOURCES_MAX: '3' });
  await addNotes(ada, 'One');
  const outlines = [1, 2, 3, 4].map((n) => `<outline xmlUrl="https://${n}.example/"/>`).join('');
  const imported = (await importOpml(ada, opml(outlines))).json<Imported>();
  assert.deepEqual(imported, { added: 2, alreadyFollowed: 0, leftOut: 2, refused: [] });
  const room = 'An account may have at most 3 sources on this hub. Delete a source first.';

  const origin = await startOrigin(t, {});
  const beyond = [
    await importOpml(ada, opml(outlines)),
    await ada.post('/api/sources', { kind: 'native', title: 'Four' }),
    await ada.post('/api/sources', { kind: 'feed', url: `${origin.url}/feed` }),
  ];
  for (const answer of beyond) {
    assert.equal(answer.status, 422);
    assert.ok(answer.text.includes(room), answer.text);
  }
  assert.equal(origin.requests.length, 0, 'nothing is fetched for nothing');
  const others = outlines.replaceAll('.example', '.test');
  const begun = await bob.form('/sources/import', { opml: opml(others), visibility: 'public' });
  await hub.work();
  assert.match((await bob.page(begun.headers.get('location') ?? '')).text, /3 added[^]*1 left out/);

  const [one] = (await ada.get('/api/sources')).json<SourceList>().items;
  const offer = await offerTo(ada, one?.id ?? 0, 'bob');
  assert.equal((await bob.post(`/api/offers/${offer}/accept`)).status, 422, 'nor by accepting');
  await ada.delete(`/api/sources/${one?.id}`);
  await addNotes(ada, 'Four');
});
