import { html } from '../../platform/http/html.ts';
import { pathId } from '../../platform/http/input.ts';
import { narrowPage, postForm } from '../../platform/http/page-parts.ts';
import { page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { audit, type By } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { act, byId, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { feedPosts } from './feed-posts-store.ts';
import { deletablePost } from './post-access.ts';
import { posts, type Post } from './post-store.ts';

export function confirmDeletePost(hub: Hub, req: MemberRequest): Reply {
  const post = deletablePost(hub, pathId(req.params), req.viewer);
  const lead = `“${post.title || 'Untitled'}” will be deleted for everyone${
    post.sourceKind === 'native' ? '. This cannot be undone.'
      : ' and will not come back with the next synchronisation.'}`;
  const form = postForm(undefined, html`<button class="danger">Delete post</button>`,
    html`<a class="quiet" href="/posts/${post.id}">Keep it</a>`, 'actions');
  return page(narrowPage('Delete this post?', lead, form));
}

/**
 * Leaves a tombstone, so that no synchronisation brings the post back. SQLite overwrites its row with zeros; its words
 * leave the search index when SQLite merges the segment that has them.
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

export const DELETE_POST_ROUTES: Endpoint[] = act({
  api: 'DELETE /api/posts/:id', form: 'POST /posts/:id/delete',
  summary: 'Delete a post for good: no synchronisation brings it back',
  run: byId(deletePost), usesReserve: true, next: ({ sourceId }) => saying(`/sources/${sourceId}`, 'post-deleted'),
});
