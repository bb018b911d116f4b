// Protects readers from hostile markup: only allowed elements come out, and ordinary writing keeps its structure.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostileCases } from '../../support/hostile-markup.ts';
import { randomFormula, randomMarkup } from '../../support/random-markup.ts';
import { assertCases, assertSanitised, clean, link, TAIL } from '../../support/sanitized-markup.ts';

/** Asserts that the markup comes out in the narrow grammar of allowed elements, and stays as it is when read again. */
function assertSafe(markup: string, what: string): string {
  const result = clean(markup);
  assertSanitised(result, what);
  assert.equal(clean(result), result, what);
  return result;
}

test('hostile markup comes out safe, also inside allowed places', () => {
  const places = [
    '*', '<p>*</p>', '<table><tr><td>*</table>', '<a href="/x">*</a>', '<ul><li>*<li>x', '<pre>*</pre>', '<table>*',
  ];
  for (const { way, markup } of hostileCases()) {
    for (const place of places) assertSafe(place.replace('*', () => markup), `${way}: ${place} ${markup.slice(0, 200)}`);
  }
});

test('any markup at all comes out balanced, allowed and unchanged by a second reading', () => {
  for (let seed = 1; seed <= 4_000; seed += 1) assertSafe(randomMarkup(seed), `seed ${seed}`);
});

test('formulas of any kind come out as formulas or as text, and unchanged by a second reading', () => {
  let kept = 0;
  for (let seed = 1; seed <= 1_500; seed += 1) {
    kept += Number(assertSafe(randomFormula(seed), `seed ${seed}`).includes('<math'));
  }
  assert.ok(kept > 250, `${kept} formulas`);
});

test('the reader that judges the output refuses what must not be in it', () => {
  const unsafe = [
    '<script></script>', '<p onclick="x">y</p>', '<p>', '</p>', '<b><i></b></i>', '<a href="javascript:x">y</a>',
    'a < b', '&nbsp;', `<a href="https://u@x.example/"${TAIL}>y</a>`,
    '<a href="https://x.example/">y</a>', '<!-- x -->',
    '<p id="x">y</p>', '<svg></svg>',
    "<p lang='en'>x</p>", '<td colspan="0">x</td>', '"', '<img src="https://x.example/">',
    '<code class="x">y</code>', '<math>x</math>', '<math><mrow>x</mrow></math>', '<math><mi><b>x</b></mi></math>',
    '<math><mrow><p>x</p></mrow></math>', '<mi>x</mi>', '<math href="https://x.example/"></math>',
    '<math><annotation></annotation></math>', '<math><math></math></math>',
    link('https://x.example/', link('https://y.example/', 'z')), `${'<b>'.repeat(100)}${'</b>'.repeat(100)}`,
  ];
  for (const markup of unsafe) assert.throws(() => assertSanitised(markup, 'unsafe'), assert.AssertionError, markup);
});

test('a long text is read in pieces, and no reference, line end or emoji is cut in two', () => {
  const end = '&amp;&lt;&CounterClockwiseContourIntegral;&#128512;\u{1f600}\r\n&quot;.';
  const cleanEnd = '&amp;&lt;∳\u{1f600}\u{1f600}\n&quot;.';
  for (let before = 19_930; before < 20_010; before++) {
    const start = 'x'.repeat(before);
    assert.equal(clean(`<p>${start}${end}</p>`), `<p>${start}${cleanEnd}</p>`, `after ${before}`);
  }
});

