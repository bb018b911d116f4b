import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { json, page, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type Route } from '../../platform/http/router.ts';
import { webhooksPage } from './webhook-admin-views.ts';
import type { ListedWebhook, WebhookListStore } from './webhook-list-store.ts';

/** All webhooks and whether they are heard, for administrators. */
export function webhookAdminRoutes({ webhooks }: { webhooks: WebhookListStore }): Route[] {
  return [
    route('GET /api/admin/webhooks', 'admin', 'Webhooks, and when each was last heard', list),
    route('GET /admin/webhooks', 'admin', 'Page: webhooks', (req) => page(webhooksPage(readPage(req)))),
  ];

  function readPage({ query }: HubRequest) {
    const limit = readLimit(query);
    const [after = 0] = readCursor(query, 1) ?? [];
    return pageOf(webhooks.list(after, limit + 1), limit, (last) => cursorOf(last.sourceId));
  }

  function list(req: HubRequest): Reply {
    const { items, next } = readPage(req);
    return json({ items: items.map(webhookJson), next }, 200, nextLink(req.path, req.query, next));
  }
}

function webhookJson({ sourceId, title, ownerId, state, ...at }: ListedWebhook) {
  return {
    source: { id: sourceId, title }, ownerId, state,
    lastEventAt: time(at.lastEventAt), previousSecretUntil: time(at.previousUntilAt), createdAt: time(at.createdAt),
  };
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
