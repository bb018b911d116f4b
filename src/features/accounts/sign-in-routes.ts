import { readJson } from '../../platform/http/body.ts';
import { line, object, readGiven } from '../../platform/http/fields.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import type { Endpoint } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { ACCOUNT } from './account-store.ts';
import { endedSession, LOGIN, sessionCookie, signIn, signOut, type SignedIn } from './authenticate.ts';
import { joinHub, JOINING } from './join-hub.ts';

const INVITATION_FIELD = { invitation: line({ max: 300 }) };

async function createAccount(hub: Hub, req: HubRequest): Promise<Reply> {
  const values = await readJson(req);
  const { invitation } = readGiven(INVITATION_FIELD, values);
  const token = invitation.slice(invitation.lastIndexOf('/') + 1); // people paste the whole invitation link
  return signedIn(hub, await joinHub(hub, token, values, req.address), 201);
}

async function createSession(hub: Hub, req: HubRequest): Promise<Reply> {
  return signedIn(hub, await signIn(hub, await readJson(req), req.address), 200);
}

function signedIn(hub: Hub, { account, session }: SignedIn, status: number): Reply {
  return json(ACCOUNT.show(account), status, sessionCookie(hub, session));
}

/** Throws 403 for a request with an API token. */
export function deleteSession(hub: Hub, req: MemberRequest): Reply {
  if (req.viewer.via !== 'session') throw new HttpError(403, 'An API token has no session; revoke the token instead.');
  signOut(hub, req);
  return noContent(endedSession(hub));
}

export const SIGN_IN_ROUTES: Endpoint[] = [
  {
    pattern: 'POST /api/accounts', access: 'public', summary: 'Join by an invitation', handler: createAccount,
    operation: {
      body: { 'application/json': object({ ...INVITATION_FIELD, ...JOINING }).schema },
      answers: { 201: { 'application/json': ACCOUNT.schema } }, refusals: [409, 410, 429], proof: 'none',
    },
  },
  {
    pattern: 'POST /api/session', access: 'public', summary: 'Sign in', handler: createSession,
    settings: { usesReserve: true },
    operation: {
      body: { 'application/json': object(LOGIN).schema },
      answers: { 200: { 'application/json': ACCOUNT.schema } }, refusals: [429], proof: 'none',
    },
  },
  {
    pattern: 'DELETE /api/session', access: 'member', summary: 'Sign out', handler: deleteSession,
    operation: { answers: { 204: null }, proof: 'session' },
  },
];
