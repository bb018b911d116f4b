import { invalid } from '../../platform/http/http-error.ts';
import { folded } from './search-words.ts';

/** What an expression's word may look in. `text`: a post's title, author and content; `in`: its source's folder. */
type Field = 'text' | 'title' | 'author' | 'source' | 'in';

export type State = 'unread' | 'starred' | 'muted';
const STATES: readonly State[] = ['unread', 'starred', 'muted'];

/** A word, or several that must stand together. `mayGoOn`: the last word may begin a longer word of a post. */
export type Phrase = { field: Field; text: string; mayGoOn: boolean };

/** Phrases that `OR` joins: a post fits if it has one of the phrases or, if `isExcluded`, none of them. */
export type Clause = { isExcluded: boolean; phrases: Phrase[] };

/** A fault at the UTF-16 index `at` of an expression. `isHarmless`: a search is carried out in spite of the fault. */
type Fault = { at: number; problem: string; isHarmless: boolean };

/**
 * A parsed expression: a post fits if it fits all clauses, was published at `from` or later and before `until` (unix
 * ms), and has all `states`. `states` maps each wanted state of a post to its index in the typed text.
 */
export type Expression = {
  clauses: Clause[]; from: number; until: number; states: Map<State, number>; faults: Fault[];
};

const WORDS_MAX = 20;

export const EXPRESSION_MAX = 500; // characters

/**
 * A prefix search needs three letters or digits, because two Latin letters take 40 ms among 100,000 short posts; one
 * letter of another script is enough.
 */
const MAY_GO_ON = /[\p{L}\p{N}]{3}$|[^\p{Script=Latin}\p{N}\P{L}]$/u;
const SOMETHING = /[\p{L}\p{N}\p{Extended_Pictographic}\p{RI}]/u;

const PARTS = /(-?)(?:(title|author|source|in|before|after|is):(?=\S))?(?:"([^"]*)("?)|([^\s"]+))/gi;
const NAME_ALONE = /^(?:title|author|source|in|before|after|is):$/i;
/** A part that begins like the name of a field, such as `titel:owl`, but not like `https://` or `std::vector`. */
const LIKE_A_NAME = /^-?([a-z]{2,}):(?=[^\s:/])/i;
const DAY = /^\d{4}-\d\d-\d\d$/;

type Part = { at: number; isExcluded: boolean; name: string; value: string; isOr: boolean };

/** Parses what has a meaning, up to EXPRESSION_MAX. `isSearch`: the last word may be the beginning of a longer word. */
export function parseExpression(typed: string, { isSearch }: { isSearch: boolean }): Expression {
  const plain = plainSigns(typed.slice(0, EXPRESSION_MAX));
  const parsed: Expression = { clauses: [], from: -Infinity, until: Infinity, states: new Map(), faults: [] };
  const parts = usefulParts(plain, parsed.faults);
  let before: Clause | null = null;
  let isJoined = false;
  for (const [index, part] of parts.entries()) {
    const joins: boolean = part.isOr && !isJoined && index > 0 && index < parts.length - 1;
    if (part.isOr && !joins) harmless(parsed.faults, part.at, 'OR needs a word before it and a word after it.');
    if (!joins) before = addPart(parsed, part, isJoined ? { before } : null);
    isJoined = joins;
  }
  const last = parts.at(-1);
  const phrase = before?.phrases.at(-1);
  if (isSearch && last && phrase && !last.isExcluded && MAY_GO_ON.test(folded(plain))) phrase.mayGoOn = true;
  return parsed;
}

/** Makes quotation marks and full-width signs plain, one character for one character, so that places stay right. */
function plainSigns(typed: string): string {
  return typed.replace(/[“”„‟«»＂]/g, '"').replaceAll('－', '-').replaceAll('：', ':').replaceAll('＊', '*');
}

function usefulParts(plain: string, faults: Fault[]): Part[] {
  const parts: Part[] = [];
  let words = 0;
  for (const { index: at, 0: whole, 1: minus, 2: name = '', 3: quoted, 4: end, 5: bare } of plain.matchAll(PARTS)) {
    const value = quoted ?? bare ?? '';
    const isOr = whole === 'OR';
    if (quoted !== undefined && end === '') harmless(faults, at, 'This quotation has no closing mark.');
    if (NAME_ALONE.test(value)) harmless(faults, at, `Write a word directly after “${value}”.`);
    const [, unknown] = name === '' && LIKE_A_NAME.exec(plain.slice(at)) || [];
    if (unknown !== undefined) harmless(faults, at, noSuchName(unknown));
    if (!SOMETHING.test(folded(value))) continue;
    if (!isOr) words += value.trim().split(/\s+/).length;
    if (words > WORDS_MAX) {
      harmless(faults, at, `An expression may have at most ${WORDS_MAX} words.`);
      break;
    }
    parts.push({ at, isExcluded: minus !== '', name: name.toLowerCase(), value, isOr });
  }
  return parts;
}

function noSuchName(name: string): string {
  return `There is no “${name}:”. There are “title:”, “author:”, “source:”, “in:”, “before:”, “after:” and “is:”. ` +
    'Put words with a colon in quotation marks.';
}

