/**
 * The item id of a post in the Google Reader API is FIRST + the post id: 16 decimal digits, or 13 hex digits, and less
 * than 2^53. Some apps pad the hex form to the length of the decimal form; other apps read an item id as a signed or
 * floating-point number.
 */
const FIRST = 10 ** 15;
const LONG_FORM = 'tag:google.com,2005:reader/item/';

/** The decimal form of a post's item id, for lists of ids and for continuations. */
export function decimalId(postId: number): string {
  return String(FIRST + postId);
}

/** The long form of a post's item id, for items: `tag:google.com,2005:reader/item/` and 16 hex digits. */
export function longId(postId: number): string {
  return LONG_FORM + (FIRST + postId).toString(16).padStart(16, '0');
}

/**
 * Parses an item id in decimal, hex or long form, which some apps begin with `-/`, and returns the post id: undefined
 * for a text that is no item id, 0 for an item id that no post of the hub can have.
 */
export function parseItemId(text: string): number | undefined {
  const [, long, id = ''] = /^(?:-\/)?(tag:google\.com,2005:reader\/item\/)?(.*)$/s.exec(text.trim()) ?? [];
  const isDecimal = long === undefined && /^-?[1-9]\d{0,19}$/.test(id); // padded hex begins with 0
  if (!isDecimal && !/^[\da-f]{1,16}$/i.test(id)) return undefined;
  const itemId = Number.parseInt(id, isDecimal ? 10 : 16);
  return itemId > FIRST && Number.isSafeInteger(itemId) ? itemId - FIRST : 0;
}

/** The post ids of the parameters `i`, without texts that can name no post. */
export function itemIdsIn(values: URLSearchParams): number[] {
  return values.getAll('i').flatMap((id) => parseItemId(id) || []);
}
