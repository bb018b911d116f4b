import { referredText } from './entities.ts';
import { isPauseDue, type Pace } from './in-steps.ts';
import { addDelimiter, pairDelimiters, pairingDelimiters } from './markdown-emphasis.ts';
import type { Delimiter, DelimiterStack, InlinePiece } from './markdown-emphasis.ts';
import { rawHtmlEnd } from './markdown-html.ts';
import { matchAt } from './markdown-line.ts';
import { encodeAddress, normaliseLabel, readLabel, readTarget } from './markdown-links.ts';
import type { LinkReferences, LinkTarget } from './markdown-links.ts';

/** A document's link references, and how many characters of addresses and titles its reference links may still take. */
export type InlineContext = Pace & { references: LinkReferences; budget: number };

type Bracket = {
  isImage: boolean;
  piece: InlinePiece;
  /** `pieces`: how many pieces of HTML end with this `[` or `![`. `end`: the index after this `[` in the Markdown. */
  pieces: number;
  end: number;
  delimiter: Delimiter | undefined;
  /** Whether another `[` follows inside the brackets, whose content is then no label of a link. */
  hasBracket: boolean;
};

type Inlines = DelimiterStack & {
  text: string;
  at: number;
  pieces: InlinePiece[];
  brackets: Bracket[];
  /** How many open `[` stand before the last link: none of them begins a link, because links do not nest. */
  linked: number;
  context: InlineContext;
  /** For each length of a run of backticks, the index of the last such run in the text. */
  backticks: Map<number, number> | undefined;
  /** Ends of raw HTML, such as `-->`, that do not occur in the rest of the text, so that nobody searches them again. */
  missingEnds: Set<string>;
};

/** Writing a piece of HTML counts as much work as reading this number of characters. */
const PIECE_COST = 2;

