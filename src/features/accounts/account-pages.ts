import { readForm } from '../../platform/http/body.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { invitationGonePage, joinPage, signInPage } from './account-views.ts';
import { endedSession, sessionCookie } from './authenticate.ts';
import { findInvitation, joinHub } from './join-hub.ts';
import { signIn, signOut } from './sign-in.ts';

const NO_STORE = { 'cache-control': 'no-store' };

export function showJoin(hub: Hub, { params }: HubRequest): Reply {
  const invitation = findInvitation(hub, params['token'] ?? '');
  if (!invitation) return page(invitationGonePage(), 410, NO_STORE);
  return page(joinPage({ isFirst: invitation.purpose === 'set-up' }), 200, NO_STORE);
}

export async function submitJoin(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readForm(req);
  const token = req.params['token'] ?? '';
  try {
    const { session } = await joinHub(hub, token, values, req.address);
    return seeOther('/sources', sessionCookie(hub, session));
  } catch (error) {
    if (error instanceof HttpError && error.status === 410) return page(invitationGonePage(), 410);
    const isFirst = findInvitation(hub, token)?.purpose === 'set-up';
    return formAgain(error, (problem) => joinPage({ isFirst, values, problem }));
  }
}

export function showSignIn(_hub: Hub, { query, viewer }: HubRequest): Reply {
  const next = localPath(query.get('next'));
  return viewer ? seeOther(next) : page(signInPage({ next }), 200, NO_STORE);
}

export async function submitSignIn(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readForm(req);
  const next = localPath(values['next']);
  try {
    const { session } = await signIn(hub, values, req.address);
    return seeOther(next, sessionCookie(hub, session));
  } catch (error) {
    return formAgain(error, (problem) => signInPage({ next, values, problem }));
  }
}

export function submitSignOut(hub: Hub, req: MemberRequest): Reply {
  signOut(hub, req.viewer, actorOf(req));
  return seeOther('/', endedSession(hub));
}

/** The same form with what was typed and what is wrong with it. */
function formAgain(error: unknown, view: (problem: HttpError) => Page): Reply {
  if (!(error instanceof HttpError)) throw error;
  return page(view(error), error.status, error.headers);
}

/** Only paths of the hub itself: `//host` and `/\host` would lead elsewhere. In ASCII, as headers have to be. */
function localPath(next: string | null | undefined): string {
  if (!next || !/^\/(?![/\\])[^\u0000-\u001f]*$/.test(next)) return '/';
  return next.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent);
}