test('ordinary writing keeps its structure', () => {
  assertCases([
    ['<h2 id=x class=y>Title</h2><p style="color:red">One <em>two</em>.</p>', '<h2 id="in-post-x">Title</h2><p>One <em>two</em>.</p>'],
    ['a &lt; b &amp; c &copy; &nbsp;"d" \'e\'', 'a &lt; b &amp; c © \u00a0&quot;d&quot; &#39;e&#39;'],
    ['<ul><li>a<li>b<ul><li>c</ul></ul>', '<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>'],
    ['<dl><dt>a<dd>b<dt>c<dd>d</dl>', '<dl><dt>a</dt><dd>b</dd><dt>c</dt><dd>d</dd></dl>'],
    ['<p>a<p>b<div>c</div>d', '<p>a</p><p>b</p><div>c</div>d'],
    ['<table><tr><th scope=COL>a<td colspan=2>b</table>',
      '<table><tr><th scope="col">a</th><td colspan="2">b</td></tr></table>'],
    ['<table><col span=2><tbody><tr><td>a<tr><td>b</table>',
      '<table><colgroup><col span="2"></colgroup><tbody><tr><td>a</td></tr><tr><td>b</td></tr></tbody></table>'],
    ['<table>a<b>b</b></table>', '<table><tr><td>a<b>b</b></td></tr></table>'],
    ['<td>a</td>', 'a'],
    ['<pre><code class="hljs language-c++">a\n  b</code></pre>', '<pre><code class="language-c++">a\n  b</code></pre>'],
    ['<section><article>a</article></section><custom-element>b</custom-element>', '<div><div>a</div></div>b'],
    ['<span>a<span lang=fr>b<span>c</span>d</span>e</span>', 'a<span lang="fr">bcd</span>e'],
    ['<strike>a</strike><tt>b</tt><acronym title=c>d</acronym><big>e</big>',
      '<s>a</s><code>b</code><abbr title="c">d</abbr>e'],
    ['<ol start=3 reversed type=a><li value=7>x</ol>', '<ol start="3" reversed="" type="a"><li value="7">x</li></ol>'],
    ['<details open><summary>a</summary>b</details>', '<details open=""><summary>a</summary>b</details>'],
    ['<ruby>漢<rp>(<rt>kan<rp>)</ruby>', '<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>'],
    ['<time datetime="2026-01-02T03:04Z">x</time><bdo dir=RTL>y</bdo>',
      '<time datetime="2026-01-02T03:04Z">x</time><bdo dir="rtl">y</bdo>'],
    ['a<br/>b</br>c<hr>d', 'a<br>b<br>c<hr>d'],
    ['\ud800a&#xD800;\ud83d<b></b>\ude00', '\ufffda\ufffd\ufffd\ufffd'],
    ['a\r\nb\0c\u0007d&#13;e', 'a\nbcd\ne'],
  ]);
});

test('elements that overlap are taken apart, and what was inside goes on', () => {
  assertCases([
    ['<b>a<i>b</b>c</i>d', '<b>a<i>b</i></b><i>c</i>d'],
    ['<b><p>a</b>b</p>', '<b><p>a</p></b><p>b</p>'],
    ['<p>a <a href="/x">b<div>c</div></a></p>',
      `<p>a ${link('https://blog.example/x', 'b')}</p>${link('https://blog.example/x', '<div>c</div>')}`],
    ['<p><a href="/x"><h3>Card</h3></a></p>', `\n${link('https://blog.example/x', '<h3>Card</h3>')}`],
    ['<a href=/1>one<a href=/2>two</a>', link('https://blog.example/1', 'one') + link('https://blog.example/2', 'two')],
    ['<p>a</div>b', '<p>ab</p>'],
    ['<b>a<table><tr><td>x</b>y</div></table>z</b>', '<b>a<table><tr><td>xy</td></tr></table>z</b>'],
    ['<ul><li>a<ul></li><li>b</ul>c</ul>', '<ul><li>a<ul><li>b</li></ul>c</li></ul>'],
    ['<h2>a</h3>b', '<h2>a</h2>b'],
    ['<table><tr><td><b>a</table>b</b>', '<table><tr><td><b>a</b></td></tr></table>b'],
  ]);
});

test('what has no content left vanishes, and a block leaves the line it made', () => {
  assertCases([
    ['a<p></p><p> <b></b></p>b', 'a\nb'],
    ['a<b></b><i> </i>b', 'a<i> </i>b'],
    ['<p><script>x</script></p>', '\n'],
    ['<ul><li></li></ul>', '\n'],
    ['<ul><li></li><li>a</li></ul>', '<ul><li></li><li>a</li></ul>'],
    ['<tr><table><tr><td></td><td>a</table>', '<table><tr><td></td><td>a</td></tr></table>'],
  ]);
});

