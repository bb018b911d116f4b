import { refuseInTransaction } from '../../platform/db/open-database.ts';
import type { Resumable } from '../../platform/markup/in-steps.ts';

/** The prefix of an emoji's code point, which is indexed as a word, because SQLite's tokenizer drops emoji. */
const EMOJI_MARK = '\ue001';
export const EMOJI = /\p{RI}{1,2}|\p{Extended_Pictographic}/gu;
/** A character of the ranges that hold all emoji, which is found or missed in a tenth of the time. */
const MAY_BE_EMOJI = /[©®\u203c-\u3299\ud83c-\ud83f]/;

/**
 * Letters that readers type as others: those of Latin and Cyrillic that PostgreSQL's `unaccent` takes for them too, and
 * those of Arabic that Lucene's Arabic and Persian filters do. Accents that Unicode can split off need no row.
 */
const LATIN = { ae: 'æǽǣ', oe: 'œ', ss: 'ß', th: 'þ', d: 'đð', h: 'ħ', i: 'ı', l: 'ł', n: 'ŋ', o: 'øǿ', t: 'ŧ' };
const OTHERS = { b: 'ɓ', d: 'ɗ', k: 'ƙ', y: 'ƴ', '\'': 'ʻʼʽ', е: 'ёѐ', и: 'ѝ', ا: 'آأإٱ', ه: 'ةۀ', ي: 'ىی', ك: 'ک' };
const TYPED_AS = new Map([LATIN, OTHERS].flatMap((letters) => Object.entries(letters))
  .flatMap(([typed, signs]) => [...signs].map((sign): [string, string] => [sign, typed])));
/** V8 looks for more than sixteen ranges of characters six times as long, so that there are two lists. */
const [LATIN_SIGNS, OTHER_SIGNS] = [signsOf(LATIN), signsOf(OTHERS)];

function signsOf(letters: Record<string, string>): RegExp {
  return new RegExp(`[${Object.values(letters).join('')}]`, 'g');
}

/** Signs that searches ignore: marks of Arabic, Hebrew and Hindi, which few people type, and modifiers of emoji. */
const OPTIONAL_MARKS = new RegExp(
  '[\\u0640\\u0610-\\u061a\\u064b-\\u065f\\u0670\\u06d6-\\u06dc\\u06df-\\u06e4\\u06e7\\u06e8\\u06ea-\\u06ed' +
  '\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7\\u093c]|\\p{Emoji_Modifier}', 'gu',
);

/**
 * Signs that nobody sees and that belong to the word around them, such as a soft hyphen (U+00AD) and U+200B. A
 * zero-width non-joiner (U+200C) before an Arabic letter is a part of the spelling, and separates words like a space.
 */
export const INVISIBLE = String.raw`(?:[\p{Default_Ignorable_Code_Point}--\u200c]|\u200c(?!\p{Script=Arabic}))`;
const INVISIBLE_SIGNS = new RegExp(INVISIBLE, 'gv');

export const IS_ASCII = /^[\0-\x7f]*$/;

/** Scripts without spaces between words, Korean, whose words take endings, and the long vowel mark ー of no script. */
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
export function makingTerms(text: string): Resumable<string> {
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
 * Compatible forms of a letter become one form, and Greek loses its accents (SQLite removes only Latin ones). An emoji
 * becomes a word. Scripts without spaces are split into overlapping pairs (bigrams) plus the last character, so that
 * any part of a run can be found.
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
  // The index has a text without spaces as pairs of characters, and its last character alone. A search asks only for
  // the pairs, because a post may have the text within a longer one.
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
  const parted = text.replace(SPACELESS_RUNS, (run) => ` ${pairsOf([...run]).join(' ')} `);
  if (!MAY_BE_EMOJI.test(parted)) return parted;
  return parted.replace(EMOJI, (emoji) => ` ${EMOJI_MARK}${[...emoji].map(numberOf).join('')} `);
}

function numberOf(sign: string): string {
  return sign.codePointAt(0)?.toString(36) ?? '';
}

function pairsOf(signs: string[]): string[] {
  return signs.map((sign, index) => sign + (signs[index + 1] ?? ''));
}

/** Brings each letter of a text to one form, in lower case; keeps Latin accents, which SQLite's index ignores. */
export function folded(text: string): string {
  if (IS_ASCII.test(text)) return text.replaceAll('\0', ' ').toLowerCase();
  const typed = (letter: string): string => TYPED_AS.get(letter) ?? letter;
  return text.replace(/[\0\ue000-\ue002]/g, ' ').normalize('NFKC').toLowerCase()
    .replace(/[\u0370-\u03ff\u1f00-\u1fff]+/g, (greek) => greek.normalize('NFKD').replace(/[\u0300-\u036f]/g, ''))
    .replace(LATIN_SIGNS, typed).replace(OTHER_SIGNS, typed)
    .replace(OPTIONAL_MARKS, '').replace(INVISIBLE_SIGNS, '');
}

/** The mark around the owner's id in each search term of a private post; `folded` removes it from any text. */
const OWNER_MARK = '\ue000';
const WORDS = /[\p{L}\p{N}\p{Co}\p{Mn}\p{Mc}]+/gu;

/** Returns a private post's search terms, each with its owner's id, so that only the owner's search matches. */
export function ownersTerms(terms: string, ownerId: number): string {
  return terms.replace(WORDS, `${OWNER_MARK}${ownerId.toString(36)}${OWNER_MARK}$&`);
}

/** An index takes about this many bytes for each different word of a text, and for each place of a word in the text. */
const [WORD_BYTES, PLACE_BYTES] = [16, 3];

/** The bytes that a text takes in a search index, estimated by its words: 0.7 to 1.5 times the bytes on the disk. */
export function indexBytesOf(terms: string): number {
  const words = terms.match(WORDS) ?? [];
  return new Set(words).size * WORD_BYTES + words.length * PLACE_BYTES;
}
