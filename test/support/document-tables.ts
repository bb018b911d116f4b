import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from './run-program.ts';

/** A table of a document, with the rows that its list asks for. */
export type Table = { head: string; rows: string };

/** The rows that stand below that head in a document of the project. */
export function rowsIn(document: string, head: string): string {
  const text = readFileSync(join(PROJECT_ROOT, document), 'utf8');
  const from = text.indexOf(head);
  if (from < 0) throw new Error(`${document} has no table with this head:\n${head}`);
  return text.slice(from + head.length, text.indexOf('\n\n', from) + 1);
}

/** Writes the rows of these tables anew. */
export function writeTables(document: string, tables: Table[]): void {
  for (const { head, rows } of tables) {
    const text = readFileSync(join(PROJECT_ROOT, document), 'utf8');
    writeFileSync(join(PROJECT_ROOT, document), text.replace(head + rowsIn(document, head), () => head + rows));
  }
}
