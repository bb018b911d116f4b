import { parseIsoTime } from '../clock.ts';
import { webAddress } from '../markup/safe-url.ts';
import { isJsonObject, type JsonObject } from './body.ts';
import { type FieldError, HttpError, invalid } from './http-error.ts';

/** Lengths are in characters; `expected` describes `pattern` in words. */
export type TextRule = { max: number; min?: number; pattern?: RegExp; expected?: string };

type Refuse = (detail: string) => undefined;

/**
 * `pointer`: JSON Pointer of the object within the input. `label` returns the words for a field in error messages.
 * `isForm`: flags are 1 and 0, not true and false, and line ends CRLF.
 */
type Options = { pointer?: string; label?: (name: string) => string; errors?: FieldError[]; isForm?: boolean };

export type Input = {
  errors: FieldError[];
  /** Of all that was sent, known or not. */
  names: readonly string[];
  optionalText(name: string, rule: TextRule): string | undefined;
  optionalChoice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined;
  optionalFlag(name: string): boolean | undefined;
  optionalInteger(name: string, min: number, max: number): number | undefined;
  /** A text of `min` to `max` bytes of UTF-8, not trimmed, of any characters. */
  secret(name: string, min: number, max: number): string;
  optionalSecret(name: string, min: number, max: number): string | undefined;
  has(name: string): boolean;
  isNull(name: string): boolean;
  /** A field with the value null reads as undefined. */
  value(name: string): unknown;
  /** `max` counts UTF-16 units of untrimmed text; lone surrogates become U+FFFD. */
  prose(name: string, max: number): string | undefined;
  /** A number of zero or more, rounded. */
  amount(name: string): number | undefined;
  /** Unix ms from an RFC 3339 time. */
  time(name: string): number | undefined;
  address(name: string): string | undefined;
  object(name: string): Input | undefined;
  list(name: string, max: number): Input[];
  required<Value>(name: string, value: Value | undefined): Value | undefined;
  refuse(name: string, detail: string): undefined;
  /** Refuses a required field that was not read, unless a fault has been found in it already. */
  missing(name: string, detail?: string): undefined;
  done(): void;
};

const MAX_ADDRESS = 4_096; // characters

/**
 * Reads fields of a JSON object or form and collects every fault with its JSON pointer. A missing or wrong field reads
 * as undefined, or as '' or []. Before using the values, call `done()`, which throws 422 with all faults.
 */
export function createInput(
  values: JsonObject, { pointer = '', label = labelOf, errors = [], isForm = false }: Options = {},
): Input {
  function refuse(name: string, detail: string): undefined {
    errors.push({ pointer: `${pointer}/${name}`, detail: `${label(name)} ${detail}` });
  }

  const refusing = (name: string): Refuse => (detail) => refuse(name, detail);
  const isRefused = (name: string): boolean => errors.some((error) => error.pointer === `${pointer}/${name}`);
  const inside = (path: string, inner: JsonObject): Input =>
    createInput(inner, { pointer: `${pointer}/${path}`, label, errors });

  const missing = (name: string, detail = 'is required.'): undefined =>
    (isRefused(name) ? undefined : refuse(name, detail));

  return {
    errors,
    names: Object.keys(values),
    optionalText: (name, rule) => readText(values[name], rule, refusing(name)),
    optionalChoice: (name, choices) => readChoice(values[name], choices, refusing(name)),
    optionalFlag: (name) => (isForm ? readSwitch : readFlag)(values[name], refusing(name)),
    optionalInteger: (name, min, max) => readInteger(values[name], min, max, refusing(name)),
    secret: (name, min, max) => readSecret(values[name], min, max, refusing(name)) ?? '',
    optionalSecret: (name, min, max) =>
      (values[name] === undefined ? undefined : readSecret(values[name], min, max, refusing(name))),
    has: (name) => values[name] !== undefined,
    isNull: (name) => values[name] === null,
    value: (name) => values[name] ?? undefined,
    prose: (name, max) => readProse(values[name], max, refusing(name), isForm),
    amount: (name) => readAmount(values[name], refusing(name)),
    time: (name) => readTime(values[name], refusing(name)),
    address: (name) => readAddress(values[name], refusing(name)),
    object(name) {
      const value = values[name] ?? undefined;
      if (value === undefined) return undefined;
      return isJsonObject(value) ? inside(name, value) : refuse(name, 'must be an object.');
    },
    list(name, max) {
      const objects = readList(values[name], max, refusing(name)) ?? [];
      return objects.map((entry, index) => inside(`${name}/${index}`, entry));
    },
    required: (name, value) => ((values[name] ?? undefined) === undefined ? refuse(name, 'is required.') : value),
    refuse,
    missing,
    done() {
      if (errors.length > 0) throw invalid(errors);
    },
  };
}

