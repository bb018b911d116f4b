import { escapeHtml, unescapeHtml } from './entities.ts';
import { placesOf } from './markup-places.ts';
import { ID_PREFIX } from './markup-rules.ts';

/** Matches tags as the sanitiser writes them: it escapes a > within an attribute value. */
const DRESSED =
  /<(\/?)(table|pre|p|h[1-6]|ul|ol|li|dl|dt|dd|blockquote|figcaption|details|summary|caption)((?: [^<>]*)?)>/g;

/** Elements that contain block elements. With `dir="auto"`, a container ignores inner blocks with their own `dir`. */
const CONTAINERS = ['ul', 'ol', 'dl', 'blockquote', 'details'];

/** Wrapper in which a table that is wider than the page scrolls by itself, also by keyboard. */
const SCROLLING = '<div class="scroll" role="region" tabindex="0" aria-label="Table">';

/**
 * Prepares sanitised markup for a page. Paragraphs, headings, lists and quotations get the direction of their words; of
 * most blocks within lists, quotations and `details`, the style sheet sets it. Tables and code that are wider than the
 * page scroll. `url` is the address of the text, so that links to a place within the text stay on the page.
 */
export function dressMarkup(sanitized: string, url: string | null): string {
  let [tables, containers] = [0, 0]; // open elements
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

/**
 * A link to a place at `url`, as in footnotes, becomes a link within the text if the text has the place. `page`: the
 * address of the text's page, for other readers than those of the page itself.
 */
export function withInnerLinks(markup: string, url: string | null, page = ''): string {
  const here = withoutForm(escapeHtml(url?.split('#', 1)[0] ?? ''));
  const ids = new Set(Array.from(markup.matchAll(/ id="([^"]*)"/g), ([, id = '']) => unescapeHtml(id)));
  if (here === '' || ids.size === 0) return markup;
  return markup.replace(/<a href="([^"#]*)#([^"]*)"([^<>]*)>/g, (tag: string, address: string, ...parts: string[]) => {
    const [fragment = '', attributes = ''] = parts;
    if (withoutForm(address) !== here || !placesOf(unescapeHtml(fragment)).some((id) => ids.has(id))) return tag;
    return `<a href="${page}#${ID_PREFIX}${fragment}"${/ id="[^"]*"/.exec(attributes)?.[0] ?? ''}>`;
  });
}

function withoutForm(address: string): string {
  return address.replace(/^https?:\/\/(?:www\.)?|\/$/g, '');
}
