import { readJson } from '../../platform/http/body.ts';
import { createInput } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import { accountJson } from './account-json.ts';
import type { Joined, Joining } from './join-hub.ts';
import { endedSession, sessionCookie } from './session-cookie.ts';
import type { SigningIn } from './sign-in.ts';

export type SessionRouteDeps = { joining: Joining; signingIn: SigningIn; secure: boolean };

/** The API of joining, signing in and signing out. */
export function sessionRoutes({ joining, signingIn, secure }: SessionRouteDeps): Route[] {
  return [
    route('POST /api/accounts', 'public', 'Join by an invitation', join),
    route('POST /api/session', 'public', 'Sign in', signIn),
    route('DELETE /api/session', 'member', 'Sign out', signOut),
  ];

  async function join(req: HubRequest): Promise<Reply> {
    const values = await readJson(req);
    const input = createInput(values);
    const invitation = input.text('invitation', { max: 300 });
    input.done();
    return signedIn(await joining.join(tokenOf(invitation), values, req.address), 201);
  }

  async function signIn(req: HubRequest): Promise<Reply> {
    return signedIn(await signingIn.signIn(await readJson(req), req.address), 200);
  }

  function signedIn({ account, session }: Joined, status: number): Reply {
    return json(accountJson(account), status, { 'set-cookie': sessionCookie(session, secure) });
  }

  function signOut(req: MemberRequest): Reply {
    const { via } = req.viewer;
    if (via !== 'session') throw new HttpError(409, 'An API token has no session; revoke the token instead.');
    signingIn.signOut(req.viewer, actorOf(req));
    return noContent({ 'set-cookie': endedSession(secure) });
  }
}

/** People paste the whole link where its token is asked for. */
function tokenOf(invitation: string): string {
  return invitation.slice(invitation.lastIndexOf('/') + 1);
}
