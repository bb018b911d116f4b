// Protects readers from markup that a real browser would run or load after it was sanitised.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { openBrowser } from '../../support/browser.ts';
import { hostileCases } from '../../support/hostile-markup.ts';
import { randomFormula, randomMarkup } from '../../support/random-markup.ts';
import {
  ALLOWED_ELEMENTS, assertSanitised, attributeFault, MATH_ELEMENTS, sanitizeHtml,
} from '../../support/sanitized-markup.ts';
import { requireTool } from '../../support/tools.ts';

const BASE = { baseUrl: 'https://blog.example/posts/1' };
const HTML_NAMESPACE = 'http://www.w3.org/1999/xhtml';
const MATH_NAMESPACE = 'http://www.w3.org/1998/Math/MathML';

/** One element as the browser built it: namespace, name, attributes, namespace of the parent. */
type Built = [namespace: string, name: string, attributes: [name: string, value: string][], parent: string];
type Reading = { elements: Built[]; serialised: string };

/** Reads every text with DOMParser and as the content of an element in the page, and lists what came of it. */
const READ_MARKUP = `
  const list = (root) => Array.from(root.querySelectorAll('*'), (element) => [element.namespaceURI, element.localName,
    Array.from(element.attributes, (attribute) => [attribute.name, attribute.value]),
    element.parentNode.namespaceURI]);
  const holder = document.querySelector('main');
  return Array.from(arguments[0]).map((markup) => {
    const parsed = new DOMParser().parseFromString('<body>' + markup, 'text/html').body;
    holder.innerHTML = markup;
    return [parsed, holder].map((root) => ({ elements: list(root), serialised: root.innerHTML }));
  });
`;

/** Gives what the texts may have started time to run: two frames, and the tasks queued before. */
const SETTLE = `
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))));
  return window.ran ?? 0;
`;

/** A server that hands out one page and remembers every path it was asked for. */
async function startPage(t: TestContext): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end('<!doctype html><link rel=icon href="data:,"><title>page</title><main></main>');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked };
}

function assertAllowed(reading: Reading, context: string): void {
  for (const [namespace, name, attributes, parent] of reading.elements) {
    const isMath = namespace === MATH_NAMESPACE;
    assert.ok(isMath || namespace === HTML_NAMESPACE, `${context}\n<${name}> is in ${namespace}`);
    assert.equal(parent, isMath && name !== 'math' ? MATH_NAMESPACE : HTML_NAMESPACE, `${context}\n<${name}> moved`);
    assert.ok((isMath ? MATH_ELEMENTS : ALLOWED_ELEMENTS).has(name), `${context}\nthe browser made <${name}>`);
    for (const [attribute, value] of attributes) {
      assert.equal(attributeFault(name, attribute, value), undefined, context);
    }
  }
}

test('a browser finds only allowed elements in sanitised markup, and no part of the markup runs or loads', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const page = await startPage(t);
  const browser = await openBrowser(t);
  await browser.goto(page.url);
  const random = Array.from({ length: 1_500 }, (_, index) => randomMarkup(10_000 + index));
  const formulas = Array.from({ length: 1_500 }, (_, index) => randomFormula(10_000 + index));
  const sources = [...hostileCases().map(({ markup }) => markup), ...random, ...formulas];
  // Relative addresses would be asked for at our own server, where they are seen.
  const results = sources.map((markup) => sanitizeHtml(markup, { baseUrl: page.url }));

  const readings = await browser.run<Reading[][]>(READ_MARKUP, results);

  assert.equal(readings.length, sources.length);
  readings.forEach((pair, index) => {
    const context = `${sources[index]?.slice(0, 300)}\n${results[index]?.slice(0, 500)}`;
    for (const reading of pair) assertAllowed(reading, context);
  });
  assert.equal(await browser.run<number>(SETTLE), 0);
  assert.deepEqual(page.asked, ['/']);
});

test('what a browser makes of sanitised markup is safe to sanitise and to show again', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const page = await startPage(t);
  const browser = await openBrowser(t);
  await browser.goto(page.url);
  const formulas = Array.from({ length: 500 }, (_, index) => randomFormula(20_000 + index));
  const sources = [...hostileCases().map(({ markup }) => markup), ...formulas];
  const results = sources.map((markup) => sanitizeHtml(markup, BASE));
  assert.ok(results.filter((markup) => markup.includes('<math')).length > 100);
  const first = (await browser.run<Reading[][]>(READ_MARKUP, results)).flat();
  const again = first.map(({ serialised }) => sanitizeHtml(serialised, BASE));

  const second = await browser.run<Reading[][]>(READ_MARKUP, again);

  again.forEach((markup) => assertSanitised(markup, markup.slice(0, 300)));
  second.forEach((pair, index) => pair.forEach((reading) => assertAllowed(reading, again[index]?.slice(0, 500) ?? '')));
  assert.equal(await browser.run<number>(SETTLE), 0);
});

test('the same markup unsanitised does run, load and make other elements: the browser would have told', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const page = await startPage(t);
  const browser = await openBrowser(t);
  await browser.goto(page.url);
  const unsafe = [
    '<img src=x onerror=ran=1>', '<svg><style></svg>', '<p id=x>y</p>', '<math><mi><b>x</b></mi></math>',
    '<math><mglyph></math>',
  ];

  const readings = await browser.run<Reading[][]>(READ_MARKUP, unsafe);
  await browser.run(`
    document.querySelector('main').innerHTML = '<img src=/x onerror=ran=1>';
    while (window.ran === undefined) await new Promise((done) => setTimeout(done, 5));
  `);

  for (const reading of readings.flat()) assert.throws(() => assertAllowed(reading, ''), assert.AssertionError);
  assert.equal(await browser.run<number>(SETTLE), 1);
  assert.ok(page.asked.includes('/x'));
});

test('a browser reads in sanitised text exactly the text that was written', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const page = await startPage(t);
  const browser = await openBrowser(t);
  await browser.goto(page.url);
  const texts = ['&lt;b&gt; &amp;amp; "\' &notit; &#x80;', 'a\u00a0b &copy=1', '漢字 😀 &#128512;', '<p>one</p><p>two'];
  const read = `return Array.from(arguments[0]).map((markup) =>
    new DOMParser().parseFromString(markup, 'text/html').body.textContent);`;

  const before = await browser.run<string[]>(read, texts);
  const after = await browser.run<string[]>(read, texts.map((text) => sanitizeHtml(text, BASE)));

  assert.deepEqual(after, before);
});
