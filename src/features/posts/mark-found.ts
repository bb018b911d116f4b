import { html, type Html } from '../../platform/http/html.ts';
import { atOnce } from '../../platform/markup/in-steps.ts';
import { extractingText } from '../../platform/markup/plain-text.ts';
import type { StoreHub } from '../hub/hub.ts';
import { isNamed, parseExpression } from './expression.ts';
import { posts, type Post } from './post-store.ts';
import { EMOJI, folded, INVISIBLE, IS_ASCII, SPACELESS } from './search-words.ts';

type Span = { from: number; until: number };

/** A word or emoji of a text, or a single character of a script without spaces: folded, with its place in the text. */
type Unit = Span & { term: string };

/** A searched phrase: consecutive words (UNITS). `mayGoOn`: words that begin with the phrase's last word match too. */
type Wanted = { terms: string[]; mayGoOn: boolean };

export type Found = { wanted: Wanted[] };

/** Maximum number of words of a searched phrase, which limits how often each character of a text is compared. */
const LONGEST = 40;

/** Not the letters that are typed as apostrophes (`folded`), which part words. */
const LETTER = `[[\\p{L}\\p{N}\\p{Co}\\p{Mn}\\p{Mc}]--[${SPACELESS}\\u02bb-\\u02bd]]`;

/** A text's units: emoji, decomposed Korean syllables, characters of scripts without spaces, and words. */
const UNITS = new RegExp([
  `(?:${EMOJI.source})[\\ufe0f\\p{Emoji_Modifier}]*`,
  '[\\u1100-\\u115f][\\u1160-\\u11a7]?[\\u11a8-\\u11ff]*', `[${SPACELESS}ｰ][\\u3099\\u309a\\uff9e\\uff9f]*`,
  `${LETTER}(?:${LETTER}|${INVISIBLE})*`,
].join('|'), 'gv');
const SPACELESS_SIGN = new RegExp(`^[${SPACELESS}]`, 'u');
const LATIN_ACCENTS = /[\u0300-\u036f]/g;

/** Parses a typed search, to mark its words in texts; leaves out names, and words with a minus sign. */
export function readFound(typed: string): Found {
  const { clauses } = parseExpression(typed, { isSearch: true });
  const phrases = clauses.filter(({ isExcluded }) => !isExcluded).flatMap((clause) => clause.phrases);
  const wanted = phrases.filter((phrase) => !isNamed(phrase)).flatMap(({ text, mayGoOn }) => {
    const terms = unitsOf(text).slice(0, LONGEST).map(({ term }) => term);
    return terms.length > 0 ? [{ terms, mayGoOn }] : [];
  });
  return { wanted };
}

/** Returns a text as escaped HTML, with `<mark>` around each match of the phrases. */
export function markFound(text: string, found: Found): Html {
  const parts: Html[] = [];
  let at = 0;
  for (const { from, until } of spansOf(text, found)) {
    parts.push(html`${text.slice(at, from)}<mark>${text.slice(from, until)}</mark>`);
    at = until;
  }
  return html`${parts}${text.slice(at)}`;
}

/** How often a text has the searched phrases. */
export function countFoundIn(text: string, found: Found): number {
  return spansOf(text, found).length;
}

/** Characters of each piece of a searched text; a phrase across two pieces is found if the overlap has its end. */
const PIECE = 2_000;
const OVERLAP = 200;

/** Returns the index of the first match of the phrases in a text; -1 without a match. */
export function firstFound(text: string, found: Found): number {
  for (let at = 0; at < text.length; at += PIECE) {
    const piece = text.slice(at, at + PIECE + OVERLAP);
    const compared = comparable(piece);
    if (!found.wanted.some(({ terms }) => compared.includes(terms[0] ?? ''))) continue;
    const [first] = spansOf(piece, found);
    if (first) return at + first.from;
  }
  return -1;
}

/** At most `length` characters of a text around the index `place`, if possible from a word's beginning, and `…`. */
export function excerptAround(text: string, place: number, length: number): string {
  const before = Math.floor(length / 4);
  if (text.length <= length) return text;
  if (place < before) return `${text.slice(0, length)}…`;
  const start = place - before;
  const space = text.slice(start, place).search(/\s/);
  const from = space < 0 ? start + (/^[\udc00-\udfff]/.test(text.slice(start)) ? 1 : 0) : start + space + 1;
  return `…${text.slice(from, from + length)}${from + length < text.length ? '…' : ''}`;
}

function spansOf(text: string, found: Found): Span[] {
  if (found.wanted.length === 0) return [];
  const units = unitsOf(text);
  const spans: Span[] = [];
  for (let at = 0; at < units.length; at++) {
    const wanted = found.wanted.find((one) => standsAt(units, at, one));
    const [first, last] = [units[at], units[at + (wanted?.terms.length ?? 0) - 1]];
    if (!wanted || !first || !last) continue;
    const before = spans.at(-1);
    if (before?.until === first.from) before.until = last.until;
    else spans.push({ from: first.from, until: last.until });
    at += wanted.terms.length - 1;
  }
  return spans;
}

function standsAt(units: Unit[], at: number, { terms, mayGoOn }: Wanted): boolean {
  return terms.every((term, index) => {
    const there = units[at + index]?.term;
    const isLast = index === terms.length - 1;
    return there === term || (isLast && mayGoOn && there?.startsWith(term) === true);
  });
}

function unitsOf(text: string): Unit[] {
  return [...text.matchAll(UNITS)].flatMap(({ 0: part, index }): Unit[] => {
    const [term, place] = [comparable(part), { from: index, until: index + part.length }];
    // A Unicode compatibility form, such as ㍿, may stand for several characters.
    const isRun = SPACELESS_SIGN.test(term) && term.length > 1;
    return isRun ? [...term].map((sign) => ({ term: sign, ...place })) : [{ term, ...place }];
  });
}

/** Returns the text in lower case without accents, as SQLite's search compares texts, but in every script. */
function comparable(text: string): string {
  if (IS_ASCII.test(text)) return text.toLowerCase();
  return folded(text).normalize('NFD').replace(LATIN_ACCENTS, '').replaceAll('ς', 'σ').normalize();
}

/** Maximum characters searched in one post's content, and in all contents of a page, in a few milliseconds. */
const POST_MAX = 12_000;
const PAGE_MAX = 120_000;

const SHOWN = 220; // characters of a text that a search result shows: two lines in a wide window

/** Returns by post id a part of the summary, or else of the content's beginning, with a match; else the summary's. */
export function foundTexts(hub: StoreHub, shown: Pick<Post, 'id' | 'summary'>[], found: Found): Map<number, string> {
  let left = PAGE_MAX;
  return new Map(shown.map(({ id, summary }): [number, string] => {
    const inSummary = firstFound(summary, found);
    if (inSummary >= 0 || left <= 0) return [id, excerptAround(summary, Math.max(0, inSummary), SHOWN)];
    const markup = posts(hub).beginningOf(id, POST_MAX);
    left -= markup.length;
    const text = atOnce(extractingText(markup)).replaceAll('\n', ' ');
    const place = firstFound(text, found);
    return [id, place < 0 ? excerptAround(summary, 0, SHOWN) : excerptAround(text, place, SHOWN)];
  }));
}
