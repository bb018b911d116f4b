import { pathId } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/problem.ts';
import { noContent, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import type { Viewer } from '../../platform/viewer.ts';
import type { FollowStore } from './follow-store.ts';

export type FollowRouteDeps = {
  follows: FollowStore;
  /** Whether there is such a source and the viewer may see it; given by app. */
  maySeeSource(sourceId: number, viewer: Viewer): boolean;
};

/** Hearing of a source's new posts, or no more. Either can be repeated. */
export function followRoutes({ follows, maySeeSource }: FollowRouteDeps): Route[] {
  return [
    route('PUT /api/sources/:id/follow', 'member', 'Be notified of new posts of a source', (req) =>
      act(req, follows.follow, () => noContent())),
    route('DELETE /api/sources/:id/follow', 'member', 'No longer be notified of new posts of a source', (req) =>
      act(req, follows.unfollow, () => noContent())),
    route('POST /sources/:id/follow', 'member', 'Form: be notified of new posts', (req) =>
      act(req, follows.follow, (id) => seeOther(`/sources/${id}`))),
    route('POST /sources/:id/unfollow', 'member', 'Form: no longer be notified', (req) =>
      act(req, follows.unfollow, (id) => seeOther(`/sources/${id}`))),
  ];

  function act(
    req: MemberRequest, change: (accountId: number, sourceId: number) => void, reply: (id: number) => Reply,
  ): Reply {
    const id = pathId(req.params);
    // Who follows a source that is hidden by now can still let it go.
    if (!maySeeSource(id, req.viewer) && !follows.isFollowed(req.viewer.id, id)) throw notFound('source');
    change(req.viewer.id, id);
    return reply(id);
  }
}
