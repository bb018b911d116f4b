import { accountPages } from '../features/accounts/account-pages.ts';
import { accountRoutes } from '../features/accounts/account-routes.ts';
import { healthRoutes } from '../features/health/health-routes.ts';
import { outputFeedRoutes } from '../features/posts/output-feed-routes.ts';
import { listingPosts, type MaySeeSource } from '../features/posts/list-posts.ts';
import { onePost } from '../features/posts/one-post.ts';
import { postPages } from '../features/posts/post-pages.ts';
import { postRoutes } from '../features/posts/post-routes.ts';
import { postList } from '../features/posts/post-views.ts';
import { importingOpml } from '../features/sources/import-opml.ts';
import { sourcePages, type PostsOfSource } from '../features/sources/source-pages.ts';
import { sourceRoutes } from '../features/sources/source-routes.ts';
import { maySee } from '../features/sources/source-store.ts';
import type { Route } from '../platform/http/router.ts';
import type { App } from './app.ts';
import type { Assets } from './assets.ts';
import type { Membership } from './membership.ts';
import type { Observations } from './observations.ts';
import { withOpenApi } from './openapi.ts';

/** Every address of the hub. The first route that fits a path wins. */
export function hubRoutes(app: App, membership: Membership, observations: Observations, assets: Assets): Route[] {
  const { db, config, posts, sources, recordAct } = app;
  const { baseUrl, secure } = config;

  const maySeeSource: MaySeeSource = (sourceId, viewer) => {
    const source = sources.find(sourceId);
    return source !== undefined && maySee(source, viewer);
  };

  const one = onePost({ db, posts, maySeeSource, recordAct });
  const listPosts = listingPosts(posts, maySeeSource);
  const postsOfSource: PostsOfSource = (request, sourceId) => {
    const { items, next } = listPosts(request, sourceId);
    return { list: items.length > 0 ? postList(items, { withSource: false }) : null, next };
  };

  return withOpenApi([
    ...healthRoutes({ ...observations, metricsToken: config.metricsToken }),
    ...accountRoutes({ ...membership, db, recordAct, baseUrl, secure }),
    ...accountPages({ ...membership, secure }),
    ...postRoutes({ listPosts, one }),
    ...postPages({ listPosts, one }),
    ...outputFeedRoutes({ posts, baseUrl, visibleSourceTitle }),
    ...sourceRoutes({ ...app, importOpml: importingOpml(app), baseUrl }),
    ...sourcePages({ ...app, importOpml: importingOpml(app), postsOfSource, isSyncing: app.syncJobs.isUnderWay }),
    ...assets.routes,
  ], config);

  function visibleSourceTitle(sourceId: number, viewer: Parameters<MaySeeSource>[1]): string | undefined {
    return maySeeSource(sourceId, viewer) ? sources.find(sourceId)?.title : undefined;
  }

}
