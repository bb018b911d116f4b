import { escapeHtml, escapeText } from '../../platform/markup/entities.ts';
import { VOID_ELEMENTS, type Attributes } from '../../platform/markup/html-tokenizer.ts';
import {
  imageCandidates, isLazy, isTracker, largestImage, type ImageCandidate,
} from '../../platform/markup/remote-media.ts';
import type { ChosenPart } from './find-article.ts';
import { parentOf, type MeasuredPage } from './measure-page.ts';

/** Attributes that the sanitiser reads, beside those whose names end in `src`. */
const ATTRIBUTES = new Set(
  ('id lang dir title alt class href cite datetime colspan rowspan scope span start reversed type value open width '
  + 'height style aria-label name checked data videoid data-videoid playlabel').split(' '),
);
const HOLDS_ADDRESS = /^(?:href|cite|data)$|src$/;
const IMAGES = new Set(['img', 'amp-img', 'amp-anim']);
const MAX_ADDRESS = 2_000;
/** The most characters of an article; the limit is the same for a post's content. */
export const MAX_ARTICLE_LENGTH = 400_000;
/** Writing an article pauses after so many nodes; an image takes as much time as IMAGE_WORK other nodes. */
const [NODES, IMAGE_WORK] = [5_000, 100];

/** Writes the chosen subtrees, without dropped nodes, as markup for the sanitiser, in parts. */
export function* writeArticle(
  page: MeasuredPage, { roots, dropped }: ChosenPart, pageUrl: string,
): Generator<void, string> {
  const { tree } = page;
  const base = baseOf(page, pageUrl);
  const parts: string[] = [];
  const open: { end: number; tag: string }[] = [];
  let [length, work, candidates]: [number, number, ImageCandidate[]] = [0, 0, []];
  let lastImage: { part: number; isPlaceholder: boolean } | undefined; // undefined once text follows the last image
  for (const root of roots) {
    for (let node = root; node < (tree.ends[root] ?? 0) && length < MAX_ARTICLE_LENGTH; node += 1) {
      closeBefore(node);
      if (dropped[node] === 1) node = (tree.ends[node] ?? 0) - 1;
      else writeNode(node, tree.names[node] ?? '', tree.attributes[node] ?? new Map());
      if ((work += 1) > NODES) [work] = [0, yield];
    }
    closeBefore(Infinity);
  }
  const around = inherited(page, roots[0] ?? 0);
  return around === '' ? parts.join('') : `<div${around}>${parts.join('')}</div>`;

  function write(part: string): void {
    parts.push(part);
    length += part.length;
  }

  function closeBefore(node: number): void {
    for (let last = open.at(-1); last !== undefined && last.end <= node; last = open.at(-1)) {
      write(`</${last.tag}>`);
      open.pop();
    }
  }

  function writeNode(node: number, name: string, attributes: Attributes): void {
    if (name === '') return writeText(node);
    if (name === 'math') return write(tree.formulas.get(node) ?? '');
    if (IMAGES.has(name)) return writeImage(node, attributes);
    if (node === 0 || name === 'noscript') return;
    if (name === 'picture') return void (candidates = []);
    if (tree.names[parentOf(page, node)] === 'picture') return void candidates.push(...imageCandidates(attributes));
    write(`<${name}${written(attributes)}>`);
    if (!VOID_ELEMENTS.has(name)) open.push({ end: tree.ends[node] ?? 0, tag: name });
  }

  function writeText(node: number): void {
    write(escapeText((tree.texts[node] ?? '').slice(0, MAX_ARTICLE_LENGTH - length)));
    if ((page.sizes[node] ?? 0) > 1) lastImage = undefined;
  }

  /** Writes an image with its largest file. One in a `noscript` replaces a placeholder before it, but no real image. */
  function writeImage(node: number, attributes: Attributes): void {
    const offered = [...imageCandidates(attributes), ...candidates.splice(0)];
    work += IMAGE_WORK + offered.length;
    const url = largestImage(offered, base);
    const isSubstitute = tree.names[parentOf(page, node)] === 'noscript';
    if (isSubstitute && (url === undefined || lastImage?.isPlaceholder === false || isTracker(attributes, url))) return;
    if (isSubstitute && lastImage !== undefined) parts[lastImage.part] = '';
    lastImage = { part: parts.length, isPlaceholder: isLazy(attributes) };
    const others = [...attributes].filter(([name]) => !name.endsWith('src'));
    write(`<img${written(new Map([...others, ['src', url?.href ?? '']]))}>`);
  }

  function written(attributes: Attributes): string {
    let text = '';
    for (const [name, value] of attributes) {
      const holdsAddress = HOLDS_ADDRESS.test(name);
      if (!holdsAddress && !ATTRIBUTES.has(name)) continue;
      text += ` ${name}="${escapeHtml(holdsAddress ? resolved(value) : value)}"`;
    }
    return text;
  }

  /** Resolves an address by the page's `base` element, which the sanitiser that reads the article does not know. */
  function resolved(address: string): string {
    if (base === pageUrl || address.startsWith('#') || address.length > MAX_ADDRESS) return address;
    return URL.parse(address, base)?.href ?? address;
  }
}

function baseOf({ tree }: MeasuredPage, pageUrl: string): string {
  const href = tree.attributes[tree.names.indexOf('base')]?.get('href');
  return href === undefined ? pageUrl : URL.parse(href, pageUrl)?.href ?? pageUrl;
}

function inherited(page: MeasuredPage, root: number): string {
  return ['dir', 'lang'].map((name) => {
    let node = parentOf(page, root);
    while (node > 0 && !page.tree.attributes[node]?.has(name)) node = parentOf(page, node);
    const value = page.tree.attributes[node]?.get(name) ?? '';
    return value === '' ? '' : ` ${name}="${escapeHtml(value)}"`;
  }).join('');
}
