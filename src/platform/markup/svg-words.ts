import type { Attributes } from './html-tokenizer.ts';
import { excerpt, singleLine } from './tidy-text.ts';

const MAX_WORDS = 200; // characters

/** Parts of an svg element that are not drawn where they stand, such as the symbols of a set of icons. */
const UNDRAWN = new Set(['symbol', 'defs', 'pattern', 'marker', 'clippath', 'mask', 'metadata']);
const INVISIBLE = /(?:^|;)\s*(?:display\s*:\s*none|(?:width|height)\s*:\s*0(?:px)?\s*(?:;|$))/i;

/** Collects the words that stand for an svg element: its label, else its title, else the texts of the drawing. */
export function createSvgWords(attributes: Attributes) {
  const label = attributes.get('aria-label') ?? '';
  const isHidden = attributes.has('hidden') || attributes.get('aria-hidden') === 'true'
    || attributes.get('width') === '0' || INVISIBLE.test(attributes.get('style') ?? '');
  let [title, texts] = ['', ''];

  return {
    /** `path`: the open elements, from the svg element on. */
    text(value: string, path: readonly { name: string }[]): void {
      if (isHidden || title.length + texts.length > MAX_WORDS) return;
      if (path.length === 2 && path[1]?.name === 'title') title += value;
      const isDrawn = path.some(({ name }) => name === 'text') && !path.some(({ name }) => UNDRAWN.has(name));
      if (isDrawn) texts += `${value} `;
    },
    words(): string {
      const found = [label, title, texts].map(singleLine).find((words) => words !== '') ?? '';
      return isHidden ? '' : excerpt(found, MAX_WORDS);
    },
  };
}
