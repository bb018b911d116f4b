// C0 and C1 controls but tab and line feed, the byte order mark, and the noncharacters at the end of the first plane.
const UNWANTED = /[\0-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff]/;
const EVERY_UNWANTED = new RegExp(UNWANTED, 'g');
const UNTIDY = new RegExp(`${UNWANTED.source}|[^\\S ]|  `);

/** The text without invisible control characters; line ends become line feeds, form feeds spaces. */
export function withoutControls(text: string): string {
  if (!UNWANTED.test(text)) return text;
  return text.replace(/\r\n?/g, '\n').replace(/\f/g, ' ').replace(EVERY_UNWANTED, '');
}

/** One line: no controls, every run of white space, also the hard kind, a single space, none at the ends. */
export function singleLine(text: string): string {
  const trimmed = text.trim();
  return UNTIDY.test(trimmed) ? withoutControls(trimmed).replace(/\s+/g, ' ').trim() : trimmed;
}
