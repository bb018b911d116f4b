// Protects the worker from hostile pages: extraction takes linear time, gives way often and ends at its limits.
import assert from 'node:assert/strict';
import test from 'node:test';
import { extractArticle, type Extraction } from '../../../src/features/full-text/extract-article.ts';
import { atOnce, STEP } from '../../../src/platform/markup/in-steps.ts';
import { growthOf, numbered, repeated } from '../../support/growth.ts';

const POST = { url: 'https://news.example/a', title: 'Harbour reopens', teaser: 'Ferries sail to the islands' };
const PARAGRAPH = '<p>A paragraph of prose, with <a href="/link">a link</a>, of the usual length in an article</p>';

const extract = (html: string): Extraction => atOnce(extractArticle(html, POST));

/** Pages by their length. */
const HOSTILE: Record<string, (length: number) => string> = {
  'nested div': (length) => repeated('<div>', length),
  'divs with end tags': (length) => `${repeated('<div>', length / 2)}${repeated('</div>', length / 2)}`,
  links: (length) => repeated('<a href="/x">link text</a> ', length),
  'links without end tags': (length) => repeated('<a href=x>l ', length),
  'a long attribute': (length) => `<p class="${repeated('content comment ', length)}">x`,
  'references in an attribute': (length) => `<p title="${repeated('&amp;', length)}">x`,
  'many attributes': (length) => `<p ${numbered((index) => `a${index}=b `, length)}>x`,
  'many classes': (length) => numbered((index) => `<p class=c${index} id=d${index}>w`, length),
  'unclosed everything': (length) => repeated('<table><tr><td><ul><li><p><b>', length),
  'formatting around blocks': (length) => repeated('<b><div></b>', length),
  'end tags that find nothing': (length) => `<b><table><td>${'<i>'.repeat(240)}${repeated('</b>', length)}`,
  'open paragraphs': (length) => repeated('<p>some words, and more of them, in a long paragraph', length),
  'nested tables': (length) => repeated('<table><tr><td>x', length),
  'nested headings': (length) => `${'<h1>'.repeat(250)}Harbour reopens${repeated('<i></i>', length)}`,
  'headings like the title': (length) => repeated('<h1>Harbour reopens</h1><p>x', length),
  text: (length) => repeated('word, ', length),
  ideographs: (length) => repeated('漢字、', length),
  references: (length) => repeated('&notit;', length),
  comments: (length) => repeated('<!-- x -->', length),
  'an open comment': (length) => repeated('<!--', length),
  'nested noscript': (length) => repeated('<noscript>', length),
  'images in noscript': (length) => repeated('<noscript><img src=/a.jpg></noscript>', length),
  'linked data': (length) => repeated('<script type=application/ld+json>"isAccessibleForFree"</script>', length),
  formulas: (length) => repeated('<math><mi>x</mi></math>', length),
  'sources of a picture': (length) => `<picture>${repeated('<source srcset="/a.jpg 1w"><img src=/b.jpg>', length)}`,
  'candidates of an image': (length) => repeated(
    `${PARAGRAPH}<img srcset="${numbered((index) => `/a${index} ${index + 1}w, `, 19_000)}">`, length),
  'navigation in headers': (length) => `${'<header>'.repeat(250)}${repeated('<nav></nav>', length)}`,
  captions: (length) => repeated(`<figure><figcaption>${'The same caption '.repeat(5)}</figcaption></figure>`, length),
  articles: (length) => repeated(`<article>${PARAGRAPH}</article>`, length),
  'many lines': (length) => repeated('text, and more text, and still more text<br><br>', length),
  'words of consent': (length) => repeated('cookie consent privacy policy ', length),
};

test('time grows no faster than the page', () => {
  for (const [name, page] of Object.entries(HOSTILE)) {
    const growth = growthOf(extract, page);
    assert.ok(growth < 2, `${name}: ${growth.toFixed(1)} times as many steps per character`);
  }
});

test('5 MiB are read in hundreds of parts, so that other work runs in between', () => {
  for (const page of [PARAGRAPH, 'word, ']) {
    const html = repeated(page, 5 * 1_024 * 1_024);
    const reading = extractArticle(html, POST);
    let parts = 1;
    while (reading.read(STEP)) parts += 1;
    assert.ok('refused' in reading.end());
    assert.ok(parts > 200, `${parts} parts`);
  }
});
