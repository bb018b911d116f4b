import { decodeEntities } from './entities.ts';
import { isPauseDue, joining, resumable, type Resumable } from './in-steps.ts';
import { readBlocks } from './markdown-blocks.ts';
import { escapeMarkdownText, type InlineContext, renderInlines } from './markdown-inlines.ts';
import { trimBlanks } from './markdown-line.ts';
import { unescapeMarkdown } from './markdown-links.ts';
import { MAX_INPUT_LENGTH } from './sanitize-html.ts';
import { cellsOf } from './markdown-table.ts';
import type { BlockOf, MarkdownBlock } from './markdown-tree.ts';

/** The HTML so far, its length, and how many cells of tables may still be added. */
type Draft = InlineContext & {
  html: string[]; length: number; endsLine: boolean; cellsToAdd: number;
  /** How often each id of a heading was wanted. */
  places: Map<string, number>;
};

/** After this many characters of HTML, the rest of the text is left out: the sanitiser reads no more. */
const MAX_LENGTH = MAX_INPUT_LENGTH;

/** Reference links may add this many characters of addresses and titles, or as many as their text has, if more. */
const MIN_REFERENCE_BUDGET = 100_000;

/** Rendering a block or a cell of a table counts as much work as reading this number of characters. */
const BLOCK_COST = 10;

const MAX_ADDED_CELLS = 10_000;

/** The most characters of a heading's HTML that are read for its id, and of the id without its number. */
const [MAX_HEADING, MAX_PLACE] = [2_000, 150];

/**
 * Turns Markdown into HTML: CommonMark 0.31.2, with tables, strikethrough and ids of headings as GitHub writes them.
 * Raw HTML stays in the result, which therefore has to be sanitised.
 */
export function renderingMarkdown(text: string): Resumable<string> {
  return resumable(renderDocument(text));
}

function* renderDocument(source: string): Generator<void, string> {
  const text = source.replace(/^\ufeff/, '').replaceAll('\0', '\ufffd').toWellFormed();
  const { document, references } = yield* readBlocks(text);
  const budget = Math.max(text.length, MIN_REFERENCE_BUDGET);
  const draft: Draft = {
    html: [], length: 0, endsLine: true, cellsToAdd: MAX_ADDED_CELLS, places: new Map(),
    references, budget, unpaused: 0,
  };
  yield* renderChildren(draft, document);
  return yield* joining(draft.html);
}

function* renderChildren(draft: Draft, { children }: MarkdownBlock, isTight = false): Generator<void> {
  for (const child of children) {
    if (draft.length >= MAX_LENGTH) return;
    yield* renderBlock(draft, child, isTight);
    if (isPauseDue(draft, BLOCK_COST)) yield;
  }
}

function* renderBlock(draft: Draft, block: MarkdownBlock, isTight: boolean): Generator<void> {
  switch (block.kind) {
    case 'paragraph': return yield* renderParagraph(draft, block, isTight);
    case 'heading': return yield* renderHeading(draft, block);
    case 'list': return yield* renderList(draft, block);
    case 'table': return yield* renderTable(draft, block);
    case 'code': return writeLine(draft, codeOf(block));
    case 'html': return writeLine(draft, block.text.map((line) => `${line}\n`).join(''));
    case 'rule': return writeLine(draft, '<hr />');
    default:
      writeLine(draft, '<blockquote>');
      yield* renderChildren(draft, block);
      writeLine(draft, '</blockquote>');
  }
}

function* renderParagraph(draft: Draft, block: MarkdownBlock, isTight: boolean): Generator<void> {
  if (block.text.length === 0) return;
  const html = yield* renderText(draft, block);
  if (isTight) write(draft, html);
  else writeLine(draft, `<p>${html}</p>`);
}

function* renderHeading(draft: Draft, block: BlockOf<'heading'>): Generator<void> {
  const html = yield* renderText(draft, block);
  writeLine(draft, `<h${block.level}${placeOf(draft, html)}>${html}</h${block.level}>`);
}

/** The id of a heading, of its words as GitHub makes it; a repeated one gets a number. */
function placeOf({ places }: Draft, html: string): string {
  const words = decodeEntities(html.slice(0, MAX_HEADING).replace(/<[^<>]*>/g, '')).toLowerCase().replaceAll('\n', ' ');
  const id = words.replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '').replaceAll(' ', '-').slice(0, MAX_PLACE);
  const times = places.get(id) ?? 0;
  places.set(id, times + 1);
  return id === '' ? '' : ` id="${times === 0 ? id : `${id}-${times}`}"`;
}

function* renderText(draft: Draft, { text }: MarkdownBlock): Generator<void, string> {
  return yield* renderInlines(trimBlanks(text.join('\n')), draft);
}

function* renderList(draft: Draft, list: BlockOf<'list'>): Generator<void> {
  const { marker: { number } } = list;
  const name = number === undefined ? 'ul' : 'ol';
  writeLine(draft, number === undefined || number === 1 ? `<${name}>` : `<ol start="${number}">`);
  for (const item of list.children) {
    write(draft, '<li>');
    yield* renderChildren(draft, item, !list.isLoose);
    write(draft, '</li>');
    startLine(draft);
  }
  writeLine(draft, `</${name}>`);
}

function* renderTable(draft: Draft, table: BlockOf<'table'>): Generator<void> {
  const [header = '', ...rows] = table.text;
  writeLine(draft, '<table>\n<thead>');
  yield* renderRow(draft, table, header, 'th');
  writeLine(draft, '</thead>');
  if (rows.length > 0) writeLine(draft, '<tbody>');
  for (const row of rows) if (draft.length < MAX_LENGTH) yield* renderRow(draft, table, row, 'td');
  if (rows.length > 0) writeLine(draft, '</tbody>');
  writeLine(draft, '</table>');
}

function* renderRow(draft: Draft, { alignments }: BlockOf<'table'>, row: string, name: string): Generator<void> {
  const cells = cellsOf(row).slice(0, alignments.length);
  const missing = Math.min(alignments.length - cells.length, draft.cellsToAdd);
  draft.cellsToAdd -= missing;
  writeLine(draft, '<tr>');
  for (const [index, cell] of [...cells, ...Array<string>(missing).fill('')].entries()) {
    const alignment = alignments[index];
    const html = yield* renderInlines(cell, draft);
    writeLine(draft, `<${name}${alignment ? ` align="${alignment}"` : ''}>${html}</${name}>`);
    if (isPauseDue(draft, BLOCK_COST)) yield;
  }
  writeLine(draft, '</tr>');
}

function codeOf({ fence, text, firstLine, lastLine }: BlockOf<'code'>): string {
  const lines = fence === undefined ? text.slice(0, lastLine - firstLine + 1) : text;
  const language = /^[^\s]*/.exec(unescapeMarkdown(fence?.info ?? ''))?.[0] ?? '';
  const prefix = language.startsWith('language-') ? '' : 'language-';
  const attribute = language === '' ? '' : ` class="${escapeMarkdownText(prefix + language)}"`;
  return `<pre><code${attribute}>${lines.map((line) => `${escapeMarkdownText(line)}\n`).join('')}</code></pre>`;
}

function writeLine(draft: Draft, html: string): void {
  startLine(draft);
  write(draft, html);
  startLine(draft);
}

function startLine(draft: Draft): void {
  if (!draft.endsLine) write(draft, '\n');
}

function write(draft: Draft, html: string): void {
  if (html === '') return;
  draft.html.push(html);
  draft.length += html.length;
  draft.endsLine = html.endsWith('\n');
}
