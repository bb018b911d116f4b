import { isoTime } from '../../platform/clock.ts';
import { readJson } from '../../platform/http/body.ts';
import { createInput, pathId } from '../../platform/http/input.ts';
import { HttpError, json, noContent, notFound, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { accounts, type Account } from './account-store.ts';
import { endedSession, sessionCookie, signIn, signOut, type SignedIn } from './sign-in.ts';
import { changeAccount, makeToken, revokeToken } from './change-account.ts';
import { credentials, type ApiToken } from './credential-store.ts';
import { invite, joinHub, joinUrl, withdrawInvitation } from './join-hub.ts';

export async function createAccount(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readJson(req);
  const input = createInput(values);
  const invitation = input.text('invitation', { max: 300 });
  input.done();
  return signedIn(hub, await joinHub(hub, tokenOf(invitation), values, req.address), 201);
}

/** People paste the whole link where its token is asked for. */
function tokenOf(invitation: string): string {
  return invitation.slice(invitation.lastIndexOf('/') + 1);
}

export async function createSession(hub: Hub, req: HubRequest): Promise<Reply> {
  return signedIn(hub, await signIn(hub, await readJson(req), req.address), 200);
}

function signedIn(hub: Hub, { account, session }: SignedIn, status: number): Reply {
  return json(accountJson(account), status, sessionCookie(hub, session));
}

export function deleteSession(hub: Hub, req: MemberRequest): Reply {
  const { via } = req.viewer;
  if (via !== 'session') throw new HttpError(409, 'An API token has no session; revoke the token instead.');
  signOut(hub, req.viewer, actorOf(req));
  return noContent(endedSession(hub));
}

export function showAccount(hub: Hub, { viewer }: MemberRequest): Reply {
  const account = accounts(hub).find(viewer.id);
  if (!account) throw notFound('account');
  return json(accountJson(account));
}

export async function changeAccountJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  return json(accountJson(await changeAccount(hub, await readJson(req), req.viewer, actorOf(req))));
}

export function listTokens(hub: Hub, { viewer }: MemberRequest): Reply {
  return json({ items: credentials(hub).tokensOf(viewer.id).map(tokenJson), next: null });
}

export async function createToken(hub: Hub, req: MemberRequest): Promise<Reply> {
  const made = makeToken(hub, await readJson(req), req.viewer, actorOf(req));
  return json({ ...tokenJson(made), token: made.token }, 201);
}

export function deleteToken(hub: Hub, req: MemberRequest): Reply {
  revokeToken(hub, pathId(req.params), req.viewer, actorOf(req));
  return noContent();
}

export async function createInvitation(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { id, role, token, expiresAt } = invite(hub, await readJson(req), actorOf(req));
  const url = joinUrl(hub.config, token);
  return json({ id, url, role, expiresAt: isoTime(expiresAt) }, 201);
}

export function deleteInvitation(hub: Hub, req: MemberRequest): Reply {
  withdrawInvitation(hub, pathId(req.params), actorOf(req));
  return noContent();
}

/** An account as the API shows it to its owner. */
export function accountJson({ id, username, displayName, role, createdAt }: Account) {
  return { id, username, displayName, role, createdAt: isoTime(createdAt) };
}

function tokenJson({ id, name, createdAt }: ApiToken) {
  return { id, name, createdAt: isoTime(createdAt) };
}
