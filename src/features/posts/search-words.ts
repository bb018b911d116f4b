import type { Reading } from '../../platform/markup/in-steps.ts';
import { ownersTerms } from './owners-terms.ts';

/** Before an emoji's number: SQLite takes no sign for a word, and knows none that is younger than itself. */
const EMOJI_MARK = '\ue001';
export const EMOJI = /\p{RI}{1,2}|\p{Extended_Pictographic}/gu;

/** Vowel signs of Arabic and Hebrew, which most people leave out, and what only changes how an emoji looks. */
const OPTIONAL_MARKS =
  /[\u0640\u064b-\u065f\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\ufe0e\ufe0f]|\p{Emoji_Modifier}/gu;

export const IS_ASCII = /^[\0-\x7f]*$/;

/** Signs that stand without spaces between words; the long vowel mark belongs to no script. */
export const SPACELESS = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((script) => `\\p{Script=${script}}`).join('') + 'ー';
const SPACELESS_RUNS = new RegExp(`[${SPACELESS}]+`, 'gu');
const SPACELESS_SIGN = new RegExp(`[${SPACELESS}]`, 'u');
const SOMETHING = /[\p{L}\p{N}\p{Extended_Pictographic}\p{RI}]/u;

/** Two Latin letters begin too many words: looking them all up takes 40 ms with 100,000 short posts, one far more. */
const MAY_GO_ON = /[\p{L}\p{N}]{3}$|[^\p{Script=Latin}\p{N}\P{L}]$/u;

/** Of one post, in characters as they are indexed: what SQLite needs about 20 ms for while everybody's writes wait. */
const MAX_TERMS = 200_000;

/** Where a long text is parted, so that no word and no run of signs is cut; what has none for so long is no text. */
const BETWEEN_WORDS = /[\s\p{P}]/u;
const LONGEST_RUN = 1_000;

/** A long text, indexed in steps up to `MAX_TERMS`: one sign may become eighteen letters. */
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
 * A text as it is indexed: compatible forms of a letter are one, Greek loses its accents (SQLite removes only Latin
 * ones), an emoji is a word, and of signs without spaces there are all pairs and the last one, so that any part of a
 * run can be found.
 */
export function searchTerms(text: string): string {
  return inTerms(folded(text));
}

/**
 * What a person typed, as an FTS5 expression about public posts, or about the private ones of `ownerId`. Undefined when
 * there is nothing to search for. Operators of FTS5 have no meaning.
 */
export function searchWords(typed: string, ownerId?: number): string | undefined {
  const phrases = readPhrases(typed);
  const expressionOf = (phrase: Phrase): string => expression(phrase, ownerId);
  const wanted = phrases.filter(({ isExcluded }) => !isExcluded).map(expressionOf).join(' ');
  const excluded = phrases.filter(({ isExcluded }) => isExcluded).map(expressionOf).join(' OR ');
  if (wanted === '') return undefined;
  return excluded === '' ? wanted : `(${wanted}) NOT (${excluded})`;
}

/** Words that stand together. `mayGoOn`: they may be the beginning of more. */
type Phrase = { text: string; isExcluded: boolean; mayGoOn: boolean };

/**
 * The syntax of search: every word must occur, "quoted words" stand together, -words must not occur, and a word with a
 * star may be the beginning of one, as the last one always may.
 */
export function readPhrases(typed: string): Phrase[] {
  const all = folded(typed.slice(0, 500).replace(/[“”„‟«»]/g, '"'));
  const parts = [...all.matchAll(/(-?)(?:"([^"]*)"|([^\s"]+))/g)].map(([, minus = '', quoted, word]) => {
    const [text = '', star] = (quoted ?? word ?? '').split(/(\*)$/, 2);
    return { text, isExcluded: minus !== '', mayGoOn: star !== undefined && MAY_GO_ON.test(text) };
  });
  const useful = parts.filter(({ text }) => SOMETHING.test(text)).slice(0, 20);
  const last = useful.at(-1);
  if (last && !last.isExcluded && MAY_GO_ON.test(all)) last.mayGoOn = true;
  return useful;
}

function expression({ text, mayGoOn }: Phrase, ownerId?: number): string {
  const { before, run } = partsOf(text);
  // The last sign stands alone only at the end of a run, and here the run may go on.
  const signs = pairsOf(run).slice(0, Math.max(1, run.length - 1));
  const terms = [inTerms(before), ...signs].join(' ').trim();
  const isBeginning = run.length === 0 ? mayGoOn : run.length === 1;
  return `"${ownerId === undefined ? terms : ownersTerms(terms, ownerId)}"${isBeginning ? '*' : ''}`;
}

/** A phrase, and the signs without spaces in which it ends. */
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

/** Each sign with the next one; the last one alone. */
function pairsOf(signs: string[]): string[] {
  return signs.map((sign, index) => sign + (signs[index + 1] ?? ''));
}

/** The text with one form of each letter. What SQLite does not tell apart, such as é and E, stays as it is. */
export function folded(text: string): string {
  if (IS_ASCII.test(text)) return text.replaceAll('\0', ' ');
  return text.replace(/[\0\ue000\ue001]/g, ' ').normalize('NFKC')
    .replace(/[ßẞ]/g, 'ss')
    .replace(/\p{Script=Greek}+/gu, (greek) => greek.normalize('NFKD').replace(/[\u0300-\u036f]/g, ''))
    .replace(OPTIONAL_MARKS, '');
}
