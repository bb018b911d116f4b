import { html, type Html } from '../../platform/http/html.ts';
import { EMOJI, folded, IS_ASCII, readPhrases, SPACELESS } from './search-words.ts';

type Span = { from: number; until: number };

/** A word of a text, or one of its signs without spaces: folded, and where it stands. */
type Unit = Span & { term: string };

/** Units that stand one after another; the last one may be the beginning of a word. */
type Wanted = { terms: string[]; mayGoOn: boolean };

/** What a search looks for. `inPlain` finds the same in texts that are `IS_PLAIN`. */
export type Found = { wanted: Wanted[]; inPlain: RegExp };

/** Nobody types so much to find it. It bounds how often a sign of a text is compared. */
const LONGEST = 40;

/** How a text is parted: emoji, Korean signs in parts, signs without spaces with what changes them, words. */
const UNITS = new RegExp([
  `(?:${EMOJI.source})[\\ufe0f\\p{Emoji_Modifier}]*`,
  '[\\u1100-\\u115f][\\u1160-\\u11a7]?[\\u11a8-\\u11ff]*', `[${SPACELESS}ｰ][\\u3099\\u309a\\uff9e\\uff9f]*`,
  `[[\\p{L}\\p{N}\\p{Co}\\p{Mn}\\p{Mc}]--[${SPACELESS}]]+`,
].join('|'), 'gv');
/** ASCII with typographic dashes, quotes and dots, as most texts are: one expression is four times as fast as units. */
const IS_PLAIN = /^[\0-\x7f\u2010-\u2027]*$/;
const IS_PLAIN_WORD = /^[a-z0-9]+$/;
const SPACELESS_SIGN = new RegExp(`^[${SPACELESS}]`, 'u');
const LATIN_ACCENTS = /[\u0300-\u036f]/g;

/** What somebody typed, so that it can be found in texts. Words that must not occur are not looked for. */
export function readFound(typed: string): Found {
  const wanted = readPhrases(typed).filter(({ isExcluded }) => !isExcluded).flatMap(({ text, mayGoOn }) => {
    const terms = unitsOf(text).slice(0, LONGEST).map(({ term }) => term);
    return terms.length > 0 ? [{ terms, mayGoOn }] : [];
  });
  const inPlain = wanted.filter(({ terms }) => terms.every((term) => IS_PLAIN_WORD.test(term)))
    .map(({ terms, mayGoOn }) => terms.join('[^a-z0-9]+') + (mayGoOn ? '[a-z0-9]*' : ''));
  return { wanted, inPlain: new RegExp(`(?<![a-z0-9])(${inPlain.join('|') || '(?!)'})(?![a-z0-9])`, 'i') };
}

/** The text, escaped, with what was found in it marked. */
export function markFound(text: string, found: Found): Html {
  const parts: Html[] = [];
  let at = 0;
  for (const { from, until } of spansOf(text, found)) {
    parts.push(html`${text.slice(at, from)}<mark>${text.slice(from, until)}</mark>`);
    at = until;
  }
  return html`${parts}${text.slice(at)}`;
}

/** Characters of a long text that are looked through at once, and that follow so that no phrase is missed. */
const PIECE = 2_000;
const OVERLAP = 200;

/** Where the first of what was found begins; -1 where there is nothing of it. */
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

/** Part of a text around a place in it, at most `length` characters: from a little before it, between words. */
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
  if (IS_PLAIN.test(text)) return spansOfWords(text.split(found.inPlain));
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

/** Where the words stand at which a text was split: every second part of it. */
function spansOfWords(parts: string[]): Span[] {
  const spans: Span[] = [];
  let at = 0;
  for (const [index, { length }] of parts.entries()) {
    if (index % 2 === 1) spans.push({ from: at, until: at + length });
    at += length;
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
    // A compatible form may stand for several signs.
    const isRun = SPACELESS_SIGN.test(term) && term.length > 1;
    return isRun ? [...term].map((sign) => ({ term: sign, ...place })) : [{ term, ...place }];
  });
}

/** In lower case and without accents, for comparison; as SQLite does it, but for accents that are not Latin. */
function comparable(text: string): string {
  if (IS_ASCII.test(text)) return text.toLowerCase();
  return folded(text).toLowerCase().normalize('NFD').replace(LATIN_ACCENTS, '').replaceAll('ς', 'σ').normalize();
}
