import { HEADINGS } from '../../platform/markup/implied-ends.ts';
import { isApart, type Choice, type Rules } from './find-article.ts';
import type { Page } from './measure-page.ts';
import { shareOf, wordsOf } from './shared-words.ts';

const CONDITIONAL = new Set('div section ul ol dl table form fieldset header'.split(' '));
const LISTS = new Set(['ul', 'ol', 'dl']);
const KEEPS = new Set(['figure', 'pre', 'code']);
/** The elements of which each subtree's number is counted. */
const COUNTED = {
  paragraphs: ['p'], images: ['img', 'amp-img'], items: ['li'], inputs: ['input', 'textarea'], frames: ['iframe', 'video'],
  cells: ['caption', 'colgroup', 'thead', 'th'], rows: ['tr'], fields: ['td'],
};

/** How short blocks begin that lead away from the article. */
const ADDITIONS = new RegExp([
  'advert(?:isement)?$|sponsored$|ad$|related(?: |:|$)|you may also|you might also|see also:|see more|read (?:more|next|also)',
  'more (?:on|from|stories|news|about)\\b.{0,40}$|don.t miss|recommended|most (?:read|popular)|trending|also on|click here',
  'subscribe|sign up|get the latest|follow (?:us|@|me)|like us|share (?:this|on)|like this:|leave a (?:reply|comment)',
  'comments?$|no comments|post a comment|comments are closed|tags?:|tags?$|filed under|posted in|categor(?:y|ies):',
  'copyright|©|all rights reserved|(?:previous|next) (?:post|article)|this slideshow requires|media playback is unsupported',
  'anzeige$|lesen sie auch|mehr zum thema|auch interessant|weiterlesen|teilen$|das könnte sie|publicité$|(?:à )?lire aussi',
  'sur le même sujet|voir aussi :|partager|publicidad$|publicidade$|lea también|lee también|te puede interesar|compartir$',
  'leia (?:também|mais)|veja também|compartilhe|leggi anche|condividi|ti potrebbe|lees ook|czytaj (?:także|też|więcej)',
  'zobacz (?:też|także)|читайте также|смотрите также|поделиться|читать далее|関連記事|あわせて読みたい|相关阅读|延伸閱讀|관련기사',
].map((line) => `^(?:${line})`).join('|'), 'i');

