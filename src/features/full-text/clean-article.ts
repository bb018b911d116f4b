import { HEADINGS } from '../../platform/markup/implied-ends.ts';
import { isApart, type ChosenPart, type Rules } from './find-article.ts';
import { NODES_AT_ONCE, parentOf, raise, type MeasuredPage } from './measure-page.ts';
import { ADDITION } from './page-phrases.ts';
import { shareOf, wordsOf } from './shared-words.ts';

const CONDITIONAL = new Set('div section ul ol dl table form fieldset header'.split(' '));
const LISTS = new Set(['ul', 'ol', 'dl']);
const KEPT = new Set(['figure', 'pre', 'code', 'math', 'img', 'amp-img', 'picture', 'iframe', 'video', 'audio']);
/** Elements that only tables of data have. */
const TABLE_HEADS = new Set(['caption', 'colgroup', 'thead', 'th']);
const BYLINE_ITEMS = /^(?:author|datePublished|dateModified)$/;
/** The most characters of a byline, of a block that an ADDITION begins, and of a caption. */
const [MAX_BYLINE, MAX_ADDITION, MAX_CAPTION] = [150, 160, 400];
const MAX_HEADING_NODES = 100;
const [MIN_CAPTION, LEVELS, SAME_TITLE, MANY_LINKS] = [60, 4, 0.75, 0.5];

/** Drops parts of the chosen subtrees that are no part of the article. Returns the number of characters left. */
export function* cleanArticle(
  page: MeasuredPage, { roots, dropped }: ChosenPart, { dropsClutter, cleans }: Rules, titles: string[],
): Generator<void, number> {
  const { tree, hints, isOuter, blocks, prose, count } = page;
  const titleWords = titles.map((title) => wordsOf(title)).filter((words) => words.size > 0);
  const captions = new Set<string>();
  const most = roots.reduce((sum, root) => sum + (prose[root] ?? 0), 0) / 2;
  const all = new Int32Array(count);
  const [links, kept, heads, rows, cells] = [all, all, all, all, all].map((array) => array.slice()) as Five;
  for (const root of roots.toReversed()) yield* cleanSubtree(root);
  return roots.reduce((sum, root) => sum + (all[root] ?? 0), 0);

  function* cleanSubtree(root: number): Generator<void, void> {
    for (let node = (tree.ends[root] ?? 0) - 1; node >= root; node -= 1) {
      if (node % NODES_AT_ONCE === 0) yield;
      if (dropped[node] === 1) continue;
      const name = tree.names[node] ?? '';
      raise(all, node, page.sizes[node] ?? 0);
      raise(links, node, page.linkedSizes[node] ?? 0);
      raise(kept, node, Number(KEPT.has(name)));
      raise(heads, node, Number(TABLE_HEADS.has(name)));
      raise(rows, node, Number(name === 'tr'));
      raise(cells, node, Number(name === 'td'));
      if (node === root) break;
      if (name !== '' && isNoPart(node, name)) dropped[node] = 1;
      else for (const sum of [all, links, kept, heads, rows, cells]) raise(sum, parentOf(page, node), sum[node] ?? 0);
    }
  }

  function isNoPart(node: number, name: string): boolean {
    if (HEADINGS.has(name) && repeatsTitle(node)) return true;
    if (!cleans) return false;
    if (isApart(page, node) && (isByline(node, name) || isClutter(node))) return true;
    if (blocks[node] === node && isOuter[node] === 0 && (isAddition(node) || repeatsCaption(node))) return true;
    if (!CONDITIONAL.has(name) || (prose[node] ?? 0) > most || (name === 'table' && isData(node))) return false;
    const size = all[node] ?? 0;
    if (hints[node]?.isMedia === true || isWithin('isNotes', node)) return false;
    return size === 0 ? kept[node] === 0 : (links[node] ?? 0) > size * (LISTS.has(name) ? 0.9 : MANY_LINKS);
  }

  function repeatsTitle(node: number): boolean {
    if ((all[node] ?? 0) > MAX_CAPTION || (tree.ends[node] ?? 0) - node > MAX_HEADING_NODES) return false;
    const words = wordsOf(textOf(node));
    return titleWords.some((title) => shareOf(words, title) > SAME_TITLE && words.size >= Math.min(3, title.size / 2));
  }

  function textOf(node: number): string {
    return tree.texts.slice(node, tree.ends[node]).join('').trim();
  }

  function isByline(node: number, name: string): boolean {
    const size = all[node] ?? 0;
    if (name === 'td' || name === 'th') return false; // a time in a timetable is no byline
    const item = tree.attributes[node]?.get('itemprop') ?? '';
    return size > 0 && size < MAX_BYLINE && (hints[node]?.isByline === true || BYLINE_ITEMS.test(item));
  }

  function isClutter(node: number): boolean {
    return dropsClutter && hints[node]?.hasClutter === true && (prose[node] ?? 0) <= most * 0.3;
  }

  function isAddition(node: number): boolean {
    const size = all[node] ?? 0;
    return size > 0 && size < MAX_ADDITION && ADDITION.test(textOf(node));
  }

  /** Whether the block is a caption that stands in the page again. */
  function repeatsCaption(node: number): boolean {
    const size = all[node] ?? 0;
    if (size < MIN_CAPTION || size > MAX_CAPTION || !isWithin('isMedia', node)) return false;
    const { size: before } = captions;
    return captions.add(textOf(node)).size === before;
  }

  /** Whether an element, or one of the elements closely around, is named like media or notes. */
  function isWithin(kind: 'isMedia' | 'isNotes', element: number): boolean {
    for (let [node, level] = [element, 0]; node > 0 && level < LEVELS; level += 1) {
      if (hints[node]?.[kind] === true) return true;
      node = parentOf(page, node);
    }
    return false;
  }

  /** Whether a table holds data: headings, or several rows with short cells. */
  function isData(table: number): boolean {
    const [tr, td] = [rows[table] ?? 0, cells[table] ?? 0];
    return (heads[table] ?? 0) > 0 || (tr >= 3 && td >= 2 * tr && (all[table] ?? 0) < td * 100);
  }
}

type Five = [Int32Array, Int32Array, Int32Array, Int32Array, Int32Array];
