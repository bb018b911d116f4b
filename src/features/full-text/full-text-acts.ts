import { choice } from '../../platform/http/fields.ts';
import { localPath, pathId } from '../../platform/http/input.ts';
import { act, type Endpoint } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { visiblePost } from '../posts/post-access.ts';
import { FULL_TEXT } from '../posts/query-posts.ts';
import { askForFullText } from './ask-for-full-text.ts';
import { fullTextJson, type WhichText } from './show-full-text.ts';

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
