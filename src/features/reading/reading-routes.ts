import { readJson } from '../../platform/http/body.ts';
import { createInput, pathId } from '../../platform/http/input.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { FOLDER_MAX, type FollowChange } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { requireVisible } from '../posts/post-access.ts';
import { posts, type Position } from '../posts/post-store.ts';
import { followSource, unfollowSource } from './follow-source.ts';
import { markRead, undoMark, type Marking, type MarkLimits } from './mark-read.ts';
import { byTitle, readingCounts, setStar } from './reading-list.ts';

/** Posts that are marked by name at once. */
const POSTS_MAX = 1_000;

const MAX_ID = Number.MAX_SAFE_INTEGER;

/** API; may be repeated. */
export async function follow(hub: Hub, req: MemberRequest): Promise<Reply> {
  followSource(hub, req.viewer, pathId(req.params), readFollow(await readJson(req)));
  return noContent();
}

export function unfollow(hub: Hub, { params, viewer }: MemberRequest): Reply {
  unfollowSource(hub, viewer, pathId(params));
  return noContent();
}

/** What is to be changed of a follow, out of a JSON object or a form; 422 with all that is wrong. */
export function readFollow(values: Record<string, unknown>): FollowChange {
  const input = createInput(values);
  const folder = values['folder'] === null ? null : input.optionalText('folder', { max: FOLDER_MAX });
  const notify = input.optionalFlag('notify');
  input.done();
  return { folder, notify };
}

export function showReading(hub: Hub, { viewer }: MemberRequest): Reply {
  const { unread, starred, folders } = readingCounts(hub, viewer);
  const shown = folders.map(({ sources, ...folder }) => ({
    ...folder,
    sources: byTitle(sources).map(({ id, title, unread: n, notify }) => ({ id, title, unread: n, notify })),
  }));
  return json({ unread, starred, folders: shown });
}

export function star(hub: Hub, { params, viewer }: MemberRequest): Reply {
  setStar(hub, viewer, pathId(params), true);
  return noContent();
}

export function unstar(hub: Hub, { params, viewer }: MemberRequest): Reply {
  setStar(hub, viewer, pathId(params), false);
  return noContent();
}

export async function markReadJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readJson(req);
  return json(await markRead(hub, req.viewer, ...readMarking(hub, req.viewer, values)));
}

export async function undoJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const input = createInput(await readJson(req));
  const undo = input.integer('undo', 1, MAX_ID);
  input.done();
  await undoMark(hub, req.viewer, undo);
  return noContent();
}

/** What is to be marked, out of a JSON object or a form; 422 with all that is wrong. */
export function readMarking(hub: Hub, viewer: Viewer, values: Record<string, unknown>): [Marking, MarkLimits] {
  const input = createInput(values);
  const named = ['all', 'folder', 'source', 'posts'].filter((name) => input.has(name));
  if (named.length !== 1) input.refuse('all', 'is required, or folder, source or posts: one of them.');
  const source = input.optionalInteger('source', 1, MAX_ID);
  const folder = input.optionalText('folder', { max: FOLDER_MAX });
  const isAll = input.optionalFlag('all');
  if (isAll === false) input.refuse('all', 'must be true.');
  const ids = input.value('posts');
  if (ids !== undefined && !isListOfIds(ids)) input.refuse('posts', `must be a list of at most ${POSTS_MAX} ids.`);
  const [before, upTo] = [input.time('before'), input.optionalInteger('upTo', 0, MAX_ID)];
  const [below, above] = ['below', 'above'].map((name) => input.optionalInteger(name, 1, MAX_ID));
  input.done();
  const what: Marking = isListOfIds(ids) ? { posts: ids }
    : folder !== undefined ? { folder } : source !== undefined ? { sourceId: source } : { all: true };
  const place = (id: number | undefined): Position | undefined =>
    id === undefined ? undefined : placeOf(hub, viewer, id);
  return [what, { before, upTo, below: place(below), above: place(above) }];
}

function isListOfIds(value: unknown): value is number[] {
  const isId = (one: unknown): boolean => typeof one === 'number' && Number.isSafeInteger(one) && one > 0;
  return Array.isArray(value) && value.length <= POSTS_MAX && value.every(isId);
}

/** Where a post stands in lists; 404 for a hidden one. */
function placeOf(hub: Hub, viewer: Viewer, id: number): Position {
  requireVisible(hub, id, viewer);
  const [post] = posts(hub).listed([id]);
  return post ?? { publishedAt: 0, id };
}
