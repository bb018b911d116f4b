import { excerpt } from '../../platform/markup/plain-text.ts';
import { titleText } from './feed-text.ts';

const MAX_NAMES = 20;
/** In characters. What is longer is cut and not looked into: a feed repeats its author's name with every item. */
const MAX_NAME_LENGTH = 200;

/** The different names among those written, at most twenty, joined by commas; null where there is none. */
export function personNames(written: Iterable<string>): string | null {
  const names = new Set<string>();
  for (const text of written) {
    const name = personName(titleText(text));
    if (name !== '') names.add(name);
    if (names.size === MAX_NAMES) break;
  }
  return names.size === 0 ? null : [...names].join(', ');
}

/** The name in `a@example.org (Ann)` and `Ann <a@example.org>`; the address where there is no name. */
function personName(text: string): string {
  if (text.length > MAX_NAME_LENGTH) return excerpt(text, MAX_NAME_LENGTH);
  const inBrackets = /^\S+@\S+\s*\(([^()]+)\)$/.exec(text)?.[1];
  const beforeAddress = /^"?([^"<>]+?)"?\s*<[^<>\s]+@[^<>\s]+>$/.exec(text)?.[1];
  return (inBrackets ?? beforeAddress ?? text.replace(/^mailto:/i, '')).trim();
}
