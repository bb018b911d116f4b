// Protects excerpts: the text that a reader sees, cut between words or characters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainText } from '../../../src/platform/markup/plain-text.ts';
import { excerpt } from '../../../src/platform/markup/tidy-text.ts';

test('the text is what a reader sees, on the lines where it is seen', () => {
  const cases: [html: string, expected: string][] = [
    ['<h1>Title</h1><p>One <b>two</b>\n three.<p>Four<br>five', 'Title\nOne two three.\nFour\nfive'],
    ['<ul>\n <li>a</li>\n <li>b</li>\n</ul>', 'a\nb'],
    ['<table><tr><td>a<td>b<tr><td>c</table>', 'a b\nc'],
    ['a&nbsp;&amp;&#32; &lt;b&gt;', 'a & <b>'],
    ['un<b>bro</b>ken', 'unbroken'],
    ['a<script>gone</script><style>gone</style><title>gone</title><noscript>gone</noscript>b', 'ab'],
    ['a<svg><title>gone</title><style/><path/><svg>gone</svg>gone</svg>b<svg/>c', 'abc'],
    ['a<!-- gone --><select><option>gone</select>b', 'ab'],
    ['\0a\u0007\r\nb\ud800', 'a b\ufffd'],
    ['', ''],
    [' <p> </p> ', ''],
  ];
  for (const [html, expected] of cases) assert.equal(plainText(html), expected, html);
});

test('the words of formulas are text, and text behind an unclosed picture or formula stays', () => {
  const math = (inner: string): string => `<math>${inner}</math>`;
  const square = '<mrow><mi>E</mi><mo>=</mo><mi>m</mi><mo>\u2062</mo><msup><mi>c</mi><mn>2</mn></msup></mrow>';
  const cases: [html: string, expected: string][] = [
    [`Energy is ${math(square)}, as is known`, 'Energy is E = mc2, as is known'],
    [math(`<semantics>${square}<annotation>E=mc^2</annotation></semantics>`), 'E = mc2'],
    [math('<mfrac><mi>a</mi><mi>b</mi></mfrac><mo>|</mo>'), 'a/b|'],
    [math('<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable>'), '1 2'],
    ['<math alttext="x^2"><maction><mi>y</mi></maction></math>', 'x^2'],
    ['a<svg><title>gone</title><path><p>b', 'a\nb'],
    ['<div>a<svg><g></div>b', 'a\nb'],
    ['a<math><mi>x<p>b', 'ax\nb'],
    ['a<math><mi>x', 'ax'],
  ];
  for (const [html, expected] of cases) assert.equal(plainText(html), expected, html);
});

test('an excerpt ends after a word and is never longer than asked', () => {
  const text = 'The quick brown fox, jumping over the lazy dog';

  assert.equal(excerpt(text, 100), text);
  assert.equal(excerpt(text, text.length), text);
  assert.equal(excerpt(text, 18), 'The quick brown…');
  assert.equal(excerpt(text, 20), 'The quick brown…');
  assert.equal(excerpt(text, 21), 'The quick brown fox…');
  assert.equal(excerpt(text, 16), 'The quick brown…');
  for (let length = 0; length <= text.length; length += 1) assert.ok(excerpt(text, length).length <= length,
    String(length));
});

test('a long word is cut between characters as readers count them', () => {
  assert.equal(excerpt('漢字漢字漢字漢字', 5), '漢字漢字…');
  assert.equal(excerpt('😀😀😀😀', 4), '😀…');
  assert.equal(excerpt('👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 14), '👩‍👩‍👧‍👦…');
  assert.equal(excerpt('👩‍👩‍👧‍👦', 5), '…');
  assert.equal(excerpt('e\u0301e\u0301e\u0301', 4), 'e\u0301…');
  assert.equal(excerpt(`ok ${'x'.repeat(200)}`, 20), `ok ${'x'.repeat(16)}…`);
  for (let length = 1; length < 60; length += 1) assert.ok(excerpt('a😀'.repeat(20), length).isWellFormed(),
    String(length));
});
