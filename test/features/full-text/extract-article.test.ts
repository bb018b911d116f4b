// Protects the text of a page: the article whole, with what belongs to it, and without what stands around it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { extractArticle } from '../../../src/features/full-text/extract-article.ts';
import { atOnce } from '../../../src/platform/markup/in-steps.ts';
import { sanitizeHtml } from '../../support/sanitized-markup.ts';
import { ARTICLE_POST, pageWith, PROSE } from '../../support/article-pages.ts';

/** The article as readers get it: sanitised. */
function articleOf(html: string, title = ''): string {
  const result = atOnce(extractArticle(html, { ...ARTICLE_POST, title, teaser: '' }));
  assert.ok('article' in result, `refused: ${JSON.stringify(result)}`);
  return sanitizeHtml(result.article.contentHtml, { baseUrl: ARTICLE_POST.url });
}

test('the article comes without navigation, sidebar, comments, buttons to share, and footer', () => {
  const article = articleOf(pageWith(PROSE, 'Harbour reopens'));

  for (const paragraph of PROSE.split('\n')) assert.ok(article.includes(paragraph), paragraph);
  assert.doesNotMatch(article, /Home|Politics|Popular|comment|Share|All rights reserved|Harbour reopens/);
});

test('each element of an article survives extraction and sanitising', () => {
  const cases: [element: string, expected: RegExp][] = [
    ['<figure><img src="/p.jpg" alt="Boat"><figcaption>At sea</figcaption></figure>',
      /<figure><a href="https:\/\/news\.example\/p\.jpg" class="remote-image"[^>]*>Boat<\/a><figcaption>At sea/],
    ['<pre><code class="language-js">let a = 1;\n  b();</code></pre>', /<code class="language-js">let a = 1;\n {2}b\(\);/],
    ['<table><tr><th>Port<th>Ships<tr><td>Riga<td>12</table>', /<th>Port<\/th><th>Ships<\/th><\/tr><tr><td>Riga<\/td>/],
    ['<table><tr><td><a href="/1">One</a><td>a<tr><td><a href="/2">Two</a><td>b<tr><td><a href="/3">Three</a><td>c</table>',
      /<td><a href="[^"]*\/3"[^>]*>Three<\/a><\/td><td>c/],
    ['<ol start=3><li>one<li>two</ol>', /<ol start="3"><li>one<\/li><li>two<\/li><\/ol>/],
    ['<p>Note<sup><a href="#fn1" id="r1">1</a></sup> and more words</p><p id="fn1">The footnote</p>',
      /id="in-post-r1"[^]*<p id="in-post-fn1">The footnote/],
    ['<aside class="footnotes"><ol><li><a href="https://a.example/">Source</a></ol></aside>', /<ol><li><a href="https:\/\/a\.ex/],
    ['<h2>Harbour</h2><p>It was built long ago</p>', /<h2>Harbour<\/h2>/],
    ['<div class="wp-caption"><img src="/c.jpg"><p><a href="/by">A photo by Ada</a></p></div>', /c\.jpg[^]*A photo by Ada/],
    ['<video><source src="/film.mp4"></video><img src="data:x">', /"https:\/\/news\.example\/film\.mp4" rel/],
    ['<p>So <math><msup><mi>x</mi><mn>2</mn></msup></math> is a square</p>', /<msup><mi>x<\/mi><mn>2<\/mn><\/msup>/],
    ['<blockquote><p>Quoted words of somebody</p></blockquote>', /<blockquote><p>Quoted words/],
    ['<iframe src="https://www.youtube.com/embed/abcdefg" title="Film"></iframe>', /watch\?v=abcdefg"[^>]*>Film<\/a>/],
    ['<amp-img src="/amp.jpg" alt="Amp"></amp-img>', /amp\.jpg" class="remote-image"/],
    ['<amp-youtube data-videoid="abcdefg"></amp-youtube>', /watch\?v=abcdefg/],
    ['<p dir="rtl" lang="ar">نص عربي طويل بما يكفي ليكون فقرة</p>', /<p lang="ar" dir="rtl">نص/],
  ];
  for (const [element, expected] of cases) {
    assert.match(articleOf(pageWith(`${PROSE}${element}`), 'Harbour reopens after the storm'), expected, element);
  }
});

test('the direction and language of the page become those of the article', () => {
  const arabic = `<p>${'نص عربي، طويل بما يكفي ليكون مقالا. '.repeat(20)}</p>`;
  assert.match(articleOf(`<html dir=rtl lang=ar><body><div>${arabic}${arabic}</div>`), /^<div lang="ar" dir="rtl">/);
});

test('pictures that scripts would load are found, each once', () => {
  const cases: [markup: string, file: string][] = [
    ['<img src="data:image/gif;base64,R0" data-src="/real.jpg">', 'real.jpg'],
    ['<img class="lazy" src="/blank.gif" data-hi-res="/real.jpg">', 'real.jpg'],
    ['<img src="data:image/gif;base64,R0"><noscript><img src="/real.jpg"></noscript>', 'real.jpg'],
    ['<img class="lazy" src="/loading.gif"><noscript><img src="/real.jpg"></noscript>', 'real.jpg'],
    ['<img src="/real.jpg"><noscript><img src="/again.jpg"></noscript>', 'real.jpg'],
    ['<picture><source srcset="/small.webp 400w, /real.webp 1200w"><img src="/small.jpg"></picture>', 'real.webp'],
  ];
  for (const [markup, file] of cases) {
    const images = [...articleOf(pageWith(`${PROSE}<p>${markup}</p>`)).matchAll(/\/([\w.]+)" class="remote-image"/g)];
    assert.deepEqual(images.map(([, name]) => name), [file], markup);
  }
});

test('addresses are resolved against the base element, but for links within the page', () => {
  const links = '<p>See <a href="b">there</a>, <a href="#c">here</a> and <img src="d.png">, which is a picture</p>';
  const based = articleOf(pageWith(`${PROSE}${links}`).replace('<head>', '<head><base href="/deep/folder/">'));
  assert.match(based, /"https:\/\/news\.example\/deep\/folder\/b"/);
  assert.match(based, /"https:\/\/news\.example\/2026\/harbour#c"/);
  assert.match(based, /"https:\/\/news\.example\/deep\/folder\/d\.png"/);
  assert.match(articleOf(pageWith(`${PROSE}${links}`)), /"https:\/\/news\.example\/2026\/b"/);
});

test('bylines, dates, hints to other articles and a heading that repeats the title go; other headings stay', () => {
  const article = articleOf(pageWith(`<h1>Harbour reopens after the storm</h1><p class="byline">By Ada Example</p>
    <time class="pubdate">1 May</time><h2>Damage</h2>${PROSE}<p>Read more: another harbour</p>
    <div class="related-posts"><a href="/x">Elsewhere a harbour closes</a></div><p>Anzeige</p><h3>Ähnliche Beiträge</h3>`), 'Harbour reopens after the storm');
  assert.match(article, /<h2>Damage<\/h2>/);
  assert.doesNotMatch(article, /reopens after|Ada Example|1 May|Read more|Elsewhere|Anzeige|Beiträge/);
});

test('an article without paragraphs, end tags or class names is found', () => {
  const text = PROSE.replaceAll('<p>', '').replaceAll('</p>', '<br><br>');
  assert.match(articleOf(`<title>x</title><a href=/>Home</a><hr>${text}`), /Ferries to the islands/);
  assert.match(articleOf(`<table><tr><td><a href=/>Home</a><td>${PROSE.replaceAll('</p>', '')}</table>`), /Ferries to/);
  const chinese = `<p>${'港口在风暴过后重新开放，渡轮每小时开往各岛。'.repeat(8)}</p>`;
  assert.match(articleOf(`<div><a href=/>首页</a></div><div>${chinese}${chinese}</div>`), /港口在风暴/);
});

test('weaker rules find an article in an element that is named like clutter, and nothing that is hidden', () => {
  const hidden = PROSE.replaceAll('harbour', 'airport');
  const article = articleOf(`<div class="sidebar">${PROSE}</div><div hidden>${hidden}</div>`);
  assert.match(article, /Ferries to the islands/);
  assert.doesNotMatch(article, /airport/);
  assert.match(articleOf(`<div hidden>${hidden}</div>`), /airport/); // better than no text
});

test('comments stay out, even if they are longer than the article', () => {
  const words = 'I read this, and I think that much more could be said about it, by others too. ';
  const comments = `<div class="comment-body"><p>${words}</p><p>${words.repeat(5)}</p></div>`.repeat(6);
  const article = articleOf(`<div class="a">${PROSE}</div><div id="comments">${comments}</div>`);
  assert.doesNotMatch(article, /more could be said/);
});

test('a caption that a gallery repeats comes once', () => {
  const caption = '<p class="caption">Boats in the harbour of the town, photographed by Ada from the lighthouse</p>';
  assert.equal(articleOf(pageWith(`${PROSE}${caption}${caption}`)).match(/photographed/g)?.length, 1);
});

test('an article is whole if a page builder wraps each paragraph, or if the article is open for comments', () => {
  const wrapped = (text: string): string => `<section><div class="elementor-container"><div class="elementor-column">
    <div class="elementor-widget elementor-widget-text"><div class="elementor-widget-container">${text}</div></div></div>
    </div></section>`;
  const built = articleOf(`<div class="builder">${[PROSE.repeat(3), ...PROSE.split('\n')].map(wrapped).join('')}</div>`);
  assert.equal(built.match(/Ferries to the islands/g)?.length, 4);
  assert.match(articleOf(`<div class="layout comments-open">${PROSE}</div><div>${PROSE.slice(0, 115)}</div>`), /Engineers/);
});

test('a timetable keeps its times', () => {
  const rows = [8, 9, 10].map((hour) => `<tr><td class="time">${hour}:00</td><td>Ferry to Riga</td></tr>`).join('');
  assert.match(articleOf(pageWith(`${PROSE}<table>${rows}</table>`)), /8:00[^]*9:00[^]*10:00/);
});

test('an article that is hidden until a script shows it is found behind a banner', () => {
  const banner = '<div class="banner"><p>We sell umbrellas, also large umbrellas, at a low price this week</p></div>';
  assert.match(articleOf(`${banner}<main aria-hidden="true">${PROSE}${PROSE}</main>`), /Ferries to the islands/);
});

test('words within a sentence stay, whatever their class says', () => {
  assert.match(articleOf(pageWith(`${PROSE}<p>Ships pay in <a class="promo" href="/t">port dues</a> each year</p>`)), /port dues/);
});

test('an article longer than a post can be is cut with its elements closed', () => {
  const result = atOnce(extractArticle(`<article>${PROSE.repeat(1_500)}</article>`, { ...ARTICLE_POST, title: '', teaser: '' }));
  assert.ok('article' in result);
  const { length } = result.article.contentHtml;
  assert.ok(length > 399_000 && length < 401_000, String(length));
  assert.match(result.article.contentHtml, /<\/p>\n?<\/article>$/);
});

test('of an old page whose layout is a table, the columns of links go, and the article between them stays', () => {
  const column = (word: string): string => `<td width=150>${[1, 2, 3].map((n) => `<a href=/${n}>${word} headline ${n}</a><br>`).join('')}`;
  const text = PROSE.replaceAll('<p>', '').replaceAll('</p>', '<br><br>');
  const article = articleOf(`<table><tr><td colspan=3><a href=/>Start</a> | <a href=/sport>Sport</a>
    <tr>${column('Left')}<td valign=top><font size=2>${text}</font>${column('Right')}<tr><td colspan=3><small>Imprint</small></table>`);
  assert.match(article, /three weeks after[^]*Engineers want/);
  assert.doesNotMatch(article, /headline/);
});

test('comments with names of other languages, a form to comment, and the address of the author go', () => {
  const comment = '<p>I was there last year, and I liked it very much too, above all the fish market on Mondays.</p>';
  for (const name of ['komentarze', 'leserkommentare', 'reactions', 'yorumlar']) {
    const article = articleOf(`<div id="a">${PROSE}<div id="${name}">${comment}</div>
      <form><p>Your name is required, and your address will not be shown to anybody</p><input><textarea></textarea></form>
      <address>Last changed by Ada Example, who lives in the harbour since she was born</address></div>`);
    assert.match(article, /Engineers want/);
    assert.doesNotMatch(article, /fish market on Mondays|Your name|Ada Example/, name);
  }
  assert.match(articleOf(`<form action="/page.aspx"><div>${PROSE}</div></form>`), /Engineers want/, 'a form around the whole page stays');
});
