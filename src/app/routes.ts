import { attachmentRoutes } from '../features/attachments/attachment-routes.ts';
import { MAX_FILES } from '../features/attachments/receive-files.ts';
import { outputFeedRoutes } from '../features/posts/output-feed-routes.ts';
import { listingPosts, type MaySeeSource } from '../features/posts/list-posts.ts';
import { onePost } from '../features/posts/one-post.ts';
import { postPages } from '../features/posts/post-pages.ts';
import { noteOpened, readAmong } from '../features/posts/reading-history-store.ts';
import { postRoutes, type Reading } from '../features/posts/post-routes.ts';
import { writePages } from '../features/posts/write-pages.ts';
import { writeRoutes } from '../features/posts/write-routes.ts';
import { maySeeSource as maySeeSourceOf } from '../features/sources/source-access.ts';
import { byteSize } from '../platform/http/readable.ts';
import type { Route } from '../platform/http/router.ts';
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

  return withOpenApi([
    ...outputFeedRoutes({ posts, serving, visibleSourceTitle }),
    ...ROUTES.map((bind) => bind(app.hub)),
    ...ADMIN_LISTS.flatMap((list) => list.routes(app.hub)),
    ...postRoutes({ listPosts, one, serving, reading }),
    ...postPages({ listPosts, one, serving, reading }),
    ...writeRoutes({ writing, receive: attachments.receive, serving }),
    ...writePages({ writing, receive: attachments.receive, filesHint: filesHint(config), noteTrouble }),
    ...attachmentRoutes({ ...attachments, db, maySeeSource, recordAct }),
    ...assets.routes,
  ], config);

  function noteTrouble(error: unknown): void {
    app.log.error('post not stored', errorFields(error));
    app.errors.note(error);
  }

  function visibleSourceTitle(sourceId: number, viewer: Parameters<MaySeeSource>[1]): string | undefined {
    return maySeeSource(sourceId, viewer) ? sources.find(sourceId)?.title : undefined;
  }
}

function filesHint({ uploadMaxBytes }: Config): string {
  return `up to ${MAX_FILES}: images, PDF, plain text or Markdown, ${byteSize(uploadMaxBytes)} each`;
}
