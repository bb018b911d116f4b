// Protects what people reported of other readers about OPML: every feed and its folder arrives.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imports } from '../../../src/features/manage-sources/import-store.ts';
import { parseOpml } from '../../../src/features/manage-sources/opml.ts';
import { decodeText } from '../../../src/platform/markup/decode-text.ts';
import { foldersOf, itemsAt } from '../../support/accounts.ts';
import { opml } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { reply, startOrigin } from '../../support/origin.ts';
import { reported, skipReports } from '../../support/public-reports.ts';

type Line = [folder: string | null, address: string];

/** The feeds of each document: folder, and the end of the address. */
const CASES: Record<string, [report: string, ...lines: Line[]]> = {
  D06a: ['FreshRSS#1202', ['Wetenschap', 'D06a']],
  D06c: ['a folder counts more than a category', ['Kept', 'D06c']],
  D07: ['django-yarr#33, Betterbird#408', [null, 'D07'], ['Work', 'D07b']],
  D08b: ['addresses in url=', [null, 'D08b'], [null, 'D08b2']],
  D12a: ['FreshRSS#1202', [null, 'D12a']],
  D12b: ['no <body>', [null, 'D12b']],
  D12d: ['outlines in <head>', [null, 'D12d2']],
  D12f: ['a prefix and a DOCTYPE', [null, 'D12f']],
  D12g: ['junk before', [null, 'D12g']],
  D12h: ['names escaped twice', [null, 'D12h']],
  D14: ['feedlandSupport#121', [null, 'no such host/feed'], [null, 'javascript:alert(1)'], [null, 'D14']],
  D16: ['vesti#55', [null, 'D16'], [null, 'D16b']],
};

for (const [id, [report, ...lines]] of Object.entries(CASES)) {
  test(`${id} (${report}): every feed and its folder arrives`, { skip: skipReports }, async () => {
    const outlines = await parseOpml(decodeText(reported(`${id}.opml`), null));
    assert.deepEqual(outlines?.map(({ folder }) => folder), lines.map(([folder]) => folder));
    for (const [n, [, end]] of lines.entries()) assert.ok(outlines?.[n]?.url.endsWith(end), outlines?.[n]?.url);
    if (id === 'D12h') assert.equal(outlines?.[0]?.title, 'Café & Co');
  });
}

for (const id of ['D01', 'D02', 'D03', 'D04', 'D05', 'D08a', 'D09a', 'D09b', 'D12e', 'D13a', 'D13b', 'D15', 'D17']) {
  test(`${id}: each address that is written in the document arrives`, { skip: skipReports }, async () => {
    const text = decodeText(reported(`${id}.opml`), null);
    const written = text.match(/127\.0\.0\.1:18320[^"'\s<]*/g) ?? [];
    const outlines = (await parseOpml(text)) ?? [];
    for (const address of written) {
      assert.ok(outlines.some(({ url }) => url.includes(address.replaceAll('&amp;', '&'))), address);
    }
    assert.ok(written.length > 0);
  });
}

const MORE: [what: string, body: string, lines: Line[]][] = [
  ['comments and what is below them are left out',
    '<outline isComment="TRUE" text="x"><outline xmlUrl="a.x/1"/></outline><outline xmlUrl="a.x/2" iscomment="false"/>',
    [[null, 'a.x/2']]],
  ['the first category counts, with its folders', '<outline xmlUrl="a.x" category="/News/World,/Home"/>', [['News / World', 'a.x']]],
  ['a folder of two feeds stays, whatever they are called',
    '<outline text="A"><outline text="A" xmlUrl="a.x"/><outline text="B" xmlUrl="b.x"/></outline>', [['A', 'a.x'], ['A', 'b.x']]],
  ['a folder of one feed of another name stays', '<outline text="A"><outline text="B" xmlUrl="b.x"/></outline>', [['A', 'b.x']]],
  ['a second <body> is read', '<outline xmlUrl="a.x"/></body><body><outline xmlUrl="b.x"/>', [[null, 'a.x'], [null, 'b.x']]],
  ['the address of a page or of another document is no feed', '<outline type="link" url="a.x"/><outline xmlUrl="b.x"/>', [[null, 'b.x']]],
];

for (const [what, body, lines] of MORE) {
  test(`D10, D12c and their like: ${what}`, async () => {
    assert.deepEqual((await parseOpml(opml(body)))?.map(({ folder, url }) => [folder, url]), lines);
  });
}

test('name and password of an address in OPML fill the feed’s fields, at once and by the page, and are kept nowhere else', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, reply(404, {}));
  const url = (path: string): string => origin.url.replace('http://', 'http://ann:s3cret@') + path;
  const bad = '<outline xmlUrl="ftp://ann:s3cret@x.example/f"/><outline xmlUrl="ann:s3cret@x.example/f"/>';

  const sent = await ada.send('POST', '/api/sources/import?visibility=public', {
    body: opml(`<outline text="F"><outline text="${url('/a')}" title="${url('/a')}" xmlUrl="${url('/a')}"/></outline>${bad}`),
    headers: { 'content-type': 'text/x-opml' },
  });
  assert.equal(sent.json<{ added: number }>().added, 1, sent.text);
  const begun = await ada.form('/sources/import', { opml: opml(`<outline text="B" xmlUrl="${url('/b')}"/>${bad}`), visibility: 'public' });
  const lines = imports(hub.handle).lines(1, 0, 9);
  await hub.work();
  const page = await ada.page(begun.headers.get('location') ?? '');

  const sources = await itemsAt(ada, '/api/sources') as { url: string; visibility: string; hasPassword: boolean }[];
  assert.deepEqual(sources.map(({ url, visibility, hasPassword }) => [url, visibility, hasPassword]),
    [[`${origin.url}/a`, 'private', true], [`${origin.url}/b`, 'private', true]]);
  assert.deepEqual(await foldersOf(ada), [['F', [new URL(origin.url).host]], [null, ['B']]]);
  const asked = origin.requests.filter(({ path }) => path === '/a' || path === '/b').map(({ headers }) => headers.authorization);
  assert.deepEqual(new Set(asked), new Set([`Basic ${Buffer.from('ann:s3cret').toString('base64')}`]));
  const said = [sent.text, page.text, JSON.stringify(lines), JSON.stringify(hub.logged()), (await ada.get('/api/sources.opml')).text];
  for (const text of said) assert.doesNotMatch(text, /s3cret/);
});
