import { escapeHtml } from './entities.ts';
import { ID_PREFIX } from './markup-rules.ts';

/** Tags as sanitizeHtml writes them, in which a > within a value is escaped. */
const DRESSED =
  /<(\/?)(table|pre|p|h[1-6]|ul|ol|li|dl|dt|dd|blockquote|figcaption|details|summary|caption)((?: [^<>]*)?)>/g;

/** These hold other blocks. `dir="auto"` on them ignores blocks that have a direction of their own. */
const CONTAINERS = ['ul', 'ol', 'dl', 'blockquote', 'details'];

/** Wraps a table, which scrolls by itself if it is wider than the page, also by keyboard. */
const SCROLLING = '<div class="scroll" role="region" tabindex="0" aria-label="Table">';

/**
 * Sanitised markup as a page shows it: each block has the direction of its words (within lists and quotations the style
 * sheet sees to that), tables and code scroll where they are wider than the page, and links to a place of the same
 * text, whose address is `url`, stay on the page.
 */
export function dressMarkup(sanitized: string, url: string | null): string {
  let [tables, containers] = [0, 0]; // that are open
  const dressed = sanitized.replace(DRESSED, (tag: string, slash: string, name: string, attributes: string) => {
    const isEnd = slash !== '';
    if (name === 'table') {
      tables += isEnd ? -1 : 1;
      if (isEnd) return tables === 0 ? `${tag}</div>` : tag;
      return tables === 1 ? SCROLLING + tag : tag;
    }
    const isWithin = containers > 0;
    if (CONTAINERS.includes(name)) containers += isEnd ? -1 : 1;
    if (isEnd) return tag;
    if (name === 'pre') return `<pre tabindex="0"${attributes}>`;
    return isWithin || attributes.includes(' dir="') ? tag : `<${name}${attributes} dir="auto">`;
  });
  return withInnerLinks(dressed, url);
}

/** Footnotes and tables of contents link to the publisher's page. If their target is in this text, link to it here. */
function withInnerLinks(markup: string, url: string | null): string {
  const here = url === null ? '' : escapeHtml(url.split('#', 1)[0] ?? '');
  const ids = new Set(Array.from(markup.matchAll(/ id="([^"]*)"/g), ([, id = '']) => id));
  if (here === '' || ids.size === 0) return markup;
  return markup.replace(/<a href="([^"#]*)#([^"]*)"[^<>]*>/g, (tag: string, address: string, place: string) => {
    const id = ID_PREFIX + place;
    return address === here && ids.has(id) ? `<a href="#${id}">` : tag;
  });
}
