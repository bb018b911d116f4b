import { openInMemory } from '../../platform/db/open-database.ts';
import type { Phrase } from './expression.ts';
import { IS_ASCII, phraseTerms } from './search-words.ts';

const NOT_ASCII = /[^\0-\x7f]/gu;
const WORDS = /[^\0-/:-@[-`{-\x7f]+/g; // ASCII letters and digits, and all characters outside ASCII

/** How SQLite's tokenizer of the search index writes each non-ASCII character that the hub has looked up so far. */
const written = new Map<string, string>();

/**
 * Returns search terms (`searchTerms`) as SQLite's search index has them: without accents. Tokens consist of
 * ASCII letters and digits and of all characters outside ASCII. SQLite's tokenizer treats each character alone, so each
 * is looked up only once.
 */
export function indexedText(terms: string): string {
  if (IS_ASCII.test(terms)) return terms;
  return terms.replace(NOT_ASCII, (character) => written.get(character) ?? ask(character));
}

/** Splits search terms into the tokens of the search index. */
export function tokensOf(terms: string): string[] {
  return tokensIn(indexedText(terms));
}

/** The tokens of what `indexedText` has made. */
export function tokensIn(indexed: string): string[] {
  return indexed.match(WORDS) ?? [];
}

/** Tokens that stand together. `isBeginning`: whether the last one may begin a longer one. */
export type Tokens = { tokens: string[]; isBeginning: boolean };

/** Whether the tokens stand in a list, the first at index `at`. */
export function standsAt({ tokens, isBeginning }: Tokens, list: string[], at: number): boolean {
  return tokens.every((token, index) => {
    const there = list[at + index];
    return there === token || (isBeginning && index === tokens.length - 1 && there?.startsWith(token) === true);
  });
}

/** Returns a function that tells whether the phrase's words stand one after another in a list of tokens. */
export function phraseMatcher(phrase: Phrase): (tokens: string[]) => boolean {
  const { terms, isBeginning } = phraseTerms(phrase);
  const wanted = { tokens: tokensOf(terms), isBeginning };
  return (list) => wanted.tokens.length > 0 && list.some((_, at) => standsAt(wanted, list, at));
}

function ask(character: string): string {
  tokenizer ??= prepareTokenizer();
  const tokens = tokenizer(`a${character}b`);
  const form = tokens.length > 1 ? ' ' : tokens[0]?.slice(1, -1) ?? '';
  written.set(character, form);
  return form;
}

let tokenizer: ((text: string) => string[]) | undefined;

function prepareTokenizer(): (text: string) => string[] {
  const db = openInMemory();
  db.exec(`CREATE VIRTUAL TABLE texts USING fts5 (
    text, tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'")`);
  db.exec(`CREATE VIRTUAL TABLE tokens USING fts5vocab (texts, 'instance')`);
  const insert = db.prepare<[string]>('tokenize', 'INSERT OR REPLACE INTO texts (rowid, text) VALUES (1, ?)');
  const select = db.prepare<[], { term: string }>('tokens', 'SELECT term FROM tokens ORDER BY "offset"');
  return (text) => (insert.run(text), select.all().map(({ term }) => term));
}
