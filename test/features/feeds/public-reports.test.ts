// Protects the answers to public bug reports of feeds: each input of the table gives the outcome that it names.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseDate } from '../../../src/features/feeds/parse-date.ts';
import { parseFeed } from '../../../src/features/feeds/parse-feed.ts';
import { NotAFeedError, type ParsedFeed } from '../../../src/features/feeds/feed-values.ts';
import { atOnce } from '../../../src/platform/markup/in-steps.ts';
import { sanitizingHtml } from '../../../src/platform/markup/sanitize-html.ts';
import { addFeed } from '../../support/accounts.ts';
import { startHub } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { reported, skipReports } from '../../support/public-reports.ts';
import { serving } from '../../support/feeds.ts';
import { atom, entry, json, jsonItem, parse, rss, rssItem } from '../../support/written-feeds.ts';

type Case = [promise: string, outcome: (feed: ParsedFeed) => unknown, expected: unknown];

const REPORTS = join(import.meta.dirname, '../../../../shared/corpora/public-reports');
const NOON = Date.UTC(2026, 2, 14, 10, 30);

const titles = ({ items }: ParsedFeed): string[] => items.map(({ title }) => title);
const title = (feed: ParsedFeed): string | undefined => feed.items[0]?.title;
const content = (feed: ParsedFeed): string | undefined => feed.items[0]?.contentHtml;
const url = (feed: ParsedFeed): string | null | undefined => feed.items[0]?.url;
const guids = ({ items }: ParsedFeed): string[] => items.map(({ guid }) => guid);

/** The links and text of the first post as the hub shows them. */
function shown({ items: [item] }: ParsedFeed): string {
  return atOnce(sanitizingHtml(item?.contentHtml ?? '', { baseUrl: item?.baseUrl ?? '' }));
}

const linked = (feed: ParsedFeed): string[] =>
  [...shown(feed).matchAll(/href="([^"]+)"/g)].map(([, href]) => href ?? '');
const rest = (feed: ParsedFeed): string | undefined => /Rest of the post\./.exec(shown(feed))?.[0];
const types = ({ items }: ParsedFeed): unknown[] => items.map(({ attachments }) => attachments[0]?.mediaType);

const POSTS = ['Post 1', 'Post 2'];
const REST = 'Rest of the post.';
const read = (what: string): Case => [`posts are read ${what}`, titles, POSTS];
const one = (what: string): Case => [`a post is read ${what}`, titles, ['Post 1']];
const named = (what: string, expected: string): Case => [`a title keeps ${what}`, title, expected];
const lines = (what: string, expected: string): Case => [`lines are kept in ${what}`, content, expected];
const goesOn = (what: string): Case => [`a post goes on after ${what}`, rest, REST];

