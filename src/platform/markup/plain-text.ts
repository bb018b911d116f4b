import { withoutForeignContent } from './foreign-content.ts';
import { tokenizingHtml } from './html-tokenizer.ts';
import { BLOCK_ELEMENTS } from './implied-ends.ts';
import { atOnce, isPauseDue, joining, partsOf, resumable, STEP, type Resumable } from './in-steps.ts';
import { withoutControls } from './tidy-text.ts';

/** So many characters, and what must stay together behind them: white space, and controls within it. */
const PART = new RegExp(`[^]{1,${STEP}}[\\s\\p{C}]*`, 'uy');

const INVISIBLE_ELEMENTS = new Set(
  ['template', 'select', 'object', 'applet', 'canvas', 'audio', 'video', 'datalist'],
);

/** The text of HTML, sanitised or not, without INVISIBLE_ELEMENTS: one line per block, single spaces, trimmed. */
export function plainText(html: string): string {
  return atOnce(extractingText(html));
}

/** As `plainText`, in steps. */
export function extractingText(html: string): Resumable<string> {
  return resumable(textInParts(html));
}

function* textInParts(html: string): Generator<void, string> {
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
  yield* partsOf(tokenizingHtml(html.toWellFormed(), reader));
  reader.end();
  return (yield* tidying(yield* joining(pieces))).trim();
}

/** Removes controls, and makes one space or line feed of all white space that stands together. */
function* tidying(text: string): Generator<void, string> {
  let tidy = '';
  const pace = { unpaused: 0 };
  for (let at = 0; at < text.length;) {
    PART.lastIndex = at;
    const [part = ''] = PART.exec(text) ?? [];
    tidy += withoutControls(part).replace(/\s{2,}|[^\S ]/g, (space) => (space.includes('\n') ? '\n' : ' '));
    at += part.length;
    if (isPauseDue(pace, part.length)) yield;
  }
  return tidy;
}

function separatorOf(name: string): string {
  if (name === 'td' || name === 'th') return ' ';
  return BLOCK_ELEMENTS.has(name) || name === 'br' ? '\n' : '';
}
