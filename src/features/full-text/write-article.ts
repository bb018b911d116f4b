import { escapeHtml, escapeText } from '../../platform/markup/entities.ts';
import { VOID_ELEMENTS, type Attributes } from '../../platform/markup/html-tokenizer.ts';
import { imageCandidates, isTracker, largestImage } from '../../platform/markup/remote-media.ts';
import type { Choice } from './find-article.ts';
import type { Page } from './measure-page.ts';

/** Attributes that the sanitiser reads. */
const ATTRIBUTES = new Set(
  ('id lang dir title alt class href src cite datetime colspan rowspan scope span start reversed type value open width '
  + 'height style aria-label').split(' '),
);
const ADDRESSES = new Set(['href', 'src', 'cite']);
/** Elements whose tags are left out if they only hold other blocks, so that little nesting is left. */
const WRAPPERS = new Set('div section article main center form fieldset header hgroup'.split(' '));
const IMAGES = new Set(['img', 'amp-img', 'amp-anim']);
const IMAGE_FILE = /^[^\s,]+\.(?:jpe?g|png|webp|avif|gif)(?:[?#][^\s,]*)?$/i;
const MAX_ADDRESS = 2_000;

type WrittenImage = { part: number; isPlaceholder: boolean };

/** Writes the chosen subtrees, without dropped nodes, as markup for the sanitiser. */
export function writeArticle(page: Page, { roots, dropped }: Choice, pageUrl: string): string {
  const { tree } = page;
  const base = baseOf(page, pageUrl);
  const parts: string[] = [];
  const open: { node: number; tag: string }[] = [];
  let lastImage: WrittenImage | undefined; // no text was written behind this image
  for (const root of roots) writeSubtree(root);
  const around = inherited(page, roots[0] ?? 0);
  return around === '' ? parts.join('') : `<div${around}>${parts.join('')}</div>`;

  function writeSubtree(root: number): void {
    const end = tree.ends[root] ?? 0;
    for (let node = root; node < end; node += 1) {
      closeBefore(node);
      if (dropped[node] === 1) node = (tree.ends[node] ?? 0) - 1;
      else writeNode(node);
    }
    closeBefore(Infinity);
  }

  function closeBefore(node: number): void {
    for (let last = open.at(-1); last && (tree.ends[last.node] ?? 0) <= node; last = open.at(-1)) {
      parts.push(`</${last.tag}>`);
      open.pop();
    }
  }

  function writeNode(node: number): void {
    const name = tree.names[node] ?? '';
    const attributes = tree.attributes[node] ?? new Map<string, string>();
    if (name === '') return writeText(node);
    if (name === 'math') return void parts.push(tree.formulas.get(node) ?? '');
    if (IMAGES.has(name)) return writeImage(node, attributes);
    if (node === 0 || name === 'noscript' || isNeedless(node, name, attributes)) return void parts.push('\n');
    const tag = tagOf(node, name);
    parts.push(`<${tag}${written(frameOf(name, attributes))}>`);
    if (!VOID_ELEMENTS.has(tag)) open.push({ node, tag });
  }

  function writeText(node: number): void {
    parts.push(escapeText(tree.texts[node] ?? ''));
    if ((page.sizes[node] ?? 0) > 1) lastImage = undefined;
  }

  function isNeedless(node: number, name: string, attributes: Attributes): boolean {
    if (isLayout(node, name)) return true;
    if (!WRAPPERS.has(name) || page.isOuter[node] === 0 || page.hasText[node] === 1) return false;
    return !['id', 'dir', 'lang'].some((key) => attributes.has(key));
  }

  /** Whether the element is a part of a table that has a single column and no headings. */
  function isLayout(node: number, name: string): boolean {
    if (name === 'table') return isSingleColumn(node);
    if (!/^(?:tbody|thead|tfoot|tr)$/.test(name)) return false;
    return !open.some(({ tag }) => tag === 'table');
  }

  function isSingleColumn(table: number): boolean {
    const names = tree.names.slice(table, tree.ends[table]);
    const count = (name: string): number => names.filter((other) => other === name).length;
    return count('th') + count('caption') === 0 && count('td') <= count('tr');
  }

  function tagOf(_node: number, name: string): string {
    if ((name === 'td' || name === 'th') && !open.some(({ tag }) => tag === 'table')) return 'div';
    return name.startsWith('amp-') ? 'iframe' : name;
  }

  function writeImage(node: number, attributes: Attributes): void {
    const candidates = [...imageCandidates(attributes), ...sourcesOf(node)];
    const isPlaceholder = isLazy(attributes);
    if (isPlaceholder) candidates.push(...hiddenCandidates(attributes));
    const url = largestImage(candidates, base);
    const isSubstitute = tree.names[tree.parents[node] ?? 0] === 'noscript';
    if (isSubstitute && (url === undefined || isTracker(attributes, url))) return;
    if (isSubstitute && lastImage !== undefined) {
      if (!lastImage.isPlaceholder) return;
      parts[lastImage.part] = '';
    }
    const others = new Map([...attributes].filter(([name]) => name !== 'src'));
    lastImage = { part: parts.length, isPlaceholder: url === undefined || isPlaceholder };
    parts.push(url === undefined ? '' : `<img src="${escapeHtml(url.href)}"${written(others)}>`);
  }

  /** The candidates of the source elements beside an image of a `picture`. */
  function sourcesOf(node: number): ReturnType<typeof imageCandidates> {
    const parent = tree.parents[node] ?? 0;
    if (tree.names[parent] !== 'picture') return [];
    const found: ReturnType<typeof imageCandidates> = [];
    for (let at = parent + 1; at < node; at += 1) {
      if (tree.names[at] === 'source') found.push(...imageCandidates(tree.attributes[at] ?? new Map()));
    }
    return found;
  }

  function written(attributes: Attributes): string {
    let text = '';
    for (const [name, value] of attributes) {
      if (ATTRIBUTES.has(name)) text += ` ${name}="${escapeHtml(ADDRESSES.has(name) ? resolved(value) : value)}"`;
    }
    return text;
  }

  /** An address for the sanitiser, which resolves addresses against the page instead of the page's `base`. */
  function resolved(address: string): string {
    if (base === pageUrl || address.startsWith('#') || address.length > MAX_ADDRESS) return address;
    return URL.parse(address, base)?.href ?? address;
  }
}

/** The address against which the page's own addresses are resolved. */
function baseOf({ tree }: Page, pageUrl: string): string {
  const node = tree.names.indexOf('base');
  const href = tree.attributes[node]?.get('href');
  return href === undefined ? pageUrl : URL.parse(href, pageUrl)?.href ?? pageUrl;
}

/** The direction and language that the chosen part gets from the elements around. */
function inherited({ tree }: Page, root: number): string {
  let found = '';
  for (const name of ['dir', 'lang']) {
    let node = tree.parents[root] ?? 0;
    while (node > 0 && !tree.attributes[node]?.has(name)) node = tree.parents[node] ?? 0;
    const value = tree.attributes[Math.max(0, node)]?.get(name);
    if (value) found += ` ${name}="${escapeHtml(value)}"`;
  }
  return found;
}

function isLazy(attributes: Attributes): boolean {
  const source = attributes.get('src')?.trim() ?? '';
  return source === '' || source.startsWith('data:') || /lazy|placeholder/i.test(attributes.get('class') ?? '')
    || [...attributes.keys()].some((name) => /^data-.*(?:src|original|lazy)/.test(name));
}

/** Image files that attributes of unknown names mention. */
function hiddenCandidates(attributes: Attributes): { address: string; size: number }[] {
  return [...attributes]
    .filter(([name, value]) => name.startsWith('data-') && value.length <= MAX_ADDRESS && IMAGE_FILE.test(value))
    .map(([, address]) => ({ address, size: 1.5 }));
}

/** The attributes of an element; the films of AMP get the address of a frame. */
function frameOf(name: string, attributes: Attributes): Attributes {
  if (name === 'iframe' && !attributes.has('src')) return new Map([...attributes, ['src', attributes.get('data-src') ?? '']]);
  if (name !== 'amp-youtube') return attributes;
  return new Map([['src', `https://www.youtube.com/embed/${attributes.get('data-videoid') ?? ''}`]]);
}
