import { withoutForeignContent } from './foreign-content.ts';
import { tokenizingHtml } from './html-tokenizer.ts';
import { atOnce, type Reading } from './in-steps.ts';
import { withoutControls } from './tidy-text.ts';

// Elements that begin and end a line, `br` and `hr` among them.
const LINE_ELEMENTS = new Set([
  'address article aside blockquote br caption center dd details dialog dir div dl dt fieldset figcaption',
  'figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main menu nav ol p pre search',
  'section summary table tbody tfoot thead tr ul',
].flatMap((line) => line.split(' ')));
const CELLS = new Set(['td', 'th']);

const INVISIBLE_ELEMENTS = new Set(
  ['template', 'select', 'object', 'applet', 'canvas', 'audio', 'video', 'datalist'],
);

/** The visible text of HTML, sanitised or not: one line per block, single spaces, trimmed. */
export function plainText(html: string): string {
  return atOnce(readingText(html));
}

/** Reads the visible text of long HTML in steps, like `plainText`. */
export function readingText(html: string): Reading<string> {
  const pieces: string[] = [];
  let hidden: { name: string; depth: number } | undefined;
  const reader = withoutForeignContent({
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
    formula({ markup, words, alternative }) {
      if (hidden === undefined) pieces.push(markup === undefined ? alternative : words);
    },
  });
  const end = (): string => {
    reader.end();
    return collapse(withoutControls(pieces.join('')));
  };
  return { read: tokenizingHtml(html.toWellFormed(), reader), end };
}

/** The separator where an element begins or ends: a line break, a space, or nothing. */
function separatorOf(name: string): string {
  if (LINE_ELEMENTS.has(name)) return '\n';
  return CELLS.has(name) ? ' ' : '';
}

function collapse(text: string): string {
  return text.replace(/\s{2,}|[^\S ]/g, (space) => (space.includes('\n') ? '\n' : ' ')).trim();
}
