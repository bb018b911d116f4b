import { isoTime } from '../../platform/clock.ts';
import { readJson } from '../../platform/http/body.ts';
import { nextLink, pathId, readInput, readLimit, readPage } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/http-error.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { accountJson } from './account-store.ts';
import { endedSession, sessionCookie, signIn, signOut, type SignedIn } from './authenticate.ts';
import { changeAccount, endSessions, makeToken, ownAccount } from './change-account.ts';
import { apiTokens, sessions, TOKENS_MAX, type ApiToken, type Session } from './credential-store.ts';
import { invite, joinHub, joinUrl } from './join-hub.ts';

/** POST /api/accounts: joins by an invitation; answers 201 with the new account. */
export async function createAccount(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readJson(req);
  const invitation = readInput(values, (input) => input.text('invitation', { max: 300 }));
  const token = invitation.slice(invitation.lastIndexOf('/') + 1); // people paste the whole invitation link
  return signedIn(hub, await joinHub(hub, token, values, req.address), 201);
}

/** POST /api/session: signs in; answers with the account and the session cookie. */
export async function createSession(hub: Hub, req: HubRequest): Promise<Reply> {
  return signedIn(hub, await signIn(hub, await readJson(req), req.address), 200);
}

function signedIn(hub: Hub, { account, session }: SignedIn, status: number): Reply {
  return json(accountJson(account), status, sessionCookie(hub, session));
}

/** DELETE /api/session: signs out. Throws 403 for a request with an API token. */
export function deleteSession(hub: Hub, req: MemberRequest): Reply {
  if (req.viewer.via !== 'session') throw new HttpError(403, 'An API token has no session; revoke the token instead.');
  signOut(hub, req);
  return noContent(endedSession(hub));
}

/** GET /api/account: the viewer's own account. */
export function showAccount(hub: Hub, { viewer }: MemberRequest): Reply {
  return json(accountJson(ownAccount(hub, viewer)));
}

/** PATCH /api/account: changes the display name, the password or both. */
export async function changeAccountJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  return json(accountJson(await changeAccount(hub, await readJson(req), req)));
}

/** GET /api/tokens: the viewer's API tokens in pages, without the tokens' values. */
export function listTokens(hub: Hub, { viewer, path, query }: MemberRequest): Reply {
  const { items, next } = readPage<ApiToken, 'id'>(query, ['id'], (after, limit) =>
    apiTokens(hub).listOf(viewer.id, after?.id ?? 0, limit), readLimit(query, TOKENS_MAX));
  return json({ items: items.map(tokenJson), next }, 200, nextLink(path, query, next));
}

/** POST /api/tokens: answers 201 with a new API token and, only this time, its value. */
export async function createToken(hub: Hub, req: MemberRequest): Promise<Reply> {
  const made = await makeToken(hub, await readJson(req), req);
  return json({ ...tokenJson(made), token: made.token }, 201);
}

/** POST /api/invitations: answers 201 with a new invitation and its link. */
export async function createInvitation(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { id, role, token, expiresAt } = await invite(hub, await readJson(req), req);
  return json({ id, url: joinUrl(hub.config, token), role, expiresAt: isoTime(expiresAt) }, 201);
}

/** For the token's owner, without the secret. */
export function tokenJson({ id, name, scope, createdAt, expiresAt, seenAt, address }: ApiToken) {
  return {
    id, name, scope, createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt), lastUsedAt: isoTime(seenAt), address,
  };
}

export function sessionJson({ id, createdAt, seenAt, expiresAt, address }: Session) {
  return { id, createdAt: isoTime(createdAt), lastUsedAt: isoTime(seenAt), expiresAt: isoTime(expiresAt), address };
}

/** GET /api/sessions: the viewer's sessions; `current` marks the one that sent this request. */
export function listSessions(hub: Hub, { viewer }: MemberRequest): Reply {
  return json({ items: ownSessions(hub, viewer), next: null });
}

/** GET /api/sessions/:id: one of the viewer's sessions. Throws 404 for any other id. */
export function showSession(hub: Hub, { viewer, params }: MemberRequest): Reply {
  const session = ownSessions(hub, viewer).find(({ id }) => id === pathId(params));
  if (!session) throw notFound('session');
  return json(session);
}

function ownSessions(hub: Hub, { id, via, credentialId }: Viewer) {
  const own = sessions(hub).listOf(id);
  return own.map((session) => ({ ...sessionJson(session), current: via === 'session' && session.id === credentialId }));
}

/** DELETE /api/sessions/:id: ends one of the viewer's sessions. */
export async function deleteSessionById(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  await endSessions(hub, await readJson(req), req, id);
  return noContent(id === req.viewer.credentialId ? endedSession(hub) : {});
}

/** DELETE /api/sessions: ends all the viewer's sessions except the one of this request. */
export async function deleteOtherSessions(hub: Hub, req: MemberRequest): Promise<Reply> {
  await endSessions(hub, await readJson(req), req);
  return noContent();
}
