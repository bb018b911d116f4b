// Protects everybody who waits to write: nothing parses or sanitises while a write transaction is open.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IMPORTS, SOURCES } from './support/source-tree.ts';

/** What reads markup, documents or their bytes. */
const PARSERS = new Set([
  'sanitizingHtml', 'plainText', 'readingText', 'tokenizingHtml', 'inSteps', 'atOnce', 'scanXml',
  'parseXmlTree', 'readXmlTree', 'parseFeed', 'parseBeginning', 'parseRss', 'parseAtom', 'parseJsonFeed', 'decodeText',
  'parseOpml',
  'preparePost', 'preparePosts', 'prepareStep', 'searchableText', 'searchTerms', 'readingTerms',
  'feedAddress',
]);

/** Behind the bracket that closes what opens at `start`; texts are skipped. */
function closing(code: string, start: number): number {
  const open: string[] = [];
  for (let at = start; at < code.length; at++) {
    const sign = code[at] ?? '';
    const quote = open.at(-1) ?? '';
    if ('\'"`'.includes(quote) && quote !== '') {
      if (sign === '\\') at++;
      else if (sign === quote) open.pop();
      else if (quote === '`' && sign === '$' && code[at + 1] === '{') open.push(code[++at] ?? '');
    } else if ('\'"`([{'.includes(sign)) open.push(sign);
    else if (')]}'.includes(sign)) {
      open.pop();
      if (open.length === 0) return at + 1;
    }
  }
  return code.length;
}

/** The bodies of the functions of all files, by name. */
const BODIES = Map.groupBy(SOURCES.flatMap(({ name: file, code }) =>
  [...code.matchAll(/^(export )?(?:async )?function\*? (\w+)(?=[<(])/gm)].map(({ index, 0: head, 1: exported, 2: name = '' }) =>
    ({ file, name, isExported: exported !== undefined, body: code.slice(index + head.length, code.indexOf('\n}', index)) }))),
({ name }) => name);

/** What a name in a file means: the file's own function, or else what others export. */
function functionsOf(name: string, file: string) {
  const all = BODIES.get(name) ?? [];
  const own = all.filter((one) => one.file === file);
  return own.length > 0 ? own : all.filter(({ isExported }) => isExported);
}

const TRANSACTION = /\.(?:write|transaction)\(|\bthrottled\(hub\)\(|\bchangingReaders\(/g;

/** What each transaction runs, as it is written. */
const WORKS = SOURCES.filter(({ name }) => !name.startsWith('src/platform/')).flatMap(({ name, code }) =>
  [...code.matchAll(TRANSACTION)].map(({ index, 0: call }) => {
    const start = index + call.length - 1;
    return { name, work: code.slice(start, closing(code, start)) };
  }));

/** How a parser is reached from this code, as the names of functions on the way; undefined where none is. */
function wayToParser(code: string, file: string, seen = new Set<string>()): string[] | undefined {
  for (const [, name = ''] of code.matchAll(/(?<![.\w])(\w+)(?=\()/g)) {
    if (PARSERS.has(name)) return [name];
    if (seen.has(name)) continue;
    seen.add(name);
    for (const found of functionsOf(name, file)) {
      const way = wayToParser(found.body, found.file, seen);
      if (way) return [name, ...way];
    }
  }
  return undefined;
}

test('no work of a transaction leads to a parser or to the sanitiser', () => {
  assert.ok(WORKS.length > 60, String(WORKS.length));
  const found = WORKS.map(({ name, work }) => ({ name, way: wayToParser(work, name) })).filter(({ way }) => way !== undefined);
  assert.deepEqual(found, []);
  for (const name of PARSERS) assert.ok(BODIES.has(name), `${name} is there`);
  assert.deepEqual(wayToParser('(() => importOpml(hub))', ''), ['importOpml', 'readLines', 'parseOpml']);
});

test('no store reads markup: what it is given is ready', () => {
  const readers = IMPORTS.filter(({ file, target }) => file.endsWith('-store.ts') && target.includes('/markup/'));
  assert.deepEqual(readers.filter(({ target }) => !target.endsWith('/tidy-text.ts')), []);
});
