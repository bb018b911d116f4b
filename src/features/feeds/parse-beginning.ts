import { NotAFeedError, type ParsedFeed } from './feed-values.ts';
import { parseFeed } from './parse-feed.ts';

/** Bytes. Of what is larger only so much is read while somebody waits. */
const BEGINNING = 64 * 1024;
export const LARGE = 2 * BEGINNING;

const EMPTY_FEED = Buffer.from('{"version":"https://jsonfeed.org/version/1.1","items":[]}');

/**
 * What a large document says of itself in its beginning: its title, but not all of its posts. Throws NotAFeedError as
 * `parseFeed` does; of JSON that has its posts first nothing but its members is looked at.
 */
export function parseBeginning(bytes: Buffer, source: { url: string; contentType: string | null }): ParsedFeed {
  const isJson = /^(?:\xef\xbb\xbf)?\s*\{/.test(bytes.toString('latin1', 0, 1024));
  if (!isJson) return parseFeed(bytes.subarray(0, bytes.lastIndexOf('>', BEGINNING) + 1), source);
  const items = bytes.indexOf('"items"');
  if (items > 0 && items < BEGINNING) {
    try {
      return parseFeed(Buffer.concat([bytes.subarray(0, items), Buffer.from('"items":[]}')]), source);
    } catch (error) {
      if (!(error instanceof NotAFeedError)) throw error;
    }
  }
  if (items < 0 || !bytes.includes('"version"')) throw new NotAFeedError('the document is JSON, but not a JSON Feed');
  return parseFeed(EMPTY_FEED, source);
}
