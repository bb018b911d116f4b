import { createHash } from 'node:crypto';
import { hasPassed, MINUTE } from '../../platform/clock.ts';
import {
  line, noted, optional, id, integer, listOf, named, object, orNull, text, time, type Given,
} from '../../platform/http/fields.ts';
import { notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { counts, metLimit, once, type Hub } from '../hub/hub.ts';
import { EXPRESSION_MAX, parseExpression, requireExpression } from '../posts/expression.ts';
import { posts } from '../posts/post-store.ts';
import { act, byId, view, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { listPath } from './list-address.ts';
import { countsForPage } from './reading-counts.ts';
import { countFound, type View } from './reading-list.ts';
import { entries } from './entry-store.ts';
import { savedSearches, SEARCHES_MAX, type SavedSearch } from './saved-search-store.ts';

const NAME_MAX = 100;

export const SEARCH_FIELDS = {
  q: line({ max: EXPRESSION_MAX }),
  name: optional(noted(line({ max: NAME_MAX }), 'By default the expression')),
};

/** Number at which counting the posts of a saved search stops. */
const FOUND_MAX = 100;

/** Processor time (ms) after which a page begins no further count of a saved search. */
const BUDGET_MS = 4;

/** A search whose count takes this long (ms of processor time) is not counted again for KEPT_FOR. */
const DEAR_MS = 20;

/** Time (ms) after which an unchanged `stateOfLists` spares no count, because the texts of posts may have changed. */
const KEPT_FOR = 10 * MINUTE;

/** The address of all posts that a saved search finds. */
export function searchPath(q: string): string {
  return listPath({ kind: 'all', q });
}

/** Returns the count of a saved search as pages show it: "48", or "99+". */
export function foundText(count: number): string {
  return count < FOUND_MAX ? String(count) : `${FOUND_MAX - 1}+`;
}

/** Saves a search; the beginning of its expression is its default name. */
export function saveSearch(
  hub: Hub, viewer: Viewer, { q, name = q.slice(0, NAME_MAX) }: Given<typeof SEARCH_FIELDS>,
): SavedSearch {
  requireExpression(q, 'q', { isRule: false });
  return hub.db.write('save search', () => {
    if (savedSearches(hub).listOf(viewer.id).length >= SEARCHES_MAX) {
      throw metLimit(hub, 'searches-max', 0, `An account may have at most ${SEARCHES_MAX} saved searches.`);
    }
    const saved = savedSearches(hub).add(viewer.id, name, q);
    if (!saved) throw new Error('the search was not saved');
    return saved;
  });
}

/** Returns the search that it has removed. */
export function removeSearch(hub: Hub, id: number, { viewer }: { viewer: Viewer }): SavedSearch {
  const search = savedSearches(hub).listOf(viewer.id).find((one) => one.id === id);
  if (!search || !savedSearches(hub).remove(viewer.id, id)) throw notFound('saved search');
  return search;
}

/** How many posts a saved search finds; null: one step could not count them. `state`: `stateOfLists` at the count. */
type KeptCount = { state: string; count: number | null; at: number; isDear: boolean };

const keptCounts = once((_hub: Hub) => new Map<number, KeptCount>());

/** How many posts each saved search finds (unread ones, if it has no `is:`), by its id, as far as BUDGET_MS allows. */
export function searchCounts(hub: Hub, viewer: Viewer): Map<number, number> {
  const [kept, now] = [keptCounts(hub), hub.clock()];
  const all = savedSearches(hub).listOf(viewer.id);
  const state = all.length === 0 ? '' : stateOfLists(hub, viewer);
  const began = usedMs();
  for (const { id, q } of all.toSorted((a, b) => (kept.get(a.id)?.at ?? 0) - (kept.get(b.id)?.at ?? 0))) {
    const last = kept.get(id);
    const isNew = last !== undefined && !hasPassed(last.at, KEPT_FOR, now);
    const before = usedMs();
    if ((isNew && (last.state === state || last.isDear)) || before - began > BUDGET_MS) continue;
    const { count, isAll } = countFound(hub, viewer, viewOf(q), FOUND_MAX);
    kept.set(id, { state, at: now, count: isAll ? count : null, isDear: usedMs() - before > DEAR_MS || !isAll });
  }
  return new Map(all.flatMap(({ id }): [number, number][] => {
    const { count = null, state: counted } = kept.get(id) ?? {};
    return count === null || counted !== state ? [] : [[id, count]];
  }));
}

/**
 * A text by which kept counts of searches are found to be out of date. It has the newest post, the edition of all rules
 * and the viewer's last mark, number of stars, sources with their counts, and choice whether doubles are joined.
 */
function stateOfLists(hub: Hub, viewer: Viewer): string {
  const { starred, folders } = countsForPage(hub, viewer);
  const sources = createHash('sha256').update(JSON.stringify(folders)).digest('base64');
  const [marked, edition] = [entries(hub).lastReadAt(viewer.id), counts(hub).value('rules_edition')];
  return [posts(hub).lastId(), marked, edition, starred, sources, viewer.preferences.joinsDoubles].join(' ');
}

/** Processor time that this thread has used, in ms; unlike elapsed time, it does not grow on a busy machine. */
function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function viewOf(q: string): View {
  const { states } = parseExpression(q, { isSearch: true });
  return { kind: states.size > 0 ? 'all' : 'unread', q };
}

/** A saved search in the API and in the export. */
export const SAVED_SEARCH = named('SavedSearch', object({
  id, name: text, q: text, createdAt: time,
  count: optional(noted(orNull(integer), 'Unread posts that the search finds, up to 100; null: not counted')),
}));

export const SEARCH_ROUTES: Endpoint[] = [
  view('GET /api/searches', { summary: 'Your saved searches' }, listOf(SAVED_SEARCH),
    (hub, { viewer }) => {
      const found = searchCounts(hub, viewer);
      const items = savedSearches(hub).listOf(viewer.id).map((search) =>
        ({ ...search, count: found.get(search.id) ?? null }));
      return { items, next: null };
    }),
  ...act({
    api: 'POST /api/searches', form: 'POST /searches', summary: 'Save a search: {q, name?}',
    fields: SEARCH_FIELDS, run: (hub, search, { viewer }) => saveSearch(hub, viewer, search),
    status: 201, shape: SAVED_SEARCH, show: SAVED_SEARCH.show, next: ({ q }) => saying(searchPath(q), 'search-saved'),
  }),
  ...act({
    api: 'DELETE /api/searches/:id', form: 'POST /searches/:id/remove', summary: 'Remove a saved search',
    run: byId(removeSearch), usesReserve: true, next: ({ q }) => saying(searchPath(q), 'search-removed'),
  }),
];
