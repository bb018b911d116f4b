// Protects readers from what people have reported of other readers: contents of feeds, and Markdown.
import assert from 'node:assert/strict';
import test from 'node:test';
import { dressMarkup } from '../../../src/platform/markup/dress-markup.ts';
import { parseFeed } from '../../../src/features/feeds/parse-feed.ts';
import { reported, skipReports } from '../../support/public-reports.ts';
import { renderMarkdown } from '../../support/rendered-markdown.ts';
import { sanitizeHtml } from '../../support/sanitized-markup.ts';

const PAGE = 'https://site.example/p/1';

/** The input of a case as the page of its post shows it, whose images are links still. */
function shown(file: string): string {
  if (file.endsWith('.md')) return dressMarkup(sanitizeHtml(renderMarkdown(reported(file).toString()), { baseUrl: PAGE }), PAGE);
  const input = reported(file);
  const [item] = file.endsWith('.xml') ? parseFeed(input, { url: 'https://site.example/feed', contentType: null }).items : [];
  return dressMarkup(sanitizeHtml(item?.contentHtml ?? input.toString(), { baseUrl: PAGE }), PAGE);
}

/** The links of this pattern lead to ids in the text, as many as said. */
const jumps = (count: number) => (markup: string): void => {
  const places = Array.from(markup.matchAll(/<a href="#([^"]*)"/g), ([, place = '']) => decodeURIComponent(place));
  assert.equal(places.length, count, markup);
  for (const place of places) assert.ok(markup.includes(` id="${place}"`), `${place}: ${markup}`);
};

/** The image link comes, with these words. */
const picture = (url: string, label = '[^<]*') =>
  new RegExp(`<a href="${url.replace(/[.[\]+?]/g, '\\$&')}" class="remote-image"[^>]*>${label}</a>`);
const real = picture('https://site.example/real.jpg');
const gone = (pattern: RegExp) => (markup: string): void => assert.doesNotMatch(markup, pattern);

type Right = RegExp | string | ((markup: string) => void);
type Case = [id: string, report: string, promise: string, right: Right, ...more: Right[]];

const LAZY = ('E02c00 E02c01 E02c02 E02c04 E02c05 E02c06 E02c08 E02c09 E02c11 E02c13 E02c14 E02c16 E02c17 E02c19 E02c21 ' +
  'E02c23').split(' ');

