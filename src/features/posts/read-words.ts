import { atOnce } from '../../platform/markup/in-steps.ts';
import { extractingText } from '../../platform/markup/plain-text.ts';
import { searchTerms } from './search-words.ts';
import { tokensOf } from './tokens-store.ts';

/** The words of a content, as the search index has them. `author`: stands before the content. */
export function contentWords(contentHtml: string, author = ''): string[] {
  return tokensOf(searchTerms(`${author}\n${atOnce(extractingText(contentHtml))}`));
}
