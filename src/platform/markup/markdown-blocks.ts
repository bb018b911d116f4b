import { CODE_INDENT, skipQuoteMark, startBlock } from './markdown-block-starts.ts';
import { isPauseDue } from './in-steps.ts';
import {
  indentAt, isBlankLine, type LineCursor, matchAt, restOfLine, skipColumns, startLine, textOfLine,
} from './markdown-line.ts';
import type { LinkReferences } from './markdown-links.ts';
import { addTableRow, isTableRow } from './markdown-table.ts';
import {
  type BlockOf, type BlockReader, closeInnermost, closeUnmatched, container, innermost, type MarkdownBlock, openBlock,
} from './markdown-tree.ts';

const LINE = /([^\r\n]*)(?:\r\n|[\r\n]|$)/y;
const CLOSING_FENCE = /(`{3,}|~{3,})[ \t]*$/y;

export function* readBlocks(text: string): Generator<void, { document: MarkdownBlock; references: LinkReferences }> {
  const document: MarkdownBlock = { kind: 'document', firstLine: 0, lastLine: 0, children: [], text: [] };
  const reader: BlockReader = {
    references: new Map(), lineNumber: 0, cursor: startLine(''), open: [document], matched: 1,
  };
  const pace = { unpaused: 0 };
  for (let at = 0; at < text.length;) {
    const [whole = '', line = ''] = matchAt(LINE, text, at) ?? [];
    at += whole.length;
    readLine(reader, line);
    if (isPauseDue(pace, whole.length + reader.matched)) yield;
  }
  while (reader.open.length > 0) closeInnermost(reader);
  return { document, references: reader.references };
}

function readLine(reader: BlockReader, line: string): void {
  reader.lineNumber += 1;
  reader.cursor = startLine(line);
  reader.matched = 1;
  for (let next = reader.open[1]; next !== undefined; next = reader.open[reader.matched]) {
    if (isClosingFence(next, reader.cursor)) {
      next.lastLine = reader.lineNumber;
      return closeInnermost(reader);
    }
    if (!goesOn(next, reader)) break;
    if (next.kind === 'quote') next.lastLine = reader.lineNumber;
    reader.matched += 1;
  }
  const { kind } = container(reader);
  let started = kind === 'code' || kind === 'html' ? 'text' as const : startBlock(reader);
  while (started === 'container') started = startBlock(reader);
  if (started === 'complete') closeComplete(reader);
  else addLine(reader);
}

function goesOn(block: MarkdownBlock, reader: BlockReader): boolean {
  const { cursor } = reader;
  switch (block.kind) {
    case 'quote': return skipQuoteMark(cursor);
    case 'item': return itemGoesOn(block, cursor);
    case 'code': return codeGoesOn(block, cursor);
    case 'html': return block.end !== undefined || !isBlankLine(cursor);
    case 'paragraph': return !isBlankLine(cursor);
    case 'table': return isTableRow(reader);
    default: return block.kind === 'list';
  }
}

function itemGoesOn({ indent, children }: BlockOf<'item'>, cursor: LineCursor): boolean {
  if (isBlankLine(cursor) ? children.length === 0 : indentAt(cursor) < indent) return false;
  skipColumns(cursor, indent);
  return true;
}

function codeGoesOn({ fence }: BlockOf<'code'>, cursor: LineCursor): boolean {
  if (fence === undefined && indentAt(cursor) < CODE_INDENT && !isBlankLine(cursor)) return false;
  skipColumns(cursor, fence === undefined ? CODE_INDENT : fence.indent);
  return true;
}

function isClosingFence(block: MarkdownBlock, cursor: LineCursor): boolean {
  if (block.kind !== 'code' || block.fence === undefined || indentAt(cursor) >= CODE_INDENT) return false;
  const run = matchAt(CLOSING_FENCE, cursor.line, cursor.textAt)?.[1] ?? '';
  return run.startsWith(block.fence.sign) && run.length >= block.fence.length;
}

function closeComplete(reader: BlockReader): void {
  const { kind } = innermost(reader);
  if (kind === 'heading' || kind === 'rule') closeInnermost(reader);
}

function addLine(reader: BlockReader): void {
  const { cursor, lineNumber } = reader;
  const isLazy = reader.matched < reader.open.length && innermost(reader).kind === 'paragraph' && !isBlankLine(cursor);
  if (!isLazy) closeUnmatched(reader);
  const block = innermost(reader);
  switch (block.kind) {
    case 'code': return addCode(block, cursor, lineNumber);
    case 'html': return addHtml(reader, block);
    case 'table': return addTableRow(reader, block);
    case 'paragraph': return addText(block, cursor, lineNumber);
    default: if (!isBlankLine(cursor)) addText(openBlock(reader, { kind: 'paragraph' }), cursor, lineNumber);
  }
}

function addText(paragraph: MarkdownBlock, cursor: LineCursor, lineNumber: number): void {
  paragraph.text.push(textOfLine(cursor));
  paragraph.lastLine = lineNumber;
}

/** Adds a line to a code block. Blank lines at the end of indented code do not count as lines of the block. */
function addCode(code: BlockOf<'code'>, cursor: LineCursor, lineNumber: number): void {
  code.text.push(restOfLine(cursor));
  if (code.fence !== undefined || !isBlankLine(cursor)) code.lastLine = lineNumber;
}

function addHtml(reader: BlockReader, html: BlockOf<'html'>): void {
  const line = restOfLine(reader.cursor);
  html.text.push(line);
  html.lastLine = reader.lineNumber;
  const { end } = html;
  if (typeof end === 'string' ? line.includes(end) : end?.test(line)) closeInnermost(reader);
}
