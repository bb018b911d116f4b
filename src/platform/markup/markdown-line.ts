/** A place in a line of Markdown. A tab reaches to the next multiple of four columns. */
export type LineCursor = {
  line: string;
  /** `at` is the index in `line` of the next character to read, and `column` is the column where reading goes on. */
  at: number;
  column: number;
  /** Whether the next character is a tab of which some columns have been read. */
  inTab: boolean;
  /** The index and the column of the next character that is neither a space nor a tab. */
  textAt: number;
  textColumn: number;
};

const TAB_WIDTH = 4;

/** A cursor at the beginning of `line`, which has no line ending. */
export function startLine(line: string): LineCursor {
  const cursor = { line, at: 0, column: 0, inTab: false, textAt: 0, textColumn: 0 };
  findText(cursor);
  return cursor;
}

/** Whether only spaces and tabs are left of the line. */
export function isBlankLine({ line, textAt }: LineCursor): boolean {
  return textAt === line.length;
}

/** The columns of spaces and tabs before the next text. */
export function indentAt({ column, textColumn }: LineCursor): number {
  return textColumn - column;
}

/** Skips up to `count` columns of spaces and tabs, and may stop within a tab. */
export function skipColumns(cursor: LineCursor, count: number): void {
  const end = Math.min(cursor.column + count, cursor.textColumn);
  while (cursor.column < end) {
    const isTab = cursor.line[cursor.at] === '\t';
    const next = isTab ? tabEnd(cursor.column) : cursor.column + 1;
    cursor.inTab = next > end;
    cursor.column = Math.min(next, end);
    if (!cursor.inTab) cursor.at += 1;
  }
}

/** Skips the spaces and tabs before the next text, and `length` characters of the text. */
export function skipText(cursor: LineCursor, length: number): void {
  cursor.at = cursor.textAt + length;
  cursor.column = cursor.textColumn + length;
  cursor.inTab = false;
  findText(cursor);
}

/** The unread part of the line; the unread columns of a tab that was partly read become spaces. */
export function restOfLine({ line, at, column, inTab }: LineCursor): string {
  return inTab ? ' '.repeat(tabEnd(column) - column) + line.slice(at + 1) : line.slice(at);
}

/** The unread part of the line without its leading spaces and tabs. */
export function textOfLine({ line, textAt }: LineCursor): string {
  return line.slice(textAt);
}

/** The match of a sticky expression at `at`. */
export function matchAt(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(text);
}

/** The text without spaces, tabs and line endings at its ends, in linear time, which /\s+$/ would not take. */
export function trimBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (' \t\n'.includes(text.charAt(start)) && start < end) start += 1;
  while (' \t\n'.includes(text.charAt(end - 1)) && end > start) end -= 1;
  return text.slice(start, end);
}

function findText(cursor: LineCursor): void {
  let [at, column] = [cursor.at, cursor.column];
  for (; cursor.line[at] === ' ' || cursor.line[at] === '\t'; at++) {
    column = cursor.line[at] === '\t' ? tabEnd(column) : column + 1;
  }
  cursor.textAt = at;
  cursor.textColumn = column;
}

function tabEnd(column: number): number {
  return column + TAB_WIDTH - (column % TAB_WIDTH);
}
