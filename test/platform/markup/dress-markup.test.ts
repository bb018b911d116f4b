// Protects how a text stands on a page: directions, what scrolls, and links within it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dressMarkup } from '../../../src/platform/markup/dress-markup.ts';
import { sanitizeHtml } from '../../support/sanitized-markup.ts';

const URL = 'https://blog.test/post?a=1&b=2';

function shown(markup: string, url: string | null = URL): string {
  return dressMarkup(sanitizeHtml(markup, { baseUrl: URL }), url);
}

test('each block of a text has the direction of its words, but where its author said which', () => {
  assert.equal(shown('<p>One</p><p dir=rtl>שתיים</p>'), '<p dir="auto">One</p><p dir="rtl">שתיים</p>');
  assert.equal(shown('<ul><li>واحد<blockquote><p>x</p></blockquote></ul><p>y'),
    '<ul dir="auto"><li>واحد<blockquote><p>x</p></blockquote></li></ul><p dir="auto">y</p>',
    'of what has a direction of its own, that of what holds it would not know');
  assert.equal(shown('<h2 id="x">Two</h2>'), '<h2 id="in-post-x" dir="auto">Two</h2>');
});

test('a table scrolls by itself and can be reached by keyboard; one within it does not again; so does code', () => {
  const dressed = shown('<table><tr><td><table><tr><td>in</table></table><table><tr><td>b</table><pre>c</pre>');
  assert.equal(dressed.match(/<div class="scroll" role="region" tabindex="0" aria-label="Table"><table>/g)?.length, 2);
  assert.equal(dressed.match(/<\/table><\/div>/g)?.length, 2);
  assert.match(dressed, /<pre tabindex="0">c<\/pre>/);
});

test('footnotes lead to their place on the page and back; other links lead where they did', () => {
  const text = '<p>Word<sup id="r1"><a href="#f1">1</a></sup> <a href="#gone">x</a> <a href="/else#f1">y</a></p>' +
    '<ol><li id="f1">Note <a href="#r1">back</a></li></ol>';
  const dressed = shown(text);
  assert.match(dressed, /<sup id="in-post-r1"><a href="#in-post-f1">1<\/a>/);
  assert.match(dressed, /<li id="in-post-f1">Note <a href="#in-post-r1">back<\/a>/);
  assert.match(dressed, /<a href="https:\/\/blog\.test\/post\?a=1&amp;b=2#gone"/);
  assert.match(dressed, /<a href="https:\/\/blog\.test\/else#f1"/);
  assert.match(shown(text, null), /<a href="https:\/\/blog\.test\/post\?a=1&amp;b=2#f1"/);
});

test('no name in a text is one of the page around it, and words that look like tags stay words', () => {
  assert.doesNotMatch(shown('<p id="main">x</p><p id="a b">y</p>'), / id="main"| id="a b"/);
  const dressed = shown('<p>a &lt;table&gt; &lt;p&gt; b</p><p title="&lt;table&gt;">c</p>');
  assert.equal(dressed, '<p dir="auto">a &lt;table&gt; &lt;p&gt; b</p><p dir="auto">c</p>');
});