function addPart(parsed: Expression, part: Part, joined: { before: Clause | null } | null): Clause | null {
  const isFilter = part.name === 'before' || part.name === 'after' || part.name === 'is';
  if (isFilter && !joined) addFilter(parsed, part);
  if (isFilter && joined) serious(parsed.faults, part.at, `OR cannot join “${part.name}:”.`);
  if (isFilter) return null;
  const phrase = phraseOf(part, parsed.faults);
  const { isExcluded } = part;
  if (!joined) {
    const clause = { isExcluded, phrases: [phrase] };
    parsed.clauses.push(clause);
    return clause;
  }
  const problem = whyNotJoined(joined.before, phrase, isExcluded);
  if (problem !== undefined) serious(parsed.faults, part.at, problem);
  else joined.before?.phrases.push(phrase);
  return joined.before;
}

/** Whether a phrase is about the name of an author, a source or a folder, not about the words of a post. */
export function isNamed({ field }: Phrase): boolean {
  return field !== 'text' && field !== 'title';
}

function whyNotJoined(before: Clause | null, phrase: Phrase, isExcluded: boolean): string | undefined {
  const [first] = before?.phrases ?? [];
  if (!before || !first) return 'OR cannot join “before:”, “after:” and “is:”.';
  if (isExcluded || before.isExcluded) return 'OR cannot join words with a minus sign.';
  if (isNamed(first) === isNamed(phrase)) return undefined;
  return 'OR cannot join words of the text with “author:”, “source:” or “in:”.';
}

function phraseOf({ at, name, value }: Part, faults: Fault[]): Phrase {
  const field = (name || 'text') as Field;
  const text = folded(value);
  if (field === 'in') return { field, text, mayGoOn: false };
  const [words = '', star] = text.split(/(\*)$/, 2);
  const mayGoOn = star !== undefined && MAY_GO_ON.test(words);
  if (star !== undefined && !mayGoOn) harmless(faults, at, 'A star needs at least three letters before it.');
  return { field, text: words, mayGoOn };
}

const AFTER_IS = 'A search may have “unread”, “starred” or “muted” after “is:”. A rule cannot use “is:”.';

function addFilter(parsed: Expression, { at, name, value, isExcluded }: Part): void {
  const { faults, states } = parsed;
  if (name === 'is') {
    const state = STATES.find((one) => one === value.toLowerCase());
    if (isExcluded) serious(faults, at, '“is:” cannot have a minus sign.');
    else if (state === undefined) serious(faults, at, AFTER_IS);
    else states.set(state, at);
    return;
  }
  const day = dayOf(value);
  if (Number.isNaN(day)) serious(faults, at, `Write a day such as 2026-01-31 after “${name}:”.`);
  else if ((name === 'before') === isExcluded) parsed.from = Math.max(parsed.from, day);
  else parsed.until = Math.min(parsed.until, day);
}

/** The beginning of a day in UTC, as unix ms; NaN for a day that is not in the calendar. */
function dayOf(value: string): number {
  const day = DAY.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(day) || !new Date(day).toISOString().startsWith(value) ? NaN : day;
}

function harmless(faults: Fault[], at: number, problem: string): void {
  faults.push({ at, problem, isHarmless: true });
}

function serious(faults: Fault[], at: number, problem: string): void {
  faults.push({ at, problem, isHarmless: false });
}

/** Whether an expression has nothing to look for: no part at all, or only words and names with a minus sign. */
export function isEmptyExpression({ clauses, from, until, states }: Expression): boolean {
  return clauses.every(({ isExcluded }) => isExcluded) && from === -Infinity && until === Infinity && states.size === 0;
}

/** `at`: the number of Unicode characters before the fault. */
export type FaultPlace = { at: number; detail: string };

/** The first fault of a typed search that keeps the hub from searching. `hasStates`: `is:unread` etc. are allowed. */
export function faultOfSearch(typed: string, { hasStates }: { hasStates: boolean }): FaultPlace | undefined {
  const { faults, states } = parseExpression(typed, { isSearch: true });
  for (const at of hasStates ? [] : states.values()) serious(faults, at, '“is:” works only in your reading lists.');
  return firstFault(typed, faults.filter(({ isHarmless }) => !isHarmless));
}

/** The first fault of a typed search, also a fault that the search ignores. */
export function hintOfSearch(typed: string): FaultPlace | undefined {
  return firstFault(typed, parseExpression(typed, { isSearch: true }).faults);
}

/** The first fault of a typed expression; `at` counts Unicode characters, not UTF-16 units. */
function firstFault(typed: string, faults: Fault[]): FaultPlace | undefined {
  const [first] = faults.toSorted((a, b) => a.at - b.at);
  if (!first) return undefined;
  const at = [...typed.slice(0, first.at)].length;
  return { at, detail: `Character ${at + 1}: ${first.problem}` };
}

/** Parses an expression to be stored; throws 422 about the first fault. `isRule`: the expression may not use `is:`. */
export function requireExpression(typed: string, name: string, { isRule }: { isRule: boolean }): Expression {
  const parsed = parseExpression(typed, { isSearch: false });
  const { faults, states } = parsed;
  if (typed.length > EXPRESSION_MAX) {
    serious(faults, EXPRESSION_MAX, `An expression may have at most ${EXPRESSION_MAX} characters.`);
  }
  for (const at of isRule ? states.values() : []) serious(faults, at, 'Rules cannot use “is:”, only searches can.');
  if (faults.length === 0 && isEmptyExpression(parsed)) {
    serious(faults, 0, 'Write at least one word to look for, without a minus sign.');
  }
  const fault = firstFault(typed, faults);
  if (fault) throw invalid([{ pointer: `/${name}`, ...fault }]);
  return parsed;
}