/** Reads an id from a request's URL path. Throws 404 unless it is a positive integer. */
export function pathId(params: Record<string, string>, name = 'id'): number {
  const id = parseId(params[name] ?? '');
  if (id === undefined) throw new HttpError(404, 'There is nothing at this address.');
  return id;
}

function readText(value: unknown, { max, min = 1, pattern, expected }: TextRule, refuse: Refuse): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') return refuse('must be text.');
  const trimmed = value.trim();
  if (trimmed.length < min || trimmed.length > max) return refuse(`must have ${min} to ${max} characters.`);
  if (/[\u0000-\u001f\u007f]/.test(trimmed)) return refuse('must not contain control characters.');
  if (pattern && !pattern.test(trimmed)) return refuse(expected ?? 'has the wrong format.');
  return trimmed;
}

function readChoice<Choice extends string>(
  value: unknown, choices: readonly Choice[], refuse: Refuse,
): Choice | undefined {
  if (value === undefined) return undefined;
  return choices.find((choice) => choice === value) ?? refuse(`must be one of ${choices.join(', ')}.`);
}

function readFlag(value: unknown, refuse: Refuse): boolean | undefined {
  return value === undefined || typeof value === 'boolean' ? value : refuse('must be true or false.');
}

function readSwitch(value: unknown, refuse: Refuse): boolean | undefined {
  if (value === undefined) return undefined;
  return value === '1' || value === '0' ? value === '1' : refuse('must be 1 or 0.');
}

function readInteger(value: unknown, min: number, max: number, refuse: Refuse): number | undefined {
  if (value === undefined) return undefined;
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max) return number;
  return refuse(`must be an integer from ${min} to ${max}.`);
}

function readSecret(value: unknown, min: number, max: number, refuse: Refuse): string | undefined {
  if (typeof value !== 'string') return refuse('is required.');
  const bytes = Buffer.byteLength(value);
  return bytes >= min && bytes <= max ? value : refuse(`must have ${min} to ${max} bytes.`);
}

/** Browsers send line ends as CRLF, but count each as one character of `maxlength`. */
export function withLineFeeds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

function readProse(value: unknown, max: number, refuse: Refuse, isForm = false): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return refuse('must be text.');
  const text = isForm ? withLineFeeds(value) : value;
  return text.length <= max ? text.toWellFormed() : refuse(`may have at most ${max} characters.`);
}

function readAmount(value: unknown, refuse: Refuse): number | undefined {
  if (value === undefined || value === null) return undefined;
  const isAmount = typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
  return isAmount ? Math.round(value) : refuse('must be a number that is not negative.');
}

function readTime(value: unknown, refuse: Refuse): number | undefined {
  const written = readProse(value, 64, refuse);
  if (written === undefined) return undefined;
  return parseIsoTime(written) ?? refuse('must be a time as in RFC 3339, such as 2026-01-31T12:00:00Z.');
}

function readAddress(value: unknown, refuse: Refuse): string | undefined {
  const written = readProse(value, MAX_ADDRESS, refuse)?.trim();
  if (!written) return undefined;
  return webAddress(written, '') ?? refuse('must be an absolute http or https address.');
}

