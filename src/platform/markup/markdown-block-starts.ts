import { htmlBlockAt } from './markdown-html.ts';
import {
  indentAt, isBlankLine, type LineCursor, matchAt, skipColumns, skipText, textOfLine, trimBlanks,
} from './markdown-line.ts';
import { startTable } from './markdown-table.ts';
import {
  type BlockReader, closeUnmatched, container, innermost, type ListMarker, mayNest, openBlock, takeDefinitions,
} from './markdown-tree.ts';

/** What begins in a line: a block that may hold blocks, one that takes the rest of the line, or one that took it. */
export type BlockStart = 'container' | 'text' | 'complete' | undefined;

export const CODE_INDENT = 4; // columns

const HEADING = /(#{1,6})(?:[ \t]|$)/y;
const FENCE = /(`{3,})([^`]*)$|(~{3,})(.*)$/y;
const UNDERLINE = /(?:=+|-+)[ \t]*$/y;
const RULE = /(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/y;
const MARKER = /(?:[*+-]|(\d{1,9})[.)])(?=[ \t]|$)/y;

/** The kinds of Markdown blocks in the order in which a line is tested: `---` is an underline rather than a rule. */
const STARTS: ((reader: BlockReader) => BlockStart)[] = [
  startQuote, startHeading, startFence, startHtml, underlineHeading, startRule, startItem,
  (reader) => (startTable(reader) ? 'complete' : undefined),
];

/** Opens the Markdown block, if any, that begins at the reader's current place in a line. */
export function startBlock(reader: BlockReader): BlockStart {
  if (isBlankLine(reader.cursor)) return undefined;
  if (indentAt(reader.cursor) >= CODE_INDENT) return startIndentedCode(reader);
  for (const start of STARTS) {
    const started = start(reader);
    if (started !== undefined) return started;
  }
  return undefined;
}

function startQuote(reader: BlockReader): BlockStart {
  if (!mayNest(reader) || !skipQuoteMark(reader.cursor)) return undefined;
  openBlock(reader, { kind: 'quote' });
  return 'container';
}

/** Skips the `>` of a quote and a space after it; false if there is none. */
export function skipQuoteMark(cursor: LineCursor): boolean {
  if (indentAt(cursor) >= CODE_INDENT || cursor.line[cursor.textAt] !== '>') return false;
  skipText(cursor, 1);
  skipColumns(cursor, 1);
  return true;
}

function startHeading(reader: BlockReader): BlockStart {
  const signs = matchHere(HEADING, reader.cursor)?.[1];
  if (signs === undefined) return undefined;
  const text = textOfLine(reader.cursor).slice(signs.length);
  openBlock(reader, { kind: 'heading', level: signs.length }).text.push(withoutClosingSigns(text));
  return 'complete';
}

function withoutClosingSigns(line: string): string {
  const text = trimBlanks(line);
  let end = text.length;
  while (text[end - 1] === '#') end -= 1;
  return /^[ \t]?$/.test(text.charAt(end - 1)) ? text.slice(0, end) : text;
}

function startFence(reader: BlockReader): BlockStart {
  const [, ticks, tickInfo, tildes, tildeInfo = ''] = matchHere(FENCE, reader.cursor) ?? [];
  const run = ticks ?? tildes;
  if (run === undefined) return undefined;
  const fence = {
    sign: run.charAt(0), length: run.length, indent: indentAt(reader.cursor), info: (tickInfo ?? tildeInfo).trim(),
  };
  openBlock(reader, { kind: 'code', fence });
  return 'complete';
}

function startHtml(reader: BlockReader): BlockStart {
  const started = htmlBlockAt(reader.cursor.line, reader.cursor.textAt);
  if (started === undefined) return undefined;
  if (!started.mayInterrupt && innermost(reader).kind === 'paragraph') return undefined;
  openBlock(reader, { kind: 'html', end: started.end });
  return 'text';
}

function underlineHeading(reader: BlockReader): BlockStart {
  const paragraph = container(reader);
  const [underline] = matchHere(UNDERLINE, reader.cursor) ?? [];
  if (underline === undefined || paragraph.kind !== 'paragraph') return undefined;
  takeDefinitions(paragraph, reader.references);
  if (paragraph.text.length === 0) return undefined;
  const heading = { kind: 'heading', level: underline.startsWith('=') ? 1 : 2, lastLine: reader.lineNumber };
  Object.assign(paragraph, heading);
  return 'complete';
}

function startRule(reader: BlockReader): BlockStart {
  if (matchHere(RULE, reader.cursor) === null) return undefined;
  openBlock(reader, { kind: 'rule' });
  return 'complete';
}

function startItem(reader: BlockReader): BlockStart {
  const { cursor } = reader;
  const [written, number] = matchHere(MARKER, cursor) ?? [];
  if (written === undefined || !mayNest(reader) || !mayBegin(reader, written, number)) return undefined;
  const marker = { sign: written.slice(-1), number: number === undefined ? undefined : Number(number) };
  const indent = indentAt(cursor) + written.length + skipMarker(cursor, written.length);
  closeUnmatched(reader);
  const list = container(reader);
  const goesOn = list.kind === 'list' && isAlike(list.marker, marker);
  if (!goesOn) openBlock(reader, { kind: 'list', marker, isLoose: false });
  openBlock(reader, { kind: 'item', indent });
  return 'container';
}

/** A list interrupts a paragraph only with an item that has text, and a numbered list only with the number 1. */
function mayBegin(reader: BlockReader, written: string, number: string | undefined): boolean {
  if (container(reader).kind !== 'paragraph') return true;
  const hasText = /[^ \t]/.test(textOfLine(reader.cursor).slice(written.length));
  return hasText && (number === undefined || Number(number) === 1);
}

function skipMarker(cursor: LineCursor, length: number): number {
  skipText(cursor, length);
  const spaces = indentAt(cursor);
  const columns = isBlankLine(cursor) || spaces > CODE_INDENT ? 1 : spaces;
  skipColumns(cursor, columns);
  return columns;
}

function isAlike(one: ListMarker, other: ListMarker): boolean {
  return one.sign === other.sign && (one.number === undefined) === (other.number === undefined);
}

function startIndentedCode(reader: BlockReader): BlockStart {
  if (innermost(reader).kind === 'paragraph') return undefined;
  openBlock(reader, { kind: 'code', fence: undefined });
  skipColumns(reader.cursor, CODE_INDENT);
  return 'text';
}

function matchHere(expression: RegExp, { line, textAt }: LineCursor): RegExpExecArray | null {
  return matchAt(expression, line, textAt);
}
