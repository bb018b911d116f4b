import { isBlankLine, textOfLine, trimBlanks } from './markdown-line.ts';
import { type BlockOf, type BlockReader, closeInnermost, container, openBlock } from './markdown-tree.ts';

/** The cells of a table's row. A `|` after a backslash is part of its cell, also if the backslash is escaped. */
export function cellsOf(row: string): string[] {
  const cells = trimBlanks(row).replace(/^\|/, '').split(/(?<!\\)\|/);
  if (trimBlanks(cells.at(-1) ?? '') === '') cells.pop();
  return cells.map((cell) => trimBlanks(cell.replaceAll('\\|', '|')));
}

/** Begins a table if this line is a delimiter row that fits the last line of the paragraph before it. */
export function startTable(reader: BlockReader): boolean {
  const paragraph = container(reader);
  if (paragraph.kind !== 'paragraph') return false;
  const alignments = readAlignments(textOfLine(reader.cursor));
  const header = paragraph.text.at(-1) ?? '';
  if (alignments === undefined || cellsOf(header).length !== alignments.length) return false;
  paragraph.text.pop();
  paragraph.lastLine -= 1;
  closeInnermost(reader);
  const table = openBlock(reader, { kind: 'table', alignments });
  table.firstLine -= 1;
  table.text.push(header);
  return true;
}

/** Whether the current line is a row of the table above it, unless it begins another block. */
export function isTableRow({ cursor }: BlockReader): boolean {
  return !isBlankLine(cursor) && cellsOf(textOfLine(cursor)).length > 0;
}

export function addTableRow({ cursor, lineNumber }: BlockReader, table: BlockOf<'table'>): void {
  table.text.push(textOfLine(cursor));
  table.lastLine = lineNumber;
}

function readAlignments(line: string): string[] | undefined {
  if (/[^ \t:|-]/.test(line)) return undefined;
  const cells = cellsOf(line);
  return cells.length > 0 && cells.every((cell) => /^:?-+:?$/.test(cell)) ? cells.map(alignmentOf) : undefined;
}

function alignmentOf(cell: string): string {
  if (cell.startsWith(':')) return cell.endsWith(':') ? 'center' : 'left';
  return cell.endsWith(':') ? 'right' : '';
}
