import { refuseInTransaction } from '../../platform/db/open-database.ts';
import type { Reading } from '../../platform/markup/in-steps.ts';

/** The prefix of an emoji's code point, which is indexed as a word, because SQLite's tokenizer drops emoji. */
const EMOJI_MARK = '\ue001';
export const EMOJI = /\p{RI}{1,2}|\p{Extended_Pictographic}/gu;

/** Characters that searches ignore: vowel signs of Arabic and Hebrew, which few people type, and modifiers of emoji. */
const OPTIONAL_MARKS =
  /[\u0640\u064b-\u065f\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\ufe0e\ufe0f]|\p{Emoji_Modifier}/gu;

export const IS_ASCII = /^[\0-\x7f]*$/;

/** Scripts that are written without spaces between words, and the long vowel mark ー, which belongs to no script. */
export const SPACELESS = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((script) => `\\p{Script=${script}}`).join('') + 'ー';
const SPACELESS_RUNS = new RegExp(`[${SPACELESS}]+`, 'gu');
const SPACELESS_SIGN = new RegExp(`[${SPACELESS}]`, 'u');

/** Maximum indexed characters of one post: indexing them takes about 20 ms, while all other writes wait. */
const MAX_TERMS = 200_000;

/** Long texts may be split at white space and punctuation, which real texts have within any LONGEST_RUN characters. */
const BETWEEN_WORDS = /[\s\p{P}]/u;
const LONGEST_RUN = 1_000;

/** Makes a long text's search terms in steps, up to MAX_TERMS characters (one character may become eighteen). */
export function readingTerms(text: string): Reading<string> {
  let at = 0;
  let terms = '';
  return {
    read(characters) {
      const from = at + characters;
      const end = from + text.slice(from, from + LONGEST_RUN).search(BETWEEN_WORDS);
      const until = end < from ? from + LONGEST_RUN : end;
      terms += searchTerms(text.slice(at, until));
      at = until;
      return at < text.length && terms.length < MAX_TERMS;
    },
    end: () => terms.length > MAX_TERMS ? terms.slice(0, Math.max(0, terms.lastIndexOf(' ', MAX_TERMS))) : terms,
  };
}

/**
 * Makes the search terms of a text. Compatible forms of a letter become one form, and Greek loses its accents (SQLite
 * removes only Latin accents). An emoji becomes a word of the search terms. Scripts without spaces are split into
 * overlapping pairs (bigrams) plus the last character, so that any part of a run can be found.
 */
export function searchTerms(text: string): string {
  refuseInTransaction('making search terms');
  return inTerms(folded(text));
}

/**
 * Returns the words of a phrase as the search index has them. `isBeginning`: the last word may begin a longer word.
 * `mayGoOn` is the value of `isBeginning` unless the phrase ends in a script without spaces.
 */
export function phraseTerms({ text, mayGoOn }: { text: string; mayGoOn: boolean }) {
  const { before, run } = partsOf(text);
  // The search index has a text without spaces as pairs of characters, and the text's last character alone. A search
  // for a text looks only for the text's pairs of characters, because a post may have the text within a longer text.
  const signs = pairsOf(run).slice(0, Math.max(1, run.length - 1));
  const terms = [inTerms(before), ...signs].join(' ').trim();
  return { terms, isBeginning: run.length === 0 ? mayGoOn : run.length === 1 };
}

function partsOf(phrase: string): { before: string; run: string[] } {
  const signs = [...phrase.trim()];
  const last = signs.findLastIndex((sign) => !SPACELESS_SIGN.test(sign));
  return { before: signs.slice(0, last + 1).join(''), run: signs.slice(last + 1) };
}

function inTerms(text: string): string {
  return text.replace(SPACELESS_RUNS, (run) => ` ${pairsOf([...run]).join(' ')} `)
    .replace(EMOJI, (emoji) => ` ${EMOJI_MARK}${[...emoji].map(numberOf).join('')} `);
}

function numberOf(sign: string): string {
  return sign.codePointAt(0)?.toString(36) ?? '';
}

function pairsOf(signs: string[]): string[] {
  return signs.map((sign, index) => sign + (signs[index + 1] ?? ''));
}

/** Normalises each letter of a text to one form; keeps capitals and Latin accents, which SQLite's index ignores. */
export function folded(text: string): string {
  if (IS_ASCII.test(text)) return text.replaceAll('\0', ' ');
  return text.replace(/[\0\ue000\ue001]/g, ' ').normalize('NFKC')
    .replace(/[ßẞ]/g, 'ss')
    .replace(/\p{Script=Greek}+/gu, (greek) => greek.normalize('NFKD').replace(/[\u0300-\u036f]/g, ''))
    .replace(OPTIONAL_MARKS, '');
}

/** The mark around the owner's id in each search term of a private post; `folded` removes this mark from any text. */
const OWNER_MARK = '\ue000';
const WORDS = /[\p{L}\p{N}\p{Co}\p{Mn}\p{Mc}]+/gu;

/** Returns a private post's search terms, each with its owner's id, so that only the owner's search matches. */
export function ownersTerms(terms: string, ownerId: number): string {
  return terms.replace(WORDS, `${OWNER_MARK}${ownerId.toString(36)}${OWNER_MARK}$&`);
}

/** An index takes about this many bytes for each different word of a text, and for each place of a word in the text. */
const [WORD_BYTES, PLACE_BYTES] = [12, 2];

/** The bytes that a text takes in a search index, estimated by its words: 0.7 to 1.5 times the bytes on the disk. */
export function indexBytesOf(terms: string): number {
  const words = terms.match(WORDS) ?? [];
  return new Set(words).size * WORD_BYTES + words.length * PLACE_BYTES;
}
