import { pathId } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/problem.ts';
import { noContent, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { maySeeSource } from '../sources/source-access.ts';
import { follows } from './follow-store.ts';

/** API; may be repeated. */
export function followSource(hub: Hub, req: MemberRequest): Reply {
  follows(hub).follow(req.viewer.id, knownSource(hub, req));
  return noContent();
}

/** API; may be repeated. */
export function unfollowSource(hub: Hub, req: MemberRequest): Reply {
  follows(hub).unfollow(req.viewer.id, knownSource(hub, req));
  return noContent();
}

export function submitFollow(hub: Hub, req: MemberRequest): Reply {
  followSource(hub, req);
  return seeOther(`/sources/${pathId(req.params)}`);
}

export function submitUnfollow(hub: Hub, req: MemberRequest): Reply {
  unfollowSource(hub, req);
  return seeOther(`/sources/${pathId(req.params)}`);
}

/** The id of a source that the viewer may see, or follows: a follower can let go of one that is hidden by now. */
function knownSource(hub: Hub, { params, viewer }: MemberRequest): number {
  const id = pathId(params);
  if (!maySeeSource(hub, id, viewer) && !follows(hub).isFollowed(viewer.id, id)) throw notFound('source');
  return id;
}
