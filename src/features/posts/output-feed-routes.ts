import { pathId } from '../../platform/http/input.ts';
import { text, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { visibleSource } from '../sources/source-access.ts';
import { atomFeed, jsonFeed, type OutputFeed } from './output-feeds.ts';
import { posts } from './post-store.ts';

const POSTS_IN_FEED = 30;

export function showAtomFeed(hub: Hub, req: HubRequest): Reply {
  return atom(hub, newestPosts(hub, req));
}

export function showJsonFeed(hub: Hub, req: HubRequest): Reply {
  return jsonReply(hub, newestPosts(hub, req));
}

export function showSourceAtomFeed(hub: Hub, req: HubRequest): Reply {
  return atom(hub, postsOfSource(hub, req));
}

export function showSourceJsonFeed(hub: Hub, req: HubRequest): Reply {
  return jsonReply(hub, postsOfSource(hub, req));
}

function newestPosts(hub: Hub, { path }: HubRequest): OutputFeed {
  const { baseUrl } = hub.config;
  const newest = posts(hub).newest({ viewerId: null, limit: POSTS_IN_FEED });
  return { title: 'Content Hub', url: baseUrl + path, homeUrl: `${baseUrl}/`, posts: newest };
}

function postsOfSource(hub: Hub, { params, viewer, path }: HubRequest): OutputFeed {
  const { baseUrl } = hub.config;
  const { id: sourceId, title } = visibleSource(hub, pathId(params), viewer);
  const newest = posts(hub).newest({ viewerId: null, sourceId, limit: POSTS_IN_FEED });
  return { title, url: baseUrl + path, homeUrl: `${baseUrl}/sources/${sourceId}`, posts: newest };
}

function atom(hub: Hub, feed: OutputFeed): Reply {
  return text(atomFeed(hub, feed), 'application/atom+xml; charset=utf-8');
}

function jsonReply(hub: Hub, feed: OutputFeed): Reply {
  return text(JSON.stringify(jsonFeed(hub, feed)), 'application/feed+json; charset=utf-8');
}
