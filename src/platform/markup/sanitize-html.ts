import { allowedAttributes, attribute, ELEMENT_RULES, type ElementKind, type ElementRule } from './markup-rules.ts';
import { withoutControls } from './tidy-text.ts';
import { closeNamed, closeTo, enterCell, makeRoomFor } from './element-nesting.ts';
import { escapeHtml } from './entities.ts';
import { withoutForeignContent } from './foreign-content.ts';
import type { Formula } from './formula.ts';
import { VOID_ELEMENTS, tokenizingHtml } from './html-tokenizer.ts';
import type { Reading } from './in-steps.ts';
import { createDraft, element, isSilent, open, writeFile, writeSeparator, writeVisible } from './markup-draft.ts';
import {
  framePage, givenLabel, imageCandidates, imageTitle, isTracker, largestImage, LINK_TAIL, statedSize,
} from './remote-media.ts';
import { safeLink, webUrl } from './safe-url.ts';
import type { Attributes } from './html-tokenizer.ts';
import type { MarkupDraft, OpenElement, FileLink } from './markup-draft.ts';

const MAX_INPUT_LENGTH = 4_000_000;

// Browsers flatten nesting of more than 512 elements. A table adds up to four elements that MAX_DEPTH does not count.
const MAX_DEPTH = 90;
const MAX_DROPPED_DEPTH = 200;

/** Classes of KaTeX's HTML and of Wikipedia's images, which repeat the MathML directly before them. */
const FORMULA_COPY = /(?:^|\s)(?:katex-html|mwe-math-fallback-image-(?:inline|display))(?:\s|$)/;
const EMOJI_CLASS = /(?:^|\s)(?:emoji|wp-smiley)(?:\s|$)/;
const MAX_EMOJI_LENGTH = 20;

type StartTag = { name: string; rule: ElementRule; attributes: Attributes };

const START_HANDLERS: Record<ElementKind, (draft: MarkupDraft, tag: StartTag) => void> = {
  inline: startElement,
  'ruby-text': startElement,
  block: startElement,
  heading: startElement,
  item: startElement,
  'table-part': startElement,
  column: addColumn,
  anchor: startAnchor,
  break: addBreak,
  rule: addRule,
  image: addImage,
  picture: startPicture,
  source: addSource,
  frame: addFrame,
  media: startMedia,
  dropped: startDropped,
};

/**
 * Turns untrusted HTML into markup that is safe in the hub's pages: only allowed elements and attributes, balanced,
 * escaped, with absolute links, and with nothing that a browser loads. Sanitising sanitised markup changes nothing.
 */
export function sanitizingHtml(html: string, base: { baseUrl: string }): Reading<string> {
  const draft = createDraft(base.baseUrl);
  const reader = withoutForeignContent({
    startTag: (name, attributes) => readStartTag(draft, name, attributes),
    endTag: (name) => readEndTag(draft, name),
    text: (text) => readText(draft, text),
    formula: (formula) => addFormula(draft, formula),
  });
  const end = (): string => {
    reader.end();
    closeTo(draft, 0);
    return draft.chunks.join('');
  };
  return { read: tokenizingHtml(html.slice(0, MAX_INPUT_LENGTH).toWellFormed(), reader), end };
}

function readStartTag(draft: MarkupDraft, name: string, attributes: Attributes): void {
  if (draft.isFull) return;
  const rule = ELEMENT_RULES.get(name);
  const isCopy = draft.formulaAt === draft.content && FORMULA_COPY.test(attributes.get('class') ?? '');
  if (attributes.has('hidden') || isCopy) startHidden(draft, name, rule);
  else if (rule !== undefined) START_HANDLERS[rule.kind](draft, { name, rule, attributes });
}

function readEndTag(draft: MarkupDraft, name: string): void {
  if (draft.isFull) return;
  if (name === 'br') addBreak(draft);
  else if (ELEMENT_RULES.has(name) || draft.droppedFrom !== -1) closeNamed(draft, name);
}

function readText(draft: MarkupDraft, text: string): void {
  if (isSilent(draft)) return;
  const visible = withoutControls(text);
  if (visible === '') return;
  if (!/[^\t\n ]/.test(visible)) return writeSeparator(draft, visible);
  enterCell(draft);
  writeVisible(draft, escapeHtml(visible));
}

function addFormula(draft: MarkupDraft, { markup, depth, alternative }: Formula): void {
  if (isSilent(draft)) return;
  if (markup === undefined || draft.stack.length + depth > MAX_DEPTH) return readText(draft, alternative);
  enterCell(draft);
  writeVisible(draft, markup);
  draft.formulaAt = draft.content;
}

function startElement(draft: MarkupDraft, { name, rule, attributes }: StartTag): void {
  if (!hasRoom(draft, rule.kind) || !makeRoomFor(draft, rule.kind, rule.output)) return;
  const allowed = allowedAttributes(rule.output, attributes, draft.baseUrl);
  if (rule.needsAttributes && allowed === '') return open(draft, element(name, '', rule.kind, ''));
  if (rule.kind !== 'table-part') enterCell(draft);
  open(draft, element(name, rule.output, rule.kind, `<${rule.output}${allowed}>`));
}

/** Whether an element may be nested deeper: rows and cells always may be, because the depth of tables is limited. */
function hasRoom(draft: MarkupDraft, kind: ElementKind): boolean {
  if (kind === 'table-part') return true;
  return draft.stack.length < (draft.droppedFrom === -1 ? MAX_DEPTH : MAX_DROPPED_DEPTH);
}

