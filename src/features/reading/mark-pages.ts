import { readForm } from '../../platform/http/body.ts';
import { formSwitch, localPath, parseId, pathId } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, noContent, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { saying, type SaidCode } from '../hub/said.ts';
import { markRead, setRead, setStar, undoMark } from './mark-read.ts';
import { readMarking } from './reading-routes.ts';

/** Form: marks a post as read or, with `read=0`, as unread. */
export async function submitRead(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  const isRead = formSwitch(values, 'read') ?? true;
  setRead(hub, req.viewer, pathId(req.params), isRead);
  return done(req, atPost(values['from'], req), isRead ? 'post-read' : 'post-unread');
}

/** Form: stars a post or, with `star=0`, takes the star off. */
export async function submitStar(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  const isStarred = formSwitch(values, 'star') ?? true;
  setStar(hub, req.viewer, pathId(req.params), isStarred);
  return done(req, atPost(values['from'], req), isStarred ? 'post-starred' : 'post-unstarred');
}

function atPost(from: string | undefined, { params }: MemberRequest): string | undefined {
  return from?.endsWith('#post-') ? from + pathId(params) : from;
}

/** POST /reading/mark-read: marks the posts that the button names or, within its limits, those of the form's list. */
export async function submitMarkRead(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { from, posts: ids, all, folder, source, ...limits } = await readForm(req);
  // What is no id stays a text, which `readMarking` refuses.
  const target = ids !== undefined ? { posts: ids.split(/[ ,]+/).map((id) => parseId(id) ?? id) }
    : { ...(all && { all: all === '1' || all }), ...(folder && { folder }), ...(source && { source }) };
  const given = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== ''));
  const { marked, undo } = await markRead(hub, req.viewer, ...readMarking(hub, req.viewer, { ...given, ...target }));
  if (isForScript(req)) return json({ marked, undo });
  return seeOther(saying(localPath(from), 'posts-marked', { count: marked, ...(marked > 0 && { undo }) }));
}

/** POST /reading/undo: undoes the marking `undo`. If it is too late, a script gets 410, and a form the page `from`. */
export async function submitUndo(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { undo = '', from } = await readForm(req);
  try {
    await undoMark(hub, req.viewer, parseId(undo) ?? 0);
  } catch (error) {
    if (!(error instanceof HttpError && error.status === 410) || isForScript(req)) throw error;
    return done(req, from, 'too-late');
  }
  return done(req, from, 'undone');
}

function done(req: MemberRequest, from: string | undefined, said: SaidCode): Reply {
  return isForScript(req) ? noContent() : seeOther(saying(localPath(from), said));
}

function isForScript({ headers }: MemberRequest): boolean {
  return /\bapplication\/json\b/.test(headers.accept ?? '');
}