function readList(value: unknown, max: number, refuse: Refuse): JsonObject[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || !value.every(isJsonObject)) return refuse('must be a list of objects.');
  return value.length <= max ? value : refuse(`may have at most ${max} entries.`);
}

function labelOf(name: string): string {
  if (name === 'url') return 'The address';
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Parses an id: a positive integer of up to 15 digits; undefined for other text. */
export function parseId(text: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/** A redirect target in ASCII; `/` for what is no path of this site, such as `//host` and `/\host`. */
export function localPath(path: string | null | undefined): string {
  if (!path || !/^\/(?![/\\])[^\u0000-\u001f]*$/.test(path)) return '/';
  return path.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent);
}

export const STANDARD_LIMIT = 30;
export const MAX_LIMIT = 100;

/** Reads the query parameter `limit`, 1 to MAX_LIMIT; `standard` if it is absent. */
export function readLimit(query: URLSearchParams, standard = STANDARD_LIMIT): number {
  const value = query.get('limit');
  if (value === null) return standard;
  if (!/^\d{1,4}$/.test(value) || Number(value) < 1 || Number(value) > MAX_LIMIT) {
    throw new HttpError(400, `limit must be an integer from 1 to ${MAX_LIMIT}.`);
  }
  return Number(value);
}

/** Decodes the query parameter `cursor` to the integers that `cursorOf` has encoded; undefined without `cursor`. */
export function readCursor(query: URLSearchParams, parts: number): number[] | undefined {
  const value = query.get('cursor');
  if (value === null || value === '') return undefined;
  const numbers = Buffer.from(value, 'base64url').toString('latin1').split('.');
  if (numbers.length !== parts || !numbers.every((number) => /^-?\d{1,16}$/.test(number))) {
    throw new HttpError(400, 'cursor is not valid for this list.');
  }
  return numbers.map(Number);
}

/** The cursor after a row with these sort keys, opaque to clients; `readCursor` decodes it. */
export function cursorOf(...numbers: number[]): string {
  return Buffer.from(numbers.join('.'), 'latin1').toString('base64url');
}

type ListPage<Row> = { items: Row[]; next: string | null };

/** Makes one page of a list from up to `limit + 1` rows. A row beyond `limit` only tells that a next page exists. */
export function pageOf<Row>(rows: Row[], limit: number, cursor: (last: Row) => string): ListPage<Row> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? cursor(last) : null };
}

/** The sort keys of the row before a page, from the query parameter `cursor`; undefined for the first page. */
export function readAfter<Key extends PropertyKey>(
  query: URLSearchParams, key: readonly Key[],
): Record<Key, number> | undefined {
  const cursor = readCursor(query, key.length);
  return cursor && Object.fromEntries(key.map((name, index) => [name, cursor[index]])) as Record<Key, number>;
}

/** The page of a list for a query; `select` reads up to `limit` rows after the row with the sort keys `after`. */
export function readPage<Row, Key extends keyof Row>(
  query: URLSearchParams, key: readonly Key[],
  select: (after: Record<Key, number> | undefined, limit: number) => Row[], limit = readLimit(query),
): ListPage<Row> {
  const rows = select(readAfter(query, key), limit + 1);
  return pageOf(rows, limit, (last) => cursorOf(...key.map((name) => Number(last[name]))));
}

/** Reads the query parameter `unread`, 1 or 0; false if it is absent. */
export function isUnreadOnly(query: URLSearchParams): boolean {
  const unread = query.get('unread') ?? '';
  if (!['', '0', '1'].includes(unread)) throw new HttpError(400, 'unread must be 1 or 0.');
  return unread === '1';
}

/** The Link header (RFC 8288) to the next page: the request's query with the cursor of that page. */
export function nextLink(path: string, query: URLSearchParams, next: string | null): Record<string, string> {
  if (next === null) return {};
  const following = new URLSearchParams(query);
  following.set('cursor', next);
  return { link: `<${path}?${following}>; rel="next"` };
}
