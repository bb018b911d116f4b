import { id, integer, listOf, named, noted, object, optional, orNull, text, time } from '../../platform/http/fields.ts';
import { act, byId, view, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { savedSearches } from './saved-search-store.ts';
import { removeSearch, saveSearch, SEARCH_FIELDS, searchCounts, searchPath } from './saved-searches.ts';

/** A saved search in the API and in the export. */
export const SAVED_SEARCH = named('SavedSearch', object({
  id, name: text, q: text, createdAt: time,
  count: optional(noted(orNull(integer), 'Unread posts that the search finds, up to 100; null: not counted')),
}));

export const SEARCH_ROUTES: Endpoint[] = [
  view('GET /api/searches', { access: 'member', summary: 'Your saved searches' }, listOf(SAVED_SEARCH),
    (hub, { viewer }) => {
      const found = searchCounts(hub, viewer);
      const items = savedSearches(hub).listOf(viewer.id).map((search) =>
        SAVED_SEARCH.show({ ...search, count: found.get(search.id) ?? null }));
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
