import { excerpt } from '../../platform/markup/plain-text.ts';

const SHRINK = 0.85;

/**
 * What `render` makes of as much of the text as leaves it within `limit`, in characters unless `measure` counts
 * otherwise. The text is cut before it is escaped, so that no escape is cut in half.
 */
export function fitText(
  text: string, limit: number, render: (text: string) => string, measure: (rendered: string) => number = charactersOf,
): string {
  for (let length = Math.min(text.length, limit); ; length = Math.floor(length * SHRINK)) {
    const rendered = render(excerpt(text, length));
    if (length === 0 || measure(rendered) <= limit) return rendered;
  }
}

/** For `measure`: bytes in UTF-8. */
export function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}

function charactersOf(text: string): number {
  return text.length;
}
