import { notFound } from '../../platform/http/problem.ts';
import type { Viewer } from '../../platform/http/router.ts';
import type { StoreHub } from '../hub/hub.ts';
import { maySeeSource } from '../sources/source-access.ts';
import { posts, type PostWithAttachments } from './post-store.ts';

/** The post, for who may see it; 404 for anybody else. */
export function visiblePost(hub: StoreHub, id: number, viewer: Viewer | null): PostWithAttachments {
  const post = posts(hub).find(id);
  if (!post || !(post.isPublic === 1 || maySeeSource(hub, post.sourceId, viewer))) throw notFound('post');
  return post;
}
