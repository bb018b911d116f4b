// Protects the hub from markup that is deep, endless or repeated: bounded output in linear time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf, repeated } from '../../support/growth.ts';
import { assertSanitised, sanitizeHtml } from '../../support/sanitized-markup.ts';

const BASE = { baseUrl: 'https://blog.example/posts/1' };

const clean = (html: string) => sanitizeHtml(html, BASE);

test('depth is bounded and the text of deeper elements stays', () => {
  const result = clean(`${'<div><b>'.repeat(1_000)}deep${'</b></div>'.repeat(1_000)}`);

  assertSanitised(result, 'deep');
  assert.match(result, /deep/);
});

test('no more than two and a half million characters come out, however much goes in', () => {
  const result = clean('<p><a href="/x">word</a></p>'.repeat(200_000));

  assert.ok(result.length > 2_400_000 && result.length < 2_501_000, String(result.length));
  assertSanitised(result.slice(0, result.lastIndexOf('<p>')), 'start');
  assert.equal(clean(result), result);
});

test('elements that go on are not repeated over and over', () => {
  const markup = '<b>'.repeat(40) + `<ins cite="/${'x'.repeat(500)}">`.repeat(40) + '</b>x'.repeat(40);
  const result = clean(markup);

  assertSanitised(result, 'interrupted');
  assert.ok(result.length < 3 * markup.length, `${markup.length} became ${result.length}`);
});

const HEAVY = [
  '<', '<a ', '<div>', '<b>', '&', '&#1', '&notit;', '<a href="', "<a x='", '<!--', '<!-', '<?', '</', '</b>',
  '<p><b>', '<b><i></b>', '<table>', '<table><td>',
  '<svg>', '<svg><![CDATA[', '<svg></b>', '<b><svg><g></b>', '<math><mi>', '<math><mi>x</mi></math>', '<math><mi></p>',
  '<math><semantics>', '<math alttext=x><mrow>', '<script><!--<script>', '<style></styl', '<title>', '<a href=/x>',
  '<a href=x><p><div>', '<li>', '<dl><dt>',
  '<picture><source srcset="a 1w">', '<picture><source srcset="a 1w"><img>', '<img srcset=",,,a,,,b 2x">',
  '<img src=x alt=y>', '<p hidden>',
  '\0', '\r', ' ', '<p x="', '<p\n', '<p =', '<a style="width:', '<video><source src=x>',
  '<b>'.repeat(40) + '<i>'.repeat(40) + '</b>'.repeat(40),
];

test('time grows no faster than the input', () => {
  for (const piece of HEAVY) {
    const growth = growthOf(clean, (length) => repeated(piece, length));
    const name = JSON.stringify(piece.slice(0, 40));
    assert.ok(growth < 2, `${name} takes ${growth.toFixed(1)} times as many steps per character`);
  }
});
