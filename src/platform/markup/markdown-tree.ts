import type { LineCursor } from './markdown-line.ts';
import { type LinkReferences, readDefinition } from './markdown-links.ts';

/** The marker of a list item. All items of a list have the same `sign`, the last character of their markers. */
export type ListMarker = { sign: string; number: number | undefined };

type BlockContent =
  | { kind: 'document' | 'quote' | 'rule' }
  | { kind: 'list'; marker: ListMarker; isLoose: boolean }
  | { kind: 'item'; indent: number }
  | { kind: 'paragraph' }
  | { kind: 'heading'; level: number }
  | { kind: 'code'; fence: { sign: string; length: number; indent: number; info: string } | undefined }
  | { kind: 'html'; end: string | RegExp | undefined }
  | { kind: 'table'; alignments: string[] };

/** A block of a document. Blocks without inner blocks have text, a string for each line. */
export type MarkdownBlock = BlockContent & {
  firstLine: number; lastLine: number; children: MarkdownBlock[]; text: string[];
};

export type BlockOf<Kind extends MarkdownBlock['kind']> = MarkdownBlock & { kind: Kind };

export type BlockReader = {
  references: LinkReferences;
  lineNumber: number;
  cursor: LineCursor;
  /** The blocks that may go on, from the document inwards; not empty before the end. */
  open: MarkdownBlock[];
  /** How many of the open blocks go on in the current line. */
  matched: number;
};

/** Each open block reads each line, so that deeper blocks would make lines slow. */
const MAX_OPEN_BLOCKS = 90;

/** Whether a quote or a list item may begin in the current line. */
export function mayNest({ matched }: BlockReader): boolean {
  return matched < MAX_OPEN_BLOCKS;
}

/** The innermost open block, which may end in the current line. */
export function innermost({ open }: BlockReader): MarkdownBlock {
  return open.at(-1) as MarkdownBlock;
}

/** The innermost open block that goes on in the current line. */
export function container({ open, matched }: BlockReader): MarkdownBlock {
  return open[matched - 1] as MarkdownBlock;
}

/** Ends the blocks that do not go on in the current line; begins a block in the innermost block that may hold it. */
export function openBlock(reader: BlockReader, content: BlockContent): MarkdownBlock {
  closeUnmatched(reader);
  while (!mayHold(innermost(reader), content)) closeInnermost(reader);
  const { lineNumber } = reader;
  const block: MarkdownBlock = { ...content, firstLine: lineNumber, lastLine: lineNumber, children: [], text: [] };
  innermost(reader).children.push(block);
  reader.open.push(block);
  reader.matched = reader.open.length;
  return block;
}

function mayHold({ kind }: MarkdownBlock, content: BlockContent): boolean {
  if (kind === 'list') return content.kind === 'item';
  return kind === 'document' || kind === 'quote' || kind === 'item';
}

/** Ends the blocks that do not go on in the current line. */
export function closeUnmatched(reader: BlockReader): void {
  while (reader.open.length > reader.matched) closeInnermost(reader);
}

export function closeInnermost(reader: BlockReader): void {
  const block = reader.open.pop();
  if (block === undefined) return;
  reader.matched = Math.min(reader.matched, reader.open.length);
  if (block.kind === 'paragraph') takeDefinitions(block, reader.references);
  if (block.kind === 'list') block.isLoose = block.children.some(isFollowedByBlank) || hasLooseItem(block);
  const last = block.children.at(-1);
  if (last !== undefined) block.lastLine = Math.max(last.lastLine, block.kind === 'quote' ? block.lastLine : 0);
}

function hasLooseItem(list: MarkdownBlock): boolean {
  return list.children.some(({ children }) => children.some(isFollowedByBlank));
}

function isFollowedByBlank({ lastLine }: MarkdownBlock, index: number, siblings: MarkdownBlock[]): boolean {
  const next = siblings[index + 1];
  return next !== undefined && next.firstLine > lastLine + 1;
}

/** Takes the link reference definitions from the beginning of a paragraph. */
export function takeDefinitions(paragraph: MarkdownBlock, references: LinkReferences): void {
  if (paragraph.text[0]?.startsWith('[') !== true) return;
  const text = paragraph.text.join('\n');
  let at = 0;
  for (let end = readDefinition(text, at, references); end > at; end = readDefinition(text, at, references)) at = end;
  if (at > 0) paragraph.text = at >= text.length ? [] : text.slice(at).split('\n');
}
