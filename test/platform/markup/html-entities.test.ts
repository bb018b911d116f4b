// Protects the decoding of character references as browsers do it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeAttributeEntities, decodeEntities, escapeHtml, unescapeHtml } from '../../../src/platform/markup/entities.ts';
import { LEGACY_REFERENCES, NAMED_REFERENCES } from '../../../src/platform/markup/named-entities.ts';

function assertDecoded(cases: [text: string, expected: string][]): void {
  for (const [text, expected] of cases) assert.equal(decodeEntities(text), expected, text);
}

test('the list has every name of the standard', () => {
  const names = [...NAMED_REFERENCES.matchAll(/[\w]+(?=[,\s])/g)].map(([name]) => name);
  const legacy = LEGACY_REFERENCES.trim().split(/\s+/);

  assert.equal(new Set(names).size, 2_125);
  assert.equal(legacy.length, 106);
  assert.equal(names.length + legacy.length, 2_231);
  for (const name of names) assert.notEqual(decodeEntities(`&${name};`), `&${name};`, name);
  for (const name of legacy) assert.equal(decodeEntities(`&${name}`), decodeEntities(`&${name};`), name);
});

test('named references stand for one or two characters', () => {
  assertDecoded([
    ['&amp;&lt;&gt;&quot;&apos;', '&<>"\''],
    ['&auml;&Auml;&szlig;&nbsp;&hellip;', 'äÄß\u00a0…'],
    ['&acE;&NotEqualTilde;&fjlig;&bne;', '\u223e\u0333\u2242\u0338fj=\u20e5'],
    ['&Afr;&zopf;', '\u{1d504}\u{1d56b}'],
    ['&CounterClockwiseContourIntegral;&Tab;&NewLine;', '\u2233\t\n'],
  ]);
});

test('the longest name wins, and only old names do without the semicolon', () => {
  assertDecoded([
    ['&notin; &notit; &notin &not', '∉ ¬it; ¬in ¬'],
    ['&copy &copyx &copy=1', '© ©x ©=1'],
    ['&hellip &apos &Amp;', '&hellip &apos &Amp;'],
    ['&ampamp; &amp;amp;', '&amp; &amp;'],
    ['&sup1&sup1;&sup12', '¹¹¹2'],
  ]);
});

test('in an attribute an old name before an equals sign, a letter or a digit stays text', () => {
  const cases: [text: string, expected: string][] = [
    ['?a=1&copy=2&copyx&copy2', '?a=1&copy=2&copyx&copy2'],
    ['&copy;=&copy &copy&copy', '©=© ©©'],
    ['&notit; &notin;', '&notit; ∉'],
    ['&#38copy=1', '&copy=1'],
  ];
  for (const [text, expected] of cases) assert.equal(decodeAttributeEntities(text), expected, text);
});

test('numeric references are decimal or hexadecimal, with or without a semicolon', () => {
  assertDecoded([
    ['&#65;&#x42;&#X43;&#x1F600;', 'ABC😀'],
    ['&#65&#x42G&#0065', 'ABGA'],
    ['&#;&#x;&#xg;&#a;&# 65;', '&#;&#x;&#xg;&#a;&# 65;'],
    ['&#x20AC;&#8364;', '€€'],
  ]);
});

test('numbers between 128 and 159 are read as windows-1252', () => {
  const bytes = Array.from({ length: 32 }, (_, index) => 0x80 + index);
  const expected = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

  assert.equal(decodeEntities(bytes.map((byte) => `&#${byte};`).join('')), expected);
});

test('numbers that are no characters become the replacement character', () => {
  assertDecoded([
    ['&#0;&#x0;&#xD800;&#xDFFF;&#x110000;', '\ufffd'.repeat(5)],
    [`&#${'9'.repeat(400)};&#x${'f'.repeat(400)};`, '\ufffd\ufffd'],
    ['&#x10FFFF;&#xFFFE;', '\u{10ffff}\ufffe'],
  ]);
});

test('what is no reference stays as it is', () => {
  const text = 'AT&T & sons &; &unknown; &é; &&amp';
  assert.equal(decodeEntities(text), `${text.slice(0, -4)}&`);
  assert.equal(decodeEntities('no ampersand'), 'no ampersand');
  assert.equal(decodeEntities('&'), '&');
});

test('escaped text has no character of markup left, and decodes to what it was', () => {
  const text = `<a href="x">'&amp;' & 漢字 😀`;

  assert.equal(escapeHtml(text), '&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;&#39; &amp; 漢字 😀');
  for (const decode of [decodeEntities, unescapeHtml]) assert.equal(decode(escapeHtml(text)), text);
  assert.equal(escapeHtml('plain'), 'plain');
});
