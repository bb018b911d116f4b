import { HEADINGS } from '../../platform/markup/implied-ends.ts';
import { isApart, type ChosenPart, type Rules } from './find-article.ts';
import { NODES_AT_ONCE, parentOf, sumSubtrees, type MeasuredPage } from './measure-page.ts';
import { ADDITION, shareOf, wordsOf } from './page-words.ts';

/** Elements that are no part of the article if they hold mostly links. */
const BOXES = new Set('div section ul ol dl table fieldset header'.split(' '));
/** The most characters of a byline, of an addition to the article (a block that matches ADDITION), and of a caption. */
const [MAX_BYLINE, MAX_ADDITION, MAX_CAPTION] = [150, 160, 400];
const MAX_HEADING_NODES = 100;
/** A heading, whose words are compared with the title, takes as much time as this number of other nodes. */
const HEADING_WORK = 200;
const [MIN_CAPTION, LEVELS, SAME_TITLE, MANY_LINKS, MIN_COLUMN] = [60, 4, 0.75, 0.5, 20];

/** Drops what is no part of the article from the subtrees that `findArticle` chose. Returns the article's length. */
export function* cleanArticle(
  page: MeasuredPage, { roots, dropped, texts: { sizes, links } }: ChosenPart, { cleans }: Rules, titles: string[],
): Generator<void, number> {
  const { tree, hints, isOuter, blocks, prose } = page;
  const titleWords = titles.map((title) => wordsOf(title)).filter((words) => words.size > 0);
  const captions = new Set<string>();
  const halfOfProse = roots.reduce((sum, root) => sum + (prose[root] ?? 0), 0) / 2;
  const [rows, cells] = [yield* countElements(['tr']), yield* countElements(['td', 'th'])];
  let [left, work] = [0, 0];
  for (const root of roots) {
    for (let node = root; node < (tree.ends[root] ?? 0); node += 1) {
      const name = tree.names[node] ?? '';
      if ((work += HEADINGS.has(name) ? HEADING_WORK : 1) > NODES_AT_ONCE) [work] = [0, yield];
      if (dropped[node] === 0 && node !== root && name !== '' && isNoPart(node, name)) dropped[node] = 1;
      if (dropped[node] === 1) node = (tree.ends[node] ?? 0) - 1;
      else left += page.sizes[node] ?? 0;
    }
  }
  return left;

  function* countElements(wanted: string[]): Generator<void, Int32Array> {
    const found = Int32Array.from(tree.names, (name) => Number(wanted.includes(name)));
    yield;
    return sumSubtrees(page, found, dropped);
  }

  function isNoPart(node: number, name: string): boolean {
    if (HEADINGS.has(name) && repeatsTitle(node)) return true;
    if (!cleans) return false;
    if (isApart(page, node) && isByline(node, name)) return true;
    if (blocks[node] === node && isOuter[node] === 0 && (isAddition(node) || repeatsCaption(node))) return true;
    if ((prose[node] ?? 0) > halfOfProse) return false;
    if (name === 'form') return true;
    const size = sizes[node] ?? 0;
    const isBox = name === 'td' ? size > MIN_COLUMN : BOXES.has(name) && !(name === 'table' && isDataTable(node));
    if (!isBox || hints[node]?.isMedia === true || isWithin('isNotes', node)) return false;
    return (links[node] ?? 0) > size * MANY_LINKS;
  }

  function repeatsTitle(node: number): boolean {
    if ((sizes[node] ?? 0) > MAX_CAPTION || (tree.ends[node] ?? 0) - node > MAX_HEADING_NODES) return false;
    const words = wordsOf(textOf(node));
    return titleWords.some((title) => shareOf(words, title) > SAME_TITLE && words.size >= Math.min(3, title.size / 2));
  }

  function textOf(node: number): string {
    return tree.texts.slice(node, tree.ends[node]).join('').trim();
  }

  function isByline(node: number, name: string): boolean {
    const size = sizes[node] ?? 0;
    if (name === 'td' || name === 'th') return false; // a time in a timetable is no byline
    return size > 0 && size < MAX_BYLINE && hints[node]?.isByline === true;
  }

  function isAddition(node: number): boolean {
    const size = sizes[node] ?? 0;
    return size > 0 && size < MAX_ADDITION && ADDITION.test(textOf(node));
  }

  function repeatsCaption(node: number): boolean {
    const size = sizes[node] ?? 0;
    if (size < MIN_CAPTION || size > MAX_CAPTION || !isWithin('isMedia', node)) return false;
    const { size: before } = captions;
    return captions.add(textOf(node)).size === before;
  }

  function isWithin(kind: 'isMedia' | 'isNotes', element: number): boolean {
    for (let [node, level] = [element, 0]; node > 0 && level < LEVELS; level += 1) {
      if (hints[node]?.[kind] === true) return true;
      node = parentOf(page, node);
    }
    return false;
  }

  function isDataTable(table: number): boolean {
    const [row, cell] = [rows[table] ?? 0, cells[table] ?? 0];
    return row >= 3 && cell >= 2 * row && (sizes[table] ?? 0) < cell * 100;
  }
}
