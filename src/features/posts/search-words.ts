import type { Reading } from '../../platform/markup/in-steps.ts';

/** Before and behind the reader's number in each term of a private post. For private use: no text may hold it. */
const MARK = '\ue000';

const WORDS = /[\p{L}\p{N}\p{Co}\p{Mn}\p{Mc}]+/gu;

/** Signs that stand without spaces between words; the long vowel mark belongs to no script. */
const SPACELESS = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((script) => `\\p{Script=${script}}`).join('') + 'ー';
const SPACELESS_RUNS = new RegExp(`[${SPACELESS}]+`, 'gu');
const SPACELESS_SIGN = new RegExp(`[${SPACELESS}]`, 'u');

/** One Latin letter begins too many words: looking them all up may take a second with 100,000 posts. */
const MAY_GO_ON = /[\p{L}\p{N}]{2}$|[^\p{Script=Latin}\p{N}\P{L}]$/u;

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
 * ones), and of signs without spaces there are all pairs and the last one, so that any part of a run can be found.
 */
export function searchTerms(text: string): string {
  return inPairs(folded(text));
}

/** The same terms for a private post of this owner: nobody else's search meets them. */
export function ownersTerms(terms: string, ownerId: number): string {
  return terms.replace(WORDS, `${MARK}${ownerId.toString(36)}${MARK}$&`);
}

/**
 * What a person typed, as an FTS5 expression about public posts, or about the private ones of `ownerId`: every word
 * must occur, "quoted words" stand together, and the last one may be the beginning of a word. Undefined when there is
 * nothing to search for. Operators of FTS5 have no meaning.
 */
export function searchWords(typed: string, ownerId?: number): string | undefined {
  const all = folded(typed.slice(0, 500));
  const phrases = [...all.matchAll(/"([^"]*)"|[^\s"]+/g)].map(([whole, quoted]) => quoted ?? whole);
  const useful = phrases.filter((phrase) => /[\p{L}\p{N}]/u.test(phrase)).slice(0, 20);
  if (useful.length === 0) return undefined;
  return useful.map((phrase, index) => {
    const { before, run } = partsOf(phrase);
    // The last sign stands alone only at the end of a run, and here the run may go on.
    const signs = pairsOf(run).slice(0, Math.max(1, run.length - 1));
    const terms = [inPairs(before), ...signs].join(' ').trim();
    const mayGoOn = run.length === 0 ? index === useful.length - 1 && MAY_GO_ON.test(all) : run.length === 1;
    return `"${ownerId === undefined ? terms : ownersTerms(terms, ownerId)}"${mayGoOn ? '*' : ''}`;
  }).join(' ');
}

/** A phrase, and the signs without spaces in which it ends. */
function partsOf(phrase: string): { before: string; run: string[] } {
  const signs = [...phrase.trim()];
  const last = signs.findLastIndex((sign) => !SPACELESS_SIGN.test(sign));
  return { before: signs.slice(0, last + 1).join(''), run: signs.slice(last + 1) };
}

function inPairs(text: string): string {
  return text.replace(SPACELESS_RUNS, (run) => ` ${pairsOf([...run]).join(' ')} `);
}

/** Each sign with the next one; the last one alone. */
function pairsOf(signs: string[]): string[] {
  return signs.map((sign, index) => sign + (signs[index + 1] ?? ''));
}

function folded(text: string): string {
  const unmarked = text.replace(/[\0\ue000]/g, ' ').normalize('NFKC');
  return unmarked.replace(/\p{Script=Greek}+/gu, (greek) => greek.normalize('NFKD').replace(/[\u0300-\u036f]/g, ''));
}
