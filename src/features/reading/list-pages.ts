import { html, type Html } from '../../platform/http/html.ts';
import { cursorOf, readAfter } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/http-error.ts';
import { page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { timesOf } from '../../platform/http/times.ts';
import { plural } from '../../platform/in-words.ts';
import { iconsOfSources } from '../attachments/icon-views.ts';
import { thumbnails } from '../attachments/post-pictures.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { faultOfSearch } from '../posts/expression.ts';
import { foundTexts, readFound } from '../posts/mark-found.ts';
import { posts } from '../posts/post-store.ts';
import { postList } from '../posts/post-views.ts';
import { queryPosts } from '../posts/query-posts.ts';
import { visibleSource } from '../sources/source-store.ts';
import { isPlain, listOfSection, readListAddress, sectionOf, showsOf, withChoice } from './list-address.ts';
import { LIST_SHOWS, listChoices, type Choice } from './list-choice-store.ts';
import { ORDER_NAMES } from './list-orders.ts';
import { COUNT_MAX } from './list-store.ts';
import { listBar, listMain, listTitle, undoButton, type ShownList } from './list-views.ts';
import { countsForPage, countText } from './reading-counts.ts';
import { countFound, wholePage, type Counted, type View } from './reading-list.ts';
import { entries, readActs } from './entry-store.ts';
import { savedSearches } from './saved-search-store.ts';
import type { SearchFacts } from './search-views.ts';

/** Number of posts on a page of a list: more than two screens, and 12 kB compressed. */
const PAGE = 30;

const NOTHING = { items: [], next: null, searchedTo: null, counted: { count: 0, isAll: true } };

/** The page of the list that the request's address names; `above` is shown before the posts. */
export async function showList(hub: Hub, req: MemberRequest, above: Html | false = false): Promise<Reply> {
  const list = await readList(hub, req);
  const [title, section] = [listTitle(list), sectionOf(list.view)];
  const main = html`${above}${markedByApp(hub, req)}${listMain(list)}`;
  return page({ title, bar: listBar(list), main, shape: 'list', section });
}

function markedByApp(hub: Hub, { viewer, path }: MemberRequest): Html | false {
  const marking = readActs(hub).lastOfApp(viewer.id);
  return marking !== undefined && html`
<div class="said" role="status"><span>An app has marked ${plural(marking.posts, 'post')} as read.</span>
${undoButton(marking.id, path)}</div>`;
}

/** The HTML of a source's posts for the source's page; members get a reading list with its own bar and title. */
export async function postsOnSourcePage(
  hub: Hub, req: HubRequest, sourceId: number, empty: string,
): Promise<{ title?: string; bar?: Html; posts: Html }> {
  const { viewer } = req;
  if (viewer) {
    const list = { ...await readList(hub, { ...req, viewer }), empty };
    return { title: listTitle(list), bar: listBar(list), posts: listMain(list) };
  }
  const { items, next } = queryPosts(hub, req, { sourceId });
  return { posts: postList(items, next && `/sources/${sourceId}?cursor=${next}`, empty) };
}

async function readList(hub: Hub, req: MemberRequest): Promise<ShownList> {
  const { viewer, query } = req;
  const { view: addressed, cursor, newest } = readListAddress(req);
  const choice = isPlain(query) ? listChoices(hub).find(viewer.id, sectionOf(addressed)) : undefined;
  const view = choice ? withChoice(addressed, choice) : addressed;
  const after = readAfter(query, ['at', 'id']);
  const fault = faultOfSearch(view.q ?? '', { hasStates: true });
  const isNoSearch = view.q === '' || fault !== undefined;
  const isCounted = view.q !== undefined && after === undefined && view.by === undefined;
  const { items, next, searchedTo, counted } = isNoSearch ? NOTHING
    : await wholePage(hub, viewer, view, { limit: PAGE, after, countTo: isCounted ? COUNT_MAX : 0 });
  const times = timesOf(hub, viewer);
  const found = readFound(view.q ?? '');
  const titles = new Map(items.map(({ sourceId, sourceTitle }) => [sourceId, sourceTitle]));
  return {
    icons: iconsOfSources(hub, [...titles].map(([id, title]) => ({ id, title }))),
    found: { found, texts: view.q ? foundTexts(hub, items, found) : new Map() },
    fault, view, cursor, items, pictures: thumbnails(hub, items),
    isFollowing: countsForPage(hub, viewer).folders.length > 0,
    name: nameOf(hub, viewer, view), count: countOf(hub, viewer, view),
    search: view.q && !fault ? {
      ...(isCounted ? counted : countFound(hub, viewer, view, COUNT_MAX)), ...searchFacts(hub, viewer, view, view.q),
    } : undefined,
    next: next && cursorOf(next.at, next.id), searchedTo,
    times: { ...times, now: hub.clock() },
    since: view.since ?? entries(hub).lastReadAt(viewer.id) + 1,
    newest: Math.max(newest ?? posts(hub).lastId(), ...items.map(({ id }) => id)),
    isMarkable: view.sourceId === undefined || follows(hub).isFollowed(viewer.id, view.sourceId),
  };
}

function searchFacts(hub: Hub, viewer: Viewer, view: View, q: string): Omit<SearchFacts, keyof Counted> {
  const toSave = wholeSearch(view, q, nameOf(hub, viewer, view));
  const savedId = savedSearches(hub).listOf(viewer.id).find((search) => search.q === toSave)?.id;
  return { toSave, savedId };
}

/** A search as it is saved: with the list's source or folder (if its name has no quotation mark), star or mute. */
function wholeSearch({ kind, folder, sourceId }: View, q: string, name: string): string {
  const isPlace = (folder ?? sourceId) !== undefined;
  if (isPlace) return /["“”„‟«»＂]/.test(name) ? q : `${folder === undefined ? 'source' : 'in'}:"${name}" ${q}`;
  return kind === 'starred' || kind === 'muted' ? `is:${kind} ${q}` : q;
}

/** Returns the name of a list. Throws status 404 for an unknown folder or a hidden source. */
export function nameOf(hub: Hub, viewer: Viewer, { kind, folder, sourceId }: View): string {
  if (folder !== undefined) {
    if (!follows(hub).hasFolder(viewer.id, folder)) throw notFound('folder');
    return folder;
  }
  if (sourceId !== undefined) {
    const { title } = visibleSource(hub, sourceId, viewer);
    return follows(hub).find(viewer.id, sourceId)?.ownTitle ?? title;
  }
  return { unread: 'Unread', all: 'All posts', starred: 'Starred', muted: 'Muted' }[kind];
}

/** The number of unread posts, or of all starred ones, as text; empty for 0, for Muted and for unfollowed sources. */
export function countOf(hub: Hub, viewer: Viewer, { kind, folder, sourceId }: View): string {
  const { unread, starred, folders } = countsForPage(hub, viewer);
  if (folder !== undefined) return textOf(folders.find(({ name }) => name === folder)?.unread);
  const ofSource = folders.flatMap(({ sources }) => sources).find(({ id }) => id === sourceId);
  if (sourceId !== undefined) return textOf(ofSource?.unread);
  return kind === 'muted' ? '' : textOf(kind === 'starred' ? starred : unread);
}

function textOf(count = 0): string {
  return count > 0 ? countText(count) : '';
}

/** Stores the order and the posts that the viewer chose for a list, in the words of its menu; returns the list. */
export function chooseList(hub: Hub, viewer: Viewer, list: string, choice: string): View {
  const [view, chosen] = [listOfSection(list), readChoice(choice)];
  if (!view || !chosen || !showsOf(view).includes(chosen.show)) {
    throw new HttpError(422, 'Name a list, an order, and posts that this list can show.');
  }
  nameOf(hub, viewer, view); // throws 404 for an unknown folder or a hidden source
  hub.db.write('choose for a list', () => listChoices(hub).put(viewer.id, list, chosen));
  return view;
}

function readChoice(text: string): Choice | undefined {
  const all = ORDER_NAMES.flatMap((order) => LIST_SHOWS.map((show) => ({ order, show })));
  return all.find(({ order, show }) => text === `${order} ${show}`);
}
