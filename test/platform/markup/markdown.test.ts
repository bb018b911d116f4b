// Protects writers: Markdown means what CommonMark 0.31.2 says, with GitHub's tables and strikethrough.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderMarkdown } from '../../support/rendered-markdown.ts';
import { clean } from '../../support/sanitized-markup.ts';

function assertRendered(cases: [markdown: string, html: string][]): void {
  for (const [markdown, html] of cases) {
    assert.equal(renderMarkdown(markdown).replace(/(<h[1-6]) id="[^"]*">/g, '$1>'), html, JSON.stringify(markdown));
  }
}

function assertInlines(cases: [markdown: string, html: string][]): void {
  assertRendered(cases.map(([markdown, html]) => [markdown, `<p>${html}</p>\n`]));
}

test('paragraphs end at blank lines, and their lines lose indentation', () => {
  assertRendered([
    ['', ''],
    [' \n\t\n', ''],
    ['one\ntwo\n\n\nthree', '<p>one\ntwo</p>\n<p>three</p>\n'],
    ['  one\n\t\ttwo  ', '<p>one\ntwo</p>\n'],
    ['one\r\ntwo\rthree\r\n\r\nfour', '<p>one\ntwo\nthree</p>\n<p>four</p>\n'],
  ]);
});

test('a heading has an id of its words, with a number where another heading has the same', () => {
  const ids = (markdown: string) => Array.from(renderMarkdown(markdown).matchAll(/<h\d(?: id="([^"]*)")?>/g), ([, id]) => id);
  assert.deepEqual(ids('# Part *two*: `a_b`, &amp; "more"\n# Über\nuns\n===\n# Über\n# Über\n#\n# !?\n# 第二 部分'),
    ['part-two-a_b--more', 'über', 'uns', 'über-1', 'über-2', undefined, undefined, '第二-部分']);
});

test('headings have one to six signs, or an underline', () => {
  assertRendered([
    ['# one\n###### six\n####### seven', '<h1>one</h1>\n<h6>six</h6>\n<p>####### seven</p>\n'],
    ['## two ## \n#none\n# a\\#\n#\n### #', '<h2>two</h2>\n<p>#none</p>\n<h1>a#</h1>\n<h1></h1>\n<h3></h3>\n'],
    ['two\nlines\n===\nminor\n -', '<h1>two\nlines</h1>\n<h2>minor</h2>\n'],
    ['    # code', '<pre><code># code\n</code></pre>\n'],
    ['> a\n===', '<blockquote>\n<p>a\n===</p>\n</blockquote>\n'],
    ['[a]: /b\n===', '<p>===</p>\n'],
  ]);
});

test('rules have three equal signs at least', () => {
  assertRendered([
    ['***\n - - -\n__________', '<hr />\n<hr />\n<hr />\n'],
    ['+++\n--\n**\n_ _ -', '<h2>+++</h2>\n<p>**\n_ _ -</p>\n'],
    ['- a\n***\n- b', '<ul>\n<li>a</li>\n</ul>\n<hr />\n<ul>\n<li>b</li>\n</ul>\n'],
    ['a\n***\nb', '<p>a</p>\n<hr />\n<p>b</p>\n'],
  ]);
});

test('code is indented by four columns, or stands between fences', () => {
  assertRendered([
    ['    a\n\t  b\n\n\n    <c>\n\n', '<pre><code>a\n  b\n\n\n&lt;c&gt;\n</code></pre>\n'],
    ['a\n    b', '<p>a\nb</p>\n'],
    ['```js run\n*a*\n\n``\n````\nb', '<pre><code class="language-js">*a*\n\n``\n</code></pre>\n<p>b</p>\n'],
    ['~~~ a`b\n  x\n```', '<pre><code class="language-a`b">  x\n```\n</code></pre>\n'],
    ['  ```\n   x\n y\n    ```\n  ```', '<pre><code> x\ny\n  ```\n</code></pre>\n'],
    ['``` a`b', '<p>``` a`b</p>\n'],
    ['> ```\nx', '<blockquote>\n<pre><code></code></pre>\n</blockquote>\n<p>x</p>\n'],
    ['~~~\\"&auml;', '<pre><code class="language-&quot;ä"></code></pre>\n'],
  ]);
});

test('quotes nest, and a paragraph in a quote may go on without the mark', () => {
  assertRendered([
    ['> a\n>b\nc', '<blockquote>\n<p>a\nb\nc</p>\n</blockquote>\n'],
    ['> a\n> > b\n>\n> c', '<blockquote>\n<p>a</p>\n<blockquote>\n<p>b</p>\n</blockquote>\n<p>c</p>\n</blockquote>\n'],
    ['> a\n\n> b', '<blockquote>\n<p>a</p>\n</blockquote>\n<blockquote>\n<p>b</p>\n</blockquote>\n'],
    ['>\t\ta', '<blockquote>\n<pre><code>  a\n</code></pre>\n</blockquote>\n'],
    ['>', '<blockquote>\n</blockquote>\n'],
  ]);
});

test('lists: marks of one kind make a list, blank lines make its items paragraphs', () => {
  assertRendered([
    ['- a\n- b\n+ c', '<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n<ul>\n<li>c</li>\n</ul>\n'],
    ['3. a\n7. b\n1) c', '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>\n<ol>\n<li>c</li>\n</ol>\n'],
    ['- a\n\n- b', '<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n'],
    ['- a\n  - b\n\n    c\n- d', '<ul>\n<li>a\n<ul>\n<li>\n<p>b</p>\n<p>c</p>\n</li>\n</ul>\n</li>\n<li>d</li>\n</ul>\n'],
    ['-\n\n  a', '<ul>\n<li></li>\n</ul>\n<p>a</p>\n'],
    ['-\n  a', '<ul>\n<li>a</li>\n</ul>\n'],
    ['a\n- b\n\nc\n2. d\n-', '<p>a</p>\n<ul>\n<li>b</li>\n</ul>\n<h2>c\n2. d</h2>\n'],
    ['-a\n1234567890. b', '<p>-a\n1234567890. b</p>\n'],
    ['-\ta\n\n\tb', '<ul>\n<li>\n<p>a</p>\n<p>b</p>\n</li>\n</ul>\n'],
    ['-      a', '<ul>\n<li>\n<pre><code> a\n</code></pre>\n</li>\n</ul>\n'],
    ['10. a\n\n    b\n\n   c', '<ol start="10">\n<li>\n<p>a</p>\n<p>b</p>\n</li>\n</ol>\n<p>c</p>\n'],
    ['- a\n\n  ```\n\n  ```\n- b', '<ul>\n<li>\n<p>a</p>\n<pre><code>\n</code></pre>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n'],
    ['- ```\n\n  ```\n- b', '<ul>\n<li>\n<pre><code>\n</code></pre>\n</li>\n<li>b</li>\n</ul>\n'],
  ]);
});

test('raw HTML stays, as blocks and in paragraphs, for the sanitiser to guard', () => {
  assertRendered([
    ['<div>\n*a*\n\n*b*\n</div>', '<div>\n*a*\n<p><em>b</em></p>\n</div>\n'],
    ['<pre>\n\n*a*</pre>\n*b*', '<pre>\n\n*a*</pre>\n<p><em>b</em></p>\n'],
    ['<!-- a\n\n*b* -->\nc', '<!-- a\n\n*b* -->\n<p>c</p>\n'],
    ['<? a ?>\n<!A>\n<![CDATA[\n\n]]>', '<? a ?>\n<!A>\n<![CDATA[\n\n]]>\n'],
    ['<b c=d>\n*a*\n\n<b>*a*</b>', '<b c=d>\n*a*\n<p><b><em>a</em></b></p>\n'],
    ['a\n<p>\nb\n\na\n<b>\nb', '<p>a</p>\n<p>\nb\n<p>a\n<b>\nb</p>\n'],
  ]);
  assertInlines([
    ['a <b c d = "*e*"\nf=\'`\' g=h /> *i*', 'a <b c d = "*e*"\nf=\'`\' g=h /> <em>i</em>'],
    ['a </b > <!-- *c* --> <!--> <!---> <?d?> <!E f> <![CDATA[*g*]]>', 'a </b > <!-- *c* --> <!--> <!---> <?d?> <!E f> <![CDATA[*g*]]>'],
    ['a <b c="d> <e=f> </g h> <1>', 'a &lt;b c=&quot;d&gt; &lt;e=f&gt; &lt;/g h&gt; &lt;1&gt;'],
  ]);
});

test('emphasis: stars and underlines, nested, inside of words only with stars', () => {
  assertInlines([
    ['*a* _b_ **c** __d__ ***e***', '<em>a</em> <em>b</em> <strong>c</strong> <strong>d</strong> <em><strong>e</strong></em>'],
    ['a*b*c a_b_c __a__b', 'a<em>b</em>c a_b_c __a__b'],
    ['a * a * **a ** _(a)_b', 'a * a * **a ** _(a)_b'],
    ['*a **b* c**', '<em>a <em><em>b</em> c</em></em>'],
    ['*a _b* c_', '<em>a _b</em> c_'],
    ['*foo**bar**baz* a**b*c', '<em>foo<strong>bar</strong>baz</em> a**b*c'],
    ['**a*b*', '**a<em>b</em>'],
    ['*«a»* 😀*b* *„c“*d', '<em>«a»</em> 😀<em>b</em> *„c“*d'],
    ['*a\u00a0*b* \\*c\\*', '*a\u00a0<em>b</em> *c*'],
  ]);
});

test('strikethrough has one or two tildes on either side, as GitHub writes it', () => {
  assertInlines([
    ['~~a~~ ~b~ ~~*c*~~', '<del>a</del> <del>b</del> <del><em>c</em></del>'],
    ['a ~~~b~~~ ~ c ~ ~~d~', 'a ~~~b~~~ ~ c ~ ~~d~'],
    ['a~b~c a**~~b~~**c', 'a<del>b</del>c a<strong><del>b</del></strong>c'],
    ['~a~~ b~ \\~a~', '<del>a~~ b</del> ~a~'],
  ]);
});

test('code spans end at as many backticks as they begin with', () => {
  assertInlines([
    ['`a` `` b`c `` `\na\n`', '<code>a</code> <code>b`c</code> <code>a</code>'],
    ['` ` `  a  ` `\\`', '<code> </code> <code> a </code> <code>\\</code>'],
    ['`a ``b ``` `c*d*`', '<code>a ``b ``` </code>c<em>d</em>`'],
    ['\\`a` `*b*', '`a<code> </code><em>b</em>'],
    ['``a` *b*', '``a` <em>b</em>'],
  ]);
});

test('links and images: addresses, titles, brackets, no link in a link', () => {
  assertInlines([
    ['[a](/b) [a](</b c> "t") [a](b \'t\') [a](b (t)) [a]()', '<a href="/b">a</a> <a href="/b%20c" title="t">a</a> '
      + '<a href="b" title="t">a</a> <a href="b" title="t">a</a> <a href="">a</a>'],
    ['[*a* `]` [b]](c(d)e\\)) [a](b c) [a] (b)', '<a href="c(d)e)"><em>a</em> <code>]</code> [b]</a> [a](b c) [a] (b)'],
    ['[a [b](c) d](e)', '[a <a href="c">b</a> d](e)'],
    ['![a *b* [c](d)](e "&quot;")', '<img src="e" alt="a b c" title="&quot;" />'],
    ['[![a](b)](c) ![[a](b)](c)', '<a href="c"><img src="b" alt="a" /></a> <img src="c" alt="a" />'],
    ['*a [b*](c) !a ![d', '*a <a href="c">b*</a> !a ![d'],
    ['[a](b\n"c\nd") [a](<b\nc>) [a](b"c")', '<a href="b" title="c\nd">a</a> [a](<b\nc>) <a href="b%22c%22">a</a>'],
    ['[a](ä%20%&auml;?b=c&d"`)', '<a href="%C3%A4%20%25%C3%A4?b=c&amp;d%22%60">a</a>'],
  ]);
});

test('an image’s alternative text has no markup', () => {
  assertInlines([['![a <b onload="c"> `<d>` **e**\\*\n![f](g)](h)', '<img src="h" alt="a  &lt;d&gt; e*\nf" />']]);
});

test('link references: defined anywhere, the first definition counts, labels ignore case and spaces', () => {
  assertRendered([
    ['[a], [b][A], [a][]\n\n[a]: /1 "t"\n[a]: /2', '<p><a href="/1" title="t">a</a>, <a href="/1" title="t">b</a>, '
      + '<a href="/1" title="t">a</a></p>\n'],
    ['> [x y]:\n> </z>\n\n![X\ny] [ẞ]\n\n[SS]: s', '<blockquote>\n</blockquote>\n<p><img src="/z" alt="X\ny" /> '
      + '<a href="s">ẞ</a></p>\n'],
    ['[a]: b "t" c\n[d]: e\n"t" f\n\n[a] [d]', '<p>[a]: b &quot;t&quot; c\n[d]: e\n&quot;t&quot; f</p>\n<p>[a] [d]</p>\n'],
    ['[d]: e\n"t" f\n\n[d]', '<p>&quot;t&quot; f</p>\n<p><a href="e">d</a></p>\n'],
    ['a\n[b]: c\n\n[b] [ ]: d', '<p>a\n[b]: c</p>\n<p>[b] [ ]: d</p>\n'],
    ['[a\\]]: b\n\n[a\\]] [a][c] [c[a]', '<p><a href="b">a]</a> [a][c] [c[a]</p>\n'],
    ['[__proto__] [constructor]', '<p>[<strong>proto</strong>] [constructor]</p>\n'],
    ['- a\n- b\n\n  [c]: d\n- e', '<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n<li>\n<p>e</p>\n</li>\n</ul>\n'],
  ]);
});

test('autolinks are web addresses and mail addresses in angle brackets', () => {
  assertInlines([
    ['<https://a.example/?b=c&d=[*e*]>', '<a href="https://a.example/?b=c&amp;d=%5B*e*%5D">https://a.example/?b=c&amp;d=[*e*]</a>'],
    ['<a.b+c@d-e.example> <mailto:a@b>', '<a href="mailto:a.b+c@d-e.example">a.b+c@d-e.example</a> <a href="mailto:a@b">mailto:a@b</a>'],
    ['<a:b> <https://a b> < a@b> https://a.example', '&lt;a:b&gt; &lt;https://a b&gt; &lt; a@b&gt; https://a.example'],
  ]);
});

test('line breaks: two spaces or a backslash before the end of the line', () => {
  assertInlines([
    ['a  \nb\\\nc \nd\\', 'a<br />\nb<br />\nc\nd\\'],
    ['*a  \n  b*  ', '<em>a<br />\nb</em>'],
    ['`a  \nb`', '<code>a   b</code>'],
  ]);
});

test('escapes and character references are text', () => {
  assertInlines([
    ['\\!\\"\\#\\*\\[\\]\\<\\\\\\a\\ä', '!&quot;#*[]&lt;\\\\a\\ä'],
    ['&amp; &copy &copy; &#65;&#x42; &nope; &#0; &#12345678; &#xD800;', '&amp; &amp;copy © AB &amp;nope; \ufffd &amp;#12345678; \ufffd'],
    ['&#42;a&#42; &#91;a](b)', '*a* [a](b)'],
    ['it\'s "<&>"', 'it\'s &quot;&lt;&amp;&gt;&quot;'],
  ]);
});

test('tables: a header, a row of dashes, rows up to a blank line or another block', () => {
  const head = '<table>\n<thead>\n<tr>\n<th>a</th>\n<th align="right">b</th>\n</tr>\n</thead>\n';
  const row = (...cells: string[]) => `<tr>\n<td>${cells[0]}</td>\n<td align="right">${cells[1]}</td>\n</tr>\n`;
  const table = (...rows: string[]) => `${head}<tbody>\n${rows.join('')}</tbody>\n</table>\n`;
  assertRendered([
    ['| a | b |\n|---|--:|', `${head}</table>\n`],
    ['a | b\n- | -:\nc', '<p>a | b</p>\n<ul>\n<li>| -:\nc</li>\n</ul>\n'],
    ['a | b\n-- | -:\n*c* | \\|`d\\|e`\nf|g|h\ni\n\nj', table(row('<em>c</em>', '|<code>d|e</code>'), row('f', 'g'), row('i', ''))
      + '<p>j</p>\n'],
    ['x\na|b\n-|-:\nc||\n> d', `<p>x</p>\n${table(row('c', ''))}<blockquote>\n<p>d</p>\n</blockquote>\n`],
    ['> |a|b|\n> |-|-:|\n> c\nd', `<blockquote>\n${table(row('c', ''))}</blockquote>\n<p>d</p>\n`],
    ['| a |\n| --- | --- |', '<p>| a |\n| --- | --- |</p>\n'],
    ['|a|\n|:-:|\n|', '<table>\n<thead>\n<tr>\n<th align="center">a</th>\n</tr>\n</thead>\n</table>\n<p>|</p>\n'],
  ]);
});

test('byte order mark, NUL and lone surrogates', () => {
  assertRendered([
    ['\ufeff# a', '<h1>a</h1>\n'],
    ['a\0b \ud800 `\udfff`', '<p>a\ufffdb \ufffd <code>\ufffd</code></p>\n'],
    ['```\0\n\0\n```\n<div \0>', '<pre><code class="language-\ufffd">\ufffd\n</code></pre>\n<div \ufffd>\n'],
  ]);
});

test('alignment of tables, numbers of lists and languages of code stay in sanitised markup', () => {
  const markdown = '|a|\n|:-:|\n\n3. b\n\n```js\nc\n```\n\n~~d~~ <script>alert(1)</script>[e](javascript:f)';
  assert.equal(clean(renderMarkdown(markdown)), '<table>\n<thead>\n<tr>\n<th align="center">a</th>\n</tr>\n</thead>\n</table>\n'
    + '<ol start="3">\n<li>b</li>\n</ol>\n<pre><code class="language-js">c\n</code></pre>\n<p><del>d</del> e</p>\n');
});

test('deep marks, short rows of tables and repeated references do not make the HTML much longer than the text', () => {
  const deep = renderMarkdown(`${'>'.repeat(1_000)} ${'- '.repeat(1_000)}a`);
  assert.ok(deep.split('<blockquote>').length < 100 && deep.includes('&gt;'));
  const wide = renderMarkdown(`${'|a'.repeat(1_000)}\n${'|-'.repeat(1_000)}\n${'|b\n'.repeat(1_000)}`);
  assert.equal(wide.split('<td>b</td>').length, 1_001);
  assert.ok(wide.length < 300_000, String(wide.length));
  const referring = renderMarkdown(`[a]: /${'b'.repeat(9_999)}\n\n${'[a] '.repeat(1_000)}`);
  assert.equal(referring.split('[a]').length, 991);
  assert.ok(referring.length < 120_000, String(referring.length));
});
