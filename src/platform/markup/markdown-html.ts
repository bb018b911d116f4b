import { matchAt } from './markdown-line.ts';

/** An opening or closing tag (CommonMark 0.31.2, section 6.6). */
const OPENING_TAG =
  /<[a-z][a-z0-9-]*(?:[ \t\n]+[a-z_:][\w.:-]*(?:[ \t\n]*=[ \t\n]*(?:[^\0- "'=<>`]+|'[^']*'|"[^"]*"))?)*[ \t\n]*\/?>/iy;
const CLOSING_TAG = /<\/[a-z][a-z0-9-]*[ \t\n]*>/iy;

const SECTIONS: { start: RegExp; end: string }[] = [
  { start: /<!--/y, end: '-->' },
  { start: /<\?/y, end: '?>' },
  { start: /<![a-z]/iy, end: '>' },
  { start: /<!\[CDATA\[/y, end: ']]>' },
];

const RAW_TEXT_START = /<(?:script|pre|style|textarea)(?=[ \t>]|$)/iy;
const RAW_TEXT_END = /<\/(?:script|pre|style|textarea)>/i;

const BLOCK_TAG_START = new RegExp(`</?(?:${[
  'address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt',
  'fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu',
  'menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr',
  'track|ul',
].join('|')})(?=[ \\t]|/?>|$)`, 'iy');

/** A block of raw HTML ends with a line that contains `end`, or before a blank line if `end` is undefined. */
export type HtmlBlockStart = {
  end: string | RegExp | undefined;
  /** Whether the block may begin directly below a paragraph. */
  mayInterrupt: boolean;
};

/** The kind of the HTML block (CommonMark, section 4.6) that begins in `line` at `at`; undefined if none does. */
export function htmlBlockAt(line: string, at: number): HtmlBlockStart | undefined {
  if (line[at] !== '<') return undefined;
  if (matchAt(RAW_TEXT_START, line, at)) return { end: RAW_TEXT_END, mayInterrupt: true };
  const section = SECTIONS.find(({ start }) => matchAt(start, line, at));
  if (section !== undefined) return { end: section.end, mayInterrupt: true };
  if (matchAt(BLOCK_TAG_START, line, at)) return { end: undefined, mayInterrupt: true };
  const end = tagEnd(line, at);
  return end === -1 || /[^ \t]/.test(line.slice(end)) ? undefined : { end: undefined, mayInterrupt: false };
}

/**
 * The index after the raw HTML (a tag, comment or section) that begins in `text` at `at`; -1 if none begins there.
 * `missing` collects the ends, such as `-->`, that the rest of the text lacks, because searching for them again and
 * again would take the square of the time.
 */
export function rawHtmlEnd(text: string, at: number, missing: Set<string>): number {
  const section = SECTIONS.find(({ start }) => matchAt(start, text, at));
  if (section === undefined) return tagEnd(text, at);
  if (section.end === '-->') {
    if (text.startsWith('>', at + 4)) return at + 5;
    if (text.startsWith('->', at + 4)) return at + 6;
  }
  const found = missing.has(section.end) ? -1 : text.indexOf(section.end, at + 2);
  if (found === -1) missing.add(section.end);
  return found === -1 ? -1 : found + section.end.length;
}

function tagEnd(text: string, at: number): number {
  const tag = matchAt(text[at + 1] === '/' ? CLOSING_TAG : OPENING_TAG, text, at);
  return tag === null ? -1 : at + tag[0].length;
}