const CASES: Record<string, Case> = {
  A01a: read('where the root has the namespace of Atom (newsboat#1086)'),
  A01b: read('where <channel> has the namespace of Atom'),
  A01c: read('where each <item> has the namespace of Atom'),
  A01d: read('where <channel> has the namespace of a module'),
  A01e: one('where the root has the namespace of Media RSS'),
  A01g: read('where <channel> has the namespace of podcasts'),
  A01i: read('where <channel> has an empty namespace'),
  A01j: read('where <channel> has the namespace of XHTML'),
  A01k: one('where an Atom <entry> has the namespace of RSS'),
  A01m: one('where entries are of Atom 1.0 and the feed of Atom 0.3'),
  A01n: ['posts are read of <r:channel>', titles, ['One']],
  A01o: ['a prefix of another module does not hide a post', content, 'hi'],
  A01p: ['content is read under its usual prefix with another namespace', content, 'full text'],
  A02a: one('where the root has an unknown namespace (gofeed#346)'),
  A02b: one('where <channel> has an unknown namespace'),
  A03: ['posts of RSS 1.0 with prefixes are read (feedsmith#262)', ({ items }) => items.length > 0, true],
  A03b: ['posts of RSS 1.0 with other prefixes are read (feedjira#246)', titles, ['One']],
  A04: ['entries of Atom with prefixes are read (feedsmith#77)', ({ items }) => items.length > 0, true],
  A05: ['the image of RSS is the icon, whatever images of modules stand before it', ({ iconUrl }) => iconUrl,
    'https://site.example/im.png'],
  A06: ['a bare & in attributes breaks nothing (FreshRSS#8583)', ({ items }) => items.length, 1],
  A07: ['links follow xml:base of the content (rome#689)', linked,
    ['https://other.example/dir/x.html', 'https://other.example/y']],
  A09: ['times of Atom without a zone are UTC (liferea#1174)', ({ items }) => items[0]?.publishedAt,
    Date.UTC(2026, 2, 14, 22, 2, 55)],
  A12: one('where the namespace of Atom begins with https (FreshRSS#4580)'),
  A12b: ['modules are known by https namespaces (FreshRSS#4580)',
    ({ items: [item] }) => [item?.contentHtml, item?.author], ['<p>full</p>', 'Ann']],
  A13: ['two posts with one guid are two posts (brief#428)', titles, ['First', 'Second']],
  A16: one('whatever the content type is called (FreshRSS#1743)'),
  A16b: one('whatever the content type is called (FreshRSS#6440)'),
  A17: ['a feed may be called like a tag (newsboat#796)', (feed) => feed.title, '<owlery>'],
  A18a: named('escaped names of tags in CDATA (miniflux#2953)', 'How does <selectedoption> work?'),
  A18b: named('the name of a tag (feedbin#232)', 'A short guide to <head> elements'),
  A18c: named('the name of a tag that is escaped twice (brief#416)', 'does it have <animate> too?'),
  A18d: named('a tag without an end (feedbin#232)', 'When to close the <p> element'),
  A18e: named('a tag escaped twice', 'When to close the <p> element'),
  A18f: named('tags escaped twice', 'The <img> and <br> tags'),
  A18g: named('escaped tags in CDATA', 'Use <b> and </b> less'),
  A18h: named('a tag in plain text of Atom', 'When to close the <p> element'),
  A18i: named('all tags in plain text of Atom', 'Why <em>x</em> beats <i>'),
  A18k: named('a tag that HTML shows', 'When to close the <p> element'),
  A18l: named('all tags in JSON Feed', 'The <br> element and </p>'),
  A18o: named('a rule', 'A <hr> between'),
  A18p: named('a picture without a source', 'The <img> alt text'),
  A18q: named('parameters of types', 'List<String> and Map<K,V>'),
  A18r: named('an end tag without a beginning', '</div> hell'),
  A18s: named('the name of a script', '<script> tags'),
  A18t: named('a sign escaped twice', 'x < y'),
  A18u: named('the break of a line as a blank', 'C D'),
  A20a: lines('a description (feedgen#120)', 'First line<br>\nSecond line<br>\n<br>\n- a point<br>\n- another point'),
  A20b: lines('CDATA', 'First line<br>\n<br>\nSecond paragraph<br>\nand on'),
  A20c: lines('content:encoded', 'Line one<br>\nLine two'),
  A20e: lines('text with carriage returns (simple-rss#29)', 'Ann<br>\n<br>\nBea'),
  A20f: lines('the summary of an episode', 'Line one<br>\nLine two'),
  A20g: lines('show notes', 'Show notes:<br>\nhttps://a.example/x<br>\n<br>\n00:00 Start<br>\n05:10 Middle'),
  A20i: lines('text with references', 'A &amp; B<br>\nC'),
  A20k: lines('JSON Feed', 'a<br>\nb<br>\n<br>\nc'),
  A20l: ['line ends between tags are no lines', content, '<p>one\ntwo</p>'],
  A21: ['a control character breaks nothing (miniflux#575)', (feed) => /before.*after/.test(shown(feed)), true],
  A22: named('references of HTML and a bare & (miniflux#122)', 'proc filters & fc-rDNS être ’s'),
  A23: ['unescaped HTML of Atom is read (NetNewsWire#4636)', (feed) => shown(feed).includes('<strong>'), true],
  A24: ['a title that is a link is its words (miniflux#756)', title, 'Quiet photographs'],
  A25: ['blanks in the address of a sound are mended (gpodder#1445)', ({ items }) => items[0]?.attachments[0]?.url,
    'http://127.0.0.1:18320/my%20show%201.mp3'],
  A26: ['sounds have types by their names (AntennaPod#2074)', types, ['audio/mpeg', 'audio/mp4']],
  A27: ['a cover before the sound takes nothing from it (music-assistant#5078)',
    ({ items }) => items[0]?.attachments.map(({ mediaType, durationSeconds }) => [mediaType, durationSeconds]),
    [['image/jpeg', null], ['audio/mpeg', 750]]],
  A28: ['items beside the channel are read, and “Invalid Date” is no date (podcastify-dir#1)',
    ({ items: [item] }) => [item?.title, item?.publishedAt], ['Volume 1', null]],
  A30e: goesOn('an open <select>'), A30h: goesOn('an open <svg>'), A30i: goesOn('an open <video>'),
  A30t: goesOn('<a />'), A30v: goesOn('<embed />'), A30w: goesOn('an open <select> with options'),
  A30x1: goesOn('<iframe/> of XHTML'), A30x2: goesOn('<script/> of XHTML'), A30x3: goesOn('<textarea/> of XHTML'),
  A30x4: goesOn('<video/> of XHTML'), A30x5: goesOn('<title/> and <style/> of XHTML'),
  A31: ['relative addresses follow xml:base (liferea#1472)', (feed) => [url(feed), ...linked(feed)],
    ['https://site.example/two-six/two-six/', 'https://site.example/two-six/notes.html']],
  A33: named('soft hyphens, which are invisible (newsbeuter#28)', 'Donau\u00addampf\u00adschiff fährt'),
  A34: ['the summary of an episode stands for empty content', content, '<p>Show <b>notes</b></p>'],
  A36: read('of two channels'),
  A37: read('of entries in another element'),
  A38: read('of items in another element'),
  A40: ['split CDATA is one text', (feed) => shown(feed), 'a ]]&gt; b'],
  A43: ['ids beyond 2^53 are different posts', (feed) => new Set(guids(feed)).size, 2],
  A44: ['JSON Feed is read with members of other kinds', ({ items }) => items.map(({ author }) => author), ['Ann']],
  A45: ['a date of JSON Feed may have a blank and no zone', ({ items }) => items[0]?.publishedAt, NOON],
  A46: ['links of JSON Feed without a home page follow the post', linked, ['https://site.example/p/x']],
  A47: ['content of other text types is text with its lines', content, '# Head<br>\n<br>\n*x*'],
  A48: ['an item may have no more than a description', content, 'Text'],
  A49: ['the first elements that are filled count', (feed) => [url(feed), content(feed)],
    ['https://site.example/ok', 'real']],
  A50: one('with names in capitals'),
  A51: one('after the warning of a server'),
};

