import { setImmediate as nextTurn } from 'node:timers/promises';
import { notFound } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { asking, follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { requireVisible } from '../posts/post-access.ts';
import { searchExpression } from '../posts/find-posts.ts';
import { FROM_THE_TOP, posts, type Position, type Post } from '../posts/post-store.ts';
import { searchKey } from '../posts/search-index-store.ts';
import { visibleSource } from '../sources/source-store.ts';
import {
  COUNT_MAX, countedSources, followedPosts, foundPosts, postsOfSource, starredPosts, type CountedSource, type Step,
} from './find-in-lists.ts';
import { lists } from './list-store.ts';
import { tooManyMarks } from './mark-read.ts';
import { readMarks, stars } from './reading-store.ts';

/**
 * A list of posts: of all that one follows, of a folder or a source. `since` (unix ms): of unread ones, also those that
 * were read after that.
 */
export type View = {
  kind: 'unread' | 'all' | 'starred'; folder?: string; sourceId?: number; q?: string; since?: number;
};

export type ListedPost = Post & { read: boolean; starred: boolean };

export type Neighbours = {
  previous: Post | null; next: Post | null; nextUnread: Post | null; following: Post[];
};

/** Posts that stand below one on its page. */
const FOLLOWING = 5;

/** `next`: the end of the page where the list goes on. */
type ListPage = { items: ListedPost[]; next: Position | null };

/** Steps of one search, each through 2,500 posts with its words; a page that ends early leads on. */
const SEARCH_STEPS = 40;

/**
 * One page of a list, newest first; of a search so much as one step finds. 404 for a folder or source that is not
 * there.
 */
export function listView(
  hub: Hub, viewer: Viewer, view: View, { after = FROM_THE_TOP, limit }: { after?: Position; limit: number },
): ListPage {
  const { found, reached } = find(hub, viewer, view, { from: after, isBack: false, limit: limit + 1 });
  const items = withReadState(hub, viewer, posts(hub).listed(found.slice(0, limit).map(({ id }) => id)));
  return { items, next: found.length > limit ? found[limit - 1] ?? null : reached ?? null };
}

/** The same; a search goes on in further steps, between which others have their turn. */
export async function wholePage(
  hub: Hub, viewer: Viewer, view: View, { after, limit }: { after?: Position | undefined; limit: number },
): Promise<ListPage> {
  const items: ListedPost[] = [];
  let next = after ?? FROM_THE_TOP;
  for (let steps = 1; ; steps++) {
    const step = listView(hub, viewer, view, { after: next, limit: limit - items.length });
    items.push(...step.items);
    if (step.next === null || items.length === limit || steps === SEARCH_STEPS) return { items, next: step.next };
    next = step.next;
    await nextTurn();
  }
}

/**
 * What stands around a post in a list: the posts above and below it, the next unread one (below, or else the first of
 * the list), and some that follow.
 */
export function neighbours(hub: Hub, viewer: Viewer, view: View, post: Position): Neighbours {
  const from = { publishedAt: post.publishedAt, id: post.id };
  const { found: [previous] } = find(hub, viewer, view, { from, isBack: true, limit: 1 });
  const { found: below } = find(hub, viewer, view, { from, isBack: false, limit: FOLLOWING });
  const unread: View = { ...view, kind: 'unread', since: Infinity };
  const { found: [unreadBelow] } = find(hub, viewer, unread, { from, isBack: false, limit: 1 });
  const fromTheTop = { from: FROM_THE_TOP, isBack: false, limit: 2 };
  const nextUnread = unreadBelow ?? find(hub, viewer, unread, fromTheTop).found.find(({ id }) => id !== post.id);
  const wanted = [previous, nextUnread, ...below].flatMap((one) => one?.id ?? []);
  const byId = new Map(posts(hub).listed([...new Set(wanted)]).map((one) => [one.id, one]));
  const shown = (one: Position | undefined): Post | null => byId.get(one?.id ?? 0) ?? null;
  const following = below.flatMap((one) => shown(one) ?? []);
  return { previous: shown(previous), next: following[0] ?? null, nextUnread: shown(nextUnread), following };
}

/** `reached`: where a search has ended before it had found as many as wanted, and may find more. */
type Found = { found: Position[]; reached?: Position | undefined };

function find(hub: Hub, viewer: Viewer, view: View, step: Step): Found {
  const { kind, folder, sourceId, since, q } = view;
  if (folder !== undefined && !follows(hub).hasFolder(viewer.id, folder)) throw notFound('folder');
  const source = sourceId === undefined ? undefined : visibleSource(hub, sourceId, viewer);
  const list = { viewer, folder, since, isUnread: kind === 'unread' };
  if (q !== undefined && q.trim() !== '') {
    const expression = searchExpression(hub, { typed: q, viewerId: viewer.id, sourceId });
    if (expression === undefined) return { found: [] };
    const { publishedAt, id } = step.from;
    const key = step.from === FROM_THE_TOP ? Number.MAX_SAFE_INTEGER : searchKey(publishedAt, id);
    return foundPosts(
      hub, { ...list, expression, key, isStarred: kind === 'starred', sourceId: sourceId ?? 0 }, step);
  }
  if (kind === 'starred') return { found: starredPosts(hub, { ...list, sourceId: sourceId ?? 0 }, step) };
  if (!source) return { found: followedPosts(hub, list, step) };
  const ofSource = { sourceId: source.id, readUpTo: readUpTo(hub, viewer, source.id) };
  return { found: postsOfSource(hub, { ...list, ...ofSource }, step) };
}

/** Of a source that one does not follow nothing is read but what has a mark. */
function readUpTo(hub: Hub, viewer: Viewer, sourceId: number): number {
  return follows(hub).find(viewer.id, sourceId)?.readUpTo ?? 0;
}

/** Posts with whether their reader has read and starred them. */
export function withReadState<Shown extends { id: number }>(
  hub: Hub, viewer: Viewer, shown: Shown[],
): (Shown & { read: boolean; starred: boolean })[] {
  const states = new Map(readMarks(hub).statesOf(viewer, shown.map(({ id }) => id)).map((one) => [one.id, one]));
  return shown.map((post) => {
    const state = states.get(post.id);
    return { ...post, read: state?.isRead === 1, starred: state?.isStarred === 1 };
  });
}

export type CountedFolder = { name: string | null; unread: number; sources: CountedSource[] };
export type ReadingCounts = { unread: number; starred: number; folders: CountedFolder[] };

/** "Part 2" stands before "part 10". */
const { compare } = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/**
 * What is unread and starred, counted up to COUNT_MAX, by folder in the order of the alphabet and then by source in
 * none (see `byTitle`); sources without a folder come last.
 */
export function readingCounts(hub: Hub, viewer: Viewer): ReadingCounts {
  const byFolder = Map.groupBy(countedSources(hub, viewer), ({ folder }) => folder);
  const folders = [...byFolder].map(([name, sources]): CountedFolder => ({ name, unread: sum(sources), sources }));
  folders.sort((a, b) => (a.name === null ? 1 : b.name === null ? -1 : compare(a.name, b.name)));
  return { unread: sum(folders), starred: lists(hub).countStars(asking(viewer), COUNT_MAX), folders };
}

/** In the order of the alphabet. Of 300 sources it takes half a millisecond, so only those that are shown. */
export function byTitle(sources: CountedSource[]): CountedSource[] {
  return sources.toSorted((a, b) => compare(a.title, b.title) || a.id - b.id);
}

const counted = new WeakMap<Viewer, ReadingCounts>();

/** The same, read once for whatever one page shows of it: each request has a viewer of its own. */
export function countsForPage(hub: Hub, viewer: Viewer): ReadingCounts {
  const counts = counted.get(viewer) ?? readingCounts(hub, viewer);
  counted.set(viewer, counts);
  return counts;
}

/** Asked by what shows them last: kept until the page has been compressed, they would be collected as old. */
export function lastCountsForPage(hub: Hub, viewer: Viewer): ReadingCounts {
  const counts = countsForPage(hub, viewer);
  counted.delete(viewer);
  return counts;
}

function sum(counted: { unread: number }[]): number {
  return Math.min(COUNT_MAX, counted.reduce((all, { unread }) => all + unread, 0));
}

/**
 * Marks one post as read or unread; nothing is written where it is so already. 404 for a hidden post, 422 where no more
 * can be marked.
 */
export function setRead(hub: Hub, viewer: Viewer, postId: number, read: boolean): void {
  const { sourceId } = requireVisible(hub, postId, viewer);
  const isRead = (): boolean => readMarks(hub).statesOf(viewer, [postId])[0]?.isRead === 1;
  if (isRead() === read) return;
  hub.db.write('mark post', () => {
    if (isRead() === read) return;
    // Without a mark of its own a post that arrived after the source's mark is unread.
    const isLater = postId > (follows(hub).find(viewer.id, sourceId)?.readUpTo ?? Infinity);
    const key = { accountId: viewer.id, sourceId, postId };
    const isNew = readMarks(hub).find(viewer.id, sourceId, postId) === undefined;
    if (isNew && readMarks(hub).left(viewer.id) === 0) throw tooManyMarks(hub);
    if (read || !isLater) readMarks(hub).put({ ...key, isRead: read ? 1 : 0, now: hub.clock() });
    else readMarks(hub).remove(viewer.id, sourceId, postId);
  });
}

/** What one opens or writes is read; where no more posts can be marked it stays as it is. */
export function setSeen(hub: Hub, viewer: Viewer, postId: number): void {
  if (readMarks(hub).left(viewer.id) > 0) setRead(hub, viewer, postId, true);
}

/** Stars a post, which keeps it, or takes the star away. 404 for a hidden post. */
export function setStar(hub: Hub, viewer: Viewer, postId: number, starred: boolean): void {
  requireVisible(hub, postId, viewer);
  if (starred) stars(hub).add(viewer.id, postId);
  else stars(hub).remove(viewer.id, postId);
}
