import { readForm } from '../../platform/http/body.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import { invitationGonePage, joinPage, signInPage } from './account-views.ts';
import type { Joining } from './join-hub.ts';
import { endedSession, sessionCookie } from './session-cookie.ts';
import type { SigningIn } from './sign-in.ts';

type Deps = { joining: Joining; signingIn: SigningIn; secure: boolean };

const NO_STORE = { 'cache-control': 'no-store' };

/** The pages of joining, signing in and signing out. */
export function accountPages({ joining, signingIn, secure }: Deps): Route[] {
  return [
    route('GET /join/:token', 'public', 'Page: join by an invitation', showJoin),
    route('POST /join/:token', 'public', 'Form: join', join),
    route('GET /sign-in', 'public', 'Page: sign in', showSignIn),
    route('POST /sign-in', 'public', 'Form: sign in', signIn),
    route('POST /sign-out', 'member', 'Form: sign out', signOut),
  ];

  function showJoin(req: HubRequest): Reply {
    const invitation = joining.find(req.params['token'] ?? '');
    if (!invitation) return page(invitationGonePage(), 410, NO_STORE);
    return page(joinPage({ isFirst: invitation.purpose === 'set-up' }), 200, NO_STORE);
  }

  async function join(req: HubRequest): Promise<Reply> {
    const values = await readForm(req);
    const token = req.params['token'] ?? '';
    try {
      const { session } = await joining.join(token, values, req.address);
      return seeOther('/sources', { 'set-cookie': sessionCookie(session, secure) });
    } catch (error) {
      if (error instanceof HttpError && error.status === 410) return page(invitationGonePage(), 410);
      const isFirst = joining.find(token)?.purpose === 'set-up';
      return formAgain(error, (problem) => joinPage({ isFirst, values, problem }));
    }
  }

  function showSignIn(req: HubRequest): Reply {
    const next = localPath(req.query.get('next'));
    return req.viewer ? seeOther(next) : page(signInPage({ next }), 200, NO_STORE);
  }

  async function signIn(req: HubRequest): Promise<Reply> {
    const values = await readForm(req);
    const next = localPath(values['next']);
    try {
      const { session } = await signingIn.signIn(values, req.address);
      return seeOther(next, { 'set-cookie': sessionCookie(session, secure) });
    } catch (error) {
      return formAgain(error, (problem) => signInPage({ next, values, problem }));
    }
  }

  function signOut(req: MemberRequest): Reply {
    signingIn.signOut(req.viewer, actorOf(req));
    return seeOther('/', { 'set-cookie': endedSession(secure) });
  }
}

/** The same form with what was typed and what is wrong with it. */
function formAgain(error: unknown, view: (problem: HttpError) => Parameters<typeof page>[0]): Reply {
  if (!(error instanceof HttpError)) throw error;
  return page(view(error), error.status, error.headers);
}

/** Only paths of the hub itself: `//host` and `/\host` would lead elsewhere. In ASCII, as headers have to be. */
function localPath(next: string | null | undefined): string {
  if (!next || !/^\/(?![/\\])[^\u0000-\u001f]*$/.test(next)) return '/';
  return next.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent);
}
