import { pathId } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/problem.ts';
import { text, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type Route, type Viewer } from '../../platform/http/router.ts';
import { atomFeed, jsonFeed, type OutputFeed } from './output-feeds.ts';
import type { PostStore } from './post-store.ts';
import type { Serving } from './served-attachments.ts';

const POSTS_IN_FEED = 30;
const CACHED = { cached: true };

/** The title of a source that the viewer may see; given by app. */
export type VisibleSourceTitle = (sourceId: number, viewer: Viewer | null) => string | undefined;

type Deps = { posts: PostStore; visibleSourceTitle: VisibleSourceTitle; serving: Serving };

/** The feeds that the hub gives out. */
export function outputFeedRoutes({ posts, visibleSourceTitle, serving }: Deps): Route[] {
  const { baseUrl } = serving;
  return [
    route('GET /posts.atom', 'public', 'Newest posts as Atom', (req) => atom(newestPosts(req)), CACHED),
    route('GET /posts.json', 'public', 'Newest posts as JSON Feed', (req) => jsonReply(newestPosts(req)), CACHED),
    route('GET /sources/:id.atom', 'public', 'Posts of a source as Atom', (req) => atom(ofSource(req)), CACHED),
    route('GET /sources/:id.json', 'public', 'Posts of a source as JSON Feed', jsonOfSource, CACHED),
  ];

  function jsonOfSource(req: HubRequest): Reply {
    return jsonReply(ofSource(req));
  }

  function newestPosts({ path }: HubRequest): OutputFeed {
    const newest = posts.newest({ viewerId: null, limit: POSTS_IN_FEED });
    return { title: 'Content Hub', url: baseUrl + path, homeUrl: `${baseUrl}/`, posts: newest, serving };
  }

  function ofSource(req: HubRequest): OutputFeed {
    const sourceId = pathId(req.params);
    const title = visibleSourceTitle(sourceId, req.viewer);
    if (title === undefined) throw notFound('source');
    const newest = posts.newest({ viewerId: null, sourceId, limit: POSTS_IN_FEED });
    return { title, url: baseUrl + req.path, homeUrl: `${baseUrl}/sources/${sourceId}`, posts: newest, serving };
  }
}

function atom(feed: OutputFeed): Reply {
  return text(atomFeed(feed), 'application/atom+xml; charset=utf-8');
}

function jsonReply(feed: OutputFeed): Reply {
  return text(JSON.stringify(jsonFeed(feed)), 'application/feed+json; charset=utf-8');
}