/** What is refused in clear words, and stays so. */
const REFUSED: Record<string, [reason: string, words: RegExp]> = {
  A42: ['JSON with a comment is not JSON', /looks like JSON but is not valid/],
  A52: ['a page that shows a feed is a page', /an HTML page, not a feed/],
  A53: ['a script that contains a feed is no feed', /text, but not a feed/],
  A54: ['an answer of WordPress is no JSON Feed', /JSON, but not a JSON Feed/],
  A55: ['a map of a site is no feed', /neither RSS nor Atom/],
  A56: ['a page with microformats is a page', /an HTML page, not a feed/],
};

const STAYS: Record<string, string> = {
  A08: 'Atom defines no <base> within content (RFC 4287): links follow xml:base, else the page of the post',
  A41: 'entities that a document declares stay as written, because expanding them is a known way to exhaust readers',
};

function report(id: string): ParsedFeed {
  const file = existsSync(join(REPORTS, `${id}.json`)) ? `${id}.json` : `${id}.xml`;
  return parseFeed(reported(file), { url: 'https://site.example/f', contentType: null });
}

for (const [id, [promise, outcome, expected]] of Object.entries(CASES)) {
  test(`${id}: ${promise}`, { skip: skipReports }, () => assert.deepEqual(outcome(report(id)), expected));
}

