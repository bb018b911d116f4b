import { hash } from 'node:crypto';
import type { IncomingPost } from '../posts/post.ts';
import type { FeedFacts } from '../sources/sync-state-store.ts';

/** More items than this are not read; feeds list the newest first. */
export const MAX_ITEMS = 2000;

/** Longer ids are replaced by their hash. */
const MAX_GUID_LENGTH = 1024;

export type ParsedFeed = FeedFacts & { items: IncomingPost[] };

/** The document is no feed; the message tells a person what was found instead. */
export class NotAFeedError extends Error {
  override name = 'NotAFeedError';
}

/** An item whose `guid` is still what the publisher wrote, possibly nothing or not unique. */
export type UnidentifiedItem = Omit<IncomingPost, 'guid'> & { guid: string | null };

/**
 * Gives each item an id that stays the same from one reading to the next: the publisher's, else the link, else a hash
 * of what it holds. Where several items share one (some feeds give all the same), each is told apart by its link or
 * hash, so that no id wanders from item to item as the list moves on. Exact repetitions and items that
 * hold nothing at all are dropped; at most MAX_ITEMS stay.
 */
export function identifyItems(items: UnidentifiedItem[]): IncomingPost[] {
  const read = items.filter(holdsSomething).slice(0, MAX_ITEMS);
  const groups = Map.groupBy(read, firstChoice);
  if (groups.size === read.length) return read.map((item) => ({ ...item, guid: firstChoice(item) }));
  const guids = new Map<UnidentifiedItem, string>();
  for (const [guid, group] of groups) tellApart(guid, group, guids);
  return read.flatMap((item) => {
    const guid = guids.get(item);
    return guid === undefined ? [] : [{ ...item, guid }];
  });
}

/** Records a guid for each item of a group that shares one; repetitions of an earlier item get none. */
function tellApart(guid: string, group: UnidentifiedItem[], guids: Map<UnidentifiedItem, string>): void {
  const different = [...new Map(group.toReversed().map((item) => [contentHash(item), item]))];
  const withUrl = Map.groupBy(different, ([, item]) => item.url);
  for (const [contents, item] of different) {
    const byUrl = item.url !== null && withUrl.get(item.url)?.length === 1;
    guids.set(item, different.length === 1 ? guid : short(`${guid}|${byUrl ? item.url : contents}`));
  }
}

function holdsSomething(item: UnidentifiedItem): boolean {
  return Boolean(item.guid || item.url || item.title || item.contentHtml) || item.attachments.length > 0;
}

function firstChoice(item: UnidentifiedItem): string {
  return short(item.guid || item.url || contentHash(item));
}

function contentHash(item: UnidentifiedItem): string {
  const enclosures = item.attachments.map((attachment) => attachment.url);
  return hash('sha256', JSON.stringify([item.url, item.title, item.contentHtml, item.publishedAt, enclosures]));
}

function short(guid: string): string {
  return guid.length <= MAX_GUID_LENGTH ? guid : hash('sha256', guid);
}
