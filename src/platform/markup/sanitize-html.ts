import {
  addPlace, addText, closeNamed, closeTo, enterCell, hasRoom, makeRoomFor, MAX_NESTING, openDropped,
} from './element-nesting.ts';
import { withoutForeignContent } from './foreign-content.ts';
import type { Formula } from './formula.ts';
import { readNoscript, VOID_ELEMENTS, tokenizingHtml, type Attributes } from './html-tokenizer.ts';
import { joining, partsOf, resumable, type Resumable } from './in-steps.ts';
import { createDraft, element, isSilent, open, writeSeparator, writeVisible } from './markup-draft.ts';
import { placeElement, placesOf, removeUnusedPlaces } from './markup-places.ts';
import {
  allowedAttributes, attribute, ELEMENT_RULES, type ElementKind, type ElementRule, isHidden,
} from './markup-rules.ts';
import { authorsLabel, LINK_TAIL } from './remote-media.ts';
import { safeLink } from './safe-url.ts';
import {
  addFrame, addImage, addInput, addPictureSource, addSubstitute, startMedia, startPicture, type Tag,
} from './sanitize-media.ts';
import type { MarkupDraft } from './markup-draft.ts';

/** The most characters of HTML that are read. */
export const MAX_INPUT_LENGTH = 4_000_000;

/** Classes of KaTeX's HTML and of Wikipedia's images, which repeat the MathML directly before them. */
const FORMULA_COPY = /(?:^|\s)(?:katex-html|mwe-math-fallback-image-(?:inline|display))(?:\s|$)/;
const LINE_STYLE = /(?:^|;)\s*display\s*:\s*(?:block|flex|grid)/i;
const LINE: ElementRule = { output: 'div', kind: 'block', needsAttributes: false };

type StartTag = Tag & { rule: ElementRule };

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
  source: addPictureSource,
  frame: addFrame,
  media: startMedia,
  input: addInput,
  dropped: startDropped,
};

/**
 * Turns untrusted HTML into markup that is safe in the hub's pages: only allowed elements and attributes, balanced,
 * escaped, with absolute links, and with nothing that a browser loads. Sanitising sanitised markup changes nothing.
 * `isOwn`: a member of the hub wrote it, so that no image in it counts readers.
 */
export function sanitizingHtml(html: string, about: { baseUrl: string; isOwn?: boolean }): Resumable<string> {
  return resumable(sanitizeInParts(html, about));
}

function* sanitizeInParts(
  html: string, { baseUrl, isOwn = false }: { baseUrl: string; isOwn?: boolean },
): Generator<void, string> {
  const draft = createDraft(baseUrl, isOwn);
  const reader = withoutForeignContent({
    startTag: (name, attributes) => readStartTag(draft, name, attributes),
    endTag: (name) => readEndTag(draft, name),
    text: (text) => addText(draft, text),
    rawText: (name, written, attributes) => readRawText(draft, { name, written, attributes }),
    formula: (formula) => addFormula(draft, formula),
    drawing: (words) => addText(draft, ` ${words} `),
  });
  yield* partsOf(tokenizingHtml(html.slice(0, MAX_INPUT_LENGTH).toWellFormed(), reader));
  reader.end();
  closeTo(draft, 0);
  removeUnusedPlaces(draft);
  return yield* joining(draft.chunks);
}

function readStartTag(draft: MarkupDraft, name: string, attributes: Attributes): void {
  if (draft.isFull) return;
  const rule = ELEMENT_RULES.get(name);
  const isCopy = draft.formulaAt === draft.content && FORMULA_COPY.test(attributes.get('class') ?? '');
  if (isCopy || isHidden(attributes)) startHidden(draft, name, rule);
  else if (rule !== undefined) START_HANDLERS[rule.kind](draft, { name, rule, attributes });
}

