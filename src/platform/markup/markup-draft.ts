import { escapeHtml } from './entities.ts';
import type { Attributes } from './html-tokenizer.ts';
import { isPlace, placesFrom } from './markup-places.ts';
import { fileNameOr, type ImageCandidate, imageLink, LINKED_IMAGE, mediaLink } from './remote-media.ts';

/** The most characters of a sanitised post, last end tags apart: more than 400,000 escaped quotation marks have. */
const MAX_OUTPUT_LENGTH = 2_500_000;

const INLINE = new Set(['inline', 'ruby-text']);
const BLOCK = new Set(['block', 'heading']);

/** A file that the sanitised post links to instead of embedding it. `label`: the author's, LINKED_IMAGE, or empty. */
export type FileLink = {
  url: URL; label: string; isImage: boolean; size?: string | undefined; title?: string | undefined;
  isOrnament?: boolean;
};

export type OpenElement = {
  name: string;
  /** Its name in the output, which decides nesting, even if it is left out; empty if only its content is written. */
  output: string;
  kind: string;
  startTag: string;
  isDropped: boolean;
  /** Whether the element was closed by another element's end and opened again, which may happen only once. */
  isResumed: boolean;
  /** The text for an anchor without text; empty if the anchor should vanish. */
  fallbackText: string;
  files: FileLink[];
  candidates: ImageCandidate[];
  /** The file of an `audio`, `video` or `object` element: in its place, the sanitised post links to the file. */
  source: FileLink | undefined;
  /** How long the sanitised post was before the element was opened. */
  before: Pick<MarkupDraft, 'length' | 'content'> & { chunks: number };
};

/**
 * The last image, the chunk with its link or its words (-1 without any), and `content` just after it. `isSubstitute`: a
 * `noscript` had it.
 */
type WrittenImage = {
  attributes: Attributes; file: FileLink | undefined; chunk: number; content: number; isSubstitute: boolean;
};

/** A post's sanitised markup so far, and its open elements. */
export type MarkupDraft = {
  baseUrl: string;
  isOwn: boolean;
  chunks: string[];
  length: number;
  /** The number of visible items written: texts, formulas, rules, links to files. */
  content: number;
  /** `content` just after the last formula; -1 without one. */
  formulaAt: number;
  image: WrittenImage | undefined;
  /** The last frame, and `content` just after it. */
  frame: { href: string; content: number } | undefined;
  /** The empty elements to whose ids links of the post lead. */
  wanted: Set<string>;
  isFull: boolean;
  stack: OpenElement[];
  droppedFrom: number;
  anchor: OpenElement | undefined;
};

export function createDraft(baseUrl: string, isOwn: boolean): MarkupDraft {
  return {
    baseUrl, isOwn, chunks: [], length: 0, content: 0, formulaAt: -1, image: undefined, frame: undefined,
    wanted: new Set(), isFull: false, stack: [], droppedFrom: -1, anchor: undefined,
  };
}

/** An element for `open`, which fills in `before`. */
export function element(name: string, output: string, kind: string, startTag: string): OpenElement {
  return {
    name, output, kind, startTag, isDropped: false, isResumed: false, fallbackText: '', files: [], candidates: [],
    source: undefined, before: { chunks: 0, length: 0, content: 0 },
  };
}

/** Whether the sanitised post takes no markup now: inside an element that is left out, or at its greatest length. */
export function isSilent(draft: MarkupDraft): boolean {
  return draft.droppedFrom !== -1 || draft.isFull;
}

/** Opens an element. Inside a dropped element, remembers the new element only to match its end tag. */
export function open(draft: MarkupDraft, opened: OpenElement): void {
  if (isSilent(draft)) opened.startTag = '';
  if (!fits(draft, opened.startTag)) return;
  const { chunks, length, content } = draft;
  if (opened.isDropped && draft.droppedFrom === -1) draft.droppedFrom = draft.stack.length;
  opened.before = { chunks: chunks.length, length, content };
  draft.stack.push(opened);
  if (opened.startTag === '') return;
  write(draft, opened.startTag);
  if (opened.kind === 'anchor') draft.anchor = opened;
}

