import type { JsonObject } from '../../platform/http/body.ts';
import {
  filled, flag, id, ids, integer, line, named, noted, object, optional, time, whole, type Given,
} from '../../platform/http/fields.ts';
import { localPath, parseId, pathId, type Input } from '../../platform/http/input.ts';
import { json, noContent, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { FOLDER_MAX } from '../follows/follow-store.ts';
import { act, byId, type Endpoint, type RefusedForm } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { saying, type SaidCode } from '../hub/said.ts';
import { requireVisible } from '../posts/post-access.ts';
import { posts, type Position } from '../posts/post-store.ts';
import { markRead, setRead, setStar, undoMark, type MarkTarget } from './mark-read.ts';
import { readingHistory } from './reading-history-store.ts';

const MARKED_MAX = 1_000;

/** What to mark as read, of which a request names one. */
const TARGETS = {
  all: optional(noted(flag, { const: true })), source: optional(id),
  // an empty one must not mean all posts
  folder: optional(filled(line({ max: FOLDER_MAX }))), posts: optional(filled(ids(MARKED_MAX))),
};

const MARKING = {
  ...TARGETS, before: optional(time),
  upTo: optional(noted(whole(0), 'The newest post that was shown; later posts stay unread')),
  below: optional(noted(id, 'Id of a post: the posts below this post in the list are marked')),
  above: optional(noted(id, 'Id of a post: the posts above this post in the list are marked')),
};

const MARKED = named('Marked', object({
  marked: integer, undo: noted(id, 'Undo id for /api/reading/undo, for two minutes'),
}));

/** For a form that names no id: it comes too late, as one with an old id does. */
const LONG_UNDONE = Number.MAX_SAFE_INTEGER;

type Form = Record<string, string>;

export const MARK_ROUTES: Endpoint[] = [
  ...act({
    api: 'POST /api/reading/mark-read', form: 'POST /reading/mark-read',
    summary: 'Mark posts as read: all, folder, source or posts, and before, upTo, below, above',
    fields: MARKING, check: checkTarget,
    run: (hub, { before, upTo, below, above, ...target }, { viewer }) => markRead(hub, viewer, targetOf(target), {
      before, upTo, below: positionOf(hub, viewer, below), above: positionOf(hub, viewer, above),
    }),
    shape: MARKED, show: (made) => made, refusals: [404],
    typed: fieldsOfMarking,
    next: ({ marked, undo }, _hub, req, { from }) => (isForScript(req) ? json({ marked, undo })
      : seeOther(saying(localPath(from), 'posts-marked', { count: marked, ...(marked > 0 && { undo }) }))),
  }),
  ...act({
    api: 'POST /api/reading/undo', form: 'POST /reading/undo',
    summary: 'Undo marking posts as read, within two minutes',
    fields: { undo: id }, run: (hub, { undo }, { viewer }) => undoMark(hub, viewer, undo),
    refusals: [410], typed: ({ undo = '' }) => ({ undo: parseId(undo) ?? LONG_UNDONE }),
    again: sayTooLate, againFor: [410],
    next: (_done, _hub, req, { from }) => done(req, from, 'undone'),
  }),
  ...act({
    api: 'PUT /api/posts/:id/star', summary: 'Star a post, so that the hub keeps the post',
    run: byId((hub, postId, { viewer }) => setStar(hub, viewer, postId, true)),
  }),
  ...act({
    api: 'DELETE /api/posts/:id/star', summary: 'Take the star off a post',
    run: byId((hub, postId, { viewer }) => setStar(hub, viewer, postId, false)),
  }),
  ...act({
    form: 'POST /posts/:id/star', summary: 'Star a post, or take the star off',
    fields: { star: optional(flag) },
    run(hub, { star = true }, { viewer, params }) {
      setStar(hub, viewer, pathId(params), star);
      return star ? 'post-starred' : 'post-unstarred';
    },
    next: sayAtPost,
  }),
  ...act({
    api: 'PUT /api/posts/:id/read',
    summary: 'Note that a post was opened elsewhere, and mark it as read if opening does',
    run: byId((hub, postId, { viewer }) => {
      if (viewer.preferences.marksOpened) setRead(hub, viewer, postId, true);
      readingHistory(hub).note(viewer.id, postId);
    }),
  }),
  ...act({
    api: 'DELETE /api/posts/:id/read', summary: 'Mark a post as unread', usesReserve: false,
    run: byId((hub, postId, { viewer }) => {
      setRead(hub, viewer, postId, false);
      readingHistory(hub).forget(viewer.id, postId);
    }),
  }),
  ...act({
    form: 'POST /posts/:id/read', summary: 'Mark a post as read or unread',
    fields: { read: optional(flag) },
    run(hub, { read = true }, { viewer, params }) {
      setRead(hub, viewer, pathId(params), read);
      return read ? 'post-read' : 'post-unread';
    },
    next: sayAtPost,
  }),
];

function checkTarget(input: Input, { all }: { all?: boolean }): void {
  const targets = Object.keys(TARGETS).filter((name) => input.has(name));
  if (targets.length !== 1) input.refuse('all', 'is wrong: send exactly one of all, folder, source and posts.');
  if (all === false) input.refuse('all', 'must be true.');
}

function targetOf({ posts: ids, folder, source }: Given<typeof TARGETS>): MarkTarget {
  return ids ? { posts: ids } : folder !== undefined ? { folder } : source !== undefined ? { sourceId: source }
    : { all: true };
}

function positionOf(hub: Hub, viewer: Viewer, postId: number | undefined): Position | undefined {
  if (postId === undefined) return undefined;
  requireVisible(hub, postId, viewer);
  const [post] = posts(hub).listed([postId]);
  return post ?? { publishedAt: 0, id: postId };
}

/** A button may name posts, in place of the form's list; what is no id among them stays a text, to be refused. */
function fieldsOfMarking({ posts: ids, ...values }: Form): JsonObject {
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  if (ids === undefined) return given;
  const { all, folder, source, ...limits } = given;
  return { ...limits, posts: ids.split(/[ ,]+/).map((one) => parseId(one) ?? one) };
}

/** A script gets the 410 itself. */
function sayTooLate(_hub: Hub, req: MemberRequest, { values, problem }: RefusedForm): Reply {
  if (isForScript(req)) throw problem;
  return done(req, values['from'], 'too-late');
}

/** Back to the row of the post in its list. */
function sayAtPost(said: SaidCode, _hub: Hub, req: MemberRequest, { from }: Form): Reply {
  return done(req, from?.endsWith('#post-') ? from + pathId(req.params) : from, said);
}

function done(req: MemberRequest, from: string | undefined, said: SaidCode): Reply {
  return isForScript(req) ? noContent() : seeOther(saying(localPath(from), said));
}

function isForScript({ headers }: MemberRequest): boolean {
  return /\bapplication\/json\b/.test(headers.accept ?? '');
}