function readEndTag(draft: MarkupDraft, name: string): void {
  if (draft.isFull) return;
  if (name === 'br') addBreak(draft);
  else if (ELEMENT_RULES.has(name) || draft.droppedFrom !== -1) closeNamed(draft, name);
}

type RawText = { name: string; written: string; attributes: Attributes };

function readRawText(draft: MarkupDraft, { name, written, attributes }: RawText): void {
  if (isSilent(draft)) return;
  if (name === 'noscript') readNoscript(written, (inner, its) => addSubstitute(draft, inner, its));
  const isTex = name === 'script' && /^\s*math\/(?:tex|latex)/i.test(attributes.get('type') ?? '');
  if (isTex && draft.formulaAt !== draft.content) addText(draft, `\\(${written}\\)`);
}

function addFormula(draft: MarkupDraft, { markup, depth, alternative }: Formula): void {
  if (isSilent(draft)) return;
  if (markup === undefined || draft.stack.length + depth > MAX_NESTING) return addText(draft, alternative);
  enterCell(draft);
  writeVisible(draft, markup);
  draft.formulaAt = draft.content;
}

function startElement(draft: MarkupDraft, tag: StartTag): void {
  const { name, attributes } = tag;
  const rule = isCodeLine(draft, tag) ? LINE : tag.rule;
  if (!hasRoom(draft, rule.kind) || !makeRoomFor(draft, rule.kind, rule.output)) return;
  const allowed = allowedAttributes(rule.output, attributes, draft.baseUrl);
  if (rule.needsAttributes && allowed === '') return open(draft, element(name, '', rule.kind, ''));
  if (rule.kind !== 'table-part') enterCell(draft);
  open(draft, element(name, rule.output, rule.kind, `<${rule.output}${allowed}>`));
}

/** Whether only its style makes an element a line of code of its own. */
function isCodeLine({ stack }: MarkupDraft, { name, attributes }: StartTag): boolean {
  const isLine = name === 'span' && LINE_STYLE.test(attributes.get('style') ?? '');
  return isLine && stack.some(({ output }) => output === 'pre');
}

function startHidden(draft: MarkupDraft, name: string, rule: ElementRule | undefined): void {
  if (VOID_ELEMENTS.has(name)) return;
  const hidden = element(name, rule?.output ?? name, rule?.kind ?? 'dropped', '');
  if (makeRoomFor(draft, rule?.kind ?? 'dropped', hidden.output)) openDropped(draft, hidden);
}

function startDropped(draft: MarkupDraft, { name }: StartTag): void {
  openDropped(draft, element(name, name, 'dropped', ''));
}

function startAnchor(draft: MarkupDraft, { name, attributes }: StartTag): void {
  const address = attributes.get('href')?.trim();
  const href = address === undefined || isSilent(draft) ? undefined : safeLink(address, draft.baseUrl);
  if (href !== undefined) makeRoomFor(draft, 'anchor', 'a');
  const fragment = href?.includes('#') === true ? href.slice(href.indexOf('#') + 1) : '';
  if (fragment !== '') for (const id of placesOf(fragment)) draft.wanted.add(placeElement(attribute('id', id)));
  const isLink = href !== undefined && draft.anchor === undefined;
  if (!isLink || !attributes.has('id')) addPlace(draft, attributes);
  // The limit on nested elements applies to no link: links do not nest, so a link adds only one level.
  if (!isLink) {
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

function addColumn(draft: MarkupDraft, { rule, attributes }: StartTag): void {
  if (!makeRoomFor(draft, 'column', rule.output)) return;
  writeSeparator(draft, `<col${allowedAttributes('col', attributes, draft.baseUrl)}>`);
}

function addBreak(draft: MarkupDraft): void {
  enterCell(draft);
  writeSeparator(draft, '<br>');
}

function addRule(draft: MarkupDraft, { attributes }: StartTag): void {
  makeRoomFor(draft, 'rule', 'hr');
  addPlace(draft, attributes);
  enterCell(draft);
  writeVisible(draft, '<hr>');
}
