import { decodeEntities, escapeHtml } from './entities.ts';
import { withoutForeignContent } from './foreign-content.ts';
import { readNoscript, tokenizingHtml, VOID_ELEMENTS, type Attributes } from './html-tokenizer.ts';
import { STEP } from './in-steps.ts';
import {
  BLOCK_ELEMENTS, END_RULES, FORMATTING_ELEMENTS, HEADINGS, PARAGRAPH_END, scopeOf, type EndRule,
} from './implied-ends.ts';

/**
 * A page as a flat tree: one array for each property, the nodes in document order. The subtree of node `n` is the range
 * of nodes from index `n` to index `ends[n] - 1`. Node 0 is the page; the elements html, head and body are no nodes.
 */
export type HtmlTree = {
  /** The name of each node's element; '' if the node is a text. */
  names: string[];
  attributes: Attributes[];
  /** The decoded text of each node that is a text, and the visible characters of each formula; '' for other nodes. */
  texts: string[];
  parents: number[];
  /** For each node, the index after the last node of its subtree. */
  ends: number[];
  /** The safe markup of each formula, by the index of its node. */
  formulas: Map<number, string>;
  title: string;
  /** The contents of scripts of the type application/ld+json. */
  linkedData: string[];
};

export const MAX_NODES = 250_000;
/** The greatest depth of a page's tree: deeper elements become siblings at this depth. */
const MAX_OPEN = 256;
const MAX_TITLE = 1_000;
/** A formula counts as this many nodes towards MAX_NODES, because it takes more time than others. */
const FORMULA_COST = 5;
const NO_ATTRIBUTES: Attributes = new Map();

/** Reads a page in parts of STEP characters. Returns null if it has more than MAX_NODES nodes and stray end tags. */
export function* readTree(html: string): Generator<void, HtmlTree | null> {
  const builder = createBuilder();
  const read = tokenizingHtml(html.toWellFormed(), builder.reader);
  for (let isOpen = true; isOpen;) {
    isOpen = read(STEP);
    if (builder.isFull()) return null;
    yield;
  }
  return builder.end();
}

function createBuilder() {
  const [names, texts, parents, ends]: [string[], string[], number[], number[]] = [[], [], [], []];
  const tree: HtmlTree = {
    names, texts, parents, ends, attributes: [], formulas: new Map(), title: '', linkedData: [],
  };
  const known = new Map<string, string>(); // keeps one copy of each element name in memory
  const open: number[] = []; // the open elements, outermost first
  const openCounts = new Map<string, number>();
  let [tooDeep, strayTags] = [0, 0];
  const pageAttributes = new Map<string, string>();
  push(add('page', NO_ATTRIBUTES));
  tree.attributes[0] = pageAttributes;

  function add(name: string, attributes: Attributes, text = ''): number {
    const node = names.length;
    names.push(known.get(name) ?? (known.set(name, name), name));
    tree.attributes.push(attributes.size === 0 ? NO_ATTRIBUTES : attributes);
    texts.push(text);
    parents.push(open.at(-1) ?? -1);
    ends.push(node + 1);
    return node;
  }

  function push(node: number): void {
    const name = names[node] ?? '';
    open.push(node);
    openCounts.set(name, (openCounts.get(name) ?? 0) + 1);
  }

  function closeTo(depth: number): void {
    while (open.length > depth) {
      const node = open.pop() ?? 0;
      const name = names[node] ?? '';
      ends[node] = names.length;
      openCounts.set(name, (openCounts.get(name) ?? 1) - 1);
    }
  }

  function findOpen(wanted: ReadonlySet<string>, bounds: ReadonlySet<string>): number {
    for (let depth = open.length - 1; depth > 0; depth -= 1) {
      const name = names[open[depth] ?? 0] ?? '';
      if (wanted.has(name)) return depth;
      if (bounds.has(name)) return -1;
    }
    return -1;
  }

  /** Closes the elements whose end tags may be missing before a start tag of this name, such as `li` before `li`. */
  function closeImplied(name: string): void {
    if (BLOCK_ELEMENTS.has(name)) closeIfOpen(PARAGRAPH_END);
    const rule = END_RULES.get(name);
    if (rule !== undefined) closeIfOpen(rule);
  }

  function closeIfOpen({ ended, bounds }: EndRule): void {
    if (!isAnyOpen(ended)) return;
    const depth = findOpen(ended, bounds);
    if (depth !== -1) closeTo(depth);
  }

  function startTag(name: string, attributes: Attributes): void {
    if (name === 'html' || name === 'head' || name === 'body') return describePage(attributes);
    closeImplied(name);
    const node = add(name, attributes);
    if (VOID_ELEMENTS.has(name)) return;
    if (open.length < MAX_OPEN) push(node);
    else tooDeep += 1;
  }

  function describePage(attributes: Attributes): void {
    for (const name of ['dir', 'lang']) {
      const value = attributes.get(name);
      if (value !== undefined && !pageAttributes.has(name)) pageAttributes.set(name, value);
    }
  }

  function endTag(name: string): void {
    if (tooDeep > 0 && !VOID_ELEMENTS.has(name)) return void (tooDeep -= 1);
    if (name === 'br') return void add('br', NO_ATTRIBUTES);
    const wanted = HEADINGS.has(name) ? HEADINGS : new Set([name]);
    const depth = isAnyOpen(wanted) ? findOpen(wanted, scopeOf(name)) : -1;
    if (depth === -1) strayTags += 1;
    else if (FORMATTING_ELEMENTS.has(name)) closeAndResume(depth);
    else closeTo(depth);
  }

  function isAnyOpen(wanted: ReadonlySet<string>): boolean {
    for (const name of wanted) if ((openCounts.get(name) ?? 0) > 0) return true;
    return false;
  }

  function closeAndResume(depth: number): void {
    const blocks = open.slice(depth + 1).filter((node) => BLOCK_ELEMENTS.has(names[node] ?? ''));
    closeTo(depth);
    for (const node of blocks) push(add(names[node] ?? '', tree.attributes[node] ?? NO_ATTRIBUTES));
  }

  function rawText(name: string, written: string, attributes: Attributes): void {
    if (name === 'title') tree.title ||= decodeEntities(written.slice(0, MAX_TITLE)).trim();
    else if (name === 'noscript') readNoscript(written, (inner, its) => void (inner === 'img' && add(inner, its)));
    else if (name === 'script' && /^\s*application\/ld\+json/i.test(attributes.get('type') ?? '')) {
      tree.linkedData.push(written);
    }
  }

  const reader = withoutForeignContent({
    startTag, endTag, rawText,
    text: (text) => void add('', NO_ATTRIBUTES, text),
    formula({ markup, words, alternative }) {
      strayTags += FORMULA_COST - 1;
      tree.formulas.set(add('math', NO_ATTRIBUTES, words), markup ?? escapeHtml(alternative));
    },
  });
  return {
    reader,
    isFull: () => names.length + strayTags > MAX_NODES,
    end() {
      reader.end();
      closeTo(0);
      return tree;
    },
  };
}