test('the content of raw text, of foreign elements and of everything hidden is gone', () => {
  const dropped = ['script', 'style', 'xmp', 'iframe', 'noembed', 'noframes', 'noscript', 'textarea', 'title',
    'template', 'select', 'object', 'applet', 'button', 'canvas', 'datalist', 'dialog', 'audio', 'video'];
  for (const name of dropped) assert.equal(clean(`a<${name}>gone<b>gone</b></${name}>b`), 'ab', name);
  assertCases([
    ['a<div hidden>gone<div>gone</div>gone</div>b', 'ab'],
    ['<h2>a<div hidden>gone<h3>gone</h3></div>b</h2>', '<h2>ab</h2>'],
    ['<b>a<div hidden>gone</b>gone</div>c</b>', '<b>ac</b>'],
    ['<p hidden>gone<p>b', '<p>b</p>'],
    ['<x-y hidden>gone</x-y><x-y hidden="until-found">a</x-y>b<input hidden>c', 'abc'],
    ['<table><tr hidden><td>gone<td>gone<tr><td>b</table>', '<table><tr><td>b</td></tr></table>'],
    ['a<plaintext>gone</plaintext>gone', 'a'],
    ['a<!-- gone --><?gone?><!gone>b</ gone>c<![CDATA[gone]]>d', 'abcd'],
    ['a<!-->b<!--->c<!-- gone --!>d<!----!>e<!-- gone <!-- gone -->f', 'abcdef'],
    ['<script><!--<script></script>gone</script>b<script><!--></script>c<script><!--<script>--></script>d', 'bcd'],
    ['<svg><style/><title/><![CDATA[</svg>gone]]></svg>b', 'b'],
    ['<div><svg><path></div>b', '\nb'],
    ['<svg/>a<math/>b', 'ab'],
    ['a<svg><g>gone</g><style>gone</style></svg>b<math hidden><mi>gone</mi></math>', 'ab'],
    ['<svg><foreignObject><p>gone<div>gone</div></p></foreignObject><desc><b>gone</b></desc>gone</svg>b', 'b'],
    ['<div><svg><title>kept</div><style>gone</style></title>gone</svg>b</div>', '<div> kept b</div>'],
  ]);
});

test('the words of an svg element stand in its place: its label, else its title, else the texts that it draws', () => {
  assertCases([
    ['a<svg aria-label="A star"><title>x</title></svg>b', 'a A star b'],
    ['<p>a<svg><title> A\n&lt;star&gt; </title><text>x</text></svg></p>', '<p>a A &lt;star&gt; </p>'],
    ['<svg><g><text>Peak</text><text><tspan>42</tspan></text></g></svg>', ' Peak 42 '],
    ['a<svg aria-hidden="true"><title>x</title></svg><svg style="display:none"><title>x</title></svg>b', 'ab'],
    ['a<svg><symbol><title>x</title><text>x</text></symbol><g><title>x</title></g></svg>b', 'ab'],
    ['<a href="https://x.example/"><svg><title>Home</title></svg></a>',
      '<a href="https://x.example/" rel="noopener noreferrer nofollow ugc" referrerpolicy="no-referrer"> Home </a>'],
    ['<svg><title><script>alert(1)</script>&lt;img src=x&gt;</title></svg>', ' &lt;img src=x&gt; '],
  ]);
});

test('svg and math without their end tags end where a browser ends them', () => {
  assertCases([
    ['a<svg><path><p>One<p>Two', 'a<p>One</p><p>Two</p>'],
    ['<p>a<svg><g><text>kept</p>b<p>c', '<p>a kept </p>b<p>c</p>'],
    ['<div>a<svg><g><path></div>b', '<div>a</div>b'],
    ['<b>a<svg><g></b>c', '<b>a</b>c'],
    ['<ul><li>a<svg><li>b</ul>', '<ul><li>a</li><li>b</li></ul>'],
    ['a<svg><style>gone</style><br>b', 'a<br>b'],
    ['a<svg></br>b', 'a<br>b'],
    ['a<svg><font>gone</font><font color=red>b', 'ab'],
    ['a<svg><tspan>gone</i>gone</x-y></svg>b', 'ab'],
    ['<div>a<svg><foreignObject><i>gone</div>gone</i></foreignObject><path></div>b', '<div>a</div>b'],
    ['a<math><mrow><mi>x</mi><p>b', 'ax<p>b</p>'],
    ['a<math><mtext>x<p>b', 'ax<p>b</p>'],
    ['<div>a<math alttext="x+1"><mi>x</div>b', '<div>ax+1</div>b'],
    ['a<math><mi>x', 'ax'],
  ]);
});

