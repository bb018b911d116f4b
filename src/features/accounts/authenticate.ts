import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { SECOND } from '../../platform/clock.ts';
import { clientAddress } from '../../platform/http/call-handler.ts';
import { line, readGiven, secret } from '../../platform/http/fields.ts';
import { cookieName, readCookie, setCookie } from '../../platform/http/headers.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import type { Caller, Viewer } from '../../platform/http/router.ts';
import { audit, type By } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { TOKEN_PREFIX } from '../hub/setting-values.ts';
import type { Account } from './account-store.ts';
import { apiTokens, SESSION_MAX, sessions } from './credential-store.ts';
import { checkPassword, PASSWORD_MAX } from './passwords.ts';

export const SESSION_COOKIE = 'hub_session';

/**
 * Finds the viewer by API token, else by session cookie; null without a valid session. Throws 401 for an invalid API
 * token. Ignores bearer tokens that are not API tokens, such as METRICS_TOKEN.
 */
export function authenticate(hub: Hub, req: IncomingMessage): Caller {
  const from = usedFrom(hub, req);
  const bearer = apiTokenOf(req);
  if (bearer !== undefined) return { viewer: requireToken(hub, bearer, from), hasCookie: false };
  const secret = sessionOf(hub, req.headers);
  return { viewer: secret ? sessions(hub).viewerOf(secret, from) : null, hasCookie: secret !== undefined };
}

function usedFrom(hub: Hub, { headers, socket }: IncomingMessage): () => string | undefined {
  return () => (mayRecord(hub) ? clientAddress(socket.remoteAddress, headers, hub.config.trustedProxies) : undefined);
}

/** Null without a valid app password, even if the request has a valid cookie or an API token of another scope. */
export function authenticateApp(hub: Hub, req: IncomingMessage): Caller {
  const password = appPasswordOf(req);
  return { viewer: password === undefined ? null : viewerOfApp(hub, password, req), hasCookie: false };
}

/** Null if the app password is unknown or has ended. `req` gives the address that is stored as its last use. */
export function viewerOfApp(hub: Hub, password: string, req: IncomingMessage): Viewer | null {
  return apiTokens(hub).viewerOf(password, 'reader', usedFrom(hub, req));
}

/** The app password in `Authorization: GoogleLogin auth=…`; some apps write `Auth=…` instead of `auth=…`. */
export function appPasswordOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  return /^GoogleLogin +auth=(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/**
 * The id of the account that sends a request, so that the web server can let accounts take turns. Reads one row and
 * writes nothing, so that requests with forged tokens or sessions cost little.
 */
export function accountOf(hub: Hub, req: IncomingMessage): number | undefined {
  const bearer = apiTokenOf(req);
  if (bearer !== undefined) return apiTokens(hub).accountOf(bearer, 'api');
  const appPassword = appPasswordOf(req);
  if (appPassword !== undefined) return apiTokens(hub).accountOf(appPassword, 'reader');
  const secret = sessionOf(hub, req.headers);
  return secret ? sessions(hub).accountOf(secret) : undefined;
}

function apiTokenOf({ headers }: IncomingMessage): string | undefined {
  const bearer = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];
  return bearer?.startsWith(TOKEN_PREFIX) ? bearer : undefined;
}

/** The secret in the session cookie, whether a session with this secret exists or not. */
export function sessionOf({ config }: Hub, { cookie }: IncomingHttpHeaders): string | undefined {
  return readCookie(cookie, cookieName(SESSION_COOKIE, config.secure));
}

function requireToken(hub: Hub, token: string, from: () => string | undefined): Viewer {
  const viewer = apiTokens(hub).viewerOf(token, 'api', from);
  if (!viewer) {
    const headers = { 'www-authenticate': 'Bearer realm="Content Hub", error="invalid_token"' };
    throw new HttpError(401, 'This API token is unknown, has expired or was revoked.', { headers });
  }
  return viewer;
}

/** Builds the Set-Cookie header that starts a session. The cookie lives as long as the longest possible session. */
export function sessionCookie({ config: { secure } }: Hub, session: string): { 'set-cookie': string } {
  return { 'set-cookie': setCookie(SESSION_COOKIE, session, { secure, maxAge: SESSION_MAX / SECOND }) };
}

/** Headers that delete the session cookie and, over https, the cached pages that the back button would show. */
export function endedSession({ config: { secure } }: Hub): { 'set-cookie': string; 'clear-site-data': string } {
  return { 'set-cookie': setCookie(SESSION_COOKIE, '', { secure, maxAge: 0 }), 'clear-site-data': '"cache"' };
}

/** `session`: the secret of the new session, for the cookie. */
export type SignedIn = { account: Account; session: string };

/** Fields of who signs in. */
export const LOGIN = { username: line({ max: 200 }), password: secret(1, PASSWORD_MAX) };

/** Throws 401 without saying whether name or password is wrong; 403 for a disabled account; 429 after many failures. */
export async function signIn(hub: Hub, values: Record<string, unknown>, address: string): Promise<SignedIn> {
  const signedIn = await checkPassword(hub, { ...readGiven(LOGIN, values), address }, (account) => {
    const { id, username: name, disabledAt } = account;
    if (disabledAt !== null) throw new HttpError(403, 'This account is disabled. Ask an administrator.');
    audit(hub, 'session.created', { id, name, address });
    return { account, session: sessions(hub).start(id, address) };
  });
  if (!signedIn) throw new HttpError(401, 'Wrong name or password.');
  return signedIn.result;
}

/** Only for a viewer with a session: the credential of an API token has an id of another table. */
export function signOut(hub: Hub, by: By): void {
  hub.db.write('sign out', () => {
    audit(hub, 'session.ended', by);
    sessions(hub).end(by.viewer.credentialId);
  });
}
