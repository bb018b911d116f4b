import type { Attributes } from './html-tokenizer.ts';
import { attribute, ID_PREFIX, place } from './markup-rules.ts';

/** The id of a start tag: text has no unescaped quotation marks. */
const ID = / id="[^"<>]*"/;
/** The most pieces of a removed element that are searched for ids, to which links may lead. */
const MAX_PLACES = 20;

/** An empty element with the id (in old pages, the name) of an element written without it; '' without a valid id. */
export function placeOf(attributes: Attributes): string {
  const id = place(attributes.get('id') ?? attributes.get('name') ?? '');
  return id === undefined ? '' : placeElement(attribute('id', id));
}

/** An empty element to which links lead; `id`: the attribute. */
export function placeElement(id: string): string {
  return `<span${id}></span>`;
}

/** The ids in a post to which a link with this fragment may lead: as written, or decoded (HTML Standard, 7.4.6.3). */
export function placesOf(fragment: string): string[] {
  return [fragment, decoded(fragment)].map((id) => ID_PREFIX + id);
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

/** Empty elements with the ids of the elements that begin in the pieces of markup from `start` on. */
export function placesFrom(chunks: readonly string[], start: number): string[] {
  const places: string[] = [];
  for (let at = start; at < Math.min(chunks.length, start + MAX_PLACES); at += 1) {
    const [id] = ID.exec(chunks[at] ?? '') ?? [];
    if (id !== undefined) places.push(placeElement(id));
  }
  return places;
}

/** Whether a piece of markup is such an empty element. */
export function isPlace(chunk: string): boolean {
  return chunk.startsWith('<span id="') && chunk.endsWith('></span>');
}

/** Removes the empty elements with ids to which no link leads. */
export function removeUnusedPlaces({ chunks, wanted }: { chunks: string[]; wanted: Set<string> }): void {
  for (let at = 0; at < chunks.length; at += 1) {
    const chunk = chunks[at] ?? '';
    if (isPlace(chunk) && !wanted.has(chunk)) chunks[at] = '';
  }
}