for (const [id, [reason, words]] of Object.entries(REFUSED)) {
  test(`${id}: ${reason}`, { skip: skipReports }, () => {
    assert.throws(() => report(id), (error) => error instanceof NotAFeedError && words.test(error.message));
  });
}

test('A08, A41: what stays is read all the same', { skip: skipReports }, () => {
  for (const id of Object.keys(STAYS)) assert.equal(report(id).items.length, 1, id);
});

test('A10 (miniflux#290, feedbin#455): every form of a date is read as written', { skip: skipReports }, () => {
  const others = new Map([
    ['d6', NOON + 500], ['d18', Date.UTC(2025, 7, 14, 10, 30)], ['d19', Date.UTC(2025, 7, 14, 10, 30)],
    ['d20', Date.UTC(2025, 8, 14, 7, 30)], ['d22', Date.UTC(2025, 8, 14, 10, 30)], ['d51', Date.UTC(2026, 2, 14)],
  ]);
  for (const { guid, publishedAt } of report('A10').items) assert.equal(publishedAt, others.get(guid) ?? NOON, guid);
});

test('names of months are read in any language, and one of two months only in the language of the feed', () => {
  const day = (text: string, language?: string): string | undefined => {
    const date = parseDate(text, language);
    return date === null ? undefined : new Date(date).toISOString().slice(0, 16);
  };
  for (const [text, expected] of [
    ['14 березня 2026 10:30', '2026-03-14T10:30'], ['14. září 2026', '2026-09-14T00:00'],
    ['14 iunie 2026 10:30', '2026-06-14T10:30'], ['14. marraskuuta 2026 klo 10.30', '2026-11-14T10:30'],
    ['14 במרץ 2026 10:30', '2026-03-14T10:30'], ['१४ मार्च २०२६', '2026-03-14T00:00'],
    ['14 มี.ค. 2569 10:30', '2026-03-14T10:30'], ['١٤ مارس ٢٠٢٦ ٢:٣٠ م', '2026-03-14T14:30'],
    ['14 آذار 2026', '2026-03-14T00:00'], ['14 сен 2026', '2026-09-14T00:00'], ['14 Aoû 2026', '2026-08-14T00:00'],
    ['3 tháng 6 2026', '2026-06-03T00:00'], ['Thứ 7, ngày 14 tháng 3 năm 2026', '2026-03-14T00:00'],
    ['2026年3月14日 下午10时30分', '2026-03-14T22:30'], ['14 marzo 2026 10:30 p. m.', '2026-03-14T22:30'],
    ['14-MAR-26 10.30.00.123456 PM', '2026-03-14T22:30'], ['mardi 14 mars 2026 à 14h', '2026-03-14T14:00'],
    ['martes, 14/03/2026 10:30', '2026-03-14T10:30'], ['2026-W11-6', '2026-03-14T00:00'],
    ['2026-03-14T10:30:00−05:00', '2026-03-14T15:30'], ['Nov. 2020', '2020-11-01T00:00'],
    ['14 listopada 2026', undefined], ['12 lip 2026', undefined], ['令和8年3月14日', undefined],
    ['14 xyz 2026', undefined], ['samedi 14 2026 10:30', undefined], ['2026-W60-1', undefined],
  ]) assert.equal(day(text ?? ''), expected, text);
  assert.deepEqual([day('14 listopada 2026', 'pl'), day('14 listopada 2026', 'hr-HR'), day('14 jui 2026', 'fr')],
    ['2026-11-14T00:00', '2026-10-14T00:00', undefined]);
  const items = '<language>hr</language><item><guid>1</guid><pubDate>14 listopada 2026</pubDate></item>';
  assert.equal(rss(items).items[0]?.publishedAt, Date.UTC(2026, 9, 14));
});

test('the time that Drupal gives beside a local date counts, escaped or not', () => {
  const time = '<time datetime="2024-05-03T10:00:00Z">Fri, 05/03/2024 - 06:00</time>';
  for (const written of [time, time.replaceAll('<', '&lt;'), `<![CDATA[${time}]]>`]) {
    assert.equal(rssItem(`<guid>1</guid><pubDate>${written}</pubDate>`).publishedAt, Date.UTC(2024, 4, 3, 10), written);
  }
});