/** Ends the innermost element. An empty inline element or block vanishes; the block leaves its line break. */
export function closeTop(draft: MarkupDraft, isToBeResumed = false): OpenElement | undefined {
  const closed = draft.stack.pop();
  if (closed === undefined) return undefined;
  if (draft.droppedFrom === draft.stack.length) draft.droppedFrom = -1;
  if (closed.source !== undefined) writeFile(draft, closed.source);
  if (closed.startTag === '') return closed;
  if (closed.kind === 'anchor') closeAnchor(draft, closed, isToBeResumed);
  else if (isEmpty(draft, closed)) remove(draft, closed);
  else write(draft, `</${closed.output}>`);
  return closed;
}

function isEmpty(draft: MarkupDraft, { kind, before }: OpenElement): boolean {
  if (INLINE.has(kind)) {
    let at = before.chunks + 1;
    while (isPlace(draft.chunks[at] ?? '')) at += 1;
    return at >= draft.chunks.length;
  }
  return BLOCK.has(kind) && draft.content === before.content;
}

function remove(draft: MarkupDraft, { kind, before }: OpenElement): void {
  const places = placesFrom(draft.chunks, before.chunks);
  draft.chunks.length = before.chunks;
  draft.length = before.length;
  for (const place of places) writeSeparator(draft, place);
  if (BLOCK.has(kind) && draft.chunks.at(-1) !== '\n') writeSeparator(draft, '\n');
}

function closeAnchor(draft: MarkupDraft, anchor: OpenElement, isToBeResumed: boolean): void {
  draft.anchor = undefined;
  const hasText = draft.content > anchor.before.content;
  if (hasText) write(draft, '</a>');
  else if (isToBeResumed || !writeFallbackText(draft, anchor)) remove(draft, anchor);
  if (isToBeResumed && !hasText) return;
  anchor.fallbackText = '';
  for (const file of anchor.files.splice(0)) writeFile(draft, file);
}

function writeFallbackText(draft: MarkupDraft, anchor: OpenElement): boolean {
  const [image] = anchor.files;
  const text = escapeHtml(anchor.fallbackText && (image?.label || anchor.fallbackText));
  if (text === '' || !fits(draft, text)) return false;
  if (image?.isImage) image.label = LINKED_IMAGE;
  draft.content += 1;
  write(draft, `${text}</a>`);
  return true;
}

/** Writes a link to a picture, video or other file; within an <a> element, after its </a>. */
export function writeFile(draft: MarkupDraft, file: FileLink): void {
  if (isSilent(draft)) return;
  if (draft.anchor !== undefined) {
    draft.anchor.files.push(file);
    return;
  }
  writeVisible(draft, linkBehind(draft.chunks.at(-1), file));
}

/** Writes an image in place of the last one, a placeholder; false in a link, or if nothing was written for that one. */
export function replaceImage(draft: MarkupDraft, { chunk, file }: WrittenImage, by: FileLink): boolean {
  const files = draft.anchor?.files;
  if (files !== undefined && files.at(-1) === file) files.pop();
  if (files !== undefined || chunk === -1) return false;
  const markup = linkBehind(draft.chunks[chunk - 1], by);
  if (!fits(draft, markup)) return true;
  draft.length += markup.length - (draft.chunks[chunk]?.length ?? 0);
  draft.chunks[chunk] = markup;
  return true;
}

function linkBehind(before: string | undefined, file: FileLink): string {
  return (before?.endsWith('</a>') === true ? ' ' : '') + linkTo(file);
}

function linkTo({ url, label, isImage, ...about }: FileLink): string {
  if (isImage) return imageLink(url, label || fileNameOr('Image', url), about);
  return mediaLink(url, label || fileNameOr(url.host, url));
}

/** Writes markup that readers see, such as a text, a rule or a link to a file. */
export function writeVisible(draft: MarkupDraft, markup: string): void {
  if (isSilent(draft) || !fits(draft, markup)) return;
  draft.content += 1;
  write(draft, markup);
}

export function writeText(draft: MarkupDraft, text: string): void {
  writeVisible(draft, escapeHtml(text));
}

/** Writes markup that does not count as content: white space, line breaks, columns of tables, places. */
export function writeSeparator(draft: MarkupDraft, markup: string): void {
  if (!isSilent(draft) && fits(draft, markup)) write(draft, markup);
}

/** Whether `markup` still fits into the sanitised post. After the first that does not, only end tags follow. */
function fits(draft: MarkupDraft, markup: string): boolean {
  if (draft.length + markup.length > MAX_OUTPUT_LENGTH) draft.isFull = true;
  return !draft.isFull;
}

function write(draft: MarkupDraft, markup: string): void {
  draft.chunks.push(markup);
  draft.length += markup.length;
}
