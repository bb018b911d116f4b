import { pathId } from '../../platform/http/input.ts';
import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import { deletablePost, deletePostForGood } from './post-access.ts';
import { confirmDeletePage } from './post-views.ts';

export function confirmDeletePost(hub: Hub, req: MemberRequest): Reply {
  return page(confirmDeletePage(deletablePost(hub, pathId(req.params), req.viewer)));
}

export function submitDeletePost(hub: Hub, req: MemberRequest): Reply {
  const { sourceId } = deletePostForGood(hub, pathId(req.params), req);
  return seeOther(saying(`/sources/${sourceId}`, 'post-deleted'));
}
