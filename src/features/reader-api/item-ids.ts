/**
 * The item id of a post in the Google Reader API is FIRST + the post id: 16 decimal digits, or 13 hex digits, and less
 * than 2^53. Some apps pad the hex form to the length of the decimal form; other apps read an item id as a signed or
 * floating-point number.
 */
const FIRST = 10 ** 15;
const LONG_FORM = 'tag:google.com,2005:reader/item/';

/** The decimal form of a post's item id, for lists of ids. */
export function decimalId(postId: number): string {
  return String(FIRST + postId);
}

/** The long form of a post's item id, for items: `tag:google.com,2005:reader/item/` and 16 hex digits. */
export function longId(postId: number): string {
  return LONG_FORM + (FIRST + postId).toString(16).padStart(16, '0');
}

/** Parses an item id in decimal, hex or long form, and returns the post id; undefined for any other text. */
export function parseItemId(text: string): number | undefined {
  const id = text.trim();
  if (id.startsWith(LONG_FORM)) return postIdOf(id.slice(LONG_FORM.length), 16);
  const isDecimal = /^[1-9]\d*$/.test(id); // a hex item id that an app has padded to 16 digits begins with 0
  return postIdOf(id, isDecimal ? 10 : 16);
}

/** The post ids of the parameters `i`, without texts that are no item ids. */
export function itemIdsIn(values: URLSearchParams): number[] {
  return values.getAll('i').flatMap((id) => parseItemId(id) ?? []);
}

function postIdOf(digits: string, base: 10 | 16): number | undefined {
  if (!/^[\da-f]{1,16}$/i.test(digits)) return undefined;
  const postId = Number.parseInt(digits, base) - FIRST;
  return postId > 0 && Number.isSafeInteger(postId + FIRST) ? postId : undefined;
}