test('a channel may have no title but that of Atom', () => {
  assert.equal(rss('<a:title>Owls</a:title>', 'xmlns:a="http://www.w3.org/2005/Atom"').title, 'Owls');
});

test('declared plain text is kept as it is, and undeclared titles lose only what is markup', () => {
  assert.equal(entry('<id>1</id><title type="text">Writing &amp;lt; in HTML</title>').title, 'Writing &lt; in HTML');
  assert.equal(entry('<id>1</id><title>&lt;b&gt;Bold&lt;/b&gt; move</title>').title, 'Bold move');
  assert.equal(jsonItem({ id: '1', title: 'Why <em>x</em> &lt; y' }).title, 'Why <em>x</em> &lt; y');
  assert.equal(json({ description: 'All about <p>', items: [] }).description, 'All about <p>');
  assert.equal(rssItem('<guid>1</guid><title>A &lt;img src="x.png"&gt; B</title>').title, 'A B');
});

test('plain contents keep lines and addresses in brackets, but not the lines of an author who indents XML', () => {
  const description = (text: string): string => rssItem(`<guid>1</guid><description>${text}</description>`).contentHtml;
  assert.equal(description('Signed-off-by: Ann &lt;a@x.example&gt;\n1 &lt; 2'),
    'Signed-off-by: Ann &lt;a@x.example><br>\n1 &lt; 2');
  assert.equal(description('One sentence that\n      goes on'), 'One sentence that\n      goes on');
  assert.equal(description('Points:\n  - one\n  - two'), 'Points:<br>\n  - one<br>\n  - two');
  assert.equal(description('one\rtwo&#13;three\u2028four'), 'one<br>\ntwo<br>\nthree<br>\nfour');
  assert.equal(description('&lt;li&gt;one\n&lt;li&gt;two'), '<li>one\n<li>two');
  assert.equal(entry('<id>1</id><summary type="text">a\nb</summary>').contentHtml, 'a<br>\nb');
});

test('files without a telling type have one by their name, in every format', () => {
  const enclosure = (attributes: string): string | null | undefined =>
    rssItem(`<enclosure ${attributes}/>`).attachments[0]?.mediaType;
  assert.equal(enclosure('url="/a.mp3" type="application/octet-stream"'), 'audio/mpeg');
  assert.equal(enclosure('url="/a.MP4?x=1"'), 'video/mp4');
  assert.equal(enclosure('url="/a.mp3" type="audio/x-own"'), 'audio/x-own');
  assert.equal(enclosure('url="/a"'), null);
  assert.equal(entry('<id>1</id><link rel="enclosure" href="/a.opus"/>').attachments[0]?.mediaType, 'audio/ogg');
  assert.equal(jsonItem({ id: '1', attachments: [{ url: '/a.m4a' }] }).attachments[0]?.mediaType, 'audio/mp4');
});

test('a feed without posts but with elements that look like posts says so in its source', async (t) => {
  for (const inner of ['<x:item><title>P</title></x:item>', '<a><b><item><title>P</title></item></b></a>']) {
    assert.deepEqual([rss(inner).items.length, rss(inner).hidesItems], [0, true], inner);
  }
  const hides = [rss(''), atom(''), parse('<feed><item/></feed>')].map(({ hidesItems }) => hidesItems);
  assert.deepEqual(hides, [false, false, true]);
  const hub = await startHub(t);
  const origin = await startOrigin(t, {
    '/feed': serving(() => '<rss><channel><title>Owls</title><x:item><title>P</title></x:item></channel></rss>'),
  });
  const ada = await hub.person('ada');
  const id = await addFeed(ada, `${origin.url}/feed`);
  const source = await (await ada.get(`/api/sources/${id}`)).json() as { stateReason: string };
  assert.equal(source.stateReason, 'The feed has elements that look like posts, but the hub cannot read them.');
});
