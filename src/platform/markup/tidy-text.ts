// Code units around a cut that are searched for the ends of a character; longer than any emoji.
const GRAPHEME_WINDOW = 64;

// C0 and C1 controls but tab and line feed, the byte order mark, and the noncharacters at the end of the first plane.
const UNWANTED = /\r\n?|[\0-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff]/g;

// What one line does not have.
const UNTIDY = /[^\S ]|  |[\0-\x1f\x7f-\x9f\ufffe\uffff]/;

let graphemes: Intl.Segmenter | undefined; // made at first use, because making a segmenter takes milliseconds

/** A text, or its beginning with an ellipsis, in at most `maxLength` UTF-16 units; cut between words if possible. */
export function excerpt(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  if (maxLength < 1) return '';
  const limit = maxLength - 1;
  const start = text.slice(0, /\s/.test(text.charAt(limit)) ? limit : wordEnd(text, limit));
  return `${start.replace(/[\s,;:–—-]{0,20}$/, '')}…`;
}

function wordEnd(text: string, limit: number): number {
  for (let index = limit - 1; index >= limit / 2; index -= 1) {
    if (/\s/.test(text.charAt(index))) return index;
  }
  return graphemeStart(text, limit);
}

function graphemeStart(text: string, limit: number): number {
  const from = Math.max(0, limit - GRAPHEME_WINDOW);
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  const segment = graphemes.segment(text.slice(from, limit + GRAPHEME_WINDOW)).containing(limit - from);
  return from + (segment?.index ?? 0);
}

/** The text without invisible control characters; line ends become line feeds, form feeds spaces. */
export function withoutControls(text: string): string {
  return text.replace(UNWANTED, (unwanted) => unwanted.startsWith('\r') ? '\n' : unwanted === '\f' ? ' ' : '');
}

/** Makes a text one line: no controls, single spaces in place of any white space, trimmed. */
export function singleLine(text: string): string {
  const trimmed = text.trim();
  if (!UNTIDY.test(trimmed)) return trimmed; // as most are: three times as fast
  return withoutControls(trimmed).replace(/\s+/g, ' ').trim();
}
