/** Positions of the first and the last byte, both included. */
export type ByteRange = { start: number; end: number };

/**
 * The part that a Range header asks for (RFC 9110 §14.1.2) of so many bytes; `unsatisfiable` means 416. Undefined
 * means the whole: for no header, another unit, invalid ranges and several of them, which a server may ignore.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const set = /^bytes=(.*)$/i.exec(header?.trim() ?? '')?.[1] ?? '';
  // Empty elements of a list count as nothing (RFC 9110 §5.6.1.2).
  const [only = '', ...others] = set.split(',').map((element) => element.trim()).filter((element) => element !== '');
  const found = /^(\d*)-(\d*)$/.exec(only);
  if (!found || others.length > 0) return undefined;
  const [, first = '', last = ''] = found;
  return first === '' ? suffix(last, size) : fromTo(Number(first), last === '' ? Infinity : Number(last), size);
}

function fromTo(first: number, last: number, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (last < first) return undefined;
  return first < size ? { start: first, end: Math.min(last, size - 1) } : 'unsatisfiable';
}

/** The last bytes. Of nothing they are nothing, which no Content-Range can say: the whole then. */
function suffix(digits: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (digits === '') return undefined;
  const length = Math.min(Number(digits), size);
  if (length > 0) return { start: size - length, end: size - 1 };
  return Number(digits) === 0 ? 'unsatisfiable' : undefined;
}

/**
 * Whether If-Range lets the Range header count, by strong comparison (RFC 9110 §13.1.5). A date never does: what has
 * an entity tag is served without a date.
 */
export function ifRangeAllows(header: string | undefined, etag: string): boolean {
  return header === undefined || header === etag && !etag.startsWith('W/');
}
