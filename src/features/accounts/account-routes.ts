import { HOUR } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { readJson } from '../../platform/http/body.ts';
import { createInput, pathId } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/problem.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { actorOf, type RecordAct } from '../../platform/record-act.ts';
import type { Account, AccountStore } from './account-store.ts';
import type { ApiToken, CredentialStore } from './credential-store.ts';
import type { Invitation, InvitationStore } from './invitation-store.ts';
import type { Joined, Joining } from './join-hub.ts';
import { endedSession, sessionCookie } from './session-cookie.ts';
import type { SigningIn } from './sign-in.ts';

export const INVITATION_HOURS = { standard: 72, max: 24 * 30 };

type Deps = {
  db: Db;
  accounts: AccountStore;
  credentials: CredentialStore;
  invitations: InvitationStore;
  joining: Joining;
  signingIn: SigningIn;
  recordAct: RecordAct;
  baseUrl: string;
  secure: boolean;
};

export function accountRoutes(deps: Deps): Route[] {
  const { db, accounts, credentials, invitations, joining, signingIn, recordAct, baseUrl, secure } = deps;
  return [
    route('POST /api/accounts', 'public', 'Join by an invitation', join),
    route('POST /api/session', 'public', 'Sign in', signIn),
    route('DELETE /api/session', 'member', 'Sign out', signOut),
    route('GET /api/account', 'member', 'Your own account', showAccount),
    route('PATCH /api/account', 'member', 'Change your display name or password', changeAccount),
    route('GET /api/tokens', 'member', 'Your API tokens, without their values', listTokens),
    route('POST /api/tokens', 'member', 'Make an API token; its value is shown this once', createToken),
    route('DELETE /api/tokens/:id', 'member', 'Revoke an API token', revokeToken),
    route('GET /api/invitations', 'admin', 'Invitations that can still be used', listInvitations),
    route('POST /api/invitations', 'admin', 'Make an invitation link', createInvitation),
    route('DELETE /api/invitations/:id', 'admin', 'Withdraw an invitation', removeInvitation),
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
    if (req.viewer.via !== 'session') throw new HttpError(409, 'An API token has no session; revoke the token instead.');
    signingIn.signOut(req.viewer, actorOf(req));
    return noContent({ 'set-cookie': endedSession(secure) });
  }

  function showAccount(req: MemberRequest): Reply {
    const account = accounts.find(req.viewer.id);
    if (!account) throw notFound('account');
    return json(accountJson(account));
  }

  async function changeAccount(req: MemberRequest): Promise<Reply> {
    return json(accountJson(await signingIn.change(req.viewer, await readJson(req), actorOf(req))));
  }

  function listTokens(req: MemberRequest): Reply {
    return json({ items: credentials.tokensOf(req.viewer.id).map(tokenJson), next: null });
  }

  async function createToken(req: MemberRequest): Promise<Reply> {
    const input = createInput(await readJson(req));
    const name = input.text('name', { max: 80 });
    input.done();
    const create = db.transaction('create api token', () => {
      const made = credentials.createToken(req.viewer.id, name);
      recordAct('token.created', actorOf(req), { kind: 'token', id: made.id, name });
      return made;
    });
    const made = create();
    return json({ ...tokenJson(made), token: made.token }, 201);
  }

  function revokeToken(req: MemberRequest): Reply {
    const id = pathId(req.params);
    const revoke = db.transaction('revoke api token', () => {
      if (!credentials.revokeToken(id, req.viewer.id)) throw notFound('token');
      recordAct('token.revoked', actorOf(req), { kind: 'token', id, name: '' });
    });
    revoke();
    return noContent();
  }

  function listInvitations(): Reply {
    return json({ items: invitations.list().map(invitationJson), next: null });
  }

  async function createInvitation(req: MemberRequest): Promise<Reply> {
    const input = createInput(await readJson(req));
    const role = input.optionalChoice('role', ['admin', 'member']) ?? 'member';
    const hours = input.optionalInteger('hours', 1, INVITATION_HOURS.max) ?? INVITATION_HOURS.standard;
    input.done();
    const made = joining.invite(role, hours * HOUR, actorOf(req));
    const url = `${baseUrl}/join/${made.token}`;
    return json({ id: made.id, url, role, expiresAt: new Date(made.expiresAt).toISOString() }, 201);
  }

  function removeInvitation(req: MemberRequest): Reply {
    if (!joining.withdraw(pathId(req.params), actorOf(req))) throw notFound('invitation');
    return noContent();
  }
}

/** People paste the whole link where its token is asked for. */
function tokenOf(invitation: string): string {
  return invitation.slice(invitation.lastIndexOf('/') + 1);
}

function accountJson({ id, username, displayName, role, createdAt }: Account) {
  return { id, username, displayName, role, createdAt: new Date(createdAt).toISOString() };
}

function tokenJson({ id, name, createdAt }: ApiToken) {
  return { id, name, createdAt: new Date(createdAt).toISOString() };
}

function invitationJson({ id, role, createdAt, expiresAt }: Invitation) {
  return { id, role, createdAt: new Date(createdAt).toISOString(), expiresAt: new Date(expiresAt).toISOString() };
}
