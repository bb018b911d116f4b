// Protects the reading of XML that is damaged or hostile: as far as it makes sense, in linear time.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  attributeOf, childOf, innerHtml, MAX_DEPTH, parseXmlTree, textOf, type XmlElement,
} from '../../../src/platform/markup/xml-tree.ts';
import { decodeXmlText } from '../../../src/platform/markup/entities.ts';
import {
  MAX_ATTRIBUTES, MAX_NAME_LENGTH, readAttributes, scanXml, XmlLimitError,
} from '../../../src/platform/markup/xml-tokenizer.ts';
import { growthOf, repeated } from '../../support/growth.ts';

const NAMESPACES = new Map([['http://purl.org/dc/elements/1.1', 'dc'], ['http://www.w3.org/1999/xhtml', '']]);

function events(source: string): string[] {
  const seen: string[] = [];
  scanXml(source, {
    startTag: (tag) => {
      const attributes = [...readAttributes(source, tag.attributesStart, tag.attributesEnd)];
      const written = attributes.map(([name, value]) => ` ${name}=[${value}]`).join('');
      seen.push(`<${tag.name}${written}${tag.selfClosing ? '/' : ''}>`);
      return true;
    },
    endTag: (name) => Boolean(seen.push(`</${name}>`)),
    text: (start, end) => seen.push(decodeXmlText(source.slice(start, end))),
    cdata: (start, end) => seen.push(`[${source.slice(start, end)}]`),
    skipped: () => undefined,
  });
  return seen;
}

function tree(source: string): XmlElement {
  const root = parseXmlTree(source, { namespaces: NAMESPACES, siblings: new Set(['item']), from: 0 });
  assert.ok(root !== null, 'there is a root element');
  return root;
}

function textAt(root: XmlElement, ...path: string[]): string | undefined {
  const found = path.reduce<XmlElement | undefined>((at, name) => (at === undefined ? at : childOf(at, name)), root);
  return found === undefined ? undefined : textOf(found);
}

test('tags, attributes, text and CDATA come in document order', () => {
  assert.deepEqual(
    events('<?xml version="1.0"?><a x="1" Y=\'&lt;2&gt;\'>t<!-- <no> --><b/><![CDATA[<c>]]></a>'),
    ['<a x=[1] y=[<2>]>', 't', '<b/>', '[<c>]', '</a>'],
  );
});

test('references of XML and HTML are decoded once; unknown and unterminated ones stay', () => {
  assert.equal(decodeXmlText('&lt;&gt;&amp;&quot;&apos;&nbsp;&eacute;&#8217;&#x201C;'), '<>&"\'\u00a0é’“');
  assert.equal(decodeXmlText('&amp;lt; &#38;lt; &unknown; &copy=1 &amp'), '&lt; &lt; &unknown; &copy=1 &amp');
  assert.equal(decodeXmlText('?a=1&copy=2&;&#;&#xZZ;'), '?a=1&copy=2&;&#;&#xZZ;');
});

test('bare signs, and attributes, tags and instructions without their end, are read as far as they make sense', () => {
  const unquoted = '<a href=http://x/?a=b&amp;c checked x=1 x=2>';
  assert.deepEqual(events(unquoted), ['<a href=[http://x/?a=b&c] checked=[] x=[1]>']);
  assert.deepEqual(events("<a title='a > b' note=it's>t"), ["<a title=[a > b] note=[it's]>", 't']);
  assert.deepEqual(events('<a href="x>t</a>'), ['<a href=[x]>', 't', '</a>']);
  assert.deepEqual(events('<link href=http://x/ />'), ['<link href=[http://x/]/>']);
  assert.deepEqual(events('<a>R&D, 1 < 2 & 3 <4 <</a>'), ['<a>', 'R&D, 1 < 2 & 3 <4 <', '</a>']);
  assert.deepEqual(events('<a x="1"<b>t</b>'), ['<a x=[1]>', '<b>', 't', '</b>']);
  assert.deepEqual(events('<?xml version="1.0"><a>t</a>'), ['<a>', 't', '</a>']);
});

test('a document cut anywhere is read up to the cut, without an error', () => {
  const head = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "y">]>';
  const whole = `${head}<a b="c">t<!-- c --><![CDATA[d]]><e f='g'/>&amp;</a>`;
  for (let length = 0; length <= whole.length; length += 1) {
    assert.ok(Array.isArray(events(whole.slice(0, length))));
    parseXmlTree(whole.slice(0, length), { namespaces: NAMESPACES, siblings: new Set(), from: 0 });
  }
  assert.equal(textAt(tree('<a><b>one</b><c>tw'), 'c'), 'tw');
  assert.deepEqual(events('<a><![CDATA[cut'), ['<a>', '[cut]']);
});

test('a document type is passed over whole and its entities are never expanded', () => {
  const source = `<!DOCTYPE rss [
    <!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;"> <!-- ]> ' --> <!ENTITY x SYSTEM "file:///etc/passwd">
    <?pi ]> ?> <!ELEMENT a (b)> ]><a>&lol2;&x;</a>`;
  assert.deepEqual(events(source), ['<a>', '&lol2;&x;', '</a>']);
});

test('a million nested entity declarations take no more time than their length', () => {
  const bomb = `<!DOCTYPE a [${'<!ENTITY a "&b;&b;">'.repeat(50_000)}]><a>${'&a;'.repeat(50_000)}</a>`;
  assert.equal(textOf(tree(bomb)).length, 150_000);
});

