import { accounts } from '../features/accounts/account-store.ts';
import { attachmentRoutes } from '../features/attachments/attachment-routes.ts';
import { MAX_FILES } from '../features/attachments/receive-files.ts';
import { isSyncing } from '../features/feeds/queue-syncs.ts';
import { follows } from '../features/follows/follow-store.ts';
import { outputFeedRoutes } from '../features/posts/output-feed-routes.ts';
import { listingPosts, type MaySeeSource } from '../features/posts/list-posts.ts';
import { onePost } from '../features/posts/one-post.ts';
import { postPages } from '../features/posts/post-pages.ts';
import { noteOpened, readAmong } from '../features/posts/reading-history-store.ts';
import { postRoutes, type Reading } from '../features/posts/post-routes.ts';
import { postList } from '../features/posts/post-views.ts';
import { writePages } from '../features/posts/write-pages.ts';
import { writeRoutes } from '../features/posts/write-routes.ts';
import { notifyTransferred } from '../features/sources/notify-owner.ts';
import { importingOpml } from '../features/sources/import-opml.ts';
import { sourcePages, type PostsOfSource, type WebhookViews } from '../features/sources/source-pages.ts';
import { sourceRoutes } from '../features/sources/source-routes.ts';
import { maySeeSource as maySeeSourceOf } from '../features/sources/source-access.ts';
import { transferRoutes } from '../features/sources/transfer-routes.ts';
import { createTransferSource } from '../features/sources/transfer-source.ts';
import { webhookUrl } from '../features/webhooks/manage-webhooks.ts';
import { webhooks } from '../features/webhooks/webhook-store.ts';
import { newWebhookPage, webhookPanel } from '../features/webhooks/webhook-views.ts';
import { byteSize } from '../platform/http/readable.ts';
import type { Route, Viewer } from '../platform/http/router.ts';
import { errorFields } from '../platform/log.ts';
import { ADMIN_LISTS } from './admin-lists.ts';
import type { App } from './app.ts';
import type { Assets } from './assets.ts';
import type { Config } from '../features/hub/read-config.ts';
import { withOpenApi } from './openapi.ts';
import { ROUTES } from './route-list.ts';

/** Every address of the hub. The first route that fits a path wins. */
export function hubRoutes(app: App, assets: Assets): Route[] {
  const { db, config, posts, sources, recordAct, attachments, writing } = app;
  const { baseUrl } = config;
  const serving = { baseUrl, keepsRemoteFiles: config.attachmentCacheMaxBytes > 0 };

  const maySeeSource: MaySeeSource = (sourceId, viewer) => maySeeSourceOf(app.hub, sourceId, viewer);

  const one = onePost({ db, posts, maySeeSource, recordAct });
  const reading: Reading = {
    readAmong: (viewer, postIds) => readAmong(app.hub, viewer, postIds),
    opened: (viewer, postId) => noteOpened(app.hub, viewer, postId),
  };
  const listPosts = listingPosts(posts, maySeeSource);
  const postsOfSource: PostsOfSource = (request, sourceId) => {
    const { items, next } = listPosts(request, sourceId);
    const read = reading.readAmong(request.viewer, items.map(({ id }) => id));
    return { list: items.length > 0 ? postList(items, { withSource: false, read }) : null, next };
  };

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
    bytesMissing: attachments.bytesMissing,
    tellTransferred: (source, newOwnerId) => notifyTransferred(app.hub, source, newOwnerId),
  });

  return withOpenApi([
    ...ROUTES.map((bind) => bind(app.hub)),
    ...ADMIN_LISTS.flatMap((list) => list.routes(app.hub)),
    ...postRoutes({ listPosts, one, serving, reading }),
    ...postPages({ listPosts, one, serving, reading }),
    ...writeRoutes({ writing, receive: attachments.receive, serving }),
    ...writePages({ writing, receive: attachments.receive, filesHint: filesHint(config), noteTrouble }),
    ...attachmentRoutes({ ...attachments, db, maySeeSource, recordAct }),
    ...outputFeedRoutes({ posts, serving, visibleSourceTitle }),
    ...sourceRoutes({ ...app, importOpml: importingOpml(app), followedAmong, baseUrl }),
    ...transferRoutes({ changing: app.changing, transfer, followedAmong }),
    ...sourcePages({
      ...app, importOpml: importingOpml(app), postsOfSource, webhookViews, isFollowed,
      isSyncing: (sourceId) => isSyncing(app.hub, sourceId),
    }),
    ...assets.routes,
  ], config);

  function noteTrouble(error: unknown): void {
    app.log.error('post not stored', errorFields(error));
    app.errors.note(error);
  }

  function isFollowed(viewer: Viewer, sourceId: number): boolean {
    return follows(app.hub).isFollowed(viewer.id, sourceId);
  }

  function followedAmong(viewer: Viewer, sourceIds: number[]): Set<number> {
    return follows(app.hub).followedAmong(viewer.id, sourceIds);
  }

  function visibleSourceTitle(sourceId: number, viewer: Parameters<MaySeeSource>[1]): string | undefined {
    return maySeeSource(sourceId, viewer) ? sources.find(sourceId)?.title : undefined;
  }
}

function filesHint({ uploadMaxBytes }: Config): string {
  return `up to ${MAX_FILES}: images, PDF, plain text or Markdown, ${byteSize(uploadMaxBytes)} each`;
}
