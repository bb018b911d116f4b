import { referredText } from './entities.ts';
import { matchAt } from './markdown-line.ts';

/** The address, percent-encoded, and the title of a link or image. */
export type LinkTarget = { destination: string; title: string };

/** The targets of the link reference definitions of a text, by their normalised labels. */
export type LinkReferences = Map<string, LinkTarget>;

type Part = { value: string; end: number };

const MAX_LABEL_LENGTH = 999;
const MAX_PARENTHESES = 32;

const LABEL_SIGNS = /\\[!-/:-@[-`{-~]|[[\]]/g;
const BRACED_SIGNS = /\\[!-/:-@[-`{-~]|[<>\n]/g;
const BARE_SIGNS = /\\[!-/:-@[-`{-~]|[()\0- \x7f]/g;
const TITLE_SIGNS: Record<string, RegExp> = {
  '"': /\\[!-/:-@[-`{-~]|"/g,
  "'": /\\[!-/:-@[-`{-~]|'/g,
  '(': /\\[!-/:-@[-`{-~]|[()]/g,
};

const SPACE = /[ \t]*(?:\n[ \t]*)?/y;
const LINE_END = /[ \t]*(?:\n|$)/y;
const ESCAPE_OR_REFERENCE = /\\([!-/:-@[-`{-~])|&(?:#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z][a-z0-9]{1,31});/gi;
const TO_BE_ENCODED = /%(?![0-9a-f]{2})|[^\w;/?:@&=+$,.!~*'()#%-]+/gi;

/** Replaces backslash escapes and character references. */
export function unescapeMarkdown(text: string): string {
  return text.replace(ESCAPE_OR_REFERENCE, (written: string, sign: string | undefined) =>
    sign ?? referredText(written) ?? written);
}

/** Percent-encodes the characters that may not stand in a URL; `%20` stays. */
export function encodeAddress(address: string): string {
  return address.replace(TO_BE_ENCODED, encodeURIComponent);
}

/** The label that begins with the bracket at `at`, without its brackets; undefined if no label begins there. */
export function readLabel(text: string, at: number): Part | undefined {
  if (text[at] !== '[') return undefined;
  const close = findUnescaped(text, at + 1, LABEL_SIGNS);
  if (text[close] !== ']' || close - at - 1 > MAX_LABEL_LENGTH) return undefined;
  return { value: text.slice(at + 1, close), end: close + 1 };
}

/** The label as a key of `LinkReferences`; empty for a label that names nothing. */
export function normaliseLabel(label: string): string {
  if (label.length > MAX_LABEL_LENGTH) return '';
  // `toLowerCase` before `toUpperCase` makes ẞ, ß and SS equal.
  return label.replace(/[ \t\n]+/g, ' ').replace(/^ | $/g, '').toLowerCase().toUpperCase();
}

/** The link target (address and title) in the parentheses from index `at` on; undefined if they hold no target. */
export function readTarget(text: string, at: number): LinkTarget & { end: number } | undefined {
  if (text[at] !== '(') return undefined;
  const destination = readDestination(text, skipSpace(text, at + 1));
  if (destination === undefined) return undefined;
  const title = readTitle(text, destination.end);
  const end = skipSpace(text, title?.end ?? destination.end);
  return text[end] === ')' ? { ...targetOf(destination, title), end: end + 1 } : undefined;
}

/** Adds the link reference definition at `at` if it is its label's first; returns its end, or `at` if none is there. */
export function readDefinition(text: string, at: number, references: LinkReferences): number {
  const label = readLabel(text, at);
  const key = normaliseLabel(label?.value ?? '');
  if (label === undefined || key === '' || text[label.end] !== ':') return at;
  const start = skipSpace(text, label.end + 1);
  const destination = readDestination(text, start);
  if (destination === undefined || destination.end === start) return at;
  const title = readTitle(text, destination.end);
  const titleEnd = title && endOfLine(text, title.end);
  const end = titleEnd ?? endOfLine(text, destination.end);
  if (end === undefined) return at;
  if (!references.has(key)) references.set(key, targetOf(destination, titleEnd === undefined ? undefined : title));
  return end;
}

function targetOf(destination: Part, title: Part | undefined): LinkTarget {
  return {
    destination: encodeAddress(unescapeMarkdown(destination.value)),
    title: title === undefined ? '' : unescapeMarkdown(title.value),
  };
}

function readDestination(text: string, at: number): Part | undefined {
  if (text[at] === '<') {
    const close = findUnescaped(text, at + 1, BRACED_SIGNS);
    return text[close] === '>' ? { value: text.slice(at + 1, close), end: close + 1 } : undefined;
  }
  const end = endOfBareDestination(text, at);
  return end === undefined ? undefined : { value: text.slice(at, end), end };
}

/** The end of a link's address without `<` and `>`: its parentheses are escaped or in pairs. */
function endOfBareDestination(text: string, at: number): number | undefined {
  let open = 0;
  for (let end = at; ; end++) {
    end = findUnescaped(text, end, BARE_SIGNS);
    if (text[end] === '(') open += 1;
    else if (text[end] === ')' && open > 0) open -= 1;
    else return open === 0 ? end : undefined;
    if (open > MAX_PARENTHESES) return undefined;
  }
}

function readTitle(text: string, at: number): Part | undefined {
  const start = skipSpace(text, at);
  const quote = text.charAt(start);
  const pattern = TITLE_SIGNS[quote];
  if (pattern === undefined || start === at) return undefined;
  const close = findUnescaped(text, start + 1, pattern);
  if (text[close] !== (quote === '(' ? ')' : quote)) return undefined;
  return { value: text.slice(start + 1, close), end: close + 1 };
}

/** Where one character first matches from `from` on, past backslash escapes (two); the text's length if nowhere. */
function findUnescaped(text: string, from: number, pattern: RegExp): number {
  pattern.lastIndex = from;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    if (found[0].length === 1) return found.index;
  }
  return text.length;
}

function skipSpace(text: string, at: number): number {
  return at + (matchAt(SPACE, text, at)?.[0].length ?? 0);
}

function endOfLine(text: string, at: number): number | undefined {
  const end = matchAt(LINE_END, text, at);
  return end === null ? undefined : at + end[0].length;
}
