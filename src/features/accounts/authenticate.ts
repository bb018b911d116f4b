import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../platform/http/call-handler.ts';
import { cookieName, readCookie } from '../../platform/http/headers.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { TOKEN_PREFIX } from '../../platform/secrets.ts';
import type { Viewer } from '../../platform/http/router.ts';
import type { CredentialStore } from './credential-store.ts';

export const SESSION_COOKIE = 'hub_session';

/**
 * Who sent a request: by API token (401 when it is unknown, so that a program learns of it at once) or by session
 * cookie (an ended session is nobody). A bearer that is no API token belongs to another surface, such as metrics.
 */
export function createAuthenticate(credentials: CredentialStore, secure: boolean): (req: IncomingMessage) => Caller {
  const cookie = cookieName(SESSION_COOKIE, secure);

  return ({ headers }) => {
    const bearer = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];
    if (bearer?.startsWith(TOKEN_PREFIX)) return { viewer: requireToken(credentials, bearer), hasCookie: false };
    const secret = readCookie(headers.cookie, cookie);
    return { viewer: secret ? credentials.viewerOfSession(secret) : null, hasCookie: secret !== undefined };
  };
}

function requireToken(credentials: CredentialStore, token: string): Viewer {
  const viewer = credentials.viewerOfToken(token);
  if (!viewer) {
    const headers = { 'www-authenticate': 'Bearer realm="Content Hub", error="invalid_token"' };
    throw new HttpError(401, 'This API token is unknown or was revoked.', { headers });
  }
  return viewer;
}
