import type { Position } from '../posts/post-store.ts';

type ListOrder = {
  label: string;
  key: Key;
  isUp: boolean; // from the lowest key on
  more: string; // what the next pages have
  first: string; // what the first page has
};

/** The columns of an entry `e` and a post `p` that order lists; posts with equal ones are in the order of their ids. */
export const KEYS = {
  published: { ofEntry: 'e.published_at', ofPost: 'p.published_at', of: ({ publishedAt }: Position) => publishedAt },
};

export type Key = keyof typeof KEYS;

/**
 * The orders of lists of posts. A new one is a row, and a row of KEYS if it has another key: without an index for that
 * (`INDEXED BY` in `list-store.ts`), a page costs as much as the whole list. What marks above and below a post
 * (`sidesOf`) goes by publishing.
 */
export const LIST_ORDERS = {
  newest: { label: 'Newest first', key: 'published', isUp: false, more: 'Older posts', first: 'newest' },
  oldest: { label: 'Oldest first', key: 'published', isUp: true, more: 'Newer posts', first: 'oldest' },
} satisfies Record<string, ListOrder>;

export type Order = keyof typeof LIST_ORDERS;

export const ORDER_NAMES = Object.keys(LIST_ORDERS) as Order[];

/** Where a post stands in a list: its value of the list's key, and its id. */
export type ListPlace = { at: number; id: number };

export function startOf({ isUp }: ListOrder): ListPlace {
  return isUp ? { at: -Number.MAX_SAFE_INTEGER, id: 0 } : { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };
}

/** Compares as a list does whose order goes up, or down. */
export function inPlace(isUp: boolean): (a: ListPlace, b: ListPlace) => number {
  return isUp ? (a, b) => a.at - b.at || a.id - b.id : (a, b) => b.at - a.at || b.id - a.id;
}