test('end tags that match nothing are ignored, those of outer elements close the inner ones', () => {
  const root = tree('<a><b>x</i>y</b><c><d>z</c><e>w</e></a>');
  assert.equal(textAt(root, 'b'), 'xy');
  assert.equal(textAt(root, 'c', 'd'), 'z');
  assert.equal(textAt(root, 'e'), 'w');
});

test('names are compared without regard to case', () => {
  assert.equal(textAt(tree('<Rss><PubDate>x</pubdate><Link>y</LINK></rss>'), 'link'), 'y');
});

test('an item inside an item is its neighbour, whose end tag is missing', () => {
  const root = tree('<list><item><t>1</t><item><t>2</t></item></list>');
  assert.deepEqual(root.children.map((item) => textAt(item, 't')), ['1', '2']);
});

test('what is before and behind the root is ignored', () => {
  const root = parseXmlTree('junk <a>1</a> <b>2</b> junk', { namespaces: NAMESPACES, siblings: new Set(), from: 5 });
  assert.equal(root === null ? null : textOf(root), '1');
  assert.equal(parseXmlTree('no tag at all', { namespaces: NAMESPACES, siblings: new Set(), from: 0 }), null);
});

test('elements are known by their namespace, undeclared prefixes by themselves', () => {
  const root = tree('<r xmlns:q="http://purl.org/dc/elements/1.1/"><q:date>1</q:date><dc:title>2</dc:title>'
    + '<subject xmlns="HTTP://PURL.ORG/dc/elements/1.1/">3</subject><date>4</date></r>');
  assert.deepEqual(root.children.map((child) => child.name), ['dc:date', 'dc:title', 'dc:subject', 'date']);
});

test('a redeclared prefix counts inside its element only', () => {
  const root = tree('<r xmlns:p="urn:a"><p:x xmlns:p="http://purl.org/dc/elements/1.1/"><p:y/></p:x><p:z/></r>');
  const [outer, next] = root.children;
  assert.deepEqual([outer?.name, outer?.children[0]?.name, next?.name], ['dc:x', 'dc:y', 'p:z']);
});

test('text joins split CDATA, references and what is between tags', () => {
  assert.equal(textOf(tree('<a> <![CDATA[one &amp; ]]> </a>')), 'one &amp; ');
  assert.equal(textOf(tree('<a>x &amp; <![CDATA[<b>]]]]><![CDATA[>]]><!-- no --> <i>y</i></a>')), 'x & <b>]]> y');
});

test('XHTML is written as HTML: void elements, empty elements, prefixes, CDATA, attributes', () => {
  const inner = '<h:p class=\'a"b\'>1 &lt; 2<br/><h:i/>&nbsp;<![CDATA[<x>]]></h:p>a < b';
  const root = tree(`<c xmlns:h="http://www.w3.org/1999/xhtml">${inner}</c>`);
  assert.equal(innerHtml(root, 'text'), '<p class="a&quot;b">1 &lt; 2<br><i></i>&nbsp;&lt;x&gt;</p>a &lt; b');
  assert.equal(innerHtml(tree('<c><![CDATA[<b>x</b>]]><i>y</i></c>'), 'html'), '<b>x</b><i>y</i>');
  assert.equal(innerHtml(tree('<c><link>x</link><col/></c>'), 'text'), '<link>x<col>');
});

test('depth, attributes, names and the number of elements are limited with a clear error', () => {
  const deep = '<a>'.repeat(MAX_DEPTH + 1);
  assert.throws(() => tree(deep), (error) => error instanceof XmlLimitError && /deeper than/.test(error.message));
  assert.ok(tree('<a>'.repeat(MAX_DEPTH)));
  const many = Array.from({ length: MAX_ATTRIBUTES + 1 }, (_, index) => `a${index}="1"`).join(' ');
  assert.throws(() => attributeOf(tree(`<a ${many}/>`), 'a1'), XmlLimitError);
  assert.throws(() => tree(`<${'n'.repeat(MAX_NAME_LENGTH + 1)}>`), XmlLimitError);
  for (const piece of ['<a/>', '</z>']) {
    assert.throws(() => tree(`<r>${piece.repeat(500_001)}</r>`), /more than 500000 elements/, piece);
  }
});

test('a document may give a new meaning to 64 prefixes, and to any number the one they have', () => {
  const declared = (count: number, uri: string): string =>
    Array.from({ length: count }, (_, index) => ` xmlns:a${index}="${uri}"`).join('');
  const known = 'http://purl.org/dc/elements/1.1/';
  assert.equal(textAt(tree(`<r><s${declared(64, known)}><a63:date>x</a63:date></s></r>`), 's', 'dc:date'), 'x');
  assert.throws(() => tree(`<r${declared(65, known)}/>`), /more than 64 prefixes/);
  assert.equal(textAt(tree(`<r${declared(1_000, 'urn:x')}><a999:b>x</a999:b></r>`), 'a999:b'), 'x');
});

test('hostile repetition is read in time proportional to its length', () => {
  for (const piece of [
    '<a b="', "<a b='", '<!DOCTYPE [', '<!--', '<?x ', '</a', '<a ', '<![CDATA[', '&', '<a/', '</z>', '<!x', '="',
  ]) {
    const growth = growthOf(read, (length) => `<r>${repeated(piece, length)}`);
    assert.ok(growth < 2, `${piece} takes ${growth.toFixed(1)} times as many steps per character`);
  }

  function read(source: string): void {
    try {
      textOf(tree(source));
    } catch (error) {
      assert.ok(error instanceof XmlLimitError, String(error));
    }
  }
});
