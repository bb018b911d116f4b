import type { Attributes } from './html-tokenizer.ts';
import { closeTop, element, isSilent, open, writeSeparator, writeText } from './markup-draft.ts';
import { placeOf } from './markup-places.ts';
import {
  ELEMENT_RULES, type ElementKind, END_TAG_BOUNDARIES, SCOPE_BOUNDARIES, TABLE_CONTEXT, TABLE_PARENTS,
} from './markup-rules.ts';
import { withoutControls } from './tidy-text.ts';
import type { MarkupDraft, OpenElement } from './markup-draft.ts';

// Browsers flatten nesting of more than 512 elements. Parts of a table, and a link, may stand deeper than MAX_NESTING.
export const MAX_NESTING = 90;
const MAX_DROPPED_DEPTH = 200;

const LISTS = new Set(['ul', 'ol']);
const PASSED_KINDS = new Set(['inline', 'anchor', 'ruby-text']);
const PASSED_OUTPUTS = new Set(['', 'div', 'p', 'address']);
const FOUND_BEHIND_DROPPED = new Set<ElementKind>(['block', 'heading', 'item', 'table-part', 'dropped', 'media']);

/** Closes elements that, in browsers, cannot contain `kind`. Returns false for a part of a table outside of a table. */
export function makeRoomFor(draft: MarkupDraft, kind: ElementKind, output: string): boolean {
  if (kind === 'table-part' || kind === 'column') return makeRoomInTable(draft, output);
  // An open <p> is closed first, because a removed element in the <p> would hide an open <li> from `closeNearest`.
  if (kind === 'block' || kind === 'heading' || kind === 'item' || kind === 'rule') closeInScope(draft, 'p');
  if (kind === 'item') closeNearest(draft, (candidate) => isSameItem(candidate, output));
  if (kind === 'heading' || kind === 'ruby-text') closeNearest(draft, (candidate) => candidate.kind === kind);
  if (kind === 'anchor' && draft.anchor !== undefined) closeInScope(draft, 'a');
  return true;
}

/** Puts a cell, and a row if it is missing, around content that stands directly in a table. */
export function enterCell(draft: MarkupDraft): void {
  if (isSilent(draft) || !needsCell(draft)) return;
  makeRoomInTable(draft, 'td');
  openImplied(draft, 'td');
}

/** Whether the innermost open element that is written to the post holds only parts of a table. */
export function needsCell(draft: MarkupDraft): boolean {
  return TABLE_CONTEXT.has(draft.stack.findLast(({ output }) => output !== '')?.output ?? '');
}

/** Text directly in a table gets a cell; white space stays where it is. */
export function addText(draft: MarkupDraft, text: string): void {
  if (isSilent(draft)) return;
  const visible = withoutControls(text);
  if (visible === '') return;
  if (!/[^\t\n ]/.test(visible)) return writeSeparator(draft, visible);
  enterCell(draft);
  writeText(draft, visible);
}

/** Keeps the place to which links lead, of an element that is not written with its id; not directly in a table. */
export function addPlace(draft: MarkupDraft, attributes: Attributes): void {
  const place = attributes.has('id') || attributes.has('name') ? placeOf(attributes) : '';
  if (place !== '' && !isSilent(draft) && !needsCell(draft)) writeSeparator(draft, place);
}

/** Whether an element may be nested deeper: parts of a table always may be, because the depth of tables is limited. */
export function hasRoom(draft: MarkupDraft, kind: ElementKind): boolean {
  if (kind === 'table-part') return true;
  return draft.stack.length < (draft.droppedFrom === -1 ? MAX_NESTING : MAX_DROPPED_DEPTH);
}

/** Opens an element whose content is not written. */
export function openDropped(draft: MarkupDraft, dropped: OpenElement): void {
  if (draft.stack.length >= MAX_DROPPED_DEPTH) return;
  dropped.isDropped = true;
  open(draft, dropped);
}

/**
 * Closes the element that an end tag names, and those open inside it; behind an inline element or a link, they are
 * opened again, but only once. Ignores an end tag that finds no open element.
 */