const CASES: Case[] = [
  ['E01a', 'miniflux#1696', 'footnotes with ids on sup lead within the post and back', jumps(2)],
  ['E01b', 'govspeak#11', 'kramdown’s footnotes (fn:1) lead within the post and back', jumps(2)],
  ['E01c', 'lion-reader#1425', 'ids of citations with dots are places', jumps(2)],
  ['E01d', '', 'German ids are places', jumps(2)],
  ['E01e', '', 'Cyrillic ids are places', jumps(1)],
  ['E01g', '', 'old anchors with a name are places', jumps(1)],
  ['E01h', '', 'anchors with an id and without an address are places', jumps(1)],
  ['E01i', '', 'a link to a place may be a place itself', jumps(2), / id="in-post-r1"/, / id="in-post-n1"/],
  ['E01k', '', 'the whole address of the post with a place stays within the post', jumps(1)],
  ['E01l', '', 'the post’s address with http, www. and a slash stays within the post', jumps(1)],
  ['E01n', '', 'ids of sections and divs are places', jumps(2)],
  ['E02a', 'NetNewsWire#3585', 'a placeholder in srcset hides no picture', real],
  ['E02b', 'FreshRSS#877', 'data-src is the picture', real],
  ...LAZY.map((id): Case =>
    [id, 'readability#748, lnreader#1457, breadability#12', 'the picture of a lazy attribute is shown', real]),
  ['E02d', 'vanilla-lazyload#27', 'the picture in noscript is shown', picture('https://site.example/real.jpg', 'A')],
  ['E02f', '', 'the picture in noscript takes the place of a placeholder', picture('https://site.example/real.jpg', 'A'), gone(/loading/)],
  ['E02g', '', 'sources of a picture element may be lazy', real],
  ['E02i', '', 'amp-img is a picture', real],
  ['E02j', '', 'a link to the large picture stays', 'href="https://site.example/real.jpg"'],
  ['E02k', '', 'data-srcset is read', real],
  ['E02l', '', 'a picture element may have only a source', picture('https://site.example/real.jpg', 'x')],
  ['E02n', '', 'addresses in srcset may have commas', picture('https://c.example/w_900,h_600/big.jpg')],
  ['E02o', '', 'srcset needs no blanks', picture('https://c.example/two.jpg')],
  ['E02p', '', 'srcset may be the only address', picture('https://c.example/only.jpg')],
  ['E02q', '', 'an .svg in src is a placeholder', picture('https://c.example/true.jpg')],
  ['E02r', '', 'addresses may have blanks and brackets', /c\.example\/pic%20one%20\[1\]\.jpg/],
  ['E02s', '', 'addresses may lack the scheme or the host', /https:\/\/c\.example\/a1\.jpg[^]*https:\/\/site\.example\/a2\.jpg/],
  ['E02u', '', 'a rule of one pixel is no picture', gone(/rule\.png/)],
  ['E02v', '', 'a limit in style is no size', picture('https://c.example/z.jpg')],
  ['E03a', 'friendica#9230', 'a host named pixel shows pictures', picture('https://pixel.photos.example/storage/m/_v2/9f/a.jpg', 'photo')],
  ['E03b', 'friendica#9230', 'a host named stats shows pictures', picture('https://stats.sports.example/charts/goals.png', 'photo')],
  ['E03c', 'friendica#9230', 'a picture may be named pixel.png', picture('https://site.example/2026/03/pixel.png', 'photo')],
  ['E03d', 'friendica#9230', 'a picture may be named beacon.png', picture('https://site.example/2026/03/beacon.png', 'photo')],
  ['E03f', 'friendica#9230', 'a host named counter shows pictures', picture('https://counter.shop.example/a.jpg', 'photo')],
  ['E03h', 'friendica#9230', 'a host named tracking shows pictures', picture('https://tracking.wolves.example/map.png', 'photo')],
  ['E03j', 'friendica#9230', 'a picture may be named blank.png', picture('https://site.example/art/blank.png', 'photo')],
  ['E03k', '', 'a pixel by its size is gone', '<p dir="auto">x</p>'],
  ['E04a', 'NSHipster#81, news-android#798', 'lines of coloured code stay', /func run\(\) \{\n {4}return 1\n\}/],
  ['E04b', 'hugo-theme-stack#645, FixIt#651', 'line numbers in a table stay beside the code', /1\n2\n[^]*let a = 1\nlet b = 2\n/],
  ['E04c', 'starlight-blog#183', 'lines of code that are divs stay lines', /<div>npm i<\/div><\/div><div>/],
  ['E04d', 'Folo#928', 'code without pre keeps its breaks', /function f\(\) \{<br>/],
  ['E04e', 'newsboat#355', 'lines of code that are blocks only by their style stay lines', /a = 1<\/div><div>b = 2/],
  ['E04f', '', 'a table of lines of code stays', /int a;<\/td><\/tr><tr>/],
  ['E04g', '', 'br in pre breaks lines', /a = 1<br>b = 2<br>c/],
  ['E04h', '', 'tabs in pre stay', /\tif x:\n\t\ty\(\)/],
  ['E06a', 'Ghost#8442', 'a film in a frame becomes a link with its title', /watch\?v=dQw4w9WgXcQ"[^>]*>A film</],
  ['E06b', '', 'frames of other players become links', /vimeo\.com\/video\/1[^]*tube\.example\/videos\/embed\/2[^]*spotify\.com\/embed\/track\/3/],
  ['E06c', '', 'a frame may be lazy', /watch\?v=dQw4w9WgXcQ/],
  ['E06d', '', 'lite-youtube becomes a link', /watch\?v=dQw4w9WgXcQ"[^>]*>Play: A film</],
  ['E06e', '', 'a frame without an address leaves the text around it', '<p dir="auto">x</p>'],
  ['E06f', '', 'a frame’s address may come late', /watch\?v=dQw4w9WgXcQ/],
  ['E06g', '', 'a film’s source becomes a link', /site\.example\/v\.mp4/],
  ['E06i', '', 'a tweet in a blockquote stays, without its script', /hi<\/p>— Ann \(@ann\) <a href="https:\/\/twitter\.com\/ann\/status\/1"/],
  ['E08a', 'papr#131', 'MathML stays', '<math><mi>x</mi><mo>=</mo><mn>1</mn></math>'],
  ['E08b', '', 'TeX stays as text', '\\(a^2 &lt; b\\)'],
  ['E08c', 'papr#131', 'assistive MathML stays', '<math><mi>E</mi></math>'],
  ['E11', 'GoToSocial#897', 'emoji become their words', '<p dir="auto">hi :catjam: there</p>'],
  ['E16a', '', 'details and quotations nest', /<li><details[^>]*><summary>More<\/summary><blockquote><blockquote>deep/],
  ['E16b', '', 'definitions and ruby stay', /<dt>A<\/dt><dd>B<\/dd><\/dl><ruby>漢<rp>\(<\/rp><rt>kan/],
  ['E16c', '', 'a table keeps its caption, spans and inner table', /<caption[^>]*>C<\/caption><thead><tr><th colspan="2">H[^]*<table>[^]*in/],
  ['E16f', '', 'addresses may have blanks and line ends', /href="https:\/\/site\.example\/a%20b\?q=1"/],
  ['E16g', '', 'words that look like markup stay once', /Hello/],
  ['E16h', '', 'the label of a button is no text', '<p dir="auto">a</p><p dir="auto">b</p>'],
  ['E16i', '', 'words of forms stay', /Poll[^]*Yes/],
  ['E16j', '', 'a link around blocks stays', /<a href="https:\/\/site\.example\/x"[^>]*><h3[^>]*>Title<\/h3><p[^>]*>Text/],
  ['E16k', '', 'words with a direction in style stay', /right[^]*<td>5/],
  ['E16l', 'NetNewsWire#3753', 'the invisible parts of a shortened link stay', />https:\/\/site\.example\/long\/path</],
  ['E16m', '', 'done and open tasks differ', /<li>☑ done<\/li><li>☐ open<\/li>/],
  ['I01', 'marked#619, vscode#380', 'brackets within an address belong to it', 'href="https://en.wikipedia.example/wiki/Ao_(color)"'],
  ['I03', 'nodejs.org#2119', 'links in brackets are links', /\(<a href="https:\/\/a\.example\/"[^>]*>a\.example<\/a>\), found by <a[^>]*>Mar<\/a> \(<a[^>]*>V<\/a>\)/],
  ['I04', 'task_list#17', 'words in brackets behind a box are no link', '[x] (in parentheses)', gone(/<a /)],
  ['I05', 'Minder#746', 'a link in brackets is a link', /\(<a href="https:\/\/g\.example\/x\/1"[^>]*>x\/y#1<\/a>\)/],
  ['I06', '', 'cells keep escaped bars', /b \| c<\/th>[^]*<code>x \| y<\/code>[^]*<strong>z<\/strong>/],
  ['I07', '', 'lists nest, with paragraphs', /<li>one\n<ul>\n<li>\n<p[^>]*>two<\/p>\n<ul>\n<li>three<\/li>\n<\/ul>\n<p[^>]*>para/],
  ['I08', '', 'four blanks nest a list', /<li>one\n<ul>\n<li>two\n<ul>\n<li>three/],
  ['I11', 'writefreely#428', 'a line end is a blank', '<p dir="auto">first line\nsecond line</p>'],
  ['I12', '', 'code in fences is text', '<code class="language-js">let a = &quot;&lt;b&gt;&quot;;\n</code>'],
  ['I13', '', 'tildes strike through', '<del>gone</del> and <del>one</del>'],
  ['I14', '', 'braces behind a heading are words', />Heading \{#id\}<\/h1>\n<p[^>]*>Term\n: Definition/],
  ['I15', '', 'Markdown in details is rendered', /<summary[^>]*>More<\/summary>\s*<p[^>]*><strong>bold<\/strong> inside/],
  ['I16', '', 'a picture has words and a title', /title="The title"[^>]*>alt &quot;q&quot;<\/a>/],
  ['I17', '', 'a loose list has paragraphs', /<p[^>]*>b<\/p>\n<\/li>\n<li>\n<p[^>]*>c<\/p>\n<p[^>]*>d/],
  ['I18', '', 'emphasis stands between ideographs', '中文<strong>加粗</strong>文字 and 「<strong>引用</strong>」です'],
  ['I19', '', 'two blanks and a backslash break lines', /spaces<br>\s*next and <br>\s*third/],
  ['I20', '', 'addresses in angle brackets are links', /href="https:\/\/x\.example\/\?a=1&amp;b=2"[^]*href="mailto:a@b\.example"/],
  ['I21', '', 'signs of other dialects stay as typed', 'H<del>2</del>O and x^2^ ==mark== ++ins++'],
  ['I22', '', 'code stands in a list', /<pre[^>]*><code>code in list\n<\/code>/],
  ['I23', '', 'tables need no outer bars', /<th>no<\/th>[^]*<td>a<\/td>\n<td>b<\/td>/],
  ['I26', '', 'TeX stays as typed', 'Inline $a_1 + b_1$ and $$x$$'],
  ['I27', '', 'shortcodes of emoji stay as typed', 'ship it :rocket:'],
  ['I28', '', 'quotation marks and dashes stay as typed', '&quot;Hello&quot; -- it&#39;s...'],
  ['I29', '', 'a link leads to a heading by its words', jumps(1), '<h2 id="in-post-part-two"'],
  ['I30', '', 'pictures in HTML are pictures', picture('https://x.example/a.png', 'a')],
];

/** What stays as it is, and why. */
export const STAYS: Record<string, string> = {
  E02h: 'A picture in the background is mostly an ornament; readers that extract articles leave it out too.',
  E04i: 'A list in pre is shown as a list, so that its lines are lines.',
  E16e: 'Links of unknown schemes may start any program; only http, https, mailto and tel are kept.',
  I04b: 'Task lists are no part of CommonMark: their boxes stay as typed, which reads as GitHub’s mails do.',
  I08b: 'CommonMark: two blanks do not nest a list under a number.',
  I09: 'Footnotes are no part of CommonMark or of the specification of GitHub’s dialect.',
  I10: 'Only whole web addresses become links, so that names of files and modules stay words.',
  I18b: 'CommonMark says so; another rule would change texts that other programs read.',
  I25: 'Front matter is a matter of generators of sites; the form has fields for title and date.',
};

const FILM = 'https://www.youtube.com/embed/zzKPlgUH9uA';
const A = '<img src="https://c.example/a.jpg" alt="x">';

/** What stands in `noscript` is shown once, wherever it stands: the markup, and the addresses of the links. */
const ONCE: [markup: string, shown: string[]][] = [
  [`<noscript>${A}</noscript><img class="thumb" data-src="https://c.example/a.jpg" alt="x">`, ['a.jpg']],
  [`<iframe src="about:blank" data-lazy-src="${FILM}"></iframe><noscript><iframe src="${FILM}"></iframe></noscript>`, ['watch']],
  [`<noscript>${A}</noscript><noscript>${A.replace('a.jpg', 'b.jpg')}</noscript>`, ['a.jpg', 'b.jpg']],
  [`<noscript>${A}${A.replace('a.jpg', 'b.jpg')}</noscript>`, ['a.jpg', 'b.jpg']],
  [`<img src="/lazy.gif" class="lazy"><noscript>${A}${A.replace('a.jpg', 'b.jpg')}</noscript>`, ['a.jpg', 'b.jpg']],
  ['<object data="/img/pixel-art.svg"></object><object data="/loading-dock.png"></object>', ['pixel-art.svg', 'loading-dock.png']],
];

test('what noscript repeats is shown once, and each of several pictures in it; a file may be named like a placeholder', () => {
  for (const [markup, shown] of ONCE) {
    const links = sanitizeHtml(markup, { baseUrl: PAGE }).matchAll(/<a href="[^"]*?\/([^/"?]*)(?:\?[^"]*)?"/g);
    assert.deepEqual(Array.from(links, ([, name]) => name), shown, markup);
  }
});

const fileOf = (id: string): string => (id.startsWith('I') ? `${id}.md` : /^E02[n-v]$/.test(id) ? `${id}.xml` : `${id}.html`);

for (const [id, report, promise, ...right] of CASES) {
  test(`${id}${report && ` (${report})`}: ${promise}`, { skip: skipReports }, () => {
    const markup = shown(fileOf(id));
    for (const one of right) {
      if (typeof one === 'function') one(markup);
      else if (typeof one === 'string') assert.ok(markup.includes(one), markup);
      else assert.match(markup, one);
    }
  });
}

test('E17: a picture whose author gave it no words has none for screen readers', () => {
  const markup = sanitizeHtml('<p>a<img src="/ornament.png" alt=""></p>', { baseUrl: PAGE });
  assert.match(markup, /class="remote-image" data-alt=""/);
});

test('E15f: what is refused of a picture leaves its words', () => {
  assert.match(sanitizeHtml('<img src="cid:1" alt="A map"> <img src="blob:x" aria-label="A plan">', { baseUrl: PAGE }), /^A map A plan$/);
});
