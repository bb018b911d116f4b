// Protects the reading of real feeds of other software, field by field.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { parseFeed } from '../../../src/features/feeds/parse-feed.ts';
import { NotAFeedError, type ParsedFeed } from '../../../src/features/feeds/feed-values.ts';
import { checkFields, comparableFeed, CORPUS_FEED_URL, readExpectations } from '../../bench/feed-expectations.ts';

const CORPUS = join(import.meta.dirname, '../../../../shared/corpora/feeds');
const skip = existsSync(CORPUS) ? false : 'the corpus of real feeds is not beside this checkout';

function parseFile(file: string): ParsedFeed {
  return parseFeed(readFileSync(join(CORPUS, file)), { url: CORPUS_FEED_URL, contentType: null });
}

/**
 * Of 197 cases of Miniflux's parser about fields that the hub has, 179 get the same meaning. On purpose different:
 * - 3: of an author with an e-mail address only the name; 1: `webMaster`, who answers for the server, is no author.
 * - 4: a post without an address has no link (there: the site's, or the first file's).
 * - 1: a relative link of Atom is resolved against the feed's address (RFC 4287), not the site's.
 * - 3: titles are plain text, without tags, and decoded twice if encoded twice; 3: a missing one is the first words of the
 *   content; 1: a feed's is the host of its address.
 * - 2: a JSON Feed with `authors` (1.1) has no `author`, and keeps their order.
 */
test('every feed of the corpus is expected to hold something', { skip }, () => {
  assert.deepEqual(readdirSync(CORPUS).toSorted(), [...readExpectations().keys()].toSorted());
});

for (const [file, expected] of readExpectations()) {
  test(`the corpus feed ${file} is read or refused as expected`, { skip }, () => {
    if ('refused' in expected) {
      const isExpected = (error: unknown): boolean =>
        error instanceof NotAFeedError && error.message.includes(expected.refused);
      assert.throws(() => parseFile(file), isExpected);
      return;
    }
    const wrong = checkFields(expected, comparableFeed(parseFile(file))).filter((field) => !field.right);
    assert.deepEqual(wrong, []);
  });
}

test('no item of the corpus lacks a guid, shares one or has a link that is not absolute', { skip }, () => {
  for (const [file, expected] of readExpectations()) {
    if ('refused' in expected) continue;
    const { items } = parseFile(file);
    assert.equal(new Set(items.map((item) => item.guid)).size, items.length, file);
    for (const item of items) {
      assert.ok(item.guid !== '', file);
      for (const url of [item.url ?? item.baseUrl, item.baseUrl, ...item.attachments.map((one) => one.url)]) {
        assert.match(url, /^https?:\/\/[^/]+\//, file);
      }
    }
  }
});

test('no text of the corpus shows signs of a wrong encoding', { skip }, () => {
  for (const [file, expected] of readExpectations()) {
    if ('refused' in expected) continue;
    const { items, title } = parseFile(file);
    for (const text of [title, ...items.map((item) => `${item.title} ${item.contentHtml}`)]) {
      assert.doesNotMatch(text, /\ufffd|[\x80-\x9f]|Ã[\x80-\xbf]/, file);
    }
  }
});

test('details that only some feeds of the corpus have are read', { skip }, () => {
  const podcast = parseFile('giantbomb-podcast.rss').items[0];
  const [audio] = podcast?.attachments ?? [];
  assert.deepEqual([audio?.mediaType, audio?.bytes, audio?.durationSeconds], ['audio/mpeg', 105003355, 10475]);
  assert.equal(parseFile('itunes-category.rss').items[0]?.attachments[0]?.durationSeconds, 4190);
  assert.equal(parseFile('pagination-links.rss').items[0]?.attachments[0]?.durationSeconds, 2367);
  assert.equal(parseFile('narro.rss').ttl, 1_200_000);
  assert.equal(parseFile('heise.atom').items[0]?.summary?.startsWith('Die nun verfügbare Version 10'), true);
  assert.equal(parseFile('instant-article.rss').items[0]?.summary, 'Lorem ipsum');
});