export function closeNamed(draft: MarkupDraft, name: string): void {
  const kind = ELEMENT_RULES.get(name)?.kind ?? 'dropped';
  const index = findOpen(draft, name, kind);
  if (index === -1) return;
  if (FOUND_BEHIND_DROPPED.has(kind)) closeTo(draft, index);
  else closeAndResume(draft, index);
}

/** Closes every element from the innermost down to the element at `index`. */
export function closeTo(draft: MarkupDraft, index: number): void {
  while (draft.stack.length > index) closeTop(draft);
}

function closeAndResume(draft: MarkupDraft, index: number): void {
  const interrupted: OpenElement[] = [];
  while (draft.stack.length > index + 1) {
    const top = draft.stack.at(-1);
    const isToBeResumed = top !== undefined && canResume(top);
    const closed = closeTop(draft, isToBeResumed);
    if (isToBeResumed && closed !== undefined) interrupted.push(closed);
  }
  closeTop(draft);
  for (const resumed of interrupted.reverse()) open(draft, Object.assign(resumed, { isResumed: true }));
}

function canResume({ isDropped, isResumed, startTag, output }: OpenElement): boolean {
  return !isDropped && !isResumed && (startTag !== '' || output === '');
}

function findOpen(draft: MarkupDraft, name: string, kind: ElementKind): number {
  const passesDropped = FOUND_BEHIND_DROPPED.has(kind);
  const isNamed = (candidate: OpenElement): boolean =>
    candidate.name === name || (kind === 'heading' && candidate.kind === 'heading');
  const index = draft.stack.findLastIndex((candidate) =>
    isNamed(candidate) || stopsEndTag(candidate, name, kind) || (candidate.isDropped && !passesDropped));
  const nearest = draft.stack[index];
  return nearest && isNamed(nearest) ? index : -1;
}

function stopsEndTag({ output }: OpenElement, name: string, kind: ElementKind): boolean {
  const isTablePart = kind === 'table-part' || name === 'table';
  const isInnerCell = output === 'td' || output === 'th' || output === 'caption';
  if (isTablePart && (isInnerCell || (output === 'table' && name === 'table'))) return false;
  return END_TAG_BOUNDARIES.has(output) || (kind === 'item' && LISTS.has(output));
}

function closeInScope(draft: MarkupDraft, output: string): void {
  const index = draft.stack.findLastIndex((one) => one.output === output || SCOPE_BOUNDARIES.has(one.output));
  if (draft.stack[index]?.output === output) closeAndResume(draft, index);
}

/** A new `li` ends an open `li`; `dt` and `dd` end each other. */
function isSameItem(candidate: OpenElement, output: string): boolean {
  return candidate.kind === 'item' && (candidate.output === 'li') === (output === 'li');
}

/** Closes the innermost open element that `isClosed` accepts, unless more than `isPassed` allows is open inside it. */
function closeNearest(draft: MarkupDraft, isClosed: (candidate: OpenElement) => boolean): void {
  const isPassed = ({ kind, output, isDropped }: OpenElement): boolean =>
    !isDropped && (PASSED_KINDS.has(kind) || PASSED_OUTPUTS.has(output));
  const index = draft.stack.findLastIndex((candidate) => isClosed(candidate) || !isPassed(candidate));
  const nearest = draft.stack[index];
  if (nearest && isClosed(nearest)) closeTo(draft, index);
}

function makeRoomInTable(draft: MarkupDraft, output: string): boolean {
  const place = TABLE_PARENTS[output];
  const table = nearestTable(draft);
  if (place === undefined || table === -1) return false;
  const parent = draft.stack.findLastIndex((candidate) => place.parents.includes(candidate.output));
  if (parent >= table) {
    closeTo(draft, parent + 1);
    return true;
  }
  if (place.implied === undefined) return false;
  makeRoomInTable(draft, place.implied);
  openImplied(draft, place.implied);
  return true;
}

function nearestTable(draft: MarkupDraft): number {
  const index = draft.stack.findLastIndex(({ output, kind }) =>
    output === 'table' || kind === 'dropped' || kind === 'media');
  return draft.stack[index]?.output === 'table' ? index : -1;
}

function openImplied(draft: MarkupDraft, output: string): void {
  open(draft, element(output, output, 'table-part', `<${output}>`));
}
