import { Readable } from 'node:stream';
import { inBatches } from '../../platform/db/batched-writes.ts';

const BATCH = 500;
const CHUNK = 16_384; // characters

/** The columns of a table of items, by name. */
export type CsvColumns<Item> = Record<string, (item: Item) => string | number | null>;

/** Up to so many items of a list, after that one. */
type Batch<Item> = (after: Item | undefined, limit: number) => Item[];

/** A whole list, one JSON object a line. */
export function asJsonLines<Item>(batch: Batch<Item>, toJson: (item: Item) => object): Readable {
  return Readable.from(written(batch, '', (item) => `${JSON.stringify(toJson(item))}\n`));
}

/** A whole list as CSV (RFC 4180), with the names of its columns. */
export function asCsv<Item>(batch: Batch<Item>, columns: CsvColumns<Item>): Readable {
  const values = Object.values(columns);
  const head = csvLine(Object.keys(columns));
  return Readable.from(written(batch, head, (item) => csvLine(values.map((valueOf) => valueOf(item)))));
}

function* written<Item>(batch: Batch<Item>, head: string, line: (item: Item) => string): Generator<string> {
  let lines = head;
  for (const item of inBatches<Item>((last) => batch(last, BATCH))) {
    lines += line(item);
    if (lines.length < CHUNK) continue;
    yield lines;
    lines = '';
  }
  if (lines) yield lines;
}

function csvLine(fields: (string | number | null)[]): string {
  return `${fields.map(csvField).join(',')}\r\n`;
}

/** A text that a spreadsheet would take for a formula gets an apostrophe in front (OWASP, "CSV Injection"). */
function csvField(value: string | number | null): string {
  if (value === null) return '';
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
