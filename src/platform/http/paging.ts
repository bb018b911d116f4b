import { HttpError } from './problem.ts';

const STANDARD_LIMIT = 30;
const MAX_LIMIT = 100;

/** `?limit=`: 1 to 100, 30 when absent. */
export function readLimit(query: URLSearchParams): number {
  const value = query.get('limit');
  if (value === null) return STANDARD_LIMIT;
  if (!/^\d{1,4}$/.test(value) || Number(value) < 1 || Number(value) > MAX_LIMIT) {
    throw new HttpError(400, `limit must be an integer from 1 to ${MAX_LIMIT}.`);
  }
  return Number(value);
}

/** `?cursor=`: what `cursorOf` made of so many integers, undefined when absent. Clients must not look inside. */
export function readCursor(query: URLSearchParams, parts: number): number[] | undefined {
  const value = query.get('cursor');
  if (value === null || value === '') return undefined;
  const numbers = Buffer.from(value, 'base64url').toString('latin1').split('.');
  if (numbers.length !== parts || !numbers.every((number) => /^-?\d{1,16}$/.test(number))) {
    throw new HttpError(400, 'cursor is not valid for this list.');
  }
  return numbers.map(Number);
}

/** The cursor after a row with these sort keys, opaque to clients; `readCursor` takes it apart. */
export function cursorOf(...numbers: number[]): string {
  return Buffer.from(numbers.join('.'), 'latin1').toString('base64url');
}

type ListPage<Row> = { items: Row[]; next: string | null };

/** One page of a list: of `limit + 1` rows the last one only tells that there are more. */
export function pageOf<Row>(rows: Row[], limit: number, cursor: (last: Row) => string): ListPage<Row> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? cursor(last) : null };
}

/** The Link header (RFC 8288) to the next page: the same query with another cursor. */
export function nextLink(path: string, query: URLSearchParams, next: string | null): Record<string, string> {
  if (next === null) return {};
  const following = new URLSearchParams(query);
  following.set('cursor', next);
  return { link: `<${path}?${following}>; rel="next"` };
}
