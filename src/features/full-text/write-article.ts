import { escapeHtml, escapeText } from '../../platform/markup/entities.ts';
import { VOID_ELEMENTS } from '../../platform/markup/html-tokenizer.ts';
import type { HtmlTree } from '../../platform/markup/html-tree.ts';
import type { Choice } from './find-article.ts';

/** Writes the chosen subtrees, without the dropped nodes, as markup. */
export function writeArticle(tree: HtmlTree, { roots, dropped }: Choice): string {
  const parts: string[] = [];
  const open: number[] = [];
  for (const root of roots) writeSubtree(root);
  return parts.join('');

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
    while (open.length > 0 && (tree.ends[open.at(-1) ?? 0] ?? 0) <= node) parts.push(`</${tree.names[open.pop() ?? 0]}>`);
  }

  function writeNode(node: number): void {
    const name = tree.names[node] ?? '';
    if (name === '') return void parts.push(escapeText(tree.texts[node] ?? ''));
    if (name === 'math') return void parts.push(tree.formulas.get(node) ?? '');
    if (node === 0) return;
    parts.push(`<${name}`);
    for (const [key, value] of tree.attributes[node] ?? []) parts.push(` ${key}="${escapeHtml(value)}"`);
    parts.push('>');
    if (!VOID_ELEMENTS.has(name)) open.push(node);
  }
}
