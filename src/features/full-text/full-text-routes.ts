import { pathId, localPath } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/http-error.ts';
import type { Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { choice } from '../../platform/http/fields.ts';
import type { Hub } from '../hub/hub.ts';
import { appOfAddress, requireFollowed, serveRemote } from '../posts/attachment-routes.ts';
import { requireVisible, visiblePost } from '../posts/post-access.ts';
import { act, type Endpoint } from '../hub/acts.ts';
import { FULL_TEXT } from '../posts/query-posts.ts';
import { findPicture, fullTextJson, type WhichText } from './show-full-text.ts';
import { askForFullText } from './ask-for-full-text.ts';

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

export const FULL_TEXT_ROUTES: Endpoint[] = [
  ...act({
    api: 'POST /api/posts/:id/full-text', summary: 'Fetch the full text of a post',
    run(hub, _given, { viewer, params }) {
      const post = visiblePost(hub, pathId(params), viewer);
      return { post, state: askForFullText(hub, viewer, post).state };
    },
    shapes: { 200: FULL_TEXT, 202: FULL_TEXT },
    reply: ({ post, state }, hub) => [state === 'waiting' ? 202 : 200, fullTextJson(hub, post)],
    refusals: [409, 429],
  }),
  ...act({
    form: 'POST /posts/:id/full-text',
    summary: 'Switch between the full text of a post and the text from its feed',
    fields: { text: choice(['full', 'feed']) }, typed: ({ text }) => ({ text: text === 'feed' ? text : 'full' }),
    run(hub, { text }, { viewer, params }) {
      const post = visiblePost(hub, pathId(params), viewer);
      if (text === 'full') askForFullText(hub, viewer, post);
      return text;
    },
    next: withText,
  }),
];

/** The page that the form came from, with the chosen text. */
function withText(text: WhichText, hub: Hub, _req: unknown, { from }: Record<string, string>): string {
  const page = new URL(localPath(from), hub.config.baseUrl);
  page.searchParams.set('text', text);
  return localPath(page.pathname + page.search); // "/.//other.test" would redirect to another site
}
