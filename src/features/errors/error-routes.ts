import type { Hub } from '../hub/hub.ts';
import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { json, page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { errorEvents, type ErrorEvent } from './error-store.ts';
import { errorsPage } from './error-views.ts';

export function listErrors(hub: Hub, req: HubRequest): Reply {
  const { items, next } = readPage(hub, req);
  return json({ items: items.map(errorJson), next }, 200, nextLink(req.path, req.query, next));
}

export function showErrors(hub: Hub, req: HubRequest): Reply {
  return page(errorsPage(readPage(hub, req)));
}

function readPage(hub: Hub, { query }: HubRequest) {
  const limit = readLimit(query);
  const [lastAt, id] = readCursor(query, 2) ?? [];
  const after = lastAt === undefined || id === undefined ? undefined : { lastAt, id };
  return pageOf(errorEvents(hub).list(after, limit + 1), limit, (last) => cursorOf(last.lastAt, last.id));
}

function errorJson({ id, program, message, stack, count, firstAt, lastAt }: ErrorEvent) {
  const [first, last] = [new Date(firstAt).toISOString(), new Date(lastAt).toISOString()];
  return { id, program, message, stack, count, firstAt: first, lastAt: last };
}
