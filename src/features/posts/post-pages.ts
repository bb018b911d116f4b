import { pathId } from '../../platform/http/input.ts';
import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { deletablePost, deletePostForGood } from './post-access.ts';
import { confirmDeletePage } from './post-views.ts';
import { removeFile } from './write-post.ts';

export function confirmDeletePost(hub: Hub, req: MemberRequest): Reply {
  return page(confirmDeletePage(deletablePost(hub, pathId(req.params), req.viewer)));
}

export function submitDeletePost(hub: Hub, req: MemberRequest): Reply {
  return seeOther(`/sources/${deletePostForGood(hub, pathId(req.params), req).sourceId}`);
}

export function submitDeleteAttachment(hub: Hub, req: MemberRequest): Reply {
  return seeOther(`/posts/${removeFile(hub, pathId(req.params), req).postId}`);
}