const ESCAPABLE = /[!-/:-@[-`{-~]/;
const SPECIAL = /[\n\\`*_~[\]!<&]/g;
const REFERENCE = /&(?:#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z][a-z0-9]{1,31});/iy;
const ADDRESS_LINK = /<([a-z][a-z0-9+.-]{1,31}:[^\0- <>\x7f]*)>/iy;
const MAIL_LINK = new RegExp('<([\\w.!#$%&\'*+/=?^`{|}~-]+@'
  + '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*)>', 'iy');

const READERS: Record<string, (inlines: Inlines) => void> = {
  '\n': (inlines) => addBreak(inlines, false),
  '\\': readBackslash,
  '`': readBackticks,
  '*': readDelimiter,
  _: readDelimiter,
  '~': readDelimiter,
  '[': (inlines) => openBracket(inlines, '['),
  ']': closeBracket,
  '!': (inlines) => openBracket(inlines, inlines.text[inlines.at + 1] === '[' ? '![' : '!'),
  '<': readAngle,
  '&': readReference,
};

/** Escapes text for HTML the way CommonMark's examples do: apostrophes stay. */
export function escapeMarkdownText(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => ESCAPES[sign] ?? '');
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function* renderInlines(text: string, context: InlineContext): Generator<void, string> {
  const inlines: Inlines = {
    text, at: 0, pieces: [], brackets: [], linked: 0, context, top: undefined, backticks: undefined,
    missingEnds: new Set(),
  };
  for (let from = 0; inlines.at < text.length; from = inlines.at) {
    readText(inlines);
    READERS[text.charAt(inlines.at)]?.(inlines);
    if (isPauseDue(context, inlines.at - from)) yield;
  }
  yield* pairingDelimiters(inlines, undefined, context);
  let html = '';
  for (const piece of inlines.pieces) {
    html += piece.before + escapeMarkdownText(piece.text) + piece.after;
    if (isPauseDue(context, PIECE_COST)) yield;
  }
  return html;
}

function readText(inlines: Inlines): void {
  const { text, at } = inlines;
  SPECIAL.lastIndex = at;
  const end = SPECIAL.exec(text)?.index ?? text.length;
  inlines.at = end;
  if (text[end] !== '\n') return void addText(inlines, text.slice(at, end));
  let visible = end;
  while (visible > at && text[visible - 1] === ' ') visible -= 1;
  addText(inlines, text.slice(at, visible));
  if (end - visible >= 2) addBreak(inlines, true);
}

function addText(inlines: Inlines, text: string): InlinePiece {
  const piece = { before: '', text, after: '' };
  if (text !== '') inlines.pieces.push(piece);
  return piece;
}

function addMarkup(inlines: Inlines, markup: string): void {
  inlines.pieces.push({ before: markup, text: '', after: '' });
}

function readAsText(inlines: Inlines, length: number): InlinePiece {
  inlines.at += length;
  return addText(inlines, inlines.text.slice(inlines.at - length, inlines.at));
}

function addBreak(inlines: Inlines, isHard: boolean): void {
  inlines.at += 1;
  inlines.pieces.push({ before: isHard ? '<br />' : '', text: '\n', after: '' });
}

function readBackslash(inlines: Inlines): void {
  inlines.at += 1;
  const next = inlines.text.charAt(inlines.at);
  if (next === '\n') addBreak(inlines, true);
  else if (ESCAPABLE.test(next)) readAsText(inlines, 1);
  else addText(inlines, '\\');
}

function readReference(inlines: Inlines): void {
  const written = matchAt(REFERENCE, inlines.text, inlines.at)?.[0];
  const value = written && referredText(written);
  if (written === undefined || value === undefined) return void readAsText(inlines, 1);
  addText(inlines, value);
  inlines.at += written.length;
}

function readDelimiter(inlines: Inlines): void {
  const { text, at } = inlines;
  const sign = text.charAt(at);
  const end = endOfRun(text, at, sign);
  const piece = readAsText(inlines, end - at);
  if (sign === '~') return addDelimiter(inlines, piece, characterBefore(text, at), characterAt(text, end));
  // GitHub looks beyond tildes, so that a**~~b~~**c is emphasis.
  let start = at;
  while (text[start - 1] === '~') start -= 1;
  addDelimiter(inlines, piece, characterBefore(text, start), characterAt(text, endOfRun(text, end, '~')));
}

function characterBefore(text: string, at: number): string {
  return [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? '\n';
}

function characterAt(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at) ?? 10);
}

function endOfRun(text: string, at: number, sign: string): number {
  let end = at;
  while (text[end] === sign) end += 1;
  return end;
}

function readBackticks(inlines: Inlines): void {
  const { text, at } = inlines;
  const length = endOfRun(text, at, '`') - at;
  const end = findBackticks(inlines, at + length, length);
  if (end === -1) return void readAsText(inlines, length);
  const content = text.slice(at + length, end).replaceAll('\n', ' ');
  const isPadded = content.startsWith(' ') && content.endsWith(' ') && /[^ ]/.test(content);
  const code = isPadded ? content.slice(1, -1) : content;
  inlines.pieces.push({ before: '<code>', text: code, after: '</code>' });
  inlines.at = end + length;
}

function findBackticks(inlines: Inlines, from: number, length: number): number {
  inlines.backticks ??= new Map([...inlines.text.matchAll(/`+/g)].map(({ 0: run, index }) => [run.length, index]));
  if ((inlines.backticks.get(length) ?? -1) < from) return -1;
  for (let end = from; ;) {
    const start = inlines.text.indexOf('`', end);
    end = endOfRun(inlines.text, start, '`');
    if (end - start === length) return start;
  }
}

function readAngle(inlines: Inlines): void {
  const { text, at } = inlines;
  const mail = matchAt(MAIL_LINK, text, at)?.[1];
  const address = mail ?? matchAt(ADDRESS_LINK, text, at)?.[1];
  if (address !== undefined) {
    const href = encodeAddress(mail === undefined ? address : `mailto:${address}`);
    inlines.pieces.push({ before: `<a href="${escapeMarkdownText(href)}">`, text: address, after: '</a>' });
    inlines.at += address.length + 2;
    return;
  }
  const end = rawHtmlEnd(text, at, inlines.missingEnds);
  if (end === -1) return void readAsText(inlines, 1);
  addMarkup(inlines, text.slice(at, end));
  inlines.at = end;
}

function openBracket(inlines: Inlines, sign: string): void {
  const piece = readAsText(inlines, sign.length);
  if (sign === '!') return;
  const outer = inlines.brackets.at(-1);
  if (outer !== undefined) outer.hasBracket = true;
  const { pieces: { length }, at, top } = inlines;
  const isImage = sign === '![';
  inlines.brackets.push({ isImage, piece, pieces: length, end: at, delimiter: top, hasBracket: false });
}

function closeBracket(inlines: Inlines): void {
  const bracket = inlines.brackets.pop();
  const mayEnd = bracket !== undefined && (bracket.isImage || inlines.brackets.length >= inlines.linked);
  inlines.linked = Math.min(inlines.linked, inlines.brackets.length);
  const target = mayEnd ? readLinkTarget(inlines, bracket) : undefined;
  if (bracket === undefined || target === undefined) return void readAsText(inlines, 1);
  inlines.at = target.end;
  pairDelimiters(inlines, bracket.delimiter);
  if (bracket.isImage) return makeImage(inlines, bracket, target);
  inlines.linked = inlines.brackets.length;
  const { piece } = bracket;
  piece.text = '';
  piece.before = `<a href="${escapeMarkdownText(target.destination)}"${titleAttribute(target)}>`;
  addMarkup(inlines, '</a>');
}

function makeImage(inlines: Inlines, { piece, pieces }: Bracket, target: LinkTarget): void {
  let text = ''; // V8 copies no characters when a string such as `text` grows by `+=`
  for (const inner of inlines.pieces.splice(pieces)) text += inner.text;
  piece.text = text;
  piece.before = `<img src="${escapeMarkdownText(target.destination)}" alt="`;
  piece.after = `"${titleAttribute(target)} />`;
}

function titleAttribute({ title }: LinkTarget): string {
  return title === '' ? '' : ` title="${escapeMarkdownText(title)}"`;
}

function readLinkTarget(inlines: Inlines, bracket: Bracket): LinkTarget & { end: number } | undefined {
  const { text, at } = inlines;
  const inline = readTarget(text, at + 1);
  if (inline !== undefined) return inline;
  const label = readLabel(text, at + 1);
  const end = label?.end ?? at + 1;
  if (label !== undefined && label.value !== '') return referenceTarget(inlines, label.value, end);
  return bracket.hasBracket ? undefined : referenceTarget(inlines, text.slice(bracket.end, at), end);
}

/** The target that `label` refers to; undefined without one, or if it is longer than the rest of the budget. */
function referenceTarget(
  { context }: Inlines, label: string, end: number,
): LinkTarget & { end: number } | undefined {
  const target = context.references.get(normaliseLabel(label));
  if (target === undefined) return undefined;
  const length = target.destination.length + target.title.length;
  if (length > context.budget) return undefined;
  context.budget -= length;
  return { ...target, end };
}
