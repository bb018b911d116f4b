import { html } from '../../platform/http/html.ts';
import { pathId } from '../../platform/http/input.ts';
import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { audit, type By } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import { feedPosts } from './feed-posts-store.ts';
import { deletablePost } from './post-access.ts';
import { posts, type Post } from './post-store.ts';

/** Page: asks for confirmation before a post is deleted. Throws 403 or 404 if the viewer may not delete the post. */
export function confirmDeletePost(hub: Hub, req: MemberRequest): Reply {
  const post = deletablePost(hub, pathId(req.params), req.viewer);
  const main = html`
<section class="narrow">
  <h1>Delete this post?</h1>
  <p class="lead">“${post.title || 'Untitled'}” will be deleted for everyone${
    post.sourceKind === 'native' ? '. You cannot undo the deletion.'
      : ' and will not come back with the next synchronisation.'}</p>
  <form method="post" class="actions">
    <button class="danger">Delete post</button>
    <a class="quiet" href="/posts/${post.id}">Keep it</a>
  </form>
</section>`;
  return page({ title: 'Delete this post?', main });
}

/** Form: deletes a post. Throws status 403 or 404 if the viewer may not delete the post. */
export function submitDeletePost(hub: Hub, req: MemberRequest): Reply {
  const { sourceId } = deletePost(hub, pathId(req.params), req);
  return seeOther(saying(`/sources/${sourceId}`, 'post-deleted'));
}

/**
 * Deletes a post and leaves a tombstone, so that no synchronisation brings the post back. SQLite overwrites the deleted
 * post's row with zeros. The post's words leave the search index with the index's next merge.
 */
export function deletePost(hub: Hub, id: number, by: By): Post {
  const post = deletablePost(hub, id, by.viewer);
  hub.db.write('delete post', () => {
    feedPosts(hub).rememberDeleted(post.sourceId, post.guid);
    posts(hub).remove(post.sourceId, post.guid);
    audit(hub, 'post.deleted', by, { kind: 'post', id, name: post.title });
  });
  return post;
}
