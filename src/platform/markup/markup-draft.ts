import { escapeHtml } from './entities.ts';
import { fileNameOr, type ImageCandidate, imageLink, mediaLink } from './remote-media.ts';

// Links add to the length, so this stays well below what is read. A post of 400,000 quotation marks fits: 2,400,000.
const MAX_OUTPUT_LENGTH = 2_500_000;

const INLINE = new Set(['inline', 'ruby-text']);
const BLOCK = new Set(['block', 'heading']);

/** A link to a file that is not loaded. The label is empty where the author gave none. */
export type FileLink = { url: URL; label: string; isImage: boolean; size?: string | undefined };

/** An element that has begun and not ended. */
export type OpenElement = {
  /** As it was read: what its end tag says. */
  name: string;
  /** As it is written, and what nesting goes by; empty when only its content remains. */
  output: string;
  kind: string;
  /** Its start tag as written; empty when neither tag is. */
  startTag: string;
  /** Nothing inside is written. */
  isDropped: boolean;
  /** Closed once by another element's end and begun again; happens only once, so that output stays in proportion. */
  isResumed: boolean;
  /** The text for an anchor that has none; empty if the anchor should vanish. */
  fallbackText: string;
  /** Images inside an anchor, whose own links follow it. */
  files: FileLink[];
  /** The candidates from a picture's sources. */
  candidates: ImageCandidate[];
  /** The files that a video or sound links to at its end. */
  source: FileLink | undefined;
  /** The sizes of the output before the element was opened. */
  before: Pick<MarkupDraft, 'length' | 'content'> & { chunks: number };
};

/** The output so far and the elements open in it. */
export type MarkupDraft = {
  baseUrl: string;
  chunks: string[];
  length: number;
  /** How many visible things were written: text, rules, links to files. */
  content: number;
  isFull: boolean;
  stack: OpenElement[];
  /** The index of the outermost dropped element, or -1. */
  droppedFrom: number;
  anchor: OpenElement | undefined;
};

/** An empty draft. */
export function createDraft(baseUrl: string): MarkupDraft {
  return {
    baseUrl, chunks: [], length: 0, content: 0, isFull: false,
    stack: [], droppedFrom: -1, anchor: undefined,
  };
}

/** An element to be opened, with nothing gathered in it yet. */
export function element(name: string, output: string, kind: string, startTag: string): OpenElement {
  return {
    name, output, kind, startTag, isDropped: false, isResumed: false, fallbackText: '', files: [], candidates: [],
    source: undefined, before: { chunks: 0, length: 0, content: 0 },
  };
}

/** Whether output is off at this point of the document. */
export function isSilent(draft: MarkupDraft): boolean {
  return draft.droppedFrom !== -1 || draft.isFull;
}

/** Opens an element; inside a dropped one it is only remembered, so that end tags find their own. */
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

/** Ends the innermost element. An empty element vanishes; an empty block leaves its line break. */
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
  if (INLINE.has(kind)) return draft.chunks.length === before.chunks + 1;
  return BLOCK.has(kind) && draft.content === before.content;
}

function remove(draft: MarkupDraft, { kind, before }: OpenElement): void {
  draft.chunks.length = before.chunks;
  draft.length = before.length;
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

/** Ends an anchor without text of its own with the words of its first image, or else those kept for it, if any. */
function writeFallbackText(draft: MarkupDraft, anchor: OpenElement): boolean {
  const [image] = anchor.files;
  const text = escapeHtml(anchor.fallbackText && (image?.label || anchor.fallbackText));
  if (text === '' || !fits(draft, text)) return false;
  if (image?.isImage) image.label = 'Image';
  draft.content += 1;
  write(draft, `${text}</a>`);
  return true;
}

/** Writes the link to a file, or keeps it for the end of the anchor it stands in, since anchors do not nest. */
export function writeFile(draft: MarkupDraft, file: FileLink): void {
  if (isSilent(draft)) return;
  if (draft.anchor !== undefined) {
    draft.anchor.files.push(file);
    return;
  }
  const separator = draft.chunks.at(-1)?.endsWith('</a>') === true ? ' ' : '';
  writeVisible(draft, separator + linkTo(file));
}

function linkTo({ url, label, isImage, size }: FileLink): string {
  if (isImage) return imageLink(url, label || fileNameOr('Image', url), size);
  return mediaLink(url, label || fileNameOr(url.host, url));
}

/** Writes what a reader sees, such as text. It comes in escaped. */
export function writeVisible(draft: MarkupDraft, markup: string): void {
  if (isSilent(draft) || !fits(draft, markup)) return;
  draft.content += 1;
  write(draft, markup);
}

/** Writes what only separates: white space, a line break. */
export function writeSeparator(draft: MarkupDraft, markup: string): void {
  if (!isSilent(draft) && fits(draft, markup)) write(draft, markup);
}

/** Once something does not fit, nothing more is written but the end tags. */
function fits(draft: MarkupDraft, markup: string): boolean {
  if (draft.length + markup.length > MAX_OUTPUT_LENGTH) draft.isFull = true;
  return !draft.isFull;
}

function write(draft: MarkupDraft, markup: string): void {
  draft.chunks.push(markup);
  draft.length += markup.length;
}