test('formulas keep their presentation and lose everything else', () => {
  const square = '<msup><mi>c</mi><mn>2</mn></msup>';
  assertCases([
    [`<math display=block class=x id=y><mi mathvariant=NORMAL>E</mi><mo stretchy=false>=</mo>${square}</math>`,
      `<math display="block"><mi mathvariant="normal">E</mi><mo stretchy="false">=</mo>${square}</math>`],
    [`<math><semantics><mrow>${square}</mrow><annotation encoding="application/x-tex">c^2</annotation>
      <annotation-xml encoding="text/html"><p>gone</p></annotation-xml></semantics></math>`,
    `<math><mrow>${square}</mrow></math>`],
    ['<math> <mtable><mtr> <mtd><mi href=/x xlink:href=/y onclick=z>a</mi></mtd></mtr></mtable> </math>',
      '<math><mtable><mtr><mtd><mi>a</mi></mtd></mtr></mtable></math>'],
    ['<math><mi>a</mi><mspace width="0.5em"/><mspace width="50em"/><mo>&lt;</mo><none/></math>',
      '<math><mi>a</mi><mspace width="0.5em"></mspace><mspace></mspace><mo>&lt;</mo><mrow></mrow></math>'],
    ['<p>a<math><mi>x</math>b', '<p>a<math><mi>x</mi></math>b</p>'],
    ['<table><math><mi>x</mi></math></table>', '<table><tr><td><math><mi>x</mi></math></td></tr></table>'],
    ['<a href="/x"><math><mi>x</mi></math></a>', link('https://blog.example/x', '<math><mi>x</mi></math>')],
    ['a<math><mrow></mrow></math>b', 'ab'],
    ['<template><math><mi>x</mi></math></template>', ''],
  ]);
});

test('a formula with anything that is not allowed becomes its alttext, else its words', () => {
  assertCases([
    ['<math alttext="a &lt; b"><maction><mi>a</mi></maction></math>', 'a &lt; b'],
    ['<math><maction><mi>a</mi><mo>=</mo><mi>b</mi></maction></math>', 'a = b'],
    ['<math><mi>a<mglyph src=/x></mi></math>', 'a'],
    ['<math alttext=a><mfrac><semantics></semantics></mfrac></math>', 'a'],
    ['<math alttext=a><mi>x</mi><semantics><annotation>x</annotation></semantics></math>', 'a'],
    ['<math><mtext>a<b>b</b><svg><text>gone</text></svg><select>gone</select></mtext></math>', 'ab'],
    ['<math>a<mi>b</mi></math>', 'ab'],
    ['<math><mrow><math><mi>a</mi></math></mrow></math>', 'a'],
    [`<math>${'<mrow>'.repeat(100)}<mi>a</mi>${'</mrow>'.repeat(100)}</math>`, 'a'],
    [`<math>${'<mrow>'.repeat(300)}<mi>a</mi>${'</mrow>'.repeat(300)}</math>b`, 'ab'],
  ]);
});

test('a copy of a formula for browsers without MathML goes, but never the only one', () => {
  const math = '<math><mi>x</mi></math>';
  assertCases([
    [`<span class="katex-mathml">${math}</span><span class="katex-html"><i>x</i></span>y`, `${math}y`],
    [`<span>${math}</span><img class="mwe-math-fallback-image-inline" src=/x.svg alt=x>y`, `${math}y`],
    [`${math}y<span class="katex-html">x</span>`, `${math}yx`],
  ]);
});