/** Drops what does not read like a part of the article. Returns the number of characters that are left. */
export function cleanArticle(page: Page, { roots, dropped }: Choice, rules: Rules, titles: string[]): number {
  const { tree, sizes, commas, linked, hints } = page;
  const titleWords = titles.map(wordsOf).filter((words) => words.size > 0);
  let left = 0;
  const { count } = page;
  const sums = () => new Float64Array(count);
  const [all, links, signs] = [sums(), sums(), sums()];
  const counts = Object.values(COUNTED).map((names) => ({ names, found: new Int32Array(count) }));
  const [paragraphs, images, items, inputs, frames, cells, rows, fields] = counts.map(({ found }) => found);
  const kept = markKept();
  const seen = new Set<string>();
  const most = roots.reduce((sum, root) => sum + (page.prose[root] ?? 0), 0) / 2;
  for (const root of roots.toReversed()) cleanSubtree(root);
  for (const root of roots) left += all[root] ?? 0;
  return left;

  function markKept(): Uint8Array {
    const found = new Uint8Array(count);
    for (const root of roots) {
      for (let node = root; node < (tree.ends[root] ?? 0); node += 1) {
        found[node] = node > root && (found[tree.parents[node] ?? 0] === 1 || KEEPS.has(tree.names[node] ?? '')) ? 1 : 0;
      }
    }
    return found;
  }

  function cleanSubtree(root: number): void {
    for (let node = (tree.ends[root] ?? 0) - 1; node >= root; node -= 1) {
      if (dropped[node] === 1) continue;
      const name = tree.names[node] ?? '';
      const size = sizes[node] ?? 0;
      all[node] = (all[node] ?? 0) + size;
      links[node] = (links[node] ?? 0) + size * (linked[node] ?? 0);
      signs[node] = (signs[node] ?? 0) + (commas[node] ?? 0);
      if (node !== root && isDropped(node, name)) {
        dropped[node] = 1;
        continue;
      }
      if (node === root) continue;
      const parent = tree.parents[node] ?? 0;
      const counted = name === 'div' && page.isOuter[node] === 0 && (all[node] ?? 0) >= 25 ? 'p' : name;
      for (const { names, found } of counts) {
        if (names.includes(counted)) found[node] = (found[node] ?? 0) + 1;
        found[parent] = (found[parent] ?? 0) + (found[node] ?? 0);
      }
      for (const sum of [all, links, signs]) sum[parent] = (sum[parent] ?? 0) + (sum[node] ?? 0);
    }
  }

  function isDropped(node: number, name: string): boolean {
    if (isAddition(node, name)) return true;
    if (page.blocks[node] === node && page.isOuter[node] === 0 && isPhrase(node)) return true;
    if (HEADINGS.has(name)) return isBadHeading(node, name);
    if (!rules.cleans || !CONDITIONAL.has(name) || kept[node] === 1) return false;
    if (name === 'table' && isData(node)) return false;
    if ((page.prose[node] ?? 0) > most || (page.isOuter[node] === 0 && (page.prose[node] ?? 0) > 0)) return false;
    const weight = rules.usesWeights ? hints[node]?.weight ?? 0 : 0;
    if (weight < 0) return true;
    if ((signs[node] ?? 0) >= 10) return false;
    const size = all[node] ?? 0;
    const density = size === 0 ? 0 : (links[node] ?? 0) / size;
    const isList = LISTS.has(name);
    const [p, img, li, input] = [paragraphs?.[node] ?? 0, images?.[node] ?? 0, items?.[node] ?? 0, inputs?.[node] ?? 0];
    if (img > 1 && p / img < 0.5) return true;
    if (!isList && li - 100 > p) return true;
    if (input > Math.floor(p / 3)) return true;
    if (!isList && size < 25 && (img === 0 || img > 2) && density > 0) return true;
    if (!isList && weight < 25 && density > 0.2) return true;
    if (weight >= 25 && density > 0.5) return true;
    return img === 0 && size === 0 && (frames?.[node] ?? 0) === 0;
  }

  function isData(table: number): boolean {
    if ((cells?.[table] ?? 0) > 0) return true;
    const [tr, td] = [rows?.[table] ?? 0, fields?.[table] ?? 0];
    return tr >= 3 && td >= 2 * tr && (all[table] ?? 0) < td * 100 && (paragraphs?.[table] ?? 0) < tr;
  }

  /** Whether a short block begins like an advertisement or a hint to other pages, or repeats a block behind. */
  function isPhrase(node: number): boolean {
    const size = all[node] ?? 0;
    if (size === 0 || size > 400 || !rules.cleans) return false;
    const text = tree.texts.slice(node, tree.ends[node]).join('').trim();
    if (size < 160 && ADDITIONS.test(text)) return true;
    if (size < 60 || !isInMedia(node)) return false;
    const isRepeated = seen.has(text);
    seen.add(text);
    return isRepeated;
  }

  /** Whether a block is a caption: a picture, a film or a gallery is the block or one of three elements around. */
  function isInMedia(block: number): boolean {
    for (let [node, level] = [block, 0]; node > 0 && level < 4; level += 1) {
      if (hints[node]?.isMedia === true || tree.names[node] === 'figcaption') return true;
      node = tree.parents[node] ?? 0;
    }
    return false;
  }

  function isAddition(node: number, name: string): boolean {
    if (name === '' || !rules.cleans || !isApart(page, node)) return false;
    const hint = hints[node];
    const size = all[node] ?? 0;
    if (size > 0 && size < 150 && (hint?.isByline === true || isAuthor(node))) return true;
    return hint?.hasClutter === true && rules.dropsClutter && (page.prose[node] ?? 0) <= most * 0.3;
  }

  function isAuthor(node: number): boolean {
    const { rel, itemprop } = Object.fromEntries(tree.attributes[node] ?? []);
    return rel === 'author' || /^(?:author|datePublished|dateModified)$/.test(itemprop ?? '');
  }

  function isBadHeading(node: number, name: string): boolean {
    if (rules.usesWeights && (hints[node]?.weight ?? 0) < 0) return true;
    if (name !== 'h1' && name !== 'h2') return false;
    const words = wordsOf(tree.texts.slice(node, tree.ends[node]).join(' '));
    return words.size > 0 && titleWords.some((title) => shareOf(words, title) > 0.75);
  }
}
