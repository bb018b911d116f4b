// Protects the tree of a page: the nesting that browsers see, also without end tags, in few steps and little memory.
import assert from 'node:assert/strict';
import test from 'node:test';
import { MAX_NODES, readTree, type HtmlTree } from '../../../src/platform/markup/html-tree.ts';
import { atOnce, resumable, STEP } from '../../../src/platform/markup/in-steps.ts';

function treeOf(html: string): HtmlTree {
  const tree = atOnce(resumable(readTree(html)));
  assert.ok(tree !== null, 'the tree is within the limits');
  return tree;
}

/** The tree as nested calls, such as `ul(li("a") li("b"))`. */
function written(html: string): string {
  const { names, texts, ends } = treeOf(html);
  const inner = (from: number, to: number): string => {
    const parts: string[] = [];
    for (let node = from; node < to; node = ends[node] ?? to) {
      const within = inner(node + 1, ends[node] ?? to);
      parts.push(names[node] === '' ? `"${texts[node]}"` : `${names[node]}${within === '' ? '' : `(${within})`}`);
    }
    return parts.join(' ');
  };
  return inner(1, names.length);
}

test('missing end tags are supplied where browsers supply them', () => {
  const cases: [string, string][] = [
    ['<p>a<p>b<div>c</div>', 'p("a") p("b") div("c")'],
    ['<ul><li>a<li>b<ul><li>c</ul><li>d</ul>', 'ul(li("a") li("b" ul(li("c"))) li("d"))'],
    ['<dl><dt>a<dd>b<dt>c</dl>', 'dl(dt("a") dd("b") dt("c"))'],
    ['<table><tr><td>a<td>b<tr><th>c</table>d', 'table(tr(td("a") td("b")) tr(th("c"))) "d"'],
    ['<table><thead><tr><td>a<tbody><tr><td>b</table>', 'table(thead(tr(td("a"))) tbody(tr(td("b"))))'],
    ['<select><option>a<option>b</select>', 'select(option("a") option("b"))'],
    ['<a href=1>a<a href=2>b</a>', 'a("a") a("b")'],
    ['<ruby>a<rt>b<rt>c</ruby>', 'ruby("a" rt("b") rt("c"))'],
    ['<p>a<table><tr><td><p>b</table>', 'p("a") table(tr(td(p("b"))))'],
  ];
  for (const [html, expected] of cases) assert.equal(written(html), expected, html);
});

test('an end tag closes what browsers close, and a stray end tag closes nothing', () => {
  const cases: [string, string][] = [
    ['<div><span>a</div>b', 'div(span("a")) "b"'],
    ['<div>a</span></p></li>b</div>', 'div("a" "b")'],
    ['<h2>a</h3>b', 'h2("a") "b"'],
    ['<table><tr><td>a</div></table></table>b', 'table(tr(td("a"))) "b"'],
    ['<ul><li><ul></li><li>a</ul></ul>', 'ul(li(ul(li("a"))))'],
    ['<b>a<div>b</b>c</div>d', 'b("a" div("b")) div("c") "d"'],
    ['<form><div></form>a</div>b', 'form(div) div("a") "b"'],
    ['<br/>a</br>', 'br "a" br'],
  ];
  for (const [html, expected] of cases) assert.equal(written(html), expected, html);
});

test('the title, linked data, formulas and the direction of the page are kept apart from its nodes', () => {
  const data = '{"@type":"NewsArticle"}';
  const tree = treeOf(`<html dir=rtl><head><title>A &amp; B</title><title>C</title>
    <script type="application/ld+json">${data}</script><script>x</script><body lang=ar dir=ltr>
    <math><mi>x</mi></math><svg><title>no</title></svg>`);
  assert.deepEqual([tree.title, tree.linkedData], ['A & B', [data]]);
  assert.deepEqual([...tree.attributes[0] ?? []], [['dir', 'rtl'], ['lang', 'ar']]);
  const formula = tree.names.indexOf('math');
  assert.deepEqual([tree.texts[formula], tree.formulas.get(formula)], ['x', '<math><mi>x</mi></math>']);
  assert.ok(!tree.names.includes('head') && !tree.names.includes('svg'));
});

test('a tag of any number of attributes ends where browsers end it, and long values keep their references', () => {
  const many = Array.from({ length: 150 }, (_, index) => `a${index}`).join(' ');
  const cases: [string, string][] = [
    [`<p ${many} b="x>y" c='>' d=e"f>text</p>`, 'p("text")'],
    [`<p ${many} = "x>y">text`, 'p("text")'],
    [`<p ${many} b="x>text`, ''],
  ];
  for (const [html, expected] of cases) assert.equal(written(html), expected, html.slice(-20));
  const title = (value: string): string | undefined => treeOf(`<p title="${value}">`).attributes[1]?.get('title');
  assert.equal(title('&amp;'), '&');
  assert.equal(title('&amp;'.repeat(20_000)), '&amp;'.repeat(20_000));
});

test('only the images of a noscript are read', () => {
  assert.equal(written('<p><noscript><div><img src=a>text</noscript>b</p>'), 'p(noscript(img) "b")');
  assert.equal(written(`<noscript><img>${' '.repeat(STEP)}</noscript>a`), 'noscript "a"');
});

test('elements deeper than 256 lie flat, and their end tags close no other element', () => {
  const tree = treeOf(`${'<i>'.repeat(300)}a${'</i>'.repeat(300)}<p>b`);
  const depthOf = (node: number): number => (node <= 0 ? 0 : 1 + depthOf(tree.parents[node] ?? 0));
  assert.equal(depthOf(tree.texts.indexOf('a')), 256);
  assert.equal(depthOf(tree.names.indexOf('p')), 1);
});

test('a page with too many nodes, stray end tags or formulas is given up', () => {
  for (const [piece, count] of [['<br>', MAX_NODES], ['</b>', MAX_NODES], ['<math><mi>x</mi></math>', MAX_NODES / 5]]) {
    const most = String(piece).repeat(Number(count) - 1_000);
    assert.ok(atOnce(resumable(readTree(most))) !== null, String(piece));
    assert.equal(atOnce(resumable(readTree(most + String(piece).repeat(8_000)))), null, String(piece));
  }
});

test('hostile markup makes as many steps and nodes per character as it is long', () => {
  const pieces = ['<div>', '<b><div></b>', '<table><tr><td><ul><li><p><b>', '<a href=x>', '<p>', '&amp;', '<noscript>',
    '<noscript><img></noscript>', '<form><div></form>', '<li>', '<dl><dt>', '<h1>', '<!--', '<body dir=ltr>'];
  for (const piece of pieces) {
    const [small, large] = [40_000, 80_000].map((length) => {
      const reading = resumable(readTree(piece.repeat(length / piece.length)));
      let steps = 1;
      while (reading.read(STEP)) steps += 1;
      return { steps, nodes: reading.end()?.names.length ?? 0 };
    });
    assert.ok(small !== undefined && large !== undefined);
    assert.ok(large.steps <= 2 * small.steps + 1, piece);
    assert.ok(large.nodes <= 2.1 * small.nodes + 2, `${piece}: ${small.nodes} nodes became ${large.nodes}`);
  }
});
