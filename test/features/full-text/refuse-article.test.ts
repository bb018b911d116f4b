// Protects readers from text that is not the article of the post: the reason is told, and the teaser stays.
import assert from 'node:assert/strict';
import test from 'node:test';
import { extractArticle, type Extraction } from '../../../src/features/full-text/extract-article.ts';
import { MAX_NODES } from '../../../src/platform/markup/html-tree.ts';
import { atOnce } from '../../../src/platform/markup/in-steps.ts';
import { ARTICLE_POST, pageWith, PROSE } from '../../support/article-pages.ts';

const extract = (html: string, about: { title?: string; teaser?: string } = {}): Extraction =>
  atOnce(extractArticle(html, { ...ARTICLE_POST, ...about }));

const data = (json: string): string => `<script type="application/ld+json">${json}</script>`;

test('an article of the post is shown, also without a known title or teaser', () => {
  for (const about of [{}, { title: '' }, { teaser: '' }, { title: '', teaser: '' }]) {
    assert.ok('article' in extract(pageWith(PROSE, ARTICLE_POST.title), about), JSON.stringify(about));
  }
});

test('a wall of consent is refused, in several languages, and so is a check for robots', () => {
  const walls = [
    'We and our 812 partners store cookies on your device, to which you may consent or not, as our privacy policy says.',
    'Wir benötigen Ihre Einwilligung, damit wir und unsere Partner Daten auf Ihrem Gerät speichern und auslesen dürfen.',
    'Avec votre accord, nous et nos partenaires utilisons des traceurs pour lire vos données, selon la confidentialité.',
  ];
  for (const wall of walls) {
    assert.deepEqual(extract(`<title>News</title><div><p>${wall}</p><p>${wall} ${wall}</p></div>`), { refused: 'wall' }, wall);
  }
  const check = '<title>Just a moment...</title><p>Checking your browser before you go to the page of the newspaper</p>';
  assert.deepEqual(extract(check), { refused: 'wall' });
});

test('an article about cookies, or behind a banner that asks for consent, is shown', () => {
  const banner = '<div class="cookie-banner"><p>We use cookies, also of others, unless you do not consent to them</p></div>';
  assert.ok('article' in extract(pageWith(banner + PROSE, ARTICLE_POST.title)));
  for (const word of ['Zustimmung', 'Datenschutz', 'cookie', 'consent']) {
    const cut = `${PROSE}\n${PROSE}`.replaceAll('<p>', '').replaceAll('</p>', '<br><br>').replace('Engineers', word);
    assert.ok('article' in extract(pageWith(`<div>${cut}</div>`)), `an article in one block that says ${word} once`);
  }
  const about = `<p>Courts decide this year whether a cookie needs the consent of the reader, and of whom else.</p>`.repeat(3);
  assert.ok('article' in extract(pageWith(about), { title: 'Courts decide about cookie consent', teaser: '' }));
});

test('a short article that costs money is refused, whatever else the page holds', () => {
  for (const locked of ['false', '"False"']) {
    const page = pageWith(PROSE + data(`{"@type":"NewsArticle","isAccessibleForFree":${locked}}`), ARTICLE_POST.title);
    assert.deepEqual(extract(page), { refused: 'paywall' }, locked);
  }
  const item = '<meta itemprop="isAccessibleForFree" content="false">';
  assert.deepEqual(extract(pageWith(PROSE + item)), { refused: 'paywall' });
  const cut = '<p>To continue reading this article, take out a subscription.</p>';
  assert.deepEqual(extract(pageWith(PROSE + cut, ARTICLE_POST.title)), { refused: 'paywall' });
  const whole = PROSE.repeat(5) + data('{"@type":"NewsArticle","isAccessibleForFree":false}');
  assert.ok('article' in extract(pageWith(whole, ARTICLE_POST.title)), 'the whole text stands in the page');
  const free = data('{"isAccessibleForFree":true,"hasPart":{"isAccessibleForFree":false}}');
  assert.ok('article' in extract(pageWith(PROSE + free, ARTICLE_POST.title)));
});

test('a front page is refused: headings that are links, or hardly more than links', () => {
  const story = (n: number): string => `<div class="story"><h2><a href="/${n}">Council number ${n} meets again</a></h2>
    <p>Members of the council, of whom ${n} were there, spoke about the budget for the coming year.</p></div>`;
  const stories = [1, 2, 3, 4, 5, 6].map(story).join('');
  assert.deepEqual(extract(`<title>The Daily</title><main>${stories}</main>`), { refused: 'front-page' });
  const digest = `<title>The Daily</title><main><h1>${ARTICLE_POST.title}</h1>${stories}</main>`;
  assert.ok('article' in extract(digest, { teaser: '' }), 'a digest under the title of the post is an article');
  const links = '<p><a href="/x">Another long headline of a story, in a list of such headlines</a> today</p>'.repeat(9);
  assert.deepEqual(extract(`<title>The Daily</title><main>${links}</main>`), { refused: 'front-page' });
});

test('a forum is refused, by its program or its data', () => {
  const programs = ['phpBB', 'Discourse 3.5.0', 'XenForo'].map((name) => `<meta name="generator" content="${name}">`);
  const types = [data('{"@type":"DiscussionForumPosting"}'), '<div itemtype="https://schema.org/QAPage"></div>'];
  for (const mark of [...programs, ...types]) {
    assert.deepEqual(extract(pageWith(PROSE + mark, ARTICLE_POST.title)), { refused: 'forum' }, mark);
  }
});

test("a script application's shell is refused as empty, and so is a page with a few words", () => {
  const shell = '<title>App</title><div id="root"></div><noscript>You need JavaScript</noscript><script>x</script>';
  for (const page of [shell, '', '<p>Not found</p>']) assert.deepEqual(extract(page), { refused: 'empty' }, page);
});

test('a page that has no word of the title and the teaser is refused', () => {
  const other = '<p>Whales sing louder than before, biologists report, who listened to them over seven winters.</p>'.repeat(3);
  assert.deepEqual(extract(pageWith(other, 'Whales')), { refused: 'different' });
  assert.deepEqual(extract(pageWith(other, ARTICLE_POST.title)), { refused: 'different' });
  const chinese = `<p>${'鲸鱼的歌声比以前更响亮，生物学家报告说。'.repeat(9)}</p>`;
  const about = { title: '港口在风暴过后重新开放', teaser: '渡轮每小时开往各岛，鱼市场星期一重新营业。' };
  const same = `<p>${'旧港口在风暴过后重新开放了，大渡轮每小时开往各岛。'.repeat(9)}</p>`;
  assert.ok('article' in extract(pageWith(same, '新闻'), about));
  assert.deepEqual(extract(pageWith(chinese, '鲸鱼'), about), { refused: 'different' });
});

test('a page with too many elements is refused', () => {
  assert.deepEqual(extract('<br>'.repeat(MAX_NODES + 8_000)), { refused: 'too-large' });
});
