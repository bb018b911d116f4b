import type { Viewer } from '../../platform/http/router.ts';
import { asking, type ListedFollow } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { COUNT_MAX, lists, type LaterDoubles } from './list-store.ts';

/** `later`: how many of the source's unread posts lists leave out, because they show an earlier post with the link. */
export type CountedSource = ListedFollow & { id: number; unread: number; later: LaterDoubles };
/** A folder with its unread count; `name` is null for the sources without a folder. */
export type CountedFolder = { name: string | null; unread: number; sources: CountedSource[] };
export type ReadingCounts = { unread: number; starred: number; folders: CountedFolder[] };

const NONE_LATER: LaterDoubles = { inFolder: 0, inAll: 0, inApps: 0 };

/** Compares numbers within names by value: "Part 2" comes before "part 10". */
const { compare } = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** The viewer's followed sources in alphabetical order, with their unread counts. */
export function countedSources(hub: Hub, viewer: Viewer): CountedSource[] {
  const rows = lists(hub).counts({ ...asking(viewer), folder: null });
  const later = new Map(lists(hub).later(asking(viewer)).map((counted) => [counted.sourceId, counted]));
  const sources = rows.map((row) => ({ ...row, later: later.get(row.id) ?? NONE_LATER }));
  return sources.sort((a, b) => compare(a.title, b.title) || a.id - b.id);
}

/** Numbers (at most COUNT_MAX) of unread and starred posts; in alphabetical order, sources without a folder last. */
export function readingCounts(hub: Hub, viewer: Viewer): ReadingCounts {
  const byFolder = Map.groupBy(countedSources(hub, viewer), ({ folder }) => folder);
  const folders = [...byFolder].map(([name, sources]): CountedFolder =>
    ({ name, unread: sum(sources, 'inFolder'), sources }));
  folders.sort((a, b) => (a.name === null ? 1 : b.name === null ? -1 : compare(a.name, b.name)));
  const unread = sum(folders.flatMap(({ sources }) => sources.filter(({ hideGlobally }) => !hideGlobally)), 'inAll');
  const stars = lists(hub).countStars({ ...asking(viewer), folder: null, joined: 1, limit: COUNT_MAX });
  for (const source of folders.flatMap(({ sources }) => sources)) source.unread = Math.min(COUNT_MAX, source.unread);
  return { unread, starred: stars?.n ?? 0, folders };
}

function sum(counted: CountedSource[], list: keyof LaterDoubles): number {
  return Math.min(COUNT_MAX, counted.reduce((all, { unread, later }) => all + unread - later[list], 0));
}

const counted = new WeakMap<Viewer, ReadingCounts>();

/** As `readingCounts`, but counted only once for each request. */
export function countsForPage(hub: Hub, viewer: Viewer): ReadingCounts {
  const counts = counted.get(viewer) ?? readingCounts(hub, viewer);
  counted.set(viewer, counts);
  return counts;
}

/** Returns a count as pages show it: "148", or "999+". */
export function countText(count: number): string {
  return count < COUNT_MAX ? String(count) : `${COUNT_MAX - 1}+`;
}

/** Counts the posts of a list that arrived after the post `newest`, among the next COUNT_MAX of its reader. */
export function countArrived(
  hub: Hub, viewer: Viewer, newest: number,
  { sourceId, folder }: { sourceId: number | undefined; folder: string | null },
): number {
  const after = { ...asking(viewer), newest, limit: COUNT_MAX };
  const counted = sourceId === undefined ? lists(hub).countArrived({ ...after, folder, joined: 1 })
    : lists(hub).countArrivedIn({ ...after, sourceId });
  return counted?.n ?? 0;
}
