// Protects everybody from everybody's texts: however long and odd one is, its reading gives way after so many steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extractArticle } from '../../src/features/full-text/extract-article.ts';
import { makingTerms } from '../../src/features/posts/search-words.ts';
import { indexingText } from '../../src/features/rules/apply-rules.ts';
import { compileRules } from '../../src/features/rules/match-rules.ts';
import { sanitizedText } from '../../src/features/writing/written-text.ts';
import { decodingText } from '../../src/platform/markup/decode-text.ts';
import { inSteps, resumable, type Resumable } from '../../src/platform/markup/in-steps.ts';
import { extractingText } from '../../src/platform/markup/plain-text.ts';
import { sanitizingHtml } from '../../src/platform/markup/sanitize-html.ts';
import { readXmlTree } from '../../src/platform/markup/xml-tree.ts';
import { repeated } from '../support/growth.ts';
import { longestStretch } from '../support/steps.ts';

const MIB = 1024 * 1024;
const WRITTEN = 399_000; // characters of a post
const LIMIT = 1_500_000;

type Reader = { length: number; read: (text: string) => Promise<unknown>; pieces: string[] };

const inParts = (reading: (text: string) => Resumable<unknown>) => (text: string) => inSteps(reading(text));
const XML = { namespaces: new Map(), siblings: new Set<string>(), from: 0 };
const PARAGRAPH = '<p>A paragraph of prose, with <a href="/link">a link</a>, of the usual length in an article</p>';

const READERS: Record<string, Reader> = {
  'Markdown': {
    length: WRITTEN, read: (content) => sanitizedText({ content, contentType: 'text/markdown' }),
    pieces: ['a\n- -\n', '*a* ', 'http://a.b '],
  },
  'plain text': {
    length: WRITTEN, read: (content) => sanitizedText({ content, contentType: 'text/plain' }),
    pieces: ['a\n\n', 'http://a.b '],
  },
  'HTML that is sanitised': {
    length: MIB, read: inParts((html) => sanitizingHtml(html, { baseUrl: 'https://a.test/' })),
    pieces: ['<p><a href="/x">word</a></p>', 'word '],
  },
  'the text of HTML': { length: MIB, read: inParts(extractingText), pieces: ['<p>a ', '&nbsp; '] },
  'words for the search': { length: WRITTEN, read: inParts(makingTerms), pieces: ['word ', '漢字、', 'é '] },
  'bytes': {
    length: MIB, pieces: ['é', 'word ', '\x92'],
    read: (text) => inSteps(decodingText(Buffer.from(text, text.startsWith('\x92') ? 'latin1' : 'utf8'), null)),
  },
  'a web page': {
    length: MIB, pieces: [PARAGRAPH, 'word, '],
    read: inParts((html) => extractArticle(html, { url: 'https://a.test/', title: 'Title', teaser: 'Teaser' })),
  },
  'XML': { length: MIB, read: inParts((source) => readXmlTree(`<r>${source}`, XML)), pieces: ['<a b="c"/>', 'word '] },
};

for (const [name, { length, read, pieces }] of Object.entries(READERS)) {
  test(`reading ${name} of full length gives way after few steps, also at its end`, async () => {
    for (const piece of pieces) {
      const text = repeated(piece, length);
      const longest = await longestStretch(() => read(text));
      assert.ok(longest < LIMIT, `${JSON.stringify(piece)}: ${longest} steps at a time`);
    }
  });
}

test('matching a post of full length with hostile rules gives way after few steps', async () => {
  const rules = Array.from({ length: 200 }, (_, n) => ({ match: n % 2 === 0 ? `"${'a-'.repeat(200)}x${n}"` : `a${n}* OR b` }));
  const matcher = compileRules(rules);
  function* match(terms: string): Generator<void, unknown> {
    const pace = { unpaused: 0 };
    const text = yield* indexingText(terms, pace);
    return yield* matcher.fitting({ title: '', text, author: '', publishedAt: 0 }, () => undefined, pace);
  }
  for (const piece of ['a ', 'é ', 'a b ']) {
    const longest = await longestStretch(() => inSteps(resumable(match(repeated(piece, 200_000)))));
    assert.ok(longest < LIMIT, `${JSON.stringify(piece)}: ${longest} steps at a time`);
  }
});
