import { readForm } from '../../platform/http/body.ts';
import { localPath, pathId } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/http-error.ts';
import { json, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { appOfAddress, requireFollowed, serveRemote } from '../posts/attachment-routes.ts';
import { requireVisible, visiblePost } from '../posts/post-access.ts';
import { askForFullText } from './ask-for-full-text.ts';
import { findPicture, fullTextJson } from './show-full-text.ts';

/** POST /api/posts/:id/full-text: 202 while the hub fetches the page, 200 with the result. */
export function askForFullTextJson(hub: Hub, { params, viewer }: MemberRequest): Reply {
  const post = visiblePost(hub, pathId(params), viewer);
  const { state } = askForFullText(hub, viewer, post);
  return json(fullTextJson(hub, post), state === 'waiting' ? 202 : 200);
}

/** Form: switches between a post's full text and the feed's text, then returns to the page `from`. */
export async function submitTextSwitch(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { from, text } = await readForm(req);
  const post = visiblePost(hub, pathId(req.params), req.viewer);
  if (text !== 'feed') askForFullText(hub, req.viewer, post);
  const page = new URL(localPath(from), hub.config.baseUrl);
  page.searchParams.set('text', text === 'feed' ? 'feed' : 'full');
  return seeOther(localPath(page.pathname + page.search)); // "/.//other.test" would redirect to another site
}

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
