import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { follows, type ListedFollow } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { sourcePosts } from '../posts/source-posts-store.ts';
import { countedSources } from '../reading/reading-counts.ts';
import { manySources, mayManage, sources, type Source } from '../sources/source-store.ts';

/** Filters of the list of owned and followed sources. `others`: public sources that the viewer does not follow. */
export const SHOWN = ['all', 'failing', 'paused', 'mine', 'others'] as const;

/** Orders of the list of sources, with their names in forms; equal sources stand by name. */
export const ORDERS = {
  failing: { label: 'Failing first', key: ({ state }: Row) => TROUBLE[state] },
  newest: { label: 'Newest post', key: ({ id }: Row, newest: Newest) => -(newest.get(id) ?? 0) },
  name: { label: 'Name', key: () => 0 },
};

/** Filters and order of the list of sources. `after`: the id of the last source of the previous page. */
export type Wanted = {
  show: (typeof SHOWN)[number]; q: string; folder: string; sort: keyof typeof ORDERS; after: number;
};

export type Managed = Source & {
  isFollowed: boolean; folder: string | null; notify: boolean; mayManage: boolean; newestAt: number | null;
  unread: number;
};

export type ManagedPage = {
  items: Managed[]; before: number; total: number; next: number | null; counts: Record<(typeof SHOWN)[number], number>;
};

const OTHERS_MOST = 1_000;

/** Number of a viewer's own sources to read even if SOURCES_MAX is lower: administrators may own more sources. */
const OWNED_MOST = 10_000;

/** Returns a page of the sources that a member has or could follow; reads all that a member has. */
export async function managedSources(hub: Hub, viewer: Viewer, wanted: Wanted, limit: number): Promise<ManagedPage> {
  const all = ownAndFollowed(hub, viewer);
  await nextTurn(); // reading 2,000 sources takes 15 ms, and sorting and counting them another 15 ms
  const counts = { ...countShown(all, viewer), others: 0 };
  const shown = wanted.show === 'others' ? others(hub, viewer, all) : all.filter((one) => isShown(one, wanted, viewer));
  const fitting = shown.filter(filterFor(wanted));
  const newest = sourcePosts(hub).newestOf(wanted.sort === 'newest' ? fitting.map(({ id }) => id) : []);
  const sorted = inOrder(fitting, wanted.sort, newest);
  const before = sorted.findIndex(({ id }) => id === wanted.after) + 1;
  const items = sorted.slice(before, before + limit);
  return {
    items: withNews(hub, viewer, items), before, total: sorted.length, counts,
    next: before + items.length < sorted.length ? items.at(-1)?.id ?? null : null,
  };
}

type Row = Omit<Managed, 'newestAt' | 'unread'>;
type Newest = Map<number, number>; // when each source’s newest post was published

function ownAndFollowed(hub: Hub, viewer: Viewer): Row[] {
  const followed = new Map(follows(hub).listed(viewer).map((follow) => [follow.sourceId, follow]));
  const own = sources(hub).listOwned(viewer.id, 0, Math.max(hub.config.sourcesMax, OWNED_MOST));
  const others = manySources(hub).among([...followed.keys()]).filter(({ ownerId }) => ownerId !== viewer.id);
  return [...own, ...others].map((source) => rowOf(viewer, source, followed.get(source.id)));
}

function others(hub: Hub, viewer: Viewer, known: Row[]): Row[] {
  const ids = new Set(known.map(({ id }) => id));
  return sources(hub).list(viewer, 0, OTHERS_MOST).filter(({ id }) => !ids.has(id))
    .map((source) => rowOf(viewer, source));
}

function rowOf(viewer: Viewer, source: Source, follow?: ListedFollow): Row {
  const { folder = null, notify } = follow ?? {};
  const isFollowed = follow !== undefined;
  return { ...source, isFollowed, folder, notify: notify === 1, mayManage: mayManage(source, viewer) };
}

function countShown(all: Row[], viewer: Viewer): Omit<ManagedPage['counts'], 'others'> {
  const inState = (state: Source['state']): number => all.filter((one) => one.state === state).length;
  const mine = all.filter(({ ownerId }) => ownerId === viewer.id).length;
  return { all: all.length, failing: inState('failing'), paused: inState('paused'), mine };
}

function isShown({ state, ownerId }: Row, { show }: Wanted, viewer: Viewer): boolean {
  if (show === 'mine') return ownerId === viewer.id;
  return show === 'all' || state === show;
}

/** Filters sources by folder and words. Only managers search by feed address, which may contain a secret. */
function filterFor({ q, folder: wanted }: Wanted): (row: Row) => boolean {
  const words = fold(q);
  return ({ title, siteUrl, feedUrl, mayManage, folder }) => {
    if (wanted !== '' && folder !== wanted) return false;
    return q === '' || fold(`${title} ${siteUrl ?? ''} ${mayManage ? feedUrl ?? '' : ''}`).includes(words);
  };
}

function fold(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

const TROUBLE: Record<Source['state'], number> = { failing: 0, paused: 1, active: 2 };

function inOrder(rows: Row[], sort: Wanted['sort'], newest: Newest): Row[] {
  const { compare } = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });
  const { key } = ORDERS[sort];
  return rows.toSorted((a, b) => key(a, newest) - key(b, newest) || compare(a.title, b.title) || a.id - b.id);
}

function withNews(hub: Hub, viewer: Viewer, rows: Row[]): Managed[] {
  const newest = sourcePosts(hub).newestOf(rows.map(({ id }) => id));
  const unread = new Map(countedSources(hub, viewer).map((source) => [source.id, source.unread]));
  return rows.map((row) => ({ ...row, newestAt: newest.get(row.id) ?? null, unread: unread.get(row.id) ?? 0 }));
}
