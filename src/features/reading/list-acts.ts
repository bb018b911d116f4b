import { isoTime } from '../../platform/clock.ts';
import {
  array, choice, flag, id, integer, named, noted, object, optional, orNull, PAGE, prose, ready, text, time, type Shown,
} from '../../platform/http/fields.ts';
import { cursorOf, parseId, pathId, readAfter, readLimit } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import type { HubRequest, Viewer } from '../../platform/http/router.ts';
import { findForMember } from '../full-text/full-text-store.ts';
import { fullTextJson } from '../full-text/show-full-text.ts';
import { act, view, type Endpoint } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { mayManagePost, visiblePost } from '../posts/post-access.ts';
import { fittingContents, POST, postJson, queryPosts, refuseFault } from '../posts/query-posts.ts';
import { postTexts } from '../posts/post-text-store.ts';
import { posts, type WholePost } from '../posts/post-store.ts';
import type { Double } from './entry-store.ts';
import { listPath } from './list-address.ts';
import { chooseList } from './list-pages.ts';
import { COUNT_MAX } from './list-store.ts';
import { readingCounts } from './reading-counts.ts';
import { placeIn, wholePage, withReadState, type View } from './reading-list.ts';

const counted = noted(integer, { maximum: COUNT_MAX, description: 'The number of posts, counted up to 1,000' });

const READING = named('Reading', object({
  unread: counted, starred: counted, folders: array(object({
    name: orNull(text), unread: counted,
    sources: array(object({ id, title: text, unread: counted, notify: flag, hideGlobally: flag })),
  })),
}));

const VIEWS = { unread: 'unread', list: 'all', starred: 'starred', muted: 'muted' } as const;

const SEARCH_SYNTAX = 'A post must contain all words, "quoted words" as a phrase, and no -word. ' +
  'A word of three or more letters also matches longer words if it ends in a star or is the last word. ' +
  'The page /help/search explains OR, title:, author:, source:, in:, before:, after: and is:';

const POSTS_QUERY = {
  ...PAGE, source: noted(id, 'Only posts of this source'), q: noted(text, SEARCH_SYNTAX),
  view: noted(choice([...Object.keys(VIEWS), 'public']),
    'Which posts: the posts of one of your reading lists, or all public posts'),
  folder: noted(text, 'Name of one of your folders, to filter a list'),
};

const POSTS_PAGE = object({
  items: array(POST), next: orNull(text),
  searchedBackTo: optional(noted(
    time, 'How far back a search looked, if not at all posts; `next`, unless null, searches on from there',
  )),
});

/** The words of a button of a list's menu, which `chooseList` reads. */
const words = optional(prose(Infinity));

export const LIST_ROUTES: Endpoint[] = [
  view(
    'GET /api/reading', { summary: 'How many posts are unread and starred, by folder and source' },
    READING, (hub, { viewer }) => readingCounts(hub, viewer),
  ),
  ...act({
    form: 'POST /reading/choice', summary: 'Choose the order and the posts of a list',
    fields: { list: words, choice: words },
    run: (hub, { list = '', choice: chosen = '' }, { viewer }) => chooseList(hub, viewer, list, chosen),
    next: (list) => listPath(list),
  }),
  view('GET /api/posts', {
    access: 'public', summary: 'Posts, newest first; q searches their words, view names a reading list',
    query: POSTS_QUERY, refusals: [401, 404],
    settings: { cached: ['view', 'source', 'q', 'cursor', 'limit', 'folder'] },
  }, ready(POSTS_PAGE), listPosts),
  view('GET /api/posts/:id', { access: 'public', summary: 'One post', settings: { cached: [] } },
    ready(POST), wholePostJson),
];

async function listPosts(hub: Hub, req: HubRequest): Promise<Shown<typeof POSTS_PAGE>> {
  const { query, viewer } = req;
  const wanted = readView(query);
  const isList = wanted !== null && wanted !== 'public';
  if (isList && !viewer) throw new HttpError(401, 'Sign in to see your reading list.');
  const { items, next, searchedTo } = isList && viewer
    ? await listedPosts(hub, viewer, wanted, query)
    : queryPosts(hub, wanted === 'public' ? { ...req, viewer: null } : req,
      { sourceId: readSourceId(query), withContents: true, ...(viewer && wanted === null && { find: findForMember }) });
  const shown = asJson(hub, posts(hub).whole(items), viewer);
  return { items: shown, next, ...(searchedTo !== null && { searchedBackTo: isoTime(searchedTo) }) };
}

function wholePostJson(hub: Hub, { params, viewer }: HubRequest): Shown<typeof POST> {
  const post = visiblePost(hub, pathId(params), viewer);
  const [shown = postJson(hub, post)] = asJson(hub, [post], viewer);
  const written = mayManagePost(post, viewer) ? postTexts(hub).find(post.id) : undefined;
  return { ...shown, ...written, ...(viewer && { fullText: fullTextJson(hub, post) }) };
}

function asJson(hub: Hub, whole: WholePost[], viewer: Viewer | null) {
  if (!viewer) return whole.map((post) => postJson(hub, post));
  return withReadState(hub, viewer, whole).map((post) =>
    ({ ...postJson(hub, post), read: post.read, starred: post.starred, also: post.also.map(doubleJson) }));
}

function doubleJson({ id, sourceId, sourceTitle, sourceKind }: Double) {
  return { id, source: { id: sourceId, title: sourceTitle, kind: sourceKind } };
}

/** Returns a page of a reading list, by `?cursor=&limit=`; fewer posts than `limit` if their contents are large. */
async function listedPosts(hub: Hub, viewer: Viewer, view: View, query: URLSearchParams) {
  refuseFault(view.q ?? '', { hasStates: true });
  const { items, next: after, searchedTo } =
    await wholePage(hub, viewer, view, { limit: readLimit(query), after: readAfter(query, ['at', 'id']) });
  const fitting = fittingContents(hub, items);
  const last = items[fitting - 1];
  const end = fitting < items.length && last ? placeIn(view, last) : after;
  const isWhole = fitting === items.length;
  const next = end && cursorOf(end.at, end.id);
  return { items: items.slice(0, fitting), next, searchedTo: isWhole ? searchedTo : null };
}

function readView(query: URLSearchParams): View | 'public' | null {
  const name = query.get('view');
  const isList = name !== null && name !== '' && name !== 'public';
  if (!isList && query.get('folder')) throw new HttpError(400, 'folder is for view=unread, list, starred or muted.');
  if (!isList) return name === 'public' ? 'public' : null;
  const kind = Object.hasOwn(VIEWS, name) ? VIEWS[name as keyof typeof VIEWS] : undefined;
  if (!kind) throw new HttpError(400, 'view must be unread, list, starred, muted or public.');
  const [folder, q, sourceId] = [query.get('folder'), query.get('q'), readSourceId(query)];
  return { kind, ...(folder && { folder }), ...(q && { q }), ...(sourceId !== undefined && { sourceId }) };
}

function readSourceId(query: URLSearchParams): number | undefined {
  const value = query.get('source');
  if (value === null || value === '') return undefined;
  const id = parseId(value);
  if (id === undefined) throw new HttpError(400, 'source must be the id of a source.');
  return id;
}
