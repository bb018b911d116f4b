/** An id as it stands in addresses, queries and on the command line: a positive integer; undefined for other text. */
export function parseId(text: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
