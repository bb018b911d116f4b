import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { json, page, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type Route } from '../../platform/http/router.ts';
import type { ErrorEvent, ErrorStore } from './error-store.ts';
import { errorsPage } from './error-views.ts';

/** What went wrong unexpectedly, for administrators. */
export function errorRoutes({ errors }: { errors: Pick<ErrorStore, 'list'> }): Route[] {
  return [
    route('GET /api/admin/errors', 'admin', 'Error events, one for each kind, last seen first', list),
    route('GET /admin/errors', 'admin', 'Page: error events', show),
  ];

  function readPage({ query }: HubRequest) {
    const limit = readLimit(query);
    const [lastAt, id] = readCursor(query, 2) ?? [];
    const after = lastAt === undefined || id === undefined ? undefined : { lastAt, id };
    return pageOf(errors.list(after, limit + 1), limit, (last) => cursorOf(last.lastAt, last.id));
  }

  function list(req: HubRequest): Reply {
    const { items, next } = readPage(req);
    return json({ items: items.map(errorJson), next }, 200, nextLink(req.path, req.query, next));
  }

  function show(req: HubRequest): Reply {
    return page(errorsPage(readPage(req)));
  }
}

function errorJson({ id, program, message, stack, count, firstAt, lastAt }: ErrorEvent) {
  const [first, last] = [new Date(firstAt).toISOString(), new Date(lastAt).toISOString()];
  return { id, program, message, stack, count, firstAt: first, lastAt: last };
}
