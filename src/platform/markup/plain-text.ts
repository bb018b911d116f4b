import { FOREIGN_ELEMENTS, tokenizeHtml } from './html-tokenizer.ts';

// Elements that begin and end a line, `br` and `hr` among them.
const LINE_ELEMENTS = new Set([
  'address article aside blockquote br caption center dd details dialog dir div dl dt fieldset figcaption',
  'figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main menu nav ol p pre search',
  'section summary table tbody tfoot thead tr ul',
].flatMap((line) => line.split(' ')));
const CELLS = new Set(['td', 'th']);

const INVISIBLE_ELEMENTS = new Set(
  ['svg', 'math', 'template', 'select', 'object', 'applet', 'canvas', 'audio', 'video', 'datalist'],
);

// How far around a cut the limits of characters are looked for; more than the longest emoji.
const GRAPHEME_WINDOW = 64;

// C0 and C1 controls but tab and line feed, the byte order mark, and the noncharacters at the end of the first plane.
const UNWANTED = /[\0-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff]/;
const EVERY_UNWANTED = new RegExp(UNWANTED, 'g');
const UNTIDY = new RegExp(`${UNWANTED.source}|[^\\S ]|  `);

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The visible text of HTML, sanitised or not: lines where elements make lines, single spaces, nothing at the ends. */
export function plainText(html: string): string {
  const pieces: string[] = [];
  let hidden: { name: string; depth: number } | undefined;
  tokenizeHtml(html.toWellFormed(), {
    startTag(name, _attributes, selfClosing) {
      if (hidden !== undefined) hidden.depth += name === hidden.name && !selfClosing ? 1 : 0;
      else if (INVISIBLE_ELEMENTS.has(name) && !selfClosing) hidden = { name, depth: 1 };
      else pieces.push(separatorOf(name));
    },
    endTag(name) {
      if (hidden === undefined) pieces.push(separatorOf(name));
      else if (name === hidden.name && (hidden.depth -= 1) === 0) hidden = undefined;
    },
    text(text) {
      if (hidden === undefined) pieces.push(text.replace(/[\t\n\f\r]/g, ' '));
    },
    inForeignContent: () => hidden !== undefined && FOREIGN_ELEMENTS.has(hidden.name),
  });
  return collapse(withoutControls(pieces.join('')));
}

/** A line break, a space, or nothing, for where an element begins or ends. */
function separatorOf(name: string): string {
  if (LINE_ELEMENTS.has(name)) return '\n';
  return CELLS.has(name) ? ' ' : '';
}

function collapse(text: string): string {
  return text.replace(/\s{2,}|[^\S ]/g, (space) => (space.includes('\n') ? '\n' : ' ')).trim();
}

/** The beginning of a text in at most `maxLength` UTF-16 units, cut between words where it can be, with an ellipsis. */
export function excerpt(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  if (maxLength < 1) return '';
  const limit = maxLength - 1;
  const start = text.slice(0, /\s/.test(text.charAt(limit)) ? limit : wordEnd(text, limit));
  return `${start.replace(/[\s,;:–—-]{0,20}$/, '')}…`;
}

/** The end of the last word before `limit`; of the last character, where that would lose more than half. */
function wordEnd(text: string, limit: number): number {
  for (let index = limit - 1; index >= limit / 2; index -= 1) {
    if (/\s/.test(text.charAt(index))) return index;
  }
  return graphemeStart(text, limit);
}

function graphemeStart(text: string, limit: number): number {
  const from = Math.max(0, limit - GRAPHEME_WINDOW);
  const segment = graphemes.segment(text.slice(from, limit + GRAPHEME_WINDOW)).containing(limit - from);
  return from + (segment?.index ?? 0);
}

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
