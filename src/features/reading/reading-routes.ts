import { readJson } from '../../platform/http/body.ts';
import { createInput, parseId, pathId } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { FOLDER_MAX, type FollowChange } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { requireVisible } from '../posts/post-access.ts';
import { posts, type Position } from '../posts/post-store.ts';
import { TITLE_MAX, visibleSource } from '../sources/source-store.ts';
import { followSource, unfollowSource } from './follow-source.ts';
import { markRead, undoMark, type MarkLimits, type MarkTarget } from './mark-read.ts';
import { countArrived, countsForPage, countText, readingCounts, type ReadingCounts } from './reading-counts.ts';
import { entries } from './entry-store.ts';
import { foundText, searchCounts } from './saved-searches.ts';

const MARKED_MAX = 1_000;
const SHOWN_MAX = 200;
const MAX_ID = Number.MAX_SAFE_INTEGER;

/** PUT /api/sources/:id/follow, idempotent. */
export async function follow(hub: Hub, req: MemberRequest): Promise<Reply> {
  followSource(hub, req.viewer, pathId(req.params), readFollow(await readJson(req)));
  return noContent();
}

/** DELETE /api/sources/:id/follow, idempotent. */
export function unfollow(hub: Hub, { params, viewer }: MemberRequest): Reply {
  unfollowSource(hub, viewer, pathId(params));
  return noContent();
}

/** Reads changes of a follow from a JSON object or a form. */
export function readFollow(values: Record<string, unknown>): FollowChange {
  const input = createInput(values);
  const title = values['title'] === null ? null : input.optionalText('title', { max: TITLE_MAX });
  const folder = values['folder'] === null ? null : input.optionalText('folder', { max: FOLDER_MAX });
  const [notify, hideGlobally] = [input.optionalFlag('notify'), input.optionalFlag('hideGlobally')];
  input.done();
  return { title, folder, notify, hideGlobally };
}

/** GET /api/reading: numbers of starred posts and of unread ones, these also by folder and source. */
export function showReading(hub: Hub, { viewer }: MemberRequest): Reply {
  const { unread, starred, folders } = readingCounts(hub, viewer);
  const shown = folders.map(({ sources, ...folder }) => ({
    ...folder,
    sources: sources.map(({ id, title, unread: n, notify, hideGlobally }) =>
      ({ id, title, unread: n, notify, hideGlobally })),
  }));
  return json({ unread, starred, folders: shown });
}

/** POST /api/reading/mark-read: answers with `{marked, undo}`, the number of marked posts and the id for undoing. */
export async function markReadJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readJson(req);
  return json(await markRead(hub, req.viewer, ...readMarking(hub, req.viewer, values)));
}

/** POST /api/reading/undo: undoes the mark-as-read action `undo`. */
export async function undoJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const input = createInput(await readJson(req));
  const undo = input.integer('undo', 1, MAX_ID);
  input.done();
  await undoMark(hub, req.viewer, undo);
  return noContent();
}

/** Reads which posts to mark as read, from a JSON object or a form. */
export function readMarking(hub: Hub, viewer: Viewer, values: Record<string, unknown>): [MarkTarget, MarkLimits] {
  const input = createInput(values);
  const named = ['all', 'folder', 'source', 'posts'].filter((name) => input.has(name));
  if (named.length !== 1) input.refuse('all', 'is wrong: send exactly one of all, folder, source and posts.');
  const source = input.optionalInteger('source', 1, MAX_ID);
  const folder = input.optionalText('folder', { max: FOLDER_MAX });
  const isAll = input.optionalFlag('all');
  if (isAll === false) input.refuse('all', 'must be true.');
  const ids = input.value('posts');
  if (ids !== undefined && !isListOfIds(ids)) input.refuse('posts', `must be a list of at most ${MARKED_MAX} ids.`);
  const [before, upTo] = [input.time('before'), input.optionalInteger('upTo', 0, MAX_ID)];
  const [below, above] = ['below', 'above'].map((name) => input.optionalInteger(name, 1, MAX_ID));
  input.done();
  const target: MarkTarget = isListOfIds(ids) ? { posts: ids }
    : folder !== undefined ? { folder } : source !== undefined ? { sourceId: source } : { all: true };
  return [target, { before, upTo, below: positionOf(hub, viewer, below), above: positionOf(hub, viewer, above) }];
}

function isListOfIds(value: unknown): value is number[] {
  const isId = (id: unknown): boolean => typeof id === 'number' && Number.isSafeInteger(id) && id > 0;
  return Array.isArray(value) && value.length <= MARKED_MAX && value.every(isId);
}

function positionOf(hub: Hub, viewer: Viewer, id: number | undefined): Position | undefined {
  if (id === undefined) return undefined;
  requireVisible(hub, id, viewer);
  const [post] = posts(hub).listed([id]);
  return post ?? { publishedAt: 0, id };
}

/** GET /reading/now: tells the page's script which of its posts are read and starred now, and the counts above 0. */
export function showNow(hub: Hub, { query, viewer }: MemberRequest): Reply {
  const ids = (query.get('posts') ?? '').split(',', SHOWN_MAX).flatMap((id) => parseId(id) ?? []);
  const states = entries(hub).statesOf(viewer, ids);
  const read = states.filter(({ isRead }) => isRead === 1).map(({ id }) => id);
  const starred = states.filter(({ isStarred }) => isStarred === 1).map(({ id }) => id);
  return json({ read, starred, counts: namedCounts(countsForPage(hub, viewer), searchCounts(hub, viewer)) });
}

function namedCounts(
  { unread, starred, folders }: ReadingCounts, searches: Map<number, number>,
): Record<string, string> {
  const counts: [name: string, count: number][] = [['unread', unread], ['all', unread], ['starred', starred]];
  for (const { name, unread: inFolder, sources } of folders) {
    if (name !== null) counts.push([`folder:${name}`, inFolder]);
    for (const { id, unread: ofSource } of sources) counts.push([`source:${id}`, ofSource]);
  }
  const found = [...searches].flatMap(([id, count]): [string, string][] =>
    (count > 0 ? [[`search:${id}`, foundText(count)]] : []));
  const shown = counts.filter(([, count]) => count > 0).map(([name, count]) => [name, countText(count)] as const);
  return Object.fromEntries([...shown, ...found]);
}

/** GET /reading/fresh: tells the page's script how many posts of a list arrived after the post `newest`. */
export function showFresh(hub: Hub, { query, viewer }: MemberRequest): Reply {
  const after = query.get('newest') ?? '';
  const newest = after === '0' ? 0 : parseId(after);
  if (newest === undefined) throw new HttpError(400, 'newest must be the id of a post.');
  const sourceId = parseId(query.get('source') ?? '');
  if (sourceId !== undefined) visibleSource(hub, sourceId, viewer);
  return json({ fresh: countArrived(hub, viewer, newest, { sourceId, folder: query.get('folder') }) });
}
