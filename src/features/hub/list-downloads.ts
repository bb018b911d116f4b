import { inBatches } from '../../platform/db/batched-writes.ts';
import type { Shape } from '../../platform/http/fields.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { inChunks, type Reply } from '../../platform/http/reply.ts';

const BATCH = 500;

export type CsvColumns<Item> = Record<string, (item: Item) => string | number | null>;

type Downloadable<Item> = { shape: Shape<object, Item>; csv?: CsvColumns<Item> };

/** The formats of a list's downloads, with their names on pages. */
export function formatsOf({ csv }: { csv?: object | undefined }): [format: string, label: string][] {
  return [...csv ? [['csv', 'CSV'] as [string, string]] : [], ['jsonl', 'JSON lines']];
}

/** All items of a list as a file, named after `path`. Throws 400 for another format than the list's. */
export function download<Item>(
  { shape, csv }: Downloadable<Item>, path: string, format: string,
  select: (after: Item | undefined, limit: number) => Item[],
): Reply {
  const items = inBatches((last: Item | undefined) => select(last, BATCH));
  const file = (type: string, lines: Iterable<string>): Reply => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const headers = { 'content-type': type, 'content-disposition': `attachment; filename="${name}.${format}"` };
    return { status: 200, headers, body: inChunks(lines), secret: null };
  };
  if (csv && format === 'csv') return file('text/csv; charset=utf-8', csvLines(items, csv));
  if (format === 'jsonl') {
    return file('application/x-ndjson; charset=utf-8', items.map((item) => `${JSON.stringify(shape.show(item))}\n`));
  }
  throw new HttpError(400, `format must be one of json, jsonl${csv ? ', csv' : ''}.`);
}

/** The lines of a CSV file with a header line (RFC 4180). */
function* csvLines<Item>(items: Iterable<Item>, columns: CsvColumns<Item>): Generator<string> {
  yield csvLine(Object.keys(columns));
  for (const item of items) yield csvLine(Object.values(columns).map((valueOf) => valueOf(item)));
}

function csvLine(fields: (string | number | null)[]): string {
  return `${fields.map(csvField).join(',')}\r\n`;
}

/** Puts an apostrophe before a text that a spreadsheet would read as a formula (OWASP, "CSV Injection"). */
function csvField(value: string | number | null): string {
  if (value === null) return '';
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
