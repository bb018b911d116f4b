import { pathId } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/http-error.ts';
import type { Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { appOfAddress, requireFollowed, serveRemote } from '../posts/attachment-routes.ts';
import { requireVisible } from '../posts/post-access.ts';
import { findPicture } from './show-full-text.ts';

/** The post of a picture's address, and for whose app it is signed. Only for signed-in readers and their apps. */
export function requestedPicture(hub: Hub, req: HubRequest) {
  const signedFor = appOfAddress(hub, req);
  const reader = req.viewer ?? signedFor;
  if (!reader) throw notFound('file');
  const post = requireVisible(hub, pathId(req.params), reader);
  requireFollowed(hub, signedFor, post);
  return { post, signedFor };
}

/** GET /full-texts/:id/:picture: a picture of a full text. */
export async function showPictureOfFullText(hub: Hub, req: HubRequest): Promise<Reply> {
  const { post, signedFor } = requestedPicture(hub, req);
  const url = findPicture(hub, post.id, req.params['picture'] ?? '');
  if (url === undefined) throw notFound('file');
  const about = { filename: 'picture', isPublic: false, isSigned: signedFor !== null };
  return serveRemote(hub, { url, post, about }, req);
}
