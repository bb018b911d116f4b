// Protects everybody who waits to write: parsers and the sanitiser refuse to run inside a write transaction.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFeed } from '../../src/features/feeds/parse-feed.ts';
import { parseJsonFeed } from '../../src/features/feeds/parse-json-feed.ts';
import { searchTerms } from '../../src/features/posts/search-words.ts';
import { decodeText } from '../../src/platform/markup/decode-text.ts';
import { renderingMarkdown } from '../../src/platform/markup/markdown.ts';
import { plainText } from '../../src/platform/markup/plain-text.ts';
import { sanitizingHtml } from '../../src/platform/markup/sanitize-html.ts';
import { parseXmlTree } from '../../src/platform/markup/xml-tree.ts';
import { openInMemory } from '../../src/platform/db/open-database.ts';

const FEED = '<rss><channel><title>T</title><item><guid>1</guid></item></channel></rss>';

/** What reads a document or its markup, each as an arrow function, which no search for `function` would find. */
const READINGS: Record<string, () => unknown> = {
  sanitizingHtml: () => sanitizingHtml('<p>x', { baseUrl: 'https://x.example/' }).read(9),
  renderingMarkdown: () => renderingMarkdown('*x*').read(9),
  plainText: () => plainText('<p>x'),
  parseXmlTree: () => parseXmlTree(FEED, { namespaces: new Map(), siblings: new Set(), from: 0 }),
  decodeText: () => decodeText(Buffer.from(FEED), null),
  parseFeed: () => parseFeed(Buffer.from(FEED), { url: 'https://x.example/', contentType: null }),
  parseJsonFeed: () => parseJsonFeed('{"version":"https://jsonfeed.org/version/1.1","items":[]}', 'https://x.example/'),
  searchTerms: () => searchTerms('some words'),
};

for (const [name, reading] of Object.entries(READINGS)) {
  test(`${name} throws within a write transaction, and works again after it`, () => {
    const db = openInMemory();
    const prepared = db.transaction('prepared', reading);
    const within = /within a write transaction: do it before the transaction begins$/;

    assert.throws(() => db.write('write', reading), within);
    assert.throws(prepared, within);
    assert.throws(() => db.write('outer', () => { db.write('inner', () => {}); reading(); }), within);

    assert.doesNotThrow(reading);
    db.close();
  });
}