function startHidden(draft: MarkupDraft, name: string, rule: ElementRule | undefined): void {
  if (VOID_ELEMENTS.has(name)) return;
  const hidden = element(name, rule?.output ?? name, rule?.kind ?? 'dropped', '');
  if (makeRoomFor(draft, rule?.kind ?? 'dropped', hidden.output)) openDropped(draft, hidden);
}

function startDropped(draft: MarkupDraft, { name }: StartTag): void {
  openDropped(draft, element(name, name, 'dropped', ''));
}

function openDropped(draft: MarkupDraft, dropped: OpenElement): void {
  if (draft.stack.length >= MAX_DROPPED_DEPTH) return;
  dropped.isDropped = true;
  open(draft, dropped);
}

function startAnchor(draft: MarkupDraft, { name, attributes }: StartTag): void {
  const address = attributes.get('href')?.trim();
  const href = address === undefined || isSilent(draft) ? undefined : safeLink(address, draft.baseUrl);
  if (href !== undefined) makeRoomFor(draft, 'anchor', 'a');
  // The limit on nested elements applies to no link: links do not nest, so a link adds only one level.
  if (href === undefined || draft.anchor !== undefined) {
    if (hasRoom(draft, 'anchor')) open(draft, element(name, '', 'anchor', ''));
    return;
  }
  const allowed = allowedAttributes('a', attributes, draft.baseUrl);
  const anchor = element(name, 'a', 'anchor', `<a${attribute('href', href)}${allowed}${LINK_TAIL}>`);
  // A link without text to a place on the same page is the mark beside a heading.
  if (address?.startsWith('#') !== true) anchor.fallbackText = authorsLabel(attributes) || linkTarget(href);
  enterCell(draft);
  open(draft, anchor);
}

function linkTarget(href: string): string {
  return /^https?:\/\/([^/]*)/.exec(href)?.[1] ?? /^\w+:([^?]*)/.exec(href)?.[1] ?? '';
}

function authorsLabel(attributes: Attributes): string {
  return givenLabel(attributes.get('title')) || givenLabel(attributes.get('aria-label'));
}

function addColumn(draft: MarkupDraft, { rule, attributes }: StartTag): void {
  if (!makeRoomFor(draft, 'column', rule.output)) return;
  writeSeparator(draft, `<col${allowedAttributes('col', attributes, draft.baseUrl)}>`);
}

function addBreak(draft: MarkupDraft): void {
  enterCell(draft);
  writeSeparator(draft, '<br>');
}

function addRule(draft: MarkupDraft): void {
  makeRoomFor(draft, 'rule', 'hr');
  enterCell(draft);
  writeVisible(draft, '<hr>');
}

function addImage(draft: MarkupDraft, { attributes }: StartTag): void {
  if (isSilent(draft)) return;
  const parent = draft.stack.at(-1);
  const offered = parent?.kind === 'picture' ? parent.candidates.splice(0) : [];
  const url = largestImage([...imageCandidates(attributes), ...offered], draft.baseUrl);
  const label = givenLabel(attributes.get('alt'));
  if (isEmoji(attributes, label)) return readText(draft, label);
  if (url === undefined || isTracker(attributes, url)) return;
  const title = imageTitle(attributes, label, url);
  addFile(draft, { url, label, isImage: true, size: statedSize(attributes), title });
}

function isEmoji(attributes: Attributes, label: string): boolean {
  return label !== '' && label.length <= MAX_EMOJI_LENGTH && EMOJI_CLASS.test(attributes.get('class') ?? '');
}

function addFile(draft: MarkupDraft, file: FileLink): void {
  enterCell(draft);
  writeFile(draft, file);
}

function startPicture(draft: MarkupDraft, { name }: StartTag): void {
  if (hasRoom(draft, 'picture')) open(draft, element(name, '', 'picture', ''));
}

function addSource(draft: MarkupDraft, { attributes }: StartTag): void {
  const parent = draft.stack.at(-1);
  if (parent?.kind === 'picture') parent.candidates.push(...imageCandidates(attributes));
  else offerSource(draft, parent, attributes);
}

function offerSource(draft: MarkupDraft, parent: OpenElement | undefined, attributes: Attributes): void {
  if (parent?.kind !== 'media' || parent.source !== undefined || draft.stack.length - 1 !== draft.droppedFrom) return;
  parent.source = remoteFile(draft, attributes.get('src'), attributes);
}

function addFrame(draft: MarkupDraft, { attributes }: StartTag): void {
  if (isSilent(draft)) return offerSource(draft, draft.stack.at(-1), attributes);
  const file = remoteFile(draft, attributes.get('src') ?? attributes.get('data-src'), attributes);
  if (file !== undefined && !isTracker(attributes, file.url)) addFile(draft, file);
}

function startMedia(draft: MarkupDraft, { name, attributes }: StartTag): void {
  enterCell(draft);
  const media = element(name, name, 'media', '');
  if (!isSilent(draft)) media.source = remoteFile(draft, attributes.get('src') ?? attributes.get('data'), attributes);
  openDropped(draft, media);
}

function remoteFile(draft: MarkupDraft, address: string | undefined, attributes: Attributes): FileLink | undefined {
  const url = address === undefined || address.trim() === '' ? undefined : webUrl(address, draft.baseUrl);
  return url && { url: framePage(url), label: authorsLabel(attributes), isImage: false };
}
