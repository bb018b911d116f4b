import { accounts } from '../features/accounts/account-store.ts';
import { isSyncing } from '../features/feeds/queue-syncs.ts';
import { follows } from '../features/follows/follow-store.ts';
import { sourcePostList } from '../features/posts/post-pages.ts';
import { bytesMissing } from '../features/posts/post-store.ts';
import { notifyTransferred } from '../features/sources/notify-owner.ts';
import { importingOpml } from '../features/sources/import-opml.ts';
import { sourcePages, type WebhookViews } from '../features/sources/source-pages.ts';
import { sourceRoutes } from '../features/sources/source-routes.ts';
import { transferRoutes } from '../features/sources/transfer-routes.ts';
import { createTransferSource } from '../features/sources/transfer-source.ts';
import { webhookUrl } from '../features/webhooks/manage-webhooks.ts';
import { webhooks } from '../features/webhooks/webhook-store.ts';
import { newWebhookPage, webhookPanel } from '../features/webhooks/webhook-views.ts';
import type { Route, Viewer } from '../platform/http/router.ts';
import { ADMIN_LISTS } from './admin-lists.ts';
import type { App } from './app.ts';
import type { Assets } from './assets.ts';
import { withOpenApi } from './openapi.ts';
import { ROUTES } from './route-list.ts';

/** Every address of the hub. The first route that fits a path wins. */
export function hubRoutes(app: App, assets: Assets): Route[] {
  const { db, config, sources, recordAct } = app;
  const { baseUrl } = config;

  const webhookViews: WebhookViews = {
    panel(sourceId) {
      const webhook = webhooks(app.hub).find(sourceId);
      return webhook ? webhookPanel(webhook, webhookUrl(app.hub, sourceId)) : null;
    },
    created: newWebhookPage,
  };
  const transfer = createTransferSource({
    db, sources, recordAct,
    changing: app.changing,
    accountNamed: (username) => accounts(app.hub).findByName(username)?.id,
    bytesMissing: (source, accountId) => bytesMissing(app.hub, source, accountId),
    tellTransferred: (source, newOwnerId) => notifyTransferred(app.hub, source, newOwnerId),
  });

  return withOpenApi([
    ...ROUTES.map((bind) => bind(app.hub)),
    ...ADMIN_LISTS.flatMap((list) => list.routes(app.hub)),
    ...sourceRoutes({ ...app, importOpml: importingOpml(app), followedAmong, baseUrl }),
    ...transferRoutes({ changing: app.changing, transfer, followedAmong }),
    ...sourcePages({
      ...app, importOpml: importingOpml(app), postsOfSource: (req, sourceId) => sourcePostList(app.hub, req, sourceId),
      webhookViews, isFollowed,
      isSyncing: (sourceId) => isSyncing(app.hub, sourceId),
    }),
    ...assets.routes,
  ], config);

  function isFollowed(viewer: Viewer, sourceId: number): boolean {
    return follows(app.hub).isFollowed(viewer.id, sourceId);
  }

  function followedAmong(viewer: Viewer, sourceIds: number[]): Set<number> {
    return follows(app.hub).followedAmong(viewer.id, sourceIds);
  }
}
